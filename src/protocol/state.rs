//! Where a step stands, and what may follow.

use serde::{Deserialize, Serialize};

/// Where a step stands (seed 002 §6).
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    #[default]
    Pending,
    /// Its tool and arguments are looked for.
    Thinking,
    /// A call is at hand; rules are asked.
    Deciding,
    AwaitingApproval,
    Executing,
    Complete,
    FailedToThink,
    /// It may be tried another way.
    FailedToExecute,
}

impl StepState {
    pub fn may_become(self, next: StepState) -> bool {
        use StepState::{
            AwaitingApproval, Complete, Deciding, Executing, FailedToExecute, FailedToThink, Pending, Thinking,
        };
        matches!(
            (self, next),
            (Pending, Thinking | Deciding)
                | (Thinking, Deciding | FailedToThink)
                // A step of several calls decides about each; one that is known already is not run again.
                | (Deciding, AwaitingApproval | Executing | Deciding | Complete | FailedToThink | FailedToExecute)
                | (AwaitingApproval, Executing | Deciding | FailedToExecute)
                | (Executing, Deciding | AwaitingApproval | Executing | Complete | FailedToExecute)
                | (FailedToExecute, Thinking)
        )
    }
}
