//! Plans the renaming of a definition and all its uses, or returns the reason it cannot be renamed.

mod clash;
mod local;
mod occurrences;
mod plan;
mod target;
mod uses;
mod words;

use std::collections::HashSet;
use std::io;

use crate::index::{Index, IndexError, Names, Role, Symbol};

pub(crate) use occurrences::{FileOccurrences, read as read_places, texts_with};
pub(crate) use plan::Edits;
pub use plan::{Doubt, NewText, Plan};
pub(crate) use uses::{Verdict, decide, from_file};

use target::Wanted;

/// The name to change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// The name as it is now.
    pub name: String,
    /// The file that defines it, or the end of that file's path.
    pub file: Option<String>,
    /// The class, type or function that contains it.
    pub container: Option<String>,
}

/// Reads the current text of a file, given its path in the project.
pub type Read<'a> = dyn Fn(&str) -> io::Result<String> + 'a;

/// The reason a definition cannot be renamed.
#[derive(Debug, thiserror::Error)]
pub enum RenameError {
    #[error("nothing in the project is called `{name}`{}; for a local name, give the containing function too", nearby(.near))]
    NotFound { name: String, near: Vec<String> },
    #[error("{} definitions are called `{name}`: {}; specify one by its file or class", .places.len(), .places.join(", "))]
    Several { name: String, places: Vec<String> },
    #[error("`{to}` already has a meaning in {path}, line {line}; choose another name")]
    Taken { to: String, path: String, line: usize },
    #[error("`{to}` cannot be a name in {language}: {reason}")]
    NotAName { to: String, language: String, reason: &'static str },
    #[error("`{name}` gets its name from `{base}`, which is not in the project; rename both by hand")]
    Foreign { name: String, base: String },
    #[error("{path} cannot be read: {source}; nothing was renamed")]
    Unreadable { path: String, source: io::Error },
    #[error("{path} mentions `{name}` but cannot be analysed: {reason}; nothing was renamed")]
    NotUnderstood { path: String, name: String, reason: String },
    #[error("in {path}, `{to}` would not mean the same as `{name}` does; nothing was renamed")]
    Changed { path: String, name: String, to: String },
    #[error(transparent)]
    Index(#[from] IndexError),
}

fn nearby(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!(" (near: {})", names.join(", ")) }
}

/// Plans the renaming of `from` to `to`. Either all places that certainly refer to the definition
/// change, or none does. Strings and comments are listed as mentions, places that may refer to it
/// as doubtful.
pub fn plan(index: &Index, files: &Read, from: &Target, to: &str) -> Result<Plan, RenameError> {
    let texts = texts_with(index, files, &from.name)?;
    let snapshot = index.snapshot(&texts)?;
    let names = snapshot.names();
    let (sheets, mut edits) = occurrences::read(&names, &texts, &from.name)?;
    let wanted = target::find(index, &names, &sheets, from)?;
    match &wanted {
        Wanted::Symbols(symbols) => symbol(&names, &sheets, symbols, (&from.name, to), &mut edits)?,
        Wanted::Local(sheet, binders) => local::rename(&names, &sheets, (*sheet, binders), to, &mut edits)?,
    }
    clash::check(&names, &sheets, &edits, to)?;
    let plan = edits.finish(&texts, &from.name)?;
    // Only project-wide names are resolved again: a local name was already checked within its
    // scope.
    if let Wanted::Symbols(symbols) = &wanted {
        means_the_same(index, &texts, &plan, symbols, (&from.name, to))?;
    }
    Ok(plan)
}

fn symbol(
    names: &Names,
    sheets: &[FileOccurrences],
    wanted: &HashSet<Symbol>,
    (name, to): (&str, &str),
    edits: &mut Edits,
) -> Result<(), RenameError> {
    for symbol in wanted {
        words::check(names.language(symbol.file), to)?;
        target::is_ours(names, *symbol)?;
    }
    clash::members(names, wanted, to)?;
    for (at, sheet) in sheets.iter().enumerate() {
        for (place, occurrence) in sheet.places.iter().enumerate() {
            match decide(names, sheet, place, wanted) {
                Verdict::Change => edits.change(at, place, sheet, to),
                Verdict::Doubt(why) => edits.doubt(sheet, occurrence.line, why),
                Verdict::Mention => edits.mention(&sheet.path, &sheet.text, occurrence.line),
                Verdict::Keep => {}
            }
        }
    }
    let defined = |(sheet, place): &(usize, usize)| sheets[*sheet].places[*place].role == Role::Definition;
    if edits.changed.iter().any(defined) {
        Ok(())
    } else {
        Err(RenameError::NotFound { name: name.to_owned(), near: Vec::new() })
    }
}

/// Fails unless the new name refers to the definition at as many places in each file as the old one
/// did. Uses after a dot are not counted, since their meaning depends on how many methods have the
/// name.
fn means_the_same(
    index: &Index,
    before: &[(String, String)],
    plan: &Plan,
    wanted: &HashSet<Symbol>,
    (name, to): (&str, &str),
) -> Result<(), RenameError> {
    let mut after = before.to_vec();
    for edit in &plan.edits {
        if let Some((_, text)) = after.iter_mut().find(|(path, _)| *path == edit.path) {
            edit.text_after.clone_into(text);
        }
    }
    let count = |texts: &[(String, String)], name: &str| -> Result<Vec<(String, usize)>, RenameError> {
        let snapshot = index.snapshot(texts)?;
        let names = snapshot.names();
        let (sheets, _) = occurrences::read(&names, texts, name)?;
        let sure = |sheet: &FileOccurrences| {
            let bare = |at: &usize| !matches!(sheet.places[*at].role, Role::Member { .. });
            let all = (0..sheet.places.len()).filter(bare);
            all.filter(|at| decide(&names, sheet, *at, wanted) == Verdict::Change).count()
        };
        Ok(sheets.iter().map(|sheet| (sheet.path.clone(), sure(sheet))).filter(|(_, count)| *count > 0).collect())
    };
    let (old, new) = (count(before, name)?, count(&after, to)?);
    let differs = old.iter().find(|one| !new.contains(one)).or_else(|| new.iter().find(|one| !old.contains(one)));
    match differs {
        Some((path, _)) => Err(RenameError::Changed { path: path.clone(), name: name.to_owned(), to: to.to_owned() }),
        None => Ok(()),
    }
}

#[cfg(test)]
pub(crate) mod tests;
