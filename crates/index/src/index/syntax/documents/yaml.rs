//! Finds the keys of YAML, at the top level of a document and one level below, by their columns.

use std::ops::Range;

use super::Mark;
use crate::index::syntax::outline::Kind;

/// The keys of a text. Deeper content belongs to its key, so that lists, block scalars and
/// templates need not be read.
pub(super) fn marks(source: &str) -> Vec<Mark> {
    let mut file = File { source, marks: Vec::new(), upper: None, lower: None, column: None };
    // The comment directly above the current line.
    let mut comment: Option<usize> = None;
    let mut at = 0;
    for whole in source.split_inclusive('\n') {
        let line = whole.trim_end();
        let text = line.trim_start_matches(' ');
        let column = line.len() - text.len();
        let begin = comment.filter(|_| !text.is_empty()).unwrap_or(at);
        if text.starts_with('#') {
            comment = Some(begin);
        } else {
            comment = None;
            if column == 0 && (text.starts_with("---") || text.starts_with("...")) {
                file.end_upper(at);
            } else if let Some(key) = key(text) {
                file.key(key, column, begin..at + column, text);
            } else if !text.is_empty() && file.column.is_none() {
                // A list or text: the key has no keys below it.
                file.column = Some(usize::MAX);
            }
        }
        at += whole.len();
    }
    file.end_upper(source.len());
    file.marks
}

struct File<'s> {
    source: &'s str,
    marks: Vec<Mark>,
    /// Positions in `marks` of the keys around the current line.
    upper: Option<usize>,
    lower: Option<usize>,
    /// The column of the keys below the current key; `None` until its next line.
    column: Option<usize>,
}

impl File<'_> {
    /// A key, with the bytes from the comment above it up to the key.
    fn key(&mut self, key: Key, column: usize, above: Range<usize>, text: &str) {
        if column == 0 {
            self.end_upper(above.start);
            self.upper = Some(self.mark(key.name, above, text));
            self.column = if key.is_open { None } else { Some(usize::MAX) };
        } else if self.upper.is_some() && self.column.is_none_or(|known| known == column) {
            self.column = Some(column);
            self.end_lower(above.start);
            self.lower = Some(self.mark(key.name, above, text));
        }
    }

    fn mark(&mut self, name: &str, above: Range<usize>, text: &str) -> usize {
        let line = self.source[..above.end].rfind('\n').map_or(0, |end| end + 1);
        let comment = above.start..line.max(above.start);
        let bytes = above.end..self.source.len();
        let (name, signature) = (name.to_owned(), text.trim_end_matches(['|', '>']).to_owned());
        self.marks.push(Mark { name, kind: Kind::Key, bytes, signature, comment });
        self.marks.len() - 1
    }

    fn end_lower(&mut self, end: usize) {
        if let Some(at) = self.lower.take() {
            self.marks[at].bytes.end = end;
        }
    }

    fn end_upper(&mut self, end: usize) {
        self.end_lower(end);
        if let Some(at) = self.upper.take() {
            self.marks[at].bytes.end = end;
        }
    }
}

struct Key<'t> {
    name: &'t str,
    /// Whether its value is on the lines below.
    is_open: bool,
}

/// The key at the beginning of a line: `name: value`, `"a name":`, `&anchor name: &other`.
fn key(text: &str) -> Option<Key<'_>> {
    let text = text.trim_start_matches('\u{feff}');
    let is_mark = |word: &str| word.starts_with(['&', '!']);
    let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
    let text = if is_mark(first) && !first.ends_with(':') { rest.trim_start() } else { text };
    let quote = text.chars().next().filter(|first| matches!(first, '"' | '\''));
    let (name, rest) = match quote {
        Some(quote) => {
            let (name, rest) = text[1..].split_once(quote)?;
            (name, rest.trim_start().strip_prefix(':')?)
        }
        None if text.starts_with(['-', '?', '[', '{', ']', '}', ',', '|', '>', '%', '@', '`', '*', '<']) => {
            return None;
        }
        None => {
            let end = text.find(": ").or_else(|| text.ends_with(':').then(|| text.len() - 1))?;
            (text[..end].trim_end(), &text[end + 1..])
        }
    };
    let value = rest.split(" #").next().unwrap_or_default().trim();
    let is_value = (!rest.is_empty() && !rest.starts_with([' ', '\t'])) || name.is_empty() || name.contains(" #");
    let is_open = value.is_empty() || value.starts_with('#') || value.split_whitespace().all(is_mark);
    (!is_value).then_some(Key { name, is_open })
}
