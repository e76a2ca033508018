//! Tests reading outputs that real tools printed for small projects with one mistake each (paths
//! shortened to `/p`).

use std::path::Path;

use proptest::prelude::*;

use super::*;

fn failed(output: &str) -> Report {
    read(output, Path::new("/p"), false)
}

/// A report as text: its kind and counts, then each failure with its test, place, message and frames.
fn rendered(output: &str) -> String {
    let report = failed(output);
    let mut text = format!("{:?} {}/{}", report.kind, report.failed, report.passed + report.failed);
    for failure in &report.errors {
        let line = failure.line.map_or(String::new(), |line| format!(":{line}"));
        let place = format!("{}{line}", failure.file.as_deref().unwrap_or("?"));
        let said = failure.message.lines().map(str::trim).collect::<Vec<_>>().join(" / ");
        text.push_str(&format!("\n{} | {place} | {said}", failure.test.as_deref().unwrap_or("-")));
        for frame in failure.frames.iter().filter(|_| failure.frames.len() > 1) {
            text.push_str(&format!("\n    {}:{}", frame.file, frame.line));
        }
    }
    text
}

fn check(output: &str, expected: &str) {
    assert_eq!(rendered(output).trim(), expected.trim());
}

/// Asserts that a report contains these lines.
fn holds(output: &str, expected: &[&str]) {
    let told = rendered(output);
    for line in expected {
        assert!(told.lines().any(|one| one.trim() == *line), "{line}\nis not in\n{told}");
    }
}

#[test]
fn lines_of_a_log_are_no_failures_beside_those_of_tests() {
    let long = include_str!("samples/pytest_long.txt");
    let logged = format!("shop/cart.py:5: ResourceWarning: unclosed file\nmain.go:12:1 starting\n{long}");
    assert_eq!(rendered(&logged).lines().next(), Some("Failed 7/9"));
    for log in
        ["shop/cart.py:5: ResourceWarning: unclosed file", "127.0.0.1:8080 listening", "a.py:3: note: declared here"]
    {
        assert_ne!(failed(log).kind, Kind::Broken, "{log}");
    }
    check(
        "a/b.py:3: error: Cannot find name 'warning'\n",
        "Broken 1/1\n- | a/b.py:3 | error: Cannot find name 'warning'",
    );
}

#[test]
fn tests_that_passed_or_may_fail_are_no_failures() {
    let passed = "==== PASSES ====\n____ test_ok ____\nhello\n==== 1 passed in 0.01s ====\n";
    assert_eq!(read(passed, Path::new("/p"), true).failed, 0);
    let mixed = format!("{passed}FAILED tests/test_a.py::test_b - assert 1 == 2\n==== 1 failed in 0.01s ====\n");
    assert_eq!(failed(&mixed).failed, 1);
    let tap = failed("TAP version 13\nnot ok 1 - later # TODO\nnot ok 2 - adds\n# pass 2\n# fail 1\n");
    assert_eq!((tap.failed, tap.errors[0].test.as_deref()), (1, Some("adds")));
    let unittest = "Ran 5 tests in 0.01s\n\nFAILED (failures=1, expected failures=2)\n";
    assert_eq!((failed(unittest).failed, failed(unittest).passed), (1, 4));
}

#[test]
fn failures_of_python_have_the_assertion_and_the_place_where_the_error_arose() {
    holds(
        include_str!("samples/pytest_long.txt"),
        &[
            "Failed 7/9",
            "test_fixture | tests/test_cart.py:41 | raise RuntimeError(\"no database\") / RuntimeError: no database",
            "test_total | tests/test_cart.py:13 | assert make().total() == 3 / assert 4 == 3 / +  where 4 = total()",
            "shop/cart.py:19",
            "test_raises | tests/test_cart.py:35 | with pytest.raises(KeyError): / Failed: DID NOT RAISE KeyError",
        ],
    );
    holds(
        include_str!("samples/pytest_short.txt"),
        &[
            "Failed 7/9",
            "test_total | tests/test_cart.py:13 | assert make().total() == 3 / assert 4 == 3 / +  where 4 = total()",
        ],
    );
    holds(
        include_str!("samples/pytest_native.txt"),
        &[
            "test_total | tests/test_cart.py:13 | assert make().total() == 3 / AssertionError: assert 4 == 3 / +  where 4 = total()",
        ],
    );
    holds(
        include_str!("samples/unittest.txt"),
        &[
            "Failed 7/7",
            "test_total (tests.test_unit.CartTest.test_total) | tests/test_unit.py:9 | self.assertEqual(cart.total(), 3) / AssertionError: 4 != 3",
            "test_sub (tests.test_unit.CartTest.test_sub) (i=1) | tests/test_unit.py:20 | self.assertTrue(i == 0) / AssertionError: False is not true",
            "shop/cart.py:19",
        ],
    );
    check(
        "FF.      [100%]\n==== short test summary info ====\nFAILED tests/test_cart.py::TestDict::test_keys - AssertionError: keys differ\nERROR tests/test_cart.py::test_fixture\n1 failed, 1 passed, 1 error in 0.03s\n",
        "Failed 2/3
tests/test_cart.py::TestDict::test_keys | tests/test_cart.py | AssertionError: keys differ
tests/test_cart.py::test_fixture | tests/test_cart.py |",
    );
}

#[test]
fn code_that_does_not_load_differs_from_failed_tests() {
    holds(
        include_str!("samples/pytest_collect.txt"),
        &[
            "Broken 2/2",
            "tests/test_import.py | tests/test_import.py:1 | from shop.cart import Missing / ImportError: cannot import name 'Missing' from 'shop.cart' (shop/cart.py)",
            "tests/test_syntax.py | tests/test_syntax.py:1 | def test_x(: / SyntaxError: invalid syntax",
        ],
    );
    holds(include_str!("samples/cargo_compile.txt"), &["Broken 3/3"]);
    let first = &failed(include_str!("samples/cargo_compile.txt")).errors[0];
    assert_eq!((first.file.as_deref(), first.line), (Some("src/cart.rs"), Some(2)));
    assert!(first.message.starts_with("error[E0425]: cannot find value `missing` in this scope\n"), "{first:?}");
    assert!(first.message.ends_with("not found in this scope"), "{first:?}");
    check(
        include_str!("samples/go_build.txt"),
        "Broken 2/2\n- | shop/cart.go:5 | price declared but not used\n- | shop/cart.go:6 | undefined: prise",
    );
    let tsc = "Broken 1/1\n- | ts/a.ts:5 | error TS2304: Cannot find name 'Missing'.";
    check("ts/a.ts(5,8): error TS2304: Cannot find name 'Missing'.\n", tsc);
    check(
        "\x1b[96mts/a.ts\x1b[0m:\x1b[93m5\x1b[0m:8 - \x1b[91merror\x1b[0m\x1b[90m TS2304: \x1b[0mCannot find name 'Missing'.\r\n",
        tsc,
    );
    check("vet: ./a/b.go:3:4: undefined: c\n", "Broken 1/1\n- | a/b.go:3 | undefined: c");
    let twice = include_str!("samples/cargo_compile.txt").repeat(2);
    holds(&twice, &["Broken 3/3"]);
    check("a.py:3: error: Bad type  [x]\n", "Broken 1/1\n- | a.py:3 | error: Bad type  [x]");
}

#[test]
fn cargo_and_go_name_the_tests_with_what_they_printed() {
    check(
        include_str!("samples/cargo.txt"),
        r#"Failed 6/7
cart::tests::first_is_upper | src/cart.rs:6 | index out of bounds: the len is 0 but the index is 0
cart::tests::holds | src/cart.rs:25 | assertion failed: total(&[]) == 0
cart::tests::panics | src/cart.rs:41 | test did not panic as expected
cart::tests::results | ? | Error: "not there"
cart::tests::total_adds | src/cart.rs:15 | assertion `left == right` failed: prices of tea / left: 4 / right: 3
cart::tests::unwraps | src/cart.rs:30 | called `Result::unwrap()` on an `Err` value: ParseIntError { kind: InvalidDigit }"#,
    );
    holds(
        include_str!("samples/go.txt"),
        &[
            "Failed 3/3",
            "TestTotal | cart_test.go:7 | Total() = 4, want 3",
            "TestTable/two | cart_test.go:15 | got 1 / want 2",
            "shop/cart.go:12",
            "shop/cart_test.go:22",
        ],
    );
    holds(include_str!("samples/gov.txt"), &["Failed 2/5", "TestTotal | cart_test.go:7 | Total() = 4, want 3"]);
}

#[test]
fn the_runners_of_javascript_name_each_test_once() {
    for output in [include_str!("samples/node_tap.txt"), include_str!("samples/node_spec.txt")] {
        holds(output, &["Failed 4/5", "lib/cart.js:6", "nt/cart.test.js:12"]);
        let told = rendered(output);
        assert_eq!(told.matches("total adds the prices | nt/cart.test.js:7 | ").count(), 1, "{told}");
        assert!(told.contains("nt/broken.test.js | nt/broken.test.js:1 | "), "{told}");
        assert!(told.contains("Error: Cannot find module './gone'") && told.contains("3 !== 2"), "{told}");
    }
    holds(
        include_str!("samples/jest.txt"),
        &[
            "Failed 5/6",
            "total adds the prices | jt/cart.test.js:4 | expect(received).toBe(expected) // Object.is equality / Expected: 2 / Received: 3",
            "jt/syntax.test.js | jt/syntax.test.js | SyntaxError: jt/syntax.test.js: Unexpected token (2:12)",
            "jt/broken.test.js | jt/broken.test.js:1 | Cannot find module './gone' from 'jt/broken.test.js'",
        ],
    );
    holds(
        include_str!("samples/vitest.txt"),
        &[
            "Failed 4/5",
            "vt/cart.test.js > total adds the prices | vt/cart.test.js:5 | AssertionError: expected 3 to be 2 // Object.is equality / - Expected / + Received / - 2 / + 3",
        ],
    );
    holds(
        include_str!("samples/mocha.txt"),
        &[
            "Failed 3/4",
            "cart > gives the first name | test/cart.js:9 | TypeError: Cannot read properties of undefined (reading 'name')",
            "lib/cart.js:6",
        ],
    );
}

#[test]
fn an_error_without_a_runner_has_its_places() {
    check(
        "Traceback (most recent call last):\n  File \"/p/chain.py\", line 4, in main\n    discount(1, 7)\n  File \"/usr/lib/python3/x.py\", line 1, in y\n    inner()\nValueError: rate 7\n\nThe above exception was the direct cause of the following exception:\n\nTraceback (most recent call last):\n  File \"/p/chain.py\", line 7, in <module>\n    main()\nRuntimeError: cannot\n",
        "Failed 1/1
- | chain.py:4 | discount(1, 7) / ValueError: rate 7 / The above exception was the direct cause of the following exception: / main() / RuntimeError: cannot
    chain.py:7
    chain.py:4",
    );
    check(
        "  File \"/p/a.py\", line 1\n    def test_x(:\n               ^\nSyntaxError: invalid syntax\n",
        "Broken 1/1\n- | a.py:1 | def test_x(: / SyntaxError: invalid syntax",
    );
    check(
        "TypeError: Cannot read properties of undefined\n    at first (/p/lib/cart.js:6:19)\n    at Object.<anonymous> (file:///p/plain.js:2:13)\n    at Module.load (node:internal/modules/cjs/loader:1266:32)\n    at x (/p/node_modules/y/z.js:1:1)\n",
        "Failed 1/1\n- | plain.js:2 | TypeError: Cannot read properties of undefined\n    lib/cart.js:6\n    plain.js:2",
    );
    check(
        "thread 'main' panicked at src/main.rs:8:9:\nno such file\nnote: run with `RUST_BACKTRACE=1`\n",
        "Failed 1/1\n- | src/main.rs:8 | no such file",
    );
    let lines: Vec<String> = (1..40).map(|n| format!("step {n}")).collect();
    let report = failed(&lines.join("\n"));
    assert_eq!(report.errors[0].message, lines[31..].join("\n"), "whole lines of the end");
}

#[test]
fn a_run_without_failures_has_the_right_kind() {
    let check = |output: &str, succeeded: bool, expected: Kind| {
        assert_eq!(read(output, Path::new("/p"), succeeded).kind, expected, "{output}");
    };
    check("\n9 deselected in 0.01s\n", false, Kind::NoTests);
    check("\nno tests ran in 0.00s\n", false, Kind::NoTests);
    check("no tests ran in 0.00s\nERROR: file or directory not found: tests/gone.py\n", false, Kind::Missing);
    check("3 passed, 1 warning in 0.12s\n", true, Kind::Passed);
    check("3 passed, 1 warning in 0.12s\ncoverage is below 80 %\n", false, Kind::Failed);
    check("2 passed, 1 failed in 0.12s\n", true, Kind::Failed);
    check("...\n----\nRan 3 tests in 0.000s\n\nOK\n", true, Kind::Passed);
    check("\nRan 0 tests in 0.000s\n\nNO TESTS RAN\n", false, Kind::NoTests);
    check("running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored\n", true, Kind::NoTests);
    check("running 2 tests\n\ntest result: ok. 2 passed; 0 failed; 0 ignored\n", true, Kind::Passed);
    check("?   \tm/a\t[no test files]\n", true, Kind::NoTests);
    check("ok  \tm/a\t0.003s\n", true, Kind::Passed);
    check("No tests found, exiting with code 1\n", false, Kind::NoTests);
    check("Error: no test specified\n", false, Kind::NoTests);
    check("sh: 1: gofoo: not found\n", false, Kind::Missing);
    check("/usr/bin/python3: No module named pytest\n", false, Kind::Missing);
    check("error: no test target named `gone`\n", false, Kind::Missing);
    check("$ pytest\n[stopped at its deadline of 20 s; set timeout_s (at most 600)]\n...F", false, Kind::Hung);
    check("panic: test timed out after 1s\n\ngoroutine 1 [running]:\nFAIL\tm/a\t1.0s\nFAIL\n", false, Kind::Hung);
    check("a.py:3: error: not so bad\n", true, Kind::Passed);
    check("hello\n", false, Kind::Failed);
    check("", true, Kind::Passed);
}

#[test]
fn a_summary_says_the_assertion_and_the_deepest_place_within_its_limit() {
    let report = failed(include_str!("samples/pytest_long.txt"));
    assert_eq!(
        summary(&report, 280),
        "7 failed, 2 passed
- test_fixture (tests/test_cart.py:41)
  raise RuntimeError(\"no database\")
  RuntimeError: no database
- test_total (tests/test_cart.py:13)
  assert make().total() == 3
  assert 4 == 3
  +  where 4 = total()
… and 5 more"
    );
    let wide = summary(&report, 600);
    assert!(wide.contains("\n  at shop/cart.py:19\n"), "{wide}");
    assert_eq!(summary(&report, 10).chars().count(), 10);
}

proptest! {
    #[test]
    fn no_output_makes_the_reader_panic(parts in prop::collection::vec(prop::sample::select(vec![
        "=== FAILURES ===", "___ x ___", ">", "E   x", "E", "a.py:1: in f", "=".repeat(70).as_str(), "FAIL: a (b.a)", "-".repeat(70).as_str(),
        "Traceback (most recent call last):", "  File \"/p/a.py\", line 1, in f", "X: y", "Ran 1 test in 0s", "FAILED (failures=9)",
        "1 failed in 1s", "running 1 test", "---- a stdout ----", "thread 'a' panicked at a.rs:1:1:", "error: x y", " --> a.rs:1:1",
        "--- FAIL: T (0s)", "    a.go:1: x", "panic: x", "goroutine 1:", "\t/p/a.go:1 +0x1", "FAIL\tm\t1s", "TAP version 13", "not ok 1 - a.js",
        "    not ok 1 - b", "  ---", "  error: |-", "  stack: |-", "    at f (/p/a.js:1:1)", "  ...", "ℹ pass 1", "✖ failing tests:", "✖ a (1ms)",
        "test at a.js:1:1", "FAIL a.js", "  ● a › b", "  ● Test suite failed to run", " FAIL  a.js > b", " ❯ a.js:1:1", "Tests:  1 failed",
        "  1 passing", "  1 failing", "  1) a", "       b:", "é\u{301}\r", "\u{3000}\u{3000}é", "\x1b[3", "/p/a.js", "a.js:1:1 x", "",
    ].into_iter().map(str::to_owned).collect::<Vec<_>>()), 0..24), succeeded in any::<bool>()) {
        let report = read(&parts.join("\n"), Path::new("/p"), succeeded);
        prop_assert!(report.errors.len() <= FAILURES_MAX && report.errors.len() <= report.failed);
        prop_assert!(!report.errors.is_empty() || !matches!(report.kind, Kind::Failed | Kind::Broken));
        prop_assert!(summary(&report, 300).chars().count() <= 300);
    }
}

#[test]
fn a_missing_package_differs_from_a_missing_project_file() {
    let ours = |name: &str| name == "shop";
    let check = |text: &str, expected: Option<&str>| {
        assert_eq!(missing_package(text, &ours).as_deref(), expected, "{text}");
    };
    check("ModuleNotFoundError: No module named 'numpy'", Some("numpy"));
    check("ModuleNotFoundError: No module named 'shop.cart'", None);
    check("Error: Cannot find package '@a/b' imported from /p/a.js", Some("@a/b"));
    check("Error: Cannot find module './b.js'", None);
    check("error: no matching package named `rand` found", Some("rand"));
}

#[test]
fn a_run_is_no_worse_if_only_old_failures_remain() {
    let failure = |test: &str, line: usize| Failure {
        test: (!test.is_empty()).then(|| test.to_owned()),
        line: Some(line),
        message: "1 != 2".to_owned(),
        ..Failure::default()
    };
    let run = |errors: Vec<Failure>| Report { passed: 3, failed: errors.len(), errors, kind: Kind::Failed };
    let before = run(vec![failure("a", 1), failure("b", 2), failure("", 3)]);
    assert!(run(vec![failure("b", 20)]).is_no_worse_than(&before));
    assert!(run(vec![failure("", 30)]).is_no_worse_than(&before), "lines move");
    assert!(!run(vec![failure("c", 1)]).is_no_worse_than(&before));
    assert!(!Report { kind: Kind::Hung, ..run(Vec::new()) }.is_no_worse_than(&before));
    let many = Report { failed: 90, ..before };
    assert!(run(vec![failure("c", 1)]).is_no_worse_than(&many), "it may be one that is not listed");
    let crash = Failure { message: "killed".to_owned(), ..Failure::default() };
    assert!(!run(vec![crash]).is_no_worse_than(&many), "a crash names no test");
}

#[test]
fn paths_are_found_in_the_project() {
    let clean = |output: &str| places::clean(output, Path::new("/app"));
    assert_eq!(clean("at (/app/x.js:1:2) file:///app/y.js"), "at (x.js:1:2) file://y.js");
    assert_eq!(clean("/app/x.py\n/usr/app/x.py ./app/y.py"), "x.py\n/usr/app/x.py ./app/y.py");
    let located = |paths: &[&str]| {
        let report = failed(include_str!("samples/go.txt")).located(paths);
        (report.errors[0].file.clone().unwrap_or_default(), report.errors[0].frames.len())
    };
    assert_eq!(located(&["shop/cart_test.go", "shop/cart.go"]), ("shop/cart_test.go".to_owned(), 1));
    assert_eq!(located(&["a/cart_test.go", "b/cart_test.go"]), ("cart_test.go".to_owned(), 0), "either may be meant");
}
