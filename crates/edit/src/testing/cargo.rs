//! Commands that test, compile, build, lint and format a Cargo project.

use super::files::{Files, quoted};
use super::{Kit, Task};
use crate::paths::{folder, join, name, stem};

/// A package: its folder, its name, and whether it has a library.
type Package = (String, String, bool);

/// The Cargo commands. Those that could download something run offline.
pub fn kit(files: &Files<'_>) -> Option<Kit> {
    let whole = [
        (Task::Test, "cargo test --offline"),
        (Task::Compile, "cargo check --offline"),
        (Task::Build, "cargo build --offline"),
        (Task::Lint, "cargo clippy --offline"),
        (Task::Format, "cargo fmt"),
    ];
    let packages = packages(files);
    files.has("Cargo.toml").then(|| Kit {
        whole: whole.map(|(task, line)| (task, line.to_owned())).into(),
        lacks: None,
        runs: |path| path.ends_with(".rs") && stem(path) != "build",
        covering: Box::new(move |files| covering(&packages, files)),
    })
}

/// The packages of the project, deepest folders first.
fn packages(files: &Files<'_>) -> Vec<Package> {
    let manifests = files.paths.iter().filter(|path| name(path) == "Cargo.toml");
    let mut packages: Vec<Package> = manifests
        .map(|path| {
            let manifest: toml::Table = files.text(path).parse().unwrap_or_default();
            let package =
                manifest.get("package").and_then(|package| package.get("name")).and_then(|name| name.as_str());
            let at = folder(path);
            let has_library = manifest.contains_key("lib") || files.has(&join(at, "src/lib.rs"));
            (at.to_owned(), package.unwrap_or_default().to_owned(), has_library)
        })
        .collect();
    packages.sort_by_key(|(at, _, _)| std::cmp::Reverse(at.len()));
    packages
}

/// The Cargo target that contains the tests for a file.
struct Target {
    /// Options that select the package and the target.
    options: Vec<String>,
    /// The common prefix of the file's test names; empty for the whole target.
    filter: String,
}

fn target(packages: &[Package], path: &str) -> Option<Target> {
    let own = |(at, _, _): &&Package| {
        at.is_empty() || path.strip_prefix(at.as_str()).is_some_and(|rest| rest.starts_with('/'))
    };
    let (at, package, has_library) = packages.iter().find(own)?;
    let inner = path.strip_prefix(at.as_str()).unwrap_or(path).trim_start_matches('/');
    let parts: Vec<&str> = inner.trim_end_matches(".rs").split('/').collect();
    let modules = |parts: &[&str]| {
        let parts: Vec<&str> = parts.iter().copied().filter(|part| !matches!(*part, "mod" | "lib" | "main")).collect();
        if parts.is_empty() { String::new() } else { format!("{}::", parts.join("::")) }
    };
    let (chosen, filter) = match parts.as_slice() {
        ["tests", target] => (format!("--test {}", quoted(target)), String::new()),
        ["tests", target, rest @ ..] => (format!("--test {}", quoted(target)), modules(rest)),
        ["src", "bin", target, rest @ ..] => (format!("--bin {}", quoted(target)), modules(rest)),
        ["src", "main"] => ("--bins".to_owned(), String::new()),
        ["src", rest @ ..] => (if *has_library { "--lib" } else { "--bins" }.to_owned(), modules(rest)),
        _ => return None,
    };
    let package = (!at.is_empty() && !package.is_empty()).then(|| format!("-p {}", quoted(package)));
    Some(Target { options: package.into_iter().chain([chosen]).collect(), filter })
}

fn covering(packages: &[Package], files: &[&str]) -> Option<String> {
    let targets: Vec<Target> = files.iter().filter_map(|path| target(packages, path)).collect();
    let mut options: Vec<&str> = Vec::new();
    for option in targets.iter().flat_map(|target| &target.options) {
        if !options.contains(&option.as_str()) {
            options.push(option);
        }
    }
    let mut line = ["cargo test --offline"].into_iter().chain(options).collect::<Vec<_>>().join(" ");
    // A filter applies to all targets of a run, so it is left out if any target is run as a whole.
    let filters: Vec<&str> = targets.iter().map(|target| target.filter.as_str()).collect();
    if !filters.contains(&"") {
        line.push_str(&format!(" -- {}", filters.join(" ")));
    }
    (!targets.is_empty()).then_some(line)
}
