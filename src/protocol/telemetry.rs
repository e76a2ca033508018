//! What is counted and noticed while the single-model loop and the cognitive loop run.

use serde::{Deserialize, Serialize};

/// `telemetry.tool_miss`, word for word as in seed 004.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ToolMiss {
    pub total_responses: usize,
    pub responses_with_tool_calls: usize,
    pub responses_without_tool_calls: usize,
    /// Calls written as text, rescued or not, where the model's family has a notation of its own.
    pub textual_tool_call_patterns: usize,
    pub miss_rate: f64,
}

/// `telemetry.repeat`, word for word as in seed 004.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Repeat {
    pub total_tool_calls: usize,
    /// Answered from the evidence instead of run again.
    pub deduplicated_tool_calls: usize,
    pub repeated_batches: usize,
    pub repeated_content: usize,
    pub repeat_rate: f64,
}

/// How a loop goes nowhere.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, Hash)]
#[serde(rename_all = "snake_case")]
pub enum Stall {
    /// Reads and reads.
    ReadOnlyLoop,
    /// Asks for what it was just given.
    SameBatch,
    /// Says the same again, or goes round in a circle while it speaks.
    SameText,
    /// Talks instead of looking: no tool was called at all.
    Deflection,
    /// Speaks as if it were done; nothing was executed.
    NothingExecuted,
    /// Something that looks like a call and cannot be read as one.
    UnreadableCall,
    /// Names tools that do not exist, or arguments that do not fit.
    NoUsableCall,
    /// Stays with the tools of one server while steps for others are open.
    CategoryLockIn,
    /// Ends before every part of the request is covered.
    OpenSteps,
    /// The last iteration is over.
    OutOfIterations,
}

/// What is done about a [`Stall`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Remedy {
    Nudge,
    ExecutingToolsOnly,
    OtherToolsOnly,
    AskedAgain,
    /// Code carries out what is open.
    CodeOwnedSteps,
    Synthesis,
}

impl Remedy {
    /// The model is not asked again after this one.
    pub fn ends_the_loop(self) -> bool {
        matches!(self, Remedy::CodeOwnedSteps | Remedy::Synthesis)
    }
}

/// `telemetry.detection`: the loop goes nowhere, and what is done about it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Detection {
    /// From 1.
    pub iteration: usize,
    pub stall: Stall,
    pub remedy: Remedy,
}

/// `telemetry.recovery`: what came of a [`Detection`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Recovery {
    pub iteration: usize,
    pub stall: Stall,
    /// The model then did what was needed by itself.
    pub recovered: bool,
}

/// What the verifier of a cognitive loop says (seed 003).
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum VerificationResult {
    Valid,
    NeedsRefinement,
    CriticalError,
}

/// What the nodes of a cognitive loop hand on (seed 003).
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct CognitiveState {
    pub input: String,
    pub conversation_id: String,
    pub plan: Option<String>,
    pub steps: Vec<String>,
    pub draft_answer: String,
    pub critique: String,
    /// 0 to 1.
    pub score: f64,
    pub iterations: usize,
    pub past_failures: Vec<String>,
    pub thinking_tokens: Vec<String>,
}

/// One verification of a draft.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Verification {
    /// From 1.
    pub iteration: usize,
    /// The score, 0 to 1.
    pub confidence: f64,
    pub verdict: VerificationResult,
    /// What is wrong or missing.
    pub critique: String,
}
