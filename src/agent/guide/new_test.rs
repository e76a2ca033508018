//! Writes the code around new tests: the imports of a JavaScript or TypeScript test file for the
//! project's test runner, and the `tests` module of a Rust file.

use std::collections::HashSet;

use regex::Regex;

use crate::base::pattern::pattern;
use crate::edit;
use crate::edit::testing::{self, Style};
use crate::index::language_of;

use super::Job;

/// A tested definition: its name, the file that defines it and that file's text.
pub struct Subject<'a> {
    pub name: &'a str,
    pub path: &'a str,
    pub text: &'a str,
}

/// The test runner that the request names, else the one that the project uses.
pub fn style(job: Job<'_>) -> Option<Style> {
    job.scene.request.test_runner().or_else(|| testing::script_style(job.root()))
}

/// The import lines of the test file `path`. `None` if there is no subject, or if its file exports
/// none of the names.
pub fn head(path: &str, style: Style, subjects: &[Subject<'_>]) -> Option<String> {
    let subject = subjects.first()?;
    let exports = r"(?m)(?:export|module\.exports\s*=)\s*\{[^}]*\}|^\s*(?:export|(?:module\.)?exports)\b.*";
    let exports = pattern(exports);
    let is_in_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let exported: HashSet<&str> =
        exports.find_iter(subject.text).flat_map(|one| one.as_str().split(move |c: char| !is_in_name(c))).collect();
    let of_file = subjects.iter().filter(|other| other.path == subject.path);
    let names: Vec<&str> = of_file.map(|one| one.name).filter(|name| exported.contains(name)).collect();
    if names.is_empty() {
        return None;
    }
    let is_module = pattern(r"(?m)^\s*export\b").is_match(subject.text);
    let is_default = |name: &str| {
        Regex::new(&format!(r"(?m)^\s*export default (async )?(function|class)?\*?\s*{}\b", regex::escape(name)))
            .is_ok_and(|one| one.is_match(subject.text))
    };
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let from = edit::relative(folder, subject.path);
    // TypeScript files are imported without their extension.
    let from = [".ts", ".tsx"].iter().find_map(|ending| from.strip_suffix(ending)).unwrap_or(&from);
    let names = match names.as_slice() {
        [name] if is_default(name) => (*name).to_owned(),
        names => format!("{{ {} }}", names.join(", ")),
    };
    let line = |names: &str, from: &str| {
        if is_module {
            format!("import {names} from '{from}';\n")
        } else {
            format!("const {names} = require('{from}');\n")
        }
    };
    let runner = match style {
        Style::Node => line("test", "node:test") + &line("assert", "node:assert"),
        Style::Vitest => line("{ describe, expect, it }", "vitest"),
        Style::Mocha => line("assert", "node:assert"),
        Style::Jest => String::new(),
    };
    Some(format!("{runner}{}\n", line(&names, from)))
}

/// The module of the test runner if a new JavaScript or TypeScript test file does not import it.
pub fn lacks_runner(path: &str, text: &str, style: Style) -> Option<&'static str> {
    let module = match style {
        Style::Node => "node:test",
        Style::Vitest => "vitest",
        Style::Jest | Style::Mocha => return None,
    };
    let is_script = matches!(language_of(path), "javascript" | "typescript" | "tsx" | "jsx");
    (is_script && !text.contains(module)).then_some(module)
}

/// A sample test for the prompt, for the given runner.
pub fn form(style: Style) -> &'static str {
    match style {
        Style::Node => "test('…', () => { assert.strictEqual(…); });",
        Style::Vitest | Style::Jest => "it('…', () => { expect(…).toBe(…); });",
        Style::Mocha => "it('…', () => { assert.strictEqual(…); });",
    }
}

/// The path of a new test file for `path`, following the convention of its language; `None` for
/// other languages, and for Rust, whose tests are in the same file.
pub fn test_path(path: &str) -> Option<String> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let (stem, ending) = name.rsplit_once('.')?;
    let beside = |name: String| if folder.is_empty() { name } else { format!("{folder}/{name}") };
    match language_of(path) {
        "python" => Some(format!("tests/test_{stem}.py")),
        "javascript" | "typescript" | "tsx" | "jsx" => Some(beside(format!("{stem}.test.{ending}"))),
        "go" => Some(beside(format!("{stem}_test.go"))),
        _ => None,
    }
}

/// Wraps the first test of a Rust file in a `tests` module.
pub fn in_new_module(code: &str) -> String {
    let inner = |line: &str| if line.is_empty() { String::new() } else { format!("    {line}") };
    let lines: Vec<String> = code.trim_end().lines().map(inner).collect();
    format!("#[cfg(test)]\nmod tests {{\n    use super::*;\n\n{}\n}}\n", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_test_of_a_rust_file_gets_a_tests_module() {
        let code = "#[test]\nfn f_of_one() {\n    assert_eq!(f(1), 1);\n}\n";
        let whole = "#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn f_of_one() {\n        assert_eq!(f(1), 1);\n    }\n}\n";
        assert_eq!(in_new_module(code), whole);
    }

    #[test]
    fn a_test_file_imports_its_runner_and_what_it_tests() {
        let check = |path: &str, style, subject: (&str, &str, &str), expected: &str| {
            let (name, of, text) = subject;
            let found = head(path, style, &[Subject { name, path: of, text }]);
            assert_eq!(found.as_deref(), Some(expected), "{path}");
        };
        check(
            "src/name.test.js",
            Style::Node,
            ("name_of", "src/utils.js", "export function name_of(n) {}\n"),
            "import test from 'node:test';\nimport assert from 'node:assert';\nimport { name_of } from './utils.js';\n\n",
        );
        check(
            "test/cart.test.ts",
            Style::Vitest,
            ("total", "src/shop/cart.ts", "export default function total() {}\n"),
            "import { describe, expect, it } from 'vitest';\nimport total from '../src/shop/cart';\n\n",
        );
        check(
            "cart.test.js",
            Style::Jest,
            ("total", "lib/cart.js", "function total() {}\nmodule.exports = {\n  total,\n};\n"),
            "const { total } = require('./lib/cart.js');\n\n",
        );
        let hidden = Subject { name: "total", path: "a.js", text: "function total() {}\n" };
        assert_eq!(head("a.test.js", Style::Jest, &[hidden]), None);
    }
}
