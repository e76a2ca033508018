//! Plans and their steps: states, calls that need consent, outcomes of calls, and the files that they change.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::base::{CallId, StepId};

/// A plan as shown to the user.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct PlanView {
    pub steps: Vec<PlanStep>,
    /// Number of tokens that models read and write for its steps.
    pub total_estimated_tokens: usize,
    /// Based on the planner's speed measured on this machine; null if not measured.
    #[serde(default)]
    pub estimated_seconds: Option<u64>,
    pub status: PlanStatus,
}

/// The state of a plan or of one of its steps.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    #[default]
    Pending,
    InProgress,
    Completed,
    /// Not done, or only partly done.
    Failed,
}

/// A step of a plan.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct PlanStep {
    pub id: StepId,
    /// A short title for lists.
    pub name: String,
    /// The full description, understandable without the other steps.
    pub description: String,
    pub files_affected: Vec<String>,
    /// Steps whose results this one needs.
    pub dependencies: Vec<StepId>,
    /// From 1 (one call) to 5.
    pub estimated_complexity: u8,
    /// Number of tokens that a model reads and writes for it; 0 if code carries it out.
    #[serde(default)]
    pub estimated_tokens: usize,
    pub status: PlanStatus,
}

/// The state of a step.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    #[default]
    Pending,
    /// Its tool and arguments are being chosen.
    Thinking,
    /// Its call is complete and awaits the verdict of the rules.
    Deciding,
    AwaitingApproval,
    Executing,
    Complete,
    FailedToThink,
    /// The call failed; the step may be attempted another way.
    FailedToExecute,
}

/// A model's choice among the servers' tools.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct ToolChoice {
    pub step: StepId,
    /// The role that made the choice.
    pub role: String,
    /// Number of tools offered.
    pub offered: usize,
    /// Null if its reply contains no call that fits a tool.
    pub tool: Option<String>,
    /// Null for a model on a server, which does not report its certainty.
    pub sure: Option<Sure>,
    /// Whether there was no call, or the role was less certain than of any right choice in its
    /// measurement; the planner then chooses among the same tools.
    pub handed_on: bool,
}

/// How certain a model was, measured by the least certain token of the name it wrote.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Sure {
    /// The probability of the token minus that of the most likely alternative: from 0 to 1.
    pub margin: f32,
    /// The entropy over all possible tokens, in nats; 0 if the model was certain.
    pub entropy: f32,
}

/// The outcome of one tool call in a step.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct StepReport {
    pub step: StepId,
    pub call: Option<CallId>,
    pub tool: String,
    pub arguments: Value,
    pub status: StepStatus,
    /// Whether the tool can change something; false for tools that only read.
    #[serde(default)]
    pub executing: bool,
    /// One line for the user: what was found or changed, or what went wrong.
    pub summary: String,
    /// SHA-256 of the result, without the parts that differ between runs.
    #[serde(default)]
    pub result_hash: String,
    /// The checkpoint before the turn's first change, if the call was able to change something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
    /// A unified diff, if the call changed a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The files that the call changed, with their full texts; empty for a command and for anything
    /// that is not text.
    #[serde(skip)]
    pub changes: Vec<FileChange>,
    /// The result in the form that a model reads; the middle of a long one is omitted.
    #[serde(skip)]
    pub output: String,
    pub wall_ms: u64,
}

/// The outcome of a tool call.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    Succeeded,
    /// It ran and did not succeed, or it could not run.
    Failed,
    /// The user refused it.
    Rejected,
    /// The user stopped it, or the question was withdrawn.
    Cancelled,
    /// It needs consent, and nobody could be asked.
    NotAsked,
    /// A rule refuses it.
    Denied,
    #[default]
    Skipped,
}

impl StepStatus {
    /// Whether the call did not run because it was not permitted.
    pub fn is_refused(self) -> bool {
        matches!(self, StepStatus::Rejected | StepStatus::Cancelled | StepStatus::NotAsked | StepStatus::Denied)
    }
}

/// The question that a [`Proposal`] puts to the user.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Asks {
    /// Whether the call may run.
    #[default]
    Consent,
    /// Values for these arguments of the call, which are given nowhere. Giving them does not
    /// approve the call.
    Values(Vec<String>),
    /// Whether the turn continues after a stage that the user inspects; a no omits the work that
    /// `skips` describes, or stops the turn if there is none.
    Stage { skips: Option<String> },
}

impl Asks {
    fn is_consent(&self) -> bool {
        *self == Asks::Consent
    }
}

/// A tool call that waits for the user: for consent, with a preview of its effect, or for argument
/// values.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Proposal {
    pub tool: String,
    pub arguments: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Asks::is_consent")]
    pub asks: Asks,
    /// The reason for asking the user.
    pub reason: String,
    /// A unified diff or the command line.
    pub preview: String,
    /// The files that the call would change, with their full texts; empty for a command and for
    /// anything that is not text.
    #[serde(skip)]
    pub changes: Vec<FileChange>,
    /// The calls that [`Decision::Always`] would cover, in words; null if that answer is not
    /// offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub always: Option<String>,
}

impl Proposal {
    /// The names of the arguments requested from the user; empty if consent is requested.
    pub fn wanted(&self) -> &[String] {
        match &self.asks {
            Asks::Consent | Asks::Stage { .. } => &[],
            Asks::Values(names) => names,
        }
    }

    /// Whether it shows a stage of the turn instead of a call.
    pub fn is_stage(&self) -> bool {
        matches!(self.asks, Asks::Stage { .. })
    }

    /// The decision that results from the values for all wanted arguments, in order; a no if any is
    /// empty.
    pub fn filled(&self, values: impl IntoIterator<Item = String>) -> Decision {
        let mut arguments = self.arguments.clone();
        let given = self.wanted().iter().zip(values).filter(|(_, value)| !value.trim().is_empty());
        arguments.extend(given.map(|(name, value)| (name.clone(), Value::from(value.trim()))));
        let is_whole = self.wanted().iter().all(|name| arguments.contains_key(name));
        if is_whole { Decision::Modify(arguments) } else { Decision::Reject }
    }

    /// The required answer, in words: `consent`, or the names of the values.
    pub fn need(&self) -> String {
        match self.wanted() {
            [] if self.is_stage() => "a look".to_owned(),
            [] => "consent".to_owned(),
            names => names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and "),
        }
    }
}

/// The user's answer to a [`Proposal`].
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    Approve,
    /// Approve it, and everything that [`Proposal::always`] describes until the session ends.
    Always,
    Reject,
    /// The question was withdrawn without an answer.
    Cancel,
    /// Nobody could be asked; the text explains why, and how to allow it beforehand.
    NotAsked(String),
    /// Run it with these arguments instead, after the same checks.
    Modify(Map<String, Value>),
}

/// A file's text before and after a change. It stays within the process: the journal and `--json`
/// do not contain it, because both have the unified diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Relative to the project, with `/`.
    pub path: String,
    /// `None` if the file did not exist.
    pub old: Option<Arc<str>>,
    /// `None` if the file is gone.
    pub new: Option<Arc<str>>,
}
