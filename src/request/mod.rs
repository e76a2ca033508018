//! Reads a request without a model: its kind, its steps, the tool it names and that tool's arguments.

pub(crate) mod arguments;
pub(crate) mod complete;
pub(crate) mod folders;
pub mod forms;
pub(crate) mod kind;
pub(crate) mod named;
mod permissions;
pub(crate) mod renames;
pub(crate) mod small_talk;
pub(crate) mod steps;
pub(crate) mod substitution;
mod text;
mod wish;

pub use kind::Kind;
pub use steps::Step;
pub use text::Text;
