//! Decides whether a place refers to the definition to be renamed.

use std::collections::HashSet;

use super::FileOccurrences;
use crate::index::{Kind, Meaning, Names, Occurrence, Role, Symbol};

/// The verdict on one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Change,
    Keep,
    Mention,
    /// It may refer to the definition; the text explains why that is unknown.
    Doubt(String),
}

impl Verdict {
    fn changes(yes: bool) -> Verdict {
        if yes { Verdict::Change } else { Verdict::Keep }
    }
}

/// Judges place number `place` of a sheet.
pub fn decide(names: &Names, sheet: &FileOccurrences, place: usize, wanted: &HashSet<Symbol>) -> Verdict {
    let occurrence = &sheet.places[place];
    match &occurrence.role {
        Role::String | Role::Comment => Verdict::Mention,
        Role::Unclear => Verdict::Doubt("the surrounding code is not understood".to_owned()),
        Role::Definition => match occurrence.defines {
            Some(at) => Verdict::changes(wanted.contains(&Symbol { file: sheet.file, at })),
            None => variable(names, sheet, occurrence.binder, wanted),
        },
        Role::Import { source } | Role::ReExport { source } => imported(names, sheet, occurrence, source, wanted),
        Role::Reference | Role::Shorthand | Role::Listed => match occurrence.binder {
            Some(_) => variable(names, sheet, occurrence.binder, wanted),
            None => free(names, sheet, occurrence, wanted),
        },
        Role::Member { receiver } => member(names, sheet, occurrence, receiver, wanted),
        Role::Keyword { .. } => keyword(names, wanted),
        Role::Alias | Role::ExportedAs | Role::Local { .. } | Role::ShorthandLocal | Role::Property | Role::Global => {
            Verdict::Keep
        }
    }
}

/// Judges a name that is bound in this file.
fn variable(names: &Names, sheet: &FileOccurrences, binder: Option<usize>, wanted: &HashSet<Symbol>) -> Verdict {
    let Some(binder) = binder else { return Verdict::Keep };
    let one = sheet.places.iter().filter(|o| o.binder == Some(binder) && o.scope.is_some());
    for place in one {
        let defines = place.defines.is_some_and(|at| wanted.contains(&Symbol { file: sheet.file, at }));
        match &place.role {
            _ if defines => return Verdict::Change,
            Role::Import { source } => match imported(names, sheet, place, source, wanted) {
                Verdict::Keep => {}
                verdict => return verdict,
            },
            _ => {}
        }
    }
    Verdict::Keep
}

fn means(meaning: Meaning, wanted: &HashSet<Symbol>) -> bool {
    matches!(meaning, Meaning::Symbol(symbol) if wanted.contains(&symbol))
}

/// Whether the definition is at the top level of a file, where other files can import it.
fn is_home(names: &Names, file: usize, wanted: &HashSet<Symbol>) -> bool {
    wanted.iter().any(|symbol| symbol.file == file && !names.is_member(*symbol))
}

fn imported(
    names: &Names,
    sheet: &FileOccurrences,
    place: &Occurrence,
    source: &str,
    wanted: &HashSet<Symbol>,
) -> Verdict {
    let name = &sheet.text[place.bytes.clone()];
    if sheet.language == "rust" {
        let path = if source.is_empty() { name.to_owned() } else { format!("{source}::{name}") };
        let meaning = names.rust_path(sheet.file, &from_file(names, sheet, place, &path));
        return Verdict::changes(meaning.is_some_and(|m| means(m, wanted)));
    }
    match (names.imported(sheet.file, source, name), names.module(sheet.file, source)) {
        (Some(meaning), _) => Verdict::changes(means(meaning, wanted)),
        // `module.exports = { name }` is not resolved, but the file that it is imported from is
        // known.
        (None, Some(file)) if is_home(names, file, wanted) => Verdict::Change,
        (None, Some(_)) if wanted.iter().any(|s| !names.is_member(*s)) => {
            Verdict::Doubt(format!("it is unknown what `{source}` re-exports"))
        }
        _ => Verdict::Keep,
    }
}

/// A Rust path as seen from the top level of its file: each `super` that leaves an inline module is
/// removed.
pub fn from_file(names: &Names, sheet: &FileOccurrences, place: &Occurrence, path: &str) -> String {
    let definitions = &names.outline(sheet.file).definitions;
    let around = std::iter::successors(place.inside, |at| definitions[*at].container).take(definitions.len());
    let mut depth = around.filter(|at| definitions[*at].kind == Kind::Module).count();
    let mut path = path;
    let mut inside = depth > 0;
    while let Some(rest) = path.strip_prefix("super").filter(|_| depth > 0) {
        (path, depth, inside) = (rest.trim_start_matches("::"), depth - 1, true);
    }
    match (inside && !path.starts_with("super"), path) {
        (true, "") => "self".to_owned(),
        _ => path.to_owned(),
    }
}

/// Judges a name that nothing in this file binds.
fn free(names: &Names, sheet: &FileOccurrences, place: &Occurrence, wanted: &HashSet<Symbol>) -> Verdict {
    let name = &sheet.text[place.bytes.clone()];
    if let Some(meaning) = names.free(sheet.file, name) {
        return Verdict::changes(means(meaning, wanted));
    }
    let definition = |s: &Symbol| names.definition(*s);
    // Rust macros, and names in scripts without imports and exports, are visible everywhere.
    let is_macro = wanted.iter().any(|s| definition(s).kind == Kind::Macro);
    let alone = |file: usize| names.outline(file).imports.is_empty() && names.outline(file).exports.is_empty();
    let global = |s: &Symbol| alone(s.file) && !names.is_member(*s) && definition(s).container.is_none();
    let script = matches!(sheet.language, "javascript" | "jsx" | "typescript" | "tsx");
    let shared = script && alone(sheet.file) && wanted.iter().any(global);
    Verdict::changes((is_macro && sheet.language == "rust" || shared) && is_only(names, name, wanted))
}

/// Whether the project has no other definition with this name.
fn is_only(names: &Names, name: &str, wanted: &HashSet<Symbol>) -> bool {
    names.named(name).iter().all(|symbol| wanted.contains(symbol))
}

fn member(
    names: &Names,
    sheet: &FileOccurrences,
    place: &Occurrence,
    receiver: &str,
    wanted: &HashSet<Symbol>,
) -> Verdict {
    let name = &sheet.text[place.bytes.clone()];
    let file = sheet.file;
    if matches!(receiver, "exports" | "module.exports") {
        return Verdict::changes(names.exported(file, name).is_some_and(|m| means(m, wanted)));
    }
    if sheet.language == "rust" {
        let path = from_file(names, sheet, place, &format!("{receiver}::{name}"));
        if let Some(meaning) = names.rust_path(file, &path) {
            return Verdict::changes(means(meaning, wanted));
        }
    }
    let brought =
        names.outline(file).imports.iter().filter(|import| import.local == receiver && !import.name.is_empty());
    let mut modules = brought.filter_map(|import| names.module_of(file, import));
    let whole_file = modules.any(|module| is_home(names, module, wanted));
    let language = names.language(file);
    match names.member(file, place.inside, receiver, name, place.line) {
        Ok(all) => Verdict::changes(all.into_iter().any(|m| means(m, wanted))),
        // `const x = require('./x')` returns the value of `module.exports`, which is not resolved.
        Err(_) if whole_file => Verdict::Change,
        Err(_) if !wanted.iter().any(|s| names.is_member(*s) && same_language(names.language(s.file), language)) => {
            Verdict::Keep
        }
        Err(why) if why.contains("outside the project") || why.contains("has no `") => Verdict::Keep,
        Err(_) if is_only(names, name, wanted) && !names.is_common(file, name) => Verdict::Change,
        Err(why) => Verdict::Doubt(why),
    }
}

fn same_language(one: &str, other: &str) -> bool {
    let family = |language: &str| matches!(language, "typescript" | "tsx" | "javascript" | "jsx");
    one == other || family(one) && family(other)
}

/// Judges a keyword argument: `Point(x=1)` may set a field of a class.
fn keyword(names: &Names, wanted: &HashSet<Symbol>) -> Verdict {
    let field = |s: &Symbol| names.is_member(*s) && names.definition(*s).kind != Kind::Method;
    if wanted.iter().any(field) {
        Verdict::Doubt("an argument of that name may set the field".to_owned())
    } else {
        Verdict::Keep
    }
}
