//! Changes the text of a file: [`apply`] applies an [`Edit`] to the old text, or returns a
//! [`Mismatch`] that explains how to correct the edit.

mod indents;
mod nearest;
mod passage;

use crate::in_place::in_place;
use crate::index::parts;
use crate::merge::{self, Hints, MergeError};
use crate::text::{Piece, Source, line_of};
use crate::{called, export, keyed, line_ends, remove};

pub use nearest::Nearest;
pub use passage::Several;

/// Maximum size, in bytes, of a file that can be edited.
pub const WRITE_MAX_BYTES: usize = 1 << 20;
/// Maximum number of names listed in a message.
const NAMED_MAX: usize = 12;

/// A change to the text of one file. Text outside the edit keeps its trailing white space, line
/// endings and byte order mark.
#[derive(Clone, Debug)]
pub enum Edit<'a> {
    /// Gives the file this text, whether or not it exists yet.
    Whole(&'a str),
    /// Replaces passages, given as pairs of old and new text. All are looked up in the unchanged
    /// text and then replaced together.
    Replace { passages: Vec<(&'a str, &'a str)>, several: Several },
    /// Replaces one statement: the only match on its own lines, else the only match anywhere.
    Statement { old: &'a str, new: &'a str },
    /// Replaces the definitions, imports and statements that have the same names as those in
    /// `code`, and adds new ones next to their siblings. If `name` is given (`f`, `Class.f`),
    /// `code` must define it.
    Definition { name: Option<&'a str>, code: &'a str, hints: Hints },
    /// Removes the definition with this name, or the statement with this text.
    Remove(&'a str),
    /// Changes entries of a JSON, TOML or YAML file by their keys, in this order.
    Entries(&'a [keyed::Change]),
    /// Exports a definition from the file `from`, in the style that this file already uses.
    Export { name: &'a str, from: &'a str },
}

impl<'a> Edit<'a> {
    /// Replaces a passage that occurs exactly once.
    pub fn replace(old: &'a str, new: &'a str) -> Edit<'a> {
        Edit::Replace { passages: vec![(old, new)], several: Several::Never }
    }
}

/// The result of an edit.
#[derive(Clone, Debug, Default)]
pub struct Applied {
    /// The new text of the file.
    pub text: String,
    /// Tolerated deviations, and changes outside the named definition, one per line.
    pub notes: Vec<String>,
    /// For [`Edit::Definition`]: the definitions that were changed or added.
    pub changed: Vec<merge::Change>,
}

impl From<String> for Applied {
    fn from(text: String) -> Applied {
        Applied { text, ..Applied::default() }
    }
}

/// The reason an edit does not fit the text, which stays unchanged. The message is for the model
/// that made the edit.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Mismatch {
    #[error("`old` is blank; give the passage that is to be replaced, as it stands in the file")]
    Blank,
    /// The old passage was not found. `nearest` holds the lines that share the most words with it.
    #[error("{}", nearest::said(path, nearest.as_ref()))]
    Missing { path: String, nearest: Option<Nearest> },
    /// The old passage occurs several times, starting on these lines.
    #[error("{}", passage::said(path, lines, *is_offered))]
    Several { path: String, lines: Vec<usize>, is_offered: bool },
    #[error("`old` begins or ends inside a number at line {line} of {path}; give the whole number")]
    InNumber { path: String, line: usize },
    #[error("`old` is not in the file as it is now, but in the `new` of edit {edit}; make one edit of both")]
    OfEarlier { edit: usize },
    #[error(
        "no edit was made, because edits {first} and {second} both change line {line} of {path}; make one edit of both"
    )]
    Overlap { path: String, first: usize, second: usize, line: usize },
    #[error("no edit was made, because of edit {edit} of {of}: {why}")]
    OneOf { edit: usize, of: usize, why: Box<Mismatch> },
    #[error("{path} would have {bytes} bytes; at most {WRITE_MAX_BYTES} can be written")]
    TooLarge { path: String, bytes: usize },
    #[error("`code` does not define `{name}`, but {}; nothing was changed", listed(written))]
    OtherName { name: String, written: Vec<String> },
    #[error("`{name}` is exported by {path} already, or {path} exports nothing in a known form")]
    NoExport { path: String, name: String },
    #[error(transparent)]
    Merge(#[from] MergeError),
    /// An entry or definition does not exist, or is of the wrong kind for the edit.
    #[error("{0}")]
    Unclear(String),
}

impl From<Mismatch> for String {
    fn from(mismatch: Mismatch) -> String {
        mismatch.to_string()
    }
}

/// Applies `edit` to `old`, the current text of the file `path`.
///
/// # Errors
/// The part of the edit that does not fit the text, and how to correct it.
pub fn apply(path: &str, old: &str, edit: &Edit<'_>) -> Result<Applied, Mismatch> {
    let applied: Applied = match edit {
        Edit::Whole(text) => line_ends::kept(old, text).into(),
        Edit::Replace { passages, several } => replaced(path, old, passages, *several)?,
        Edit::Statement { old: statement, new } => replaced(path, old, &[(*statement, *new)], Several::OnOwnLines)?,
        Edit::Definition { name, code, hints } => defined(path, old, *name, code, hints)?,
        Edit::Remove(what) => remove::definition_or_statement(path, old, what).map_err(Mismatch::Unclear)?.into(),
        Edit::Entries(changes) => {
            let text = keyed::changed(path, old, changes).map_err(Mismatch::Unclear)?;
            line_ends::kept(old, &text).into()
        }
        Edit::Export { name, from } => {
            let no_export = || Mismatch::NoExport { path: path.to_owned(), name: (*name).to_owned() };
            export::exported(path, old, name, from).ok_or_else(no_export)?.into()
        }
    };
    fits(path, applied.text.len())?;
    Ok(applied)
}

fn fits(path: &str, bytes: usize) -> Result<(), Mismatch> {
    if bytes > WRITE_MAX_BYTES { Err(Mismatch::TooLarge { path: path.to_owned(), bytes }) } else { Ok(()) }
}

fn replaced(path: &str, old: &str, passages: &[(&str, &str)], several: Several) -> Result<Applied, Mismatch> {
    let source = Source::new(old);
    let pairs: Vec<[String; 2]> =
        passages.iter().map(|(old, new)| [old, new].map(|text| text.replace("\r\n", "\n"))).collect();
    let (mut places, mut notes): (Vec<(usize, Piece)>, Vec<String>) = (Vec::new(), Vec::new());
    for (at, [old, new]) in pairs.iter().enumerate() {
        let is_blank = old.trim().is_empty();
        let found =
            if is_blank { Err(Mismatch::Blank) } else { passage::find(path, &source.text, (old, new), several) };
        let (found, note) = found.map_err(|why| {
            let earlier = pairs[..at].iter().position(|[_, new]| !is_blank && new.contains(old.as_str()));
            let why = earlier.map_or(why, |earlier| Mismatch::OfEarlier { edit: earlier + 1 });
            match pairs.len() {
                1 => why,
                of => Mismatch::OneOf { edit: at + 1, of, why: Box::new(why) },
            }
        })?;
        places.extend(found.into_iter().map(|piece| (at + 1, piece)));
        notes.extend(note);
    }
    let text = joined(path, &source, places)?;
    Ok(Applied { text, notes, ..Applied::default() })
}

/// Inserts the new passages, each with the number of its edit, into the text.
fn joined(path: &str, source: &Source<'_>, mut places: Vec<(usize, Piece)>) -> Result<String, Mismatch> {
    places.sort_by_key(|(_, place)| (place.range.start, place.range.end));
    places.dedup_by(|(_, a), (_, b)| a == b);
    for pair in places.windows(2) {
        let [(one, a), (other, b)] = pair else { continue };
        if a.range.end > b.range.start {
            let (first, second, line) = (*one.min(other), *one.max(other), line_of(&source.text, b.range.start));
            return Err(Mismatch::Overlap { path: path.to_owned(), first, second, line });
        }
    }
    let (gone, new) = places.iter().fold((0, 0), |(gone, new), (_, one)| (gone + one.range.len(), new + one.new.len()));
    fits(path, source.text.len() - gone + new)?;
    Ok(source.apply(&places.into_iter().map(|(_, place)| place).collect::<Vec<_>>()).0)
}

fn defined(path: &str, old: &str, name: Option<&str>, code: &str, hints: &Hints) -> Result<Applied, Mismatch> {
    let Some(name) = name else {
        let merge::Merged { text, changed, notes } = merge::merge(path, old, code, hints)?;
        return Ok(Applied { text, changed, notes });
    };
    let meant = called::meant(path, old, code, name).map_err(Mismatch::Unclear)?;
    let hints = Hints {
        container: meant.container,
        line: meant.line.or(hints.line),
        is_overload: meant.is_overload,
        ..hints.clone()
    };
    let last = meant.name.as_str();
    let is_it = |change: &merge::Change| change.name == last || change.container.as_deref() == Some(last);
    let merged = match merge::merge(path, old, code, &hints) {
        Ok(merged) if is_defined(path, code, &merged, last) => Ok(merged),
        Ok(merged) => {
            let written = merged.changed.into_iter().map(|change| change.name).collect();
            Err(Mismatch::OtherName { name: name.to_owned(), written })
        }
        Err(why) if why.is_about_place() => Err(why.into()),
        Err(why) => return Err(why.into()),
    };
    let merge::Merged { text, changed, mut notes } = match merged {
        Ok(merged) => merged,
        Err(why) => return in_place(path, old, (name, code), hints.line).unwrap_or(Err(why)),
    };
    let others: Vec<String> = changed.iter().filter(|one| !is_it(one)).map(|one| one.name.clone()).collect();
    notes.extend((!others.is_empty()).then(|| format!("`code` also changed or added {}", listed(&others))));
    Ok(Applied { text, changed, notes })
}

/// Whether the written code defines `name`, alone or in its place in the new text. A statement may have the same text.
fn is_defined(path: &str, code: &str, merged: &merge::Merged, name: &str) -> bool {
    let has = |text: &str, is_it: &dyn Fn(&parts::Span) -> bool| {
        parts::definitions(path, text).iter().any(|span| span.name == name && is_it(span))
    };
    let of = |change: &&merge::Change| change.name == name;
    merged.changed.iter().any(|change| change.container.as_deref() == Some(name))
        || has(code, &|_| true)
        || merged
            .changed
            .iter()
            .find(of)
            .is_some_and(|change| has(&merged.text, &|span| (span.lines.0..=span.lines.1).contains(&change.line)))
}

fn listed(names: &[String]) -> String {
    let names: Vec<String> = names.iter().take(NAMED_MAX).map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "nothing with a name".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests;
