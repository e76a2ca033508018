//! Reads one-line errors: of compilers and linters, of a missing program or package, of a time limit.

use std::sync::LazyLock;

use regex::Regex;

use super::text::{inside, message, number, short};
use super::{FAILURES_MAX, Failure, Frame, Kind, Report};
use crate::base::pattern::{pattern, static_regex};

/// Reads tsc, eslint, mypy, ruff and flake8:
/// ```text
/// ts/a.ts(4,5): error TS2345: Argument of type 'string' is not assignable to parameter of type 'number'.
/// ts/a.ts:4:5 - error TS2345: Argument of type 'string' is not assignable to parameter of type 'number'.
/// shop/cart.py:3: error: Incompatible return value type
/// shop/cart.py:1:8: F401 [*] `json` imported but unused
/// ```
pub fn compilers(text: &str) -> Option<Report> {
    static LINE: LazyLock<[Regex; 4]> = LazyLock::new(|| {
        [
            pattern(r"^(\S+?)\((\d+),\d+\): (error TS\d+: .+)$"),
            pattern(r"^(\S+?):(\d+):\d+ - (error TS\d+: .+)$"),
            pattern(r"^(\S+?\.pyi?):(\d+):(?:\d+:)? (error: .+|[A-Z]{1,4}\d{2,4} .+)$"),
            pattern(r"^(\S+?\.[cm]?[jt]sx?): line (\d+), col \d+, (Error - .+)$"),
        ]
    });
    let mut errors: Vec<Failure> = Vec::new();
    for line in text.lines() {
        let found = LINE.iter().find_map(|pattern| pattern.captures(line));
        let Some((found, file)) = found.and_then(|found| inside(&found[1]).map(|file| (found, file))) else { continue };
        errors.push(at(file, number(&found[2]), &found[3]));
    }
    errors.extend(eslint(text));
    errors.truncate(FAILURES_MAX);
    Report::of(errors, Kind::Broken)
}

fn at(file: String, line: usize, text: &str) -> Failure {
    Failure::at(None, message([text]), vec![Frame { file, line, ..Frame::default() }])
}

/// Reads eslint: a line with the file, then its problems: `  2:1  error    'foo' is not defined  no-undef`.
fn eslint(text: &str) -> Vec<Failure> {
    static_regex!(PROBLEM = r"^\s+(\d+):\d+\s+error\s+(.+?)(?:\s{2,}(\S+))?$");
    let mut errors = Vec::new();
    let mut file = "";
    for line in text.lines() {
        if !line.starts_with(' ') && !line.trim().is_empty() {
            file = line;
        }
        let found = PROBLEM.captures(line).zip(inside(file).filter(|path| !path.contains(' ')));
        if let Some((found, file)) = found {
            let rule = found.get(3).map_or(String::new(), |rule| format!(" ({})", rule.as_str()));
            errors.push(at(file, number(&found[1]), &format!("{}{rule}", &found[2])));
        }
    }
    errors
}

/// The package that an output says is missing. Names for which `is_ours` is true, those of the project, are skipped.
///
/// ```text
/// ModuleNotFoundError: No module named 'numpy'
/// Error: Cannot find package 'left-pad' imported from /p/a.js
/// error: no matching package named `rand` found
/// a.go:4:2: no required module provides package github.com/x/y; to add it:
/// ```
pub fn missing_package(text: &str, is_ours: &dyn Fn(&str) -> bool) -> Option<String> {
    static SIGNS: LazyLock<[Regex; 6]> = LazyLock::new(|| {
        [
            pattern(r"No module named '?([A-Za-z_]\w*)"),
            pattern(r"Cannot find (?:module|package) '((?:@[\w.-]+/)?[\w][\w.-]*)"),
            pattern(r"no matching package named `([\w-]+)`"),
            pattern(r"failed to (?:get|download|load source for dependency) `([\w-]+)"),
            pattern(r"no required module provides package ([\w./-]+)"),
            pattern(r#"cannot find package "?([\w./-]+)"? in"#),
        ]
    });
    SIGNS.iter().flat_map(|sign| sign.captures_iter(text)).map(|found| found[1].to_owned()).find(|name| !is_ours(name))
}

/// Reads the error of a command whose program, script, module or file does not exist.
pub fn missing(text: &str) -> Option<Report> {
    const MARKS: &[&str] = &[
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
    let line = text.lines().find(|line| MARKS.iter().any(|mark| line.contains(mark)))?;
    let failure = Failure { message: short(line.trim()), ..Failure::default() };
    Some(Report { passed: 0, failed: 0, errors: vec![failure], kind: Kind::Missing })
}

/// Whether the run was stopped at a time limit, by the tool that runs commands or by the test runner.
pub fn is_stopped(text: &str) -> bool {
    text.lines().take(4).any(|line| line.starts_with("[stopped at its deadline"))
        || text.lines().any(|line| line.starts_with("panic: test timed out after"))
}
