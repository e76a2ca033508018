//! A question that waits for the next line: consent to a call, or which tool is meant.

use tokio::sync::oneshot;

use super::consent::Question;
use super::which::Which;
use crate::protocol::{Decision, Doubt, Proposal};

/// Answers that are none, after which silence counts as a no, or leaves the choice to the program.
pub(super) const TRIES: usize = 3;

pub enum Open {
    Consent(Question),
    Which(Which),
}

impl Open {
    pub fn consent(proposal: Proposal, reply: oneshot::Sender<Decision>) -> Open {
        Open::Consent(Question::new(proposal, reply))
    }

    pub fn which(doubt: Doubt, reply: oneshot::Sender<usize>) -> Open {
        Open::Which(Which::new(doubt, reply))
    }

    /// What stands before the cursor.
    pub fn prompt(&self) -> String {
        match self {
            Open::Consent(question) => question.prompt(),
            Open::Which(which) => which.prompt(),
        }
    }

    /// Takes a line; gives the question back if it is still open.
    pub fn answer(self, line: &str) -> Option<Open> {
        match self {
            Open::Consent(question) => question.answer(line).map(Open::Consent),
            Open::Which(which) => which.answer(line).map(Open::Which),
        }
    }
}
