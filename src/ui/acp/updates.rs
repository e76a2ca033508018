//! Converts the events of a turn into the protocol's updates: plan, tool calls, pieces of answer and thoughts.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agent_client_protocol_schema::v1::{
    ContentBlock, ContentChunk, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionUpdate, TextContent,
    ToolCall, ToolCallId, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use serde_json::{Map, Value};

use super::calls;
use crate::base::StepId;
use crate::protocol::{Event, PlanStep, Proposal, StepReport, StepState, StepStatus};
use crate::ui::words;

/// Interval for reports while a model works without output. A pulse comes every second, and every
/// report stays in the conversation.
const PULSE_MS: u64 = 15_000;

/// The updates sent for one turn.
pub struct Updates {
    project: PathBuf,
    /// Numbers the calls of the entire session, whose identifiers must be unique.
    calls: Arc<AtomicUsize>,
    plan: Vec<Planned>,
    /// For each step, the call that has been announced and has not ended.
    open: BTreeMap<StepId, ToolCallId>,
    /// The call that last asked for consent; the question to the editor refers to it.
    pub asked: Option<ToolCallId>,
    /// The model file whose loading has been reported.
    loading: Option<String>,
    /// The last reported wait: its purpose, and the place in the queue or the number of
    /// [`PULSE_MS`] intervals passed.
    waiting: Option<(String, u64)>,
    has_answered: bool,
}

struct Planned {
    step: StepId,
    text: String,
    state: StepState,
    /// Whether one of its calls was refused permission.
    is_refused: bool,
    /// Whether one of its calls that may change something has succeeded.
    is_made: bool,
}

impl Planned {
    fn new(step: &PlanStep) -> Planned {
        let (step, text, state) = (step.id, step.description.clone(), StepState::Pending);
        Planned { step, text, state, is_refused: false, is_made: false }
    }

    /// The protocol has no status for failure, and `completed` means success. A step that was not
    /// done is therefore `pending`, with the reason.
    fn entry(&self) -> PlanEntry {
        let (status, why) = match self.state {
            StepState::Pending => (PlanEntryStatus::Pending, ""),
            StepState::Thinking | StepState::Deciding | StepState::AwaitingApproval | StepState::Executing => {
                (PlanEntryStatus::InProgress, "")
            }
            _ if self.is_refused && !self.is_made => (PlanEntryStatus::Pending, " (refused)"),
            StepState::Complete if self.is_refused => (PlanEntryStatus::Completed, " (partly refused)"),
            StepState::Complete => (PlanEntryStatus::Completed, ""),
            StepState::FailedToThink | StepState::FailedToExecute => (PlanEntryStatus::Pending, " (failed)"),
        };
        PlanEntry::new(format!("{}{why}", self.text), PlanEntryPriority::Medium, status)
    }
}

impl Updates {
    /// `project` is the folder for relative paths; `calls` counts the calls of the session.
    pub fn new(project: PathBuf, calls: Arc<AtomicUsize>) -> Updates {
        let (plan, open) = (Vec::new(), BTreeMap::new());
        Updates { project, calls, plan, open, asked: None, loading: None, waiting: None, has_answered: false }
    }

    pub fn of(&mut self, event: &Event) -> Vec<SessionUpdate> {
        match event {
            // This comes only from the journal, because the client itself has the request.
            Event::TurnStarted { request, .. } => vec![SessionUpdate::UserMessageChunk(chunk(request))],
            Event::PlanCreated { plan } => {
                self.plan = plan.steps.iter().map(Planned::new).collect();
                vec![self.plan()]
            }
            Event::StepExecuting { step, .. } => self.moved(*step, StepState::Thinking),
            Event::StepState { step, state } => self.moved(*step, *state),
            // A question for values has its own form; the call follows once it is complete.
            Event::ApprovalRequested { proposal, .. } if !proposal.wanted().is_empty() => Vec::new(),
            Event::ApprovalRequested { step, proposal } => vec![self.proposed(*step, proposal)],
            Event::CallStarted { step, tool, arguments } => vec![self.started(*step, tool, arguments)],
            Event::StepCompleted(report) => vec![self.ended(report)],
            Event::Token { text } => {
                self.has_answered = true;
                vec![message(text)]
            }
            Event::Thinking { text } => vec![thought(text)],
            Event::TurnFinished(finished) if !self.has_answered && !finished.answer.is_empty() => {
                vec![message(&finished.answer)]
            }
            _ => self.told(event).map(|told| note(&told)).into_iter().collect(),
        }
    }

    /// A message for the user that is not a plan, a call or the answer.
    fn told(&mut self, event: &Event) -> Option<String> {
        match event {
            Event::Notice { text } => Some(text.clone()),
            Event::Fallback { from, reason } => Some(format!("{from} continues one call at a time: {reason}")),
            Event::ModelLoading { role, file, .. } if self.loading.as_ref() != Some(file) => {
                self.loading = Some(file.clone());
                Some(format!("loading {role} {file}"))
            }
            Event::QueueUpdate { position, .. } => self.waited("queued", *position as u64, event),
            Event::Pulse { phase, waited_ms } => self.waited(phase, waited_ms / PULSE_MS, event),
            Event::CheckpointMade { .. } => words::remark(event),
            _ => None,
        }
    }

    /// A wait in words, if it adds to the last report.
    fn waited(&mut self, what: &str, count: u64, event: &Event) -> Option<String> {
        let sign = Some((what.to_owned(), count));
        if self.waiting == sign {
            return None;
        }
        self.waiting = sign;
        words::doing(event)
    }

    fn plan(&self) -> SessionUpdate {
        SessionUpdate::Plan(Plan::new(self.plan.iter().map(Planned::entry).collect()))
    }

    /// The plan, if the step has changed its state.
    fn moved(&mut self, step: StepId, state: StepState) -> Vec<SessionUpdate> {
        let before = self.plan();
        if let Some(planned) = self.plan.iter_mut().find(|planned| planned.step == step) {
            planned.state = state;
        }
        let now = self.plan();
        if now == before { Vec::new() } else { vec![now] }
    }

    fn fresh(&self) -> ToolCallId {
        ToolCallId::new(format!("call-{}", self.calls.fetch_add(1, Ordering::Relaxed) + 1))
    }

    fn proposed(&mut self, step: StepId, proposal: &Proposal) -> SessionUpdate {
        let id = self.fresh();
        self.open.insert(step, id.clone());
        self.asked = Some(id.clone());
        let fields = calls::described(&proposal.tool, &proposal.arguments, &self.project);
        let content = calls::proposed(proposal, &self.project);
        begun(id, fields.content(content).status(ToolCallStatus::Pending))
    }

    fn started(&mut self, step: StepId, tool: &str, arguments: &Map<String, Value>) -> SessionUpdate {
        if let Some(id) = self.open.get(&step) {
            let fields = ToolCallUpdateFields::new().status(ToolCallStatus::InProgress);
            return SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id.clone(), fields));
        }
        let id = self.fresh();
        self.open.insert(step, id.clone());
        begun(id, calls::described(tool, arguments, &self.project).status(ToolCallStatus::InProgress))
    }

    fn ended(&mut self, report: &StepReport) -> SessionUpdate {
        if let Some(planned) = self.plan.iter_mut().find(|planned| planned.step == report.step) {
            planned.is_refused |= report.status.is_refused();
            planned.is_made |= report.status == StepStatus::Succeeded && report.executing;
        }
        let status = match report.status {
            StepStatus::Succeeded => ToolCallStatus::Completed,
            _ => ToolCallStatus::Failed,
        };
        let content = calls::result(report, &self.project);
        if let Some(id) = self.open.remove(&report.step) {
            let fields = ToolCallUpdateFields::new().status(status).content(content);
            return SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id, fields));
        }
        // This call did not run: it was denied, or its result was already known.
        let none = Map::new();
        let arguments = report.arguments.as_object().unwrap_or(&none);
        let fields = calls::described(&report.tool, arguments, &self.project);
        begun(self.fresh(), fields.status(status).content(content))
    }
}

/// A call shown from now on.
fn begun(id: ToolCallId, fields: ToolCallUpdateFields) -> SessionUpdate {
    let mut call = ToolCall::new(id, fields.title.clone().unwrap_or_default());
    call.update(fields);
    SessionUpdate::ToolCall(call)
}

fn message(text: &str) -> SessionUpdate {
    SessionUpdate::AgentMessageChunk(chunk(text))
}

/// A message that is not part of the answer. The protocol's only place for such messages is among
/// the thoughts.
pub fn note(text: &str) -> SessionUpdate {
    thought(&format!("{text}\n\n"))
}

fn thought(text: &str) -> SessionUpdate {
    SessionUpdate::AgentThoughtChunk(chunk(text))
}

fn chunk(text: &str) -> ContentChunk {
    ContentChunk::new(ContentBlock::Text(TextContent::new(text)))
}

#[cfg(test)]
mod tests;
