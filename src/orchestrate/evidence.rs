//! Records every tool call of a turn with its result. Answers may claim nothing that is not recorded here.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::base::{CallId, StepId};
use crate::protocol::{Given, StepReport, StepStatus};
use crate::tools::Outcome;
use crate::tools::outcome::{Finding, cut_middle};

/// Tool name of an entry for a text that the user handed over.
pub const GIVEN: &str = "context";

/// Longest result that a report carries, in bytes.
const OUTPUT_MAX: usize = 16 << 10;

/// One executed, refused or failed call.
#[derive(Clone, Debug)]
pub struct Entry {
    pub id: CallId,
    pub step: StepId,
    pub tool: String,
    pub arguments: Map<String, Value>,
    pub status: StepStatus,
    pub outcome: Outcome,
    /// The tool can change the project.
    pub executing: bool,
    pub wall_ms: u64,
}

impl Entry {
    pub fn succeeded(&self) -> bool {
        self.status == StepStatus::Succeeded
    }

    /// One line: what was found, changed or went wrong.
    pub fn summary(&self) -> String {
        let text = self.outcome.text.lines().find(|line| !line.trim().is_empty()).unwrap_or("no output");
        crate::tools::outcome::cut_line(text.trim(), 160)
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
            output: cut_middle(self.outcome.text.clone(), OUTPUT_MAX),
            wall_ms: self.wall_ms,
        }
    }
}

/// The calls of a turn in the order in which they ended.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    entries: Vec<Entry>,
    /// Index of the entry with this signature, to find repeated calls.
    known: HashMap<String, usize>,
    /// Calls so far that may have changed the project. Part of each signature, so that a read after a change is not a repeat.
    version: usize,
    /// Steps that a call of another step answers too, with the index of that call.
    answered: Vec<(StepId, usize)>,
}

/// A call as it goes into the evidence.
pub struct Record<'a> {
    pub step: StepId,
    pub tool: &'a str,
    pub arguments: &'a Map<String, Value>,
    pub status: StepStatus,
    pub outcome: Outcome,
    /// The tool can change the project (a command can): earlier results may be out of date afterwards.
    pub executing: bool,
    pub wall_ms: u64,
}

impl Evidence {
    pub fn add(&mut self, record: Record<'_>) -> &Entry {
        let signature = self.signature(record.tool, record.arguments);
        let place = self.entries.len();
        self.known.insert(signature, place);
        let ran = matches!(record.status, StepStatus::Succeeded | StepStatus::Failed);
        if record.executing && ran {
            self.version += 1;
        }
        self.entries.push(Entry {
            id: CallId(place + 1),
            step: record.step,
            tool: record.tool.to_owned(),
            arguments: record.arguments.clone(),
            status: record.status,
            outcome: record.outcome,
            executing: record.executing,
            wall_ms: record.wall_ms,
        });
        &self.entries[place]
    }

    /// Records a text that the user handed over, as if a tool had read it.
    pub fn take_in(&mut self, given: &Given) {
        let lines = given.text.lines().enumerate();
        let findings = lines.map(|(at, line)| Finding::at(&given.name, at + 1, line)).collect();
        let outcome = Outcome::ok(format!("{}\n{}", given.name, given.text)).with_findings(findings);
        let arguments = Map::from_iter([("path".to_owned(), Value::String(given.name.clone()))]);
        let (tool, arguments, status) = (GIVEN, &arguments, StepStatus::Succeeded);
        self.add(Record { step: StepId(0), tool, arguments, status, outcome, executing: false, wall_ms: 0 });
    }

    /// The earlier call with the same tool and arguments, if nothing has changed since.
    pub fn repeated(&self, tool: &str, arguments: &Map<String, Value>) -> Option<&Entry> {
        self.place_of(tool, arguments).map(|place| &self.entries[place])
    }

    /// Index of the entry that [`Evidence::repeated`] finds.
    pub fn place_of(&self, tool: &str, arguments: &Map<String, Value>) -> Option<usize> {
        self.known.get(&self.signature(tool, arguments)).copied()
    }

    /// The last call, if it is this same one, succeeded and can change the project: a model that repeats it has lost track.
    pub fn just_done(&self, tool: &str, arguments: &Map<String, Value>) -> Option<&Entry> {
        let last = self.entries.last().filter(|last| last.executing && last.succeeded());
        last.filter(|last| last.tool == tool && last.arguments == *arguments)
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The calls of a step, and the calls of other steps that answer it too.
    pub fn of(&self, step: StepId) -> impl Iterator<Item = &Entry> {
        let answered =
            self.answered.iter().filter(move |(one, _)| *one == step).map(|&(_, place)| &self.entries[place]);
        self.entries.iter().filter(move |entry| entry.step == step).chain(answered)
    }

    /// Notes that the call `known`, made for another step, also answers `step`.
    pub fn answers(&mut self, known: CallId, step: StepId) {
        let is_new = self.of(step).all(|entry| entry.id != known);
        if is_new && known.0 > 0 && known.0 <= self.entries.len() {
            self.answered.push((step, known.0 - 1));
        }
    }

    /// Identifies a call: project version, tool, and arguments in a fixed order.
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

    fn arguments(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    fn record<'a>(tool: &'a str, arguments: &'a Map<String, Value>, outcome: Outcome) -> Record<'a> {
        let executing = tool != "read_file";
        Record { step: StepId(1), tool, arguments, status: StepStatus::Succeeded, outcome, executing, wall_ms: 1 }
    }

    #[test]
    fn a_repeated_call_is_found_whatever_the_order_of_its_arguments() {
        let mut evidence = Evidence::default();
        evidence.add(record("read_file", &arguments(json!({"path": "a", "start_line": 1})), Outcome::ok("x")));
        assert!(evidence.repeated("read_file", &arguments(json!({"start_line": 1, "path": "a"}))).is_some());
        assert!(evidence.repeated("read_file", &arguments(json!({"path": "b"}))).is_none());
    }

    #[test]
    fn a_read_after_a_change_is_not_a_repeat() {
        let mut evidence = Evidence::default();
        let path = arguments(json!({"path": "a"}));
        evidence.add(record("read_file", &path, Outcome::ok("x")));
        evidence.add(record("run_command", &path, Outcome::ok("exit 0")));
        assert!(evidence.repeated("read_file", &path).is_none());
    }

    #[test]
    fn one_call_can_answer_two_steps() {
        let mut evidence = Evidence::default();
        let id = evidence.add(record("read_file", &arguments(json!({"path": "a"})), Outcome::ok("x"))).id;
        // A step may make the same call twice.
        for step in [1, 2, 2] {
            evidence.answers(id, StepId(step));
        }
        assert_eq!((evidence.of(StepId(1)).count(), evidence.of(StepId(2)).count()), (1, 1));
    }
}
