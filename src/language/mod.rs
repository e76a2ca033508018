//! Reads what people write: words, quotations, clauses, and whether one text is backed by another. Knows no project and no model.

mod asked;
pub mod clauses;
pub(crate) mod grounding;
pub(crate) mod quotations;
pub(crate) mod said;
pub(crate) mod words;

pub(crate) use asked::Asked;
