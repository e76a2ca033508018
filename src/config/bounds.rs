//! The limits of a turn that the user may set; all others are derived from the model, the machine
//! and the time.

/// The limits; `None` means that a limit is derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Maximum amount of project code in the prompt for one step, in tokens.
    pub pack: Option<usize>,
    /// Maximum number of attempts at one code change.
    pub rounds: usize,
    /// Maximum number of transitions in a turn beyond the steps of its plan: nodes, and rounds of a
    /// model that calls tools.
    pub transitions: Option<usize>,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { pack: None, rounds: 4, transitions: None }
    }
}
