//! Applies edits to a text and finds its lines; its line endings, its byte order mark and all else stay as they are.

use std::ops::Range;

const BOM: &str = "\u{feff}";

/// A text with line feeds only, and what is needed to write edits back into the original.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    original: &'a str,
    pub text: String,
    has_bom: bool,
    /// Offsets in `text` of line feeds that had a carriage return before them.
    returns: Vec<usize>,
}

/// One replacement. An empty range is an insertion; of two at one place the earlier one comes first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub range: Range<usize>,
    pub new: String,
}

impl<'a> Source<'a> {
    pub fn new(original: &'a str) -> Source<'a> {
        let has_bom = original.starts_with(BOM);
        let body = original.strip_prefix(BOM).unwrap_or(original);
        let (mut text, mut returns) = (String::with_capacity(body.len()), Vec::new());
        let mut rest = body;
        while let Some(at) = rest.find("\r\n") {
            text.push_str(&rest[..at]);
            returns.push(text.len());
            text.push('\n');
            rest = &rest[at + 2..];
        }
        text.push_str(rest);
        Source { original, text, has_bom, returns }
    }

    /// `new` with the line ends of the range it replaces, one after the other; more lines get that of the last one, and without one in the
    /// range that of the line on which it begins.
    fn with_ends(&self, range: &Range<usize>, new: &str) -> String {
        let all: Vec<usize> = self.text[range.clone()].match_indices('\n').map(|(at, _)| range.start + at).collect();
        let after = self.text[range.end..].find('\n').map(|at| range.end + at);
        let beside = all.last().copied().or(after).or_else(|| self.text[..range.start].rfind('\n'));
        let is_return = |at: Option<usize>| at.is_some_and(|at| self.returns.binary_search(&at).is_ok());
        let mut out = String::with_capacity(new.len());
        for (number, line) in new.split('\n').enumerate() {
            if number > 0 {
                let end = all.get(number - 1).copied().or(beside);
                out.push_str(if is_return(end) { "\r\n" } else { "\n" });
            }
            out.push_str(line);
        }
        out
    }

    /// The offset in the original for an offset in `text`.
    fn original_place(&self, at: usize) -> usize {
        let before = self.returns.partition_point(|place| *place < at);
        at + before + if self.has_bom { BOM.len() } else { 0 }
    }

    /// The original with `edits` made, and for each edit the line, counted from 1, on which it now begins. Edits that
    /// overlap an earlier one are left out, with line 0.
    pub fn apply(&self, edits: &[Edit]) -> (String, Vec<usize>) {
        let mut order: Vec<usize> = (0..edits.len()).collect();
        order.sort_by_key(|at| (edits[*at].range.start, edits[*at].range.end, *at));
        let (mut out, mut lines) = (String::with_capacity(self.original.len() + 256), vec![0; edits.len()]);
        let (mut done, mut line) = (0, 1);
        for at in order {
            let Edit { range, new } = &edits[at];
            let (start, end) = (self.original_place(range.start), self.original_place(range.end));
            if start < done || end < start {
                continue;
            }
            let kept = &self.original[done..start];
            out.push_str(kept);
            line += kept.matches('\n').count();
            lines[at] = line + new.len() - new.trim_start_matches('\n').len();
            let new = self.with_ends(range, new);
            line += new.matches('\n').count();
            out.push_str(&new);
            done = end;
        }
        out.push_str(&self.original[done..]);
        (out, lines)
    }
}

/// The first byte of the line that contains `at`.
pub fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |line| line + 1)
}

/// The end of the line that contains `at`, without its line feed.
pub fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |end| at + end)
}

/// The line that contains `at`, without its line feed.
pub fn line_at(text: &str, at: usize) -> &str {
    &text[line_start(text, at)..line_end(text, at)]
}

/// The number of the line that contains a byte, counted from 1.
pub fn line_of(text: &str, byte: usize) -> usize {
    text[..byte.min(text.len())].matches('\n').count() + 1
}

/// The line of that number, counted from 1; empty if there is none.
pub fn nth_line(text: &str, number: usize) -> &str {
    text.lines().nth(number.saturating_sub(1)).unwrap_or_default()
}

/// The whole lines of `range`, with the last line feed. `None` if something else is on them.
pub fn own_lines(text: &str, range: &Range<usize>) -> Option<Range<usize>> {
    let lines = line_start(text, range.start)..text.len().min(line_end(text, range.end) + 1);
    let is_own = text[lines.start..range.start].trim().is_empty() && text[range.end..lines.end].trim().is_empty();
    is_own.then_some(lines)
}

/// The white space at the beginning of the line that contains `at`.
pub fn indent_at(text: &str, at: usize) -> &str {
    let line = &text[line_start(text, at)..at];
    &line[..line.len() - line.trim_start().len()]
}

/// Whether a line looks like a comment in some language. Good enough to rank by, not to delete by.
pub fn is_comment(line: &str) -> bool {
    let start = line.trim_start();
    ["//", "#", "/*", "*", "--", "<!--", "\"\"\"", ";"].iter().any(|mark| start.starts_with(mark))
        && !start.starts_with("#[")
        && !start.starts_with("#include")
        && !start.starts_with("#define")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(original: &str, find: &str, new: &str, expected: &str) {
        let source = Source::new(original);
        let at = source.text.find(find).unwrap();
        let (text, _) = source.apply(&[Edit { range: at..at + find.len(), new: new.into() }]);
        assert_eq!(text, expected);
    }

    #[test]
    fn line_endings_and_byte_order_mark_stay() {
        check("a\nb\nc", "b", "x\ny", "a\nx\ny\nc");
        check("a\r\nb\r\nc\r\n", "b", "x\ny", "a\r\nx\r\ny\r\nc\r\n");
        check("\u{feff}a\r\nb\r\n", "a", "z", "\u{feff}z\r\nb\r\n");
        check("a\nb\r\nc\n", "c", "x\ny", "a\nb\r\nx\ny\n");
        check("a\r\nb\nc\r\nd\r\n", "b", "x\ny", "a\r\nx\ny\nc\r\nd\r\n");
        check("a\nb\r\nc\nd\n", "a\nb\nc", "x\ny\nz", "x\ny\r\nz\nd\n");
        check("a\r\nb\r\nc", "\nb", "\nq", "a\r\nq\r\nc");
    }

    #[test]
    fn a_range_has_lines_of_its_own_if_nothing_else_is_on_them() {
        let check = |range: Range<usize>, expected: Option<Range<usize>>| {
            assert_eq!(own_lines("a\n  b\nc; d", &range), expected)
        };
        check(4..5, Some(2..6));
        check(0..5, Some(0..6));
        check(6..7, None);
        check(6..10, Some(6..10));
    }

    #[test]
    fn lines_are_those_of_the_new_text() {
        let source = Source::new("a\nb\nc\n");
        let edits = [Edit { range: 0..1, new: "1\n2".into() }, Edit { range: 4..5, new: "\n\nx".into() }];
        assert_eq!(source.apply(&edits), ("1\n2\nb\n\n\nx\n".into(), vec![1, 6]));
    }
}
