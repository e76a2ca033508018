//! Pieces of a reply, and what the reply cost.

use std::time::Duration;

use crate::models::dialect::RawCall;

/// One item in the stream of a [`Reply`](super::Reply).
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// The server is asked again after a pause; sent before any text.
    Waiting {
        why: String,
        pause: Duration,
    },
    /// Nothing came for another second.
    Pulse {
        waited_ms: u64,
    },
    /// The server reads the prompt: tokens in all, and read so far.
    Progress {
        total: usize,
        done: usize,
    },
    Thinking(String),
    Text(String),
    /// A whole call. It comes at the end of a reply that is whole itself; a reply that was cut has none. `is_certain`: structured, or
    /// written and closed in a known notation; any other call was guessed out of a text and may only read.
    Call {
        call: RawCall,
        is_certain: bool,
        in_fields: bool,
    },
    /// Calls that were whole, but are not given out, because the reply may have been cut: their names, and why.
    LeftOut {
        calls: Vec<String>,
        why: String,
    },
    /// The last piece.
    Finished {
        finish: Finish,
        usage: Usage,
    },
}

/// Why a reply ended. One that ended otherwise is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The model ended it, with calls or without.
    Stop,
    /// The limit of tokens was reached.
    Length,
    /// The server filtered the rest.
    Filtered,
    /// The server ended the stream in order, without a reason that is known. Its calls are left out.
    Unsaid,
}

impl Finish {
    /// Whether the model said all that it wanted to say.
    pub fn is_whole(self) -> bool {
        self == Finish::Stop
    }
}

/// Tokens and times of a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub prompt_tokens: usize,
    /// Part of `prompt_tokens` that the server did not read again.
    pub cached_tokens: usize,
    /// Thoughts included.
    pub generated_tokens: usize,
    pub thought_tokens: usize,
    /// True if the server counted no tokens, and these are guessed from the texts.
    pub is_estimate: bool,
    /// From the request to the first piece of text, thought or call.
    pub first_ms: u64,
    pub total_ms: u64,
}

/// The cost of several replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    pub calls: usize,
    pub prompt_tokens: usize,
    pub generated_tokens: usize,
    /// [`Usage::first_ms`] of the last reply.
    pub first_ms: u64,
}

impl Spent {
    pub fn add(&mut self, usage: &Usage) {
        self.calls += 1;
        self.prompt_tokens += usage.prompt_tokens;
        self.generated_tokens += usage.generated_tokens;
        self.first_ms = usage.first_ms;
    }
}

/// A whole reply.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Whole {
    pub thinking: String,
    pub text: String,
    /// With whether each is certain, see [`Piece::Call`].
    pub calls: Vec<(RawCall, bool)>,
    /// The calls came in fields, not in the text.
    pub in_fields: bool,
    pub finish: Option<Finish>,
    pub usage: Usage,
}
