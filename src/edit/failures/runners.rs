//! Reads the output of jest, vitest and mocha.

use super::text::{inside, message, number, short};
use super::trace::script;
use super::{Failure, Kind, Report};
use crate::base::pattern::static_regex;

/// Reads jest and vitest, whose failures differ in their headings:
/// ```text
/// FAIL jt/cart.test.js                              FAIL  vt/cart.test.js > first > gives the first name
///   ● first › gives the first name                 TypeError: Cannot read properties of undefined
///     TypeError: Cannot read properties of …         ❯ first lib/cart.js:6:19
///     > 6 |   return items[0].name.toUpperCase();        6|   return items[0].name.toUpperCase();
///       at name (lib/cart.js:6:19)                 ❯ vt/cart.test.js:10:12
/// Tests:       3 failed, 1 passed, 4 total         Tests  3 failed | 1 passed (4)
/// ```
pub fn jest_or_vitest(text: &str) -> Option<Report> {
    static_regex!(TESTS = r"(?m)^\s*Tests(?::\s|\s\s)\s*(.*)$");
    static_regex!(COUNT = r"(\d+) (passed|failed)");
    static_regex!(NONE = r"(?m)^No test(?: file)?s found, exiting|Error: no test specified");
    if NONE.is_match(text) {
        return Some(Report { kind: Kind::NoTests, ..Report::default() });
    }
    let blocks = blocks(text);
    let counts = TESTS.captures(text);
    if counts.is_none() && !text.contains("Test Suites:") && !text.contains(" Test Files ") {
        return None;
    }
    let (mut passed, mut failed) = (0, 0);
    for found in counts.iter().flat_map(|line| COUNT.captures_iter(line.get(1).map_or("", |counts| counts.as_str()))) {
        let sum = if &found[2] == "passed" { &mut passed } else { &mut failed };
        *sum += number(&found[1]);
    }
    let mut errors: Vec<Failure> = Vec::new();
    let mut not_loaded = 0;
    for block in &blocks {
        let failure = failure(block);
        // If many tests fail, jest prints all failures a second time.
        if !errors.iter().any(|known| known.test == failure.test && known.file == failure.file) {
            not_loaded += usize::from(block.test.is_none());
            errors.push(failure);
        }
    }
    let mut report = Report::counted(passed, failed + not_loaded, errors);
    if passed + failed == 0 && not_loaded > 0 {
        report.kind = Kind::Broken;
    }
    Some(report)
}

/// One failure as printed.
struct Block<'a> {
    file: &'a str,
    /// `None` for a file that could not be loaded.
    test: Option<String>,
    body: Vec<&'a str>,
}

/// The failures of jest and vitest, in order.
fn blocks(text: &str) -> Vec<Block<'_>> {
    static_regex!(JEST_FILE = r"^(?:FAIL|PASS) (\S+)(?: \([\d.]+ m?s\))?$");
    static_regex!(VITEST = r"^ FAIL  (?:\|\S+\| )?(\S+?)(?: > (.*)| \[.*)?$");
    static_regex!(JEST = r"^  ● (.+)$");
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let (mut file, mut open) = ("", false);
    for line in text.lines() {
        if let Some(found) = JEST_FILE.captures(line) {
            (file, open) = (found.get(1).map_or("", |path| path.as_str()), false);
        } else if let Some(found) = JEST.captures(line) {
            let title = found.get(1).map_or("", |title| title.as_str());
            let test = (title != "Test suite failed to run").then(|| title.replace(" › ", " > "));
            open = title != "Console";
            if open {
                blocks.push(Block { file, test, body: Vec::new() });
            }
        } else if let Some(found) = VITEST.captures(line) {
            let path = found.get(1).map_or("", |path| path.as_str());
            let test = found.get(2).map(|test| test.as_str().to_owned());
            blocks.push(Block { file: path, test, body: Vec::new() });
            open = true;
        } else if line.contains("⎯⎯⎯") || line.starts_with("Test Suites:") || line.starts_with(" Test Files ") {
            open = false;
        } else if let Some(block) = blocks.last_mut().filter(|_| open) {
            block.body.push(line);
        }
    }
    // Tests that failed with the same error are listed above it together.
    for at in (1..blocks.len()).rev() {
        if blocks[at - 1].body.is_empty() {
            blocks[at - 1].body = blocks[at].body.clone();
        }
    }
    blocks
}

fn failure(block: &Block<'_>) -> Failure {
    static_regex!(SHOWN = r"^\s*>?\s*\d*\s*\|( .*)?$");
    static_regex!(MARKED = r"^\s*> +(\d+) \| (.*)$");
    static_regex!(WHERE = r"^\s*SyntaxError: (\S+): .*\((\d+):\d+\)$");
    // jest puts advice about its configuration before the error of a file.
    let from = block.body.iter().position(|line| line.trim() == "Details:").map_or(0, |at| at + 1);
    let (message_lines, mut frames) = script(&block.body[from..]);
    // Lines of shown code are not part of the message.
    let is_code = |line: &&&str| SHOWN.is_match(line) || line.trim_start().starts_with("⎯");
    let text = message(message_lines.iter().filter(|line| !is_code(line)).copied());
    for (at, line) in block.body.iter().enumerate() {
        let shown = MARKED.captures(line).map(|found| (number(&found[1]), found[2].to_owned()));
        // vitest marks the code with a line below it that has only `^`.
        let pointed = || {
            let next = block.body.get(at + 1)?.trim();
            let (number_of, code) = line.trim().split_once('|')?;
            (next.starts_with('|') && next.ends_with('^')).then(|| (number(number_of), code.to_owned()))
        };
        if let Some((line, code)) = shown.or_else(pointed)
            && let Some(frame) = frames.iter_mut().find(|frame| frame.line == line && frame.code.is_empty())
        {
            frame.code = short(code.trim());
        }
    }
    let mut failure = Failure::at(block.test.clone(), text, frames);
    failure.line = failure.line.filter(|_| failure.file.as_deref() == Some(block.file));
    failure.file = inside(block.file).or(failure.file);
    if let Some(found) = block.body.iter().find_map(|line| WHERE.captures(line)) {
        (failure.file, failure.line) = (inside(&found[1]), Some(number(&found[2])));
    }
    failure
}

/// Reads mocha:
/// ```text
///   1 passing (8ms)
///   3 failing
///
///   1) cart
///        total adds the prices:
///
///       AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:
///
/// 3 !== 2
///
///       at Context.<anonymous> (test/cart.js:6:12)
/// ```
pub fn mocha(text: &str) -> Option<Report> {
    static_regex!(PASSING = r"(?m)^  (\d+) passing\b");
    static_regex!(FAILING = r"^  (\d+) failing\b");
    static_regex!(HEADING = r"^  \d+\) (.*)$");
    let passed = number(&PASSING.captures(text)?[1]);
    let lines: Vec<&str> = text.lines().collect();
    let failing = lines.iter().position(|line| FAILING.is_match(line)).unwrap_or(lines.len());
    let failed = lines.get(failing).and_then(|line| FAILING.captures(line)).map_or(0, |found| number(&found[1]));
    let starts: Vec<usize> = (failing..lines.len()).filter(|&at| HEADING.is_match(lines[at])).collect();
    let errors = starts.iter().enumerate().map(|(number_of, &at)| {
        let end = starts.get(number_of + 1).copied().unwrap_or(lines.len());
        // The titles of the suites and of the test, one a line, the last with a colon.
        let titles =
            lines[at..end].iter().position(|line| line.ends_with(':') || line.is_empty()).map_or(at, |last| at + last);
        let title = lines[at..=titles.min(end - 1)].iter().map(|line| {
            let plain = HEADING.captures(line).map_or(line.trim().to_owned(), |found| found[1].trim().to_owned());
            plain.trim_end_matches(':').to_owned()
        });
        let test = title.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" > ");
        let (message_lines, frames) = script(&lines[(titles + 1).min(end)..end]);
        // mocha indents only the first line of a message.
        let first = message_lines.iter().position(|line| !line.is_empty()).unwrap_or(0);
        let message_lines =
            message_lines.iter().enumerate().map(|(at, line)| if at == first { line.trim_start() } else { line });
        Failure::at(Some(test), message(message_lines), frames)
    });
    let errors = errors.collect();
    Some(Report::counted(passed, failed, errors))
}
