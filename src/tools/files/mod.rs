//! The tools that work on files of the project.

pub mod change;
pub mod find;
pub mod list;
pub mod near;
pub mod read;
pub mod replace;
pub mod search;
pub mod walk;
pub mod write;
