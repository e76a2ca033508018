//! A streamed answer: pieces of text, thoughts and calls, in one form for all models and protocols.

use super::agent::TurnReply;
use super::ask::Call;
use super::generate::ModelReply;
use super::passed::Passed;
use super::problem::Problem;

/// A piece of an answer. [`Delta::Finished`] is the last.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// Includes the log-probabilities of its tokens, if requested.
    Text(String, Vec<TokenLogprobs>),
    Thinking(String),
    Call(Call),
    /// Nothing has arrived for a while, but work continues.
    Alive,
    Finished(End),
}

/// A generated token with its log-probability and those of the most likely alternatives, in nats.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenLogprobs {
    pub bytes: Vec<u8>,
    pub logprob: f32,
    pub top: Vec<(Vec<u8>, f32)>,
}

/// How an answer ended, and its token cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct End {
    pub reason: Reason,
    pub prompt: usize,
    /// The part of `prompt` that was cached.
    pub cached: usize,
    pub generated: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reason {
    /// The model finished.
    #[default]
    Stop,
    /// The stop text with this index would have come next.
    StopText(usize),
    /// Tokens or context are used up, or the model repeated itself.
    Length,
    /// The answer consists of tool calls.
    Calls,
}

/// An answer in progress. Dropping it ends the work.
pub enum Reply {
    Model(Box<ModelReply>),
    Turn(Box<TurnReply>),
    /// From a model on another server.
    Passed(Box<Passed>),
}

impl Reply {
    /// The next piece; `None` after the last.
    pub async fn next(&mut self) -> Result<Option<Delta>, Problem> {
        match self {
            Reply::Model(reply) => reply.next().await,
            Reply::Turn(reply) => reply.next().await,
            Reply::Passed(reply) => reply.next().await,
        }
    }

    /// Waits for the complete answer.
    pub async fn whole(mut self) -> Result<Whole, Problem> {
        let mut whole = Whole::default();
        while let Some(delta) = self.next().await? {
            match delta {
                Delta::Text(text, tokens) => {
                    whole.text.push_str(&text);
                    whole.tokens.extend(tokens);
                }
                Delta::Thinking(text) => whole.thinking.push_str(&text),
                Delta::Call(call) => whole.calls.push(call),
                Delta::Alive => {}
                Delta::Finished(end) => whole.end = end,
            }
        }
        Ok(whole)
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Whole {
    pub text: String,
    pub thinking: String,
    pub calls: Vec<Call>,
    pub tokens: Vec<TokenLogprobs>,
    pub end: End,
}
