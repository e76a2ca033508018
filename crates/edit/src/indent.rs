//! Re-indents a piece of code to match its target file.

use std::collections::HashMap;

/// One step of indentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    Tab,
    Spaces(usize),
}

impl Unit {
    /// The white space of one step.
    pub fn text(self) -> String {
        match self {
            Unit::Tab => "\t".to_owned(),
            Unit::Spaces(count) => " ".repeat(count),
        }
    }

    fn width(self) -> usize {
        match self {
            // Any width works, as long as reading and writing use the same one.
            Unit::Tab => 4,
            Unit::Spaces(count) => count,
        }
    }

    /// The usual step of a language, for a text without indented blocks.
    pub fn usual(language: &str) -> Unit {
        match language {
            "go" => Unit::Tab,
            "python" | "rust" | "c" | "cpp" | "csharp" | "java" | "kotlin" | "php" | "swift" => Unit::Spaces(4),
            _ => Unit::Spaces(2),
        }
    }
}

/// The most frequent step by which lines after an opening brace, bracket, colon or word are indented; `None` if there are
/// none.
pub fn unit_of(text: &str) -> Option<Unit> {
    let mut counts: HashMap<Unit, usize> = HashMap::new();
    let mut last: Option<&str> = None;
    // A line such as `public:` has its own indentation.
    let counts_not = |line: &str| matches!(line.trim(), "" | "public:" | "protected:" | "private:");
    for line in text.lines().filter(|line| !counts_not(line)) {
        if let Some(last) = last.filter(|last| last.trim_end().ends_with(['{', ':', '(', '[']) || opens_by_word(last)) {
            let (outer, inner) = (indent(last), indent(line));
            match inner.strip_prefix(outer) {
                Some(step) if step.starts_with('\t') => *counts.entry(Unit::Tab).or_default() += 1,
                Some(step) if (1..=8).contains(&step.len()) => {
                    *counts.entry(Unit::Spaces(step.len())).or_default() += 1
                }
                _ => {}
            }
        }
        last = Some(line);
    }
    // Ties go to the smaller step, so that the order of the map does not matter.
    counts.into_iter().max_by_key(|(unit, count)| (*count, std::cmp::Reverse(unit.width()))).map(|(unit, _)| unit)
}

/// Whether a line opens a block that `end`, `fi` or `done` closes. A line that continues, as in a
/// parameter list, does not.
fn opens_by_word(line: &str) -> bool {
    let line = line.trim();
    let count = |brackets: [char; 3]| line.matches(brackets).count();
    if line.ends_with(',') || count(['(', '[', '{']) != count([')', ']', '}']) {
        return false;
    }
    [" do", " then"].iter().any(|word| line.ends_with(word))
        || ["def ", "class ", "module ", "function ", "local function "].iter().any(|word| line.starts_with(word))
}

/// The white space at the beginning of a line.
pub fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// The width of a line's indentation; a tab counts as one step of `unit`.
fn columns(line: &str, unit: Unit) -> usize {
    indent(line).chars().map(|c| if c == '\t' { unit.width() } else { 1 }).sum()
}

/// The old and the new indentation of a piece of code.
#[derive(Clone, Debug)]
pub struct Move<'a> {
    pub from: Unit,
    pub to: Unit,
    /// White space before the piece's first line, in its old and its new place.
    pub from_base: &'a str,
    pub to_base: &'a str,
    /// Lines of the piece that begin inside a string, numbered from 0, with the text to keep.
    pub frozen: HashMap<usize, String>,
}

/// Re-indents `piece`. Neither `piece` nor the result includes the white space before its first
/// line.
pub fn moved(piece: &str, how: &Move) -> String {
    if how.from == how.to && how.from_base == how.to_base && how.frozen.is_empty() {
        return piece.to_owned();
    }
    let base = columns(how.from_base, how.from);
    let lines = piece.split('\n').enumerate().map(|(at, line)| {
        if let Some(own) = how.frozen.get(&at) {
            // The piece may end within the line.
            return if own.trim_start().starts_with(line.trim_start()) {
                own.replacen(own.trim_start(), line.trim_start(), 1)
            } else {
                line.to_owned()
            };
        }
        if at == 0 {
            return line.to_owned();
        }
        if line.trim().is_empty() {
            return String::new();
        }
        let beyond = columns(line, how.from).saturating_sub(base);
        let (steps, rest) = (beyond / how.from.width(), beyond % how.from.width());
        format!("{}{}{}{}", how.to_base, how.to.text().repeat(steps), " ".repeat(rest), line.trim_start())
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether two pieces are equal except for blank lines and white space around lines; in Python the
/// white space before a line counts.
pub fn is_same_code(a: &str, b: &str, language: &str) -> bool {
    fn lines(text: &str, is_python: bool) -> impl Iterator<Item = &str> {
        let trimmed = text.lines().map(move |line| if is_python { line.trim_end() } else { line.trim() });
        trimmed.filter(|line| !line.is_empty())
    }
    let is_python = language == "python";
    lines(a, is_python).eq(lines(b, is_python))
}

/// Removes the white space that all lines begin with. If only the first line has lost its white
/// space, it is restored first. `unit` is the indentation step of the target file, which is in
/// `language`.
pub fn dedented(text: &str, unit: Unit, language: &str) -> String {
    let filled = |line: &&str| !line.trim().is_empty();
    let first = text.lines().position(|line| filled(&line)).unwrap_or(0);
    let rest: Vec<&str> = text.lines().skip(first + 1).filter(filled).collect();
    let margin = rest.iter().map(|line| indent(line).len()).min().unwrap_or(0);
    let first_line = text.lines().nth(first).unwrap_or_default();
    let step = unit.text().len();
    if !indent(first_line).is_empty() || margin == 0 {
        // Lines with less white space, such as those inside strings, lose only that.
        return without_margin(text, indent(first_line).len());
    }
    let lost = if lost_its_own(text, (first, margin), language) {
        margin
    } else if opens_block(first_line) && margin > step && margin % step == 0 {
        // The body is indented two or more steps from its `def`, so the `def` may have lost all
        // steps but one.
        match unit_of(&rest.join("\n")) {
            Some(own) if own != unit => 0,
            None if step < 4 && unit != Unit::Tab => 0,
            _ => margin - step,
        }
    } else {
        0
    };
    if lost == 0 {
        return text.to_owned();
    }
    let white = rest.first().map_or("", |line| &indent(line)[..lost]);
    let lines =
        text.lines().enumerate().map(|(at, line)| if at == first { format!("{white}{line}") } else { line.to_owned() });
    without_margin(&lines.collect::<Vec<_>>().join("\n"), lost)
}

/// Whether a Python line begins a definition: `def f():`, `class A:`, a decorator.
fn opens_block(line: &str) -> bool {
    ["def ", "class ", "async def ", "@"].iter().any(|opener| line.starts_with(opener))
}

/// Whether the first line was copied without its white space. Then the lines with the least white
/// space (`margin`) either close its block or are definitions next to it.
fn lost_its_own(text: &str, (first, margin): (usize, usize), language: &str) -> bool {
    const OPENERS: &[&str] = &["def ", "class ", "async def ", "@", "}", "fn ", "pub ", "function ", "/*", "//", "#"];
    let opens = text.lines().nth(first).unwrap_or_default();
    let mut rest = text.lines().skip(first + 1).filter(|line| !line.trim().is_empty()).peekable();
    let has_inside = rest.peek().is_some_and(|line| indent(line).len() > margin);
    let beside: Vec<&str> = rest.filter(|line| indent(line).len() == margin).map(str::trim_start).collect();
    let has_end = matches!(language, "ruby" | "lua") && !opens.trim_end().ends_with(['(', '=', ',']);
    // A bracket in the column of the lines before it was written there.
    let is_closer = |line: &str| if line.starts_with("end") { has_end && closes(line) } else { closes(line) };
    let is_closed_first = beside.first().is_some_and(|line| is_closer(line) && (has_inside || line.starts_with("end")));
    let is_opener =
        |line: &&str| OPENERS.iter().any(|opener| line.starts_with(opener)) || is_closed_first && is_closer(line);
    let is_comment = |line: &&str| line.starts_with('#');
    if !opens_block(opens) && !opens.trim_end().ends_with(':') {
        return beside.iter().any(is_opener);
    }
    let is_closed = opens.trim_end().ends_with('(') && beside.iter().any(|line| line.starts_with(')'));
    // If any is a statement, they are the body of the block, not its neighbours.
    is_closed || beside.iter().all(is_opener) && !beside.iter().all(is_comment)
}

/// Whether all lines are indented deeper than `base`, except for those that begin with a bracket or
/// are an `end`.
pub fn are_inside<'t>(base: &str, mut lines: impl Iterator<Item = &'t str>) -> bool {
    lines.all(|line| {
        let rest = line.strip_prefix(base);
        rest.is_some_and(|rest| rest.starts_with([' ', '\t', '{', '}', ')', ']']) || closes(rest.trim_end()))
    })
}

/// Whether a line only closes what an earlier one opened: `end`, `)`, `],`.
fn closes(line: &str) -> bool {
    let rest = line.strip_prefix("end").unwrap_or_else(|| line.trim_start_matches([')', ']']));
    rest.len() < line.len() && rest.chars().all(|letter| ")],;".contains(letter))
}

/// Removes up to `margin` bytes of white space from the start of each line; a multi-byte character
/// stays if the margin ends inside it.
fn without_margin(text: &str, margin: usize) -> String {
    if margin == 0 {
        return text.to_owned();
    }
    let lines = text.lines().map(|line| &line[line.floor_char_boundary(margin.min(indent(line).len()))..]);
    lines.collect::<Vec<_>>().join("\n") + if text.ends_with('\n') { "\n" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_indentation_step_is_read_from_the_blocks() {
        let check = |text: &str, expected| assert_eq!(unit_of(text), expected, "{text}");
        check("def a():\n    b\n", Some(Unit::Spaces(4)));
        check("a {\n\tb\n}\n", Some(Unit::Tab));
        check("a {\n  b {\n    c\n  }\n}\n", Some(Unit::Spaces(2)));
        check("a = 1\nb = 2\n", None);
    }

    #[test]
    fn a_piece_takes_the_indentation_of_its_place() {
        let how = |from, to, from_base, to_base| Move { from, to, from_base, to_base, frozen: HashMap::new() };
        let check = |piece: &str, how: Move, expected: &str| assert_eq!(moved(piece, &how), expected);
        let (two, four) = (Unit::Spaces(2), Unit::Spaces(4));
        check("a {\n  b\n}", how(two, four, "", "    "), "a {\n        b\n    }");
        check("a {\n    b\n\n}", how(four, Unit::Tab, "", "\t"), "a {\n\t\tb\n\n\t}");
        check("a {\n\tb\n}", how(Unit::Tab, two, "", ""), "a {\n  b\n}");
    }

    #[test]
    fn a_first_line_without_its_white_space_gets_it_back() {
        let of = |language: &str, text: &str, expected: &str| {
            assert_eq!(dedented(text, Unit::Spaces(4), language), expected);
        };
        let check = |text: &str, expected: &str| of("python", text, expected);
        check("    def a(self):\n        b\n", "def a(self):\n    b\n");
        check("def a(self):\n        b\n\n    def c(self):\n        d\n", "def a(self):\n    b\n\ndef c(self):\n    d");
        check("def a():\n    b\n", "def a():\n    b\n");
        check("def a(self):\n        if b:\n            c\n", "def a(self):\n    if b:\n        c");
        check("a() {\n    b\n  }", "a() {\n  b\n}");
        of("ruby", "def a\n      b\n    end\n", "def a\n  b\nend");
        of("lua", "function a()\n      b\n    end\n", "function a()\n  b\nend");
        of("lua", "local a = {\n      b\n    }\n", "local a = {\n  b\n}");
        check("a = b(\n        c,\n    )\n", "a = b(\n    c,\n)");
        check("def a():\n    end = 1\n", "def a():\n    end = 1\n");
        let stays = |language: &str, text: &str| of(language, text, text);
        stays("python", "CONES = [\n    1,\n    2,\n    ]\n");
        stays("python", "CONES = [\n    [\n        1,\n    ],\n    ]\n");
        stays("python", "heat(\n    start,\n    end,\n    )\n");
        stays("python", "heat(start,\n        cone,\n    end)\n");
        stays("ruby", "heat =\n    if a\n      b\n    end\n");
        check("def a():\n    def b():\n        c\n    return b\n", "def a():\n    def b():\n        c\n    return b\n");
    }
}
