//! Recognizes the marks by which a model leaves code out (`# ... existing code`).

use crate::language::clauses::words::entries;

/// Longest line that can be a mark, in bytes.
const MARK_BYTES_MAX: usize = 120;
/// Most words of a mark.
const WORDS_MAX: usize = 14;
/// Most spaces between the comment sign and a mark; text further behind is an example in a comment.
const SPACES_MAX: usize = 2;

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
}
