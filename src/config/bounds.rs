//! The limits of a turn that the user may set; the rest follow from model, machine and time.

/// `None` means that a limit is derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Maximum tokens of the project's code that a model is shown for one step.
    pub pack: Option<usize>,
    /// Attempts at one change of code.
    pub rounds: usize,
    /// Transitions of a turn beyond the steps of its plan: nodes, and rounds of a model that calls
    /// tools.
    pub transitions: Option<usize>,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { pack: None, rounds: 4, transitions: None }
    }
}
