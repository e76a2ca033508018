//! The types that a user interface and a session exchange: requests, turn events, and calls that need consent.

mod cost;
mod memory;
mod step;
mod telemetry;

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::base::mask::Mask;
use crate::base::{ConversationId, StepId};
use crate::models::Picture;

pub use cost::{BudgetReport, CallCost, Usage};
pub use memory::{LoadingRow, Memory, ModelFile, ModelRow, ServerRow};
pub use step::{
    Asks, Decision, FileChange, PlanStatus, PlanStep, PlanView, Proposal, StepReport, StepState, StepStatus, Sure,
    ToolChoice,
};
pub use telemetry::{
    CognitiveState, Detection, Recovery, Remedy, Repeat, Stall, ToolMiss, Verification, VerificationResult,
};

/// An operation that a user interface submits to a session.
#[derive(Clone, Debug)]
pub enum Op {
    /// Plan, execute and answer.
    Ask(Ask),
    /// Plan, then stop.
    Plan(Ask),
    /// Change the models in memory.
    Models(ModelsOp),
}

/// A change to the models in memory. A model is identified by role, file, or part of a file name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelsOp {
    Load(String),
    Unload(String),
    /// Replaces the first model with the second, which takes over its roles.
    Swap(String, String),
    Pin(String),
    Unpin(String),
}

/// One request from the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ask {
    pub text: String,
    pub mode: Mode,
    /// Texts that the user attaches to the request.
    pub given: Vec<Given>,
    /// Pictures that the user attaches to the request.
    pub pictures: Vec<Picture>,
    /// Whether the user is asked after every stage of the turn and before every call.
    pub inspects: bool,
    /// It was written by another program, perhaps with a model: nothing is fetched from MCP servers
    /// for it.
    pub of_program: bool,
}

/// The rights of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Plan, act, answer.
    #[default]
    Agent,
    /// Look things up and answer; nothing is changed.
    Chat,
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(name: &str) -> Result<Mode, String> {
        match name {
            "agent" => Ok(Mode::Agent),
            "chat" => Ok(Mode::Chat),
            _ => Err(format!("`{name}` is not a mode; write agent or chat")),
        }
    }
}

/// An earlier request in a conversation, and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    pub request: String,
    pub answer: String,
}

/// Maximum length of a request, in bytes: a longer one would not fit into a slot's context.
pub const REQUEST_BYTES_MAX: usize = 64 << 10;
/// Maximum number of texts attached to a request, and maximum size of each: they must leave room in
/// a slot's context.
pub const GIVEN_MAX: usize = 8;
pub const GIVEN_BYTES_MAX: u64 = 256 << 10;

/// A text that the user attaches to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// The file name as the user wrote it, or `@server:uri` for a resource.
    pub name: String,
    pub text: String,
}

/// Something that happened during a turn. Serialised within a [`Record`]: `{"type", "conversationId", "time", "data": {…}}`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
pub enum Event {
    /// A model is being read from disk; `share` is the part read so far, from 0 to 1.
    #[serde(rename = "model-loading")]
    ModelLoading { role: String, file: String, share: f32 },
    /// A message for the user that does not end the turn.
    #[serde(rename = "notice")]
    Notice { text: String },
    /// A request begins. Only in the journal, because the sender has the request.
    #[serde(rename = "turn-started")]
    TurnStarted { request: String, approve: String },
    /// The user's decision about a [`Proposal`]. Only in the journal.
    #[serde(rename = "decided")]
    Decided { step: StepId, tool: String, decision: String },
    /// The turn changed files; `checkpoint` is the state before it, and the numbers count files.
    /// `left` lists changed paths that going back does not restore, each with the reason.
    #[serde(rename = "checkpoint-made")]
    CheckpointMade {
        checkpoint: String,
        created: usize,
        changed: usize,
        deleted: usize,
        #[serde(default)]
        left: Vec<(String, String)>,
    },
    /// The project was restored to a checkpoint; `safety` is the checkpoint that undoes this.
    #[serde(rename = "rewound")]
    Rewound(Rewound),
    /// The plan, before its first step runs.
    #[serde(rename = "plan-created")]
    PlanCreated { plan: PlanView },
    /// A step of the plan has ended; the plan includes the states of its steps so far.
    #[serde(rename = "plan-updated")]
    PlanUpdated { plan: PlanView },
    /// A step begins.
    #[serde(rename = "step-executing")]
    StepExecuting { step: StepId, description: String },
    /// A step enters its next state.
    #[serde(rename = "step-state")]
    StepState { step: StepId, state: StepState },
    /// A model has chosen among the servers' tools for a step.
    #[serde(rename = "tool-chosen")]
    ToolChosen(ToolChoice),
    /// A tool call is waiting for the user's consent, or for argument values.
    #[serde(rename = "approval-requested")]
    ApprovalRequested { step: StepId, proposal: Proposal },
    /// A tool call has consent and begins; `step-completed` for the same step ends it. Not in the
    /// journal.
    #[serde(rename = "call-started")]
    CallStarted { step: StepId, tool: String, arguments: Map<String, Value> },
    /// Lessons from earlier turns were used instead of a model call, for the purpose `instead_of`.
    #[serde(rename = "lessons-used")]
    LessonsUsed { step: Option<StepId>, lessons: Vec<String>, problem: String, instead_of: String },
    /// The planner is shown these project lines for a step, each as `path:first-last`.
    #[serde(rename = "context-shown")]
    ContextShown { step: StepId, places: Vec<String>, tokens: usize },
    /// A tool call of a step has ended; a step can have several.
    #[serde(rename = "step-completed")]
    StepCompleted(StepReport),
    /// The turn is waiting for a slot; sent every second.
    #[serde(rename = "queue_update")]
    QueueUpdate { position: usize, eta_ms: Option<u64> },
    /// A model is working; sent every second.
    #[serde(rename = "pulse")]
    Pulse { phase: String, waited_ms: u64 },
    /// A piece of the answer, in order.
    #[serde(rename = "token")]
    Token { text: String },
    /// A piece of the model's thinking (`<think>`), which is never part of the answer.
    #[serde(rename = "thinking")]
    Thinking { text: String },
    /// The phase `from` was abandoned because of `reason`; another phase continues with the plan
    /// and results so far.
    #[serde(rename = "fallback")]
    Fallback { from: String, reason: String },
    /// Replies with and without tool calls in the single-model loop so far; sent after each iteration.
    #[serde(rename = "telemetry.tool_miss")]
    ToolMiss(ToolMiss),
    /// Repeated calls and texts in the single-model loop so far; sent after each iteration.
    #[serde(rename = "telemetry.repeat")]
    Repeat(Repeat),
    /// The single-model loop is making no progress.
    #[serde(rename = "telemetry.detection")]
    Detection(Detection),
    /// Whether the loop made progress again after a detection.
    #[serde(rename = "telemetry.recovery")]
    Recovery(Recovery),
    /// A draft of the cognitive loop was judged.
    #[serde(rename = "VERIFICATION")]
    Verification(Verification),
    /// The draft is being rewritten; the model is given its faults so far.
    #[serde(rename = "REFINEMENT")]
    Refinement { iteration: usize, confidence: f64, past_failures: Vec<String> },
    /// The cognitive loop has ended in this state.
    #[serde(rename = "cognition")]
    Cognition(CognitiveState),
    /// The request is done.
    #[serde(rename = "turn-finished")]
    TurnFinished(TurnFinished),
    /// The request failed; in a conversation the next request may follow.
    #[serde(rename = "turn-failed")]
    TurnFailed { error: String },
    /// The models in memory were changed; `memory` is the resulting state.
    #[serde(rename = "models-changed")]
    ModelsChanged { text: String, memory: Memory },
}

impl Event {
    /// Whether the event only reports that work is still in progress.
    pub fn is_sign_of_life(&self) -> bool {
        matches!(self, Event::Pulse { .. } | Event::QueueUpdate { .. } | Event::ModelLoading { .. })
    }
}

/// The result of restoring a checkpoint.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Rewound {
    /// The checkpoint that was restored.
    pub checkpoint: String,
    /// The checkpoint that undoes the restore.
    pub safety: String,
    /// Number of the last journal record still valid; later ones were undone.
    pub journal_seq: u64,
    /// Files that were restored.
    pub restored: Vec<String>,
    /// Files that were not restored, each with the reason.
    pub left: Vec<(String, String)>,
}

/// One event as written to a journal or to `--json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    #[serde(rename = "conversationId")]
    pub conversation: ConversationId,
    /// RFC 3339, with milliseconds, UTC.
    pub time: String,
    #[serde(flatten)]
    pub event: Event,
}

impl Record {
    pub fn now(conversation: &ConversationId, event: Event) -> Record {
        let time = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string();
        Record { conversation: conversation.clone(), time, event }
    }

    /// A copy with private data masked in every text.
    pub fn masked(&self, mask: &Mask) -> Record {
        let masked = serde_json::to_value(self).map(|value| masked(value, mask)).and_then(serde_json::from_value);
        // Reading back what was just written does not fail; if it ever did, a notice would replace
        // the event, which must not be kept unmasked.
        masked.unwrap_or_else(|error| Record {
            event: Event::Notice { text: format!("an event that could not be masked: {error}") },
            ..self.clone()
        })
    }
}

fn masked(value: Value, mask: &Mask) -> Value {
    match value {
        Value::String(text) => Value::String(mask.apply(&text).into_owned()),
        Value::Array(all) => all.into_iter().map(|value| masked(value, mask)).collect(),
        Value::Object(all) => all.into_iter().map(|(name, value)| (name, masked(value, mask))).collect(),
        other => other,
    }
}

/// The outcome of a request.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct TurnFinished {
    pub request: String,
    pub answer: String,
    pub steps: Vec<StepReport>,
    pub usage: Usage,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_holds_no_full_text_of_a_changed_file() {
        let changes = vec![FileChange { path: "a".to_owned(), old: Some("old".into()), new: Some("new".into()) }];
        let proposal = Proposal { preview: "-old\n+new".to_owned(), changes, ..Proposal::default() };
        let record =
            Record::now(&ConversationId("c1".to_owned()), Event::ApprovalRequested { step: StepId(1), proposal });
        let written = serde_json::to_value(&record).expect("it can be written");
        assert_eq!(written["data"]["proposal"].as_object().map(|it| it.contains_key("changes")), Some(false));
    }

    #[test]
    fn a_masked_record_keeps_its_shape_and_loses_private_data() {
        let event = Event::TurnStarted { request: "mail ada@lovelace.org".to_owned(), approve: "Never".to_owned() };
        let masked = Record::now(&ConversationId("c1".to_owned()), event).masked(&Mask::Forms);
        let Event::TurnStarted { request, .. } = &masked.event else { panic!("{masked:?}") };
        assert_eq!((request.as_str(), masked.conversation.0.as_str()), ("mail [email]", "c1"));
    }
}
