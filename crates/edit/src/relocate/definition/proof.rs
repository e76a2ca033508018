//! Checks, as far as the index allows, that every name has the same meaning after the move.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::{Move, MoveError};
use crate::index::uses::unbound;
use crate::index::{Import, Names, Role, Symbol, is_understood, language_of, whole_words};
use crate::rename::{NewText, Verdict, decide, read_places};

/// Fails if a changed file does not parse or leaves a name unbound, if a use is lost, or if the
/// move creates an import cycle through the new file.
pub fn holds(work: &Move, edits: &[NewText]) -> Result<(), MoveError> {
    let view = work.view;
    let mut after = view.snapshot.clone();
    edits.iter().for_each(|edit| after.put(&edit.path, &edit.text_after));
    let names = after.names();
    let astray = |path: &str| MoveError::Astray { path: path.to_owned() };
    for edit in edits {
        let (language, before) = (language_of(&edit.path), view.text(&edit.path));
        let was = is_understood(language, before) == Some(true);
        if was && is_understood(language, &edit.text_after) != Some(true) {
            return Err(astray(&edit.path));
        }
        let known: HashSet<String> = free(&edit.path, before).chain(free(view.from, work.old())).collect();
        if unbound(&edit.path, &edit.text_after).is_none() && unbound(&edit.path, before).is_some()
            || free(&edit.path, &edit.text_after).any(|name| !known.contains(&name))
        {
            return Err(astray(&edit.path));
        }
    }
    let file = names.file(view.to).ok_or_else(|| astray(view.to))?;
    let at_top = |symbol: &Symbol| symbol.file == file && names.definition(*symbol).container.is_none();
    let wanted: HashSet<Symbol> = names.named(work.name).into_iter().filter(at_top).collect();
    let changed = |(path, before): &(String, String)| {
        let edit = edits.iter().find(|edit| edit.path == *path);
        (path.clone(), edit.map_or(before, |edit| &edit.text_after).clone())
    };
    let texts_after: Vec<(String, String)> = view.texts.iter().map(changed).collect();
    let before = uses(work, view.names, view.texts, &work.wanted)?;
    let later = uses(work, &names, &texts_after, &wanted)?;
    if let Some((path, _)) = before.symmetric_difference(&later).next() {
        return Err(astray(path));
    }
    if matches!(work.language, "script" | "python")
        && let Some(path) = circle(&names, view.to).filter(|_| circle(view.names, view.to).is_none())
    {
        return Err(MoveError::Circle { to: view.to.to_owned(), path });
    }
    Ok(())
}

/// Names that a text uses but does not bind.
fn free(path: &str, text: &str) -> impl Iterator<Item = String> {
    unbound(path, text).unwrap_or_default().into_iter().map(|one| one.name)
}

/// The number of certain uses of the definition in each file; the two files of the move count as
/// one. Imports and uses after a dot do not count.
fn uses(
    work: &Move,
    names: &Names,
    texts: &[(String, String)],
    wanted: &HashSet<Symbol>,
) -> Result<BTreeSet<(String, usize)>, MoveError> {
    let named = texts.iter().filter(|(_, text)| whole_words(text, work.name).next().is_some());
    let (sheets, _) = read_places(names, &named.cloned().collect::<Vec<_>>(), work.name)?;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for sheet in &sheets {
        let counted = |at: &usize| {
            let one = &sheet.places[*at];
            let is_use =
                matches!(one.role, Role::Reference | Role::Shorthand) && !in_list(&sheet.text, one.bytes.start);
            is_use && decide(names, sheet, *at, wanted) == Verdict::Change
        };
        let count = (0..sheet.places.len()).filter(counted).count();
        let path = if sheet.path == work.view.to { work.view.from } else { sheet.path.as_str() };
        *counts.entry(path.to_owned()).or_default() += count;
    }
    Ok(counts.into_iter().filter(|(_, count)| *count > 0).collect())
}

/// Whether a place is in an export list, which the move rewrites.
fn in_list(text: &str, at: usize) -> bool {
    let open = text[..at].rfind('{');
    let head = open.map_or("", |open| text[..open].trim_end());
    ["export", "export type", "module.exports ="].iter().any(|end| head.ends_with(end))
        || text[..at].trim_end().ends_with('=')
            && text[..at].lines().last().is_some_and(|line| line.contains("exports."))
}

/// A file that `path` imports and whose imports lead back to `path`, directly or indirectly.
fn circle(names: &Names, path: &str) -> Option<String> {
    let start = names.file(path)?;
    let imports = |file: usize| {
        let of = |import: &Import| names.module_of(file, import);
        let exports = names.outline(file).exports.iter().filter_map(|export| export.source.as_deref());
        let handed_on = exports.filter_map(|source| names.module(file, source));
        names.outline(file).imports.iter().filter_map(of).chain(handed_on).collect::<Vec<usize>>()
    };
    let first: Vec<usize> = imports(start).into_iter().filter(|file| *file != start).collect();
    first.into_iter().find_map(|first| {
        let mut seen = HashSet::from([first]);
        let mut waiting = vec![first];
        while let Some(file) = waiting.pop() {
            for next in imports(file) {
                if next == start {
                    return Some(names.path(first).to_owned());
                }
                if seen.insert(next) {
                    waiting.push(next);
                }
            }
        }
        None
    })
}
