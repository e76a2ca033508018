//! Reads a request without a model: its kind, its steps, the tool it names and that tool's arguments.

mod arguments;
pub(crate) mod complete;
pub(crate) mod folders;
pub mod forms;
mod kind;
pub(crate) mod named;
mod permissions;
mod renames;
pub(crate) mod small_talk;
pub(crate) mod steps;
pub(crate) mod substitution;
mod text;
mod wish;

pub use arguments::{Edit, Unsettled};
pub use kind::Kind;
pub(crate) use kind::begins_something;
pub use steps::Step;
pub use text::Text;
