//! Reads the output of the Node.js test runner in its two forms, TAP and spec.

use regex::Regex;

use super::text::{inside, message, number};
use super::trace::{bare_script, script, script_frame};
use super::{Failure, Frame, Kind, Report, trace};
use crate::base::pattern::static_regex;

/// Maximum number of lines read of one test's description.
const DESCRIPTION_MAX: usize = 200;

/// Reads TAP:
/// ```text
/// # Subtest: total adds the prices
/// not ok 2 - total adds the prices
///   ---
///   location: '/project/cart.test.js:6:1'
///   error: |-
///     Expected values to be strictly equal:
///
///     3 !== 2
///   expected: 2
///   actual: 3
///   stack: |-
///     TestContext.<anonymous> (/project/cart.test.js:7:10)
///   ...
/// # pass 1
/// # fail 4
/// ```
pub fn tap(text: &str) -> Option<Report> {
    static_regex!(NOT_OK = r"^(\s*)not ok \d+ - (.*)$");
    static_regex!(PASS = r"(?m)^# pass (\d+)$");
    static_regex!(FAIL = r"(?m)^# fail (\d+)$");
    let sum = |counts: &Regex| counts.captures_iter(text).map(|found| number(&found[1])).sum::<usize>();
    if !text.lines().any(|line| line.starts_with("TAP version")) && !NOT_OK.is_match(text) {
        return None;
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut errors = Vec::new();
    let mut above: Vec<&str> = Vec::new();
    let mut printed = 0;
    let mut not_loaded = 0;
    for (at, line) in lines.iter().enumerate() {
        if let Some((indent, name)) = line.split_once("# Subtest: ").filter(|(indent, _)| indent.trim().is_empty()) {
            above.truncate(indent.len() / 4);
            above.push(name);
        }
        let Some(found) = NOT_OK.captures(line) else { continue };
        let fields = fields(&lines[at + 1..lines.len().min(at + DESCRIPTION_MAX)], found[1].len() + 2);
        let outer = above.iter().take(found[1].len() / 4).copied();
        let name = outer.chain([found.get(2).map_or("", |name| name.as_str())]).collect::<Vec<_>>().join(" > ");
        let kind = value(&fields, "failureType");
        if kind == "subtestsFailed" || value(&fields, "type") == "suite" && kind != "hookFailed" {
            continue;
        }
        // A file that ended with an error; its output is in the comments above.
        if inside(&name).is_some_and(|path| path.contains('.')) && value(&fields, "stack").is_empty() {
            let comments = lines[printed..at].iter().map(|line| line.strip_prefix("# ").unwrap_or(""));
            let output = comments.collect::<Vec<_>>().join("\n");
            let traces = bare_script(&output);
            not_loaded += usize::from(traces.iter().any(|trace| trace.broken));
            errors.extend(of_file(&name, traces));
        } else {
            errors.push(of_test(name, &fields));
        }
        printed = at;
    }
    let mut report = Report::counted(sum(&PASS), sum(&FAIL), errors);
    if report.passed == 0 && not_loaded > 0 && not_loaded == report.errors.len() {
        report.kind = Kind::Broken;
    }
    Some(report)
}

/// The failures of a test file that could not be run.
fn of_file(path: &str, traces: Vec<trace::Trace>) -> Vec<Failure> {
    let mut failures: Vec<Failure> =
        traces.into_iter().map(|trace| Failure::at(None, trace.message, trace.frames)).collect();
    if failures.is_empty() {
        let message = "the file ended with an error and printed nothing".to_owned();
        failures.push(Failure { message, ..Failure::default() });
    }
    for failure in &mut failures {
        failure.test = Some(path.to_owned());
        failure.file = failure.file.take().or_else(|| inside(path));
    }
    failures
}

/// The fields of a description, each with its lines: `error: 'text'`, or `error: |-` with the text indented below.
fn fields<'a>(lines: &[&'a str], indent: usize) -> Vec<(&'a str, Vec<&'a str>)> {
    let mut fields: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in lines {
        let Some(line) = line.get(indent..).filter(|_| line[..indent].trim().is_empty()) else {
            if line.trim().is_empty() {
                fields.last_mut().into_iter().for_each(|(_, text)| text.push(""));
                continue;
            }
            break;
        };
        match (line, line.split_once(':')) {
            ("...", _) => break,
            (_, Some((name, rest))) if !line.starts_with(' ') => {
                let rest = rest.trim();
                fields.push((name, if matches!(rest, "" | "|-" | "|" | "|+") { Vec::new() } else { vec![rest] }));
            }
            _ => fields.last_mut().into_iter().for_each(|(_, text)| text.push(line)),
        }
    }
    fields
}

/// The text of a field without its quotes; empty if the field is missing.
fn value(fields: &[(&str, Vec<&str>)], name: &str) -> String {
    let lines = fields.iter().find(|(field, _)| *field == name).map(|(_, lines)| message(lines.iter().copied()));
    let text = lines.unwrap_or_default();
    let quoted = |mark: char| text.len() > 1 && text.starts_with(mark) && text.ends_with(mark);
    if quoted('\'') || quoted('"') { text[1..text.len() - 1].to_owned() } else { text }
}

/// The failure of one test, from the fields of its description.
fn of_test(name: String, fields: &[(&str, Vec<&str>)]) -> Failure {
    let stack = value(fields, "stack");
    let mut frames: Vec<Frame> = stack.lines().filter_map(|line| script_frame(line)?).collect();
    trace::dedup(&mut frames);
    let error = value(fields, "error");
    let kind = value(fields, "name");
    let mut text = if kind.is_empty() || kind == "AssertionError" { error } else { format!("{kind}: {error}") };
    for field in ["expected", "actual"] {
        let value = value(fields, field);
        if !value.is_empty() && !value.contains('\n') {
            text.push_str(&format!("\n{field}: {value}"));
        }
    }
    let mut failure = Failure::at(Some(name), message(text.lines()), frames);
    // Without a stack in the project, only the place where the test begins is known.
    if failure.file.is_none()
        && let Some(place) = script_frame(&value(fields, "location")).flatten()
    {
        (failure.file, failure.line) = (Some(place.file), Some(place.line));
    }
    failure
}

/// Reads the spec reporter, the form for people:
/// ```text
/// ℹ pass 1
/// ℹ fail 4
/// ✖ failing tests:
/// test at nt/cart.test.js:6:1
/// ✖ total adds the prices (2.215666ms)
///   AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:
///
///   3 !== 2
///
///       at TestContext.<anonymous> (/project/nt/cart.test.js:7:10)
/// ```
pub fn spec(text: &str) -> Option<Report> {
    static_regex!(PASS = r"(?m)^ℹ pass (\d+)$");
    static_regex!(FAIL = r"(?m)^ℹ fail (\d+)$");
    static_regex!(TEST = r"^✖ (.*?) \([\d.]+m?s\)$");
    static_regex!(AT = r"^test at (\S+):(\d+):\d+$");
    PASS.find(text)?;
    let sum = |counts: &Regex| counts.captures_iter(text).map(|found| number(&found[1])).sum::<usize>();
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.iter().position(|line| line.starts_with("✖ failing tests")).unwrap_or(lines.len());
    let starts: Vec<usize> = (from..lines.len()).filter(|&at| TEST.is_match(lines[at])).collect();
    let mut errors = Vec::new();
    for (number_of, &at) in starts.iter().enumerate() {
        let end = starts.get(number_of + 1).map_or(lines.len(), |next| next - 1);
        let name = TEST.captures(lines[at]).map_or(String::new(), |found| found[1].to_owned());
        let place = at.checked_sub(1).and_then(|above| AT.captures(lines[above]));
        let body: Vec<&str> = lines[at + 1..end.max(at + 1)].to_vec();
        if body.iter().any(|line| line.trim() == "'test failed'") && inside(&name).is_some() {
            errors.extend(of_file(&name, bare_script(&lines[..from].join("\n"))));
            continue;
        }
        let (message_lines, frames) = script(&body);
        let message_lines = message_lines.iter().map(|line| line.strip_prefix("  ").unwrap_or(line));
        let mut failure = Failure::at(Some(name), message(message_lines.chain(values(&body))), frames);
        if failure.file.is_none()
            && let Some(place) = place
        {
            (failure.file, failure.line) = (inside(&place[1]), Some(number(&place[2])));
        }
        errors.push(failure);
    }
    Some(Report::counted(sum(&PASS), sum(&FAIL), errors))
}

/// The lines `actual: 3` and `expected: 2` of an error that is printed with its fields.
pub fn values<'a>(body: &[&'a str]) -> Vec<&'a str> {
    let is_value =
        |line: &&str| (line.starts_with("actual: ") || line.starts_with("expected: ")) && !line.ends_with(['{', '[']);
    body.iter().map(|line| line.trim().trim_end_matches(',')).filter(is_value).collect()
}
