//! Edits source code: merges what a model wrote into files, checks the result, and reads failed test runs.

pub mod check;
pub mod checks;
pub mod derive;
pub mod docstring;
pub mod examples;
pub mod export;
pub mod failures;
pub mod imports;
mod indent;
pub mod keyed;
pub mod listing;
pub mod losses;
mod marks;
pub mod merge;
pub mod mutate;
pub mod own;
pub mod relocate;
pub mod remove;
pub mod rename;
pub mod suspects;
mod text;

pub use check::{Problem, problems};
pub use merge::{Change, Hints, MergeError, Merged, What, has_grammar, merge};
