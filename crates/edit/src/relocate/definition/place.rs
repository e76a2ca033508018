//! Finds the position of a moved definition in its new file, and the names that files use to import
//! each other's modules.

use super::{Move, View, paths, python};
use crate::index::parts::{MODULE, Part, Sort, parts};
use crate::index::whole_words;

/// Beginnings of code that stays at the end of a file.
const LAST: [&str; 4] = ["if __name__", "module.exports", "export default", "export {"];

/// The line feeds between two definitions.
pub fn gap(language: &str) -> &'static str {
    if language == "python" { "\n\n\n" } else { "\n\n" }
}

/// Inserts the moved `code` into `text`, the new file: after the definitions that it uses and
/// before those that use it, else at the end.
pub fn inserted(work: &Move, text: &str, code: &str) -> String {
    let gap = gap(work.language);
    if text.trim().is_empty() {
        let head = if work.language == "go" { package(work.old()) } else { String::new() };
        return format!("{head}{code}\n");
    }
    let items = parts(work.view.to, text).map(|found| found.items).unwrap_or_default();
    let is_last = |item: &&Part| {
        let core = &text[item.core.clone()];
        LAST.iter().any(|begin| core.starts_with(begin)) || item.variant == MODULE && work.language == "rust"
    };
    let end = items.len() - items.iter().rev().take_while(is_last).count();
    let ordered = matches!(work.language, "script" | "python");
    let has = |text: &str, name: &str| whole_words(text, name).next().is_some();
    let uses_it = |item: &Part| item.sort != Sort::Import && has(&text[item.whole()], work.name);
    let first_user = items.iter().position(uses_it).filter(|_| ordered);
    let used = items.iter().rposition(|item| item.is_definition() && has(code, &item.name)).filter(|_| ordered);
    let at = first_user.unwrap_or(end).max(used.map_or(0, |used| used + 1));
    match items.get(at) {
        Some(next) => format!("{}{code}{gap}{}", &text[..next.start()], &text[next.start()..]),
        None => format!("{}{gap}{code}\n", text.trim_end()),
    }
}

/// The package clause of a Go file.
fn package(text: &str) -> String {
    let clause = text.lines().find(|line| line.starts_with("package "));
    clause.map(|clause| format!("{clause}\n\n")).unwrap_or_default()
}

/// The name by which the Python file at `path` imports the module at `target`: relative if the file
/// has relative imports.
pub fn python_module(view: &View, path: &str, target: &str) -> String {
    let text = if view.text(path).trim().is_empty() { view.text(view.from) } else { view.text(path) };
    let bare = paths::without_extension(target);
    let bare = bare.strip_suffix("/__init__").unwrap_or(bare);
    let is_relative = text.lines().any(|line| line.trim_start().starts_with("from ."));
    let relative = is_relative.then(|| python::relative(view, paths::folder(path), bare)).flatten();
    // No module is called `-`, so the name starts from the outermost package.
    relative.unwrap_or_else(|| python::absolute(view, "-", target))
}

/// Whether the new file exports its definitions through `module.exports`; an empty file follows the
/// old file.
pub fn is_common_js(view: &View) -> bool {
    let is_script = super::family(view.to) == "script";
    let text = if view.text(view.to).trim().is_empty() { view.text(view.from) } else { view.text(view.to) };
    let is_module = text.lines().any(|line| line.starts_with("import ") || line.starts_with("export "));
    is_script
        && !is_module
        && (text.contains("module.exports") || text.contains("exports.") || text.contains("require("))
}
