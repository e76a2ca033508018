//! What a text says that an argument can be made of: paths with the word before them, quotations, numbers with units, people.

use jiff::civil::DateTime;

use super::dates::{self, When};
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

/// A number that is no part of a path or a date.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NumberSaid {
    pub value: f64,
    /// The words around it, in lower case, nearest first.
    pub before: Vec<String>,
    pub after: Vec<String>,
}

/// A text with its tokens.
#[derive(Debug)]
pub(super) struct Said<'a> {
    pub text: &'a str,
    pub tokens: Vec<Token<'a>>,
    pub paths: Vec<PathSaid>,
    pub numbers: Vec<NumberSaid>,
    pub dates: Vec<When>,
}

/// Folders people name without a slash.
const FOLDERS: &[&str] =
    &["downloads", "documents", "desktop", "pictures", "photos", "music", "videos", "movies", "trash", "home"];

impl<'a> Said<'a> {
    pub fn read(text: &'a str, now: DateTime) -> Said<'a> {
        let tokens: Vec<Token> =
            scan(text).into_iter().filter(|t| !matches!(t.kind, Kind::Newline | Kind::Blank)).collect();
        let dates = dates::find(&tokens, now);
        let mut said = Said { text, tokens, paths: Vec::new(), numbers: Vec::new(), dates };
        said.find_paths();
        said.find_numbers();
        said
    }

    pub fn low(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.low.as_str())
    }

    pub fn dated(&self, at: usize) -> bool {
        self.dates.iter().any(|when| (when.first..=when.last).contains(&at))
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

    /// `my Downloads folder`, `from Downloads`, `the src directory`, `my home directory`.
    fn folder(&self, at: usize) -> Option<String> {
        let token = self.tokens.get(at).filter(|token| token.kind == Kind::Word)?;
        let is_folder = matches!(self.low(at + 1), "folder" | "directory" | "dir" | "folders");
        let well_known = FOLDERS.contains(&token.low.as_str());
        let capital = token.text.starts_with(char::is_uppercase);
        let led =
            words::is_preposition(self.low(at.wrapping_sub(1))) || words::is_determiner(self.low(at.wrapping_sub(1)));
        let general = words::is_determiner(&token.low)
            || verbs::class(&token.low) == Some(verbs::Class::Sure)
            || words::is_preposition(&token.low)
            || matches!(
                token.low.as_str(),
                "temporary"
                    | "same"
                    | "new"
                    | "current"
                    | "target"
                    | "right"
                    | "parent"
                    | "whole"
                    | "entire"
                    | "backup"
                    | "project"
                    | "other"
                    | "empty"
                    | "file"
            );
        if token.low == "home" {
            return is_folder.then(|| "~".to_owned());
        }
        let named = is_folder && !general || well_known && capital && led;
        // `my research papers folder`: all the words of the name.
        let plain = |i: &usize| {
            !words::is_determiner(self.low(*i))
                && !words::is_preposition(self.low(*i))
                && self.tokens[*i].kind == Kind::Word
        };
        let start =
            (at.saturating_sub(2)..at).rev().take_while(|i| is_folder && *i > 0 && plain(i)).last().unwrap_or(at);
        let ruled = start == at || words::is_determiner(self.low(start - 1));
        self.span(if ruled { start } else { at }, at + 1).filter(|_| named).map(str::to_owned)
    }

    fn find_numbers(&mut self) {
        for at in 0..self.tokens.len() {
            let token = &self.tokens[at];
            if token.kind != Kind::Word || self.dated(at) || names::is_path(token.text) {
                continue;
            }
            let written = names::number(token.text).and_then(|digits| digits.replace(',', "").parse::<f64>().ok());
            let value = match written {
                Some(value) => value,
                None => match dates::amount(&token.low)
                    .filter(|n| *n > 0 && !matches!(token.low.as_str(), "a" | "an" | "one"))
                {
                    Some(value) => value as f64,
                    None => continue,
                },
            };
            let glued = if written.is_none() {
                String::new()
            } else {
                token.low.trim_start_matches(|c: char| c.is_ascii_digit() || "$#.,-€".contains(c)).to_owned()
            };
            let mut after: Vec<String> = if glued.is_empty() { Vec::new() } else { vec![glued] };
            after.extend((at + 1..at + 4).map(|i| self.low(i).to_owned()).filter(|word| !word.is_empty()));
            let before = (0..at).rev().take(4).map(|i| self.low(i).to_owned()).collect();
            self.numbers.push(NumberSaid { value, before, after });
        }
    }

    pub fn emails(&self) -> impl Iterator<Item = &str> {
        let is_address = |text: &str| {
            text.split_once('@')
                .is_some_and(|(user, host)| !user.is_empty() && host.contains('.') && !text.contains('/'))
        };
        self.tokens
            .iter()
            .map(|token| token.text.trim_matches(['<', '>', '"', '\'']))
            .filter(move |text| is_address(text))
    }

    pub fn urls(&self) -> impl Iterator<Item = &str> {
        self.tokens
            .iter()
            .map(|token| if token.kind == Kind::Opaque { names::unquoted(token) } else { token.text })
            .filter(|text| names::is_url(&text.to_lowercase()))
    }

    /// The first run of capitalised words that begins behind one of `leads`; with commas inside for places.
    pub fn proper(&self, leads: &[&str], commas: bool) -> Option<&'a str> {
        let start = (1..self.tokens.len()).find(|&at| {
            leads.contains(&self.low(at - 1))
                && self.tokens[at].is_capitalised()
                && !self.dated(at)
                && !names::is_path(self.tokens[at].text)
        })?;
        self.run(start, commas)
    }

    /// The capitalised words from `start` on.
    pub fn run(&self, start: usize, commas: bool) -> Option<&'a str> {
        let mut end = start;
        while let Some(token) = self.tokens.get(end) {
            let inner = commas
                && token.kind == Kind::Comma
                && self.tokens.get(end + 1).is_some_and(|next| next.is_capitalised())
                && end > start;
            let numbered = end > start && token.kind == Kind::Word && token.text.chars().all(|c| c.is_ascii_digit());
            if !(token.is_capitalised() && !self.dated(end) || inner || numbered && !self.dated(end)) {
                break;
            }
            end += 1;
        }
        self.span(start, end)
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
