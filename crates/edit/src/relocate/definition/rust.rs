//! Moves definitions between modules of a Rust crate: paths, visibility and the declaration of a new module.

use super::super::rust::{Declared, Module, declaration, declare};
use super::{Move, MoveError, Piece, View, hidden, stuck};
use crate::index::parts::{Part, Sort, parts};
use crate::index::{Occurrence, whole_words};
use crate::rename::FileOccurrences;

/// The path of a file's module: `crate::a::b`, or `crate` for the crate root.
pub fn path_of(path: &str) -> Option<String> {
    Some(Module::of(path).map_or_else(|| "crate".to_owned(), |module| module.path()))
}

/// Whether a file belongs to a different crate from the old file: to another package, or to a
/// program next to the library.
pub fn is_another_crate(view: &View, path: &str) -> bool {
    let package = |path: &str| {
        let at = path.rfind("src/").filter(|at| *at == 0 || path[..*at].ends_with('/'))?;
        Some(path[..at].to_owned())
    };
    let Some(own) = package(view.from).filter(|own| package(path).as_ref() == Some(own)) else { return true };
    let is_program = |path: &str| path.contains("src/bin/") || path.ends_with("src/main.rs");
    view.has(&format!("{own}src/lib.rs")) && is_program(path) != is_program(view.from)
}

/// The statement that imports the definition from its new place.
pub fn import(work: &Move) -> String {
    format!("use {}::{};", path_of(work.view.to).unwrap_or_default(), work.name)
}

/// Changes the path before the name in `a::NAME` to that of the new module.
pub fn path(work: &mut Move, sheet: &FileOccurrences, one: &Occurrence, receiver: &str) -> Result<(), MoveError> {
    let at = one.bytes.start;
    let no = || stuck(&sheet.path, &sheet.text, at);
    if is_another_crate(work.view, &sheet.path) {
        return Err(no());
    }
    let start = at.checked_sub(receiver.len() + 2).ok_or_else(no)?;
    if sheet.text.get(start..at - 2) != Some(receiver) {
        return Err(no());
    }
    let new = path_of(work.view.to).ok_or_else(no)?;
    work.has_users = true;
    work.draft(&sheet.path).edits.push(Piece { range: start..at - 2, new });
    Ok(())
}

/// A path from the old file in a form that is valid everywhere in the crate; `None` if it leads out
/// of the crate's modules.
pub fn absolute(view: &View, source: &str) -> Option<String> {
    let own = path_of(view.from)?;
    let (mut base, mut rest) = (own.as_str(), source);
    let is_relative = source.starts_with("super") || source.starts_with("self");
    while let Some(after) = rest.strip_prefix("super") {
        base = base.rsplit_once("::")?.0;
        rest = after.strip_prefix("::").unwrap_or(after);
    }
    rest = rest.strip_prefix("self").map_or(rest, |after| after.strip_prefix("::").unwrap_or(after));
    if is_relative {
        return Some(if rest.is_empty() { base.to_owned() } else { format!("{base}::{rest}") });
    }
    let file = view.names.file(view.from)?;
    let first = source.split("::").next().unwrap_or_default();
    // The path begins with the bare name of a child module of the old file.
    let is_child =
        first != "crate" && !first.is_empty() && view.names.rust_path(file, &format!("self::{first}")).is_some();
    Some(if is_child { format!("{own}::{source}") } else { source.to_owned() })
}

/// Rewrites `super::` and `self::` in the moved code.
pub fn paths_inside(work: &mut Move) -> Result<(), MoveError> {
    let (view, text) = (work.view, work.old());
    for word in ["super", "self"] {
        for at in whole_words(text, word).filter(|at| work.holds(view.from, *at)).collect::<Vec<_>>() {
            let is_path = text[at + word.len()..].starts_with("::") && !text[..at].ends_with("::");
            if !is_path {
                continue;
            }
            let mut end = at + word.len();
            while text[end..].starts_with("::super") {
                end += "::super".len();
            }
            let new = absolute(view, &text[at..end]).ok_or_else(|| stuck(view.from, text, at))?;
            work.inner.push(Piece { range: at..end, new });
        }
    }
    Ok(())
}

/// Imports the definition into the old file if it is still used there, or into the old file's
/// inline module if all uses are there. A library root re-exports a public definition.
pub fn import_what_is_left(work: &mut Move) -> Result<(), MoveError> {
    let (view, line) = (work.view, import(work));
    let first = work.left.first().cloned().flatten();
    let is_public = work.cores.iter().all(|at| work.old()[*at..].starts_with("pub "));
    let line = match first.filter(|first| work.left.iter().all(|one| one.as_ref() == Some(first))) {
        Some(module) => format!("mod {module} {{\n    {line}\n}}"),
        None if view.from.ends_with("lib.rs") && is_public => format!("pub {line}"),
        None => line,
    };
    work.import(view.from, line);
    Ok(())
}

/// Declares the new module if necessary, and checks that it and the items that the code touches are
/// visible.
pub fn check(work: &mut Move) -> Result<(), MoveError> {
    let view = work.view;
    let not_done = || {
        let way_out = "a definition can only move between modules of one crate, with files in `src`";
        MoveError::NotDone { what: format!("a definition from {} to {}", view.from, view.to), way_out }
    };
    if is_another_crate(view, view.to) {
        return Err(not_done());
    }
    members_are_seen(work)?;
    let Some(new) = Module::of(view.to) else { return Ok(()) };
    if view.text(view.to).is_empty() {
        let parents = new.parent_files();
        let parent = parents.iter().find(|path| view.has(path));
        let wanted = || MoveError::NoParent { to: view.to.to_owned(), wanted: parents[0].clone() };
        let parent = parent.ok_or_else(wanted)?.clone();
        let old = Module::of(view.from).and_then(|old| declaration(view, &old).ok());
        let is_public = old.is_none_or(|old| !old.is_private());
        let head = if is_public { "pub ".to_owned() } else { String::new() };
        let declared = Declared { path: parent.clone(), statement: 0..0, name: 0..0, head };
        let change = declare(view, &parent, &declared, new.name());
        work.draft(&parent).edits.push(change);
        return Ok(());
    }
    for depth in 2..=new.parts.len() {
        let above = Module { sources: new.sources.clone(), parts: new.parts[..depth].to_vec() };
        let declared = declaration(view, &above)?;
        let users = work.drafts.keys().filter(|path| path.as_str() != view.to);
        let within = |path: &String| Module::of(path).is_some_and(|user| user.parts.starts_with(above.parent()));
        if declared.is_private() && !users.into_iter().all(within) {
            return Err(hidden(&declared.path, view.text(&declared.path), declared.name.start));
        }
    }
    Ok(())
}

/// Fails if private fields or methods would be used across the two files.
fn members_are_seen(work: &Move) -> Result<(), MoveError> {
    let (view, text) = (work.view, work.old());
    let items = parts(view.from, text).map(|found| found.items).unwrap_or_default();
    let is_private = |member: &&Part| !text[member.core.clone()].starts_with("pub");
    for item in items.iter().filter(|item| !is_enum(item, text)) {
        let is_moved = work.holds(view.from, item.core.start);
        let is_across = |at: usize| work.holds(view.from, at) != is_moved;
        let is_struct = item.sort == Sort::Record;
        let has_private = is_struct || item.variant == "impl";
        let private: Vec<&Part> = item.members.iter().filter(|_| has_private).filter(is_private).collect();
        for member in &private {
            let is_used = |at: &usize| is_across(*at) && text[..*at].ends_with(['.', ':']);
            if let Some(at) = whole_words(text, &member.name).find(is_used) {
                return Err(hidden(view.from, text, at));
            }
        }
        let is_literal = |at: &usize| {
            let behind = text[at + item.name.len()..].trim_start();
            is_across(*at) && behind.starts_with('{') && !text[..*at].ends_with("impl ")
        };
        if is_struct
            && !private.is_empty()
            && let Some(at) = whole_words(text, &item.name).find(is_literal)
        {
            return Err(hidden(view.from, text, at));
        }
    }
    Ok(())
}

/// Whether a part is an enum; its variants are as public as the enum itself.
fn is_enum(item: &Part, text: &str) -> bool {
    text[item.core.clone()].split('{').next().is_some_and(|head| head.contains("enum "))
}
