//! Describes what a step changed and what its checks show; "passed" is used only for a command that
//! runs what was asked for.

use crate::edit::{has_grammar, testing};
use crate::language::words;
use crate::request::{Kind, Step};
use crate::tools::builtin::Builtin;

use super::evidence::{ANSWER, Check, Entry, Evidence};
use super::synthesize;

/// Maximum length of a check command shown to the user, in characters.
const COMMAND_CHARS: usize = 90;

/// The facts about the calls of a step, as the user reads them.
#[derive(Default)]
pub struct Facts {
    pub lines: Vec<String>,
    /// Code files, other than tests, that the step changed.
    pub code: Vec<String>,
    /// Test files that the step wrote and that passed.
    pub tests: Vec<String>,
    /// Whether new or changed tests were run.
    pub ran_tests: bool,
    /// Whether a command shows that the change does what was asked: it runs exactly that, and it
    /// failed before the change or is new.
    pub is_shown: bool,
}

/// The facts about a step's calls. If the change was `taken_back`, only failed and refused calls
/// count. For an answer in words, the facts name the sources.
pub fn of(step: &Step, calls: &[Entry], evidence: &Evidence, taken_back: bool) -> Facts {
    let is_answered = calls.iter().any(|call| call.tool == ANSWER);
    let mut facts = Facts::default();
    let writes =
        |call: &Entry| call.succeeded() && !call.outcome.changed.is_empty() && call.tool != Builtin::RunCommand.name();
    let (first, written) = (calls.iter().position(writes), calls.iter().rposition(writes));
    for (at, call) in calls.iter().enumerate() {
        let is_check = !matches!(step.kind, Kind::Run | Kind::Ask) && call.tool == Builtin::RunCommand.name();
        if taken_back && writes(call) {
            continue;
        }
        if !is_check || call.status.is_refused() {
            facts.lines.extend(synthesize::told(call, !is_answered));
        } else if let Some(check) = evidence.check(call.id) {
            let line = line_of(call);
            let is_same = |other: &&Entry| line_of(other) == line;
            // Compare with the run before this step's calls: a run between two attempts does not
            // show the original state.
            let earlier = first.and_then(|first| calls[..first.min(at)].iter().rfind(is_same));
            let is_last = !calls[at + 1..].iter().any(|other| line_of(other) == line);
            let is_of_result = written.is_none_or(|written| at > written) && !taken_back;
            if !is_last {
                continue;
            }
            if is_of_result {
                facts.add(call, check, earlier.map(Entry::succeeded));
            } else if check != Check::Looks {
                let ended = if call.succeeded() { "passed" } else { "failed" };
                facts.lines.push(format!("- tried: $ {}: {ended} [{}]", shown(&line), call.id));
            }
        } else {
            facts.lines.push(of_command(call));
        }
    }
    if !taken_back {
        let changed = calls.iter().filter(|call| writes(call)).flat_map(|call| &call.outcome.changed);
        let paths = changed.map(|path| path.to_string_lossy().into_owned()).filter(|path| has_grammar(path));
        let (tests, code): (Vec<String>, Vec<String>) = paths.partition(|path| testing::is_test(path));
        (facts.code, facts.tests) = (code, tests);
    }
    facts
}

impl Facts {
    /// Adds the result of a command that ran after the change; `passed_before` is its result before
    /// the change, if it ran.
    fn add(&mut self, call: &Entry, check: Check, passed_before: Option<bool>) {
        let passed = call.succeeded();
        let said = match (check, passed_before) {
            (Check::Looks, _) => return,
            _ if !passed => "failed",
            (Check::Compiles, _) => "it compiles; nothing was run",
            (Check::Loads, _) => "it can be imported; nothing was run",
            (Check::Examples, Some(true)) => "the examples in the request pass, as they did before the change",
            (Check::Examples, Some(false)) => "the examples in the request passed, and failed before",
            (Check::Examples, None) => "the examples in the request passed",
            (_, Some(false)) => "passed, and failed before",
            (Check::NewTests, _) => "the new tests passed",
            (Check::ChangedTests, _) => "the changed tests pass",
            (Check::OldTests, _) => "the existing tests still pass",
            (Check::Asked, _) => "passed",
        };
        self.ran_tests |= matches!(check, Check::NewTests | Check::ChangedTests);
        // A check that also passed before the change proves nothing about it.
        self.is_shown |= passed
            && match check {
                Check::Looks | Check::Compiles | Check::Loads => false,
                Check::Examples | Check::Asked | Check::NewTests => passed_before != Some(true),
                Check::OldTests | Check::ChangedTests => passed_before == Some(false),
            };
        self.lines.push(format!("- $ {}: {said} [{}]", shown(&line_of(call)), call.id));
    }
}

/// A command's line and exit status; a pipe has the status of its last command.
pub fn of_command(call: &Entry) -> String {
    let ended = if call.succeeded() { "exit status 0" } else { "failed" };
    format!("- $ {}: {ended} [{}]", shown(&line_of(call)), call.id)
}

/// The command line of a call.
pub fn line_of(call: &Entry) -> String {
    let line = call.arguments.get("command").and_then(serde_json::Value::as_str).unwrap_or_default();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn shown(line: &str) -> String {
    words::shorten(line, COMMAND_CHARS)
}

/// The line stating that new or changed tests were not run.
pub fn not_run(tests: &[String]) -> String {
    let tests: Vec<String> = tests.iter().map(|path| format!("`{path}`")).collect();
    format!("- not run: the tests in {}; no command that runs them was found", tests.join(", "))
}

/// Summarises the steps of a request: those not done, and questions without a certain answer.
pub fn together(steps: usize, undone: &[&Step], unsure: &[&Step]) -> Vec<String> {
    let of = |some: &[&Step], lack: &str| {
        let texts: Vec<String> = some.iter().map(|step| words::shorten(step.text.shown(), COMMAND_CHARS)).collect();
        let line = || format!("- {} of {steps} parts of the request {lack}: {}", texts.len(), texts.join("; "));
        (!texts.is_empty()).then(line)
    };
    let lacks: Vec<String> =
        [of(undone, "are not done"), of(unsure, "have no certain answer")].into_iter().flatten().collect();
    if lacks.is_empty() { vec![format!("- all {steps} parts of the request are done")] } else { lacks }
}

/// The line stating that nothing tests the changed definitions.
pub fn untested(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let what = if names.is_empty() { "what was changed".to_owned() } else { names.join(", ") };
    format!("- not tested: no example in the request and no new test runs {what}")
}
