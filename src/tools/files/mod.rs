//! The tools that work on files of the project, one module each.

pub mod change;
pub mod delete;
pub mod find;
pub mod list;
pub mod near;
pub mod read;
pub mod rename;
pub mod replace;
pub mod search;
pub mod walk;
pub mod write;
