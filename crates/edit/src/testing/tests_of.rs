//! Finds the test files that cover a source file, by their names and by the code graph.

use std::collections::HashMap;
use std::path::Path;

use super::{python, script};
use crate::base::pattern::pattern;
use crate::index::{Graph, paths};
use crate::paths::{ending, folder, name, stem};

/// Maximum number of test files returned. To run more, run all tests.
const TESTS_MAX: usize = 24;

/// The test files that cover `path`, most certain first; a test covers itself. `all` holds the
/// project's files, `graph` its code graph.
pub fn tests_of(path: &str, all: &[String], graph: Option<&Graph>) -> Vec<String> {
    if is_test_file(path) {
        return vec![path.to_owned()];
    }
    let mut scores: HashMap<&str, f64> = HashMap::new();
    let tests = || all.iter().map(String::as_str).filter(|other| *other != path && is_test_file(other));
    for test in tests() {
        if let Some(score) = by_name(path, test) {
            *scores.entry(test).or_default() += score;
        }
    }
    for (source, target, confidence) in graph.map(Graph::file_links).unwrap_or_default() {
        if target == path
            && let Some(test) = tests().find(|test| *test == source)
        {
            *scores.entry(test).or_default() += confidence.clamp(0.0, 1.0);
        }
    }
    let mut found: Vec<(&str, f64)> = scores.into_iter().collect();
    found.sort_by(|(a, one), (b, other)| other.total_cmp(one).then(a.cmp(b)));
    // Rust unit tests are in the source file itself.
    let inline = path.ends_with(".rs") && graph.is_none_or(|graph| has_inline_tests(path, graph));
    let own = inline.then(|| path.to_owned());
    own.into_iter().chain(found.into_iter().map(|(path, _)| path.to_owned())).take(TESTS_MAX).collect()
}

fn has_inline_tests(path: &str, graph: &Graph) -> bool {
    ["tests", "test"].iter().any(|module| !graph.named(&format!("{path}::{module}")).is_empty())
}

/// Whether a test runner would treat this file as a test.
pub fn is_test_file(path: &str) -> bool {
    match ending(path) {
        "py" => python::is_test(path),
        "go" => path.ends_with("_test.go"),
        "rs" => paths::sorts(path).contains(&paths::Sort::Test),
        _ => script::is_test(path),
    }
}

/// The number of tests in a file's text, by each test runner's way of marking them. 0 in other
/// languages.
pub fn count(path: &str, text: &str) -> usize {
    let mark = match ending(path) {
        "py" => r"(?m)^\s*(?:async\s+)?def test",
        "rs" => r"(?m)^\s*#\[(?:\w+::)*(?:test|rstest|case)\b",
        "go" => r"(?m)^func (?:Test|Fuzz|Example)\w*\(",
        _ if script::is_script(path) => r"(?m)^\s*(?:test|it)(?:\.\w+)*\(",
        _ => return 0,
    };
    pattern(mark).find_iter(text).count()
}

/// Whether a file is a test of the project, by its name or because it is in a `tests` folder.
pub fn is_test(path: &str) -> bool {
    is_test_file(path) || Path::new(path).components().any(|part| part.as_os_str() == "tests")
}

/// A score for how clearly the names show that `test` covers `path`; shared folders increase it.
/// `None` if they do not show it.
fn by_name(path: &str, test: &str) -> Option<f64> {
    /// The score of a test named after the file: higher than any number of graph links gives.
    const SAME: f64 = 1_000.0;
    const NEAR: f64 = 100.0;
    let source = match stem(path) {
        // Tests of a package or module file are named after its folder.
        "__init__" | "mod" | "index" | "lib" => name(folder(path)),
        stem => stem,
    };
    let tested = without_test_mark(stem(test));
    let is_go = path.ends_with(".go");
    if is_go && folder(path) != folder(test) || language(path) != language(test) {
        return None;
    }
    let beside = f64::from(u8::from(folder(path) == folder(test))) + shared(path, test) as f64 / 100.0;
    let parts = |name: &str| name.to_lowercase().replace(['-', '.'], "_").trim_start_matches('_').to_owned();
    let (source, tested) = (parts(source), parts(tested));
    if source.is_empty() || tested.is_empty() {
        is_go.then_some(1.0)
    } else if source == tested {
        Some(SAME + beside)
    } else if tested.starts_with(&format!("{source}_")) {
        // For example, `test_cart_totals.py` for `cart.py`.
        Some(NEAR + beside)
    } else {
        // Every test of a Go package covers all of its files.
        is_go.then_some(1.0)
    }
}

/// The stem of a test file without the prefix or suffix that marks tests.
fn without_test_mark(stem: &str) -> &str {
    let stem = stem.strip_prefix("test_").or_else(|| stem.strip_prefix("test-")).unwrap_or(stem);
    ["_test", "-test", ".test", ".spec", "_tests", ".tests", "_spec"]
        .iter()
        .find_map(|end| stem.strip_suffix(end))
        .unwrap_or(stem)
}

/// The extension of a path. All JavaScript and TypeScript extensions count as one, since tests in
/// one may cover files in the other.
fn language(path: &str) -> &str {
    if script::is_script(path) { "script" } else { ending(path) }
}

/// The number of folder names that both paths share.
fn shared(path: &str, test: &str) -> usize {
    folder(path).split('/').filter(|part| folder(test).split('/').any(|other| other == *part)).count()
}
