//! Applies edits to a text, keeping its line endings and byte order mark, and finds its lines.

use std::ops::Range;

use super::line_ends;

/// A text with line feeds only, and the original, whose line endings and byte order mark edits
/// keep.
#[derive(Clone, Debug)]
pub(crate) struct Source<'a> {
    original: &'a str,
    pub text: String,
}

/// A range of bytes and its replacement. An empty range is an insertion; of two insertions at the
/// same place, the earlier one in the list comes first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The bytes of the old text that it replaces.
    pub range: Range<usize>,
    /// The text that is put there.
    pub new: String,
}

impl<'a> Source<'a> {
    pub fn new(original: &'a str) -> Source<'a> {
        Source { original, text: line_ends::plain(original) }
    }

    /// Applies `pieces` to the original and returns the new text, with the line, counted from 1, on
    /// which each piece now begins. A piece that overlaps an earlier one is skipped and gets line
    /// 0.
    pub fn apply(&self, pieces: &[Piece]) -> (String, Vec<usize>) {
        let mut order: Vec<usize> = (0..pieces.len()).collect();
        order.sort_by_key(|at| (pieces[*at].range.start, pieces[*at].range.end, *at));
        let (mut out, mut lines) = (String::with_capacity(self.text.len() + 256), vec![0; pieces.len()]);
        let (mut done, mut line) = (0, 1);
        for at in order {
            let Piece { range, new } = &pieces[at];
            if range.start < done || range.end < range.start {
                continue;
            }
            let kept = &self.text[done..range.start];
            line += kept.matches('\n').count();
            lines[at] = line + new.len() - new.trim_start_matches('\n').len();
            line += new.matches('\n').count();
            out.push_str(kept);
            out.push_str(new);
            done = range.end;
        }
        out.push_str(&self.text[done..]);
        (line_ends::aligned(self.original, &out), lines)
    }
}

/// Applies the pieces, which must be sorted by position, to `text`; `None` if two overlap.
pub fn spliced<'p>(text: &str, pieces: impl IntoIterator<Item = &'p Piece>) -> Option<String> {
    let (mut after, mut done) = (String::with_capacity(text.len()), 0);
    for Piece { range, new } in pieces {
        after.push_str(text.get(done..range.start)?);
        after.push_str(new);
        done = range.end;
    }
    Some(after + text.get(done..)?)
}

/// The first byte of the line that contains `at`.
pub(crate) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |line| line + 1)
}

/// The end of the line that contains `at`, without its line feed.
pub(crate) fn line_end(text: &str, at: usize) -> usize {
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

/// The line with that number, counted from 1; empty if there is none.
pub(crate) fn nth_line(text: &str, number: usize) -> &str {
    text.lines().nth(number.saturating_sub(1)).unwrap_or_default()
}

/// The whole lines of `range`, with the last line feed. `None` if they contain other text.
pub fn own_lines(text: &str, range: &Range<usize>) -> Option<Range<usize>> {
    let lines = line_start(text, range.start)..text.len().min(line_end(text, range.end) + 1);
    let is_own = text[lines.start..range.start].trim().is_empty() && text[range.end..lines.end].trim().is_empty();
    is_own.then_some(lines)
}

/// The white space at the beginning of the line that contains `at`.
pub(crate) fn indent_at(text: &str, at: usize) -> &str {
    let line = &text[line_start(text, at)..at];
    &line[..line.len() - line.trim_start().len()]
}

/// Whether a line looks like a comment in some language. Reliable enough for ranking, not for
/// deleting.
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
        let (text, _) = source.apply(&[Piece { range: at..at + find.len(), new: new.into() }]);
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
        let edits = [Piece { range: 0..1, new: "1\n2".into() }, Piece { range: 4..5, new: "\n\nx".into() }];
        assert_eq!(source.apply(&edits), ("1\n2\nb\n\n\nx\n".into(), vec![1, 6]));
    }
}
