//! Tests of the module above, on what the tools printed for small projects with one mistake each (paths shortened to `/p`).

use proptest::prelude::*;

use super::*;

/// A report as text: its kind and counts, then each failure with its test, place, message and frames.
fn rendered(output: &str) -> String {
    let report = read(output, Path::new("/p"));
    let mut text = format!("{:?} {}/{}", report.kind, report.failed, report.passed + report.failed);
    for failure in &report.errors {
        let line = failure.line.map_or(String::new(), |line| format!(":{line}"));
        let place = format!("{}{line}", failure.file.as_deref().unwrap_or("?"));
        let said =
            failure.message.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" / ");
        text.push_str(&format!("\n{} | {place} | {said}", failure.test.as_deref().unwrap_or("-")));
        for frame in &failure.frames {
            text.push_str(&format!("\n    {}:{} `{}`", frame.file, frame.line, frame.code));
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
fn pytest_says_what_was_compared_and_where_an_error_arose() {
    let expected = [
        "Failed 7/9",
        "tests/test_cart.py::test_fixture | tests/test_cart.py:41 | RuntimeError: no database",
        "tests/test_cart.py::test_total | tests/test_cart.py:13 | assert 4 == 3 / +  where 4 = total()",
        "tests/test_cart.py:13 `assert make().total() == 3`",
        "tests/test_cart.py::test_discount_rate | tests/test_cart.py:17 | ValueError: rate 20 is above 1",
        "shop/cart.py:19 `raise ValueError(f\"rate {rate} is above 1\")`",
        "shop/cart.py:13 `check_rate(rate)`",
        "tests/test_cart.py:17 `assert discount(100, 20) == 80`",
        "tests/test_cart.py:22 `assert json.loads(text) == 1`",
        "tests/test_cart.py::test_raises | tests/test_cart.py:35 | Failed: DID NOT RAISE KeyError",
    ];
    holds(include_str!("samples/pytest_long.txt"), &expected);
    holds(include_str!("samples/pytest_short.txt"), &expected);
    check(
        include_str!("samples/pytest_native.txt"),
        "Failed 1/1
tests/test_cart.py::test_total | tests/test_cart.py:13 | AssertionError: assert 4 == 3 / +  where 4 = total()
    tests/test_cart.py:13 `assert make().total() == 3`",
    );
    check(
        "FF.                        [100%]\n==== short test summary info ====\nFAILED tests/test_cart.py::TestDict::test_keys - AssertionError: keys differ\nERROR tests/test_cart.py::test_fixture\n1 failed, 1 passed, 1 error in 0.03s\n",
        "Failed 2/3
tests/test_cart.py::TestDict::test_keys | tests/test_cart.py | AssertionError: keys differ
tests/test_cart.py::test_fixture | tests/test_cart.py |",
    );
}

#[test]
fn files_that_cannot_be_loaded_differ_from_failed_tests() {
    check(
        include_str!("samples/pytest_collect.txt"),
        "Broken 2/2
tests/test_import.py | tests/test_import.py:1 | ImportError: cannot import name 'Missing' from 'shop.cart' (shop/cart.py)
    tests/test_import.py:1 `from shop.cart import Missing`
tests/test_syntax.py | tests/test_syntax.py:1 | def test_x(: / ^ / SyntaxError: invalid syntax
    tests/test_syntax.py:1 `def test_x(:`",
    );
    holds(
        include_str!("samples/cargo_compile.txt"),
        &[
            "Broken 3/3",
            "- | src/cart.rs:2 | error[E0425]: cannot find value `missing` in this scope / not found in this scope",
            "src/cart.rs:2 `prices.iter().sum::<u64>() + missing`",
        ],
    );
    check(
        include_str!("samples/go_build.txt"),
        "Broken 2/2
- | shop/cart.go:5 | price declared but not used
    shop/cart.go:5 ``
- | shop/cart.go:6 | undefined: prise
    shop/cart.go:6 ``",
    );
}

#[test]
fn unittest_says_the_same_as_pytest() {
    holds(
        include_str!("samples/unittest.txt"),
        &[
            "Failed 7/7",
            "tests.test_import | tests/test_import.py:1 | ImportError: cannot import name 'Missing' from 'shop.cart' (shop/cart.py)",
            "tests.test_unit.CartTest.test_error | tests/test_unit.py:12 | ValueError: rate 5 is above 1",
            "shop/cart.py:19 `raise ValueError(f\"rate {rate} is above 1\")`",
            "tests.test_unit.CartTest.test_total | tests/test_unit.py:9 | AssertionError: 4 != 3",
            "tests.test_unit.CartTest.test_sub (i=1) | tests/test_unit.py:20 | AssertionError: False is not true",
        ],
    );
}

#[test]
fn cargo_test_says_both_sides_and_the_place_of_a_panic() {
    check(
        include_str!("samples/cargo.txt"),
        r#"Failed 6/7
cart::tests::first_is_upper | src/cart.rs:6 | index out of bounds: the len is 0 but the index is 0
    src/cart.rs:6 ``
cart::tests::holds | src/cart.rs:25 | assertion failed: total(&[]) == 0
    src/cart.rs:25 ``
cart::tests::panics | src/cart.rs:41 | test did not panic as expected
    src/cart.rs:41 ``
cart::tests::results | ? | Error: "not there"
cart::tests::total_adds | src/cart.rs:15 | assertion `left == right` failed: prices of tea / left: 4 / right: 3
    src/cart.rs:15 ``
cart::tests::unwraps | src/cart.rs:30 | called `Result::unwrap()` on an `Err` value: ParseIntError { kind: InvalidDigit }
    src/cart.rs:30 ``"#,
    );
    check(
        "thread 'main' panicked at src/main.rs:8:9:\nno such file\nnote: run with `RUST_BACKTRACE=1`\n",
        "Failed 1/1\n- | src/main.rs:8 | no such file\n    src/main.rs:8 ``",
    );
}

#[test]
fn go_test_says_the_messages_of_each_test_and_panics() {
    check(
        include_str!("samples/go.txt"),
        "Failed 3/3
TestTotal | example.com/shop/shop/cart_test.go:7 | Total() = 4, want 3
    example.com/shop/shop/cart_test.go:7 ``
TestTable/two | example.com/shop/shop/cart_test.go:15 | got 1 / want 2
    example.com/shop/shop/cart_test.go:15 ``
TestFirst | shop/cart_test.go:22 | panic: runtime error: index out of range [0] with length 0
    shop/cart.go:12 ``
    shop/cart_test.go:22 ``",
    );
    holds(
        include_str!("samples/gov.txt"),
        &["Failed 2/5", "TestTable/two | example.com/shop/shop/cart_test.go:15 | got 1 / want 2"],
    );
    let report = read(include_str!("samples/gov.txt"), Path::new("/p")).located(&["shop/cart_test.go", "cart_test.go"]);
    assert_eq!(report.errors[0].file.as_deref(), Some("shop/cart_test.go"));
    assert_eq!(report.errors[0].frames[0].file, "shop/cart_test.go");
}

#[test]
fn the_runner_of_node_is_read_in_both_forms() {
    check(
        include_str!("samples/node_tap.txt"),
        "Failed 4/5
nt/broken.test.js | nt/broken.test.js:1 | Error: Cannot find module './gone'
    nt/broken.test.js:1 ``
total adds the prices | nt/cart.test.js:7 | Expected values to be strictly equal: / 3 !== 2 / expected: 2 / actual: 3
    nt/cart.test.js:7 ``
first > gives the first name | nt/cart.test.js:12 | TypeError: Cannot read properties of undefined (reading 'name')
    lib/cart.js:6 ``
    nt/cart.test.js:12 ``
first > is deep | nt/cart.test.js:15 | Expected values to be strictly deep-equal: / + actual - expected / { / a: 1, / b: [ / 1, / +     2 / -     3 / ] / }
    nt/cart.test.js:15 ``",
    );
    holds(
        include_str!("samples/node_spec.txt"),
        &[
            "Failed 4/5",
            "nt/broken.test.js | nt/broken.test.js:1 | Error: Cannot find module './gone'",
            "total adds the prices | nt/cart.test.js:7 | AssertionError [ERR_ASSERTION]: Expected values to be strictly equal: / 3 !== 2 / actual: 3 / expected: 2",
            "lib/cart.js:6 ``",
        ],
    );
}

#[test]
fn jest_vitest_and_mocha_say_expected_and_received() {
    holds(
        include_str!("samples/jest.txt"),
        &[
            "Failed 5/6",
            "total adds the prices | jt/cart.test.js:4 | expect(received).toBe(expected) // Object.is equality / Expected: 2 / Received: 3",
            "jt/cart.test.js:4 `expect(total([{ price: 2 }])).toBe(2);`",
            "first > gives the first name | jt/cart.test.js:9 | TypeError: Cannot read properties of undefined (reading 'name')",
            "lib/cart.js:6 `return items[0].name.toUpperCase();`",
            "- | jt/syntax.test.js:2 | SyntaxError: jt/syntax.test.js: Unexpected token (2:12)",
            "- | jt/broken.test.js:1 | Cannot find module './gone' from 'jt/broken.test.js'",
        ],
    );
    holds(
        include_str!("samples/vitest.txt"),
        &[
            "Failed 4/5",
            "- | vt/broken.test.js:1 | Error: Cannot find module './gone' imported from vt/broken.test.js",
            "total adds the prices | vt/cart.test.js:5 | AssertionError: expected 3 to be 2 // Object.is equality / - Expected / + Received / - 2 / + 3",
            "lib/cart.js:6 `return items[0].name.toUpperCase();`",
        ],
    );
    holds(
        include_str!("samples/mocha.txt"),
        &[
            "Failed 3/4",
            "cart > total adds the prices | test/cart.js:6 | AssertionError [ERR_ASSERTION]: Expected values to be strictly equal: / 3 !== 2 / + expected - actual / -3 / +2",
            "lib/cart.js:6 ``",
        ],
    );
}

#[test]
fn a_traceback_without_a_runner_is_read_with_its_cause() {
    check(
        "said before\nTraceback (most recent call last):\n  File \"/p/chain.py\", line 4, in main\n    discount(1, 7)\n  File \"/usr/lib/python3/x.py\", line 1, in y\nValueError: rate 7\n\nThe above exception was the direct cause of the following exception:\n\nTraceback (most recent call last):\n  File \"/p/chain.py\", line 7, in <module>\n    main()\nRuntimeError: cannot\n\nsaid after\n",
        "Failed 1/1
- | chain.py:4 | RuntimeError: cannot / caused by ValueError: rate 7
    chain.py:7 `main()`
    chain.py:4 `discount(1, 7)`",
    );
    check(
        "  File \"/p/a.py\", line 1\n    def test_x(:\n               ^\nSyntaxError: invalid syntax\n",
        "Broken 1/1\n- | a.py:1 | SyntaxError: invalid syntax\n    a.py:1 `def test_x(:`",
    );
    check(
        "/p/lib/cart.js:6\n  return items[0].name;\n                  ^\n\nTypeError: Cannot read properties of undefined\n    at first (/p/lib/cart.js:6:19)\n    at Object.<anonymous> (file:///p/plain.js:2:13)\n    at Module.load (node:internal/modules/cjs/loader:1266:32)\n    at x (/p/node_modules/y/z.js:1:1)\n\nNode.js v20.20.2\n",
        "Failed 1/1\n- | plain.js:2 | TypeError: Cannot read properties of undefined\n    lib/cart.js:6 `return items[0].name;`\n    plain.js:2 ``",
    );
}

#[test]
fn compilers_and_linters_are_read_line_by_line() {
    let tsc = "Broken 1/1\n- | ts/a.ts:5 | error TS2304: Cannot find name 'Missing'.\n    ts/a.ts:5 ``";
    check("ts/a.ts(5,8): error TS2304: Cannot find name 'Missing'.\n", tsc);
    check(
        "\x1b[96mts/a.ts\x1b[0m:\x1b[93m5\x1b[0m:8 - \x1b[91merror\x1b[0m\x1b[90m TS2304: \x1b[0mCannot find name 'Missing'.\r\n",
        tsc,
    );
    check(
        "\n/p/ts/b.js\n  1:7  warning  'a' is assigned a value but never used  no-unused-vars\n  2:1  error    'foo' is not defined                    no-undef\n\n✖ 2 problems (1 error, 1 warning)\n",
        "Broken 1/1\n- | ts/b.js:2 | 'foo' is not defined (no-undef)\n    ts/b.js:2 ``",
    );
    check("a.py:3: error: Bad type  [x]\n", "Broken 1/1\n- | a.py:3 | error: Bad type  [x]\n    a.py:3 ``");
}

#[test]
fn a_run_without_failures_has_the_right_kind() {
    let check = |output: &str, expected: Kind| assert_eq!(read(output, Path::new("/p")).kind, expected, "{output}");
    check("\n9 deselected in 0.01s\n", Kind::NoTests);
    check("\nno tests ran in 0.00s\n", Kind::NoTests);
    check("no tests ran in 0.00s\nERROR: file or directory not found: tests/gone.py\n", Kind::Missing);
    check("3 passed, 1 warning in 0.12s\n", Kind::Passed);
    check("...\n----\nRan 3 tests in 0.000s\n\nOK\n", Kind::Passed);
    check("\nRan 0 tests in 0.000s\n\nNO TESTS RAN\n", Kind::NoTests);
    check("running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored\n", Kind::NoTests);
    check("running 2 tests\n\ntest result: ok. 2 passed; 0 failed; 0 ignored\n", Kind::Passed);
    check("?   \tm/a\t[no test files]\n", Kind::NoTests);
    check("ok  \tm/a\t0.003s\n", Kind::Passed);
    check("No tests found, exiting with code 1\n", Kind::NoTests);
    check("> x@1.0.0 test\n> echo \"Error: no test specified\" && exit 1\n\nError: no test specified\n", Kind::NoTests);
    check("sh: 1: gofoo: not found\n", Kind::Missing);
    check("/usr/bin/python3: No module named pytest\n", Kind::Missing);
    check("$ python3 -m pytest\n[stopped at its deadline of 20 s; give timeout_s (at most 600)]\n...F", Kind::Hung);
    check("panic: test timed out after 1s\n\ngoroutine 1 [running]:\nFAIL\tm/a\t1.0s\nFAIL\n", Kind::Hung);
    check("hello\n", Kind::Unclear);
    check("", Kind::Unclear);
}

#[test]
fn a_summary_says_the_assertion_and_the_deepest_place_within_its_limit() {
    let report = read(include_str!("samples/pytest_long.txt"), Path::new("/p"));
    assert_eq!(
        summary(&report, 320),
        "7 failed, 2 passed
- tests/test_cart.py::test_fixture (tests/test_cart.py:41)
  raise RuntimeError(\"no database\")
  RuntimeError: no database
- tests/test_cart.py::test_total (tests/test_cart.py:13)
  assert make().total() == 3
  assert 4 == 3
   +  where 4 = total()
… and 5 more"
    );
    let wide = summary(&report, 600);
    assert!(wide.contains("\n  at shop/cart.py:19: raise ValueError(f\"rate {rate} is above 1\")\n"), "{wide}");
    assert_eq!(summary(&report, 10).chars().count(), 10);
}

proptest! {
    #[test]
    fn no_output_makes_a_reader_panic(parts in prop::collection::vec(prop::sample::select(vec![
        "=== FAILURES ===", "___ x ___", ">", "E   x", "E", "a.py:1: in f", "=".repeat(70).as_str(), "FAIL: a (b.a)", "-".repeat(70).as_str(),
        "Traceback (most recent call last):", "  File \"/p/a.py\", line 1, in f", "X: y", "Ran 1 test in 0s", "FAILED (failures=9)",
        "1 failed in 1s", "running 1 test", "---- a stdout ----", "thread 'a' panicked at a.rs:1:1:", "error: x", " --> a.rs:1:1",
        "--- FAIL: T (0s)", "    a.go:1: x", "panic: x", "goroutine 1:", "\t/p/a.go:1 +0x1", "FAIL\tm\t1s", "TAP version 13", "not ok 1 - a.js",
        "    not ok 1 - b", "  ---", "  error: |-", "  stack: |-", "    at f (/p/a.js:1:1)", "  ...", "ℹ pass 1", "✖ failing tests:", "✖ a (1ms)",
        "test at a.js:1:1", "FAIL a.js", "  ● a › b", " FAIL  a.js > b", " ❯ a.js:1:1", "Tests:  1 failed", "Test Suites: 1", "  1 passing",
        "  1 failing", "  1) a", "  b:", "é\u{301}\r", "\x1b[3", "/p/a.js", "  1:1  error  x  y", "The above exception was the direct cause", "",
    ].into_iter().map(str::to_owned).collect::<Vec<_>>()), 0..24)) {
        let report = read(&parts.join("\n"), Path::new("/p"));
        prop_assert!(report.errors.len() <= FAILURES_MAX && report.errors.len() <= report.failed.max(1));
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
    assert!(!Report { kind: Kind::Unclear, ..run(Vec::new()) }.is_no_worse_than(&before));
}

#[test]
fn only_paths_that_begin_with_the_root_become_relative() {
    let check = |output: &str, expected: &str| assert_eq!(text::clean(output, Path::new("/app")), expected);
    check("at (/app/x.js:1:2) file:///app/y.js", "at (x.js:1:2) file://y.js");
    check("/app/x.py\n/usr/app/x.py ./app/y.py", "x.py\n/usr/app/x.py ./app/y.py");
}
