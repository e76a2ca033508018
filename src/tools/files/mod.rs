//! The tools that work on files of the project.

pub mod change;
pub mod changed;
pub mod edit;
pub mod find;
pub mod left_out;
pub mod list;
pub mod read;
pub mod search;
pub mod undone;
pub mod walk;
pub mod write;
