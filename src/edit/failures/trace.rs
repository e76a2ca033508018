//! Reads tracebacks of Python and stacks of JavaScript, with or without a test runner around them.

use std::collections::HashSet;

use super::text::{FRAMES_MAX, inside, message, number, short, tells};
use super::{FAILURES_MAX, Failure, Frame, Kind, Report};
use crate::base::pattern::static_regex;

const TRACEBACK: &str = "Traceback (most recent call last):";
/// Beginnings of the line between two tracebacks of one error.
const BETWEEN: &[&str] = &["The above exception was the direct cause", "During handling of the above exception"];

/// Maximum number of lines read of a Node.js error with its stack.
const ERROR_LINES_MAX: usize = 60;

/// A traceback that was read.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    pub message: String,
    /// Deepest first.
    pub frames: Vec<Frame>,
    /// The code does not parse, or a module that it imports is missing.
    pub broken: bool,
}

/// Reads a block that ends with a traceback and its error:
/// ```text
/// Traceback (most recent call last):
///   File "/project/run.py", line 4, in main
///     print(discount(1, 7))
/// ValueError: rate 7 is above 1
/// ```
/// Of several tracebacks the last is the error, the ones before are its causes. `None` if there is no error.
pub fn python(block: &str) -> Option<Trace> {
    static_regex!(PLACE = r#"^[\s|]*File "([^"]+)", line (\d+)(?:, in (.+))?$"#);
    let mut traces: Vec<(Vec<Frame>, Vec<&str>, bool)> = Vec::new();
    let mut lines = block.lines().peekable();
    while let Some(line) = lines.next() {
        if line.contains(TRACEBACK) || traces.is_empty() && PLACE.is_match(line) {
            traces.push((Vec::new(), Vec::new(), false));
        }
        let Some((frames, error, unfinished)) = traces.last_mut() else { continue };
        if let Some(found) = PLACE.captures(line).filter(|_| error.is_empty()) {
            *unfinished = found.get(3).is_none();
            let code = lines.next_if(|next| !PLACE.is_match(next) && next.starts_with(' ')).unwrap_or("");
            if let Some(file) = inside(&found[1]) {
                frames.push(Frame { file, line: number(&found[2]), code: short(code.trim()) });
            }
        } else if !error.is_empty() || is_error(line) {
            error.push(line);
        }
    }
    let causes = |error: &[&str]| error.iter().any(|line| BETWEEN.iter().any(|mark| line.starts_with(mark)));
    let (mut error, broken) = traces.last().map(|(_, error, unfinished)| (error.clone(), *unfinished))?;
    // The error that led to another one often says what is wrong.
    let cause = traces.iter().rev().skip(1).find(|(_, error, _)| causes(error)).and_then(|(_, error, _)| error.first());
    let caused = cause.map(|cause| format!("caused by {cause}"));
    error.extend(caused.as_deref());
    let mut frames: Vec<Frame> = traces.into_iter().rev().flat_map(|(frames, _, _)| frames.into_iter().rev()).collect();
    dedup(&mut frames);
    let first = error.first().copied().unwrap_or("");
    let broken = broken || ["ImportError", "ModuleNotFoundError", "SyntaxError"].iter().any(|e| first.starts_with(e));
    (!error.is_empty()).then(|| Trace { message: message(error.into_iter().filter(tells)), frames, broken })
}

/// Whether a line is an error: not indented, with a dotted name at its start, such as `ValueError: …`.
fn is_error(line: &str) -> bool {
    let name = line.split([':', ' ']).next().unwrap_or("");
    !name.is_empty()
        && name.chars().next().is_some_and(char::is_alphabetic)
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'))
        && (line.len() == name.len() || line[name.len()..].starts_with(':'))
}

/// Removes repeated places, as of recursion, and frames beyond `FRAMES_MAX`.
pub fn dedup(frames: &mut Vec<Frame>) {
    let mut seen = HashSet::new();
    frames.retain(|frame| seen.insert((frame.file.clone(), frame.line)));
    frames.truncate(FRAMES_MAX);
}

/// Reads one line of a JavaScript stack: `at first (/p/lib/cart.js:6:19)`, `❯ first lib/cart.js:6:19`, `first
/// (/p/lib/cart.js:6:19)`. `None` for other lines; an inner `None` for a place outside the project.
pub fn script_frame(line: &str) -> Option<Option<Frame>> {
    static_regex!(
        PLACE = r"^\s*(?:at |❯ )?(?:async )?(?:\S.*? )?\(?((?:file://|node:)?[^\s()]+):(\d+):\d+\)?(?: \{)?$"
    );
    let line = line.trim_end();
    let found = PLACE.captures(line)?;
    Some(inside(&found[1]).map(|file| Frame { file, line: number(&found[2]), ..Frame::default() }))
}

/// The message before a JavaScript stack, and the frames of the stack, deepest first.
pub fn script<'a>(lines: &[&'a str]) -> (Vec<&'a str>, Vec<Frame>) {
    let end = lines.iter().position(is_stack).unwrap_or(lines.len());
    let mut frames: Vec<Frame> =
        lines[end..].iter().filter(|line| is_stack(line)).filter_map(|line| script_frame(line)?).collect();
    dedup(&mut frames);
    (lines[..end].to_vec(), frames)
}

/// Whether a line belongs to a JavaScript stack.
fn is_stack(line: &&str) -> bool {
    let start = line.trim_start();
    (start.starts_with("at ") || start.starts_with("❯ ")) && script_frame(line).is_some()
}

/// Reads tracebacks that no test runner printed.
pub fn bare(text: &str) -> Option<Report> {
    let mut traces = bare_python(text);
    traces.extend(bare_script(text));
    traces.truncate(FAILURES_MAX);
    let broken = traces.iter().all(|trace| trace.broken);
    let kind = if broken { Kind::Broken } else { Kind::Failed };
    let errors: Vec<Failure> = traces.into_iter().map(|trace| Failure::at(None, trace.message, trace.frames)).collect();
    Report::of(errors, kind)
}

/// Python tracebacks in a text. A blank line ends one, unless it is next to a line that joins two tracebacks of one
/// error.
fn bare_python(text: &str) -> Vec<Trace> {
    let joins = |line: Option<&&str>| line.is_some_and(|line| BETWEEN.iter().any(|mark| line.starts_with(mark)));
    let lines: Vec<&str> = text.lines().collect();
    let mut traces = Vec::new();
    let mut start: Option<usize> = None;
    for (at, line) in lines.iter().enumerate() {
        let ends = line.trim().is_empty() && !joins(lines.get(at + 1)) && !joins(lines[..at].last());
        match start {
            None if line.contains(TRACEBACK) || line.starts_with("  File \"") => start = Some(at),
            Some(from) if ends => {
                traces.extend(python(&lines[from..at].join("\n")));
                start = None;
            }
            _ => {}
        }
    }
    traces.extend(start.and_then(|from| python(&lines[from..].join("\n"))));
    traces
}

/// Uncaught errors of Node.js: the code of the place, then the error with its stack.
pub fn bare_script(text: &str) -> Vec<Trace> {
    static_regex!(ERROR = r"^(?:Uncaught )?(?:\w*Error|\w*Exception)(?: \[[\w ]+\])?(?:: |$)");
    static_regex!(SHOWN = r"^(?:file://)?([^\s:]+\.[cm]?[jt]sx?):(\d+)$");
    let lines: Vec<&str> = text.lines().collect();
    let mut traces = Vec::new();
    let mut shown: Option<Frame> = None;
    for (at, line) in lines.iter().enumerate() {
        if let Some(found) = SHOWN.captures(line) {
            let code = lines.get(at + 1).map_or("", |code| code.trim());
            shown = inside(&found[1]).map(|file| Frame { file, line: number(&found[2]), code: short(code) });
        }
        if !ERROR.is_match(line) {
            continue;
        }
        let near = &lines[at..lines.len().min(at + ERROR_LINES_MAX)];
        let stack = near.iter().position(is_stack).unwrap_or(near.len());
        let stack_lines = near[stack..].iter().take_while(|line| is_stack(line)).count();
        // Errors of Python look the same, but have no stack behind them.
        if stack_lines == 0 && shown.is_none() {
            continue;
        }
        let (message_lines, mut frames) = script(&near[..stack + stack_lines]);
        if let Some(place) = shown.take() {
            match frames.iter_mut().find(|frame| (&frame.file, frame.line) == (&place.file, place.line)) {
                Some(frame) => frame.code = place.code,
                None => frames.insert(0, place),
            }
        }
        let broken = line.starts_with("SyntaxError") || line.contains("Cannot find module");
        let message_lines = message_lines
            .into_iter()
            .take_while(|line| !line.starts_with("Require stack") && !line.starts_with("Node.js v"));
        traces.push(Trace { message: message(message_lines), frames, broken });
    }
    traces
}
