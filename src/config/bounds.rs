//! The limits of a turn that the user may set; what is left open follows from model, machine and time.

/// `None` leaves a limit as it is derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Tokens of the project's code that a model is shown for one step.
    pub pack: Option<usize>,
    /// Attempts at a change of code.
    pub rounds: usize,
    /// Transitions of a turn besides the steps of its plan: nodes, and rounds of a model that calls tools.
    pub transitions: Option<usize>,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { pack: None, rounds: 4, transitions: None }
    }
}
