//! Plans the move of a file or definition, with all imports that lead to it, or returns the reason
//! it cannot be moved.

mod definition;
mod python;
mod rust;
mod script;

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::ops::Range;

use super::paths;
use super::rename::{Doubt, Edits, NewText, Plan, Read, RenameError};
use super::text::{line_at, line_of, own_lines};
use crate::index::{Definition, Export, Import, Index, IndexError, Kind, Names, Snapshot, language_of};

pub use definition::definition;

/// Languages without imports. Scripts may import files in these languages.
const PROSE: &[&str] = &["markdown", "json", "toml", "yaml"];

/// The reason a file or definition cannot be moved.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    #[error("`{path}` is not a path inside the project; give it relative to the project, without `..`")]
    Outside { path: String },
    #[error("{path} is not in the project")]
    NoFile { path: String },
    #[error("{path} already exists; choose another path")]
    Exists { path: String },
    #[error("{path} has its own `{name}`, which the module of that name would hide; choose another name")]
    Taken { path: String, name: String },
    #[error("{from} is {from_language} and {to} is {to_language}; a move cannot change the language")]
    OtherLanguage { from: String, to: String, from_language: &'static str, to_language: &'static str },
    #[error("cannot move {what}: {way_out}")]
    NotDone { what: String, way_out: &'static str },
    #[error("{path} has submodules, such as {child}; move those first")]
    HasChildren { path: String, child: String },
    #[error("the parent module of {to} has no file; make {wanted} first")]
    NoParent { to: String, wanted: String },
    #[error("{path}, line {line}: `{text}` cannot be redirected; change it by hand first")]
    Stuck { path: String, line: usize, text: String },
    #[error("{path}, line {line}: `{text}` may not be visible from the new place; make it public first")]
    Hidden { path: String, line: usize, text: String },
    #[error("not all imports of {path} would still lead to the same target; nothing was moved")]
    Astray { path: String },
    #[error(
        "{path} has no `{name}` as a separate top-level statement; check the name, or move the enclosing definition"
    )]
    NoDefinition { name: String, path: String },
    #[error("`{name}` already has a meaning in {path}, line {line}; rename one of them first")]
    NameTaken { path: String, name: String, line: usize },
    #[error("`{name}` uses `{helper}`, which is private to {path}; move `{helper}` first, or export it")]
    Private { name: String, helper: String, path: String },
    #[error("{to} would import {path}, which in turn depends on {to}; move what both use to a third file first")]
    Circle { to: String, path: String },
    #[error("{path} cannot be read: {source}; nothing was moved")]
    Unreadable { path: String, source: io::Error },
    #[error(transparent)]
    Edit(#[from] RenameError),
    #[error(transparent)]
    Index(#[from] IndexError),
}

/// The project before the move.
struct View<'a> {
    snapshot: &'a Snapshot,
    names: &'a Names<'a>,
    /// Path and text of the files that may need changes.
    texts: &'a [(String, String)],
    from: &'a str,
    to: &'a str,
}

impl View<'_> {
    fn text(&self, path: &str) -> &str {
        self.texts.iter().find(|(known, _)| known == path).map_or("", |(_, text)| text)
    }

    fn has(&self, path: &str) -> bool {
        self.names.file(path).is_some()
    }

    fn changes_folder(&self) -> bool {
        paths::folder(self.from) != paths::folder(self.to)
    }
}

/// Plans the move of one file: changes its own relative imports, and every file's imports that lead
/// to it. If the text of the moved file changes, the plan lists it under `to`.
pub fn file(index: &Index, read: &Read, from: &str, to: &str) -> Result<Plan, MoveError> {
    let (from, to) = (inside(from)?, inside(to)?);
    let language = same_family(from, to)?;
    if is_there(read, to)? {
        return Err(MoveError::Exists { path: to.to_owned() });
    }
    let all = texts(index, read, language, from)?;
    let (texts, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|(path, _)| family(path) == language);
    let snapshot = index.snapshot(&texts)?;
    let names = snapshot.names();
    let view = View { snapshot: &snapshot, names: &names, texts: &texts, from, to };
    let mut edits = Edits::default();
    let mut new_files = Vec::new();
    match language {
        "script" => {
            script::keeps_others(from, &others)?;
            script::move_file(&view, &mut edits)?;
        }
        "python" => new_files = python::move_file(&view, &mut edits)?,
        "rust" => rust::move_file(&view, &mut edits)?,
        prose if PROSE.contains(&prose) => {
            script::keeps_others(from, &others)?;
            doubt_folder(&view, &["](", "./"], &mut edits);
        }
        _ => {
            let way_out = "only imports in TypeScript, JavaScript, Python and Rust are followed; use `mv` and fix the imports by hand";
            return Err(MoveError::NotDone { what: from.to_owned(), way_out });
        }
    }
    let mut plan = edits.finish(&texts, from)?;
    for edit in plan.edits.iter_mut().filter(|edit| edit.path == from) {
        to.clone_into(&mut edit.path);
    }
    plan.edits.sort_by(|a, b| a.path.cmp(&b.path));
    plan.edits.extend(new_files.into_iter().map(|path| NewText { path, text_after: String::new() }));
    leads_where_it_led(&view, &plan)?;
    Ok(mention(&view, &others, plan))
}

/// The path in the form that the index uses; fails if it is outside the project.
fn inside(path: &str) -> Result<&str, MoveError> {
    let clean = path.trim().trim_start_matches("./");
    let parts_fit = clean.split('/').all(|part| !matches!(part, "" | "." | ".."));
    if parts_fit && !clean.contains('\\') {
        return Ok(clean);
    }
    Err(MoveError::Outside { path: path.to_owned() })
}

/// The language of a file; languages whose files can import each other have one common name.
fn family(path: &str) -> &'static str {
    match language_of(path) {
        "typescript" | "tsx" | "javascript" | "jsx" => "script",
        other => other,
    }
}

/// The family that both files belong to; fails if they differ.
fn same_family(from: &str, to: &str) -> Result<&'static str, MoveError> {
    let language = family(from);
    if language == family(to) {
        return Ok(language);
    }
    let (from_language, to_language) = (language_of(from), language_of(to));
    Err(MoveError::OtherLanguage { from: from.to_owned(), to: to.to_owned(), from_language, to_language })
}

/// Whether a file exists, even if it is not text.
fn is_there(read: &Read, path: &str) -> Result<bool, MoveError> {
    match read(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) if error.kind() == ErrorKind::InvalidData => Ok(true),
        Err(source) => Err(MoveError::Unreadable { path: path.to_owned(), source }),
    }
}

/// Paths and texts of the indexed files. Fails if `from` is not among them, or if a file in its
/// language cannot be read.
fn texts(index: &Index, read: &Read, language: &str, from: &str) -> Result<Vec<(String, String)>, MoveError> {
    let mut found = Vec::new();
    for path in index.paths()? {
        match read(&path) {
            Ok(text) => found.push((path, text)),
            Err(gone) if gone.kind() == ErrorKind::NotFound || family(&path) != language => {}
            Err(source) => return Err(MoveError::Unreadable { path, source }),
        }
    }
    if found.iter().any(|(path, _)| path == from) {
        Ok(found)
    } else {
        Err(MoveError::NoFile { path: from.to_owned() })
    }
}

/// Fails unless every import in every file leads to the same file as before, including the moved
/// one.
fn leads_where_it_led(view: &View, plan: &Plan) -> Result<(), MoveError> {
    let mut after = view.snapshot.clone();
    after.move_file(view.from, view.to);
    plan.edits.iter().for_each(|edit| after.put(&edit.path, &edit.text_after));
    let names = after.names();
    let place = |path: &str| if path == view.from { view.to } else { path }.to_owned();
    for (path, _) in view.texts {
        let (Some(old), Some(new)) = (view.names.file(path), names.file(&place(path))) else { continue };
        let before: BTreeSet<String> = imported(view.names, old).into_iter().map(place).collect();
        let later: BTreeSet<String> = imported(&names, new).into_iter().map(str::to_owned).collect();
        // An `__init__.py` may disappear from the list, because an import can now name the module
        // itself; no other file may.
        if before.difference(&later).any(|one| !one.ends_with("__init__.py")) {
            return Err(MoveError::Astray { path: path.clone() });
        }
    }
    Ok(())
}

/// The files that a file imports or re-exports, except imports through `super` in an inline module,
/// whose path starts in the same file.
fn imported<'n>(names: &Names<'n>, file: usize) -> BTreeSet<&'n str> {
    let outline = names.outline(file);
    let in_inline_module = |line: usize| {
        let around = |d: &Definition| d.kind == Kind::Module && d.start < d.end && (d.start..=d.end).contains(&line);
        outline.definitions.iter().any(around)
    };
    // `mod name;` is left out, since the module may now have a different parent.
    let declares = |import: &Import| import.local != "*" && import.source == format!("self::{}", import.local);
    let own = outline.imports.iter().filter(|import| !declares(import));
    let own = own.filter(|import| !(import.source.starts_with("super") && in_inline_module(import.line)));
    let imports = own.filter_map(|import| names.module_of(file, import));
    let declared = |e: &Export| e.local == "*" && e.source.as_deref() == Some(format!("self::{}", e.name).as_str());
    let exports = outline.exports.iter().filter(|e| !declared(e)).filter_map(|e| e.source.as_deref());
    let exports = exports.filter_map(|source| names.module(file, source));
    imports.chain(exports).map(|module| names.path(module)).collect()
}

/// Adds as mentions the lines that still contain the old path, with or without its extension, or
/// the old name of a Python module.
fn mention(view: &View, others: &[(String, String)], plan: Plan) -> Plan {
    let mut edits = Edits::of(plan);
    let stem = paths::without_extension(view.from);
    let dotted = stem.strip_prefix("src/").unwrap_or(stem).replace('/', ".");
    let mut needles = vec![if stem.contains('/') { stem } else { view.from }];
    needles.extend((language_of(view.from) == "python" && dotted.contains('.')).then_some(dotted.as_str()));
    for (path, before) in view.texts.iter().chain(others) {
        let path = if path == view.from { view.to } else { path };
        let after = edits.plan.edits.iter().find(|edit| edit.path == path).map(|edit| edit.text_after.clone());
        let text = after.as_ref().unwrap_or(before);
        for (number, line) in text.lines().enumerate() {
            if needles.iter().any(|needle| has_whole(line, needle)) {
                edits.mention(path, text, number + 1);
            }
        }
    }
    let mut plan = edits.plan;
    for path in plan.mentions.iter_mut().map(|m| &mut m.path).chain(plan.doubtful.iter_mut().map(|d| &mut d.path)) {
        if path == view.from {
            view.to.clone_into(path);
        }
    }
    plan
}

/// Whether the line contains `needle` as a whole word.
fn has_whole(line: &str, needle: &str) -> bool {
    let goes_on = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    let mut found = line.match_indices(needle);
    found.any(|(at, _)| !goes_on(line[..at].chars().next_back()) && !goes_on(line[at + needle.len()..].chars().next()))
}

/// If the moved file changes folders, lists its lines with one of `words` as doubtful, because
/// their meaning may depend on the folder.
fn doubt_folder(view: &View, words: &[&str], edits: &mut Edits) {
    for (number, line) in view.text(view.from).lines().enumerate().filter(|_| view.changes_folder()) {
        if words.iter().any(|word| line.contains(word)) {
            let why = "it depends on the file's folder".to_owned();
            let text = line.trim().to_owned();
            edits.plan.doubtful.push(Doubt { path: view.from.to_owned(), line: number + 1, text, why });
        }
    }
}

/// The bytes to remove for a statement: its whole lines if they contain nothing else, and one of
/// two empty lines around it.
fn whole_lines(text: &str, statement: &Range<usize>) -> Range<usize> {
    let Some(lines) = own_lines(text, statement) else { return statement.clone() };
    let blank_before = lines.start == 0 || text[..lines.start].ends_with("\n\n");
    let between = blank_before && text[lines.end..].starts_with('\n');
    lines.start..lines.end + usize::from(between)
}

fn stuck(path: &str, text: &str, at: usize) -> MoveError {
    MoveError::Stuck { path: path.to_owned(), line: line_of(text, at), text: line_at(text, at).trim().to_owned() }
}

fn hidden(path: &str, text: &str, at: usize) -> MoveError {
    MoveError::Hidden { path: path.to_owned(), line: line_of(text, at), text: line_at(text, at).trim().to_owned() }
}

fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

#[cfg(test)]
mod tests;
