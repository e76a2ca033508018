//! Reads the output of a run line by line: the heads that runners print above failed tests, the lines below, and the counts.

use std::collections::HashSet;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::places::{Placed, clean, home, inside, placed};
use super::{FAILURES_MAX, Failure, Frame, Kind, Report};
use crate::base::pattern::{pattern, static_regex};

/// Maximum number of lines kept per failure, and of characters per line.
const MESSAGE_LINES_MAX: usize = 8;
const LINE_CHARS_MAX: usize = 240;
/// Maximum number of failures read from one output; the counts include the others.
const READ_MAX: usize = 400;
/// Maximum number of frames kept per failure. Infinite recursion prints hundreds.
const FRAMES_MAX: usize = 12;

/// Reads the output of a run, stdout and stderr together, with or without colours. `root` is the
/// project's folder as the runner saw it: absolute paths under it become relative, other absolute
/// paths are not treated as places. `succeeded` is true if the exit status is zero.
pub fn read(output: &str, root: &Path, succeeded: bool) -> Report {
    static_regex!(NO_TESTS = r"no tests ran|\[no test files\]|No tests? (?:files? )?found|Error: no test specified");
    static_regex!(BROKEN = r"\b(?:SyntaxError|ImportError|ModuleNotFoundError)\b|Cannot find module|\[build failed\]");
    let text = clean(output, root);
    let Counts { passed, failed, of_tests } = counts(&text);
    // A pipe hides a runner's exit status, but not its counts.
    let is_green = succeeded && failed == 0;
    let mut errors = if is_green { Vec::new() } else { Reader::new(&text, succeeded).failures() };
    let failed = failed.max(errors.len());
    let is_counted = passed + failed > 0;
    let lines: Vec<&str> = text.lines().collect();
    let whole = failure(None, &lines, MESSAGE_LINES_MAX);
    // The error of a program that ran without a test runner.
    let is_bare = !succeeded && !is_counted && !of_tests && !whole.frames.is_empty();
    let kind = if is_stopped(&text) {
        Kind::Hung
    } else if failed > 0 {
        let is_broken = |one: &Failure| one.is_of_a_compiler() || BROKEN.is_match(&one.message);
        let all = passed == 0 && !errors.is_empty() && errors.iter().all(is_broken);
        if all { Kind::Broken } else { Kind::Failed }
    } else if is_bare {
        if BROKEN.is_match(&whole.message) { Kind::Broken } else { Kind::Failed }
    } else if !succeeded && !is_counted && is_missing(&text) {
        Kind::Missing
    } else if !is_counted && (of_tests || NO_TESTS.is_match(&text)) {
        Kind::NoTests
    } else if succeeded {
        Kind::Passed
    } else {
        Kind::Failed
    };
    if errors.is_empty() && matches!(kind, Kind::Failed | Kind::Broken) {
        errors.push(whole);
    }
    let failed = failed.max(errors.len());
    errors.truncate(FAILURES_MAX);
    Report { passed, failed, errors, kind }
}

/// The counts that runners print.
struct Counts {
    passed: usize,
    failed: usize,
    /// Whether a runner printed any count.
    of_tests: bool,
}

fn counts(text: &str) -> Counts {
    static_regex!(
        LINE = r"^(?:=+ )?(?:\d+ [a-z]+(?: passed)?(?:, )?)+ in \d[\d.]*s\b|^test result: |^\s*Tests(?::\s|\s\s)|^  \d+ (?:passing|failing)\b|^(?:#|ℹ) (?:pass|fail) \d+$"
    );
    static_regex!(PASSED = r"\b(\d+) pass(?:ed|ing)\b|\bpass (\d+)$");
    static_regex!(FAILED = r"\b(\d+) (?:failed|failing|errors?)\b|\bfail (\d+)$|(?:\(|, )(?:failures|errors)=(\d+)");
    static_regex!(RAN = r"^Ran (\d+) tests? in ");
    let number = |found: regex::Captures<'_>| -> usize {
        found.iter().skip(1).flatten().find_map(|digits| digits.as_str().parse().ok()).unwrap_or(0)
    };
    let sum = |pattern: &Regex, line: &str| pattern.captures_iter(line).map(number).sum::<usize>();
    let (mut passed, mut failed, mut of_tests) = (0, 0, false);
    // Go prints no totals: packages that passed or, with `-v`, tests are counted here.
    let (mut packages, mut named) = (0, 0);
    // unittest prints the total number of tests and the number of failures.
    let (mut ran, mut wrong) = (0usize, 0);
    for line in text.lines() {
        if LINE.is_match(line) {
            passed += sum(&PASSED, line);
            failed += sum(&FAILED, line);
            of_tests = true;
        } else if RAN.is_match(line) {
            ran += sum(&RAN, line);
            of_tests = true;
        } else if line.starts_with("FAILED (") {
            wrong += sum(&FAILED, line);
        }
        packages += usize::from(line.starts_with("ok  \t"));
        named += usize::from(line.trim_start().starts_with("--- PASS: "));
    }
    let of_go = if named > 0 { named } else { packages };
    Counts { passed: passed + ran.saturating_sub(wrong) + of_go, failed: failed + wrong, of_tests }
}

/// The lines that begin a failure, with the test name.
///
/// ```text
/// ___________ ERROR at setup of test_fixture ___________     pytest
/// FAIL: test_total (tests.test_unit.CartTest.test_total)     unittest
/// ---- cart::tests::total_adds stdout ----                   cargo test
/// --- FAIL: TestTable/two (0.00s)                            go test
/// not ok 2 - total adds the prices                           TAP
/// ✖ total adds the prices (2.2ms)                            Node.js
///   ● first › is deep                                        jest
///  FAIL  vt/cart.test.js > first > is deep                   vitest
/// ```
static HEAD: LazyLock<[Regex; 8]> = LazyLock::new(|| {
    [
        pattern(r"^_{2,} (?:ERROR (?:at setup of|at teardown of|collecting) )?(.+?) _{2,}$"),
        pattern(r"^(?:FAIL|ERROR): (\S+ \(.+)$"),
        pattern(r"^---- (.+?) stdout ----$"),
        pattern(r"^\s*--- FAIL: (\S+) \("),
        pattern(r"^\s*not ok \d+ - (.+)$"),
        pattern(r"^\s*✖ (.+?) \([\d.]+ms\)$"),
        pattern(r"^  ● (.+)$"),
        pattern(r"^ FAIL  (.+?)(?: \[.*)?$"),
    ]
});

/// mocha lists the failed tests below its counts with numbers: ` 1) cart`, and the rest of each
/// name on the lines below.
static NUMBERED: LazyLock<Regex> = LazyLock::new(|| pattern(r"^  \d+\) (.+)$"));

/// `error[E0425]: cannot find value`, but not the lines that only count such errors.
static RUSTC: LazyLock<Regex> = LazyLock::new(|| pattern(r"^error(?:\[E\d+\]: |: [a-z`]+ )"));
const RUSTC_SUMS: &[&str] = &["could not compile", "aborting due", "test failed", "build failed"];

/// Lines that end the failure above.
static END: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^=+(?: .* =+)?$|^-+ Captured |^failures:$|^test result:|^(?:FAIL|ok  |\?   )\t|^(?:FAIL|PASS) \S|^=== RUN|^Ran \d+ tests?|^(?:#|ℹ) \w+ \d|^\s*\.\.\.$|⎯⎯⎯|^Test Suites:|^ Test Files |^warning: |^  \d+ (?:passing|failing)|^✖ failing|^test at |^\s*[✔▶] ",
    )
});

/// Reads the failures in one output.
struct Reader<'a> {
    lines: Vec<&'a str>,
    succeeded: bool,
    /// The line where mocha's list of failures begins.
    list: usize,
}

/// One failure as printed.
struct Block<'a> {
    /// `None` for a compiler error.
    test: Option<String>,
    body: Vec<&'a str>,
    /// Index of the line after it.
    end: usize,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, succeeded: bool) -> Reader<'a> {
        static_regex!(FAILING = r"^  \d+ failing");
        let lines = without_passed(text);
        let list = lines.iter().position(|line| FAILING.is_match(line)).unwrap_or(lines.len());
        Reader { lines, succeeded, list }
    }

    /// All failures, each with the lines below its head or, if there are none, with the lines above
    /// it.
    fn failures(&self) -> Vec<Failure> {
        let mut found: Vec<Failure> = Vec::new();
        let (mut listed, mut of_compiler): (Vec<Failure>, Vec<Failure>) = Default::default();
        // `free` is the first line that belongs to no failure yet.
        let (mut at, mut free) = (0, 0);
        while at < self.lines.len() && found.len() + listed.len() + of_compiler.len() < READ_MAX {
            let Some(block) = self.block(at) else {
                listed.extend(listed_by_pytest(self.lines[at]));
                of_compiler.extend(on_one_line(self.lines[at]).filter(|_| !self.succeeded));
                free = if END.is_match(self.lines[at]) { at + 1 } else { free };
                at += 1;
                continue;
            };
            let is_suite = self.is_suite(&block, at);
            let mut one = failure(block.test.clone(), &block.body, usize::MAX);
            if one.message.is_empty() || one.message.ends_with("'test failed'") {
                let above = failure(block.test, &self.lines[free..at], usize::MAX);
                let (file, line) = (one.file.clone().or(above.file.clone()), one.line.or(above.line));
                one = if above.message.is_empty() { one } else { Failure { file, line, ..above } };
            }
            match found.iter_mut().find(|other| is_same(other, &one)) {
                // Some runners print a failure twice, once without its message.
                Some(other) if other.message.len() < one.message.len() => *other = one,
                Some(_) => {}
                // Cargo's own errors name no place.
                None => {
                    found.extend(Some(one).filter(|one| !is_suite && (one.test.is_some() || !one.frames.is_empty())))
                }
            }
            (at, free) = (block.end, block.end);
        }
        // A Go test that fails because of its subtests prints no message.
        let names: Vec<String> = found.iter().filter_map(|one| one.test.clone()).collect();
        let holds =
            |test: &str| names.iter().any(|name| name.strip_prefix(test).is_some_and(|rest| rest.starts_with('/')));
        found.retain(|one| one.test.as_deref().is_none_or(|test| !holds(test)));
        let is_unnamed = found.iter().all(|one| one.test.is_none());
        match (is_unnamed, listed.is_empty()) {
            (false, _) => found,
            (true, false) => listed,
            // Log lines can look like compiler errors, so these count only if no test is named.
            (true, true) => [found, of_compiler].concat(),
        }
    }

    /// The failure whose head is the line `at`.
    fn block(&self, at: usize) -> Option<Block<'a>> {
        let line = self.lines[at];
        let is_rustc = |line: &str| RUSTC.is_match(line) && !RUSTC_SUMS.iter().any(|end| line.contains(end));
        let (is_numbered, is_compiler) = (self.list < at && NUMBERED.is_match(line), !self.succeeded && is_rustc(line));
        let test = match is_compiler {
            true => None,
            false => Some(self.name(at)?),
        };
        let below = at + 1;
        let is_end = |at: usize| {
            let line = self.lines[at];
            END.is_match(line) || self.name(at).is_some() || is_compiler && (line.is_empty() || is_rustc(line))
        };
        let end = (below..self.lines.len()).find(|at| is_end(*at)).unwrap_or(self.lines.len());
        let begin = if is_compiler { at } else { below };
        let mut block = Block { test, body: self.lines[begin..end].to_vec(), end };
        if is_numbered {
            let titles = block.body.iter().take_while(|line| line.starts_with("       ")).count();
            let names = block.body.drain(..titles).map(|title| format!(" > {}", title.trim().trim_end_matches(':')));
            block.test = block.test.map(|test| names.fold(test, |all, name| all + &name));
        }
        if block.test.as_deref() == Some("Test suite failed to run") {
            block.test = Some(self.file_above(at));
            // jest prints advice about its configuration before the error.
            let advice = block.body.iter().position(|line| line.trim() == "Details:").map_or(0, |details| details + 1);
            block.body.drain(..advice);
        }
        Some(block)
    }

    /// The name of the test whose failure begins at line `at`.
    fn name(&self, at: usize) -> Option<String> {
        let line = self.lines[at];
        let numbered = NUMBERED.captures(line).filter(|_| self.list < at);
        let found = HEAD.iter().find_map(|head| head.captures(line)).or(numbered)?;
        let is_expected = |name: &str| name.contains("# TODO") || name.contains("# SKIP");
        Some(found[1].to_owned()).filter(|name| name != "Console" && !is_expected(name))
    }

    /// The file that jest names above the line `at`.
    fn file_above(&self, at: usize) -> String {
        let above = self.lines[..at].iter().rev().find_map(|line| line.strip_prefix("FAIL "));
        above.and_then(|file| file.split(' ').next()).unwrap_or_default().to_owned()
    }

    /// Whether the failure is that of a test group whose individual failures are also listed.
    fn is_suite(&self, block: &Block<'_>, at: usize) -> bool {
        let heading = block.test.as_ref().map(|test| format!("▶ {test}"));
        block.body.iter().any(|line| line.contains("'subtestsFailed'"))
            || heading.is_some_and(|heading| self.lines[..at].iter().any(|line| line.trim_start() == heading))
    }
}

fn is_same(one: &Failure, other: &Failure) -> bool {
    let is_one_file = one.file == other.file || one.file.is_none() || other.file.is_none();
    one == other || one.test.is_some() && one.test == other.test && is_one_file
}

/// A failure from a line of pytest's summary, possibly not printed elsewhere.
fn listed_by_pytest(line: &str) -> Option<Failure> {
    static_regex!(LISTED = r"^(?:FAILED|ERROR) (\S+?\.py(?:::\S.*?)?)(?: - (.*))?$");
    let found = LISTED.captures(line)?;
    let message = found.get(2).map_or("", |said| said.as_str()).to_owned();
    Some(Failure { test: Some(found[1].to_owned()), file: file_of(&found[1]), message, ..Failure::default() })
}

/// The lines of an output, without those that pytest and Cargo print for passed tests.
fn without_passed(text: &str) -> Vec<&str> {
    static_regex!(PASSED = r"^=+ PASSES =+$|^successes:$");
    static_regex!(OTHER = r"^=+ .* =+$|^failures:$|^test result:");
    let mut is_passed = false;
    let is_kept = |line: &&str| {
        is_passed = PASSED.is_match(line) || is_passed && !OTHER.is_match(line);
        !is_passed
    };
    text.lines().filter(is_kept).collect()
}

/// A compiler error on one line, as tsc, go, mypy, gcc and others print it: `a.ts(4,5): error …`,
/// `a.go:5:9: …`. Without a column, the message must begin with `error` or, say, `fatal error`.
fn on_one_line(line: &str) -> Option<Failure> {
    static_regex!(
        ERROR = r"^(?:vet: )?(?<file>[^\s:(]+\.[A-Za-z]\w*)(?::(?<line>\d+)(?<column>:\d+)?:?|\((?<at>\d+),\d+\):) (?:- )?(?<said>.+)$"
    );
    static_regex!(SEVERE = r"(?i)^(?:\w+ )?error\b");
    static_regex!(MILD = r"(?i)^(?:warning|note|info|help|hint)\b");
    let found = ERROR.captures(line)?;
    let has_column = found.name("column").or(found.name("at")).is_some();
    if MILD.is_match(&found["said"]) || !has_column && !SEVERE.is_match(&found["said"]) {
        return None;
    }
    let line = found.name("line").or(found.name("at")).and_then(|line| line.as_str().parse().ok())?;
    let frame = Frame { file: inside(&found["file"])?, line };
    Some(Failure { message: short(&found["said"]), ..Failure::at(None, vec![frame]) })
}

/// The file in a test name: `tests/test_cart.py::test_total`, `src/cart.test.ts > adds`.
fn file_of(test: &str) -> Option<String> {
    let first = test.split([' ', ':']).next().filter(|first| Path::new(first).extension().is_some())?;
    inside(first).filter(|file| file.contains('/'))
}

impl Failure {
    /// A failure with its frames, deepest first; the outermost frame gives its file and line.
    fn at(test: Option<String>, frames: Vec<Frame>) -> Failure {
        let place = frames.last();
        let (file, line) = (place.map(|frame| frame.file.clone()), place.map(|frame| frame.line));
        Failure { test, file, line, frames, message: String::new() }
    }

    fn is_of_a_compiler(&self) -> bool {
        self.test.is_none() && !self.frames.is_empty()
    }
}

/// The failure of `test` described by these lines, with the last `most` lines of the message.
fn failure(test: Option<String>, lines: &[&str], most: usize) -> Failure {
    let is_rustc = lines.first().is_some_and(|line| RUSTC.is_match(line));
    // pytest marks the important lines with `E`.
    let is_marked = lines.iter().any(|line| line.starts_with("E  "));
    let (mut frames, mut said, mut begins): (Vec<Frame>, Vec<String>, Option<Frame>) = Default::default();
    // Whether the lines below a place are code: the project's (`is_own`) or that of other software.
    let (mut is_own, mut is_foreign) = (false, false);
    for line in lines {
        let is_code = line.starts_with("    ");
        if let Some(frame) = home(line) {
            begins = Some(frame);
        } else if let Some(Placed { frame, said: rest }) = placed(line) {
            (is_own, is_foreign) = (frame.is_some(), frame.is_none());
            frames.extend(frame);
            said.extend(rest);
            continue;
        } else if let Some(marked) = line.strip_prefix("E  ").or(line.strip_prefix("> ")).filter(|_| is_marked) {
            said.extend(Some(short(marked.trim_start())).filter(|line| !is_noise(line)));
        } else if !(is_noise(line) || is_marked && !is_own || is_foreign && is_code) {
            said.push(short(line));
        }
        (is_own, is_foreign) = (false, is_foreign && is_code);
    }
    if is_rustc {
        frames.truncate(1);
    } else if frames.first().is_some_and(|frame| frame.file.ends_with(".py")) {
        // Python prints the deepest place last, others print it first.
        frames.reverse();
    }
    let mut seen = HashSet::new();
    frames.retain(|frame| seen.insert((frame.file.clone(), frame.line)));
    frames.truncate(FRAMES_MAX);
    said.drain(..said.len().saturating_sub(most));
    said.truncate(MESSAGE_LINES_MAX);
    let indent = said.iter().map(|line| line.len() - line.trim_start_matches(" ").len()).min().unwrap_or(0);
    let message = said.iter().map(|line| &line[indent..]).collect::<Vec<_>>().join("\n").trim_start().to_owned();
    let of_name = test.as_deref().and_then(file_of);
    let failure = Failure { message, ..Failure::at(test, frames) };
    match (&failure.file, begins, of_name) {
        (None, Some(Frame { file, line }), _) => Failure { file: Some(file), line: Some(line), ..failure },
        (None, None, file) => Failure { file, ..failure },
        _ => failure,
    }
}

/// A line, shortened to `LINE_CHARS_MAX` characters.
fn short(line: &str) -> String {
    match line.char_indices().nth(LINE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.trim_end().to_owned(),
    }
}

/// Whether a line is irrelevant to the failure: rules, TAP fields, advice, quoted code without a
/// remark, stack frames.
fn is_noise(line: &str) -> bool {
    static_regex!(
        NOISE = r"^[\s\-=_~^|⎯+]*$|^\s*(?:duration_ms|failureType|exitCode|signal|code|name|operator|generatedMessage|stack): |^\s*error: \|-$|^\s*# Subtest|^\s*Use -v|^note: run with|^\[exit status|^\$ | at 0x[0-9a-f]+>|^Traceback|^\s*>? *\d+ ?\|( .*)?$|^\s+at \S|\(<anonymous>\)$|^Require stack:|^Node\.js v|^node:|^goroutine \d|^created by |^\S+\((?:\.\.\.|\{?0x.*)?\)$"
    );
    NOISE.is_match(line)
}

/// Whether the program, script, module or file to run does not exist.
fn is_missing(text: &str) -> bool {
    const SIGNS: &[&str] = &[
        ": command not found",
        ": not found",
        ": No module named ",
        "Missing script:",
        "npx canceled due to missing packages",
        "npm error code ENOTCACHED",
        ": can't open file ",
        "no test target named",
        "could not find `Cargo.toml`",
        "Could not find '",
        "no required module provides package",
        "go: cannot find main module",
        "directory not found",
        "No rule to make target",
    ];
    SIGNS.iter().any(|sign| text.contains(sign))
}

/// Whether the run was stopped at a time limit, either by the command tool or by the test runner.
fn is_stopped(text: &str) -> bool {
    text.lines().take(4).any(|line| line.starts_with("[stopped at its deadline"))
        || text.lines().any(|line| line.starts_with("panic: test timed out after"))
}
