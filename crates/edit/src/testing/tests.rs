//! Tests the derived commands, in folders with a few files.

use std::fs;

use super::*;
use crate::rename::tests::Project as Indexed;

/// Files of a project: path and text.
type Project<'a> = &'a [(&'a str, &'a str)];

fn checks(project: Project<'_>, has_pytest: bool) -> (tempfile::TempDir, Checks) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in project {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let paths = project.iter().map(|(path, _)| (*path).to_owned()).collect();
    let checks = of_files(folder.path(), paths, &|_, _| has_pytest);
    (folder, checks)
}

/// Asserts the command for all tests and the one for `file`.
fn tested(project: Project<'_>, has_pytest: bool, file: &str, expected: (&str, &str)) {
    let (_folder, checks) = checks(project, has_pytest);
    let found = (checks.command(Task::Test), checks.covering(&[file.to_owned()]));
    let found = (found.0.unwrap_or_default(), found.1.unwrap_or_default());
    assert_eq!((found.0.as_str(), found.1.as_str()), expected, "{project:?}");
}

const UNITTEST: &str = "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): pass\n";
const PYTEST: &str = "def test_a():\n    assert True\n";

#[test]
fn python_tests_run_with_pytest_if_it_is_installed_and_used() {
    let check = |project, has_pytest, expected| tested(project, has_pytest, "tests/test_a.py", expected);
    let both = ("python3 -m pytest", "python3 -m pytest tests/test_a.py");
    check(&[("tests/test_a.py", PYTEST)], true, both);
    check(&[("tests/test_a.py", UNITTEST), ("tests/conftest.py", "")], true, both);
    check(&[("tests/test_a.py", UNITTEST), ("pyproject.toml", "[tool.pytest.ini_options]\n")], true, both);
    check(&[("tests/test_a.py", "import pytest\n")], false, ("", ""));
    let own = (".venv/bin/python -m pytest", ".venv/bin/python -m pytest tests/test_a.py");
    check(&[("tests/test_a.py", PYTEST), (".venv/bin/python", "")], true, own);
    let below_src = ("PYTHONPATH=src python3 -m pytest", "PYTHONPATH=src python3 -m pytest tests/test_a.py");
    check(&[("tests/test_a.py", PYTEST), ("src/shop/__init__.py", "")], true, below_src);
    check(&[("a.py", "")], true, ("", ""));
    let (_folder, checks) = checks(&[("test_a.py", PYTEST)], false);
    assert_eq!(checks.notes, ["the tests need pytest, which python3 does not have: python3 -m pip install pytest"]);
}

#[test]
fn a_check_that_cannot_run_here_says_why() {
    let check = |project: Project<'_>, expected: Result<&str, &str>| {
        let (folder, checks) = checks(project, false);
        let found = checks.ready(folder.path(), Task::Test);
        match expected {
            Ok(line) => assert_eq!(found.as_deref(), Ok(line), "{project:?}"),
            Err(why) => assert!(found.as_ref().is_err_and(|found| found.contains(why)), "{project:?}: {found:?}"),
        }
    };
    let vitest = r#"{"scripts":{"test":"vitest run"},"devDependencies":{"vitest":"3"}}"#;
    check(&[("package.json", vitest)], Err("`npm test` cannot run here: "));
    check(&[("package.json", vitest)], Err("no `node_modules`"));
    let by_node = r#"{"scripts":{"test":"node --test"},"dependencies":{"a":"1"}}"#;
    check(&[("package.json", by_node)], Err("no `node_modules`"));
    check(&[("package.json", vitest), ("test_a.py", UNITTEST)], Ok("python3 -m unittest"));
    check(&[("a.py", "")], Err("no known check"));
    check(&[("test_a.py", PYTEST)], Err("which python3 does not have"));
    let missing = files::missing_program(std::path::Path::new("/"), "A=1 monobloc-no-such-program -v");
    assert_eq!(missing.as_deref(), Some("`monobloc-no-such-program` is not installed"));
}

#[test]
fn plain_functions_are_run_without_pytest() {
    let right = "from a import two\n\n\ndef test_two():\n    assert two() == 2\n\n\ndef test_later(tmp_path):\n    assert False\n";
    let run = |test: &str| {
        let project = [("a.py", "def two():\n    return 2\n"), ("test_a.py", test)];
        let (folder, checks) = checks(&project, false);
        let line = checks.covering(&["test_a.py".to_owned()]).expect("a command");
        let ran = std::process::Command::new("sh").args(["-c", &line]).current_dir(folder.path()).output().unwrap();
        let (said, succeeded) = ([ran.stdout, ran.stderr].concat(), ran.status.success());
        let report = crate::failures::read(&String::from_utf8_lossy(&said), folder.path(), succeeded);
        (succeeded, report.passed, report.failed > 0)
    };
    assert_eq!(run(right), (true, 1, false));
    assert_eq!(run(&right.replace("== 2", "== 3")), (false, 0, true));
    assert!(!run(&right.replace("test_two()", "test_two(self)")).0, "a function has no `self`");
    let exits = right.replace("assert two() == 2", "raise SystemExit(0)");
    assert_eq!(run(&exits), (false, 0, true));
    let with_class = format!("{right}\n\nclass TestTwo:\n    def test_it(self):\n        pass\n");
    assert_eq!(checks(&[("test_a.py", &with_class)], false).1.covering(&["test_a.py".to_owned()]), None);
    let fixtures = [("test_a.py", "import pytest\ndef test_a():\n    pass\n")];
    assert_eq!(checks(&fixtures, false).1.covering(&["test_a.py".to_owned()]), None);
}

#[test]
fn unittest_starts_in_the_folder_of_the_tests() {
    let check = |project, file, expected| tested(project, true, file, expected);
    check(&[("test_a.py", UNITTEST)], "test_a.py", ("python3 -m unittest", "python3 -m unittest test_a"));
    check(
        &[("tests/test_a.py", UNITTEST)],
        "tests/test_a.py",
        ("python3 -m unittest discover -s tests", "python3 -m unittest discover -s tests -p test_a.py"),
    );
    check(
        &[("tests/__init__.py", ""), ("tests/test_a.py", UNITTEST)],
        "tests/test_a.py",
        ("python3 -m unittest discover -s tests -t .", "python3 -m unittest tests.test_a"),
    );
    check(
        &[("t/a_test.py", UNITTEST)],
        "t/a_test.py",
        ("python3 -m unittest discover -s t -p '*_test.py'", "python3 -m unittest discover -s t -p a_test.py"),
    );
    check(
        &[("a/test_a.py", UNITTEST), ("b/test_b.py", UNITTEST)],
        "b/test_b.py",
        ("python3 -m unittest a/test_a.py b/test_b.py", "python3 -m unittest b.test_b"),
    );
}

#[test]
fn the_test_script_runs_all_javascript_tests_and_the_runner_one_file() {
    let check = |manifest: &str, files: Project<'_>, file, expected| {
        let project: Vec<(&str, &str)> =
            [("package.json", manifest)].into_iter().chain(files.iter().copied()).collect();
        tested(&project, false, file, expected);
    };
    let test = [("test/a.test.js", "")];
    let file = "test/a.test.js";
    check(
        r#"{"scripts": {"test": "vitest"}}"#,
        &test,
        file,
        ("npm test", "npx --offline --no vitest run test/a.test.js"),
    );
    check(r#"{"scripts": {"test": "jest --ci"}}"#, &test, file, ("npm test", "npx --offline --no jest test/a.test.js"));
    check(
        r#"{"scripts": {"test": "node --import tsx --test test/*.ts"}}"#,
        &[("test/a.test.ts", "")],
        "test/a.test.ts",
        ("npm test", "node --import tsx --test test/a.test.ts"),
    );
    let none = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
    check(none, &test, file, ("node test/a.test.js", "node test/a.test.js"));
    check(none, &[], "a.js", ("", "node a.js"));
    let of_node = [("test/a.test.js", "import test from 'node:test';")];
    check("{}", &of_node, file, ("node --test test/a.test.js", "node --test test/a.test.js"));
    let vitest = r#"{"scripts": {"test": "vitest"}}"#;
    check(vitest, &of_node, file, ("npm test", "node --test test/a.test.js"));
    let installed = [("node_modules/.bin/jest", ""), ("test/a.test.js", ""), ("yarn.lock", "")];
    check(r#"{"scripts": {"test": "jest"}}"#, &installed, file, ("yarn test", "node_modules/.bin/jest test/a.test.js"));
    check(r#"{"scripts": {"test": "node test/run.js"}}"#, &test, file, ("npm test", "npm test"));
}

#[test]
fn cargo_tests_one_target_or_one_module() {
    let manifest = "[package]\nname = \"shop\"\n";
    let check = |files: Project<'_>, file, expected| {
        let project: Vec<(&str, &str)> = [("Cargo.toml", manifest)].into_iter().chain(files.iter().copied()).collect();
        tested(&project, false, file, ("cargo test --offline", expected));
    };
    let library = [("src/lib.rs", "")];
    check(&library, "tests/outside.rs", "cargo test --offline --test outside");
    check(&library, "tests/it/cart.rs", "cargo test --offline --test it -- cart::");
    check(&library, "src/cart.rs", "cargo test --offline --lib -- cart::");
    check(&library, "src/cart/mod.rs", "cargo test --offline --lib -- cart::");
    check(&library, "src/lib.rs", "cargo test --offline --lib");
    check(&[("src/main.rs", "")], "src/cart/sum.rs", "cargo test --offline --bins -- cart::sum::");
    check(&library, "src/bin/tool.rs", "cargo test --offline --bin tool");
    let member = [("crates/a/Cargo.toml", "[package]\nname = \"a-b\"\n"), ("crates/a/src/lib.rs", "")];
    check(&member, "crates/a/src/cart.rs", "cargo test --offline -p a-b --lib -- cart::");
    let (_folder, checks) = checks(&[("Cargo.toml", manifest), ("src/lib.rs", "")], false);
    let files = ["src/cart.rs".to_owned(), "tests/outside.rs".to_owned()];
    assert_eq!(checks.covering(&files).unwrap(), "cargo test --offline --lib --test outside");
}

#[test]
fn go_tests_packages_and_make_is_the_last_resort() {
    let go = [("go.mod", "module m\n"), ("shop/cart_test.go", "")];
    tested(&go, false, "shop/cart_test.go", ("go test ./...", "go test ./shop"));
    tested(&go, false, "cart_test.go", ("go test ./...", "go test ./"));
    let make = "CC := cc\nall: test\ntest: all\n\t./run\n";
    tested(&[("Makefile", make)], false, "x.c", ("make test", ""));
    tested(&[("Makefile", make), ("go.mod", "")], false, "x.c", ("go test ./...", ""));
    tested(&[], false, "x.c", ("", ""));
}

#[test]
fn the_tests_in_a_file_are_counted() {
    let check = |path: &str, text: &str, expected: usize| assert_eq!(super::count(path, text), expected, "{path}");
    check("test_a.py", "class A:\n    def test_one(self): ...\n\nasync def test_two(): ...\ndef helper(): ...\n", 2);
    check("src/a.rs", "fn a() {}\n\n#[test]\nfn b() {}\n\n    #[tokio::test]\n    async fn c() {}\n", 2);
    check("a_test.go", "func TestA(t *testing.T) {}\nfunc helper() {}\n", 1);
    check("a.test.ts", "test('a', () => {});\nit.only('b', () => {});\nsubmit('c');\n", 2);
    check("a.lua", "test('a')\n", 0);
}

#[test]
fn tests_are_found_by_name() {
    let check = |path: &str, all: &[&str], expected: &[&str]| {
        let all: Vec<String> = all.iter().map(|path| (*path).to_owned()).collect();
        assert_eq!(tests_of(path, &all, None), expected, "{path}");
    };
    check("shop/cart.py", &["tests/test_cart.py", "tests/test_user.py", "tests/cart.py"], &["tests/test_cart.py"]);
    check(
        "shop/cart.py",
        &["tests/test_cart_total.py", "shop/cart_test.py"],
        &["shop/cart_test.py", "tests/test_cart_total.py"],
    );
    check("shop/__init__.py", &["tests/test_shop.py"], &["tests/test_shop.py"]);
    check("shop/_cart.py", &["tests/test_cart.py"], &["tests/test_cart.py"]);
    check(
        "src/cart.ts",
        &["src/cart.test.ts", "src/user.test.ts", "test/cart.js"],
        &["src/cart.test.ts", "test/cart.js"],
    );
    check(
        "shop/cart.go",
        &["shop/user_test.go", "shop/cart_test.go", "x/cart_test.go"],
        &["shop/cart_test.go", "shop/user_test.go"],
    );
    check("src/cart.rs", &["tests/cart.rs", "tests/user.rs"], &["src/cart.rs", "tests/cart.rs"]);
    check("tests/test_cart.py", &["tests/test_cart.py"], &["tests/test_cart.py"]);
    check("README.md", &["tests/test_cart.py"], &[]);
    check("test/index.js", &[], &["test/index.js"]);
    check("test/common.js", &[], &[]);
}

#[test]
fn tests_are_found_by_the_code_they_use() {
    let project = Indexed::new(&[
        ("shop/cart.py", "def total(items):\n    return sum(items)\n"),
        ("shop/user.py", "def name():\n    return 'x'\n"),
        ("tests/test_all.py", "from shop.cart import total\n\ndef test_total():\n    assert total([1]) == 1\n"),
        ("tests/test_other.py", "from shop.user import name\n\ndef test_name():\n    assert name()\n"),
    ]);
    let all = project.index.paths().unwrap();
    assert_eq!(tests_of("shop/cart.py", &all, Some(&project.index.graph().unwrap())), ["tests/test_all.py"]);
}
