//! Reads a request without a model: its kind, its steps, the tool it names and that tool's arguments.

mod arguments;
pub(crate) mod clause;
pub(crate) mod complete;
mod examples;
pub(crate) mod folders;
pub mod forms;
mod headings;
mod items;
mod kind;
pub(crate) mod mentions;
pub(crate) mod moves;
pub(crate) mod named;
mod permissions;
pub(crate) mod recall;
mod referred;
mod renames;
pub(crate) mod small_talk;
pub(crate) mod steps;
pub(crate) mod substitution;
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
