//! Plans the edits for a moved Rust module: its `mod` declaration, paths that lead to it, and `super` inside it.

use std::ops::Range;

use super::{Edits, MoveError, View, hidden, line_end, paths, stuck, whole_lines};
use crate::index::{Meaning, Occurrence, Role, language_of, names as places};
use crate::rename::{FileOccurrences, from_file};
use crate::text::{Piece, line_start};

/// A module of a crate, derived from the path of its file.
pub(super) struct Module {
    /// The source folder of the crate: `src`, `crates/a/src`.
    pub sources: String,
    /// Names of the modules from the crate root down to this one.
    pub parts: Vec<String>,
}

impl Module {
    /// `None` for a crate root and for files outside `src`.
    pub fn of(path: &str) -> Option<Module> {
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

    pub fn path(&self) -> String {
        format!("crate::{}", self.parts.join("::"))
    }

    pub fn name(&self) -> &str {
        self.parts.last().map_or("", String::as_str)
    }

    pub fn parent(&self) -> &[String] {
        &self.parts[..self.parts.len().saturating_sub(1)]
    }

    /// Files that could be the parent module.
    pub fn parent_files(&self) -> Vec<String> {
        let folder = paths::join(&self.sources, &self.parent().join("/"));
        if self.parent().is_empty() {
            vec![paths::join(&self.sources, "lib.rs"), paths::join(&self.sources, "main.rs")]
        } else {
            vec![format!("{folder}.rs"), paths::join(&folder, "mod.rs")]
        }
    }
}

pub fn move_file(view: &View, edits: &mut Edits) -> Result<(), MoveError> {
    let not_done = |what: &str| {
        let way_out = "the crate root and files outside `src` have no path in the crate; move the file by hand";
        MoveError::NotDone { what: what.to_owned(), way_out }
    };
    let old = Module::of(view.from).ok_or_else(|| not_done(view.from))?;
    let new = Module::of(view.to).filter(|new| new.sources == old.sources).ok_or_else(|| not_done(view.to))?;
    let declared = declaration(view, &old)?;
    check_file_paths(view, &declared)?;
    if new.parts == old.parts {
        return Ok(());
    }
    has_no_children(view)?;
    let no_parent = || MoveError::NoParent { to: view.to.to_owned(), wanted: new.parent_files().swap_remove(0) };
    // If both `lib.rs` and `main.rs` exist, the one that declares the module keeps it.
    let parents = new.parent_files();
    let parent = parents.iter().find(|path| **path == declared.path).or_else(|| parents.iter().find(|p| view.has(p)));
    let parent = parent.ok_or_else(no_parent)?;
    let same_parent = *parent == declared.path;
    if !same_parent {
        check_seen(view, &declared, &old, &new)?;
        check_sees(view, &old, &new)?;
    }
    if same_parent {
        edits.put(&declared.path, declared.name.clone(), new.name().to_owned());
    } else {
        edits.put(&declared.path, whole_lines(view.text(&declared.path), &declared.statement), String::new());
        let Piece { range, new: line } = declare(view, parent, &declared, new.name());
        edits.put(parent, range, line);
        own_supers(view, (&old, &new), edits)?;
    }
    for (path, text) in view.texts {
        let Some(Ok((all, _))) = places("rust", text, old.name()) else { continue };
        let another_crate = !path.starts_with(&format!("{}/", old.sources))
            || path.starts_with(&format!("{}/bin/", old.sources))
            || path.ends_with("/main.rs") && declared.path != *path;
        let Some(file) = view.names.file(path) else { continue };
        let sheet =
            FileOccurrences { file, path: path.clone(), language: language_of(path), text: text.clone(), places: all };
        for place in 0..sheet.places.len() {
            use_of(view, &sheet, place, &ModuleMove { old: &old, new: &new, same_parent, another_crate }, edits)?;
        }
    }
    Ok(())
}

/// Fails if the module declares modules in other files.
fn has_no_children(view: &View) -> Result<(), MoveError> {
    let outline = view.names.file(view.from).map(|file| view.names.outline(file));
    let mut imports = outline.into_iter().flat_map(|o| &o.imports);
    match imports.find(|i| i.name == "*" && i.local != "*" && i.source == format!("self::{}", i.local)) {
        Some(child) => Err(MoveError::HasChildren { path: view.from.to_owned(), child: child.local.clone() }),
        None => Ok(()),
    }
}

/// The declaration `pub mod name;` in the parent.
pub(super) struct Declared {
    pub path: String,
    pub statement: Range<usize>,
    pub name: Range<usize>,
    /// Attributes and visibility, up to `mod`.
    pub head: String,
}

impl Declared {
    pub fn is_private(&self) -> bool {
        self.head.lines().last().is_none_or(|line| !line.trim_start().starts_with("pub"))
    }
}

/// Finds the declaration of a module in its parent; fails if there is none.
pub(super) fn declaration(view: &View, old: &Module) -> Result<Declared, MoveError> {
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
        let mut start = line_start(text, word);
        // Attributes and comments above it belong to it.
        while let Some(above) = text[..start].strip_suffix('\n').map(|text| line_start(text, text.len())) {
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

/// The declaration for the new parent, placed after its other modules.
pub(super) fn declare(view: &View, parent: &str, declared: &Declared, name: &str) -> Piece {
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
    // A private module was only visible to its parent; its users now need `pub(crate)`.
    let visibility = if declared.is_private() { "pub(crate) " } else { "" };
    let end = line_end(text);
    let before = if text[..at].ends_with('\n') || at == 0 { "" } else { end };
    let after = if modules.is_none() && at < text.len() { end } else { "" };
    Piece { range: at..at, new: format!("{before}{}{visibility}mod {name};{end}{after}", declared.head) }
}

/// Replaces `super` in the moved file with the path of the old parent, wherever it refers to that
/// parent.
fn own_supers(view: &View, (old, new): (&Module, &Module), edits: &mut Edits) -> Result<(), MoveError> {
    let text = view.text(view.from);
    let Some(file) = view.names.file(view.from) else { return Ok(()) };
    let Some(Ok((all, _))) = places("rust", text, "super") else { return Ok(()) };
    let places: Vec<Occurrence> = all.into_iter().filter(|o| !matches!(o.role, Role::String | Role::Comment)).collect();
    let sheet = FileOccurrences { file, path: view.from.to_owned(), language: "rust", text: text.to_owned(), places };
    let mut done = 0;
    for place in
        sheet.places.iter().filter(|o| text[o.bytes.end..].starts_with("::") || !text[..o.bytes.start].ends_with("::"))
    {
        // `super::super` was handled at its first `super`.
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
            // Private items are visible only in their own module and its descendants.
            if !new.parts.starts_with(parts) {
                return Err(hidden(view.from, text, place.bytes.start));
            }
            let path = std::iter::once("crate").chain(parts.iter().map(String::as_str)).collect::<Vec<_>>();
            edits.put(view.from, place.bytes.start..end, path.join("::"));
        }
    }
    Ok(())
}

/// Facts about the move needed to rewrite one use of the module.
struct ModuleMove<'a> {
    old: &'a Module,
    new: &'a Module,
    /// Whether the new parent is the same as the old one.
    same_parent: bool,
    /// Whether the use is in another crate, where `crate` refers to another root.
    another_crate: bool,
}

/// Rewrites one occurrence of the old module's name if it refers to the module.
fn use_of(
    view: &View,
    sheet: &FileOccurrences,
    at: usize,
    the_move: &ModuleMove,
    edits: &mut Edits,
) -> Result<(), MoveError> {
    let ModuleMove { old, new, same_parent, another_crate } = *the_move;
    let place = &sheet.places[at];
    let before = match &place.role {
        Role::Import { source } | Role::Member { receiver: source } => source.as_str(),
        Role::Reference => "",
        Role::Unclear if is_path(&sheet.text, place) => return Err(stuck(&sheet.path, &sheet.text, place.bytes.start)),
        _ => return Ok(()),
    };
    let is_meant = means_module(view, sheet, place, before, old);
    if is_meant == Some(false) {
        return Ok(());
    }
    if is_meant.is_none() || another_crate && !same_parent {
        return Err(stuck(&sheet.path, &sheet.text, place.bytes.start));
    }
    let renamed = place.binder.is_some_and(|binder| matches!(sheet.places[binder].role, Role::Import { .. }));
    let import = matches!(place.role, Role::Import { .. });
    if same_parent || (renamed && !import) {
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

/// Whether a path begins inside the braces of a `use` list, where it cannot start at the crate
/// root.
fn in_list(sheet: &FileOccurrences, start: usize) -> bool {
    let begun = sheet.text[..start].rfind(';').map_or(0, |at| at + 1);
    let statement = sheet.text[begun..start].trim_start();
    let word = statement.lines().map(str::trim_start).rfind(|line| line.contains("use "));
    let used = word.is_some_and(|line| line.starts_with("use ") || line.starts_with("pub"));
    used && statement.contains("::{")
}

fn is_path(text: &str, place: &Occurrence) -> bool {
    text[place.bytes.end..].starts_with("::") || text[..place.bytes.start].ends_with("::")
}

/// Whether an occurrence refers to the moved module; `before` is the path in front of it. `None` if
/// that is unknown.
fn means_module(view: &View, sheet: &FileOccurrences, place: &Occurrence, before: &str, old: &Module) -> Option<bool> {
    let path = if before.is_empty() { old.name().to_owned() } else { format!("{before}::{}", old.name()) };
    // A reference to a module is always followed by `::`.
    let goes_on = sheet.text[place.bytes.end..].starts_with("::");
    if place.role == Role::Reference {
        let local = place.binder.is_some_and(|b| matches!(sheet.places[b].role, Role::Local { .. } | Role::Alias));
        if !goes_on || local {
            return Some(false);
        }
    }
    // An unresolved path inside this crate may come from a macro or a star import.
    let may_be = goes_on && place.binder.is_none() && matches!(before, "" | "crate" | "self" | "super");
    match view.names.rust_path(sheet.file, &from_file(view.names, sheet, place, &path)) {
        None if may_be => None,
        found => Some(found.is_some() && found == view.names.file(view.from).map(Meaning::File)),
    }
}

fn refuse(path: &str, text: &str, words: &[&str]) -> Result<(), MoveError> {
    let found = words.iter().find_map(|word| text.find(word));
    found.map_or(Ok(()), |at| Err(stuck(path, text, at)))
}

/// Fails if code names files by path, since the paths would lead elsewhere from another folder.
fn check_file_paths(view: &View, declared: &Declared) -> Result<(), MoveError> {
    if view.changes_folder() {
        refuse(view.from, view.text(view.from), &["include!(", "include_str!(", "include_bytes!(", "#[path"])?;
    }
    if declared.head.contains("#[path") {
        return Err(stuck(&declared.path, view.text(&declared.path), declared.name.start));
    }
    Ok(())
}

/// Fails if the moved file has code with a different meaning under another parent, or names items
/// that are not visible from the new location.
fn check_sees(view: &View, old: &Module, new: &Module) -> Result<(), MoveError> {
    let text = view.text(view.from);
    refuse(view.from, text, &["pub(super)", "pub(in "])?;
    let left = (1..old.parts.len()).find(|depth| !new.parts.starts_with(&old.parts[..*depth]));
    let Some(depth) = left else { return Ok(()) };
    let private = format!("crate::{}", old.parts[..depth].join("::"));
    match text.find(&format!("{private}::")) {
        Some(at) => Err(hidden(view.from, text, at)),
        None => Ok(()),
    }
}

/// Fails if the new place is not visible from everywhere that the old one was.
fn check_seen(view: &View, declared: &Declared, old: &Module, new: &Module) -> Result<(), MoveError> {
    let text = view.text(&declared.path);
    // Macros are visible only after their definition, so the position of the declaration matters.
    refuse(&declared.path, text, &["macro_rules!", "macro_use"])?;
    if ["pub(super", "pub(in"].iter().any(|word| declared.head.contains(word)) {
        return Err(stuck(&declared.path, text, declared.name.start));
    }
    for depth in 2..new.parts.len() {
        let above = Module { sources: new.sources.clone(), parts: new.parts[..depth].to_vec() };
        let ancestor = declaration(view, &above)?;
        let within = declared.is_private() && old.parent().starts_with(above.parent());
        if ancestor.is_private() && !within {
            return Err(hidden(&ancestor.path, view.text(&ancestor.path), ancestor.name.start));
        }
    }
    Ok(())
}
