//! A running generation: turns tokens into pieces of text, reports waiting times, and cancels the work when dropped.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedReceiver;

use super::decoder::{Token, Vocabulary};
use super::request::{EngineError, Logprobs, Output, Piece, QueuePosition};
use super::sampler::Choice;
use super::text::{self, TextStream};
use super::worker::Update;

/// Interval at which pulses are sent while no piece arrives.
const BEAT: Duration = Duration::from_secs(1);

/// A running generation. Dropping it cancels the work within one chunk.
pub struct Generation {
    updates: UnboundedReceiver<Update>,
    standing: Arc<QueuePosition>,
    vocabulary: Arc<dyn Vocabulary>,
    model: String,
    text: TextStream,
    /// Pieces not yet returned, last first.
    ready: Vec<Piece>,
    tokens: Vec<Token>,
    choices: Vec<Choice>,
    /// Log-probabilities since they were last taken.
    logprobs: Vec<Logprobs>,
    /// When the stream last returned a piece.
    since: Instant,
    over: bool,
    /// Why it ended early; returned after all earlier pieces.
    failed: Option<EngineError>,
}

impl Generation {
    pub(super) fn new(
        updates: UnboundedReceiver<Update>,
        standing: Arc<QueuePosition>,
        vocabulary: Arc<dyn Vocabulary>,
        model: &str,
        text: TextStream,
    ) -> Generation {
        Generation {
            updates,
            standing,
            vocabulary,
            model: model.to_owned(),
            text,
            ready: Vec::new(),
            tokens: Vec::new(),
            choices: Vec::new(),
            logprobs: Vec::new(),
            since: Instant::now(),
            over: false,
            failed: None,
        }
    }

    /// The next piece; `None` after [`Piece::Finished`]. Returns a [`Piece::Queued`] or
    /// [`Piece::Pulse`] if nothing else happens for a second.
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

    /// Tokens received so far.
    pub fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// The same tokens, each with the entropy of its choice.
    pub fn choices(&self) -> &[Choice] {
        &self.choices
    }

    /// The log-probabilities since the last call, if the request asks for them.
    pub fn take_logprobs(&mut self) -> Vec<Logprobs> {
        std::mem::take(&mut self.logprobs)
    }

    /// The bytes of a token; none for a control token.
    pub fn bytes_of(&self, token: Token) -> &[u8] {
        text::bytes(&*self.vocabulary, token)
    }

    /// Mean entropy of the tokens so far, in nats; low if the model is certain. `None` before the
    /// first token.
    pub fn entropy(&self) -> Option<f32> {
        let sum: f32 = self.choices.iter().map(|choice| choice.entropy).sum();
        (!self.choices.is_empty()).then(|| sum / self.choices.len() as f32)
    }

    /// Stops the work and returns the pieces received so far, including a partial tag or character
    /// that was held back.
    pub fn cancel(mut self) -> Vec<Piece> {
        self.updates.close();
        let mut pieces = Vec::new();
        // Terminates: the channel is closed, so nothing is added to it.
        loop {
            pieces.extend(self.ready.drain(..).rev());
            match self.updates.try_recv() {
                Ok(update) => self.take(update),
                Err(_) if self.over => return pieces,
                Err(_) => self.fail(EngineError::Cancelled),
            }
        }
    }

    /// Waits for the end and returns the complete answer; its text excludes thoughts.
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
            Update::Token(choice, logprobs) => {
                self.logprobs.extend(logprobs);
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

    fn hold(&mut self, pieces: Vec<Piece>, last: Option<Piece>) {
        self.ready = pieces.into_iter().chain(last).collect();
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
