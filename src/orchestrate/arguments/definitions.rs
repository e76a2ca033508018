//! Finds the definition of a name with all its lines: by the syntax of the file or, where that is not read, by its brackets.

use std::ops::Range;

use crate::index::{Definition, Spans, spans};
use crate::orchestrate::words;

use super::blocks::{self, Opened};
use super::comments::comments;
use super::cut::{Desk, Place, gone};
use super::places;
use super::removal::{Extent, Removal};

/// Begin statements in languages with braces, never definitions.
const STATEMENTS: [&str; 12] =
    ["if", "else", "for", "while", "do", "switch", "case", "return", "new", "throw", "catch", "try"];
const FUNCTIONS: [&str; 3] = ["function", "method", "macro"];
const TYPES: [&str; 7] = ["class", "struct", "interface", "trait", "type", "enum", "module"];

/// Every definition of the name that a removal says.
pub(super) fn named(desk: &Desk, removal: &Removal) -> Result<Vec<Place>, String> {
    match spans(desk.path, desk.file) {
        Some(Ok(spans)) => {
            let meant = meant(&spans, removal);
            meant.into_iter().map(|definition| by_syntax(desk, &spans, definition)).collect()
        }
        Some(Err(reason)) => Err(format!("{} cannot be read as code: {reason}", desk.path)),
        None => by_brackets(desk, removal),
    }
}

/// The definitions of that kind and name: as written, else with the same words in it. Nothing that is only like it.
fn meant<'s>(spans: &'s Spans, removal: &Removal) -> Vec<&'s Definition> {
    let is_kind = |definition: &&Definition| match removal.extent {
        Extent::Function => FUNCTIONS.contains(&definition.kind.name()),
        _ => TYPES.contains(&definition.kind.name()),
    };
    let said = removal.literals.join(" ");
    let said = said.trim_end_matches("()");
    let (owner, name) = said.rsplit_once(['.', ':']).unwrap_or(("", said));
    let owner = owner.trim_end_matches(':');
    let is_owned = |definition: &&Definition| {
        let container = definition.container.map(|at| spans.definitions[at].name.as_str());
        owner.is_empty() || container == Some(owner) || definition.member_of.as_deref() == Some(owner)
    };
    let all: Vec<&Definition> = spans.definitions.iter().filter(is_kind).filter(is_owned).collect();
    let exact: Vec<&Definition> = all.iter().copied().filter(|definition| definition.name == name).collect();
    if !exact.is_empty() || name.is_empty() {
        return exact;
    }
    let words = words::split(name);
    all.into_iter().filter(|definition| words::split(&definition.name) == words).collect()
}

/// The lines of a definition with what is written above it, where nothing else stands in them.
fn by_syntax(desk: &Desk, spans: &Spans, definition: &Definition) -> Result<Place, String> {
    let (before, behind) = desk.beside(&definition.bytes);
    let is_attribute = before.trim().starts_with("#[") && before.trim().ends_with(']');
    let rest = behind.trim_start_matches([';', ',']).trim();
    let comment = definition.bytes.end + behind.len() - behind.trim_start_matches([';', ',']).trim_start().len();
    let is_said = rest.is_empty() || spans.comments.iter().any(|span| span.start == comment);
    let is_shared = spans.definitions.iter().filter(|other| other.bytes == definition.bytes).count() > 1;
    if !(before.trim().is_empty() || is_attribute) || !is_said || is_shared {
        return Err(format!("line {} of {} holds more than `{}`", definition.start, desk.path, definition.name));
    }
    let top = above(desk, &spans.comments, definition.doc_start - 1, definition.start - 1);
    Ok(gone(top..=definition.end - 1))
}

/// The first line of the comments that stand right above a definition in line `at`; `top` is known to be its own. What speaks of the
/// whole file is not.
fn above(desk: &Desk, comments: &[Range<usize>], mut top: usize, at: usize) -> usize {
    for comment in comments.iter().rev() {
        let (before, behind) = desk.beside(comment);
        if desk.place(comment.end).0 + 1 == top && before.trim().is_empty() && behind.trim().is_empty() {
            top = desk.place(comment.start).0;
        }
    }
    let is_header =
        |line: &usize| ["#!", "//!", "/*!"].iter().any(|sign| desk.lines[*line].trim_start().starts_with(sign));
    (top..at).rfind(is_header).map_or(top, |header| header + 1)
}

fn by_brackets(desk: &Desk, removal: &Removal) -> Result<Vec<Place>, String> {
    let [name] = removal.literals.as_slice() else { return Ok(Vec::new()) };
    let name = name.trim_end_matches("()");
    let comments =
        comments(desk.path, desk.file).map_err(|reason| format!("{} cannot be read as code: {reason}", desk.path))?;
    let is_commented = |at: usize| comments.iter().any(|comment| comment.contains(&desk.begins(at)));
    let declaring =
        (0..desk.lines.len()).filter(|at| declares(desk.lines[*at], name, &removal.extent) && !is_commented(*at));
    let place = |at: usize| match blocks::bracketed(desk, at) {
        Opened::To(end) => Ok(gone(above(desk, &comments, at, at)..=end)),
        _ => Err(desk.no_end(at)),
    };
    declaring.map(place).collect()
}

/// `int transfer(…) {`, `transfer() {`, `class Bank {`: not a line that calls it.
fn declares(line: &str, name: &str, extent: &Extent) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let Some(at) = places::whole(line, name).first().copied() else { return false };
    let (before, behind) = (&line[..at], line[at + name.len()..].trim_start());
    let words: Vec<&str> = before.split(|c: char| !is_name(c)).filter(|word| !word.is_empty()).collect();
    let is_plain = before.chars().all(|c| is_name(c) || c.is_whitespace() || "*&<>,:[]@".contains(c));
    let is_statement = words.first().is_some_and(|word| STATEMENTS.contains(word));
    let opens = line.trim_end().ends_with('{');
    match extent {
        Extent::Function => is_plain && !is_statement && opens && behind.starts_with('('),
        _ => {
            is_plain
                && opens
                && words.iter().any(|word| matches!(*word, "class" | "struct" | "enum" | "interface" | "namespace"))
        }
    }
}
