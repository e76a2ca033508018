//! What the verbs that measure do: completion of raw prompts, suites of cases, model files of real shapes.

pub mod complete;
pub mod eval;
