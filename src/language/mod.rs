//! Reads what people write: words, clauses, and whether one text is backed by another. Knows no project and no model.

pub mod clauses;
pub mod grounding;
pub mod words;
