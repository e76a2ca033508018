//! Edits files: the new text of a file from an edit, checks of the old and the new text, and the output of test runs.
#![doc = include_str!("../README.md")]
// A failure that a caller can act on is an error; all others go through `base::OrBug`.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod apply;
mod called;
mod check;
pub mod comments;
pub mod examples;
pub mod executed;
mod export;
pub mod extras;
pub mod failures;
mod heads;
pub mod imports;
mod in_place;
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
pub mod text;
pub mod unasked;

pub use apply::{Applied, Edit, Mismatch, Several, WRITE_MAX_BYTES, apply};
pub use check::{TO_BE_WRITTEN, problems};
use merge::merge;
pub use merge::{Hints, MergeError, has_grammar};
pub use paths::relative;
pub use text::{is_comment, line_of};

use monobloc_base as base;
use monobloc_index::index;
use monobloc_language as language;
