//! What a turn cost, call by call, and how that compares with what one may take.

use serde::{Deserialize, Serialize};

/// What one call of a model cost.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct CallCost {
    /// Role and name of the model.
    pub role: String,
    pub model: String,
    /// What for: `reading the request`, `choosing a tool`, …
    pub phase: String,
    pub prompt_tokens: usize,
    /// Part of `prompt_tokens` that was already in a slot.
    pub cached_tokens: usize,
    /// Part of `prompt_tokens` that is the system message.
    #[serde(default)]
    pub system_tokens: usize,
    pub generated_tokens: usize,
    /// Part of `generated_tokens` that code guessed and the model only confirmed.
    #[serde(default)]
    pub guessed_tokens: usize,
    pub queue_ms: u64,
    pub prompt_ms: u64,
    pub decode_ms: u64,
}

/// A turn against what one may take (seed 002: system 500 to 800 tokens, context 4 to 6 thousand, output 1 to 2
/// thousand, a task 6 to 8 and at most 10 thousand).
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct BudgetReport {
    /// The longest system message.
    pub system_tokens: usize,
    /// The most that one call read besides it.
    pub context_tokens: usize,
    /// Written by all calls together.
    pub output_tokens: usize,
    /// Read anew and written by all calls together.
    pub task_tokens: usize,
    /// What was exceeded, in words.
    pub over: Vec<String>,
}

impl BudgetReport {
    pub fn of(calls: &[CallCost]) -> BudgetReport {
        const MOST: [(&str, usize); 4] = [("system", 800), ("context", 6_000), ("output", 2_000), ("task", 10_000)];
        let most = |take: fn(&CallCost) -> usize| calls.iter().map(take).max().unwrap_or(0);
        let sum = |take: fn(&CallCost) -> usize| calls.iter().map(take).sum::<usize>();
        let counts = [
            most(|call| call.system_tokens),
            most(|call| call.prompt_tokens.saturating_sub(call.system_tokens)),
            sum(|call| call.generated_tokens),
            sum(|call| call.prompt_tokens.saturating_sub(call.cached_tokens) + call.generated_tokens),
        ];
        let told = |((what, most), count): (&(&str, usize), usize)| {
            (count > *most).then(|| format!("{what}: {count} tokens, {most} are meant to do"))
        };
        let over = MOST.iter().zip(counts).filter_map(told).collect();
        let [system_tokens, context_tokens, output_tokens, task_tokens] = counts;
        BudgetReport { system_tokens, context_tokens, output_tokens, task_tokens, over }
    }
}

/// What a turn cost.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Usage {
    /// Generations; scoring, which writes nothing, is not counted here.
    pub model_calls: usize,
    pub prompt_tokens: usize,
    /// Part of `prompt_tokens` that was already in a slot.
    pub cached_tokens: usize,
    pub generated_tokens: usize,
    pub wall_ms: u64,
    /// Most memory the process has held so far, as the system counts it.
    pub peak_memory_bytes: u64,
    #[serde(default)]
    pub budget: BudgetReport,
    /// Every call, in the order in which they ended.
    #[serde(default)]
    pub calls: Vec<CallCost>,
}
