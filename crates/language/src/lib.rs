//! Reads text that people write: words, quotations, clauses, and the support for a statement.
//! Independent of project and model.
#![doc = include_str!("../README.md")]
// A failure that a caller can act on is an error; all others go through `base::OrBug`.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod asked;
pub mod clauses;
pub mod grounding;
pub mod quotations;
pub mod said;
pub mod shape;
pub mod words;

pub use asked::{Asked, Tokens};
use monobloc_base as base;
