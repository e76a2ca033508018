//! Reads the output of pytest and unittest.

use super::text::{inside, message, number, short, tells};
use super::{Failure, Frame, Kind, Report, trace};
use crate::base::pattern::static_regex;

/// Reads pytest's failures, whatever its `--tb` is:
/// ```text
/// =========== FAILURES ===========
/// __________ test_total __________
///     def test_total():
/// >       assert make().total() == 3
/// E       assert 4 == 3
/// tests/test_cart.py:13: AssertionError
/// ==== short test summary info ====
/// FAILED tests/test_cart.py::test_total - assert 4 == 3
/// 1 failed, 2 passed in 0.05s
/// ```
pub fn pytest(text: &str) -> Option<Report> {
    static_regex!(
        COUNTS =
            r"(?m)^(?:=+ )?((?:\d+ [a-z]+(?: passed)?, )*(?:\d+ [a-z]+(?: passed)?|no tests ran)) in \d[\d.]*s\b.*$"
    );
    let counts = COUNTS.captures_iter(text).last()?;
    let count = |noun: &str| {
        let parts = counts[1].split(", ").filter_map(|part| part.split_once(' '));
        parts.filter(|(_, what)| what.trim_end_matches('s') == noun).map(|(n, _)| number(n)).sum::<usize>()
    };
    let mut named = summary(text);
    let mut errors: Vec<Failure> =
        blocks(text).iter().map(|(heading, body)| failure(heading, body, &mut named)).collect();
    // With `--tb=no` and `--tb=line` only the summary names the failures.
    errors.extend(named.into_iter().map(|Named { test, message, .. }| {
        let file = test.split("::").next().and_then(inside);
        Failure { test: Some(test), file, message, ..Failure::default() }
    }));
    let failed = count("failed") + count("error");
    let mut report = Report::counted(count("passed"), failed, errors);
    if report.kind == Kind::Failed && report.passed == 0 && count("failed") == 0 && text.contains("ERROR collecting") {
        report.kind = Kind::Broken;
    }
    if report.kind == Kind::NoTests
        && let Some(line) = text.lines().find(|line| line.starts_with("ERROR: "))
    {
        report.kind = Kind::Missing;
        report.errors.push(Failure { message: short(line), ..Failure::default() });
    }
    Some(report)
}

/// A line of pytest's short summary.
struct Named {
    /// `tests/test_cart.py::TestDict::test_keys`, or a file.
    test: String,
    /// The test as the heading of its failure names it: `TestDict.test_keys`.
    heading: String,
    message: String,
}

/// The failed tests of pytest's short summary.
fn summary(text: &str) -> Vec<Named> {
    static_regex!(LINE = r"^(?:FAILED|ERROR|SUBFAIL(?:ED)?(?:\[.*?\]|\(.*?\))*) (\S+?\.py(?:::\S.*?)?)(?: - (.*))?$");
    let lines = text.lines().skip_while(|line| !line.contains("short test summary info"));
    let named = lines.filter_map(|line| LINE.captures(line)).map(|found| {
        let test = found[1].to_owned();
        let heading = test.split_once("::").map_or(test.clone(), |(_, name)| name.replace("::", "."));
        let message = found.get(2).map_or(String::new(), |message| message.as_str().to_owned());
        Named { test, heading, message }
    });
    named.collect()
}

/// The heading and the lines of each failure.
fn blocks(text: &str) -> Vec<(&str, Vec<&str>)> {
    let is_line_of = |line: &str, mark: char| line.len() > 4 && line.starts_with([mark]) && line.ends_with([mark]);
    let mut blocks: Vec<(&str, Vec<&str>)> = Vec::new();
    // Whether the line is in a section of failures, and in the body of one failure.
    let (mut in_section, mut in_body) = (false, false);
    for line in text.lines() {
        if is_line_of(line, '=') {
            let title = line.trim_matches('=').trim();
            (in_section, in_body) = (matches!(title, "ERRORS" | "FAILURES"), false);
        } else if in_section && line.starts_with("__") && is_line_of(line, '_') {
            blocks.push((line.trim_matches('_').trim(), Vec::new()));
            in_body = true;
        } else if line.starts_with("---") && line.contains(" Captured ") {
            in_body = false;
        } else if let Some((_, body)) = blocks.last_mut().filter(|_| in_body) {
            body.push(line);
        }
    }
    blocks
}

/// One failure from its heading and body. Its line of the summary is taken out of `named`.
fn failure(heading: &str, body: &[&str], named: &mut Vec<Named>) -> Failure {
    let name = heading
        .trim_start_matches("ERROR collecting ")
        .trim_start_matches("ERROR at setup of ")
        .trim_start_matches("ERROR at teardown of ");
    let error_lines: Vec<&str> =
        body.iter().filter_map(|line| line.strip_prefix('E')).filter(|l| l.starts_with("  ")).collect();
    let native = trace::python(&body.join("\n")).filter(|_| error_lines.is_empty());
    let (message, frames) = match native {
        Some(trace) => (trace.message, trace.frames),
        None => (message(error_lines.iter().copied().filter(tells)), frames(body, &error_lines)),
    };
    let fits = |named: &&Named| {
        let is_file = frames.iter().any(|frame| named.test.starts_with(&frame.file));
        (named.heading == name || name.strip_prefix(&named.heading).is_some_and(|rest| rest.starts_with(" (")))
            && is_file
    };
    let at = named.iter().position(|one| fits(&one)).or_else(|| named.iter().position(|one| one.heading == name));
    let test = at.map_or(name.to_owned(), |at| named.remove(at).test);
    let mut failure = Failure::at(Some(test), message, frames);
    let of_test =
        failure.test.as_deref().and_then(|test| inside(test.split("::").next()?)).filter(|f| f.ends_with(".py"));
    if of_test.is_some() && of_test != failure.file {
        failure.line = failure.frames.iter().rev().find(|frame| Some(&frame.file) == of_test.as_ref()).map(|f| f.line);
        failure.file = of_test;
    }
    failure
}

/// The frames of a body, deepest first. A place is `shop/cart.py:13: in discount` with the code below it, or code with
/// `>` and the place below that.
fn frames(body: &[&str], error_lines: &[&str]) -> Vec<Frame> {
    static_regex!(PLACE = r"^(\S[^:]*):(\d+): ?(?:(in) .+|[\w.]*)$");
    static_regex!(FILE = r#"File "([^"]+)", line (\d+)"#);
    let mut frames = Vec::new();
    let mut code = String::new();
    for (at, line) in body.iter().enumerate() {
        if let Some(shown) = line.strip_prefix('>') {
            code = short(shown.trim());
        }
        let Some(found) = PLACE.captures(line) else { continue };
        if found.get(3).is_some() {
            code = short(body.get(at + 1).filter(|next| next.starts_with(' ')).map_or("", |next| next.trim()));
        }
        if let Some(file) = inside(&found[1]) {
            frames.push(Frame { file, line: number(&found[2]), code: code.clone() });
        }
        code.clear();
    }
    // If a file does not parse, only the error names it.
    frames.extend(error_lines.iter().enumerate().filter_map(|(at, line)| {
        let found = FILE.captures(line)?;
        let code = short(error_lines.get(at + 1).map_or("", |code| code.trim()));
        Some(Frame { file: inside(&found[1])?, line: number(&found[2]), code })
    }));
    frames.reverse();
    trace::dedup(&mut frames);
    frames
}

/// Reads unittest:
/// ```text
/// ======================================================================
/// FAIL: test_total (tests.test_unit.CartTest.test_total)
/// ----------------------------------------------------------------------
/// Traceback (most recent call last):
///   File "/project/tests/test_unit.py", line 9, in test_total
///     self.assertEqual(cart.total(), 3)
/// AssertionError: 4 != 3
///
/// ----------------------------------------------------------------------
/// Ran 4 tests in 0.001s
///
/// FAILED (failures=3, errors=1)
/// ```
pub fn unittest(text: &str) -> Option<Report> {
    static_regex!(RAN = r"(?m)^Ran (\d+) tests? in ");
    static_regex!(WRONG = r"(?m)^FAILED \((.*)\)$");
    static_regex!(HEADING = r"^(?:FAIL|ERROR): (\S+) \((.+?)\)( .*)?$");
    let ran: usize = RAN.captures_iter(text).map(|found| number(&found[1])).sum();
    RAN.find(text)?;
    let rule = |line: &str, mark: char| line.len() >= 70 && line.chars().all(|c| c == mark);
    let mut blocks: Vec<(String, Vec<&str>)> = Vec::new();
    let mut lines = text.lines().peekable();
    let mut open = false;
    while let Some(line) = lines.next() {
        if rule(line, '=') {
            let found = lines.peek().and_then(|next| HEADING.captures(next));
            open = found.is_some();
            blocks.extend(found.map(|found| (test_name(&found), Vec::new())));
        } else if rule(line, '-') {
            open &= blocks.last().is_some_and(|(_, body)| !body.iter().any(|line| line.starts_with("Traceback")));
        } else if let Some((_, body)) = blocks.last_mut().filter(|_| open) {
            body.push(line);
        }
    }
    let mut not_loaded = 0;
    let errors: Vec<Failure> = blocks
        .into_iter()
        .map(|(test, body)| {
            let trace = trace::python(&body.join("\n")).unwrap_or_default();
            not_loaded += usize::from(test.contains("_FailedTest"));
            let test = test.split("unittest.loader._FailedTest.").last().unwrap_or_default().to_owned();
            Failure::at(Some(test), trace.message, trace.frames)
        })
        .collect();
    let wrong = WRONG.captures_iter(text).last().map_or(0, |found| {
        let counts = found[1].split(", ").filter(|part| part.starts_with("failures=") || part.starts_with("errors="));
        counts.filter_map(|part| part.split_once('=')).map(|(_, count)| number(count)).sum()
    });
    let mut report = Report::counted(ran.saturating_sub(wrong), wrong, errors);
    if not_loaded > 0 && not_loaded == wrong {
        report.kind = Kind::Broken;
    }
    Some(report)
}

/// The full name of a test: `tests.test_unit.CartTest.test_total`. Before Python 3.11 unittest prints the name before
/// the class.
fn test_name(found: &regex::Captures<'_>) -> String {
    let (name, class) = (&found[1], &found[2]);
    let whole = if class.ends_with(&format!(".{name}")) { class.to_owned() } else { format!("{class}.{name}") };
    format!("{whole}{}", found.get(3).map_or("", |part| part.as_str()))
}
