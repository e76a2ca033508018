//! Wraps styled lines at the width of the screen.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthChar;

use crate::base::visible;

/// A tab as spaces.
const TAB: &str = "    ";

/// One character with its style and width in columns.
type Cell = (char, Style, usize);

/// A piece of a line as [`visible`] text, with tabs as spaces.
pub fn clean(text: &str) -> String {
    visible(text).replace('\t', TAB).replace('\n', "\u{fffd}")
}

/// The line in pieces of at most `width` columns, broken at spaces if possible. All except the
/// first are indented by `hang` columns.
pub fn wrapped(line: &Line<'_>, width: usize, hang: usize) -> Vec<Line<'static>> {
    let cells = cells(line);
    let hang = if hang + 8 <= width { hang } else { 0 };
    let (mut lines, mut start) = (Vec::new(), 0);
    while start < cells.len() {
        let indent = if start == 0 { 0 } else { hang };
        let room = width.saturating_sub(indent).max(1);
        let (end, next) = piece(&cells, start, room);
        lines.push(joined(&cells[start..end], indent));
        start = next;
    }
    if lines.is_empty() {
        lines.push(Line::default());
    }
    lines
}

/// A text without styles, wrapped.
pub fn wrapped_text(text: &str, width: usize, style: Style) -> Vec<Line<'static>> {
    text.lines().flat_map(|line| wrapped(&Line::styled(line, style), width, 0)).collect()
}

/// The width of a text in columns.
pub fn columns(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// The text within `width` columns; truncated text ends in `…`.
pub fn cut(text: &str, width: usize) -> String {
    let text = clean(text);
    if columns(&text) <= width {
        return text;
    }
    let (mut kept, mut used) = (String::new(), 1);
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        kept.push(c);
    }
    if width > 0 {
        kept.push('…');
    }
    kept
}

fn cells(line: &Line<'_>) -> Vec<Cell> {
    let of_span = |span: &Span<'_>| {
        let style = line.style.patch(span.style);
        let cell = move |c: char| (c, style, c.width().unwrap_or(0));
        clean(&span.content).chars().map(cell).collect::<Vec<Cell>>()
    };
    line.spans.iter().flat_map(of_span).collect()
}

/// The end of the piece that begins at `start`, and the beginning of the next one.
fn piece(cells: &[Cell], start: usize, room: usize) -> (usize, usize) {
    let (mut end, mut used) = (start, 0);
    while end < cells.len() && used + cells[end].2 <= room {
        used += cells[end].2;
        end += 1;
    }
    if end == cells.len() {
        return (end, end);
    }
    // A character wider than the screen is cut off.
    let end = end.max(start + 1);
    // A space at the beginning of the next piece is dropped.
    if cells[end.min(cells.len() - 1)].0 == ' ' {
        return (end, end + 1);
    }
    let words_from = (start..end).find(|&at| cells[at].0 != ' ').unwrap_or(end);
    match (words_from..end).rev().find(|&at| cells[at].0 == ' ') {
        Some(space) => (space, space + 1),
        None => (end, end),
    }
}

/// The cells as a line; neighbours with the same style share a span.
fn joined(cells: &[Cell], indent: usize) -> Line<'static> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    if indent > 0 {
        spans.push(Span::raw(" ".repeat(indent)));
    }
    for group in cells.chunk_by(|one, next| one.1 == next.1) {
        let text: String = group.iter().map(|cell| cell.0).collect();
        spans.push(Span::styled(text, group[0].1));
    }
    Line::from(spans)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, width: usize, hang: usize, expected: &[&str]) {
        let lines: Vec<String> = wrapped(&Line::raw(text), width, hang).iter().map(ToString::to_string).collect();
        assert_eq!(lines, expected, "{text}");
    }

    #[test]
    fn lines_break_at_spaces_and_long_words_where_they_must() {
        check("", 9, 0, &[""]);
        check("one two three", 9, 0, &["one two", "three"]);
        check("one two three", 7, 0, &["one two", "three"]);
        check("abcdefghij", 4, 0, &["abcd", "efgh", "ij"]);
        check("  indented text", 10, 0, &["  indented", "text"]);
        check("step one two three four", 12, 2, &["step one two", "  three four"]);
        check("日本語", 4, 0, &["日本", "語"]);
    }

    #[test]
    fn what_would_hide_or_move_text_is_shown() {
        assert_eq!(clean("a\tb\x1b[2Jc\u{202e}d"), "a    b\u{fffd}[2Jc\u{fffd}d");
        assert_eq!((cut("abcdef", 4), cut("abc", 4)), ("abc…".to_owned(), "abc".to_owned()));
    }
}
