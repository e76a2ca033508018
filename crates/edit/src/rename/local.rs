//! Renames a parameter or variable inside one function, and the keyword arguments of its callers.

use std::collections::HashSet;

use super::{Edits, FileOccurrences, RenameError, words};
use crate::index::{Kind, Meaning, Names, Occurrence, Role, Symbol};

/// Renames a local name. `at` is the index of the sheet; `binders` are its places that bind the
/// name.
pub fn rename(
    names: &Names,
    sheets: &[FileOccurrences],
    (at, binders): (usize, &[usize]),
    to: &str,
    edits: &mut Edits,
) -> Result<(), RenameError> {
    let sheet = &sheets[at];
    words::check(sheet.language, to)?;
    for (place, occurrence) in sheet.places.iter().enumerate() {
        if occurrence.binder.is_some_and(|binder| binders.contains(&binder)) {
            edits.change(at, place, sheet, to);
        }
    }
    let inside = binders.first().and_then(|binder| sheet.places[*binder].inside);
    if let Some(function) = inside.map(|at| Symbol { file: sheet.file, at }) {
        mentions(names, sheet, function, edits);
        let parameter = |b: &usize| sheet.places[*b].role == Role::Local { parameter: true };
        if binders.iter().any(parameter) && sheet.language == "python" {
            keywords(names, sheets, function, to, edits);
        }
    }
    // In other files the word has another meaning.
    edits.plan.mentions.retain(|m| m.path == sheet.path);
    Ok(())
}

/// Lists comments and strings in the function as mentions.
fn mentions(names: &Names, sheet: &FileOccurrences, function: Symbol, edits: &mut Edits) {
    let definition = names.definition(function);
    let words = sheet.places.iter().filter(|o| matches!(o.role, Role::String | Role::Comment));
    for word in words.filter(|o| (definition.doc_start..=definition.end).contains(&o.line)) {
        edits.mention(&sheet.path, &sheet.text, word.line);
    }
}

/// Renames the keyword of `call(NAME=value)`, where `call` is the function whose parameter is renamed.
fn keywords(names: &Names, sheets: &[FileOccurrences], function: Symbol, to: &str, edits: &mut Edits) {
    let family = names.family(function);
    for (at, sheet) in sheets.iter().enumerate().filter(|(_, sheet)| sheet.language == "python") {
        for (place, occurrence) in sheet.places.iter().enumerate() {
            let Role::Keyword { call } = &occurrence.role else { continue };
            match calls(names, sheet, occurrence, call, function, &family) {
                Ok(true) => edits.change(at, place, sheet, to),
                Ok(false) => {}
                Err(why) => edits.doubt(sheet, occurrence.line, why),
            }
        }
    }
}

/// Whether `call` calls the function; the error explains why that is unknown.
fn calls(
    names: &Names,
    sheet: &FileOccurrences,
    place: &Occurrence,
    call: &str,
    function: Symbol,
    family: &HashSet<Symbol>,
) -> Result<bool, String> {
    let own = names.definition(function);
    let (receiver, name) = call.rsplit_once('.').map_or((None, call), |(receiver, name)| (Some(receiver), name));
    // Calling a class runs its `__init__`.
    let class = own.container.filter(|_| own.name == "__init__").map(|at| Symbol { file: function.file, at });
    let class_name = class.map(|class| names.definition(class).name.as_str());
    let found = match receiver {
        Some(receiver) => names.member(sheet.file, place.inside, receiver, name, place.line),
        None => Ok(names.in_scope(sheet.file, place.inside, name).into_iter().collect()),
    };
    let means = |m: &Meaning| matches!(m, Meaning::Symbol(s) if family.contains(s) || class == Some(*s));
    match found {
        Ok(all) => Ok(all.iter().any(means)),
        Err(why) if name == own.name && own.kind == Kind::Method || class_name == Some(name) => Err(why),
        Err(_) => Ok(false),
    }
}
