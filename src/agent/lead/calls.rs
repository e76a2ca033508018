//! Runs the calls of one reply: reading calls in parallel, the others one by one. Each gets its
//! result, within a size limit.

use serde_json::Value;

use crate::agent::budget;
use crate::agent::call::from_sources;
use crate::agent::evidence::Entry;
use crate::agent::execute;
use crate::agent::toolkit::TurnError;
use crate::base::StepId;
use crate::models::dialect::{Message, RawCall, Speaker};
use crate::protocol::{Event, FileChange, StepState, StepStatus};
use crate::tools::builtin::Builtin;
use crate::tools::call::check::{self, Repair};
use crate::tools::outcome::{Keep, fitted};
use crate::tools::{self, ToolCall, ToolSpec};

use super::watch::{Answered, REFUSED_MAX, Verdict};
use super::{Lead, checklist};

/// The results of the calls of a reply.
#[derive(Default)]
pub struct Round {
    /// The text for the model for each call, in the order of the calls.
    pub results: Vec<String>,
    /// Number of calls that a listed tool accepted.
    pub usable: usize,
    /// The last call that changed a file.
    changed_at: Option<usize>,
    /// The watch's verdict on the calls; the worst one applies.
    pub verdict: Option<Verdict>,
}

impl Round {
    fn judged(&mut self, verdict: Verdict) {
        let rank = |verdict: &Verdict| match verdict {
            Verdict::Go => 0,
            Verdict::Say(_) => 1,
            Verdict::End(_) => 2,
        };
        if self.verdict.as_ref().is_none_or(|known| rank(&verdict) > rank(known)) {
            self.verdict = Some(verdict);
        }
    }
}

/// A reading call that waits for the other calls of its reply.
struct Waiting<'s> {
    at: usize,
    step: StepId,
    call: ToolCall,
    spec: &'s ToolSpec,
}

impl Lead<'_> {
    /// Runs the calls. If they are not `certain`, only calls that change nothing run.
    pub(super) async fn calls(&mut self, calls: Vec<RawCall>, certain: bool) -> Result<Round, TurnError> {
        let mut round = Round { results: vec![String::new(); calls.len()], ..Round::default() };
        let offer = self.offer.clone();
        let known = self.evidence.entries().len();
        let mut waiting: Vec<Waiting<'_>> = Vec::new();
        let steps: Vec<&str> = calls.iter().filter_map(checklist::added).collect();
        let mut planned = (!steps.is_empty()).then(|| self.checklist.add(&steps, self.scene.host));
        for (at, raw) in calls.into_iter().enumerate() {
            if checklist::added(&raw).is_some() {
                match planned.take() {
                    Some(Ok(told)) => (round.results[at], round.usable) = (told, round.usable + 1),
                    Some(Err(why)) => round.results[at] = format!("not changed: {why}"),
                    None => round.results[at] = "see above".to_owned(),
                }
                continue;
            }
            if at >= self.budget.calls {
                let most = self.budget.calls;
                if at == most {
                    self.scene
                        .host
                        .notice(&format!("only the first {most} calls of a reply are run; the model is informed"));
                }
                round.results[at] = format!("not run: only the first {most} calls of a reply are run; call this again");
                continue;
            }
            let checked = match check::check(&raw, &offer.specs) {
                Ok(checked) => checked,
                Err(problem) => {
                    round.results[at] = format!("{problem}. Only the listed tools can be called.");
                    continue;
                }
            };
            let Some(spec) = offer.get(&checked.call.tool) else { continue };
            if let Some(why) = self.refusal(&checked, spec, certain) {
                round.results[at] = why;
                continue;
            }
            let step = self.checklist.current(&Value::Object(checked.call.arguments.clone()).to_string());
            let call = match from_sources(self.scene, step, self.evidence, checked.call, spec).await? {
                Ok(call) => call,
                Err(why) => {
                    round.results[at] = why;
                    continue;
                }
            };
            round.usable += 1;
            if call.tool == Builtin::Plan.name() {
                let set = self.checklist.set(&call.arguments, self.scene.host);
                round.results[at] = set.unwrap_or_else(|why| format!("not changed: {why}"));
                continue;
            }
            if !spec.mutates {
                waiting.push(Waiting { at, step, call, spec });
                continue;
            }
            self.read(std::mem::take(&mut waiting), &mut round).await?;
            if self.watch.refused() >= REFUSED_MAX {
                round.results[at] = "not asked for: the user has refused the calls before it".to_owned();
                continue;
            }
            self.scene.host.emit(Event::StepState { step, state: StepState::Deciding });
            let is_repeated = self.evidence.just_done(&call.tool, &call.arguments).is_some();
            let place = if is_repeated {
                self.evidence.entries().len() - 1
            } else {
                let id = execute::perform(self.scene, step, call, spec, self.evidence).await?.id;
                id.0 - 1
            };
            self.answered(at, place, is_repeated, &mut round);
        }
        self.read(waiting, &mut round).await?;
        self.diagnose(known, &mut round);
        Ok(round)
    }

    /// Adds, to the result of the last call that changed files, the damage that all changes since
    /// entry `known` may have done: a later call of a reply often repairs what an earlier one
    /// broke.
    fn diagnose(&self, known: usize, round: &mut Round) {
        let entries = &self.evidence.entries()[known..];
        let changes = combined(entries.iter().flat_map(|entry| &entry.outcome.changes));
        let Some(at) = round.changed_at.filter(|_| !changes.is_empty()) else { return };
        for warning in tools::diagnose(self.scene.context, &changes) {
            round.results[at].push_str(&format!("\n! {warning}"));
        }
    }

    /// Runs the waiting calls in parallel.
    async fn read(&mut self, waiting: Vec<Waiting<'_>>, round: &mut Round) -> Result<(), TurnError> {
        if waiting.is_empty() {
            return Ok(());
        }
        let known = self.evidence.entries().len();
        let places: Vec<usize> = waiting.iter().map(|one| one.at).collect();
        let calls = waiting.into_iter().map(|one| (one.step, one.call, one.spec)).collect();
        let done = execute::perform_reads(self.scene, calls, self.evidence).await?;
        for (at, place) in places.into_iter().zip(done) {
            self.answered(at, place, place < known, round);
        }
        Ok(())
    }

    /// Writes a call's result for the model, and reports it to the watch.
    fn answered(&mut self, at: usize, place: usize, is_known: bool, round: &mut Round) {
        let entry = &self.evidence.entries()[place];
        let is_refused = matches!(entry.status, StepStatus::Rejected | StepStatus::NotAsked);
        if !entry.outcome.changes.is_empty() {
            round.changed_at = Some(at);
        }
        round.results[at] = self.result(entry, is_known);
        let answered = Answered {
            call: format!("{}{}", entry.tool, Value::Object(entry.arguments.clone())),
            tool: &entry.tool,
            fingerprint: entry.outcome.fingerprint(),
            is_refused,
        };
        round.judged(self.watch.answered(&answered));
        self.fresh.push(entry.outcome.text.clone());
    }

    /// The result of a call as shown to the model, shortened to the budget's limit.
    fn result(&self, entry: &Entry, is_known: bool) -> String {
        let keep = if entry.tool == Builtin::RunCommand.name() { Keep::HeadTail } else { Keep::Head };
        let outcome = &entry.outcome;
        let count = |text: &str| self.model.count(text);
        let text = match self.budget.is_long_result(count(&outcome.text)) {
            false => outcome.text.clone(),
            true => {
                let text = fitted(&outcome.text, budget::bytes(self.budget.result, &outcome.text, count), keep);
                let next = last_line(&text).filter(|_| entry.tool == Builtin::ReadFile.name());
                text + &next.map_or(String::new(), |last| format!("\n[start_line = {} goes on]", last + 1))
            }
        };
        let is_shown = |message: &Message| message.speaker == Speaker::Tool && message.content.contains(&text);
        if is_known && entry.succeeded() && self.messages.iter().any(is_shown) {
            return "The same as the result of this call before; nothing has changed since.".to_owned();
        }
        let is_command = entry.tool == Builtin::RunCommand.name();
        match entry.status {
            // The result of a command states how it ended, and many commands end with a non-zero
            // status by design.
            StepStatus::Failed if is_command => text,
            StepStatus::Succeeded => text,
            StepStatus::Rejected => "The user said no to this call.".to_owned(),
            StepStatus::Failed | StepStatus::Skipped => format!("Failed: {text}"),
            StepStatus::Cancelled | StepStatus::NotAsked | StepStatus::Denied => format!("Not done: {text}"),
        }
    }

    /// The message to the model if a call that may change something is not run; the user also gets
    /// a notice. A call that is a guess, or that has arguments unknown to the tool, could change
    /// something unintended.
    fn refusal(&self, checked: &check::Checked, spec: &ToolSpec, certain: bool) -> Option<String> {
        if !spec.mutates || spec.name == Builtin::Plan.name() {
            return None;
        }
        let dropped = checked.repairs.iter().find(|repair| matches!(repair, Repair::Dropped { .. }));
        let (why, advice) = match dropped {
            _ if !certain => {
                let arguments = checked.call.arguments.keys().map(|name| (name.clone(), Value::from("…"))).collect();
                let example = self.model.written(&spec.name, &arguments);
                ("it is not written as a call".to_owned(), format!("Write it exactly like this: {example}"))
            }
            Some(dropped) => (dropped.to_string(), "Call it with its own arguments alone.".to_owned()),
            None => return None,
        };
        let tool = &spec.name;
        self.scene.host.notice(&format!("`{tool}` was not run: {why}"));
        Some(format!("`{tool}` was not run: {why}. {advice}"))
    }
}

/// Combines the changes of each file into one change, from its first text to its last.
fn combined<'a>(changes: impl Iterator<Item = &'a FileChange>) -> Vec<FileChange> {
    let mut all: Vec<FileChange> = Vec::new();
    for change in changes {
        match all.iter_mut().find(|known| known.path == change.path) {
            Some(known) => known.new.clone_from(&change.new),
            None => all.push(change.clone()),
        }
    }
    all.retain(|change| change.old != change.new);
    all
}

/// The number of the last numbered line (`14| let a = 1;`) of a text.
fn last_line(text: &str) -> Option<usize> {
    text.lines().rev().find_map(|line| line.split_once('|')?.0.parse().ok())
}
