//! Reads a request without a model: its kind, its steps, the tool it names and that tool's arguments.
#![doc = include_str!("../README.md")]
// A failure that a caller can act on is an error; all others go through `base::OrBug`.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod arguments;
pub mod clause;
pub mod complete;
mod examples;
pub mod folders;
pub mod forms;
mod headings;
mod items;
mod kind;
pub mod mentions;
pub mod moves;
pub mod named;
mod permissions;
pub mod recall;
mod referred;
mod renames;
pub mod small_talk;
pub mod steps;
pub mod substitution;
mod targets;
mod test_places;
mod text;
mod topics;
mod values;
mod wish;

pub use arguments::{Edit, Unsettled};
pub use kind::Kind;
pub(crate) use kind::begins_something;
pub use steps::Step;
pub use text::Text;

use monobloc_base as base;
use monobloc_edit as edit;
use monobloc_guarded::confine;
use monobloc_index::index;
use monobloc_language as language;
