//! Plans the move of one definition to another file, with the imports that it needs and the imports
//! that lead to it.

mod needs;
mod place;
mod proof;
mod rust;
mod statement;
mod users;

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use super::{
    Edits, MoveError, NewText, Plan, Read, RenameError, View, family, hidden, inside, is_there, paths, python,
    same_family, script, stuck, texts, whole_lines,
};
use crate::index::parts::{MODULE, Part, parts};
use crate::index::{Index, Symbol, whole_words};
use crate::text::{Piece, Source, line_of, own_lines};
use crate::{Hints, MergeError, export, merge, remove};

/// The changes to one file: edits of its text, then imports to merge in.
#[derive(Default)]
struct Draft {
    edits: Vec<Piece>,
    imports: Vec<String>,
}

/// A definition being moved from one file to another. All texts use line feeds only.
struct Move<'a> {
    view: &'a View<'a>,
    language: &'static str,
    name: &'a str,
    /// Its bytes in the old file, with comments, decorators and, in Rust and Go, the methods of a type.
    ranges: Vec<Range<usize>>,
    /// The start of each declaration proper, after its comments and attributes.
    cores: Vec<usize>,
    wanted: HashSet<Symbol>,
    drafts: BTreeMap<String, Draft>,
    /// Changes inside the moved code, by position in the old file.
    inner: Vec<Piece>,
    /// For each use that stays in the old file: the inline module around it, if any.
    left: Vec<Option<String>>,
    /// Whether other files import the definition.
    has_users: bool,
    /// Whether a list or assignment in the old file exports it.
    listed: bool,
    found: Edits,
}

impl<'a> Move<'a> {
    fn old(&self) -> &'a str {
        self.view.text(self.view.from)
    }

    /// Whether a byte of a file belongs to the moved code.
    fn holds(&self, path: &str, at: usize) -> bool {
        path == self.view.from && self.ranges.iter().any(|range| range.contains(&at))
    }

    fn draft(&mut self, path: &str) -> &mut Draft {
        self.drafts.entry(path.to_owned()).or_default()
    }

    fn import(&mut self, path: &str, line: String) {
        let imports = &mut self.draft(path).imports;
        if !imports.contains(&line) {
            imports.push(line);
        }
    }

    /// The moved code in its final form: its pieces keep the gaps between them.
    fn code(&self) -> String {
        let (text, gap) = (self.old(), place::gap(self.language));
        let mut code = String::new();
        let mut end: Option<usize> = None;
        for range in &self.ranges {
            let between = end.and_then(|end| text.get(end..range.start));
            code.push_str(between.map_or("", |between| if between.trim().is_empty() { between } else { gap }));
            let own = self.inner.iter().filter(|edit| range.start <= edit.range.start && edit.range.end <= range.end);
            let shifted = |edit: &Piece| {
                let bytes = edit.range.start - range.start..edit.range.end - range.start;
                Piece { range: bytes, new: edit.new.clone() }
            };
            code.push_str(&Source::new(&text[range.clone()]).apply(&own.map(shifted).collect::<Vec<_>>()).0);
            end = Some(range.end);
        }
        code
    }
}

/// Plans the move of the definition `name` to the file `to`, which is created if it does not exist.
/// Without `from`, the only file that defines `name` is used. Everything is computed, and checked
/// as far as the index allows, before anything is written.
pub fn definition(index: &Index, read: &Read, name: &str, from: Option<&str>, to: &str) -> Result<Plan, MoveError> {
    let from = match from {
        Some(from) => inside(from)?.to_owned(),
        None => only_file(index, name)?,
    };
    let (from, to) = (from.as_str(), inside(to)?);
    let language = known_language(from, to)?;
    let (mut files, others): (Vec<_>, Vec<_>) =
        texts(index, read, language, from)?.into_iter().partition(|(path, _)| family(path) == language);
    files.iter_mut().for_each(|(_, text)| *text = Source::new(text).text);
    if !files.iter().any(|(path, _)| path == to) {
        if from == to || is_there(read, to)? {
            return Err(MoveError::Exists { path: to.to_owned() });
        }
        files.push((to.to_owned(), String::new()));
    }
    let snapshot = index.snapshot(&files)?;
    let names = snapshot.names();
    let view = View { snapshot: &snapshot, names: &names, texts: &files, from, to };
    let mut work = begun(&view, language, name)?;
    if language == "go" {
        same_package(&view)?;
    }
    users::read(&mut work)?;
    needs::read(&mut work)?;
    keep_exported(&mut work)?;
    if language == "rust" {
        rust::check(&mut work)?;
    }
    let edits = written(&mut work)?;
    proof::holds(&work, &edits)?;
    let mut found = std::mem::take(&mut work.found);
    for (path, text) in &others {
        for at in whole_words(text, name) {
            found.mention(path, text, line_of(text, at));
        }
    }
    let mut plan = found.plan;
    let inits = if language == "python" { python::missing_inits(&view) } else { Vec::new() };
    plan.edits = edits;
    plan.edits.extend(inits.into_iter().map(|path| NewText { path, text_after: String::new() }));
    Ok(plan)
}

/// The common language family of both files; fails if definitions in this language cannot be moved.
fn known_language(from: &str, to: &str) -> Result<&'static str, MoveError> {
    let language = same_family(from, to)?;
    if matches!(language, "script" | "python" | "rust" | "go") {
        return Ok(language);
    }
    let way_out = "only definitions in TypeScript, JavaScript, Python, Rust and Go can be moved";
    Err(MoveError::NotDone { what: format!("a definition from {from}"), way_out })
}

/// The only file that defines a name at its top level; fails if there are none or several.
fn only_file(index: &Index, name: &str) -> Result<String, MoveError> {
    let graph = index.graph()?;
    let all = graph.named(name).into_iter().filter(|node| !matches!(node.kind.as_str(), "module" | "method" | "impl"));
    let mut places: Vec<String> = all.map(|node| node.path.clone()).collect();
    places.sort();
    places.dedup();
    match places.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(RenameError::NotFound { name: name.to_owned(), near: graph.similar(name, 5) }.into()),
        _ => Err(RenameError::Several { name: name.to_owned(), places }.into()),
    }
}

/// Fails unless both files are in the same Go package, where uses stay as they are, and neither
/// file has a build condition.
fn same_package(view: &View) -> Result<(), MoveError> {
    let test = |path: &str| path.ends_with("_test.go");
    if paths::folder(view.from) != paths::folder(view.to) || test(view.from) != test(view.to) {
        let way_out = "in Go, a definition can only move within its package; elsewhere, every use would have to change";
        return Err(MoveError::NotDone { what: format!("a definition from {} to {}", view.from, view.to), way_out });
    }
    for path in [view.from, view.to] {
        if let Some(at) = view.text(path).find("//go:build") {
            return Err(stuck(path, view.text(path), at));
        }
    }
    Ok(())
}

/// Finds the definition and everything that moves with it.
fn begun<'a>(view: &'a View<'a>, language: &'static str, name: &'a str) -> Result<Move<'a>, MoveError> {
    let text = view.text(view.from);
    let items = parts(view.from, text).map(|found| found.items).unwrap_or_default();
    let is_impl = |part: &Part| part.variant.starts_with("impl") && language == "rust";
    let is_own = |part: &&Part| match &part.owner {
        Some(owner) => language == "go" && owner == name,
        None => part.name == name && part.is_definition(),
    };
    let own: Vec<&Part> = items.iter().filter(is_own).collect();
    let declared: Vec<&&Part> = own.iter().filter(|part| part.owner.is_none() && !is_impl(part)).collect();
    if declared.is_empty() {
        return Err(MoveError::NoDefinition { name: name.to_owned(), path: view.from.to_owned() });
    }
    let not_done = |way_out| Err(MoveError::NotDone { what: format!("`{name}` of {}", view.from), way_out });
    for part in &own {
        let core = &text[part.core.clone()];
        if core.starts_with("export default") {
            return not_done("a default export has no name that others import; name it first");
        }
        let is_module =
            language == "rust" && core.split(['{', ';']).next().is_some_and(|head| head.split(' ').any(|w| w == "mod"));
        if part.variant == MODULE || is_module || core.starts_with("macro_rules!") {
            return not_done("modules and macros depend on their place; move them by hand");
        }
        if core.starts_with("exports.") || core.starts_with("module.exports") {
            return not_done("it is an entry of `exports` without a name of its own; give it one first");
        }
        if own_lines(text, &part.whole()).is_none() {
            return Err(stuck(view.from, text, part.core.start));
        }
    }
    let file = view.names.file(view.from).unwrap_or_default();
    let at_top = |symbol: &Symbol| symbol.file == file && view.names.definition(*symbol).container.is_none();
    let wanted: HashSet<Symbol> = view.names.named(name).into_iter().filter(at_top).collect();
    if wanted.is_empty() {
        return Err(MoveError::NoDefinition { name: name.to_owned(), path: view.from.to_owned() });
    }
    Ok(Move {
        view,
        language,
        name,
        ranges: own.iter().map(|part| part.whole()).collect(),
        cores: declared.iter().map(|part| part.core.start).collect(),
        wanted,
        drafts: BTreeMap::new(),
        inner: Vec::new(),
        left: Vec::new(),
        has_users: false,
        listed: false,
        found: Edits::default(),
    })
}

/// Makes the definition visible to the files that import it from the new file, and imports it into
/// the old file if it is still used there.
fn keep_exported(work: &mut Move) -> Result<(), MoveError> {
    let (view, name) = (work.view, work.name);
    let imported = work.has_users || !work.left.is_empty();
    // The prefix of a visible declaration, and the text that makes another declaration visible.
    let visible = match work.language {
        "script" if (imported || work.listed) && !place::is_common_js(view) => Some(("export ", "export ")),
        "rust" if imported => Some(("pub", "pub(crate) ")),
        _ => None,
    };
    if let Some((begin, new)) = visible {
        let old = work.old();
        let bare = work.cores.iter().copied().filter(|at| !old[*at..].starts_with(begin));
        work.inner.extend(bare.map(|at| Piece { range: at..at, new: new.to_owned() }));
    }
    if work.left.is_empty() || work.language == "go" {
        return Ok(());
    }
    let line = match work.language {
        "python" => Some(format!("from {} import {name}", place::python_module(view, view.from, view.to))),
        "rust" => return rust::import_what_is_left(work),
        _ => crate::imports::script(view.from, work.old(), view.to, name),
    };
    let line = line.ok_or_else(|| stuck(view.from, work.old(), work.cores[0]))?;
    work.import(view.from, line);
    Ok(())
}

/// The new texts of all changed files.
fn written(work: &mut Move) -> Result<Vec<NewText>, MoveError> {
    let (view, code) = (work.view, work.code());
    let gone: Vec<Piece> = work
        .ranges
        .iter()
        .filter_map(|range| remove::with_blank_lines(work.old(), range))
        .map(|range| Piece { range, new: String::new() })
        .collect();
    work.draft(view.from).edits.extend(gone);
    work.draft(view.to);
    let mut edits = Vec::new();
    for (path, draft) in std::mem::take(&mut work.drafts) {
        let before = view.text(&path);
        let mut text = Source::new(before).apply(&draft.edits).0;
        if path == view.to {
            text = place::inserted(work, &text, &code);
        }
        for line in draft.imports {
            match merge(&path, &text, &format!("{line}\n"), &Hints::default()) {
                Ok(merged) => text = merged.text,
                Err(MergeError::NothingChanged) => {}
                Err(_) => return Err(MoveError::Stuck { path, line: 1, text: line }),
            }
        }
        if path == view.to && place::is_common_js(view) && (work.has_users || work.listed || !work.left.is_empty()) {
            text = match export::add(&path, &text, work.name, &path) {
                Some(text) => text,
                None if before.trim().is_empty() => format!("{text}\nmodule.exports = {{ {} }};\n", work.name),
                None => return Err(MoveError::Stuck { path, line: 1, text: "module.exports".to_owned() }),
            };
        }
        if text != before || before.is_empty() {
            edits.push(NewText { path, text_after: text });
        }
    }
    Ok(edits)
}

#[cfg(test)]
mod tests;
