//! Plans the import edits for a moved TypeScript or JavaScript file; keeps import aliases where possible.

use super::{Edits, MoveError, View, doubt_folder, family, paths, stuck};
use crate::index::{ImportForm, import_sites, language_of};
use crate::text::line_of;

/// Extensions of compiled files, which an import may name instead of the source.
const COMPILED: &[&str] = &[".js", ".jsx", ".mjs", ".cjs"];
/// Extensions of files that contain scripts along with other content.
const COMPONENTS: &[&str] = &[".vue", ".svelte", ".astro", ".mdx", ".html"];
/// Code that, before a string, makes the string a module name.
const IMPORTS: &[&str] = &["import(", "require(", "from", "import"];

/// Plans the edits; fails if an import that may lead to the file cannot be rewritten.
pub fn move_file(view: &View, edits: &mut Edits) -> Result<(), MoveError> {
    doubt_folder(view, &["__dirname", "__filename", "import.meta"], edits);
    for (path, text) in view.texts {
        let Some(file) = view.names.file(path) else { continue };
        let sites = import_sites(language_of(path), text).unwrap_or_default();
        for site in &sites {
            if site.form == ImportForm::Computed {
                if path == view.from && view.changes_folder() || may_lead(path, &site.source, view.from) {
                    return Err(stuck(path, text, site.source_bytes.start));
                }
                continue;
            }
            let leads = view.names.module(file, &site.source).map(|module| view.names.path(module));
            let new = if leads == Some(view.from) {
                redirected(path, &site.source, view)
            } else if path == view.from {
                own(&site.source, view)
            } else {
                None
            };
            if let Some(new) = new.filter(|new| *new != site.source) {
                edits.put(path, site.source_bytes.clone(), new);
            }
        }
        for (at, relative) in relative_texts(text) {
            let site = sites.iter().any(|site| site.source_bytes.start == at);
            if site || !means(path, relative, view.from) {
                continue;
            }
            if is_imported(text, at) {
                return Err(stuck(path, text, at));
            }
            edits.mention(path, text, line_of(text, at));
        }
    }
    Ok(())
}

/// Fails if a file whose imports are not rewritten names the moved file.
pub fn keeps_others(from: &str, others: &[(String, String)]) -> Result<(), MoveError> {
    let imports = |path: &str| family(path) == "script" || COMPONENTS.iter().any(|ending| path.ends_with(ending));
    for (path, text) in others.iter().filter(|(path, _)| imports(path)) {
        if let Some((at, _)) = relative_texts(text).into_iter().find(|(_, relative)| means(path, relative, from)) {
            return Err(stuck(path, text, at));
        }
    }
    Ok(())
}

/// Strings that begin with `./` or `../`, with the offset of their first character.
fn relative_texts(text: &str) -> Vec<(usize, &str)> {
    let begins = |quote: char| {
        text.match_indices(quote).filter_map(move |(at, _)| {
            let inner = text[at + 1..].split([quote, '\n']).next()?;
            (inner.starts_with("./") || inner.starts_with("../")).then_some((at + 1, inner))
        })
    };
    ['"', '\'', '`'].into_iter().flat_map(begins).collect()
}

/// Whether a relative path in the file at `path` refers to `from`, with or without its extension.
fn means(path: &str, relative: &str, from: &str) -> bool {
    let target = paths::resolve(paths::folder(path), relative);
    target.is_some_and(|target| target == from || paths::without_extension(&target) == paths::without_extension(from))
}

/// Whether the string at `at` is the module name of an import.
fn is_imported(text: &str, at: usize) -> bool {
    let before = text[..at - 1].trim_end();
    IMPORTS.iter().any(|word| before.ends_with(word))
}

/// Whether an expression such as `./locales/${name}.js` may refer to the file.
fn may_lead(path: &str, expression: &str, from: &str) -> bool {
    let inner = expression.trim_start_matches(['`', '"', '\'']);
    let fixed = inner.split(['$', '`', '"', '\'']).next().unwrap_or_default();
    let Some((folder, name)) = fixed.rsplit_once('/').filter(|_| fixed.starts_with('.')) else { return false };
    let begun = paths::resolve(paths::folder(path), folder).map(|folder| paths::join(&folder, name));
    begun.is_some_and(|begun| from.starts_with(&begun))
}

/// A relative import in the moved file itself, rewritten for its new folder.
pub(super) fn own(source: &str, view: &View) -> Option<String> {
    let (old, new) = (paths::folder(view.from), paths::folder(view.to));
    let target = paths::resolve(old, source).filter(|_| source.starts_with('.'))?;
    let slash = if source.ends_with('/') && target != new { "/" } else { "" };
    Some(format!("{}{slash}", paths::relative(new, &target)))
}

/// The new text of an import that leads to the moved file.
pub(super) fn redirected(path: &str, source: &str, view: &View) -> Option<String> {
    // A file may import itself.
    let folder = paths::folder(if path == view.from { view.to } else { path });
    if source.starts_with('.') {
        let target = paths::resolve(paths::folder(path), source)?;
        return Some(paths::relative(folder, &restyled(&target, view.from, view.to)));
    }
    Some(aliased(source, view).unwrap_or_else(|| paths::relative(folder, &restyled("", view.from, view.to))))
}

/// `to`, written in the way that `old_name` writes `from`: with its extension, with that of the
/// compiled file, without one, or as a folder.
fn restyled(old_name: &str, from: &str, to: &str) -> String {
    let bare = paths::without_extension(to);
    let compiled = COMPILED.iter().find(|ending| old_name.ends_with(**ending));
    match compiled {
        _ if old_name == from => to.to_owned(),
        Some(ending) => format!("{bare}{ending}"),
        None if paths::name(bare) == "index" => paths::folder(to).to_owned(),
        None => bare.to_owned(),
    }
}

/// The new location, written with the alias (from `tsconfig.json` or a package) that `source` uses;
/// `None` if the alias leads elsewhere.
fn aliased(source: &str, view: &View) -> Option<String> {
    let bare = paths::without_extension(view.from);
    let folder = paths::folder(view.from);
    let mut styles = vec![view.from.to_owned(), bare.to_owned()];
    styles.extend(COMPILED.iter().map(|ending| format!("{bare}{ending}")));
    styles.extend((paths::name(bare) == "index").then(|| folder.to_owned()));
    let mut moved = view.snapshot.clone();
    moved.move_file(view.from, view.to);
    let names = moved.names();
    let cuts = source.match_indices('/').map(|(at, _)| at + 1).chain([0]);
    for cut in cuts {
        let (alias, rest) = source.split_at(cut);
        for style in styles.iter().filter(|style| style.ends_with(rest)) {
            let base = &style[..style.len() - rest.len()];
            let to = restyled(style, view.from, view.to);
            let new = to.strip_prefix(base).map(|rest| format!("{alias}{rest}"));
            let at_boundary = base.is_empty() || base.ends_with('/');
            let leads = |new: &String| {
                let importer = names.file(view.to)?;
                names.module(importer, new).map(|module| names.path(module) == view.to)
            };
            if let Some(new) = new.filter(|new| at_boundary && leads(new) == Some(true)) {
                return Some(new);
            }
        }
    }
    None
}
