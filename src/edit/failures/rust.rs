//! Reads the output of `cargo test` and rustc.

use super::text::{inside, message, number, short};
use super::{FAILURES_MAX, Failure, Frame, Kind, Report};
use crate::base::pattern::static_regex;

/// Maximum number of lines read of one compile error.
const ERROR_LINES_MAX: usize = 60;

/// Reads the test harness:
/// ```text
/// test cart::tests::total_adds ... FAILED
/// ---- cart::tests::total_adds stdout ----
/// thread 'cart::tests::total_adds' (15991) panicked at src/cart.rs:15:9:
/// assertion `left == right` failed: prices of tea
///   left: 4
///  right: 3
/// test result: FAILED. 1 passed; 6 failed; 0 ignored; 0 measured; 0 filtered out
/// ```
pub fn libtest(text: &str) -> Option<Report> {
    static_regex!(RESULT = r"(?m)^test result: \S+ (\d+) passed; (\d+) failed");
    static_regex!(HEADING = r"^---- (.+?) stdout ----$");
    static_regex!(RUNS = r"(?m)^running \d+ tests?$");
    static_regex!(OVERFLOW = r"(?m)^thread '(.+?)'.* has overflowed its stack$");
    RUNS.find(text)?;
    let (mut passed, mut failed) = (0, 0);
    for found in RESULT.captures_iter(text) {
        passed += number(&found[1]);
        failed += number(&found[2]);
    }
    let mut blocks: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        if let Some(found) = HEADING.captures(line) {
            blocks.push((found.get(1).map_or("", |name| name.as_str()), Vec::new()));
            open = true;
        } else if line == "failures:" || line.starts_with("test result:") {
            open = false;
        } else if let Some((_, body)) = blocks.last_mut().filter(|_| open) {
            body.push(line);
        }
    }
    let mut errors: Vec<Failure> = blocks.iter().map(|(test, body)| failure(test, body)).collect();
    // An overflow ends the process before any test result is printed.
    for found in OVERFLOW.captures_iter(text) {
        let message = "the stack overflowed: endless recursion?".to_owned();
        errors.push(Failure { test: Some(found[1].to_owned()), message, ..Failure::default() });
        failed += 1;
    }
    Some(Report::counted(passed, failed, errors))
}

static_regex!(PANIC = r"^thread '.*?'(?: \(\d+\))? panicked at (?:'(.*)', )?(\S+?):(\d+):\d+:?$");

pub fn bare(text: &str) -> Option<Report> {
    let lines: Vec<&str> = text.lines().skip_while(|line| !PANIC.is_match(line)).collect();
    let failure = Failure { test: None, ..failure("", &lines) };
    (!lines.is_empty()).then(|| Report { passed: 0, failed: 1, errors: vec![failure], kind: Kind::Failed })
}

/// The failure of one test, from the lines it printed.
fn failure(test: &str, body: &[&str]) -> Failure {
    static_regex!(NOTE = r"^note: (test did not panic as expected)(?: at (\S+?):(\d+):\d+)?");
    let frame = |file: &str, line: &str| Some(Frame { file: inside(file)?, line: number(line), ..Frame::default() });
    // Earlier panics may have been caught; the last one failed the test.
    let panic = body.iter().rposition(|line| PANIC.is_match(line));
    let mut frames: Vec<Frame> = Vec::new();
    let message_lines: Vec<&str> = match panic {
        Some(at) => {
            let found = PANIC.captures(body[at]);
            let place = found.as_ref().and_then(|found| frame(&found[2], &found[3]));
            frames.extend(place);
            // Before Rust 1.73 the message was printed in quotes on the line of the panic.
            let quoted = found.as_ref().and_then(|found| found.get(1)).map(|quoted| quoted.as_str());
            let ends = |line: &&&str| !line.starts_with("note:") && !line.starts_with("stack backtrace:");
            quoted.into_iter().chain(body[at + 1..].iter().take_while(ends).copied()).collect()
        }
        None => {
            let note = body.iter().find_map(|line| NOTE.captures(line));
            frames.extend(note.as_ref().and_then(|found| frame(found.get(2)?.as_str(), found.get(3)?.as_str())));
            let noted = note.as_ref().and_then(|found| found.get(1)).map(|noted| noted.as_str());
            // A test that returns an error prints it last; a doc test may not even compile.
            let error = body.iter().position(|line| line.starts_with("Error: ") || line.starts_with("error"));
            noted.into_iter().chain(body[error.unwrap_or(0)..].iter().copied().filter(|_| noted.is_none())).collect()
        }
    };
    Failure::at(Some(test.to_owned()), message(message_lines), frames)
}

/// Reads errors of the compiler:
/// ```text
/// error[E0308]: mismatched types
///  --> src/cart.rs:2:5
///   |
/// 2 |     prices.iter().sum::<u64>() + missing
///   |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ expected `u32`, found `u64`
/// ```
pub fn compiler(text: &str) -> Option<Report> {
    static_regex!(ERROR = r"^error(?:\[E\d+\])?: (.+)$");
    static_regex!(PLACE = r"^\s*--> (\S+?):(\d+):\d+$");
    let lines: Vec<&str> = text.lines().collect();
    let mut errors: Vec<Failure> = Vec::new();
    let starts = (0..lines.len()).filter(|&at| ERROR.is_match(lines[at]));
    for at in starts {
        let end = lines.len().min(at + ERROR_LINES_MAX);
        let block: Vec<&str> = lines[at..end].iter().copied().take_while(|line| !line.is_empty()).collect();
        let place = block.iter().find_map(|line| PLACE.captures(line));
        let Some((found, file)) = place.and_then(|found| inside(&found[1]).map(|file| (found, file))) else { continue };
        let line = number(&found[2]);
        let code = block.iter().find_map(|shown| shown.strip_prefix(&format!("{line} |"))).unwrap_or("");
        let frames = vec![Frame { file, line, code: short(code.trim()) }];
        let failure = Failure::at(None, explained(&block), frames);
        // cargo compiles a library alone and with its tests, and prints its errors twice.
        if !errors.contains(&failure) && errors.len() < FAILURES_MAX {
            errors.push(failure);
        }
    }
    Report::of(errors, Kind::Broken)
}

/// The message: the error, the labels below the marked code, and the help.
fn explained(block: &[&str]) -> String {
    static_regex!(LABEL = r"^\s*\|[\s|]*[\^-][\^\s|-]*(?:[\^-]+ )(\S.*)$");
    let labels = block.iter().filter_map(|line| LABEL.captures(line).map(|found| found[1].to_owned()));
    let notes = block.iter().filter_map(|line| {
        let line = line.trim_start().trim_start_matches("= ");
        (line.starts_with("help: ") || line.starts_with("note: expected") || line.starts_with("found "))
            .then(|| line.to_owned())
    });
    let lines: Vec<String> =
        block.first().map(|line| (*line).to_owned()).into_iter().chain(labels.take(4)).chain(notes.take(3)).collect();
    message(lines.iter().map(String::as_str))
}
