//! A request becomes parts, steps, calls and an answer. Code owns the shape, models fill in the words.

pub mod arguments;
pub mod classify;
pub mod decompose;
