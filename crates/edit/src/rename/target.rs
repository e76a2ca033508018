//! Finds the one definition, or the local names of one function, to which a request refers.

use std::collections::HashSet;

use super::{FileOccurrences, RenameError, Target};
use crate::index::{Index, Kind, Names, Role, Symbol};

/// Maximum number of similar names listed.
const NEAR_MAX: usize = 5;

/// The definition or file to rename.
pub enum Wanted {
    /// One definition, with its overloads and overrides.
    Symbols(HashSet<Symbol>),
    /// The index of a sheet, and its places that bind the local name.
    Local(usize, Vec<usize>),
}

/// Finds the definition that `from` names; fails if there is none or more than one.
pub fn find(index: &Index, names: &Names, sheets: &[FileOccurrences], from: &Target) -> Result<Wanted, RenameError> {
    let in_file = |file: usize| from.file.as_deref().is_none_or(|wanted| ends_with(names.path(file), wanted));
    let mut all = names.named(&from.name);
    all.retain(|s| in_file(s.file) && from.container.as_deref().is_none_or(|wanted| stands_in(names, *s, wanted)));
    if let Some(first) = all.first() {
        let family = names.family(*first);
        let mut others: Vec<Symbol> = all.iter().copied().filter(|s| !family.contains(s)).collect();
        if others.is_empty() {
            return Ok(Wanted::Symbols(family));
        }
        others.insert(0, *first);
        let place =
            |s: &Symbol| format!("{} in {}, line {}", names.handle(*s), names.path(s.file), names.definition(*s).start);
        return Err(RenameError::Several { name: from.name.clone(), places: others.iter().map(place).collect() });
    }
    let locals = local(names, sheets, from, &in_file);
    match locals.as_slice() {
        [(sheet, binders)] => Ok(Wanted::Local(*sheet, binders.clone())),
        [] => {
            let mut near = index.graph()?.similar(&from.name, NEAR_MAX);
            near.retain(|name| *name != from.name);
            Err(RenameError::NotFound { name: from.name.clone(), near })
        }
        several => {
            let place = |(sheet, binders): &(usize, Vec<usize>)| {
                let sheet = &sheets[*sheet];
                format!("{}, line {}", sheet.path, sheet.places[binders[0]].line)
            };
            Err(RenameError::Several { name: from.name.clone(), places: several.iter().map(place).collect() })
        }
    }
}

/// Whether a path equals `wanted`, or ends with `/` and `wanted`.
fn ends_with(path: &str, wanted: &str) -> bool {
    let wanted = wanted.trim_start_matches("./");
    path == wanted || path.strip_suffix(wanted).is_some_and(|before| before.ends_with('/'))
}

/// Whether a definition is a member of `wanted` or inside it.
fn stands_in(names: &Names, symbol: Symbol, wanted: &str) -> bool {
    let wanted = wanted.rsplit(['.', ':']).next().unwrap_or(wanted);
    let definition = names.definition(symbol);
    let outer = definition.container.map(|at| names.definition(Symbol { file: symbol.file, at }).name.as_str());
    definition.member_of.as_deref() == Some(wanted) || outer == Some(wanted)
}

/// The local names in each function that match `from`: the index of the sheet, and the places that
/// bind the name.
fn local(
    names: &Names,
    sheets: &[FileOccurrences],
    from: &Target,
    in_file: &dyn Fn(usize) -> bool,
) -> Vec<(usize, Vec<usize>)> {
    let Some(wanted) = from.container.as_deref() else { return Vec::new() };
    let (owner, function) = match wanted.rsplit_once(['.', ':']) {
        Some((owner, function)) => (Some(owner.trim_end_matches(':')), function),
        None => (None, wanted),
    };
    let mut found = Vec::new();
    for (at, sheet) in sheets.iter().enumerate().filter(|(_, sheet)| in_file(sheet.file)) {
        let definitions = &names.outline(sheet.file).definitions;
        let fits = |d: usize| {
            let symbol = Symbol { file: sheet.file, at: d };
            let code = matches!(definitions[d].kind, Kind::Function | Kind::Method | Kind::Class);
            code && definitions[d].name == function && owner.is_none_or(|owner| stands_in(names, symbol, owner))
        };
        for function in (0..definitions.len()).filter(|d| fits(*d)) {
            let bound = sheet.places.iter().enumerate().filter(|(place, o)| {
                let local = matches!(o.role, Role::Local { .. } | Role::ShorthandLocal | Role::Definition);
                local && o.inside == Some(function) && o.defines.is_none() && o.binder == Some(*place)
            });
            let bound: Vec<usize> = bound.map(|(place, _)| place).collect();
            if !bound.is_empty() {
                found.push((at, bound));
            }
        }
    }
    found
}

/// Fails if a method implements a trait from outside the project, since that trait fixes its name.
pub fn is_ours(names: &Names, symbol: Symbol) -> Result<(), RenameError> {
    let definition = names.definition(symbol);
    let container = definition.container.map(|at| names.definition(Symbol { file: symbol.file, at }).kind);
    match names.foreign_base(symbol).filter(|_| container == Some(Kind::Impl)) {
        Some(base) => Err(RenameError::Foreign { name: definition.name.clone(), base }),
        None => Ok(()),
    }
}
