//! Merges new and changed definitions into a file by their names.
//!
//! A model is shown complete definitions and writes only new or changed ones:
//! ```text
//! class Store:                      written members replace those of the same name,
//!     def get(self, key):           the others stay;
//!         ...
//!     # ... existing code           a mark means "unchanged";
//!
//! def new_one(): ...                what is new goes next to its siblings.
//! ```

mod container;
mod imports;
mod insert;
mod leading;
mod modifiers;
mod names;
mod overloads;
mod parse;
mod place;
mod reopened;
mod replace;
mod sections;
mod statement;
mod verify;
mod write;

pub(crate) use leading::{Led, led};
pub(crate) use modifiers::with_modifiers;
pub(crate) use replace::lacks_body;

use std::collections::{HashMap, HashSet};

use crate::indent::{Move, Unit, is_same_code, moved, unit_of};
use crate::index::parts::{Part, parts};
use crate::index::{is_queried, language_of};
use crate::text::{Piece, Source, indent_at, line_of, nth_line};

/// Hints in a request about the place of a change.
#[derive(Clone, Debug, Default)]
pub struct Hints {
    /// The class, `impl`, module or object that the request names.
    pub container: Option<String>,
    /// A line of the file, counted from 1, that the request names or that a search found.
    pub line: Option<usize>,
    /// The definition to put new ones next to.
    pub after: Option<String>,
    /// Whether functions overload those with other parameters instead of replacing them.
    pub is_overload: bool,
}

/// The result of a merge.
#[derive(Clone, Debug)]
pub struct Merged {
    pub text: String,
    pub changed: Vec<Change>,
    /// Parts of the change that the written code does not show, one per line.
    pub notes: Vec<String>,
}

/// One definition that a merge replaced or added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub name: String,
    pub container: Option<String>,
    /// Its line in the new text, counted from 1.
    pub line: usize,
}

/// The reason a merge failed. Messages are for the model that wrote the code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    #[error("{path} is in a language without grammar; its passages are rewritten instead")]
    NoGrammar { path: String },
    #[error(
        "what was written does not parse at line {line}: `{text}`; write each definition whole, with balanced braces and indentation"
    )]
    Unreadable { line: usize, text: String },
    #[error("`{name}` is defined {} times: {}; {way_out}", places.len(), places.join(", "))]
    Ambiguous { name: String, places: Vec<String>, way_out: &'static str },
    #[error("`{name}` is a method, and it is not clear of which class: {}; write it inside its class line", containers.join(", "))]
    NoContainer { name: String, containers: Vec<String> },
    #[error("`{name}` is written as `{head}` at line {line}; write it with that head")]
    OtherHead { name: String, head: String, line: usize },
    #[error(
        "`{name}` has other parameters at line {line}: `{head}`; to change that one, give this head as the name; to add an overload, give the head of the new one as the name, or write both"
    )]
    OtherParameters { name: String, head: String, line: usize },
    #[error("`{name}` is declared together with other names at line {line}: `{text}`; write that statement whole")]
    Together { name: String, text: String, line: usize },
    #[error(
        "`{name}` would be defined twice, at lines {}; write it as the file has it, or remove the other one first; nothing was changed",
        lines.join(", ")
    )]
    Doubled { name: String, lines: Vec<String> },
    #[error("`{name}` was written {times} times; write it once, or each inside the block it belongs to")]
    Repeated { name: String, times: usize },
    #[error("no place was found for `{name}`; write it inside its class line, whole; nothing was changed")]
    NotPlaced { name: String },
    #[error("two written definitions change the same lines of {path}, from line {line} on; write them one at a time")]
    Overlap { path: String, line: usize },
    #[error("with what was written {path} no longer parses at line {line}: `{text}`; nothing was changed")]
    Breaks { path: String, line: usize, text: String },
    #[error(
        "in `{name}` it is not clear which lines `{mark}` replaces; write `{name}` whole, without marks for unchanged code"
    )]
    Unclear { name: String, mark: String },
    #[error(
        "nothing changed: every definition that was written is in the file already, word for word; write the changed definition"
    )]
    NothingChanged,
    #[error(
        "nothing changed: `{name}` differs only in `{modifiers}`, which stay if no such word is written; to remove them, replace that line as text"
    )]
    OnlyModifiers { name: String, modifiers: String },
}

impl MergeError {
    /// Whether the written code did not fit because of its place or form, so that the text of the named definition may
    /// be replaced without a merge.
    pub fn is_about_place(&self) -> bool {
        use MergeError::*;
        matches!(
            self,
            Unreadable { .. }
                | Ambiguous { .. }
                | NoContainer { .. }
                | NotPlaced { .. }
                | Doubled { .. }
                | Breaks { .. }
        )
    }
}

/// Merges the definitions, imports and constants of `written` into `before`. All other bytes of the file stay as they
/// are.
pub fn merge(path: &str, before: &str, written: &str, hints: &Hints) -> Result<Merged, MergeError> {
    let source = Source::new(before);
    let language = language_of(path);
    let old = parts(path, &source.text).ok_or_else(|| MergeError::NoGrammar { path: path.to_owned() })?;
    let new = parse::read(path, language, written, (&source.text, &old))?;
    if source.text.trim().is_empty() {
        let member = new.items.iter().find(|item| new.has_shell && item.has_receiver);
        return match member {
            Some(member) => {
                let containers = vec!["the file is empty".to_owned()];
                Err(MergeError::NoContainer { name: member.name.clone(), containers })
            }
            None => Ok(into_empty_file(&new, before)),
        };
    }
    let usual = unit_of(&source.text).unwrap_or_else(|| Unit::usual(language));
    let mut job = Job {
        language,
        old: &source.text,
        old_items: &old.items,
        new: &new.text,
        frozen: &new.texts,
        own: &new.own,
        owners: new.items.iter().filter_map(|item| item.owner.as_deref()).collect(),
        declared: new
            .items
            .iter()
            .filter(|item| item.variant == "declaration")
            .map(|item| item.name.as_str())
            .collect(),
        hints,
        unit: usual,
        new_unit: unit_of(&new.text).unwrap_or(usual),
        edits: Vec::new(),
        closers: Vec::new(),
        bare: Vec::new(),
        changed: Vec::new(),
        notes: Vec::new(),
        left_out: HashSet::new(),
        has_new_import: false,
        after: HashMap::new(),
        closed: HashSet::new(),
        sections: HashSet::new(),
    };
    job.imports(&new.items);
    job.scope(None, &old.items, &new.items)?;
    let left_out = std::mem::take(&mut job.left_out);
    let merged = job.finish(path, &source)?;
    if is_queried(language) {
        verify::verified(path, (&source.text, &old), (&new, &left_out), &merged.text)?;
    }
    Ok(merged)
}

/// Whether definitions in a file can be merged by name, which needs a grammar for its language.
pub fn has_grammar(path: &str) -> bool {
    crate::index::has_grammar(language_of(path))
}

/// A line as shown in messages.
fn shown(text: &str, line: usize) -> String {
    nth_line(text, line).trim().chars().take(200).collect()
}

fn into_empty_file(new: &parse::Written, before: &str) -> Merged {
    let added = new.items.iter().filter(|part| part.is_definition()).map(|part| Change {
        name: part.name.clone(),
        container: None,
        line: line_of(&new.text, part.core.start),
    });
    let text = if before.contains("\r\n") { new.text.replace('\n', "\r\n") } else { new.text.clone() };
    Merged { changed: added.collect(), text, notes: Vec::new() }
}

/// A merge in progress: the old text, the new text, and the edits so far.
struct Job<'a> {
    language: &'static str,
    old: &'a str,
    old_items: &'a [Part],
    new: &'a str,
    /// Multi-line strings in `new`; their lines keep their indentation.
    frozen: &'a [std::ops::Range<usize>],
    /// The lines of `new` as written, before common white space was removed.
    own: &'a [String],
    /// The types of methods written outside their type: `Kiln` in `int Kiln::heat()`.
    owners: HashSet<&'a str>,
    /// In C and C++, the functions written without a body.
    declared: HashSet<&'a str>,
    hints: &'a Hints,
    /// One step of indentation in `old`; `new_unit` is that of `new`.
    unit: Unit,
    new_unit: Unit,
    edits: Vec<Piece>,
    /// Edits applied after all others at the same place: they put the end of a one-line body on its
    /// own line.
    closers: Vec<Piece>,
    /// Definitions that differ only in modifiers that were not written, with these modifiers.
    bare: Vec<(String, String)>,
    /// Each change, with the index of its edit.
    changed: Vec<(usize, Change)>,
    notes: Vec<String>,
    /// Offsets of written parts that are deliberately kept out of the file.
    left_out: HashSet<usize>,
    /// Whether an import statement was added.
    has_new_import: bool,
    /// The number of parts added after each old part, by the old part's offset.
    after: HashMap<usize, usize>,
    /// Offsets of bodies whose end was put on its own line. An offset plus 1 stands for a body with
    /// a part added at the top.
    closed: HashSet<usize>,
    /// Added lines like `private`, with the offset of the class.
    sections: HashSet<(usize, &'static str)>,
}

/// The old part around the place of a change; `None` at the top level of the file.
type Scope<'p> = Option<&'p Part>;

impl<'a> Job<'a> {
    /// Replaces `range` of the old text with `new`; returns false if the code is already the same.
    fn edit(&mut self, range: std::ops::Range<usize>, new: String) -> bool {
        if is_same_code(&self.old[range.clone()], &new, self.language) {
            return false;
        }
        self.edits.push(Piece { range, new });
        true
    }

    /// Records that the latest edit changes or adds the definition `name`.
    fn note(&mut self, name: &str, scope: Scope) {
        let container = scope.filter(|part| !part.name.is_empty()).map(|part| part.name.clone());
        let at = self.edits.len() - 1;
        let change = Change { name: name.to_owned(), container, line: 0 };
        if !self.changed.iter().any(|(_, other)| *other == change) {
            self.changed.push((at, change));
        }
    }

    /// A piece of the new text, re-indented for a place after the white space `base` in the old
    /// text.
    fn piece(&self, range: std::ops::Range<usize>, base: &str) -> String {
        let piece = &self.new[range.clone()];
        let frozen: Vec<_> =
            self.frozen.iter().filter(|text| text.start < range.end && range.start < text.end).collect();
        let first = if frozen.is_empty() { 0 } else { line_of(self.new, range.start) };
        let inside =
            frozen.into_iter().flat_map(|text| line_of(self.new, text.start) + 1..=line_of(self.new, text.end));
        let how = Move {
            from: self.new_unit,
            to: self.unit,
            from_base: indent_at(self.new, range.start),
            to_base: base,
            frozen: inside
                .filter_map(|line| Some((line.checked_sub(first)?, self.own.get(line - 1)?.clone())))
                .collect(),
        };
        moved(piece, &how)
    }

    /// The comments and the attributes above a new part, re-indented and without marks.
    fn lead(&self, part: &Part, base: &str) -> (Vec<String>, Vec<String>) {
        let comments = part.comments.iter().filter(|range| !self.is_mark(&self.new[(*range).clone()]));
        let comments = comments.map(|range| self.piece(range.clone(), base)).collect();
        (comments, part.attributes.iter().map(|range| self.piece(range.clone(), base)).collect())
    }

    fn is_mark(&self, line: &str) -> bool {
        crate::omissions::is_mark(line, self.old)
    }

    /// Adds a sentence to the notes, unless it is already there.
    fn remark(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn finish(mut self, path: &str, source: &Source) -> Result<Merged, MergeError> {
        if self.edits.is_empty() {
            let only = |(name, modifiers)| MergeError::OnlyModifiers { name, modifiers };
            return Err(self.bare.pop().map_or(MergeError::NothingChanged, only));
        }
        for (name, modifiers) in std::mem::take(&mut self.bare) {
            self.remark(format!("`{name}` keeps `{modifiers}`, which the new text lacks"));
        }
        self.edits.append(&mut self.closers);
        let (text, lines) = source.apply(&self.edits);
        if let Some(at) = lines.iter().position(|line| *line == 0).filter(|_| is_queried(self.language)) {
            let line = line_of(self.old, self.edits[at].range.start);
            return Err(MergeError::Overlap { path: path.to_owned(), line });
        }
        let changed = self.changed.into_iter().map(|(at, change)| Change { line: lines[at], ..change }).collect();
        Ok(Merged { text, changed, notes: self.notes })
    }
}

#[cfg(test)]
mod tests;
