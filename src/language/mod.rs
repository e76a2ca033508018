//! Reads text that people write: words, quotations, clauses, and the support for a statement.
//! Independent of project and model.

mod asked;
pub mod clauses;
pub(crate) mod grounding;
pub(crate) mod quotations;
pub(crate) mod said;
pub(crate) mod shape;
pub(crate) mod words;

pub(crate) use asked::{Asked, Tokens};
