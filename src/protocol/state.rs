//! Defines the states of a step of a plan.

use serde::{Deserialize, Serialize};

/// The state of a step.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    #[default]
    Pending,
    /// Its tool and arguments are being chosen.
    Thinking,
    /// Its call is complete; the rules decide about it.
    Deciding,
    AwaitingApproval,
    Executing,
    Complete,
    FailedToThink,
    /// The call failed; the step may be tried another way.
    FailedToExecute,
}
