//! Chooses a small change inside a definition, and writes the definition with it.

use std::ops::Range;

use super::File;
use crate::index::language_of;
use crate::index::parts::{self, Sort, Span};
use crate::text::{is_comment, line_at, line_end, line_start};

/// Text inserted at an offset of the file.
#[derive(Clone, Debug)]
pub struct Change {
    pub at: usize,
    pub new: String,
}

impl Change {
    pub fn made(&self, text: &str) -> String {
        format!("{}{}{}", &text[..self.at], self.new, &text[self.at..])
    }
}

/// A change to a definition after which the file parses as before; `None` if none was found.
pub fn change_of(file: &File, span: &Span) -> Option<Change> {
    let (path, text) = (file.path.as_str(), file.text.as_str());
    let parts = parts::parts(path, text)?;
    let is_in_text = |at: usize| parts.texts.iter().any(|range| range.start < at && at < range.end);
    // Of a class, its last function with a body of several lines is changed.
    let inner = |other: &&Span| span.bytes.start <= other.bytes.start && other.bytes.end <= span.bytes.end;
    let mut functions = file.spans.iter().filter(inner).filter(|one| one.sort == Sort::Function);
    let is_own = span.sort == Sort::Function || span.sort == Sort::Test;
    let function = if is_own { Some(span) } else { functions.next_back() };
    let by_line = function.and_then(|function| comment(text, language_of(path), function));
    let changes = by_line.into_iter().chain(value(text, span));
    let is_prose = |change: &Change| is_in_text(change.at) || is_comment(line_at(text, change.at));
    changes
        .filter(|change| !is_prose(change))
        .find(|change| parts::faults(path, &change.made(text)).len() == parts.faults.len())
}

/// A line of comment, first in a body of several lines.
fn comment(text: &str, language: &str, function: &Span) -> Option<Change> {
    let body = function.body.clone()?;
    let head = function.docstring.as_ref().map_or(body.start, |doc| doc.end.max(body.start));
    let line = line_end(text, head);
    if !text[head..line].trim().is_empty() || line + 1 >= body.end {
        return None;
    }
    let below = text[line + 1..body.end].lines().find(|line| !line.trim().is_empty())?;
    let mark = if matches!(language, "python" | "ruby" | "shell") {
        "#"
    } else if language == "lua" {
        "--"
    } else {
        "//"
    };
    let end = if text[..=line].ends_with("\r\n") { "\r\n" } else { "\n" };
    let new = format!("{}{mark} checked{end}", &below[..below.len() - below.trim_start().len()]);
    Some(Change { at: line + 1, new })
}

/// One more digit or letter in the last number or quoted word behind the head.
fn value(text: &str, span: &Span) -> Option<Change> {
    let sign = || text[span.bytes.clone()].find('=').map(|at| span.bytes.start + at);
    let from = span.body.as_ref().map(|body| body.start).or_else(sign)?;
    let inside = text.get(from..span.bytes.end)?;
    let letters: Vec<(usize, char)> = inside.char_indices().collect();
    let is_word = |letter: char| letter.is_alphanumeric() || "_.'".contains(letter);
    let number = letters
        .windows(3)
        .rposition(|three| !is_word(three[0].1) && three[1].1.is_ascii_digit() && !is_word(three[2].1));
    let at = match number {
        Some(at) => letters[at + 2].0,
        None => letters
            .windows(2)
            .rposition(|two| two[0].1.is_ascii_alphabetic() && matches!(two[1].1, '"' | '\''))
            .map(|at| letters[at + 1].0)?,
    };
    let new = if number.is_some() { "7" } else { "q" };
    Some(Change { at: from + at, new: new.to_owned() })
}

/// A definition with those of the changes that are inside it, from the beginning of its first line.
pub fn written(text: &str, span: &Span, changes: &[&Change]) -> String {
    let start = line_start(text, span.bytes.start);
    let start = if text[start..span.bytes.start].trim().is_empty() { start } else { span.bytes.start };
    let mut code = text[start..span.bytes.end].to_owned();
    let mut inside: Vec<&&Change> =
        changes.iter().filter(|change| (start..=span.bytes.end).contains(&change.at)).collect();
    inside.sort_by_key(|change| std::cmp::Reverse(change.at));
    for change in inside {
        code.insert_str(change.at - start, &change.new);
    }
    code
}

/// Code without the indentation of its first line; lines inside texts stay.
pub fn flat(file: &File, code: &str, indent: usize) -> String {
    let texts: Vec<Range<usize>> = parts::parts(&file.path, code).map(|parts| parts.texts).unwrap_or_default();
    let mut at = 0;
    let lines = code.split_inclusive('\n').map(|line| {
        let start = at;
        at += line.len();
        let is_in_text = texts.iter().any(|range| range.start < start && start < range.end);
        let spaces = line.len() - line.trim_start_matches([' ', '\t']).len();
        if is_in_text { line } else { &line[spaces.min(indent)..] }
    });
    lines.collect()
}
