//! Finds the rules, custom properties and mixins of CSS, SCSS and Less by braces and semicolons.

use std::ops::Range;

use super::{Mark, is_directly_above, joined};
use crate::base::is_listed;
use crate::index::syntax::DEPTH_MAX;
use crate::index::syntax::outline::Kind;
use crate::index::syntax::reader::{ITEMS_MAX, one_line};

/// At-rules of SCSS and Less that control or insert code and name nothing; rules inside them count.
const UNNAMED: &str = "if else each for while include content return at-root extend";

/// The names in a text. Runs once over its bytes; a block that is never closed ends with the text.
pub(super) fn marks(source: &str) -> Vec<Mark> {
    let mut sheet = Sheet { source, marks: Vec::new(), open: Vec::new(), head: None, comment: 0..0 };
    let (mut at, mut brackets) = (0, 0_usize);
    let bytes = source.as_bytes();
    while let Some(byte) = bytes.get(at) {
        let rest = &source[at..];
        let end = match byte {
            b'/' if rest.starts_with("/*") => {
                let end = rest[2..].find("*/").map_or(source.len(), |end| at + 2 + end + 2);
                sheet.comment(at..end);
                end
            }
            // `url(//host)` is not a comment.
            b'/' if rest.starts_with("//") && brackets == 0 => {
                let end = rest.find('\n').map_or(source.len(), |end| at + end);
                sheet.comment(at..end);
                end
            }
            b'"' | b'\'' => {
                sheet.begin(at);
                at + string(rest)
            }
            // A variable inside a name.
            b'#' | b'@' if bytes.get(at + 1) == Some(&b'{') => {
                sheet.begin(at);
                rest.find('}').map_or(source.len(), |end| at + end + 1)
            }
            b'(' | b'[' => {
                sheet.begin(at);
                brackets += 1;
                at + 1
            }
            b')' | b']' => {
                brackets = brackets.saturating_sub(1);
                at + 1
            }
            b'{' => {
                brackets = 0;
                sheet.enter(at);
                at + 1
            }
            b';' if brackets == 0 => {
                sheet.declare(at);
                at + 1
            }
            b'}' => {
                brackets = 0;
                sheet.declare(at);
                sheet.leave(at + 1);
                at + 1
            }
            byte => {
                if !byte.is_ascii_whitespace() {
                    sheet.begin(at);
                }
                at + 1
            }
        };
        // Only single-byte marks are searched for, so a multi-byte character is skipped as a whole.
        at = (end..=source.len()).find(|end| source.is_char_boundary(*end)).unwrap_or(source.len());
    }
    let end = source.trim_end().len();
    while !sheet.open.is_empty() {
        sheet.leave(end);
    }
    sheet.marks
}

/// Bytes of the string at the beginning of `rest`; one that is not closed ends with its line.
fn string(rest: &str) -> usize {
    let quote = rest.as_bytes()[0];
    let mut is_escaped = true;
    for (at, byte) in rest.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'\n' => return at,
            byte if byte == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

struct Sheet<'s> {
    source: &'s str,
    marks: Vec<Mark>,
    /// The blocks around the current position.
    open: Vec<Block>,
    /// First byte of the current rule or declaration.
    head: Option<usize>,
    /// The comment before the current position.
    comment: Range<usize>,
}

struct Block {
    /// Its marks, whose end is not known yet.
    marks: Range<usize>,
    /// Whether it contains only animation steps.
    has_steps: bool,
}

impl Sheet<'_> {
    fn begin(&mut self, at: usize) {
        if self.head.is_none() {
            self.head = Some(at);
            if !is_directly_above(self.source, self.comment.end..at) {
                self.comment = at..at;
            }
        }
    }

    /// Comments on consecutive lines are one comment.
    fn comment(&mut self, bytes: Range<usize>) {
        if self.head.is_some() {
            return;
        }
        let is_next = !self.comment.is_empty() && is_directly_above(self.source, self.comment.end..bytes.start);
        // A comment after code on its line belongs to that code.
        let before = self.source[..bytes.start].trim_end_matches([' ', '\t']);
        self.comment = match before.is_empty() || before.ends_with('\n') {
            true if is_next => self.comment.start..bytes.end,
            true => bytes,
            false => bytes.end..bytes.end,
        };
    }

    /// The text of the current rule or declaration up to `end`, without comments.
    fn taken(&mut self, end: usize) -> Option<(usize, String, Range<usize>)> {
        let start = self.head.take()?;
        let comment = std::mem::replace(&mut self.comment, end..end);
        Some((start, joined(&uncommented(&self.source[start..end])), comment))
    }

    fn mark(&mut self, name: &str, kind: Kind, bytes: Range<usize>, signature: &str, comment: &Range<usize>) {
        // One more than is kept, so that the outline is marked as truncated.
        if self.marks.len() > ITEMS_MAX {
            return;
        }
        let (name, signature, comment) = (name.to_owned(), signature.to_owned(), comment.clone());
        self.marks.push(Mark { name, kind, bytes, signature, comment });
    }

    /// `--name: value;`, `$name: value;`, `@name: value;`.
    fn declare(&mut self, end: usize) {
        let Some((start, text, comment)) = self.taken(end) else { return };
        if let Some(name) = variable(&text) {
            self.mark(name, Kind::Variable, start..end + 1, &text, &comment);
        }
    }

    fn enter(&mut self, end: usize) {
        let first = self.marks.len();
        let is_step = self.open.last().is_some_and(|around| around.has_steps);
        let is_too_deep = self.open.len() >= DEPTH_MAX;
        let mut has_steps = is_step;
        if let Some((start, head, comment)) = self.taken(end).filter(|_| !is_step && !is_too_deep) {
            // The end is set when the block is closed.
            let bytes = start..self.source.len();
            let (word, rest) = match head.strip_prefix('@') {
                Some(rule) => rule.split_at(rule.find(|c: char| !is_of_name(c)).unwrap_or(rule.len())),
                None => ("", head.as_str()),
            };
            has_steps = word.ends_with("keyframes");
            // A list may have many selectors, and each one keeps the signature.
            let signature = one_line(&head);
            let own = rest.trim_start().split(['(', ' ']).next().unwrap_or_default();
            if let Some(name) = variable(&head) {
                self.mark(name, Kind::Variable, bytes, &signature, &comment);
            } else if has_steps {
                self.mark(rest.trim(), Kind::Rule, bytes, &signature, &comment);
            } else if is_listed("mixin function", word) {
                self.mark(own, Kind::Function, bytes, &signature, &comment);
            } else if word == "property" {
                self.mark(own, Kind::Variable, bytes, &signature, &comment);
            } else if !word.is_empty() {
                let name = if is_listed(UNNAMED, word) { "" } else { head.as_str() };
                self.mark(name, Kind::Rule, bytes, &signature, &comment);
            } else if !head.ends_with(':') {
                for selector in selectors(&head) {
                    self.mark(selector, Kind::Rule, bytes.clone(), &signature, &comment);
                }
            }
        }
        self.open.push(Block { marks: first..self.marks.len(), has_steps });
    }

    fn leave(&mut self, end: usize) {
        if let Some(block) = self.open.pop() {
            self.marks[block.marks].iter_mut().for_each(|mark| mark.bytes.end = end);
        }
    }
}

fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '-' | '_')
}

/// The name of the variable that a declaration sets.
fn variable(text: &str) -> Option<&str> {
    let (name, _) = text.split_once(':')?;
    let name = name.trim_end();
    let plain = ["--", "$", "@"].iter().find_map(|mark| name.strip_prefix(mark))?;
    // `@page :first` is a rule.
    let is_rule = name.starts_with('@') && is_listed("page media supports container", plain);
    (!plain.is_empty() && plain.chars().all(is_of_name) && !is_rule).then_some(name)
}

/// The selectors of a list, split at the commas outside brackets.
fn selectors(head: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    head.split(move |letter| {
        match letter {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    })
    .map(str::trim)
}

fn uncommented(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("/*") {
        plain.push_str(&rest[..at]);
        rest = rest[at..].find("*/").map_or("", |end| &rest[at + end + 2..]);
    }
    plain.push_str(rest);
    let lines = plain.lines().map(|line| line.split_once(" //").map_or(line, |(code, _)| code));
    lines.filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}
