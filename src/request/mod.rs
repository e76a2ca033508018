//! What a request says by itself, read without a model: its kind, its steps, the tool it names and that tool's arguments.

pub mod arguments;
pub mod characters;
pub mod complete;
pub mod folders;
pub mod forms;
pub mod kind;
pub mod renames;
pub mod small_talk;
pub mod steps;
pub mod substitution;

pub use kind::Kind;
pub use steps::Step;
