//! Commands that test, compile, build, lint and format a JavaScript or TypeScript project.

use std::path::Path;

use serde_json::Value;

use super::files::{Files, all_quoted, quoted};
use super::{Kit, Task};
use crate::paths::{ending, folder, name, stem};

/// Maximum number of test files to read to determine their framework, and to name in one command.
const TEST_FILES_MAX: usize = 20;
/// Maximum number of test files to search for uses of the Node.js runner.
const TESTS_READ_MAX: usize = 300;
/// Node.js options that take a module as an argument.
const WITH_MODULE: &[&str] = &["--import", "--require", "-r", "--loader", "--experimental-loader"];

/// The framework that runs tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Jest,
    Vitest,
    Mocha,
    /// The Node.js test runner.
    Node,
}

pub struct Script {
    /// Name and command of each package.json script.
    scripts: Vec<(String, String)>,
    /// The package manager: `npm`, `pnpm`, `yarn` or `bun`.
    manager: &'static str,
    /// The framework for a new test; `None` if each test file is a program that fails with an
    /// exception.
    pub style: Option<Style>,
    /// The command that starts the Node.js runner.
    node: String,
    tests: Vec<String>,
    /// Test files for the Node.js runner, even if the others use another runner.
    of_node: Vec<String>,
    /// The supported programs in node_modules/.bin.
    installed: Vec<&'static str>,
    has_typescript: bool,
    /// Whether it has runtime dependencies, and whether it has development dependencies.
    needed: (bool, bool),
}

pub fn kit(files: &Files<'_>) -> Option<Kit> {
    let script = read(files)?;
    let all = [Task::Test, Task::Compile, Task::Build, Task::Lint, Task::Format];
    let whole = all.into_iter().filter_map(|task| Some((task, script.whole(task)?))).collect();
    let lacks = script.lacks(files);
    Some(Kit { whole, lacks, runs: is_script, covering: Box::new(move |files| script.covering(files)) })
}

/// The project's scripts and test runner; `None` if it has neither a package.json nor tests.
pub fn read(files: &Files<'_>) -> Option<Script> {
    let manifest: Value = serde_json::from_str(&files.text("package.json")).unwrap_or_default();
    let tests: Vec<String> = files.paths.iter().filter(|path| is_test(path)).cloned().collect();
    if !files.has("package.json") && tests.is_empty() {
        return None;
    }
    let manager = [("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun"), ("bun.lockb", "bun")];
    let manager = manager.iter().find(|(lock, _)| files.has(lock)).map_or("npm", |(_, manager)| manager);
    let scripts: Vec<(String, String)> = manifest["scripts"]
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(name, line)| Some((name.clone(), line.as_str()?.to_owned())))
        // `npm init` writes this placeholder, which runs no test.
        .filter(|(name, line)| !(name == "test" && line.contains("no test specified")))
        .collect();
    let script = scripts.iter().find(|(name, _)| name == "test").map_or("", |(_, line)| line.as_str());
    let (style, node) = (style(script, &manifest, files, &tests), node_of(script));
    let is_of_node = |path: &&String| files.text(path).contains("node:test");
    let of_node = tests.iter().take(TESTS_READ_MAX).filter(is_of_node).cloned().collect();
    let programs = ["jest", "vitest", "mocha", "tsc", "eslint"];
    let installed = programs.into_iter().filter(|name| files.has(&format!("node_modules/.bin/{name}"))).collect();
    let has_typescript = files.has("tsconfig.json");
    let has = |kind: &str| manifest[kind].as_object().is_some_and(|all| !all.is_empty());
    let needed = (has("dependencies"), has("devDependencies"));
    Some(Script { scripts, manager, style, node, tests, of_node, installed, has_typescript, needed })
}

pub fn is_script(path: &str) -> bool {
    matches!(ending(path), "js" | "mjs" | "cjs" | "jsx") || is_typescript(path)
}

fn is_typescript(path: &str) -> bool {
    matches!(ending(path), "ts" | "mts" | "cts" | "tsx")
}

/// Whether a file is a test by the runners' naming rules; helper files in test folders are not.
pub fn is_test(path: &str) -> bool {
    let stem = stem(path);
    let by_name = [".test", ".spec", "-test", "_test", ".tests"].iter().any(|end| stem.ends_with(end))
        || stem == "test"
        || stem.starts_with("test-");
    let by_folder = matches!(name(folder(path)), "test" | "tests" | "__tests__" | "spec");
    let is_helper = ["helper", "util", "setup", "fixture", "mock", "common"].iter().any(|word| stem.contains(word));
    is_script(path) && !path.ends_with(".d.ts") && (by_name || by_folder && !is_helper)
}

/// The framework, determined from the test script, else from the tests, else from the dependencies.
fn style(script: &str, manifest: &Value, files: &Files<'_>, tests: &[String]) -> Option<Style> {
    let named = [("vitest", Style::Vitest), ("jest", Style::Jest), ("mocha", Style::Mocha)];
    if let Some((_, style)) = named.iter().find(|(name, _)| script.contains(name)) {
        return Some(*style);
    }
    let mut texts = tests.iter().take(TEST_FILES_MAX).map(|path| files.text(path));
    if script.split_whitespace().any(|word| word == "--test") || texts.any(|text| text.contains("node:test")) {
        return Some(Style::Node);
    }
    let uses = |name: &str| ["devDependencies", "dependencies"].iter().any(|kind| !manifest[*kind][name].is_null());
    named.into_iter().find(|(name, _)| uses(name)).map(|(_, style)| style)
}

/// The program of a script with its options but without files, such as `node --import tsx --test`.
/// `node --test` if the script has no `--test`, or has several commands or variables.
fn node_of(script: &str) -> String {
    let words: Vec<&str> = script.split_whitespace().collect();
    let is_more =
        |word: &&str| matches!(*word, "&&" | "||" | ";" | "|") || word.contains('=') && !word.starts_with('-');
    if !words.contains(&"--test") || words.iter().any(is_more) {
        return "node --test".to_owned();
    }
    let kept = words
        .iter()
        .enumerate()
        .filter(|(at, word)| *at == 0 || word.starts_with('-') || WITH_MODULE.contains(&words[at - 1]));
    kept.map(|(_, word)| *word).collect::<Vec<_>>().join(" ")
}

impl Script {
    /// The reason the project's scripts cannot run: the packages they need are installed neither in
    /// the project nor in a parent folder, as in workspaces.
    fn lacks(&self, files: &Files<'_>) -> Option<String> {
        let test = self.scripts.iter().find(|(name, _)| name == "test").map_or("node", |(_, line)| line.as_str());
        let is_by_node = self.style == Some(Style::Node) || self.style.is_none();
        // Tests that Node.js runs directly need no development dependencies.
        let of_development = !(is_by_node && test.starts_with("node"));
        let needed = self.needed.0 || (of_development && self.needed.1);
        let is_there = |folder: &Path| folder.join("node_modules").is_dir() || folder.join(".pnp.cjs").is_file();
        let lacks = needed && !files.root.ancestors().any(is_there);
        lacks.then(|| "its packages are not installed (no `node_modules`)".to_owned())
    }

    /// The command for the first of these scripts that is in package.json.
    fn script(&self, names: &[&str]) -> Option<String> {
        let name = names.iter().find(|name| self.scripts.iter().any(|(own, _)| own == *name))?;
        let manager = self.manager;
        Some(match (*name, manager) {
            ("test", "npm" | "pnpm" | "yarn") => format!("{manager} test"),
            (name, _) => format!("{manager} run {name}"),
        })
    }

    /// The command for a program: from node_modules/.bin if installed there, else through `npx`
    /// without downloads.
    fn program(&self, name: &'static str) -> String {
        if self.installed.contains(&name) {
            format!("node_modules/.bin/{name}")
        } else {
            format!("npx --offline --no {name}")
        }
    }

    fn run(&self, files: &[&str]) -> String {
        let names = all_quoted(files);
        let line = match self.style {
            Some(Style::Jest) => format!("{} {names}", self.program("jest")),
            Some(Style::Vitest) => format!("{} run {names}", self.program("vitest")),
            Some(Style::Mocha) => format!("{} {names}", self.program("mocha")),
            Some(Style::Node) => format!("{} {names}", self.node),
            None => files.iter().map(|path| format!("node {}", quoted(path))).collect::<Vec<_>>().join(" && "),
        };
        line.trim_end().to_owned()
    }

    fn whole(&self, task: Task) -> Option<String> {
        let tsc = || {
            (self.has_typescript && self.installed.contains(&"tsc"))
                .then(|| "node_modules/.bin/tsc --noEmit".to_owned())
        };
        match task {
            Task::Test => self.script(&["test"]).or_else(|| {
                let files: Vec<&str> = self.tests.iter().map(String::as_str).take(TEST_FILES_MAX).collect();
                (!files.is_empty()).then(|| self.run(&files))
            }),
            Task::Compile => self.script(&["typecheck", "type-check", "check-types", "tsc"]).or_else(tsc),
            Task::Build => self.script(&["build", "compile"]),
            Task::Lint => self.script(&["lint"]),
            Task::Format => self.script(&["format", "fmt"]),
        }
    }

    fn covering(&self, files: &[&str]) -> Option<String> {
        if files.iter().all(|path| self.of_node.iter().any(|one| one == path)) && self.style != Some(Style::Node) {
            return Some(format!("node --test {}", all_quoted(files)));
        }
        // Plain `node` may be unable to run TypeScript, so the project's own test script is used if
        // there is one.
        if self.style.is_none() && (files.iter().any(|path| is_typescript(path)) || self.script(&["test"]).is_some()) {
            return self.script(&["test"]);
        }
        Some(self.run(files))
    }
}
