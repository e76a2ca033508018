//! `replace_in_file`: replaces one passage of a file; tolerates other whitespace, but the passage has to be unique.

use regex::Regex;

use crate::base::line_ends;
use crate::tools::Context;
use crate::tools::arguments::Arguments;
use crate::tools::confine::Access;
use crate::tools::files::change::{Change, WRITE_MAX_BYTES, text_of};
use crate::tools::files::near;

/// Most places named when the passage is not unique.
const PLACES_MAX: usize = 20;

pub fn plan(arguments: Arguments<'_>, context: &Context) -> Result<Change, String> {
    let (path, old, new) = (arguments.text("path")?, arguments.text("old")?, arguments.text("new")?);
    if old.len().max(new.len()) > WRITE_MAX_BYTES {
        return Err(format!("`old` and `new` may have {WRITE_MAX_BYTES} bytes each; give a smaller passage"));
    }
    let file = context.root.resolve(path, Access::Write).map_err(|e| e.to_string())?;
    let path = file.relative();
    if !file.exists() {
        return Err(format!("`{path}` does not exist; write_file creates files"));
    }
    let before = text_of(&file)?;
    if old.trim().is_empty() {
        return Err("`old` is blank; give the passage that is to be replaced, as it stands in the file".to_owned());
    }
    let (after, notes) = replaced(&path, &before, old, new)?;
    if after.len() > WRITE_MAX_BYTES {
        return Err(format!("{path} would have {} bytes, at most {WRITE_MAX_BYTES} are written", after.len()));
    }
    Change::text(file, Some(before), after, notes)
}

/// The new content and notes about what was tolerated. An error: the passage is missing or not unique, and what to do.
fn replaced(path: &str, content: &str, old: &str, new: &str) -> Result<(String, Vec<String>), String> {
    let (plain, old, new) = (line_ends::plain(content), old.replace("\r\n", "\n"), new.replace("\r\n", "\n"));
    let (after, notes) = replaced_in_plain(path, &plain, &old, &new)?;
    Ok((if after == plain { content.to_owned() } else { line_ends::aligned(content, &after) }, notes))
}

/// [`replaced`] for texts with line feeds alone.
fn replaced_in_plain(path: &str, content: &str, old: &str, new: &str) -> Result<(String, Vec<String>), String> {
    let all = content.match_indices(old).map(|(at, _)| at);
    let (within, places): (Vec<usize>, Vec<usize>) =
        all.take(PLACES_MAX + 1).partition(|at| cuts_a_number(content, *at, at + old.len()));
    if let ([], [at, ..]) = (&places[..], &within[..]) {
        let line = line_of(content, *at);
        return Err(format!("`old` begins or ends inside a number at line {line} of {path}; give the whole number"));
    }
    match places[..] {
        [] => {}
        [at] => return Ok(([&content[..at], new, &content[at + old.len()..]].concat(), Vec::new())),
        _ => return Err(ambiguous(path, places.iter().map(|at| line_of(content, *at)).collect())),
    }
    if let Some(found) = by_lines(content, old, new) {
        let (after, first) = found.map_err(|lines| ambiguous(path, lines))?;
        let note = format!("the passage at line {first} was found with other whitespace; the file's own was kept");
        return Ok((after, vec![note]));
    }
    if let Some(found) = within_a_line(content, old, new) {
        let (after, first) = found.map_err(|lines| ambiguous(path, lines))?;
        return Ok((after, vec![format!("line {first} was found with other blanks between its words")]));
    }
    Err(near::miss(path, content, old))
}

/// Whether the passage begins or ends between two digits: `limit = 5` is not in `limit = 50`.
fn cuts_a_number(content: &str, from: usize, to: usize) -> bool {
    let is_between_digits = |at: usize| {
        let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        is_digit(content[..at].chars().next_back()) && is_digit(content[at..].chars().next())
    };
    is_between_digits(from) || is_between_digits(to)
}

fn ambiguous(path: &str, lines: Vec<usize>) -> String {
    let more = if lines.len() > PLACES_MAX { " and more" } else { "" };
    let shown: Vec<String> = lines.iter().take(PLACES_MAX).map(usize::to_string).collect();
    let count = if more.is_empty() { lines.len().to_string() } else { format!("over {PLACES_MAX}") };
    format!(
        "`old` occurs {count} times in {path}, at lines {}{more}; add lines before or after it to say which",
        shown.join(", ")
    )
}

fn line_of(content: &str, at: usize) -> usize {
    content[..at].matches('\n').count() + 1
}

/// The new content and the line of the passage, or the lines of all places if there are several.
type Found = Result<(String, usize), Vec<usize>>;

/// Replaces whole lines that differ from `old` only in indentation and trailing blanks; `None` if there are none.
fn by_lines(content: &str, old: &str, new: &str) -> Option<Found> {
    let (mut old, mut new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    if let Some(bare) = without_line_numbers(&old) {
        old = bare;
        new = without_line_numbers(&new).unwrap_or(new);
    }
    drop_blank_ends(&mut old, &mut new);
    let lines: Vec<&str> = content.split_inclusive('\n').collect();
    let wanted: Vec<&str> = old.iter().map(|line| line.trim()).collect();
    let trimmed: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    let places: Vec<usize> =
        trimmed.windows(wanted.len()).enumerate().filter(|(_, window)| *window == wanted).map(|(at, _)| at).collect();
    let at = match places[..] {
        [] => return None,
        [at] => at,
        _ => return Some(Err(places.into_iter().map(|at| at + 1).take(PLACES_MAX + 1).collect())),
    };
    let window = &lines[at..at + old.len()];
    let indents = Indents::learn(&old, window, &new);
    let near = aligned(&old, &new);
    let mut after: String = lines[..at].concat();
    for (index, line) in new.iter().enumerate() {
        if !line.trim().is_empty() {
            after.push_str(&indents.translate(indent_of(line), near[index]));
            after.push_str(line.trim_start());
        }
        // The last line of a file may have no line end; then the new last line has none either.
        let at_end = at + old.len() == lines.len() && index + 1 == new.len();
        if !at_end || window.last().is_some_and(|last| last.ends_with('\n')) {
            after.push('\n');
        }
    }
    after.push_str(&lines[at + old.len()..].concat());
    Some(Ok((after, at + 1)))
}

/// The lines without the number and the bar that `read_file` prints before each; `None` if one has none.
fn without_line_numbers<'a>(lines: &[&'a str]) -> Option<Vec<&'a str>> {
    let bare = |line: &&'a str| {
        let (number, rest) = line.trim_start().split_once('|')?;
        let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        is_number.then(|| rest.strip_prefix(' ').unwrap_or(rest))
    };
    lines.iter().map(bare).collect()
}

/// For each new line, the index of the old line that it replaces or follows.
fn aligned(old: &[&str], new: &[&str]) -> Vec<usize> {
    let trimmed = |lines: &[&str]| lines.iter().map(|line| line.trim().to_owned()).collect::<Vec<_>>();
    let ops = similar::capture_diff_slices(similar::Algorithm::Myers, &trimmed(old), &trimmed(new));
    let mut near = vec![0; new.len()];
    for op in ops {
        let (old, new) = (op.old_range(), op.new_range());
        for (offset, index) in new.enumerate() {
            near[index] = (old.start + offset).min(old.end.max(1) - 1);
        }
    }
    near
}

/// Removes the blank lines at both ends of `old`, and for each of them one from `new` if it has one there.
fn drop_blank_ends(old: &mut Vec<&str>, new: &mut Vec<&str>) {
    let blank = |line: Option<&&str>| line.is_some_and(|line| line.trim().is_empty());
    while blank(old.first()) {
        old.remove(0);
        if blank(new.first()) {
            new.remove(0);
        }
    }
    while blank(old.last()) {
        old.pop();
        if blank(new.last()) {
            new.pop();
        }
    }
}

/// Replaces a part of one line in which only the blanks between the words differ; `None` if there is none.
fn within_a_line(content: &str, old: &str, new: &str) -> Option<Found> {
    let words: Vec<String> = old.split_whitespace().map(regex::escape).collect();
    // A single word was searched for exactly already; very many words are a passage, not a part of a line.
    if old.trim().contains('\n') || words.len() < 2 || words.len() > 200 {
        return None;
    }
    let pattern = Regex::new(&words.join(r"[ \t]+")).ok()?;
    let places = pattern.find_iter(content).filter(|place| !cuts_a_number(content, place.start(), place.end()));
    let places: Vec<regex::Match<'_>> = places.take(PLACES_MAX + 1).collect();
    match &places[..] {
        [] => None,
        [one] => {
            let after = [&content[..one.start()], new.trim(), &content[one.end()..]].concat();
            Some(Ok((after, line_of(content, one.start()))))
        }
        _ => Some(Err(places.iter().map(|place| line_of(content, place.start())).collect())),
    }
}

fn indent_of(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Maps the indentation that a model wrote to that of the file.
struct Indents<'a> {
    /// Index of an old line, its indentation, and the indentation in the file.
    pairs: Vec<(usize, &'a str, &'a str)>,
    /// One level of indentation: the model's and the file's.
    unit: (String, String),
}

impl<'a> Indents<'a> {
    fn learn(old: &[&'a str], window: &[&'a str], new: &[&'a str]) -> Indents<'a> {
        let filled = old.iter().zip(window).enumerate().filter(|(_, (line, _))| !line.trim().is_empty());
        let pairs: Vec<_> = filled.map(|(at, (old, file))| (at, indent_of(old), indent_of(file))).collect();
        let file_unit = smallest_step(pairs.iter().map(|(_, _, file)| *file));
        let model_unit = smallest_step(old.iter().chain(new).map(|line| indent_of(line)));
        Indents { unit: (model_unit.clone(), if file_unit.is_empty() { model_unit } else { file_unit }), pairs }
    }

    /// The file's form of the model's `indent`, by the deepest known indentation that it begins with; of several equal
    /// ones, the one of the line nearest to the old line `near`.
    fn translate(&self, indent: &str, near: usize) -> String {
        let known = self.pairs.iter().filter(|(_, model, _)| indent.starts_with(model));
        let best = known.max_by_key(|(at, model, _)| (model.len(), std::cmp::Reverse(at.abs_diff(near))));
        if let Some((_, model, file)) = best {
            let deeper = &indent[model.len()..];
            return format!("{file}{}", deeper.replace(self.unit.0.as_str(), &self.unit.1));
        }
        // Less deep than every known line: remove as many levels as the model did.
        let Some((_, model, file)) = self.pairs.iter().min_by_key(|(_, model, _)| model.len()) else {
            return indent.to_owned();
        };
        let levels = model.len().saturating_sub(indent.len()).div_ceil(self.unit.0.len().max(1));
        file[..file.len().saturating_sub(levels * self.unit.1.len())].to_owned()
    }
}

/// One level of indentation: a tab if one is used, else the smallest difference between two depths; if there is only
/// one depth, at most four blanks.
fn smallest_step<'a>(indents: impl Iterator<Item = &'a str>) -> String {
    let mut all: Vec<&str> = indents.collect();
    if all.iter().any(|indent| indent.starts_with('\t')) {
        return "\t".to_owned();
    }
    all.sort_by_key(|indent| indent.len());
    let steps = all.windows(2).map(|pair| pair[1].len() - pair[0].len()).filter(|step| *step > 0);
    let widest = all.last().map_or(0, |indent| indent.len());
    " ".repeat(steps.min().unwrap_or(if widest > 0 { widest.min(4) } else { 4 }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::builtin::Builtin;
    use crate::tools::files::walk::testing::{Project, change};
    use serde_json::json;

    fn check(content: &str, old: &str, new: &str, expected: &str) {
        match replaced("f", content, old, new) {
            Ok((after, _)) => assert_eq!(after, expected),
            Err(error) => assert_eq!(error, expected),
        }
    }

    #[test]
    fn an_exact_passage_is_replaced() {
        check("a = 5;\nb = 5;\n", "a = 5", "a = 3", "a = 3;\nb = 5;\n");
        check("a\nb\nc\n", "a\nb\n", "", "c\n");
    }

    #[test]
    fn a_passage_that_occurs_twice_is_not_guessed() {
        check(
            "x\ny\nx\n",
            "x",
            "z",
            "`old` occurs 2 times in f, at lines 1, 3; add lines before or after it to say which",
        );
        let drifted = "`old` occurs 2 times in f, at lines 1, 4; add lines before or after it to say which";
        check("  x\n  y\n\n    x\n    y\n", "x\ny", "z", drifted);
    }

    #[test]
    fn a_passage_does_not_end_inside_a_number() {
        let inside = "`old` begins or ends inside a number at line 1 of f; give the whole number";
        check("size = 120\n", "size = 12", "size = 13", inside);
        check("size = 120\n", "20", "30", inside);
        check("size = 12\nwide = 120\n", "= 12", "= 13", "size = 13\nwide = 120\n");
        check("size  = 120\n", "size = 12", "size = 13", &near::miss("f", "size  = 120\n", "size = 12"));
        check("size12 = 1\n", "size", "wide", "wide12 = 1\n");
    }

    #[test]
    fn drifted_indentation_is_found_and_the_files_own_is_kept() {
        check(
            "fn a() {\n    if b {\n        c();\n    }\n}\n",
            "if b {\n  c();\n}",
            "if b {\n  d();\n  if e {\n    f();\n  }\n}",
            "fn a() {\n    if b {\n        d();\n        if e {\n            f();\n        }\n    }\n}\n",
        );
        check("a:\n\tb\n\t\tc\n", "    b\n        c", "    b\n        d\n            e", "a:\n\tb\n\t\td\n\t\t\te\n");
        check("x\n  y  \nz\n", "x\ny\nz", "x\nw\nz", "x\n  w\nz\n");
        check("    a\n    b\n", "\n\na\nb\n", "\n\nc\nd\n", "    c\n    d\n");
    }

    #[test]
    fn line_ends_stay_as_they_are() {
        check("a\r\nb\r\nc\r\n", "a\nb", "a\nd", "a\r\nd\r\nc\r\n");
        check("a\r\n  b\r\nc", "a\nb\nc", "a\nd\ne", "a\r\n  d\r\ne");
        check("a\nb\n", "a\r\nb", "c\r\nd", "c\nd\n");
        check("a\r\nb\nc\r\n", "b", "d", "a\r\nd\nc\r\n");
        check("a\r\nb\nc\nd\n", "b\nc", "x\ny", "a\r\nx\ny\nd\n");
        check("a\nb\r\nc\n", "a\nb\nc", "a\nx\nc", "a\nx\r\nc\n");
        check("\u{feff}a = 1\r\nb\n", "a = 1\nb", "a = 2\nb", "\u{feff}a = 2\r\nb\n");
        check("  a\r\n  b\nc\n", "a\nb", "x\ny", "  x\r\n  y\nc\n");
    }

    #[test]
    fn line_numbers_copied_from_read_file_are_dropped() {
        check("a\n  b\nc\n", "2|   b\n3| c", "2|   d\n3| c", "a\n  d\nc\n");
    }

    #[test]
    fn blanks_between_words_may_differ() {
        check("let   a =  5; // five\n", "a = 5;", "a = 3;", "let   a = 3; // five\n");
    }

    #[test]
    fn a_miss_shows_the_nearest_passage() {
        let content = "fn one() {}\n\nfn retry(attempts: u32) {\n    run(attempts);\n}\n";
        let error = replaced("src/a.rs", content, "fn retry(times: u32) {\n    run(times);", "x").unwrap_err();
        insta::assert_snapshot!(error, @r"
        `old` was not found in src/a.rs. Nearest passage, lines 3-4 (83% alike):
        3| fn retry(attempts: u32) {
        4|     run(attempts);
        Copy the passage as it stands there, without the line numbers and with its own backslashes.
        ");
    }

    #[test]
    fn the_tool_writes_the_file_and_shows_the_change() {
        let project = Project::with(&[("r.ts", "const attempts = 5;\n")]);
        let replaced = |path: &str, old: &str, new: &str| {
            change(Builtin::ReplaceInFile, &project, json!({ "path": path, "old": old, "new": new }))
        };
        assert_eq!(replaced("r.ts", "attempts = 5", "attempts = 3").text, "changed r.ts (+1 -1 lines)");
        assert_eq!(project.text("r.ts"), "const attempts = 3;\n");
        for (path, old) in [("r.ts", " "), ("none.ts", "x"), ("r.ts", "absent entirely")] {
            assert!(!replaced(path, old, "x").is_ok(), "{path} {old}");
        }
    }
}
