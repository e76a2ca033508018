//! Finds the unnamed function that is a whole JavaScript package, called by the package's name.

use std::path::{Component, Path};

use serde_json::Value;

use crate::index::parts::{self, Sort, Span};

/// Longest main file that is read, in bytes; longer ones are rarely written by hand.
const BYTES_MAX: u64 = 1 << 20;

/// A function that is a whole package, with the name under which code uses the package.
#[derive(Clone, Debug)]
pub struct PackageFunction {
    pub name: String,
    pub path: String,
}

/// The function that the package at `root` is. `None` if its main file exports no unnamed function.
pub fn function_of(root: &Path) -> Option<PackageFunction> {
    let text = std::fs::read_to_string(root.join("package.json")).ok()?;
    let package: Value = serde_json::from_str(&text).ok()?;
    let main = main_of(&package).trim_start_matches("./");
    if !Path::new(main).components().all(|part| matches!(part, Component::Normal(_))) {
        return None;
    }
    let is_small = |path: &str| root.join(path).metadata().is_ok_and(|file| file.is_file() && file.len() <= BYTES_MAX);
    let path = [main.to_owned(), format!("{main}.js")].into_iter().find(|path| is_small(path))?;
    let text = std::fs::read_to_string(root.join(&path)).ok()?;
    handed_out(&path, &text)?;
    Some(PackageFunction { name: name_in_code(package.get("name")?.as_str()?), path })
}

/// The unnamed function that a module exports: `module.exports = function …`.
pub fn handed_out(path: &str, text: &str) -> Option<Span> {
    let is_whole =
        |span: &Span| span.sort == Sort::Function && matches!(span.name.as_str(), "module.exports" | "default");
    parts::definitions(path, text).into_iter().find(is_whole)
}

/// The main file according to `main` or `exports` of package.json, else `index.js`.
fn main_of(package: &Value) -> &str {
    let exports = package.get("exports");
    let inner = exports.and_then(|exports| exports.get(".")).or(exports);
    let named = inner.and_then(|inner| inner.get("default").or(inner.get("require")));
    let candidates = [package.get("main"), inner, named];
    candidates.into_iter().flatten().find_map(Value::as_str).unwrap_or("index.js")
}

/// The name of a package in code: `left-pad` is `leftPad`, `@a/b` is `b`.
fn name_in_code(name: &str) -> String {
    let bare = name.rsplit('/').next().unwrap_or(name);
    let mut words = bare.split(['-', '.']);
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| name + &capitalised(word))
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(package: &str, path: &str, text: &str) -> Option<(String, String)> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("package.json"), package).unwrap();
        std::fs::write(folder.path().join(path), text).unwrap();
        function_of(folder.path()).map(|own| (own.name, own.path))
    }

    #[test]
    fn a_package_that_is_a_function_is_found_by_its_name() {
        let found = |name: &str, path: &str| Some((name.to_owned(), path.to_owned()));
        let function = "var a = 1;\n\nmodule.exports = function (val) {\n  return val;\n};\n";
        assert_eq!(of(r#"{"name": "ms", "main": "./index"}"#, "index.js", function), found("ms", "index.js"));
        assert_eq!(of(r#"{"name": "ms", "main": "./index.js"}"#, "index.js", function), found("ms", "index.js"));
        assert_eq!(of(r#"{"name": "@a/left-pad"}"#, "index.js", function), found("leftPad", "index.js"));
        let module = "export default function (val) {\n  return val;\n}\n";
        let package = r#"{"name": "b", "exports": {".": {"types": "./b.d.ts", "default": "./b.js"}}}"#;
        assert_eq!(of(package, "b.js", module), found("b", "b.js"));
        assert_eq!(of(r#"{"name": "b"}"#, "index.js", "module.exports = { a: 1 };\n"), None);
        assert_eq!(of(r#"{"name": "b", "main": "../index.js"}"#, "index.js", function), None);
        assert_eq!(of("no json", "index.js", function), None);
    }
}
