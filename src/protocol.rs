//! The vocabulary of a turn: what can be asked, what is reported while it runs, what needs consent.

mod cost;
mod state;
mod telemetry;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::base::mask::Mask;
use crate::base::{Bytes, CallId, ConversationId, StepId};

pub use cost::{BudgetReport, CallCost, Usage};
pub use state::StepState;
pub use telemetry::{
    CognitiveState, Detection, Recovery, Remedy, Repeat, Stall, ToolMiss, Verification, VerificationResult,
};

/// What a user interface submits to a session.
#[derive(Clone, Debug)]
pub enum Op {
    /// Plan, execute and answer.
    Ask(Ask),
    /// Stop after the plan.
    Plan(Ask),
    /// Change what is in memory.
    Models(ModelsOp),
}

/// What a user does to the models in memory. A name is a role, a file, or a part of a file's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelsOp {
    Load(String),
    Unload(String),
    /// The second takes the place and the roles of the first.
    Swap(String, String),
    Pin(String),
    Unpin(String),
}

/// One request of the user.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    pub text: String,
    pub mode: Mode,
    /// Texts the user hands over with the request.
    pub given: Vec<Given>,
}

/// What a request may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Plan, act, answer.
    #[default]
    Agent,
    /// Look things up and answer; nothing is changed.
    Chat,
}

/// An earlier request of a conversation and what was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    pub request: String,
    pub answer: String,
}

/// A text the user hands over with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// The file as it was named.
    pub name: String,
    pub text: String,
}

/// What happens during a turn. On the wire: `{"type", "conversationId", "time", "data": {…}}`, see [`Record`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
pub enum Event {
    /// A model is read from disk; `share` runs from 0 to 1.
    #[serde(rename = "model-loading")]
    ModelLoading { role: String, file: String, share: f32 },
    /// A model, the index or a phase has something to say that does not end the turn.
    #[serde(rename = "notice")]
    Notice { text: String },
    /// A request was taken on. For the journal alone: who sent the request knows it.
    #[serde(rename = "turn-started")]
    TurnStarted { request: String, approve: String },
    /// What the user said to a [`Proposal`]. For the journal alone.
    #[serde(rename = "decided")]
    Decided { step: StepId, tool: String, decision: String },
    /// The turn has changed something, and this is the state before it.
    #[serde(rename = "checkpoint-made")]
    CheckpointMade { checkpoint: String, created: usize, changed: usize, deleted: usize },
    /// The project went back to a checkpoint; `safety` is the one that undoes it.
    #[serde(rename = "rewound")]
    Rewound(Rewound),
    #[serde(rename = "plan-created")]
    PlanCreated { plan: PlanView },
    #[serde(rename = "step-executing")]
    StepExecuting { step: StepId, description: String },
    #[serde(rename = "step-state")]
    StepState { step: StepId, state: StepState },
    #[serde(rename = "approval-requested")]
    ApprovalRequested { step: StepId, proposal: Proposal },
    /// What worked before took a model's place in a phase.
    #[serde(rename = "lessons-used")]
    LessonsUsed { step: Option<StepId>, lessons: Vec<String>, problem: String, instead_of: String },
    #[serde(rename = "step-completed")]
    StepCompleted(StepReport),
    /// Waiting for a slot; sent after one second and every second.
    #[serde(rename = "queue_update")]
    QueueUpdate { position: usize, eta_ms: Option<u64> },
    /// A model is at work; sent every second.
    #[serde(rename = "pulse")]
    Pulse { phase: String, waited_ms: u64 },
    /// A piece of the answer, in order.
    #[serde(rename = "token")]
    Token { text: String },
    /// A piece of the model's thinking (`<think>`), never part of the answer.
    #[serde(rename = "thinking")]
    Thinking { text: String },
    /// Another phase takes over, with plan and ledger.
    #[serde(rename = "fallback")]
    Fallback { from: String, reason: String },
    #[serde(rename = "telemetry.tool_miss")]
    ToolMiss(ToolMiss),
    #[serde(rename = "telemetry.repeat")]
    Repeat(Repeat),
    #[serde(rename = "telemetry.detection")]
    Detection(Detection),
    #[serde(rename = "telemetry.recovery")]
    Recovery(Recovery),
    /// A draft of the cognitive loop was judged.
    #[serde(rename = "VERIFICATION")]
    Verification(Verification),
    /// It is written again, with what failed so far in mind.
    #[serde(rename = "REFINEMENT")]
    Refinement { iteration: usize, confidence: f64, past_failures: Vec<String> },
    /// The cognitive loop is over; its state then.
    #[serde(rename = "cognition")]
    Cognition(CognitiveState),
    #[serde(rename = "turn-finished")]
    TurnFinished(TurnFinished),
    /// What was asked could not be done; in a conversation the next request may follow.
    #[serde(rename = "turn-failed")]
    TurnFailed { error: String },
    /// A [`ModelsOp`] was carried out; what is in memory now.
    #[serde(rename = "models-changed")]
    ModelsChanged { text: String, memory: Memory },
}

impl Event {
    /// Only says that something is still going on.
    pub fn is_sign_of_life(&self) -> bool {
        matches!(self, Event::Pulse { .. } | Event::QueueUpdate { .. } | Event::ModelLoading { .. })
    }
}

/// A rewind that was carried out.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Rewound {
    pub checkpoint: String,
    pub safety: String,
    /// The last record of the journal that counts: what came after it was taken back.
    pub journal_seq: u64,
    pub restored: Vec<String>,
    /// Files that stay as they are, and why.
    pub left: Vec<(String, String)>,
}

/// What is in memory, and how much of it there is.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Memory {
    pub models: Vec<ModelRow>,
    /// What is held by others: the embedder, say.
    pub others: Vec<(String, Bytes)>,
    /// The load that is under way.
    pub loading: Option<LoadingRow>,
    pub budget_bytes: Bytes,
    pub free_bytes: Bytes,
}

/// One context of a model.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct ModelRow {
    pub roles: Vec<String>,
    pub file: String,
    pub slots: usize,
    /// Tokens a slot.
    pub context: usize,
    pub kv_type: String,
    pub bytes: Bytes,
    /// The same by purpose, `weights` say.
    pub parts: Vec<(String, Bytes)>,
    /// Its weights are counted with another context of the same file.
    pub shares_weights: bool,
    pub lora: Vec<String>,
    /// `None` while it is used.
    pub idle_s: Option<u64>,
    pub pinned: bool,
    /// Where it stands on the ladder of smaller settings, if not at the top.
    pub rung: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct LoadingRow {
    pub file: String,
    /// 0 to 1.
    pub share: f32,
}

/// A model file that could be loaded.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct ModelFile {
    pub file: String,
    /// Roles that models.toml, or a swap, gives it.
    pub roles: Vec<String>,
    pub loaded: bool,
    /// What a load would take beyond what is in memory; `None` if it cannot be loaded.
    pub needs_bytes: Option<Bytes>,
    /// What that is made of, or why it cannot be loaded.
    pub detail: String,
}

/// One event as it is written to a journal or to `--json`.
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
}

impl Record {
    /// The same with what is private masked in every text of it.
    pub fn masked(&self, mask: &Mask) -> Record {
        let masked = serde_json::to_value(self).map(|value| masked(value, mask)).and_then(serde_json::from_value);
        // It was read from what was just written; should that ever fail, nothing of it is kept.
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

/// A plan as it is shown (seed 002 §5).
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct PlanView {
    pub steps: Vec<PlanStep>,
    pub total_estimated_tokens: usize,
    pub status: PlanStatus,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    Pending,
    InProgress,
    Completed,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct PlanStep {
    pub id: StepId,
    /// A few words, for lists.
    pub name: String,
    /// The whole step, understandable without the others.
    pub description: String,
    pub files_affected: Vec<String>,
    /// Steps whose results this one needs.
    pub dependencies: Vec<StepId>,
    /// 1 (one call) to 5.
    pub estimated_complexity: u8,
    pub status: PlanStatus,
}

/// How one tool call of a step ended.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct StepReport {
    pub step: StepId,
    pub call: Option<CallId>,
    pub tool: String,
    pub arguments: Value,
    pub status: StepStatus,
    /// The tool can change something; the others only read.
    #[serde(default)]
    pub executing: bool,
    /// One line for people: what was found, changed or went wrong.
    pub summary: String,
    /// SHA-256 of the result, without what differs from run to run.
    #[serde(default)]
    pub result_hash: String,
    /// The state before the turn's first change, when the call could change something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
    /// A unified diff, when the call changed a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    pub wall_ms: u64,
}

/// `Failed` is never shown, counted or reported as success.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    Succeeded,
    Failed,
    Rejected,
    Skipped,
}

/// A call that waits for consent, with what it would do.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Proposal {
    pub tool: String,
    pub arguments: Map<String, Value>,
    /// Why the user is asked.
    pub reason: String,
    /// A unified diff or the command line.
    pub preview: String,
    /// What [`Decision::Always`] would cover, in words; without it that is not offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub always: Option<String>,
}

/// The user's answer to a [`Proposal`].
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    Approve,
    /// Approve it, and what [`Proposal::always`] says for as long as the session lasts.
    Always,
    Reject,
    /// Run it with these arguments instead; they are checked again like any others.
    Modify(Map<String, Value>),
}

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
    fn a_masked_record_keeps_its_shape_and_loses_what_is_private() {
        let event = Event::TurnStarted { request: "mail ada@lovelace.org".to_owned(), approve: "Never".to_owned() };
        let masked = Record::now(&ConversationId("c1".to_owned()), event).masked(&Mask::Forms);
        let Event::TurnStarted { request, .. } = &masked.event else { panic!("{masked:?}") };
        assert_eq!((request.as_str(), masked.conversation.0.as_str()), ("mail [email]", "c1"));
    }
}
