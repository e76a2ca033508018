//! Edits files: the new text of a file from an edit, checks of the old and the new text, and the output of test runs.

mod apply;
mod called;
pub mod check;
pub mod comments;
pub mod examples;
pub mod executed;
pub mod export;
pub mod extras;
pub mod failures;
mod heads;
pub mod imports;
mod indent;
pub mod kept;
pub mod keyed;
mod line_ends;
mod merge;
mod omissions;
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

pub use apply::{Edit, Mismatch, Several, WRITE_MAX_BYTES, apply};
pub use check::{TO_BE_WRITTEN, problems};
use merge::merge;
pub use merge::{Hints, MergeError, has_grammar};
pub use paths::relative;
pub use text::{is_comment, line_of};
