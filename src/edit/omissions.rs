//! Recognizes the marks by which a model leaves code out (`# ... existing code`), and replaces them by the old lines.

use similar::{Algorithm, capture_diff_slices};

use crate::language::clauses::words::entries;

/// Longest line that can be a mark, in bytes.
const MARK_BYTES_MAX: usize = 120;
/// Most words of a mark.
const WORDS_MAX: usize = 14;
/// Most spaces between the comment sign and a mark; text further behind is an example in a comment.
const SPACES_MAX: usize = 2;
/// Share of common words from which two lines are taken for versions of one line.
const ALIKE_MIN: f32 = 0.6;

/// Words that make a comment a mark if it begins with dots: `... existing code`.
const HINTS: &str = "\
    existing, rest, previous, remaining, unchanged, same, other, omitted, keep, above, before, more, code, \
    method, function, implementation, import, field, test, as is, propert, entries";
/// Words that make a comment a mark if it ends with dots: `the rest of it ...`.
const HINTS_BEFORE: &str = "existing, rest of, previous, remaining, unchanged, omitted, other methods, same as";
/// Beginnings that make a comment a mark without dots.
const BEGINNINGS: &str = "\
    existing code, existing method, existing import, existing implementation, existing logic, existing field, \
    existing test, rest of code, rest of the code, rest of the class, rest of the function, rest of the method, \
    rest of the file, rest of the implementation, rest of the test, rest of your, rest of the existing, \
    rest unchanged, rest remains, rest is unchanged, rest is the same, rest stays, unchanged, same as before, \
    previous code, previous implementation, previous methods, remaining code, remaining methods unchanged, \
    other methods unchanged, other methods remain, other existing, other code remains, no changes here, \
    no change here, code omitted, omitted for brevity, your existing, keep existing, keep the existing, \
    keep the rest";

/// Whether a line is nothing but a mark for omitted code. A line that `before` has too is the file's own comment.
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

/// The text of a comment line behind its sign, also behind code that does nothing (`pass  # …`). `None` for other
/// lines.
pub fn comment_of(line: &str) -> Option<&str> {
    let idle = ["pass", "..."].iter().find_map(|idle| line.strip_prefix(idle));
    let line = idle.map(str::trim_start).filter(|rest| rest.starts_with('#')).unwrap_or(line);
    let braced = line.strip_prefix('{').filter(|rest| rest.starts_with("/*"));
    let line = braced.map_or(line, |rest| rest.trim_end_matches('}'));
    let comment = ["<!--", "//", "/*", "#", "--"].iter().find_map(|sign| line.strip_prefix(sign))?;
    Some(comment.trim_end_matches("-->").trim_end_matches("*/"))
}

/// Whether a body was left out: it has nothing but marks, `...` and `pass`.
pub fn is_left_out(body: &str, before: &str) -> bool {
    let body = body.trim().trim_start_matches('{').trim_end_matches('}');
    let mut lines = body.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    lines.peek().is_some() && lines.all(|line| matches!(line, "..." | "pass" | "…") || is_mark(line, before))
}

pub fn has_marks(text: &str, before: &str) -> bool {
    text.lines().any(|line| is_mark(line, before))
}

/// The lines of a definition, and how many of them are its head.
pub struct Body<'a> {
    pub lines: Vec<&'a str>,
    pub head: usize,
}

/// The lines of `new` with each mark replaced by the old lines that a diff has in its place. `None` if that is not
/// certain.
pub fn splice(old: &Body, new: &Body, before: &str) -> Option<Vec<String>> {
    let (_, old_body) = old.lines.split_at(old.head.min(old.lines.len()));
    let (new_head, new_body) = new.lines.split_at(new.head.min(new.lines.len()));
    let trimmed = |lines: &[&str]| lines.iter().map(|line| line.trim().to_owned()).collect::<Vec<String>>();
    let mut out: Vec<&str> = new_head.to_vec();
    for op in capture_diff_slices(Algorithm::Patience, &trimmed(old_body), &trimmed(new_body)) {
        let (kept, written) = (&old_body[op.old_range()], &new_body[op.new_range()]);
        let marks: Vec<usize> = (0..written.len()).filter(|at| is_mark(written[*at], before)).collect();
        match marks.as_slice() {
            // Lines that are gone where no mark is may be meant by a mark elsewhere.
            [] if written.is_empty() && kept.iter().any(|line| !is_weak(line)) => return None,
            [] => out.extend(written),
            [mark] => {
                let (above, below) = (&written[..*mark], &written[mark + 1..]);
                if replaces(above, kept.iter().copied()) || replaces(below, kept.iter().rev().copied()) {
                    return None;
                }
                out.extend(above.iter().chain(kept).chain(below));
            }
            _ => return None,
        }
    }
    Some(out.into_iter().map(str::to_owned).collect())
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

/// Whether a new line beside a mark looks like another version of an old line that the mark would keep.
fn replaces<'a>(new: &[&str], kept: impl Iterator<Item = &'a str>) -> bool {
    let near: Vec<&str> = kept.filter(|line| !line.trim().is_empty()).take(new.len() + 1).collect();
    new.iter().filter(|line| !is_weak(line)).any(|line| near.iter().any(|old| is_version(line.trim(), old.trim())))
}

/// Whether two lines look like versions of one line: both leave the function, both set the same variable, or they share
/// most words.
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

/// Share of names and numbers that two lines have in common, from 0 to 1 (Dice coefficient).
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
