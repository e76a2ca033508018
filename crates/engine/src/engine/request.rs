//! The types of a request to a model: requests, results and errors.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use super::decoder::{DecodeError, Shown, Token};
use super::grammar::{Grammar, GrammarError};
use super::sampler::Sampling;
use super::slot::Reuse;
use super::thought::Thinking;
use crate::budget::permit::Priority;

/// Maximum number of jobs that may wait for one model. Further jobs are refused, so that a caller
/// that submits in a loop gets an error.
pub(super) const QUEUE_MAX: usize = 256;
/// Maximum time for one generation, including waiting, unless its request sets another limit.
pub const DEADLINE: Duration = Duration::from_secs(600);

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EngineError {
    #[error(
        "the prompt has {prompt} tokens, but a slot of {model} holds {context}; ask for less or raise `context` in models.toml (`complete` takes --context)"
    )]
    ContextOverflow { model: String, prompt: usize, context: usize },
    #[error("the prompt is empty; {model} needs at least one token to continue from")]
    EmptyPrompt { model: String },
    #[error("{model} cannot see a picture of this prompt: {reason}")]
    Unseen { model: String, reason: String },
    #[error("{QUEUE_MAX} requests are already waiting for {model}; wait for some to finish")]
    QueueFull { model: String },
    #[error("{model} has stopped: {reason}")]
    Stopped { model: String, reason: String },
    #[error("{model} could not be started: {reason}")]
    Start { model: String, reason: String },
    #[error(transparent)]
    Grammar(#[from] GrammarError),
    #[error(transparent)]
    Decode(#[from] DecodeError),
    #[error("the generation was cut off: {reason}")]
    Interrupted { reason: String },
    #[error("the generation was cancelled")]
    Cancelled,
    #[error("the generation took longer than {0:?}")]
    Deadline(Duration),
}

/// One generation.
#[derive(Clone, Debug)]
pub struct Request {
    pub prompt: Vec<Token>,
    /// The pictures in the prompt, in order, or why the model cannot see one.
    pub shown: Result<Vec<Shown>, String>,
    pub max_tokens: usize,
    pub sampling: Sampling,
    pub grammar: Option<Grammar>,
    pub priority: Priority,
    pub reuse: Reuse,
    /// Number of tokens at the start of `prompt` that are the same in every run; their state is
    /// kept on disk if there is a folder for it. See [`Engine::request`](super::Engine::request).
    pub fixed: usize,
    /// Continues past end-of-text tokens, for benchmarks.
    pub ignore_end: bool,
    /// Guesses tokens from prompt and answer and verifies several in one call; for texts that
    /// repeat much of their prompt. The logits of such calls may differ in the last bits from those
    /// of single tokens, so if two tokens are almost equally likely, the text may differ from one
    /// without guesses; it is still the same in every run.
    pub lookup: bool,
    /// How much the model may think; with `None` there is no limit, and thoughts count as part of
    /// the answer.
    pub thinking: Option<Thinking>,
    /// Returns the log-probability of each token and of this many of the most likely alternatives.
    pub logprobs: Option<usize>,
    pub deadline: Duration,
}

impl Request {
    /// A greedy generation with the priority of a step.
    pub fn new(prompt: Vec<Token>, max_tokens: usize) -> Request {
        Request {
            prompt,
            shown: Ok(Vec::new()),
            max_tokens,
            sampling: Sampling::greedy(),
            grammar: None,
            priority: Priority::Step,
            reuse: Reuse::Exact,
            fixed: 0,
            ignore_end: false,
            lookup: false,
            thinking: None,
            logprobs: None,
            deadline: DEADLINE,
        }
    }
}

/// The log-probability of a generated token, in nats, before penalties and temperature, and those
/// of the most likely alternatives.
#[derive(Clone, Debug, PartialEq)]
pub struct Logprobs {
    pub token: Token,
    pub logprob: f32,
    /// Most likely first.
    pub top: Vec<(Token, f32)>,
}

/// Why a generation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finish {
    /// The model generated an end token, or the grammar is complete.
    End,
    MaxTokens,
    ContextFull,
    /// The text repeated itself in a loop (`engine/repetition.rs`).
    Repetition,
}

/// Tokens and times of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub prompt_tokens: usize,
    /// The part of `prompt_tokens` that was reused instead of evaluated.
    pub cached_tokens: usize,
    pub generated_tokens: usize,
    /// The part of `generated_tokens` that does not belong to the answer, if [`Request::thinking`]
    /// is set.
    pub thought_tokens: usize,
    /// The part of `generated_tokens` that was guessed, see [`Request::lookup`].
    pub guessed_tokens: usize,
    pub queue_ms: u64,
    pub prompt_ms: u64,
    pub decode_ms: u64,
}

/// One item in the stream of a [`Generation`](super::Generation).
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    Answer(String),
    Thinking(String),
    /// The request still waits for a slot; sent every second. Position 1 is next.
    Queued {
        position: usize,
        eta_ms: Option<u64>,
    },
    /// The model is working but has produced no text for a second.
    Pulse {
        waited_ms: u64,
    },
    /// The last piece.
    Finished {
        finish: Finish,
        tally: Tally,
    },
}

/// A whole generation.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    pub text: String,
    pub tokens: Vec<Token>,
    /// Mean entropy of the distributions from which the tokens were chosen, in nats.
    pub entropy: Option<f32>,
    pub finish: Finish,
    pub tally: Tally,
}

/// Log-probabilities of continuations, in nats, each summed over its tokens.
#[derive(Clone, Debug, PartialEq)]
pub struct Scores {
    pub sums: Vec<f64>,
    pub tally: Tally,
}

/// A job's place in the queue, written by the worker and read by the waiting caller.
#[derive(Debug, Default)]
pub struct QueuePosition {
    /// Place in the queue, from 1; 0 once the job has a slot.
    pub position: AtomicUsize,
    /// Expected wait; 0 when unknown.
    pub eta_ms: AtomicU64,
}

impl QueuePosition {
    /// Records the job's place and expected wait. The reported place never increases: more urgent
    /// work changes only the wait.
    pub fn moved_to(&self, place: usize, eta_ms: u64) {
        let fallen = |before: usize| Some(if before == 0 { place } else { before.min(place) });
        let _always_some = self.position.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fallen);
        self.eta_ms.store(eta_ms, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_told_place_only_falls_until_the_job_has_a_slot() {
        let standing = QueuePosition::default();
        let mut told = Vec::new();
        for place in [3, 2, 4, 1] {
            standing.moved_to(place, 100 * place as u64);
            told.push((standing.position.load(Ordering::Relaxed), standing.eta_ms.load(Ordering::Relaxed)));
        }
        assert_eq!(told, [(3, 300), (2, 200), (2, 400), (1, 100)]);
        // It lost its slot to a more urgent job.
        standing.position.store(0, Ordering::Relaxed);
        standing.moved_to(2, 0);
        assert_eq!(standing.position.load(Ordering::Relaxed), 2);
    }
}
