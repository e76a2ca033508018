//! The limits of the single-model loop of weaker models (`agent/free_loop`).

use super::{Pace, TOKEN_BYTES};

/// Lengths are in tokens unless stated otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weak {
    /// One reply of a model that can reason, and one of a small model.
    pub reply: usize,
    pub small_reply: usize,
    /// The part of a result shown to the model; the evidence keeps the complete result.
    pub result_bytes: usize,
    /// Hits from the index in the opening, and their tokens. The goal is a context of 4,000 to
    /// 6,000 tokens.
    pub hits: usize,
    pub background: usize,
    /// The request, and a text that the user handed over.
    pub request_bytes: usize,
    pub given_bytes: usize,
    /// Maximum number of open steps listed.
    pub open: usize,
}

impl Weak {
    pub fn of(pace: Pace) -> Weak {
        let context = pace.context;
        Weak {
            reply: 1_500.min(context / 4),
            small_reply: 80,
            result_bytes: context / 8 * TOKEN_BYTES,
            hits: 8,
            background: pace.packed(|| (context / 16).min(4_000)),
            request_bytes: 4_000,
            given_bytes: 12_000,
            open: 5,
        }
    }
}
