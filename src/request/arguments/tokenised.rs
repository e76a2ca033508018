//! A tokenised clause, in which phrases and quotations can be found.

use crate::language::clauses::names;
use crate::language::clauses::scan::{Kind, Token, scan_line};

#[derive(Debug)]
pub(super) struct Said<'a> {
    text: &'a str,
    /// Without line ends.
    pub tokens: Vec<Token<'a>>,
}

impl<'a> Said<'a> {
    pub fn read(text: &'a str) -> Said<'a> {
        Said { text, tokens: scan_line(text) }
    }

    /// The token at `at` in lower case; empty if it is no word.
    pub fn low(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.low.as_str())
    }

    /// The text of tokens `from..to`.
    pub fn span(&self, from: usize, to: usize) -> Option<&'a str> {
        (from < to && to <= self.tokens.len()).then(|| &self.text[self.tokens[from].start..self.tokens[to - 1].end])
    }

    /// The first text in quotation marks.
    pub fn quoted(&self) -> Option<&'a str> {
        self.tokens.iter().find(|token| token.kind == Kind::Opaque).map(names::unquoted)
    }

    /// Index of the token after the first of `phrases` that occurs; the caller puts longer phrases first.
    pub fn after<'t>(&self, phrases: impl IntoIterator<Item = &'t str>) -> Option<usize> {
        let ends = |phrase: &str, at: usize| {
            let wanted: Vec<&str> = phrase.split(' ').collect();
            wanted.iter().enumerate().all(|(i, word)| self.low(at + i) == *word).then_some(at + wanted.len())
        };
        phrases.into_iter().find_map(|phrase| {
            (0..self.tokens.len()).find_map(|at| ends(phrase, at)).filter(|&end| end < self.tokens.len())
        })
    }
}
