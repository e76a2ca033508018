//! Where a step stands.

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
