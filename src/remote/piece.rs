//! Pieces of a reply, and its cost.

use std::time::Duration;

use crate::models::dialect::RawCall;

/// One item in the stream of a [`Reply`](super::Reply).
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// The request is retried after a pause; sent before any text.
    Waiting {
        why: String,
        pause: Duration,
    },
    /// Nothing arrived for another second.
    Pulse {
        waited_ms: u64,
    },
    /// The server is reading the prompt: total tokens, and tokens read so far.
    Progress {
        total: usize,
        done: usize,
    },
    Thinking(String),
    Text(String),
    /// A complete call. It comes at the end of a complete reply; a truncated reply has none.
    /// `is_certain`: the call was structured, or written and closed in a known notation; any other
    /// call was guessed from text and may only read.
    Call {
        call: RawCall,
        is_certain: bool,
        in_fields: bool,
    },
    /// Calls that were complete but are withheld, because the reply may have been truncated: their
    /// names, and the reason.
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

/// Why a reply ended. Any other end is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The model ended it, with or without calls.
    Stop,
    /// The token limit was reached.
    Length,
    /// The server filtered the rest.
    Filtered,
    /// The server ended the stream properly, but without a known reason. Its calls are left out.
    Unsaid,
}

impl Finish {
    /// Whether the model finished its reply.
    pub fn is_whole(self) -> bool {
        self == Finish::Stop
    }
}

/// Tokens and times of a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub prompt_tokens: usize,
    /// The part of `prompt_tokens` that the server had cached.
    pub cached_tokens: usize,
    /// Including thoughts.
    pub generated_tokens: usize,
    pub thought_tokens: usize,
    /// Whether the token counts are estimates from the texts because the server sent none.
    pub is_estimate: bool,
    /// Time from the request to the first piece of text, thought or call.
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
    /// The calls, each with `is_certain` of [`Piece::Call`].
    pub calls: Vec<(RawCall, bool)>,
    /// Whether the calls arrived in fields rather than in the text.
    pub in_fields: bool,
    pub finish: Option<Finish>,
    pub usage: Usage,
}
