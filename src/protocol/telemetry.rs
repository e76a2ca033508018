//! The counters and findings of the single-model loop and the cognitive loop.

use serde::{Deserialize, Serialize};

/// How often replies in the single-model loop call a tool.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ToolMiss {
    pub total_responses: usize,
    pub responses_with_tool_calls: usize,
    pub responses_without_tool_calls: usize,
    /// Tool calls in a notation other than the model's own, whether or not they could be read.
    pub textual_tool_call_patterns: usize,
    /// `responsesWithoutToolCalls` divided by `totalResponses`.
    pub miss_rate: f64,
}

/// How often the single-model loop repeats itself.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Repeat {
    pub total_tool_calls: usize,
    /// Calls answered with an earlier result instead of running again.
    pub deduplicated_tool_calls: usize,
    /// Replies with the same calls as an earlier reply.
    pub repeated_batches: usize,
    /// Replies that repeat an earlier text, or repeat themselves.
    pub repeated_content: usize,
    /// `deduplicatedToolCalls` plus `repeatedBatches`, divided by `totalToolCalls`.
    pub repeat_rate: f64,
}

/// The reason the single-model loop makes no progress.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, Hash)]
#[serde(rename_all = "snake_case")]
pub enum Stall {
    /// The model only reads, for several iterations.
    ReadOnlyLoop,
    /// It repeats calls whose results it already has.
    SameBatch,
    /// It repeats an earlier text, or repeats itself within one text.
    SameText,
    /// It answers without having called any tool.
    Deflection,
    /// It answers as if it were done, although no changing tool has run.
    NothingExecuted,
    /// Its reply contains something that resembles a tool call but cannot be parsed.
    UnreadableCall,
    /// It calls tools that do not exist, or calls tools with unsuitable arguments.
    NoUsableCall,
    /// It uses only one server's tools while steps for other servers are open.
    CategoryLockIn,
    /// It ends before every part of the request is done.
    OpenSteps,
    /// The maximum number of iterations is reached.
    OutOfIterations,
}

/// The remedy for a [`Stall`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Remedy {
    /// The model gets a message asking it to continue.
    Nudge,
    /// Only tools that can change something are offered.
    ExecutingToolsOnly,
    /// Only the tools of other servers are offered.
    OtherToolsOnly,
    /// The model is told about the problem and asked again.
    AskedAgain,
    /// Code carries out the open steps.
    CodeOwnedSteps,
    /// The turn is answered from the results so far.
    Synthesis,
}

impl Remedy {
    /// Whether the loop ends with this remedy, without asking the model again.
    pub fn ends_the_loop(self) -> bool {
        matches!(self, Remedy::CodeOwnedSteps | Remedy::Synthesis)
    }
}

/// A lack of progress in the single-model loop, and the remedy.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Detection {
    /// From 1.
    pub iteration: usize,
    pub stall: Stall,
    pub remedy: Remedy,
}

/// Whether the single-model loop made progress after a [`Detection`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Recovery {
    /// From 1.
    pub iteration: usize,
    pub stall: Stall,
    /// Whether the model then continued on its own.
    pub recovered: bool,
}

/// The verifier's verdict on a draft.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum VerificationResult {
    Valid,
    NeedsRefinement,
    CriticalError,
}

/// The state of the cognitive loop.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct CognitiveState {
    /// The request.
    pub input: String,
    pub conversation_id: String,
    /// The steps of the plan, one per line.
    pub plan: Option<String>,
    /// The tool calls so far, each with its tool and summary.
    pub steps: Vec<String>,
    pub draft_answer: String,
    /// The faults of the draft, in the verifier's words.
    pub critique: String,
    /// The verifier's score for the draft, from 0 to 1.
    pub score: f64,
    pub iterations: usize,
    /// Critiques of earlier drafts.
    pub past_failures: Vec<String>,
    /// The model's thinking (`<think>`) in all drafts.
    pub thinking_tokens: Vec<String>,
}

/// One verification of a draft.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Verification {
    /// From 1.
    pub iteration: usize,
    /// The score, from 0 to 1.
    pub confidence: f64,
    pub verdict: VerificationResult,
    /// The faults and gaps in the draft.
    pub critique: String,
}
