//! Moves a module of Rust: its `mod` declaration, the paths that lead to it, and the `super` inside it.

use std::ops::Range;

use super::{Edits, MoveError, View, hidden, line_end, paths, stuck};
use crate::edit::rename::{Sheet, from_file};
use crate::index::{Meaning, Occurrence, Role, language_of, names as places};

/// A module by its file: the crate's folder of sources, and the names from the crate's root.
struct Module {
    sources: String,
    parts: Vec<String>,
}

impl Module {
    fn of(path: &str) -> Option<Module> {
        let bare = path.strip_suffix(".rs")?;
        let (sources, inside) = match bare.rfind("/src/") {
            Some(at) => (&bare[..at + 4], &bare[at + 5..]),
            None => ("src", bare.strip_prefix("src/")?),
        };
        let inside = inside.strip_suffix("/mod").unwrap_or(inside);
        let root = matches!(inside, "lib" | "main" | "mod") || inside.starts_with("bin/");
        let parts: Vec<String> = inside.split('/').map(str::to_owned).collect();
        (!root).then(|| Module { sources: sources.to_owned(), parts })
    }

    fn path(&self) -> String {
        format!("crate::{}", self.parts.join("::"))
    }

    fn name(&self) -> &str {
        self.parts.last().map_or("", String::as_str)
    }

    fn parent(&self) -> &[String] {
        &self.parts[..self.parts.len().saturating_sub(1)]
    }

    /// Files that may be the parent module.
    fn parent_files(&self) -> Vec<String> {
        let folder = paths::join(&self.sources, &self.parent().join("/"));
        match self.parent().is_empty() {
            true => vec![paths::join(&self.sources, "lib.rs"), paths::join(&self.sources, "main.rs")],
            false => vec![format!("{folder}.rs"), paths::join(&folder, "mod.rs")],
        }
    }
}

pub fn move_file(view: &View, edits: &mut Edits) -> Result<(), MoveError> {
    let not_done = |what: &str| {
        let way_out = "a crate's root and what stands outside `src` have no path in the crate; move it by hand";
        MoveError::NotDone { what: what.to_owned(), way_out }
    };
    let old = Module::of(view.from).ok_or_else(|| not_done(view.from))?;
    let new = Module::of(view.to).filter(|new| new.sources == old.sources).ok_or_else(|| not_done(view.to))?;
    let declared = declaration(view, &old)?;
    stays_right(view, &declared)?;
    if new.parts == old.parts {
        return Ok(());
    }
    has_no_children(view)?;
    let no_parent = || MoveError::NoParent { to: view.to.to_owned(), wanted: new.parent_files().swap_remove(0) };
    // Of `lib.rs` and `main.rs` the one that has the module keeps it.
    let parents = new.parent_files();
    let parent = parents.iter().find(|path| **path == declared.path).or_else(|| parents.iter().find(|p| view.has(p)));
    let parent = parent.ok_or_else(no_parent)?;
    let beside = *parent == declared.path;
    if !beside {
        is_seen(view, &declared, &old, &new)?;
        sees(view, &old, &new)?;
    }
    if beside {
        edits.put(&declared.path, declared.name.clone(), new.name().to_owned());
    } else {
        edits.put(&declared.path, whole_lines(view.text(&declared.path), &declared.statement), String::new());
        declare(view, parent, &declared, new.name(), edits);
        own_supers(view, (&old, &new), edits)?;
    }
    for (path, text) in view.texts {
        let Some(Ok((all, _))) = places("rust", text, old.name()) else { continue };
        let another_crate = !path.starts_with(&format!("{}/", old.sources))
            || path.starts_with(&format!("{}/bin/", old.sources))
            || path.ends_with("/main.rs") && declared.path != *path;
        let Some(file) = view.names.file(path) else { continue };
        let sheet = Sheet { file, path: path.clone(), language: language_of(path), text: text.clone(), places: all };
        for place in 0..sheet.places.len() {
            use_of(view, &sheet, place, &Way { old: &old, new: &new, beside, another_crate }, edits)?;
        }
    }
    Ok(())
}

fn has_no_children(view: &View) -> Result<(), MoveError> {
    let outline = view.names.file(view.from).map(|file| view.names.outline(file));
    let mut imports = outline.into_iter().flat_map(|o| &o.imports);
    match imports.find(|i| i.name == "*" && i.local != "*" && i.source == format!("self::{}", i.local)) {
        Some(child) => Err(MoveError::HasChildren { path: view.from.to_owned(), child: child.local.clone() }),
        None => Ok(()),
    }
}

/// `pub mod name;` in the parent.
struct Declared {
    path: String,
    statement: Range<usize>,
    name: Range<usize>,
    /// Attributes and visibility, up to `mod`.
    head: String,
}

impl Declared {
    fn is_private(&self) -> bool {
        self.head.lines().last().is_none_or(|line| !line.trim_start().starts_with("pub"))
    }
}

fn declaration(view: &View, old: &Module) -> Result<Declared, MoveError> {
    for path in old.parent_files() {
        let text = view.text(&path);
        let Some(Ok((all, _))) = places("rust", text, old.name()) else { continue };
        let declares = |o: &&Occurrence| {
            let after = text[o.bytes.end..].trim_start().starts_with(';');
            o.role == Role::Definition && after && text[..o.bytes.start].trim_end().ends_with("mod")
        };
        let Some(place) = all.iter().find(declares) else { continue };
        let end = text[place.bytes.end..].find(';').map_or(text.len(), |at| place.bytes.end + at + 1);
        let word = text[..place.bytes.start].rfind("mod").unwrap_or(place.bytes.start);
        let mut start = text[..word].rfind('\n').map_or(0, |at| at + 1);
        // Attributes and comments above belong to it.
        while let Some(above) = text[..start].strip_suffix('\n').map(|t| t.rfind('\n').map_or(0, |at| at + 1)) {
            let line = text[above..start].trim();
            if !line.starts_with("#[") && !line.starts_with("///") {
                break;
            }
            start = above;
        }
        let head = text[start..word].to_owned();
        return Ok(Declared { path, statement: start..end, name: place.bytes.clone(), head });
    }
    let text = format!("mod {};", old.name());
    Err(MoveError::Stuck { path: old.parent_files().swap_remove(0), line: 1, text })
}

/// Adds the declaration to the new parent, behind its other modules.
fn declare(view: &View, parent: &str, declared: &Declared, name: &str, edits: &mut Edits) {
    let text = view.text(parent);
    let is_module = |line: &str| {
        let line = line.trim_start();
        let rest = line.strip_prefix("pub").map_or(line, |rest| rest.trim_start_matches(|c| c != ' ').trim_start());
        rest.starts_with("mod ") && line.trim_end().ends_with(';') && !line.starts_with("//")
    };
    let (mut at, mut modules, mut begun) = (0, None, None);
    for line in text.split_inclusive('\n') {
        let head = line.trim().is_empty() || line.starts_with("//!") || line.starts_with("#![");
        if is_module(line) {
            modules = Some(at + line.len());
        }
        if !head && begun.is_none() {
            begun = Some(at);
        }
        at += line.len();
    }
    let at = modules.or(begun).unwrap_or(text.len());
    // A module that only its parent saw has to be seen from where it was used.
    let visibility = if declared.is_private() { "pub(crate) " } else { "" };
    let end = line_end(text);
    let before = if text[..at].ends_with('\n') || at == 0 { "" } else { end };
    let after = if modules.is_none() && at < text.len() { end } else { "" };
    edits.put(parent, at..at, format!("{before}{}{visibility}mod {name};{end}{after}", declared.head));
}

/// `super` at the top of the moved file meant the old parent.
fn own_supers(view: &View, (old, new): (&Module, &Module), edits: &mut Edits) -> Result<(), MoveError> {
    let text = view.text(view.from);
    let Some(file) = view.names.file(view.from) else { return Ok(()) };
    let Some(Ok((all, _))) = places("rust", text, "super") else { return Ok(()) };
    let places: Vec<Occurrence> = all.into_iter().filter(|o| !matches!(o.role, Role::String | Role::Comment)).collect();
    let sheet = Sheet { file, path: view.from.to_owned(), language: "rust", text: text.to_owned(), places };
    let mut done = 0;
    for place in
        sheet.places.iter().filter(|o| text[o.bytes.end..].starts_with("::") || !text[..o.bytes.start].ends_with("::"))
    {
        // `super::super` is read at its first word.
        if place.bytes.start < done {
            continue;
        }
        let mut end = place.bytes.end;
        while text[end..].starts_with("::super") {
            end += "::super".len();
        }
        done = end;
        let chain = &text[place.bytes.start..end];
        let outside = from_file(view.names, &sheet, place, chain);
        let ups = outside.matches("super").count();
        if ups > 0 {
            let parts = &old.parts[..old.parts.len().saturating_sub(ups)];
            // What is private there is seen only from modules below.
            if !new.parts.starts_with(parts) {
                return Err(hidden(view.from, text, place.bytes.start));
            }
            let path = std::iter::once("crate").chain(parts.iter().map(String::as_str)).collect::<Vec<_>>();
            edits.put(view.from, place.bytes.start..end, path.join("::"));
        }
    }
    Ok(())
}

/// What a use of the module has to know of its move.
struct Way<'a> {
    old: &'a Module,
    new: &'a Module,
    /// The parent stays the same.
    beside: bool,
    /// The use stands in another crate, where `crate` means another root.
    another_crate: bool,
}

/// One place of the old module's name.
fn use_of(view: &View, sheet: &Sheet, at: usize, way: &Way, edits: &mut Edits) -> Result<(), MoveError> {
    let Way { old, new, beside, another_crate } = *way;
    let place = &sheet.places[at];
    let before = match &place.role {
        Role::Import { source } | Role::Member { receiver: source } => source.as_str(),
        Role::Reference => "",
        Role::Unclear if is_path(&sheet.text, place) => return Err(stuck(&sheet.path, &sheet.text, place.bytes.start)),
        _ => return Ok(()),
    };
    match meaning(view, sheet, place, before, old) {
        Means::Module => {}
        Means::Other => return Ok(()),
        Means::Unknown => return Err(stuck(&sheet.path, &sheet.text, place.bytes.start)),
    }
    if another_crate && !beside {
        return Err(stuck(&sheet.path, &sheet.text, place.bytes.start));
    }
    let renamed = place.binder.is_some_and(|binder| matches!(sheet.places[binder].role, Role::Import { .. }));
    let import = matches!(place.role, Role::Import { .. });
    if beside || (renamed && !import) {
        edits.put(&sheet.path, place.bytes.clone(), new.name().to_owned());
        return Ok(());
    }
    let start = match before {
        "" => Some(place.bytes.start),
        before => place.bytes.start.checked_sub(before.len() + 2),
    };
    let written = format!("{before}{}{}", if before.is_empty() { "" } else { "::" }, old.name());
    let whole = start.filter(|start| sheet.text[*start..].starts_with(&written) && !in_list(sheet, *start));
    match whole {
        Some(start) => {
            edits.put(&sheet.path, start..place.bytes.end, new.path());
            Ok(())
        }
        None => Err(stuck(&sheet.path, &sheet.text, place.bytes.start)),
    }
}

/// Whether a path begins behind the brace of a `use` list, where no path from the crate's root can stand.
fn in_list(sheet: &Sheet, start: usize) -> bool {
    let begun = sheet.text[..start].rfind(';').map_or(0, |at| at + 1);
    let statement = sheet.text[begun..start].trim_start();
    let word = statement.lines().map(str::trim_start).rfind(|line| line.contains("use "));
    let used = word.is_some_and(|line| line.starts_with("use ") || line.starts_with("pub"));
    used && statement.contains("::{")
}

fn is_path(text: &str, place: &Occurrence) -> bool {
    text[place.bytes.end..].starts_with("::") || text[..place.bytes.start].ends_with("::")
}

enum Means {
    Module,
    Other,
    Unknown,
}

fn meaning(view: &View, sheet: &Sheet, place: &Occurrence, before: &str, old: &Module) -> Means {
    let path = if before.is_empty() { old.name().to_owned() } else { format!("{before}::{}", old.name()) };
    // Only a path goes on behind the name of a module.
    let goes_on = sheet.text[place.bytes.end..].starts_with("::");
    if place.role == Role::Reference {
        let local = place.binder.is_some_and(|b| matches!(sheet.places[b].role, Role::Local { .. } | Role::Alias));
        if !goes_on || local {
            return Means::Other;
        }
    }
    let target = view.names.file(view.from).map(Meaning::File);
    match view.names.rust_path(sheet.file, &from_file(view.names, sheet, place, &path)) {
        Some(found) if Some(found) == target => Means::Module,
        // A path inside this crate that leads nowhere may come from a macro or a star.
        None if goes_on && place.binder.is_none() && matches!(before, "" | "crate" | "self" | "super") => {
            Means::Unknown
        }
        _ => Means::Other,
    }
}

fn without(path: &str, text: &str, words: &[&str]) -> Result<(), MoveError> {
    let found = words.iter().find_map(|word| text.find(word));
    found.map_or(Ok(()), |at| Err(stuck(path, text, at)))
}

/// Refuses paths of files: they mean something else in another folder.
fn stays_right(view: &View, declared: &Declared) -> Result<(), MoveError> {
    if view.changes_folder() {
        without(view.from, view.text(view.from), &["include!(", "include_str!(", "include_bytes!(", "#[path"])?;
    }
    match declared.head.contains("#[path") {
        true => Err(stuck(&declared.path, view.text(&declared.path), declared.name.start)),
        false => Ok(()),
    }
}

/// Refuses what means something else below another module, and what the new place may not see.
fn sees(view: &View, old: &Module, new: &Module) -> Result<(), MoveError> {
    let text = view.text(view.from);
    without(view.from, text, &["pub(super)", "pub(in "])?;
    let left = (1..old.parts.len()).find(|depth| !new.parts.starts_with(&old.parts[..*depth]));
    let Some(depth) = left else { return Ok(()) };
    let private = format!("crate::{}", old.parts[..depth].join("::"));
    match text.find(&format!("{private}::")) {
        Some(at) => Err(hidden(view.from, text, at)),
        None => Ok(()),
    }
}

/// Every module above the new place has to be seen from where the old one was.
fn is_seen(view: &View, declared: &Declared, old: &Module, new: &Module) -> Result<(), MoveError> {
    let text = view.text(&declared.path);
    // Macros of the old parent are seen from where they stand on.
    without(&declared.path, text, &["macro_rules!", "macro_use"])?;
    if ["pub(super", "pub(in"].iter().any(|word| declared.head.contains(word)) {
        return Err(stuck(&declared.path, text, declared.name.start));
    }
    for depth in 2..new.parts.len() {
        let above = Module { sources: new.sources.clone(), parts: new.parts[..depth].to_vec() };
        let gate = declaration(view, &above)?;
        let within = declared.is_private() && old.parent().starts_with(above.parent());
        if gate.is_private() && !within {
            return Err(hidden(&gate.path, view.text(&gate.path), gate.name.start));
        }
    }
    Ok(())
}

/// The whole lines of a statement, with the line end, if nothing else stands on them; of two empty lines around them one goes too.
fn whole_lines(text: &str, statement: &Range<usize>) -> Range<usize> {
    let start = text[..statement.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[statement.end..].find('\n').map_or(text.len(), |at| statement.end + at + 1);
    let alone = text[start..statement.start].trim().is_empty() && text[statement.end..end].trim().is_empty();
    let between = text[..start].ends_with("\n\n") && text[end..].starts_with('\n');
    let end = if between { end + 1 } else { end };
    if alone { start..end } else { statement.clone() }
}
