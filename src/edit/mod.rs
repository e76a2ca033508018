//! Edits source code: merges what a model wrote into files, checks the result, and reads failed test runs.

pub mod check;
pub mod comments;
pub mod docstring;
pub mod examples;
pub mod executed;
pub mod export;
pub mod extras;
pub mod failures;
pub mod imports;
mod indent;
pub mod kept;
pub mod keyed;
pub mod merge;
mod omissions;
pub mod package_function;
mod paths;
pub mod preserve;
pub mod program;
pub mod relocate;
pub mod remove;
pub mod rename;
pub mod restore;
pub mod stated;
pub mod testing;
pub(crate) mod text;
pub mod unasked;

pub use check::{TO_BE_WRITTEN, problems};
pub use merge::{Hints, MergeError, has_grammar, merge};
pub use paths::relative;
pub use text::{is_comment, line_of};
