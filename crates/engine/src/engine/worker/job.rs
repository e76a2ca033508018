//! The messages between a handle and its worker: jobs, updates, and the number of waiting jobs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedSender;

use crate::base::lock;
use crate::budget::permit::{Permit, Priority};
use crate::engine::decoder::{Limits, Shown, Token};
use crate::engine::grammar::Constraint;
use crate::engine::prefix::Prefixes;
use crate::engine::request::{EngineError, Finish, Logprobs, QueuePosition, Request, Tally};
use crate::engine::sampler::Choice;
use crate::engine::sharing::Verdicts;
use crate::engine::slot::Reuse;
use crate::engine::thought::Thought;

pub struct Job {
    /// All prompt tokens; for scoring, the prefix.
    pub prompt: Vec<Token>,
    /// The pictures in the prompt, in order.
    pub shown: Vec<Shown>,
    pub priority: Priority,
    pub task: Task,
    pub updates: UnboundedSender<Update>,
    pub standing: Arc<QueuePosition>,
    pub submitted: Instant,
    pub deadline: Duration,
}

pub enum Task {
    /// The request's prompt is stored in the job.
    Generate {
        request: Box<Request>,
        constraint: Option<Box<Constraint>>,
        thought: Option<Box<Thought>>,
    },
    Score {
        continuations: Vec<Vec<Token>>,
    },
}

/// A message from the worker. `Finished`, `Scored` and `Failed` end the stream.
#[derive(Debug)]
pub enum Update {
    Token(Choice, Option<Logprobs>),
    Finished { finish: Finish, tally: Tally },
    Scored { sums: Vec<f64>, tally: Tally },
    Failed(EngineError),
}

/// The worker's end of a handle.
pub struct Inbox {
    pub jobs: Receiver<Job>,
    pub ready: Sender<Result<Limits, String>>,
    pub pressure: Arc<Pressure>,
    pub permit: Permit,
    /// The prefix store of this model, if there is one.
    pub prefixes: Option<Prefixes>,
    /// Verdicts on calls shared by slots.
    pub verdicts: Verdicts,
    /// Verdicts on prefill calls split in two.
    pub splits: Verdicts,
}

/// The work of a slot, for display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy {
    pub priority: Priority,
    /// Number of tokens in the prompt.
    pub prompt: usize,
    /// Number of generated tokens; `None` while the prompt is read or texts are scored.
    pub generated: Option<usize>,
    /// When the job first got a slot.
    pub since: Instant,
}

/// The number of jobs waiting for a slot, by priority, and the work of the slots. Written by
/// handles and the worker, read during calls.
#[derive(Debug, Default)]
pub struct Pressure {
    levels: [AtomicUsize; 3],
    /// As of the last call; empty before the first job.
    slots: Mutex<Vec<Option<Busy>>>,
}

impl Pressure {
    /// Counts one more waiting job; returns how many waited before.
    pub fn enter(&self, priority: Priority) -> usize {
        let before = self.waiting();
        self.levels[priority as usize].fetch_add(1, Ordering::SeqCst);
        before
    }

    pub fn leave(&self, priority: Priority) {
        self.levels[priority as usize].fetch_sub(1, Ordering::SeqCst);
    }

    pub fn waiting(&self) -> usize {
        self.levels.iter().map(|level| level.load(Ordering::SeqCst)).sum()
    }

    /// The work of each slot; `None` for free slots.
    pub fn slots(&self) -> Vec<Option<Busy>> {
        lock(&self.slots).clone()
    }

    pub fn show(&self, slots: Vec<Option<Busy>>) {
        *lock(&self.slots) = slots;
    }

    /// Whether a job with a higher priority than `priority` is waiting.
    pub fn above(&self, priority: Priority) -> bool {
        self.levels[priority as usize + 1..].iter().any(|level| level.load(Ordering::Relaxed) > 0)
    }
}

impl Job {
    pub fn generates(&self) -> bool {
        matches!(self.task, Task::Generate { .. })
    }

    pub fn reuse(&self) -> Reuse {
        match &self.task {
            Task::Generate { request, .. } => request.reuse,
            Task::Score { .. } => Reuse::Exact,
        }
    }

    /// Number of tokens at the start of the prompt that are the same in every run.
    pub fn fixed(&self) -> usize {
        match &self.task {
            Task::Generate { request, .. } => request.fixed,
            Task::Score { .. } => 0,
        }
    }

    /// The picture part that begins at this position of the prompt.
    pub fn shown_at(&self, position: usize) -> Option<&Shown> {
        self.shown.iter().find(|shown| shown.from == position)
    }

    /// Whether its receiver was dropped or its deadline has passed.
    pub fn is_over(&self) -> bool {
        self.updates.is_closed() || self.submitted.elapsed() > self.deadline
    }

    pub fn fail(&self, error: EngineError) {
        // Sending fails only if the receiver was dropped, and then nobody needs the error.
        let _ = self.updates.send(Update::Failed(error));
    }
}
