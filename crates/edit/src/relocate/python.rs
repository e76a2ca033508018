//! Plans the edits for a moved Python module: absolute and relative imports, imports from its
//! package, and dotted uses.

use std::ops::Range;

use super::{Edits, MoveError, View, doubt_folder, paths, stuck};
use crate::index::parts::Imported;
use crate::index::{ImportForm, ImportSite, Meaning, Role, import_sites, names as places};
use crate::text::indent_at;

/// Plans the edits and returns the `__init__.py` files to be created.
pub fn move_file(view: &View, edits: &mut Edits) -> Result<Vec<String>, MoveError> {
    if [view.from, view.to].iter().any(|path| paths::stem(path) == "__init__") {
        let way_out = "a package is its folder; move its modules one by one";
        return Err(MoveError::NotDone { what: "an `__init__.py`".to_owned(), way_out });
    }
    let is_name = |part: &str| {
        !part.starts_with(|c: char| c.is_numeric()) && part.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    let imported = view.texts.iter().any(|(path, text)| path != view.from && text.contains(paths::stem(view.from)));
    if imported && !is_name(paths::stem(view.to)) {
        let way_out = "its name cannot be imported; use letters, digits and `_`, and do not begin with a digit";
        return Err(MoveError::NotDone { what: format!("{} to {}", view.from, view.to), way_out });
    }
    check_name(view)?;
    doubt_folder(view, &["__file__", "__package__", "importlib"], edits);
    for (path, text) in view.texts {
        through_package(view, path, text)?;
        let Some(file) = view.names.file(path) else { continue };
        for import in import_sites("python", text).unwrap_or_default() {
            let leads = view.names.module(file, &import.source).map(|module| view.names.path(module));
            let (leads_here, form) = (leads == Some(view.from), import.form);
            if leads_here && form == ImportForm::Module {
                rewrite_module_import(view, path, text, &import, edits)?;
            } else if leads_here {
                edits.put(path, import.source_bytes.clone(), import_name(view, path, &import.source, view.to));
            } else if form == ImportForm::From
                && !rewrite_submodule_import(view, (path, text, file), &import, edits)
                && path == view.from
            {
                rewrite_own_import(view, &import, edits);
            }
        }
    }
    Ok(missing_inits(view))
}

/// Fails if the new name is taken: a module and a package of the same name hide each other, as do a
/// module and a name in its package.
fn check_name(view: &View) -> Result<(), MoveError> {
    let package = format!("{}/__init__.py", paths::without_extension(view.to));
    let module = format!("{}.py", paths::folder(view.to));
    let taken = [package, module].into_iter().find(|path| view.has(path) && path != view.from);
    if let Some(path) = taken {
        return Err(MoveError::Exists { path });
    }
    let path = paths::join(paths::folder(view.to), "__init__.py");
    let (name, moved) = (paths::stem(view.to), view.names.file(view.from));
    let Some(file) = view.names.file(&path) else { return Ok(()) };
    let outline = view.names.outline(file);
    let defined = outline.definitions.iter().any(|d| d.name == name && d.container.is_none());
    let mut brought = outline.imports.iter().filter(|i| i.local == name);
    if defined || brought.any(|import| moved.is_none() || view.names.module_of(file, import) != moved) {
        return Err(MoveError::Taken { path, name: name.to_owned() });
    }
    Ok(())
}

/// Fails if the module is used as an attribute of its package without being imported: `shop.cart`
/// after `import shop`.
fn through_package(view: &View, path: &str, text: &str) -> Result<(), MoveError> {
    let Some(package) = view.names.file(&paths::join(paths::folder(view.from), "__init__.py")) else { return Ok(()) };
    let Some(file) = view.names.file(path) else { return Ok(()) };
    let Some(Ok((all, _))) = places("python", text, paths::stem(view.from)) else { return Ok(()) };
    let outline = view.names.outline(file);
    let own = dotted(view.from, root_of(view, paths::folder(view.from)));
    let named = import_sites("python", text).unwrap_or_default().into_iter();
    let mut named =
        named.filter(|site| site.form == ImportForm::Module && site.names.iter().all(|n| n.local.is_empty()));
    if named.any(|site| site.source == own) {
        return Ok(());
    }
    for place in &all {
        let Role::Member { receiver } = &place.role else { continue };
        let mut imports = outline.imports.iter().filter(|import| import.local == *receiver);
        let whole = own.strip_suffix(paths::stem(view.from)).is_some_and(|parent| parent == format!("{receiver}."));
        if whole || imports.any(|import| view.names.module_of(file, import) == Some(package)) {
            return Err(stuck(path, text, place.bytes.start));
        }
    }
    Ok(())
}

/// The `__init__.py` files to create so that the folders of the new place are packages; none if the
/// old place was not in a package.
pub(super) fn missing_inits(view: &View) -> Vec<String> {
    let init = |folder: &str| paths::join(folder, "__init__.py");
    if !view.has(&init(paths::folder(view.from))) {
        return Vec::new();
    }
    let root = root_of(view, paths::folder(view.from));
    let mut made = Vec::new();
    let mut at = paths::folder(view.to);
    let inside = |at: &str| at != root && (root.is_empty() || at.starts_with(&format!("{root}/")));
    while !at.is_empty() && inside(at) && !view.has(&init(at)) {
        made.push(init(at));
        at = paths::folder(at);
    }
    made.reverse();
    made
}

/// The folder that contains the outermost package around a folder.
fn root_of<'p>(view: &View, folder: &'p str) -> &'p str {
    let mut at = folder;
    while !at.is_empty() && view.has(&format!("{at}/__init__.py")) {
        at = paths::folder(at);
    }
    at
}

/// The dotted name of a file's module, starting from the folder `root`.
fn dotted(path: &str, root: &str) -> String {
    let bare = paths::without_extension(path);
    let bare = bare.strip_suffix("/__init__").unwrap_or(bare);
    let below = bare.strip_prefix(root).unwrap_or(bare);
    below.trim_start_matches('/').replace('/', ".")
}

/// The name by which the file at `path` imports the module at `to`: relative or absolute, like
/// `source`.
fn import_name(view: &View, path: &str, source: &str, to: &str) -> String {
    let importer = if path == view.from && to != view.from { paths::folder(view.to) } else { paths::folder(path) };
    let relative = source.starts_with('.').then(|| relative(view, importer, paths::without_extension(to))).flatten();
    relative.unwrap_or_else(|| absolute(view, source, to))
}

/// The name by which the file at `path` imports the module to which the relative `source` of the
/// old file refers.
pub(super) fn import_name_of_target(view: &View, path: &str, source: &str) -> String {
    let target = relative_target(paths::folder(view.from), source);
    let new = relative(view, paths::folder(path), &target);
    new.unwrap_or_else(|| dotted(&target, root_of(view, paths::folder(view.from))))
}

/// The path, without extension, to which a relative module name leads from a folder.
fn relative_target(folder: &str, source: &str) -> String {
    let below = source.trim_start_matches('.');
    let mut folder = folder;
    for _ in 1..source.len() - below.len() {
        folder = paths::folder(folder);
    }
    paths::join(folder, &below.replace('.', "/"))
}

/// The absolute name of `to`, starting from the same folder as the old name `source`.
pub(super) fn absolute(view: &View, source: &str, to: &str) -> String {
    let old = paths::without_extension(view.from);
    let begun = old.strip_suffix(&source.replace('.', "/")).map(|root| root.trim_end_matches('/'));
    let holds = |root: &&str| root.is_empty() || to.starts_with(&format!("{root}/"));
    let root = begun.filter(holds).unwrap_or_else(|| root_of(view, paths::folder(to)));
    let root = if root.is_empty() && to.starts_with("src/") && begun.is_none() { "src" } else { root };
    dotted(to, root)
}

/// The relative name of a module or package: `.a`, `..b.c`. `None` if it would leave the outermost
/// package.
pub(super) fn relative(view: &View, folder: &str, target: &str) -> Option<String> {
    let split = |path: &str| path.split('/').filter(|p| !p.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let (from, to) = (split(folder), split(target));
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let mut package = folder;
    while !package.is_empty() && !view.has(&paths::join(package, "__init__.py")) {
        package = paths::folder(package);
    }
    let top = split(if package.is_empty() { folder } else { root_of(view, package) }).len();
    let dots = ".".repeat(1 + from.len() - common);
    // A folder that will become a package counts as inside.
    let inside = common > top || from.len() == common;
    inside.then(|| format!("{dots}{}", to[common..].join(".")))
}

/// Rewrites a relative import of the moved module itself.
fn rewrite_own_import(view: &View, import: &ImportSite, edits: &mut Edits) {
    if !import.source.starts_with('.') {
        return;
    }
    let new = import_name_of_target(view, view.to, &import.source);
    if new != import.source {
        edits.put(view.from, import.source_bytes.clone(), new);
    }
}

/// Rewrites `from package import module`: the moved module gets its own statement. Returns false if
/// the module is not in the list.
fn rewrite_submodule_import(
    view: &View,
    (path, text, file): (&str, &str, usize),
    import: &ImportSite,
    edits: &mut Edits,
) -> bool {
    let target = view.names.file(view.from);
    let means = |name: &str| view.names.imported(file, &import.source, name) == target.map(Meaning::File);
    let Some(name) = import.names.iter().find(|n| means(&n.name)) else { return false };
    // The new full name is relative if the old one is.
    let dot = if import.source.ends_with('.') { "" } else { "." };
    let whole = import_name(view, path, &format!("{}{dot}{}", import.source, name.name), view.to);
    let (parent, last) = whole.rsplit_once('.').map_or(("", whole.as_str()), |(parent, last)| (parent, last));
    let is_dots = whole.starts_with('.') && parent.chars().all(|c| c == '.');
    let parent = if is_dots { &whole[..parent.len() + 1] } else { parent };
    let statement = match parent {
        "" if last == name.local => format!("import {last}"),
        "" => format!("import {last} as {}", name.local),
        parent if last == name.local => format!("from {parent} import {last}"),
        parent => format!("from {parent} import {last} as {}", name.local),
    };
    if import.names.len() == 1 {
        edits.put(path, import.statement.clone(), statement);
        return true;
    }
    let indent = indent_at(text, import.statement.start);
    let before = import.statement.start..import.statement.start;
    edits.put(path, before, format!("{statement}{}{indent}", super::line_end(text)));
    edits.put(path, without_name(import, name), String::new());
    true
}

/// The bytes to remove to delete one of several names from a list.
fn without_name(import: &ImportSite, name: &Imported) -> Range<usize> {
    let at = import.names.iter().position(|n| n == name).unwrap_or(0);
    match (import.names.get(at + 1), at.checked_sub(1)) {
        (Some(after), _) => name.bytes.start..after.bytes.start,
        (None, Some(before)) => import.names[before].bytes.end..name.bytes.end,
        (None, None) => name.bytes.clone(),
    }
}

/// Rewrites `import a.b`, and every use of `a.b` in the file.
fn rewrite_module_import(
    view: &View,
    path: &str,
    text: &str,
    import: &ImportSite,
    edits: &mut Edits,
) -> Result<(), MoveError> {
    let new = absolute(view, &import.source, view.to);
    edits.put(path, import.source_bytes.clone(), new.clone());
    if import.names.iter().any(|name| !name.local.is_empty()) {
        return Ok(());
    }
    let (parent, last) = import.source.rsplit_once('.').unwrap_or(("", &import.source));
    let Some(Ok((all, _))) = places("python", text, last) else { return Ok(()) };
    for place in &all {
        let outside = !import.statement.contains(&place.bytes.start);
        let bound = place.binder.is_some_and(|binder| all[binder].role == Role::Alias);
        let start = match &place.role {
            Role::Reference if parent.is_empty() && bound => place.bytes.start,
            Role::Member { receiver } if !parent.is_empty() && receiver == parent => {
                let start = place.bytes.start.checked_sub(receiver.len() + 1);
                let plain = start.filter(|start| text[*start..].starts_with(import.source.as_str()));
                let stuck =
                    || MoveError::Stuck { path: path.to_owned(), line: place.line, text: import.source.clone() };
                plain.ok_or_else(stuck)?
            }
            _ => continue,
        };
        if outside {
            edits.put(path, start..place.bytes.end, new.clone());
        }
    }
    Ok(())
}
