//! Reads the output of `go test`, `go build` and `go vet`.

use super::text::{inside, message, number};
use super::{FAILURES_MAX, Failure, Frame, Kind, Report, trace};
use crate::base::pattern::static_regex;

/// Reads `go test` output with or without `-v`, with panics and compile errors:
/// ```text
/// --- FAIL: TestTable (0.00s)
///     --- FAIL: TestTable/two (0.00s)
///         cart_test.go:15: got 1
///             want 2
/// FAIL
/// FAIL    example.com/shop/shop   0.004s
/// ```
pub fn test(text: &str) -> Option<Report> {
    static_regex!(PACKAGE = r"^(ok  |FAIL|\?   )\t(\S+)(?:\t| )+(\[[\w ]+\]|\(cached\)|[\d.]+s)?");
    let mut report = Report::default();
    let mut packages = 0;
    let mut part: Vec<&str> = Vec::new();
    for line in text.lines() {
        let Some(found) = PACKAGE.captures(line) else {
            part.push(line);
            continue;
        };
        packages += 1;
        let end = found.get(3).map_or("", |end| end.as_str());
        let package = &found[2];
        let (errors, passed) = tests(&part, package);
        let built = !matches!(end, "[build failed]" | "[setup failed]");
        report.passed += match &found[1] {
            "ok  " if !line.contains("[no test") => passed.max(1),
            _ => passed,
        };
        if &found[1] == "FAIL" && built {
            report.failed += errors.len().max(1);
            report.kind = Kind::Failed;
        }
        report.errors.extend(errors);
        part.clear();
    }
    let compile = compile_errors(text);
    if packages == 0 && compile.is_empty() {
        return None;
    }
    report.failed += compile.len();
    let broken = !compile.is_empty();
    report.errors.extend(compile);
    report.kind = match report.kind {
        _ if broken => Kind::Broken,
        Kind::Failed => Kind::Failed,
        _ if report.passed == 0 => Kind::NoTests,
        _ => Kind::Passed,
    };
    Some(report)
}

/// The failures in the output of one package, and the number of tests reported as passed.
fn tests(lines: &[&str], package: &str) -> (Vec<Failure>, usize) {
    static_regex!(END = r"^\s*--- (FAIL|PASS|SKIP): (\S+) \(");
    static_regex!(START = r"^=== (?:RUN|CONT|NAME)\s+(\S+)");
    static_regex!(LOG = r"^(\s+)(\w[\w.-]*\.go):(\d+): ?(.*)$");
    let mut failed: Vec<String> = Vec::new();
    let mut logs: Vec<(String, Frame, Vec<String>)> = Vec::new();
    let (mut current, mut depth, mut passed) = (String::new(), None, 0);
    for (at, line) in lines.iter().enumerate() {
        if let Some(found) = END.captures(line) {
            current = found[2].to_owned();
            passed += usize::from(&found[1] == "PASS");
            failed.extend((&found[1] == "FAIL").then(|| current.clone()));
            depth = None;
        } else if let Some(found) = START.captures(line) {
            (current, depth) = (found[1].to_owned(), None);
        } else if let Some(found) = LOG.captures(line) {
            let frame = Frame { file: format!("{package}/{}", &found[2]), line: number(&found[3]), ..Frame::default() };
            logs.push((current.clone(), frame, vec![found[4].to_owned()]));
            depth = Some(found[1].len());
        } else if depth.is_some_and(|depth| line.len() - line.trim_start().len() > depth) {
            let more = logs.last_mut().map(|(_, _, lines)| lines);
            more.into_iter().for_each(|lines| lines.push(line.trim().to_owned()));
        } else if line.starts_with("panic: ") || line.starts_with("fatal error: ") {
            let failure = panicked(&lines[at..], current, failed.is_empty(), package);
            let mut errors = failures(failed, logs, failure.test.as_deref());
            errors.push(failure);
            return (errors, passed);
        }
    }
    (failures(failed, logs, None), passed)
}

/// One failure for each failed test. A test that failed by its subtests and printed nothing itself is left out.
fn failures(failed: Vec<String>, mut logs: Vec<(String, Frame, Vec<String>)>, panicked: Option<&str>) -> Vec<Failure> {
    let mut errors = Vec::new();
    for test in failed.iter().filter(|test| panicked != Some(test.as_str())) {
        let (own, other): (Vec<_>, Vec<_>) = logs.into_iter().partition(|(of, _, _)| of == test);
        logs = other;
        let is_parent =
            failed.iter().any(|one| one.strip_prefix(test.as_str()).is_some_and(|rest| rest.starts_with('/')));
        if own.is_empty() && is_parent {
            continue;
        }
        let lines: Vec<&str> = own.iter().flat_map(|(_, _, lines)| lines.iter().map(String::as_str)).collect();
        let text = message(lines);
        let frames = own.into_iter().map(|(_, frame, _)| frame).take(1).collect();
        errors.push(Failure::at(Some(test.clone()), text, frames));
    }
    errors
}

/// Reads a panic with the stack of its goroutine: for each frame a line with the function, then a tab and the place.
fn panicked(lines: &[&str], test: String, is_first: bool, package: &str) -> Failure {
    static_regex!(PLACE = r"^\t(\S+\.go):(\d+)");
    let goroutine = lines.iter().position(|line| line.starts_with("goroutine ")).unwrap_or(lines.len());
    let head = lines[..goroutine].iter().copied().filter(|line| !line.starts_with('\t') && !line.is_empty());
    let text = message(head.take(4)).replace(" [recovered]", "");
    let stack = lines[goroutine..].iter().skip(1).take_while(|line| !line.starts_with("goroutine "));
    let places = stack.filter_map(|line| PLACE.captures(line));
    let mut frames: Vec<Frame> = places
        .filter_map(|found| Some(Frame { file: inside(&found[1])?, line: number(&found[2]), ..Frame::default() }))
        .collect();
    trace::dedup(&mut frames);
    // The test is named above the panic. If none is, the package failed while it started.
    let test = (!test.is_empty()).then_some(test).or_else(|| is_first.then(|| package.to_owned()));
    Failure::at(test, text, frames)
}

pub fn bare(text: &str) -> Option<Report> {
    let lines: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("panic: ")).collect();
    lines.iter().find(|line| line.starts_with("goroutine "))?;
    let failure = panicked(&lines, String::new(), false, "");
    Some(Report { passed: 0, failed: 1, errors: vec![failure], kind: Kind::Failed })
}

/// Compile errors: `shop/cart.go:6:10: undefined: prise`, below a line `# example.com/shop/shop` or behind `vet: `.
fn compile_errors(text: &str) -> Vec<Failure> {
    static_regex!(ERROR = r"^(?:vet: )?(\S+\.go):(\d+):\d+: (.+)$");
    let mut errors: Vec<Failure> = Vec::new();
    for found in text.lines().filter_map(|line| ERROR.captures(line)) {
        let Some(file) = inside(&found[1]) else { continue };
        let frame = Frame { file, line: number(&found[2]), ..Frame::default() };
        let failure = Failure::at(None, message([&found[3]]), vec![frame]);
        if !errors.contains(&failure) && errors.len() < FAILURES_MAX {
            errors.push(failure);
        }
    }
    errors
}
