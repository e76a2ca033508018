//! The tools that work on files of the project.

pub mod change;
pub mod find;
pub mod left_out;
pub mod list;
pub mod near;
pub mod read;
pub mod replace;
pub mod search;
pub mod undone;
pub mod walk;
pub mod write;
