//! Ranks the definitions that may cause a failure: those in the traceback, then those that the
//! failed test calls.

use std::collections::HashSet;

use crate::edit::failures::{Failure, Frame, Kind, Report};
use crate::edit::testing::is_test_file;
use crate::index::{EdgeKind, Graph, Neighbour, Node};

/// Maximum number of suspects. A small model is shown the first two or three.
pub const SUSPECTS_MAX: usize = 5;
/// Maximum number of failures used; the others often have the same cause.
const FAILURES_MAX: usize = 10;
/// Number of lines above a failed assertion whose calls count, if the test is not a named function.
/// Nearly all tests are shorter.
const TEST_LINES_MAX: usize = 12;

/// Maximum number of words in a test's name that are compared with definitions, and minimum length
/// of such a definition's name.
const NAME_WORDS_MAX: usize = 8;
const NAME_LETTERS_MIN: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspect {
    pub path: String,
    /// Empty for lines outside all definitions, such as imports.
    pub name: String,
    /// First and last line, counted from 1.
    pub start_line: usize,
    pub end_line: usize,
}

/// The distance of a suspect from the failure, nearest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tier {
    OnTraceback,
    CalledByTest,
    CalledByThose,
    /// Named in an error message, or a type that the test uses.
    Mentioned,
}

/// The suspects, at most [`SUSPECTS_MAX`], most likely first; several failures in one definition
/// make it a more likely suspect.
pub fn suspects(report: &Report, graph: &Graph) -> Vec<Suspect> {
    let report = report.clone().located(&graph.files());
    let mut found: Vec<(Tier, usize, Suspect)> = Vec::new();
    for failure in report.errors.iter().take(FAILURES_MAX) {
        let mut of_one: Vec<(Tier, Suspect)> = Vec::new();
        add_traceback(failure, report.kind, graph, &mut of_one);
        add_called(failure, graph, &mut of_one);
        add_named_by_test(failure, graph, &mut of_one);
        add_named_by_error(failure, graph, &mut of_one);
        let mut seen = HashSet::new();
        of_one.retain(|(_, suspect)| seen.insert((suspect.path.clone(), suspect.start_line)));
        for (tier, suspect) in of_one {
            let known = found
                .iter_mut()
                .find(|(_, _, other)| (&other.path, other.start_line) == (&suspect.path, suspect.start_line));
            match known {
                Some((nearest, votes, other)) => {
                    *votes += 1;
                    if tier < *nearest {
                        (*nearest, *other) = (tier, suspect);
                    }
                }
                None => found.push((tier, 1, suspect)),
            }
        }
    }
    // The sort is stable: among equals, the first one found is the deepest.
    found.sort_by_key(|(tier, votes, _)| (*tier, std::cmp::Reverse(*votes)));
    // A type is left out if one of its methods is in the list.
    let all: Vec<Suspect> = found.into_iter().map(|(_, _, suspect)| suspect).collect();
    let holds = |outer: &Suspect, inner: &Suspect| {
        outer.path == inner.path
            && outer.start_line < inner.start_line
            && inner.end_line <= outer.end_line
            && !inner.name.is_empty()
    };
    let kept = all.iter().filter(|outer| !all.iter().any(|inner| holds(outer, inner)));
    kept.take(SUSPECTS_MAX).cloned().collect()
}

fn suspect(node: &Node) -> Suspect {
    Suspect { path: node.path.clone(), name: node.name.clone(), start_line: node.start, end_line: node.end }
}

/// The innermost definition at a position; `None` outside all definitions.
fn at<'g>(graph: &'g Graph, file: &str, line: usize) -> Option<&'g Node> {
    let node = graph.named(&format!("{file}:{line}")).into_iter().next()?;
    (node.id != graph.module_id(file)).then_some(node)
}

fn is_test(graph: &Graph, node: &Node) -> bool {
    let is_module = |node: &Node| node.kind == "module" && matches!(node.name.as_str(), "tests" | "test");
    is_test_file(&node.path) && !node.path.ends_with(".rs")
        || node.path.starts_with("tests/")
        || is_module(node)
        || graph.containers(node.id).into_iter().any(is_module)
}

fn add_traceback(failure: &Failure, kind: Kind, graph: &Graph, found: &mut Vec<(Tier, Suspect)>) {
    for (depth, Frame { file, line }) in failure.frames.iter().enumerate() {
        match at(graph, file, *line) {
            // A test that does not compile is itself at fault.
            Some(node) if failure.test.is_none() && kind == Kind::Broken || !is_test(graph, node) => {
                found.push((Tier::OnTraceback, suspect(node)));
            }
            None if depth == 0 && kind == Kind::Broken || !is_test_file(file) => {
                let place = Suspect { path: file.clone(), name: String::new(), start_line: *line, end_line: *line };
                found.push((Tier::OnTraceback, place));
            }
            _ => {}
        }
    }
}

fn add_called(failure: &Failure, graph: &Graph, found: &mut Vec<(Tier, Suspect)>) {
    let mut calls = match test_of(failure, graph) {
        Some(test) => callees(graph, test),
        None => near_the_place(failure, graph),
    };
    // Calls on the failed line come first.
    let line = failure.line.unwrap_or(0);
    calls.sort_by_key(|call| (call.line != line, std::cmp::Reverse(call.line)));
    let is_code = |node: &Node| !is_test(graph, node);
    let mut own: Vec<Node> = Vec::new();
    for call in calls {
        // A test helper is replaced by the functions that it calls.
        if is_code(&call.node) {
            own.push(call.node);
        } else {
            own.extend(callees(graph, &call.node).into_iter().map(|inner| inner.node).filter(is_code));
        }
    }
    for node in &own {
        let tier = if is_type(node) { Tier::Mentioned } else { Tier::CalledByTest };
        found.push((tier, suspect(node)));
    }
    let inner = own.iter().flat_map(|node| callees(graph, node)).map(|inner| inner.node);
    let inner = inner.filter(|node| is_code(node) && !is_type(node));
    found.extend(inner.map(|node| (Tier::CalledByThose, suspect(&node))));
}

fn is_type(node: &Node) -> bool {
    !matches!(node.kind.as_str(), "function" | "method")
}

fn callees(graph: &Graph, node: &Node) -> Vec<Neighbour> {
    let calls = graph.callees(&graph.handle(node));
    calls.into_iter().filter(|call| call.kind == EdgeKind::Calls && call.node.id != node.id).collect()
}

/// The function of the failed test, found by its position or its name.
fn test_of<'g>(failure: &Failure, graph: &'g Graph) -> Option<&'g Node> {
    let by_place =
        failure.frames.iter().rev().find_map(|frame| at(graph, &frame.file, frame.line).filter(|n| is_test(graph, n)));
    let by_line = || at(graph, failure.file.as_deref()?, failure.line?).filter(|node| is_test(graph, node));
    let by_name = || {
        let test = failure.test.as_deref()?;
        // `tests/test_cart.py::TestDict::test_keys[1]`, `cart::tests::total_adds`, `TestTable/two`, `a.b.T.test_x (i=1)`
        let name = test.split([' ', '[']).next()?;
        let name = name.split_once('/').filter(|_| name.starts_with("Test")).map_or(name, |(test, _)| test);
        let parts: Vec<&str> = name.split([':', '.']).filter(|part| !part.is_empty()).collect();
        let named = graph.named(parts.last()?);
        let candidates = named.into_iter().filter(|node| is_test(graph, node));
        // If several tests have the same name, take the one whose path shares the most words with
        // the full name.
        candidates.max_by_key(|node| {
            let words = || node.path.split(['/', '.']);
            parts.iter().filter(|part| words().any(|word| word == **part)).count()
        })
    };
    by_place.or_else(by_line).or_else(by_name)
}

/// The calls just above a failed assertion, for tests that are not named functions, as in JavaScript.
fn near_the_place(failure: &Failure, graph: &Graph) -> Vec<Neighbour> {
    let in_test =
        failure.frames.iter().rev().find(|frame| is_test_file(&frame.file)).map(|frame| (&frame.file, frame.line));
    let Some((file, line)) = in_test.or(failure.file.as_ref().zip(failure.line)) else { return Vec::new() };
    let near = |call: &Neighbour| call.line <= line && call.line + TEST_LINES_MAX > line;
    graph.callees(file).into_iter().filter(near).collect()
}

/// Adds the definition that the test is named after: `parse_date` for `test_parse_date_of_nothing`,
/// `slugify` for `slugify trims`.
fn add_named_by_test(failure: &Failure, graph: &Graph, found: &mut Vec<(Tier, Suspect)>) {
    let name = failure.test.as_deref().unwrap_or_default();
    let last = name.split([':', '.', '/', '>']).rfind(|part| !part.trim().is_empty()).unwrap_or_default();
    let words: Vec<&str> = last.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let words = &words[..words.len().min(NAME_WORDS_MAX)];
    let runs = (1..=words.len()).rev().flat_map(|length| words.windows(length));
    let capital = |word: &&str| {
        word.chars().next().into_iter().flat_map(char::to_uppercase).chain(word.chars().skip(1)).collect::<String>()
    };
    for run in runs {
        let names = [run.join("_"), run[0].to_owned() + &run[1..].iter().map(capital).collect::<String>()];
        let named = names.iter().filter(|name| name.len() >= NAME_LETTERS_MIN).flat_map(|name| graph.named(name));
        let named: Vec<&Node> = named.filter(|node| !is_test(graph, node) && node.kind != "module").collect();
        for node in &named {
            let tier = if is_type(node) { Tier::Mentioned } else { Tier::CalledByTest };
            found.push((tier, suspect(node)));
        }
        if !named.is_empty() {
            return;
        }
    }
}

/// Adds project files that the message names, such as a module that lacks an imported name.
fn add_named_by_error(failure: &Failure, graph: &Graph, found: &mut Vec<(Tier, Suspect)>) {
    let ends = |path: &str| failure.message.split(['(', ')', '\'', '"', ' ', '\n']).any(|word| word == path);
    for path in graph.files().into_iter().filter(|path| !is_test_file(path) && ends(path)) {
        for module in graph.named(path) {
            found.push((Tier::Mentioned, Suspect { name: String::new(), ..suspect(module) }));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::base::Cancel;
    use crate::edit::failures::read;
    use crate::index::Index;
    use crate::tools::files::walk::testing::Project;

    /// Checks the suspects of an output, as `name path:start-end`, in a project of these files
    /// (`path: text`).
    fn check(files: &[&str], output: &str, expected: &[&str]) {
        let files: Vec<(&str, &str)> = files.iter().map(|file| file.split_once(": ").unwrap()).collect();
        let project = Project::with(&files);
        let index = Index::open(project.dir.path()).unwrap();
        index.refresh_lexical(&mut |_| {}, &Cancel::new()).unwrap();
        let found = suspects(&read(output, Path::new("/p"), false), &index.graph().unwrap());
        let lines: Vec<String> =
            found.iter().map(|s| format!("{} {}:{}-{}", s.name, s.path, s.start_line, s.end_line)).collect();
        assert_eq!(lines, expected);
    }

    const CART_PY: &str = "shop/cart.py: class Cart:\n    def __init__(self):\n        self.items = []\n\n    def add(self, name, price):\n        self.items.append((name, price))\n\n    def total(self):\n        return tax(sum(price for _, price in self.items))\n\n\ndef tax(total):\n    return total + 1\n\n\ndef discount(total, rate):\n    check_rate(rate)\n    return total - total * rate\n\n\ndef check_rate(rate):\n    if rate > 1:\n        raise ValueError('rate')\n";
    const TEST_PY: &str = "tests/test_cart.py: from shop.cart import Cart, discount\n\n\ndef make():\n    cart = Cart()\n    cart.add('tea', 3)\n    return cart\n\n\ndef test_total():\n    assert make().total() == 3\n\n\ndef test_rate():\n    assert discount(100, 20) == 80\n";

    #[test]
    fn definitions_on_the_traceback_come_first_the_deepest_before_its_callers() {
        check(
            &[CART_PY, TEST_PY],
            "Traceback (most recent call last):\n  File \"/p/tests/test_cart.py\", line 15, in test_rate\n    assert discount(100, 20) == 80\n  File \"/p/shop/cart.py\", line 17, in discount\n    check_rate(rate)\n  File \"/p/shop/cart.py\", line 23, in check_rate\n    raise ValueError('rate')\nValueError: rate\n",
            &["check_rate shop/cart.py:21-23", "discount shop/cart.py:16-18"],
        );
    }

    #[test]
    fn a_wrong_value_leads_to_what_the_test_calls_and_what_that_calls() {
        check(
            &[CART_PY, TEST_PY],
            "=== FAILURES ===\n___ test_total ___\n\n    def test_total():\n>       assert make().total() == 3\nE       assert 4 == 3\n\ntests/test_cart.py:11: AssertionError\n=== short test summary info ===\nFAILED tests/test_cart.py::test_total - assert 4 == 3\n1 failed in 0.07s\n",
            &["total shop/cart.py:8-9", "tax shop/cart.py:12-13"],
        );
    }

    #[test]
    fn a_definition_in_the_name_of_the_test_is_a_suspect() {
        check(
            &[
                "keys.py: def typed_key(a):\n    return a\n",
                "tests/test_keys.py: import keys\n\n\ndef test_typed_key_of_text(key=keys.typed_key):\n    assert key('x') == 1\n",
            ],
            "=== FAILURES ===\n___ test_typed_key_of_text ___\n\n    def test_typed_key_of_text(key=keys.typed_key):\n>       assert key('x') == 1\nE       assert 'x' == 1\n\ntests/test_keys.py:5: AssertionError\n=== short test summary info ===\nFAILED tests/test_keys.py::test_typed_key_of_text - assert 'x' == 1\n1 failed in 0.07s\n",
            &["typed_key keys.py:1-2"],
        );
    }

    #[test]
    fn tests_inside_a_module_and_tests_without_a_name_lead_to_what_they_call() {
        check(
            &[
                "Cargo.toml: [package]\nname = \"shop\"\n",
                "src/lib.rs: pub mod cart;\n",
                "src/cart.rs: pub fn total(prices: &[u32]) -> u32 {\n    prices.iter().sum::<u32>() + 1\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn adds() {\n        let sum = total(&[1, 2]);\n        assert_eq!(sum, 3);\n    }\n}\n",
            ],
            "running 1 test\ntest cart::tests::adds ... FAILED\n\nfailures:\n\n---- cart::tests::adds stdout ----\nthread 'cart::tests::adds' (1) panicked at src/cart.rs:12:9:\nassertion `left == right` failed\n  left: 4\n right: 3\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored\n",
            &["total src/cart.rs:1-3"],
        );
        check(
            &[
                "lib/cart.js: function total(items) {\n  return items.length + 1;\n}\nmodule.exports = { total };\n",
                "test/cart.test.js: const test = require('node:test');\nconst assert = require('node:assert');\nconst { total } = require('../lib/cart');\n\ntest('adds', () => {\n  assert.strictEqual(total([2]), 1);\n});\n",
            ],
            "TAP version 13\n# Subtest: adds\nnot ok 1 - adds\n  ---\n  location: '/p/test/cart.test.js:5:1'\n  error: |-\n    Expected values to be strictly equal:\n    \n    2 !== 1\n    \n  stack: |-\n    TestContext.<anonymous> (/p/test/cart.test.js:6:10)\n  ...\n# pass 0\n# fail 1\n",
            &["total lib/cart.js:1-3"],
        );
        check(
            &[
                "go.mod: module example.com/shop\n",
                "cart/cart.go: package cart\n\nfunc Total(prices []int) int {\n\treturn len(prices) + 1\n}\n",
                "cart/cart_test.go: package cart\n\nimport \"testing\"\n\nfunc TestTotal(t *testing.T) {\n\tif got := Total(nil); got != 0 {\n\t\tt.Errorf(\"got %d\", got)\n\t}\n}\n",
            ],
            "--- FAIL: TestTotal (0.00s)\n    cart_test.go:7: got 1\nFAIL\nFAIL\texample.com/shop/cart\t0.004s\nFAIL\n",
            &["Total cart/cart.go:3-5"],
        );
    }

    #[test]
    fn an_error_of_the_compiler_or_an_import_names_its_place() {
        check(
            &["src/main.rs: fn main() {\n    missing();\n}\n", "Cargo.toml: [package]\nname = \"a\"\n"],
            "error[E0425]: cannot find function `missing`\n --> src/main.rs:2:5\n  |\n2 |     missing();\n",
            &["main src/main.rs:1-3"],
        );
        check(
            &[CART_PY, "tests/test_cart.py: from shop.cart import Missing\n"],
            "Traceback (most recent call last):\n  File \"/p/tests/test_cart.py\", line 1, in <module>\n    from shop.cart import Missing\nImportError: cannot import name 'Missing' from 'shop.cart' (/p/shop/cart.py)\n",
            &[" tests/test_cart.py:1-1", " shop/cart.py:1-23"],
        );
    }
}
