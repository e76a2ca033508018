//! Finds places where the new name already has a meaning.

use std::collections::HashSet;
use std::ops::Range;

use super::{Edits, FileOccurrences, RenameError};
use crate::index::{Meaning, Names, Occurrence, Role, Symbol, names as places};

/// Fails if a changed place would get another meaning, or if another name would come to refer to
/// the definition.
pub fn check(names: &Names, sheets: &[FileOccurrences], edits: &Edits, to: &str) -> Result<(), RenameError> {
    for (at, sheet) in sheets.iter().enumerate() {
        let changed: Vec<&Occurrence> =
            edits.changed.iter().filter(|(s, _)| *s == at).map(|(_, place)| &sheet.places[*place]).collect();
        let bare: Vec<&Occurrence> = changed.into_iter().filter(|o| is_bare(o)).collect();
        let Some(Ok((others, _))) = places(sheet.language, &sheet.text, to).filter(|_| !bare.is_empty()) else {
            continue;
        };
        let taken = |line: usize| RenameError::Taken { to: to.to_owned(), path: sheet.path.clone(), line };
        for other in others.iter() {
            let hides = bare.iter().any(|own| hides(sheet, own, other));
            let captured = bare.iter().any(|own| captures(&others, own, other));
            if hides || captured {
                return Err(taken(other.line));
            }
        }
        let package = sheet.language == "go" && bare.iter().any(|o| reaches_package(sheet, o));
        if let Some(Meaning::Symbol(symbol)) = names.free(sheet.file, to).filter(|_| package) {
            let (path, line) = (names.path(symbol.file).to_owned(), names.definition(symbol).start);
            return Err(RenameError::Taken { to: to.to_owned(), path, line });
        }
    }
    Ok(())
}

/// Whether the meaning of a place depends only on its name and scope, not on a receiver, an export
/// or a call.
fn is_bare(place: &Occurrence) -> bool {
    match place.role {
        Role::Definition | Role::Import { .. } => place.scope.is_some(),
        Role::Member { .. } | Role::ReExport { .. } | Role::Keyword { .. } | Role::Property => false,
        _ => true,
    }
}

/// Whether a name is visible in its entire Go package.
fn reaches_package(sheet: &FileOccurrences, place: &Occurrence) -> bool {
    let binder = place.binder.map(|at| &sheet.places[at]);
    binder.is_none_or(|b| b.role == Role::Definition && b.defines.is_some())
}

fn holds(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// Whether `other` binds the new name in a scope between a changed place and the definition it
/// refers to.
fn hides(sheet: &FileOccurrences, own: &Occurrence, other: &Occurrence) -> bool {
    let Some(scope) = &other.scope else { return false };
    let bound = own.binder.and_then(|at| sheet.places[at].scope.as_ref());
    let nearer = bound.is_none_or(|bound| holds(bound, scope));
    let same = own.scope.as_ref().is_some_and(|own| own == scope);
    same || scope.contains(&own.bytes.start) && nearer
}

/// Whether `own` binds the new name in a scope between `other`, a use of that name, and the
/// definition `other` refers to.
fn captures(others: &[Occurrence], own: &Occurrence, other: &Occurrence) -> bool {
    let Some(scope) = &own.scope else { return false };
    let reads = matches!(other.role, Role::Reference | Role::Shorthand | Role::Listed);
    let bound = other.binder.and_then(|at| others[at].scope.as_ref());
    reads && scope.contains(&other.bytes.start) && bound.is_none_or(|bound| holds(bound, scope))
}

/// Fails if a type would have two members, or a file two exports, with the same name.
pub fn members(names: &Names, wanted: &HashSet<Symbol>, to: &str) -> Result<(), RenameError> {
    for symbol in wanted {
        if let Some(other) = names.relatives(*symbol, to).into_iter().min() {
            let (path, line) = (names.path(other.file).to_owned(), names.definition(other).start);
            return Err(RenameError::Taken { to: to.to_owned(), path, line });
        }
    }
    let Some(name) = wanted.iter().next().map(|symbol| &names.definition(*symbol).name) else { return Ok(()) };
    for (file, path) in names.files().enumerate() {
        let Some(star) = names.outline(file).exports.iter().find(|export| export.name == "*") else { continue };
        let means = |m: Meaning| matches!(m, Meaning::Symbol(symbol) if wanted.contains(&symbol));
        if names.exported(file, name).is_some_and(means) && names.exported(file, to).is_some() {
            return Err(RenameError::Taken { to: to.to_owned(), path: path.to_owned(), line: star.line });
        }
    }
    Ok(())
}
