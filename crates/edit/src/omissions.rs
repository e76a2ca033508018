//! Recognises the marks with which a model omits code (`# ... existing code`) and replaces them
//! with the old lines.

use crate::language::clauses::words::entries;

/// Maximum length, in bytes, of a line that can be a mark.
const MARK_BYTES_MAX: usize = 120;
/// Maximum number of words of a mark.
const WORDS_MAX: usize = 14;
/// Maximum number of spaces between the comment sign and a mark; text further right is an example
/// in a comment.
const SPACES_MAX: usize = 2;
/// Minimum share of common words, from 0 to 1, for two lines to be versions of the same line.
const ALIKE_MIN: f32 = 0.6;

/// Words that make a comment a mark if it begins with dots: `... existing code`.
const HINTS: &str = "\
    existing, rest, previous, remaining, unchanged, same, other, omitted, keep, above, before, more, code, \
    method, function, implementation, import, field, test, as is, propert, entries";
/// Words that make a comment a mark if it ends with dots: `the rest of it ...`.
const HINTS_BEFORE: &str = "existing, rest of, previous, remaining, unchanged, omitted, other methods, same as";
/// Beginnings that make a comment without dots a mark.
const BEGINNINGS: &str = "\
    existing code, existing method, existing import, existing implementation, existing logic, existing field, \
    existing test, rest of code, rest of the code, rest of the class, rest of the function, rest of the method, \
    rest of the file, rest of the implementation, rest of the test, rest of your, rest of the existing, \
    rest unchanged, rest remains, rest is unchanged, rest is the same, rest stays, unchanged, same as before, \
    previous code, previous implementation, previous methods, remaining code, remaining methods unchanged, \
    other methods unchanged, other methods remain, other existing, other code remains, no changes here, \
    no change here, code omitted, omitted for brevity, your existing, keep existing, keep the existing, \
    keep the rest";

/// Whether a line is only a mark for omitted code. A line that is also in `before` is the file's
/// own comment.
pub fn is_mark(line: &str, before: &str) -> bool {
    let line = line.trim();
    let is_doc = ["///", "//!", "/**"].iter().any(|sign| line.starts_with(sign));
    let Some(comment) = comment_of(line).filter(|_| !is_doc && line.len() <= MARK_BYTES_MAX) else { return false };
    let is_dot = |c: char| c == '.' || c == '…';
    let plain = comment.trim_matches(|c: char| "()[] /*#".contains(c)).to_lowercase();
    let words = plain.split_whitespace().count();
    let spaces = comment.len() - comment.trim_start().len();
    let text = plain.strip_prefix("the ").unwrap_or(&plain);
    let any = |hints: &str| entries(hints).any(|hint| text.contains(hint));
    let says = match (text.starts_with("...") || text.starts_with('…'), text.ends_with("...") || text.ends_with('…'))
    {
        (true, _) => text.trim_matches(|c: char| is_dot(c) || "()[] ".contains(c)).is_empty() || any(HINTS),
        (false, true) if any(HINTS_BEFORE) => true,
        _ => entries(BEGINNINGS).any(|beginning| text.starts_with(beginning)),
    };
    says && spaces <= SPACES_MAX && words <= WORDS_MAX && !before.lines().any(|old| old.trim() == line)
}

/// The text of a comment after its sign, for a comment on its own line or after a no-op
/// (`pass # …`). `None` for other lines.
pub fn comment_of(line: &str) -> Option<&str> {
    let idle = ["pass", "..."].iter().find_map(|idle| line.strip_prefix(idle));
    let line = idle.map(str::trim_start).filter(|rest| rest.starts_with('#')).unwrap_or(line);
    let braced = line.strip_prefix('{').filter(|rest| rest.starts_with("/*"));
    let line = braced.map_or(line, |rest| rest.trim_end_matches('}'));
    let comment = ["<!--", "//", "/*", "#", "--"].iter().find_map(|sign| line.strip_prefix(sign))?;
    Some(comment.trim_end_matches("-->").trim_end_matches("*/"))
}

/// Whether a body was left out: it contains only marks, `...` and `pass`.
pub fn is_left_out(body: &str, before: &str) -> bool {
    let body = body.trim().trim_start_matches('{').trim_end_matches('}');
    let mut lines = body.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    lines.peek().is_some() && lines.all(|line| matches!(line, "..." | "pass" | "…") || is_mark(line, before))
}

pub fn has_marks(text: &str, before: &str) -> bool {
    text.lines().any(|line| is_mark(line, before))
}

/// The lines of a definition, and the number of lines in its head.
pub struct Body<'a> {
    pub lines: Vec<&'a str>,
    pub head: usize,
}

/// The lines of `new`, with each mark replaced by old lines. Lines next to a mark that are also in
/// `old` show where the omitted lines begin and end. `None` if that is ambiguous.
pub fn splice(old: &Body, new: &Body, before: &str) -> Option<Vec<String>> {
    let mut segments: Vec<Vec<&str>> = vec![Vec::new()];
    for (at, line) in new.lines.iter().enumerate() {
        if at >= new.head && is_mark(line, before) {
            segments.push(Vec::new());
        } else {
            segments.last_mut()?.push(line);
        }
    }
    let closes = |line: &str| line.starts_with(['}', ')', ']']) || line.trim_end() == "end";
    let closing = |lines: &[&str]| lines.last().is_some_and(|line| closes(line.trim_start()));
    let tail = usize::from(closing(&new.lines) && closing(&old.lines) && new.lines.len() > 1 && old.lines.len() > 1);
    let old_end = old.lines.len() - tail;
    let last = segments.len() - 1;
    let mut out: Vec<String> = Vec::new();
    let mut done = old.head.min(old_end);
    for (at, segment) in segments.iter().enumerate() {
        let head = if at == 0 { new.head.min(segment.len()) } else { 0 };
        let end = if at == last { segment.len().saturating_sub(tail) } else { segment.len() };
        let inner = &segment[head.min(end)..end];
        if at > 0 {
            let stop = match first_anchor(&old.lines[done..old_end], inner) {
                Found::At(new_line, old_line) => (new_line, done + old_line),
                Found::Nothing if at == last => (inner.len(), old_end),
                _ => return None,
            };
            let kept = &old.lines[done..stop.1];
            if replaces(&inner[..stop.0], kept.iter().rev().copied()) {
                return None;
            }
            out.extend(kept.iter().map(|line| line.to_string()));
            done = stop.1;
        }
        if at == last && at > 0 && drops_an_end(&old.lines[done..old_end], inner) {
            return None;
        }
        if at < last {
            let (new_line, old_line) = match last_anchor(&old.lines[done..old_end], inner) {
                Found::At(new_line, old_line) => (new_line + 1, done + old_line + 1),
                Found::Nothing if at == 0 => (0, done),
                _ => return None,
            };
            if replaces(&inner[new_line..], old.lines[old_line..old_end].iter().copied()) {
                return None;
            }
            done = old_line;
        }
        out.extend(segment.iter().map(|line| line.to_string()));
    }
    Some(out)
}

/// Whether more of the old text than of the new text follows the last line that both have.
fn drops_an_end(old: &[&str], segment: &[&str]) -> bool {
    let Found::At(new_line, old_line) = last_anchor(old, segment) else { return false };
    let strong = |lines: &[&str]| lines.iter().filter(|line| !is_weak(line)).count();
    strong(&old[old_line + 1..]) > strong(&segment[new_line + 1..])
}

/// Where a line of the new text occurs in the old one.
enum Found {
    /// Index of the line in the segment, and of the same line in the old text.
    At(usize, usize),
    Nothing,
    Unsure,
}

/// Whether a line is too common to identify a place: `}`, `else:`, `return`.
fn is_weak(line: &str) -> bool {
    let letters = line.chars().filter(|c| c.is_alphanumeric()).count();
    letters < 4
        || matches!(
            line.trim().trim_end_matches([';', ':', '{', ' ']),
            "return" | "else" | "} else" | "break" | "continue" | "pass" | "return None" | "finally"
        )
}

/// The last line of `segment` that occurs in `old`, moved down past equal lines below it.
fn last_anchor(old: &[&str], segment: &[&str]) -> Found {
    for at in (0..segment.len()).rev().filter(|at| !is_weak(segment[*at])) {
        match place(old, segment, at) {
            Found::At(mut new_line, mut old_line) => {
                while new_line + 1 < segment.len()
                    && old_line + 1 < old.len()
                    && segment[new_line + 1].trim() == old[old_line + 1].trim()
                {
                    (new_line, old_line) = (new_line + 1, old_line + 1);
                }
                return Found::At(new_line, old_line);
            }
            Found::Nothing => {}
            Found::Unsure => return Found::Unsure,
        }
    }
    Found::Nothing
}

/// The first line of `segment` that occurs in `old`, moved up past equal lines above it.
fn first_anchor(old: &[&str], segment: &[&str]) -> Found {
    for at in (0..segment.len()).filter(|at| !is_weak(segment[*at])) {
        match place(old, segment, at) {
            Found::At(mut new_line, mut old_line) => {
                while new_line > 0 && old_line > 0 && segment[new_line - 1].trim() == old[old_line - 1].trim() {
                    (new_line, old_line) = (new_line - 1, old_line - 1);
                }
                return Found::At(new_line, old_line);
            }
            Found::Nothing => {}
            Found::Unsure => return Found::Unsure,
        }
    }
    Found::Nothing
}

/// The place of line `at` of `segment` in `old`; if there are several, the one next to another
/// equal line.
fn place(old: &[&str], segment: &[&str], at: usize) -> Found {
    let same = |a: Option<&&str>, b: Option<&&str>| matches!((a, b), (Some(a), Some(b)) if a.trim() == b.trim());
    let places: Vec<usize> = (0..old.len()).filter(|line| old[*line].trim() == segment[at].trim()).collect();
    let agreeing: Vec<usize> = places
        .iter()
        .copied()
        .filter(|line| {
            same(line.checked_sub(1).and_then(|l| old.get(l)), at.checked_sub(1).and_then(|a| segment.get(a)))
                || same(old.get(line + 1), segment.get(at + 1))
        })
        .collect();
    match (places.as_slice(), agreeing.as_slice()) {
        ([], _) => Found::Nothing,
        ([one], _) | (_, [one]) => Found::At(at, *one),
        _ => Found::Unsure,
    }
}

/// Whether a new line next to a mark looks like a new version of an old line that the mark would
/// keep.
fn replaces<'a>(new: &[&str], kept: impl Iterator<Item = &'a str>) -> bool {
    let near: Vec<&str> = kept.filter(|line| !line.trim().is_empty()).take(new.len() + 1).collect();
    new.iter().filter(|line| !is_weak(line)).any(|line| near.iter().any(|old| is_version(line.trim(), old.trim())))
}

/// Whether two lines look like versions of the same line: both leave the function, both set the
/// same variable, or most of their words are the same.
fn is_version(new: &str, old: &str) -> bool {
    let target = |line: &str| {
        let (left, _) = line.split_once('=')?;
        let left = left.trim().trim_start_matches("let ").trim_start_matches("const ").trim_start_matches("var ");
        left.chars().all(|c| c.is_alphanumeric() || "_.: ".contains(c)).then(|| left.trim().to_owned())
    };
    let word = |line: &str| line.split([' ', '(', ';']).next().unwrap_or_default().to_owned();
    let both_leave = matches!(word(new).as_str(), "return" | "raise" | "throw") && word(new) == word(old);
    let same_target = target(new).is_some_and(|t| Some(t) == target(old));
    both_leave || same_target || alike(new, old) >= ALIKE_MIN
}

/// The share of names and numbers that two lines have in common, from 0 to 1 (Dice coefficient).
fn alike(a: &str, b: &str) -> f32 {
    let words = |line: &str| -> Vec<String> {
        let words = line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
        words.map(str::to_owned).collect()
    };
    let (a, mut b) = (words(a), words(b));
    let all = a.len() + b.len();
    let shared =
        a.iter().filter(|word| b.iter().position(|other| other == *word).map(|at| b.swap_remove(at)).is_some());
    2.0 * shared.count() as f32 / all.max(1) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_differ_from_comments() {
        let check = |line: &str, expected| assert_eq!(is_mark(line, "# rest of the owl\n"), expected, "{line}");
        check("    # ... existing code ...", true);
        check("# ... (previous code)", true);
        check("// ...", true);
        check("/* ... */", true);
        check("// rest unchanged", true);
        check("pass  # unchanged", true);
        check("{/* ... other fields ... */}", true);
        check("# rest of the owl", false);
        check("# Keep the file open", false);
        check("# Other functions", false);
        check("// offset stays the same", false);
        check("// SAFETY: same as above", false);
        check("/// ... and the rest", false);
        check("#       ... code", false);
        check("# Rest of the class remains the same", true);
        check("// existing code...", true);
        check("# (rest of the code)", true);
        check("# the cache is kept unchanged while a request that came before it is served", false);
        check("...", false);
        check("x = 1  # unchanged", false);
    }

    fn check(old: &str, new: &str, expected: Option<&str>) {
        let body = |text: &'static str| Body { lines: text.lines().collect(), head: 1 };
        let (old, new) = (body(Box::leak(old.to_owned().into())), body(Box::leak(new.to_owned().into())));
        assert_eq!(splice(&old, &new, "").map(|lines| lines.join("\n")).as_deref(), expected);
    }

    #[test]
    fn a_new_guard_before_a_mark_takes_nothing_away() {
        let guard = "  if (!this.open) {\n    throw new Error('closed');\n  }\n";
        let rest = "  for (const item of this.items) {\n    this.send(item);\n  }\n  return this.count;\n}";
        let expected = format!("all() {{\n{guard}{rest}");
        check(&format!("all() {{\n{rest}"), &format!("all() {{\n{guard}  // ... existing code\n}}"), Some(&expected));
    }

    #[test]
    fn old_lines_replace_a_mark() {
        let old = "def f(x):\n    total = 0\n    for one in x:\n        total += one\n    return total";
        check(
            old,
            "def f(x, y):\n    check_it(x)\n    # ... existing code\n    return total",
            Some(
                "def f(x, y):\n    check_it(x)\n    total = 0\n    for one in x:\n        total += one\n    return total",
            ),
        );
        check(old, "def f(x):\n    total = 5\n    # ... rest unchanged", None);
        check(old, "def f(x):\n    # ... existing code\n    return total + 1", None);
        check("f() {\n  open();\n}", "f() {\n  // ...\n  close();\n}", Some("f() {\n  open();\n  close();\n}"));
    }
}
