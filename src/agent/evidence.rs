//! Records every tool call of a turn with its result. An answer may claim only what this record
//! contains.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::base::{CallId, StepId};
use crate::protocol::{Given, StepReport, StepStatus};
use crate::tools::Outcome;
use crate::tools::outcome::{Finding, Keep, fitted};

/// Tool name of the entry for a text that the user handed over.
pub const GIVEN: &str = "context";

/// Tool name of the entry for a step that a model answered in words; the entry names the sources.
pub const ANSWER: &str = "answer";

/// Maximum length of a result in a report, in bytes.
const OUTPUT_MAX: usize = 16 << 10;

/// The kinds of commands that check a change, by what they prove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Prints the results of calls without expecting particular ones.
    Looks,
    /// Runs the examples of the request.
    Examples,
    /// Runs tests that this turn wrote.
    NewTests,
    /// Runs a test file that this turn changed without adding a test.
    ChangedTests,
    /// Runs tests that existed before.
    OldTests,
    /// The command that must pass according to the request.
    Asked,
    Compiles,
    Loads,
}

/// One executed, refused or failed call.
#[derive(Clone, Debug)]
pub struct Entry {
    pub id: CallId,
    pub step: StepId,
    pub tool: String,
    pub arguments: Map<String, Value>,
    pub status: StepStatus,
    pub outcome: Outcome,
    /// Whether the tool can change the project (a command can): earlier results may then be out of
    /// date.
    pub executing: bool,
    pub wall_ms: u64,
}

impl Entry {
    /// A call that succeeded and changed nothing; the id is set when the entry is added.
    pub fn looked(step: StepId, tool: &str, arguments: Map<String, Value>, outcome: Outcome) -> Entry {
        let status = StepStatus::Succeeded;
        Entry { id: CallId(0), step, tool: tool.to_owned(), arguments, status, outcome, executing: false, wall_ms: 0 }
    }

    pub fn succeeded(&self) -> bool {
        self.status == StepStatus::Succeeded
    }

    /// One line: what was found or changed, or what went wrong.
    pub fn summary(&self) -> String {
        let text = self.outcome.text.lines().find(|line| !line.trim().is_empty()).unwrap_or("no output");
        crate::tools::outcome::cut_line(text.trim(), 160)
    }

    /// The last line of the result; for a failed command, this is usually the reason.
    pub fn last_line(&self) -> String {
        let last = self.outcome.text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no output");
        crate::tools::outcome::cut_line(last.trim(), 160)
    }

    pub fn report(&self) -> StepReport {
        StepReport {
            step: self.step,
            call: Some(self.id),
            tool: self.tool.clone(),
            arguments: Value::Object(self.arguments.clone()),
            status: self.status,
            executing: self.executing,
            summary: self.summary(),
            result_hash: self.outcome.fingerprint(),
            checkpoint: self.outcome.checkpoint.map(|id| format!("c{id}")),
            diff: self.outcome.diff.clone(),
            changes: self.outcome.changes.clone(),
            output: fitted(&self.outcome.text, OUTPUT_MAX, Keep::HeadTail),
            wall_ms: self.wall_ms,
        }
    }
}

/// The calls of a turn in the order in which they ended.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    entries: Vec<Entry>,
    /// Index of the entry with this signature; finds repeated calls.
    known: HashMap<String, usize>,
    /// Number of calls so far that may have changed the project. Part of each signature, so that
    /// reading again after a change does not count as a repeat.
    version: usize,
    /// Steps that a call of another step also answers, with the index of that call.
    answered: Vec<(StepId, usize)>,
    /// The kinds of the commands that checked changes.
    checks: HashMap<CallId, Check>,
    /// Failed calls for which a substitute call succeeded.
    set_aside: Vec<CallId>,
    /// Tools with the arguments that the user was asked for and did not give.
    ungiven: Vec<String>,
}

impl Evidence {
    /// Records that a substitute for this failed call succeeded: the failure no longer counts
    /// against its step.
    pub fn set_aside(&mut self, id: CallId) {
        self.set_aside.push(id);
    }

    /// Whether the call, or a substitute for it, succeeded.
    pub fn is_settled(&self, entry: &Entry) -> bool {
        entry.succeeded() || self.set_aside.contains(&entry.id)
    }

    /// Whether the user was already asked for these arguments of the tool and did not give them.
    pub fn was_not_given(&self, tool: &str, names: &str) -> bool {
        self.ungiven.contains(&format!("{tool} {names}"))
    }

    /// Records that the user did not give these arguments of the tool.
    pub fn not_given(&mut self, tool: &str, names: &str) {
        self.ungiven.push(format!("{tool} {names}"));
    }

    /// Adds a call and gives it the next id.
    pub fn add(&mut self, entry: Entry) -> &Entry {
        let place = self.entries.len();
        let signature = self.signature(&entry.tool, &entry.arguments);
        self.known.insert(signature, place);
        let ran = matches!(entry.status, StepStatus::Succeeded | StepStatus::Failed);
        self.version += usize::from(entry.executing && ran);
        self.entries.push(Entry { id: CallId(place + 1), ..entry });
        &self.entries[place]
    }

    /// Records a text that the user handed over, as if a tool had read it.
    pub fn take_in(&mut self, given: &Given) {
        let lines = given.text.lines().enumerate();
        let findings = lines.map(|(at, line)| Finding::at(&given.name, at + 1, line)).collect();
        let outcome = Outcome::ok(format!("{}\n{}", given.name, given.text)).with_findings(findings);
        let arguments = Map::from_iter([("path".to_owned(), Value::String(given.name.clone()))]);
        self.add(Entry::looked(StepId(0), GIVEN, arguments, outcome));
    }

    /// Adds the calls that `own`, a copy made after `known` calls, has received since then. They
    /// get the next ids.
    pub fn join(&mut self, own: Evidence, known: usize) {
        let shift = self.entries.len().saturating_sub(known);
        for (at, entry) in own.entries.into_iter().enumerate().skip(known) {
            let check = own.checks.get(&entry.id).copied();
            let id = self.add(entry).id;
            self.checks.extend(check.map(|check| (id, check)));
            debug_assert_eq!(id.0, at + shift + 1);
        }
        for (step, place) in own.answered {
            let id = CallId(place + 1 + if place < known { 0 } else { shift });
            self.answers(id, step);
        }
    }

    /// The earlier call with the same tool and arguments, if nothing has changed since then.
    pub fn repeated(&self, tool: &str, arguments: &Map<String, Value>) -> Option<&Entry> {
        self.place_of(tool, arguments).map(|place| &self.entries[place])
    }

    /// Index of the entry for [`Evidence::repeated`].
    pub fn place_of(&self, tool: &str, arguments: &Map<String, Value>) -> Option<usize> {
        self.known.get(&self.signature(tool, arguments)).copied()
    }

    /// The last call, if it is the same as this one, succeeded and can change the project. A model
    /// that repeats such a call has lost track.
    pub fn just_done(&self, tool: &str, arguments: &Map<String, Value>) -> Option<&Entry> {
        let last = self.entries.last().filter(|last| last.executing && last.succeeded());
        last.filter(|last| last.tool == tool && last.arguments == *arguments)
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Records that a call checked a change.
    pub fn note_check(&mut self, call: CallId, check: Check) {
        self.checks.insert(call, check);
    }

    /// The kind of check that a call made; `None` if it did not check a change.
    pub fn check(&self, call: CallId) -> Option<Check> {
        self.checks.get(&call).copied()
    }

    /// The calls of a step, and calls of other steps that also answer it.
    pub fn of(&self, step: StepId) -> impl Iterator<Item = &Entry> {
        let answered =
            self.answered.iter().filter(move |(one, _)| *one == step).map(|&(_, place)| &self.entries[place]);
        self.entries.iter().filter(move |entry| entry.step == step).chain(answered)
    }

    /// Records that the call `known`, made for another step, also answers `step`.
    pub fn answers(&mut self, known: CallId, step: StepId) {
        let is_new = self.of(step).all(|entry| entry.id != known);
        if is_new && known.0 > 0 && known.0 <= self.entries.len() {
            self.answered.push((step, known.0 - 1));
        }
    }

    /// Identifies a call by project version, tool, and arguments in a fixed order.
    pub fn signature(&self, tool: &str, arguments: &Map<String, Value>) -> String {
        let mut sorted: Vec<_> = arguments.iter().collect();
        sorted.sort_by_key(|(name, _)| name.as_str());
        let arguments: Vec<String> = sorted.iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("{}#{tool}({})", self.version, arguments.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(tool: &str, arguments: Value) -> Entry {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        Entry { executing: tool != "read_file", ..Entry::looked(StepId(1), tool, arguments, Outcome::ok("x")) }
    }

    #[test]
    fn a_call_is_repeated_whatever_the_order_of_its_arguments_until_something_changes() {
        let mut evidence = Evidence::default();
        evidence.add(call("read_file", json!({"path": "a", "start_line": 1})));
        let repeated = |evidence: &Evidence, arguments: Value| {
            let again = call("read_file", arguments);
            evidence.repeated(&again.tool, &again.arguments).is_some()
        };
        assert!(repeated(&evidence, json!({"start_line": 1, "path": "a"})));
        assert!(!repeated(&evidence, json!({"path": "b"})));
        evidence.add(call("run_command", json!({"command": "make"})));
        assert!(!repeated(&evidence, json!({"start_line": 1, "path": "a"})));
    }

    #[test]
    fn one_call_can_answer_two_steps() {
        let mut evidence = Evidence::default();
        let id = evidence.add(call("read_file", json!({"path": "a"}))).id;
        // A step may make the same call twice.
        for step in [1, 2, 2] {
            evidence.answers(id, StepId(step));
        }
        assert_eq!((evidence.of(StepId(1)).count(), evidence.of(StepId(2)).count()), (1, 1));
    }
}
