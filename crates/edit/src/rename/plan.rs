//! The plan of a rename or move: the new texts of changed files, and the places that are only
//! listed.

use std::ops::Range;

use super::{FileOccurrences, RenameError};
use crate::index::{Role, is_understood, language_of};
use crate::text::{Piece, nth_line, spliced};

/// Maximum number of mentions, and of doubtful places, in the lists.
const LISTED_MAX: usize = 500;
/// Maximum length of a shown line, in characters.
const LINE_CHARS_MAX: usize = 200;

/// The changes of a rename or move. A plan writes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Sorted by path; each file occurs once.
    pub edits: Vec<NewText>,
    /// Strings, comments and documents that contain the name.
    pub mentions: Vec<Mention>,
    /// Places that may refer to the definition but are not changed.
    pub doubtful: Vec<Doubt>,
}

/// The complete new text of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewText {
    /// The file, relative to the project.
    pub path: String,
    /// Its whole text after the change.
    pub text_after: String,
}

/// A line that contains the name but is not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    pub path: String,
    pub line: usize,
    pub text: String,
}

/// A line that may refer to the name but is not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// The file, relative to the project.
    pub path: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The line as it is.
    pub text: String,
    /// Why the line may not refer to the symbol.
    pub why: String,
}

/// Collects the edits of a plan.
#[derive(Default)]
pub struct Edits {
    /// Pieces and the paths of their files.
    pieces: Vec<(String, Piece)>,
    /// Every changed occurrence of a name: index of its sheet and of its place.
    pub changed: Vec<(usize, usize)>,
    pub plan: Plan,
}

impl Edits {
    /// Continues a plan that already has its new texts.
    pub fn of(plan: Plan) -> Edits {
        Edits { plan, ..Edits::default() }
    }

    /// Renames one place to `to`. A shorthand property `{ name }` becomes `{ name: to }`, so that the property keeps
    /// its name.
    pub fn change(&mut self, at: usize, place: usize, sheet: &FileOccurrences, to: &str) {
        let occurrence = &sheet.places[place];
        let with = match occurrence.role {
            Role::Shorthand | Role::ShorthandLocal => format!("{}: {to}", &sheet.text[occurrence.bytes.clone()]),
            _ => to.to_owned(),
        };
        self.put(&sheet.path, occurrence.bytes.clone(), with);
        self.changed.push((at, place));
    }

    pub fn put(&mut self, path: &str, bytes: Range<usize>, with: String) {
        self.pieces.push((path.to_owned(), Piece { range: bytes, new: with }));
    }

    pub fn mention(&mut self, path: &str, text: &str, line: usize) {
        let known = |m: &Mention| m.path == path && m.line == line;
        if self.plan.mentions.len() < LISTED_MAX && !self.plan.mentions.iter().any(known) {
            self.plan.mentions.push(Mention { path: path.to_owned(), line, text: shown(text, line) });
        }
    }

    pub fn doubt(&mut self, sheet: &FileOccurrences, line: usize, why: String) {
        let known = |d: &Doubt| d.path == sheet.path && d.line == line;
        if self.plan.doubtful.len() < LISTED_MAX && !self.plan.doubtful.iter().any(known) {
            let text = shown(&sheet.text, line);
            self.plan.doubtful.push(Doubt { path: sheet.path.clone(), line, text, why });
        }
    }

    /// The plan with the new texts. Fails if two changes overlap, or if a file that parsed would no
    /// longer parse.
    pub fn finish(self, texts: &[(String, String)], name: &str) -> Result<Plan, RenameError> {
        let mut plan = self.plan;
        for (path, text) in texts {
            let mut own: Vec<&Piece> =
                self.pieces.iter().filter(|(of, _)| of == path).map(|(_, piece)| piece).collect();
            own.sort_by_key(|piece| (piece.range.start, piece.range.end));
            own.dedup();
            if own.is_empty() {
                continue;
            }
            let after = spliced(text, own).filter(|after| stays_understood(path, text, after));
            let broken = || RenameError::NotUnderstood {
                path: path.clone(),
                name: name.to_owned(),
                reason: "the changed text would not parse".to_owned(),
            };
            plan.edits.push(NewText { path: path.clone(), text_after: after.ok_or_else(broken)? });
        }
        plan.edits.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(plan)
    }
}

fn stays_understood(path: &str, before: &str, after: &str) -> bool {
    let language = language_of(path);
    is_understood(language, before) != Some(true) || is_understood(language, after) == Some(true)
}

fn shown(text: &str, line: usize) -> String {
    nth_line(text, line).trim().chars().take(LINE_CHARS_MAX).collect()
}
