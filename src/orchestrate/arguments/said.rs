//! What a text says that an argument can be made of: paths with the word before them, quotations, numbers, addresses.

use crate::orchestrate::decompose::names;
use crate::orchestrate::decompose::scan::{Kind, Token, scan};
use crate::orchestrate::decompose::{verbs, words};

/// A path, a file name or a named folder.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PathSaid {
    pub text: String,
    /// The preposition before it: `to`, `from`, `in`, …
    pub lead: String,
    pub at: usize,
}

/// A text with its tokens.
#[derive(Debug)]
pub(super) struct Said<'a> {
    pub text: &'a str,
    pub tokens: Vec<Token<'a>>,
    pub paths: Vec<PathSaid>,
    /// Numbers that are no part of a path, in order.
    pub numbers: Vec<f64>,
}

/// Stand before `folder` without naming one.
const GENERAL: &str = "\
    temporary, same, new, current, target, right, parent, whole, entire, home, backup, project, other, empty, file";

impl<'a> Said<'a> {
    pub fn read(text: &'a str) -> Said<'a> {
        let tokens: Vec<Token> =
            scan(text).into_iter().filter(|t| !matches!(t.kind, Kind::Newline | Kind::Blank)).collect();
        let is_number = |token: &&Token| token.kind == Kind::Word && !names::is_path(token.text);
        let number = |token: &Token| names::number(token.text)?.replace(',', "").parse().ok();
        let numbers = tokens.iter().filter(is_number).filter_map(number).collect();
        let mut said = Said { text, tokens, paths: Vec::new(), numbers };
        said.find_paths();
        said
    }

    pub fn low(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.low.as_str())
    }

    /// The text of tokens `from..to`.
    pub fn span(&self, from: usize, to: usize) -> Option<&'a str> {
        (from < to && to <= self.tokens.len()).then(|| &self.text[self.tokens[from].start..self.tokens[to - 1].end])
    }

    pub fn quotes(&self) -> impl Iterator<Item = (usize, &'a str)> {
        self.tokens
            .iter()
            .enumerate()
            .filter(|(_, token)| token.kind == Kind::Opaque)
            .map(|(i, token)| (i, names::unquoted(token)))
    }

    fn lead(&self, at: usize) -> String {
        let back = (0..at)
            .rev()
            .take(4)
            .map(|i| self.low(i))
            .find(|low| words::is_preposition(low) || verbs::class(low).is_some() || *low == "and");
        back.unwrap_or("").to_owned()
    }

    fn find_paths(&mut self) {
        for at in 0..self.tokens.len() {
            let token = &self.tokens[at];
            let text = if token.kind == Kind::Opaque { names::unquoted(token) } else { token.text };
            let plain = names::is_path(text) && !text.contains('\n') && text.len() < 4096;
            if plain && !names::is_url(&text.to_lowercase()) {
                self.paths.push(PathSaid { text: text.to_owned(), lead: self.lead(at), at });
            } else if let Some(folder) = self.folder(at) {
                self.paths.push(PathSaid { text: folder, lead: self.lead(at), at });
            }
        }
    }

    /// `the src directory`.
    fn folder(&self, at: usize) -> Option<String> {
        let token = self.tokens.get(at).filter(|token| token.kind == Kind::Word)?;
        let is_folder = matches!(self.low(at + 1), "folder" | "directory" | "dir");
        let general = words::is_determiner(&token.low)
            || verbs::class(&token.low) == Some(verbs::Class::Sure)
            || words::is_preposition(&token.low)
            || words::listed(GENERAL, &token.low);
        (is_folder && !general).then(|| token.text.to_owned())
    }

    pub fn urls(&self) -> impl Iterator<Item = &str> {
        self.tokens
            .iter()
            .map(|token| if token.kind == Kind::Opaque { names::unquoted(token) } else { token.text })
            .filter(|text| names::is_url(&text.to_lowercase()))
    }

    /// The token behind the first of `phrases` that stands in the text, the longest first.
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
