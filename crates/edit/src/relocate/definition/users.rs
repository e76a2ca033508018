//! Redirects the places that name the moved definition: imports, re-exports and export lists in all
//! files.

use std::ops::Range;

use super::super::rust::Module;
use super::statement::{self, Statement};
use super::{Move, MoveError, paths, place, python, rust, script, stuck, whole_lines};
use crate::index::parts::{Part, parts};
use crate::index::{Kind, Meaning, Occurrence, Role, import_sites, language_of, whole_words};
use crate::rename::{FileOccurrences, Verdict, decide, from_file, read_places};
use crate::text::{Piece, line_start};

/// Reads every occurrence of the name and records the change that it needs.
pub fn read(work: &mut Move) -> Result<(), MoveError> {
    let view = work.view;
    let named = view.texts.iter().filter(|(_, text)| whole_words(text, work.name).next().is_some());
    let texts: Vec<(String, String)> = named.cloned().collect();
    let (sheets, found) = read_places(view.names, &texts, work.name)?;
    work.found = found;
    for sheet in &sheets {
        for at in 0..sheet.places.len() {
            let one = &sheet.places[at];
            if work.holds(&sheet.path, one.bytes.start) {
                continue;
            }
            match decide(view.names, sheet, at, &work.wanted) {
                Verdict::Change => change(work, sheet, one)?,
                Verdict::Doubt(why) => work.found.doubt(sheet, one.line, why),
                Verdict::Mention => work.found.mention(&sheet.path, &sheet.text, one.line),
                Verdict::Keep => keep(work, sheet, one)?,
            }
        }
    }
    stars(work)
}

/// Fails if another meaning of the name is in the way: in the new file, or after a call such as
/// `require('./old')` that leads to the old file.
fn keep(work: &Move, sheet: &FileOccurrences, one: &Occurrence) -> Result<(), MoveError> {
    if let Role::Member { receiver } = &one.role {
        let is_call = receiver.contains("require(") || receiver.contains("import(");
        let source = receiver.split(['"', '\'']).nth(1).filter(|_| is_call);
        if source.is_some_and(|source| leads_here(work, sheet, one, source)) {
            return Err(stuck(&sheet.path, &sheet.text, one.bytes.start));
        }
    }
    if sheet.path != work.view.to {
        return Ok(());
    }
    let definitions = &work.view.names.outline(sheet.file).definitions;
    let at_top = match one.defines {
        Some(at) => definitions[at].container.is_none(),
        None => one.scope.is_some() && one.inside.is_none(),
    };
    let is_free = one.binder.is_none() && matches!(one.role, Role::Reference | Role::Shorthand);
    if at_top || is_free {
        let (path, name) = (sheet.path.clone(), work.name.to_owned());
        return Err(MoveError::NameTaken { path, name, line: one.line });
    }
    Ok(())
}

/// Whether an import of `source` leads directly to the old file.
fn leads_here(work: &Move, sheet: &FileOccurrences, one: &Occurrence, source: &str) -> bool {
    let (names, old) = (work.view.names, work.view.names.file(work.view.from));
    if work.language == "rust" {
        let path = from_file(names, sheet, one, source);
        return names.rust_path(sheet.file, &path) == old.map(Meaning::File);
    }
    names.module(sheet.file, source) == old
}

fn change(work: &mut Move, sheet: &FileOccurrences, one: &Occurrence) -> Result<(), MoveError> {
    let (view, at) = (work.view, one.bytes.start);
    let is_old = sheet.path == view.from;
    match &one.role {
        Role::Import { source } if leads_here(work, sheet, one, source) => redirect(work, sheet, one, source),
        Role::ReExport { source } if leads_here(work, sheet, one, source) => hand_on(work, sheet, one, source),
        Role::Import { .. } | Role::ReExport { .. } => Ok(()),
        Role::Listed if is_old => {
            work.listed = true;
            let quoted = one.bytes.start - 1..one.bytes.end + 1;
            let range = out_of_list(&sheet.text, quoted).ok_or_else(|| stuck(&sheet.path, &sheet.text, at))?;
            work.draft(view.from).edits.push(Piece { range, new: String::new() });
            Ok(())
        }
        Role::Reference | Role::Shorthand if is_old => {
            let list = exporting(work, sheet, at);
            match list {
                Some(range) => {
                    work.listed = true;
                    let range = range.ok_or_else(|| stuck(&sheet.path, &sheet.text, at))?;
                    work.draft(view.from).edits.push(Piece { range, new: String::new() });
                }
                None => work.left.push(module_around(work, one)),
            }
            Ok(())
        }
        Role::Reference | Role::Shorthand if one.binder.is_some() || work.language == "go" => Ok(()),
        // The new file gets the name through a star import of the old file.
        Role::Reference | Role::Shorthand if sheet.path == view.to => Ok(()),
        Role::Reference | Role::Shorthand => {
            let line = match work.language {
                "rust" => Some(rust::import(work)),
                "python" => {
                    Some(format!("from {} import {}", place::python_module(view, &sheet.path, view.to), work.name))
                }
                _ => None,
            };
            work.has_users = true;
            work.import(&sheet.path, line.ok_or_else(|| stuck(&sheet.path, &sheet.text, at))?);
            Ok(())
        }
        Role::Member { receiver } => member(work, sheet, one, receiver),
        Role::Definition => Err(stuck(&sheet.path, &sheet.text, at)),
        _ => Ok(()),
    }
}

/// The outermost inline module around an occurrence in the old file.
fn module_around(work: &Move, one: &Occurrence) -> Option<String> {
    let outline = work.view.names.file(work.view.from).map(|file| work.view.names.outline(file))?;
    let around = std::iter::successors(one.inside, |at| outline.definitions[*at].container);
    let outer = around.take(outline.definitions.len()).last().map(|at| &outline.definitions[at]);
    outer.filter(|outer| outer.kind == Kind::Module).map(|outer| outer.name.clone())
}

fn member(work: &mut Move, sheet: &FileOccurrences, one: &Occurrence, receiver: &str) -> Result<(), MoveError> {
    let view = work.view;
    if work.language == "rust" {
        return rust::path(work, sheet, one, receiver);
    }
    let is_entry = matches!(receiver, "exports" | "module.exports") && sheet.path == view.from;
    if work.language == "go" || is_entry && entry(&sheet.text, view.from, work.name, one.bytes.start).is_some() {
        return Ok(());
    }
    // If the namespace belongs to a file that re-exports the name, it stays as it is.
    let mut imports = view.names.outline(sheet.file).imports.iter().filter(|import| import.local == *receiver);
    let old = view.names.file(view.from);
    let hands_on = imports.any(|import| view.names.module_of(sheet.file, import).is_some_and(|file| Some(file) != old));
    if hands_on { Ok(()) } else { Err(stuck(&sheet.path, &sheet.text, one.bytes.start)) }
}

/// The item of a file that contains the byte `at`.
fn item_at(path: &str, text: &str, at: usize) -> Option<Part> {
    parts(path, text)?.items.into_iter().find(|item| item.core.contains(&at))
}

/// The bytes of `exports.NAME = NAME;`, including its line.
fn entry(text: &str, path: &str, name: &str, at: usize) -> Option<Range<usize>> {
    let item = item_at(path, text, at)?;
    let code = text[item.core.clone()].trim_end_matches(';');
    let (left, right) = code.split_once('=')?;
    let left = left.trim().strip_prefix("module.").unwrap_or(left.trim());
    let is_it = left.strip_prefix("exports.") == Some(name) && right.trim() == name;
    is_it.then(|| whole_lines(text, &item.whole()))
}

/// The bytes to remove if the place is in an export list or export assignment. The inner `None`
/// means that they cannot be removed.
fn exporting(work: &Move, sheet: &FileOccurrences, at: usize) -> Option<Option<Range<usize>>> {
    if work.language != "script" {
        return None;
    }
    if let Some(range) = entry(&sheet.text, &sheet.path, work.name, at) {
        return Some(Some(range));
    }
    let item = item_at(&sheet.path, &sheet.text, at)?;
    let code = &sheet.text[item.core.clone()];
    let is_list = ["export {", "export type {", "module.exports = {"].iter().any(|begin| code.starts_with(begin));
    if !is_list {
        return None;
    }
    let name = at..at + work.name.len();
    // `{ NAME as other }` and `{ other: NAME }` give it another name that the new file would not
    // export.
    let is_plain =
        !sheet.text[name.end..].trim_start().starts_with("as ") && !sheet.text[..at].trim_end().ends_with(':');
    Some(if is_plain { out_of_list(&sheet.text, name).map(|range| alone(&sheet.text, &item, range)) } else { None })
}

/// The whole statement if its list has no other elements, else `range`.
fn alone(text: &str, item: &Part, range: Range<usize>) -> Range<usize> {
    let left = format!("{}{}", &text[item.core.start..range.start], &text[range.end..item.core.end]);
    let inside = left.split_once('{').and_then(|(_, rest)| rest.rsplit_once('}')).map_or("", |(inside, _)| inside);
    if inside.trim().is_empty() { whole_lines(text, &item.whole()) } else { range }
}

/// A list element with the comma that belongs to it.
fn out_of_list(text: &str, element: Range<usize>) -> Option<Range<usize>> {
    let after = &text[element.end..];
    let behind = after.trim_start();
    if let Some(rest) = behind.strip_prefix(',') {
        let rest = rest.trim_start_matches([' ', '\t', '\n']);
        // After the last element of a multi-line list, the closing bracket stays on its line.
        if !rest.starts_with([']', '}', ')']) {
            return Some(element.start..text.len() - rest.len());
        }
    }
    let before = text[..element.start].trim_end();
    if let Some(before) = before.strip_suffix(',') {
        // A comma after the last element stays.
        let end = if behind.starts_with(',') { text.len() - behind.len() } else { element.end };
        return Some(before.len()..end);
    }
    let is_only =
        before.ends_with(['[', '{', '(']) && behind.trim_start_matches(',').trim_start().starts_with([']', '}', ')']);
    is_only.then(|| element.start..text.len() - behind.trim_start_matches(',').len())
}

/// The name by which `path` imports the new file, in the style of `source`, which leads to the old
/// file.
fn renamed(work: &Move, path: &str, source: &str) -> Option<String> {
    let view = work.view;
    match work.language {
        "script" => script::redirected(path, source, view),
        "python" => {
            let target = paths::without_extension(view.to);
            let relative = source.starts_with('.').then(|| python::relative(view, paths::folder(path), target));
            Some(relative.flatten().unwrap_or_else(|| python::absolute(view, source, view.to)))
        }
        "rust" => Some(Module::of(view.to)?.path()),
        _ => None,
    }
}

/// Redirects an import to the new file.
fn redirect(work: &mut Move, sheet: &FileOccurrences, one: &Occurrence, source: &str) -> Result<(), MoveError> {
    let (view, at, text) = (work.view, one.bytes.start, sheet.text.as_str());
    let no = || stuck(&sheet.path, text, at);
    if work.language == "rust" && rust::is_another_crate(view, &sheet.path) {
        return Err(no());
    }
    let all = statement::all(&sheet.path, text);
    let (statement, name) = all.iter().find_map(|s| s.name_at(at).map(|name| (s, name))).ok_or_else(no)?;
    if sheet.path == view.to {
        if statement.names[name].local != work.name {
            return Err(no());
        }
        let edits = statement.without(&sheet.path, text, &[name])?;
        work.draft(view.to).edits.extend(edits);
        return Ok(());
    }
    work.has_users = true;
    let new = renamed(work, &sheet.path, source).ok_or_else(no)?;
    let is_alone = statement.names.len() == 1 && !imports_new(work, sheet, &all);
    let edits = match &statement.source {
        Some(source) if is_alone => vec![Piece { range: source.clone(), new }],
        _ => {
            let line = statement.line(&sheet.path, text, name, &new);
            if is_alone {
                vec![Piece { range: statement.bytes.clone(), new: line }]
            } else {
                let mut edits = statement.without(&sheet.path, text, &[name])?;
                if statement.is_plain {
                    work.import(&sheet.path, line);
                } else {
                    let begin = statement.bytes.start;
                    let indent = &text[line_start(text, begin)..begin];
                    edits.push(Piece { range: begin..begin, new: format!("{line}\n{indent}") });
                }
                edits
            }
        }
    };
    work.draft(&sheet.path).edits.extend(edits);
    Ok(())
}

/// Whether a statement in a file already leads to the new file, so another name can join it.
fn imports_new(work: &Move, sheet: &FileOccurrences, all: &[Statement]) -> bool {
    let (names, new) = (work.view.names, work.view.names.file(work.view.to));
    let leads = |source: &str| names.module(sheet.file, source) == new;
    work.language != "rust" && all.iter().any(|s| s.names.iter().any(|one| one.open && leads(&one.source)))
}

/// Redirects `export { NAME } from './old'` to the new file.
fn hand_on(work: &mut Move, sheet: &FileOccurrences, one: &Occurrence, source: &str) -> Result<(), MoveError> {
    let (view, at, text) = (work.view, one.bytes.start, sheet.text.as_str());
    let no = || stuck(&sheet.path, text, at);
    let sites = import_sites(sheet.language, text).unwrap_or_default();
    let site = sites.iter().find(|site| site.statement.contains(&at)).ok_or_else(no)?;
    let open = text[..at].rfind('{').ok_or_else(no)?;
    let close = text[at..].find('}').map(|end| at + end).ok_or_else(no)?;
    let spec = at..text[at..close].find(',').map_or(close, |end| at + end);
    let spec = spec.start..spec.start + text[spec.clone()].trim_end().len();
    let is_alone = text[open + 1..close].split(',').filter(|one| !one.trim().is_empty()).count() == 1;
    if sheet.path == view.to {
        if text[spec.clone()] != *work.name {
            return Err(no());
        }
        let whole = whole_lines(text, &site.statement);
        let range = if is_alone { Some(whole) } else { out_of_list(text, spec) };
        work.draft(view.to).edits.push(Piece { range: range.ok_or_else(no)?, new: String::new() });
        work.has_users = true;
        return Ok(());
    }
    work.has_users = true;
    let new = renamed(work, &sheet.path, source).ok_or_else(no)?;
    if is_alone {
        work.draft(&sheet.path).edits.push(Piece { range: site.source_bytes.clone(), new });
        return Ok(());
    }
    let (head, tail) = (&text[site.statement.start..open], &text[close + 1..site.source_bytes.start]);
    let end = &text[site.source_bytes.end..site.statement.end];
    let line = format!("{head}{{ {} }}{tail}{new}{end}\n", &text[spec.clone()]);
    let gone = out_of_list(text, spec).ok_or_else(no)?;
    let begin = site.statement.start..site.statement.start;
    let edits = [Piece { range: begin, new: line }, Piece { range: gone, new: String::new() }];
    work.draft(&sheet.path).edits.extend(edits);
    Ok(())
}

/// Adds `export { NAME } from './new'` after every `export * from './old'`, so that the name is
/// still re-exported.
fn stars(work: &mut Move) -> Result<(), MoveError> {
    let (view, old) = (work.view, work.view.names.file(work.view.from));
    if work.language != "script" || old.is_none_or(|old| view.names.exported(old, work.name).is_none()) {
        return Ok(());
    }
    for (path, text) in view.texts {
        let Some(file) = view.names.file(path).filter(|_| path != view.to) else { continue };
        let exports = view.names.outline(file).exports.iter().filter(|export| export.name == "*");
        let sources: Vec<&str> = exports.filter_map(|export| export.source.as_deref()).collect();
        let leads = |source: &str, to: &str| view.names.module(file, source) == view.names.file(to);
        let Some(source) = sources.iter().find(|source| leads(source, view.from)) else { continue };
        work.has_users = true;
        if sources.iter().any(|source| leads(source, view.to)) {
            continue;
        }
        let sites = import_sites(language_of(path), text).unwrap_or_default();
        let site =
            sites.iter().find(|site| site.source == *source && text[site.statement.clone()].starts_with("export *"));
        let (Some(site), Some(new)) = (site, renamed(work, path, source)) else {
            return Err(MoveError::Stuck { path: path.clone(), line: 1, text: format!("export * from '{source}'") });
        };
        let quote = &text[site.source_bytes.start - 1..site.source_bytes.start];
        let end = &text[site.source_bytes.end + 1..site.statement.end];
        let word = if is_type(work) { "export type" } else { "export" };
        let line = format!("\n{word} {{ {} }} from {quote}{new}{quote}{end}", work.name);
        let at = site.statement.end..site.statement.end;
        work.draft(path).edits.push(Piece { range: at, new: line });
    }
    Ok(())
}

/// Whether the definition is only a type.
fn is_type(work: &Move) -> bool {
    let kinds = work.wanted.iter().map(|symbol| work.view.names.definition(*symbol).kind);
    kinds.into_iter().all(|kind| matches!(kind, Kind::Interface | Kind::Type))
}
