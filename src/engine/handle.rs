//! The cloneable handle to a model: prompts go in, a stream of text comes out, dropping the stream cancels.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc as jobs;
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::mpsc as updates;

use super::decoder::{DecodeError, Limits, Token, Vocabulary};
use super::grammar::{Grammar, GrammarError, Grammars};
use super::sampler::{Choice, Sampling};
use super::sharing::Verdicts;
use super::slot::Reuse;
use super::text::{self, TextPiece, TextStream};
use super::worker::{Inbox, Job, Pressure, Task, Update};
use crate::budget::permit::{Permit, Priority};
use crate::models::dialect::Prompt;

/// Jobs that may wait for one model. More are refused, so that a caller that asks in a loop hears about it.
const QUEUE_MAX: usize = 256;
/// Longest time one generation may take, waiting included, unless its request says otherwise.
pub const DEADLINE: Duration = Duration::from_secs(600);
/// A wait or a silent model is reported after this time, and every time it passes again.
const BEAT: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EngineError {
    #[error(
        "the prompt has {prompt} tokens, a slot of {model} holds {context}; ask for less or raise `context` in models.toml (`complete` takes --context)"
    )]
    ContextOverflow { model: String, prompt: usize, context: usize },
    #[error("the prompt is empty; {model} needs at least one token to go on from")]
    EmptyPrompt { model: String },
    #[error("{QUEUE_MAX} requests are waiting for {model} already; wait for some to finish")]
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
    pub max_tokens: usize,
    pub sampling: Sampling,
    pub grammar: Option<Grammar>,
    pub priority: Priority,
    pub reuse: Reuse,
    /// Tokens at the start of `prompt` that are the same in every run; they are kept on disk where there is a folder
    /// for that. See [`Engine::request`].
    pub fixed: usize,
    /// Goes on after end-of-text tokens, for benchmarks.
    pub ignore_end: bool,
    pub deadline: Duration,
}

impl Request {
    /// A greedy generation of a step's priority.
    pub fn new(prompt: Vec<Token>, max_tokens: usize) -> Request {
        Request {
            prompt,
            max_tokens,
            sampling: Sampling::greedy(),
            grammar: None,
            priority: Priority::Step,
            reuse: Reuse::Exact,
            fixed: 0,
            ignore_end: false,
            deadline: DEADLINE,
        }
    }
}

/// Why a generation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finish {
    /// The model, or the grammar, said so.
    End,
    MaxTokens,
    ContextFull,
    /// The text had gone round in a circle for a while (`engine/repetition.rs`).
    Repetition,
}

/// What one call cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub prompt_tokens: usize,
    /// Part of `prompt_tokens` that a slot held already.
    pub cached_tokens: usize,
    pub generated_tokens: usize,
    pub queue_ms: u64,
    pub prompt_ms: u64,
    pub decode_ms: u64,
}

/// What a [`Generation`] gives out.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    Answer(String),
    Thinking(String),
    /// No slot yet, after a second and every second. Position 1 is next.
    Queued {
        position: usize,
        eta_ms: Option<u64>,
    },
    /// The model works but has said nothing for a second.
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
    /// Mean entropy of the distributions that the tokens were chosen from, in nats.
    pub entropy: Option<f32>,
    pub finish: Finish,
    pub tally: Tally,
}

/// Log-probabilities of continuations, in nats, summed over each one's tokens.
#[derive(Clone, Debug, PartialEq)]
pub struct Scores {
    pub sums: Vec<f64>,
    /// Tokens of each continuation.
    pub lengths: Vec<usize>,
    pub tally: Tally,
}

/// Where a job stands, written by the worker, read by whoever waits.
#[derive(Debug, Default)]
pub struct Standing {
    /// Place in the queue, from 1; 0 once the job has a slot.
    pub position: AtomicUsize,
    /// Expected wait; 0 when unknown.
    pub eta_ms: AtomicU64,
}

/// Handle to a running model. Clones share it; when the last one is dropped the thread ends, then the weights and
/// their memory are given back.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    model: String,
    jobs: jobs::Sender<Job>,
    pressure: Arc<Pressure>,
    vocabulary: Arc<dyn Vocabulary>,
    grammars: Grammars,
    limits: Limits,
}

impl Engine {
    /// Starts the thread that owns the model. `body` builds the decoder on that thread and hands it to
    /// [`Inbox::serve`]; it returns an error text if it cannot.
    pub fn spawn(
        model: &str,
        vocabulary: Arc<dyn Vocabulary>,
        permit: Permit,
        body: impl FnOnce(Inbox) -> Result<(), String> + Send + 'static,
    ) -> Result<Engine, EngineError> {
        let (sender, receiver) = jobs::channel();
        let (ready, started) = jobs::channel();
        let pressure = Arc::new(Pressure::default());
        let inbox = Inbox {
            jobs: receiver,
            ready: ready.clone(),
            pressure: pressure.clone(),
            permit,
            prefixes: None,
            verdicts: Verdicts::default(),
        };
        let start = |reason: String| EngineError::Start { model: model.to_owned(), reason };
        thread::Builder::new()
            .name(format!("engine {model}"))
            .spawn(move || {
                if let Err(reason) = body(inbox) {
                    // Nobody listens any more once the engine has started; then there is nobody to tell.
                    let _ = ready.send(Err(reason));
                }
            })
            .map_err(|error| start(error.to_string()))?;
        let limits =
            started.recv().map_err(|_| start("its thread ended before it was ready".to_owned()))?.map_err(start)?;
        let grammars = Grammars::new(vocabulary.clone());
        let inner = Inner { model: model.to_owned(), jobs: sender, pressure, vocabulary, grammars, limits };
        Ok(Engine { inner: Arc::new(inner) })
    }

    pub fn model(&self) -> &str {
        &self.inner.model
    }

    /// How many handles there are, this one included.
    pub fn handles(&self) -> usize {
        Arc::strong_count(&self.inner)
    }

    pub fn limits(&self) -> Limits {
        self.inner.limits
    }

    pub fn tokenize(&self, prompt: &Prompt) -> Vec<Token> {
        self.inner.vocabulary.tokenize(prompt)
    }

    /// A greedy generation from a rendered prompt, with its fixed part counted.
    pub fn request(&self, prompt: &Prompt, max_tokens: usize) -> Request {
        let fixed = self.tokenize(&prompt.fixed_part()).len();
        Request { fixed, ..Request::new(self.tokenize(prompt), max_tokens) }
    }

    /// Requests that wait for a slot. Answered at once, whatever the model does.
    pub fn waiting(&self) -> usize {
        self.inner.pressure.waiting()
    }

    /// Tokens of plain text.
    pub fn count(&self, text: &str) -> usize {
        self.tokenize(&Prompt::default().text(text)).len()
    }

    /// Starts a generation. It runs while the returned stream lives.
    pub fn generate(&self, request: Request) -> Result<Generation, EngineError> {
        self.fits(&request.prompt, 1)?;
        let compile = |grammar| self.inner.grammars.compile(grammar).map(Box::new);
        let constraint = request.grammar.as_ref().map(compile).transpose()?;
        let thinking = text::opens_thinking(&*self.inner.vocabulary, &request.prompt);
        let deadline = request.deadline;
        let Submitted { updates, standing } = self.submit(Task::Generate { request, constraint }, deadline)?;
        Ok(Generation {
            updates,
            standing,
            vocabulary: self.inner.vocabulary.clone(),
            model: self.inner.model.clone(),
            text: if thinking { TextStream::thinking_from_start() } else { TextStream::default() },
            ready: Vec::new(),
            tokens: Vec::new(),
            choices: Vec::new(),
            since: Instant::now(),
            over: false,
            failed: None,
        })
    }

    /// Log-probability of each continuation after `prefix`. Continuations are evaluated one after another, each cut
    /// at [`Limits::outputs`] tokens and one.
    pub async fn score(
        &self,
        prefix: Vec<Token>,
        continuations: Vec<Vec<Token>>,
        priority: Priority,
    ) -> Result<Scores, EngineError> {
        let longest = continuations.iter().map(Vec::len).max().unwrap_or(0);
        self.fits(&prefix, longest)?;
        let lengths = continuations.iter().map(Vec::len).collect();
        let mut submitted = self.submit(Task::Score { prefix, continuations, priority }, DEADLINE)?;
        while let Some(update) = submitted.updates.recv().await {
            match update {
                Update::Scored { sums, tally } => return Ok(Scores { sums, lengths, tally }),
                Update::Failed(error) => return Err(error),
                Update::Token(_) | Update::Finished { .. } => {}
            }
        }
        Err(self.stopped())
    }

    fn submit(&self, task: Task, deadline: Duration) -> Result<Submitted, EngineError> {
        let priority = match &task {
            Task::Generate { request, .. } => request.priority,
            Task::Score { priority, .. } => *priority,
        };
        if self.inner.pressure.enter(priority) >= QUEUE_MAX {
            self.inner.pressure.leave(priority);
            return Err(EngineError::QueueFull { model: self.inner.model.clone() });
        }
        let (sender, updates) = updates::unbounded_channel();
        let standing = Arc::new(Standing::default());
        standing.position.store(1, Ordering::Relaxed);
        let job = Job { task, updates: sender, standing: standing.clone(), submitted: Instant::now(), deadline };
        self.inner.jobs.send(job).map_err(|_| self.stopped())?;
        Ok(Submitted { updates, standing })
    }

    /// A prompt needs a token to begin with, and room for `more` tokens after it.
    fn fits(&self, prompt: &[Token], more: usize) -> Result<(), EngineError> {
        let (model, context) = (self.inner.model.clone(), self.inner.limits.context);
        match prompt.len() {
            0 => Err(EngineError::EmptyPrompt { model }),
            prompt if prompt + more > context => Err(EngineError::ContextOverflow { model, prompt, context }),
            _ => Ok(()),
        }
    }

    fn stopped(&self) -> EngineError {
        EngineError::Stopped { model: self.inner.model.clone(), reason: "its thread has ended".to_owned() }
    }
}

struct Submitted {
    updates: updates::UnboundedReceiver<Update>,
    standing: Arc<Standing>,
}

/// A running generation. Dropping it cancels the work within one chunk.
pub struct Generation {
    updates: updates::UnboundedReceiver<Update>,
    standing: Arc<Standing>,
    vocabulary: Arc<dyn Vocabulary>,
    model: String,
    text: TextStream,
    /// Pieces not yet given out, last first.
    ready: Vec<Piece>,
    tokens: Vec<Token>,
    choices: Vec<Choice>,
    /// When something was last given out.
    since: Instant,
    over: bool,
    /// Why it ended early; told once everything before it was given out.
    failed: Option<EngineError>,
}

impl Generation {
    /// The next piece; `None` after [`Piece::Finished`]. Gives a [`Piece::Queued`] or [`Piece::Pulse`] when nothing
    /// else happens for a second.
    pub async fn next(&mut self) -> Result<Option<Piece>, EngineError> {
        loop {
            if let Some(piece) = self.ready.pop() {
                self.since = Instant::now();
                return Ok(Some(piece));
            }
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            if self.over {
                return Ok(None);
            }
            match tokio::time::timeout(BEAT, self.updates.recv()).await {
                Err(_) => return Ok(Some(self.beat())),
                Ok(None) => {
                    let reason = "its thread has ended".to_owned();
                    self.fail(EngineError::Stopped { model: self.model.clone(), reason });
                }
                Ok(Some(update)) => self.take(update),
            }
        }
    }

    /// Tokens given out so far.
    pub fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// The same with how sure the model was of each.
    pub fn choices(&self) -> &[Choice] {
        &self.choices
    }

    /// Mean entropy of the tokens so far, in nats; low is sure.
    pub fn entropy(&self) -> Option<f32> {
        let sum: f32 = self.choices.iter().map(|choice| choice.entropy).sum();
        (!self.choices.is_empty()).then(|| sum / self.choices.len() as f32)
    }

    /// Stops the work, and gives out what has arrived and what was held back of it: half a tag, half a character.
    pub fn cancel(mut self) -> Vec<Piece> {
        self.updates.close();
        let mut pieces = Vec::new();
        // Ends: the channel is closed and holds what it held.
        loop {
            pieces.extend(self.ready.drain(..).rev());
            match self.updates.try_recv() {
                Ok(update) => self.take(update),
                Err(_) if self.over => return pieces,
                Err(_) => self.fail(EngineError::Cancelled),
            }
        }
    }

    /// Waits for the end; thinking is left out of the text.
    pub async fn collect(mut self) -> Result<Output, EngineError> {
        let mut text = String::new();
        while let Some(piece) = self.next().await? {
            match piece {
                Piece::Answer(part) => text.push_str(&part),
                Piece::Finished { finish, tally } => {
                    let entropy = self.entropy();
                    return Ok(Output { text, tokens: std::mem::take(&mut self.tokens), entropy, finish, tally });
                }
                Piece::Thinking(_) | Piece::Queued { .. } | Piece::Pulse { .. } => {}
            }
        }
        Err(EngineError::Cancelled)
    }

    fn take(&mut self, update: Update) {
        match update {
            Update::Token(choice) => {
                self.tokens.push(choice.token);
                self.choices.push(choice);
                let pieces = self.text.push(text::bytes(&*self.vocabulary, choice.token));
                self.hold(pieces, None);
            }
            Update::Finished { finish, tally } => {
                let pieces = self.text.flush();
                self.hold(pieces, Some(Piece::Finished { finish, tally }));
                self.over = true;
            }
            Update::Failed(error) => self.fail(error),
            Update::Scored { .. } => {}
        }
    }

    fn fail(&mut self, error: EngineError) {
        let pieces = self.text.flush();
        self.hold(pieces, None);
        self.over = true;
        self.failed = Some(error);
    }

    fn hold(&mut self, pieces: Vec<TextPiece>, last: Option<Piece>) {
        let pieces = pieces.into_iter().map(|piece| match piece {
            TextPiece::Answer(text) => Piece::Answer(text),
            TextPiece::Thinking(text) => Piece::Thinking(text),
        });
        self.ready = pieces.chain(last).collect();
        self.ready.reverse();
    }

    fn beat(&self) -> Piece {
        let position = self.standing.position.load(Ordering::Relaxed);
        if position == 0 {
            return Piece::Pulse { waited_ms: self.since.elapsed().as_millis() as u64 };
        }
        let eta_ms = match self.standing.eta_ms.load(Ordering::Relaxed) {
            0 => None,
            eta => Some(eta),
        };
        Piece::Queued { position, eta_ms }
    }
}
