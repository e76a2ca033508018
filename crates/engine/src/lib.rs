//! Runs several language models in one process on llama.cpp, with a single ledger for their memory.
#![doc = include_str!("../README.md")]
// A failure that a caller can act on is an error; all others go through `base::OrBug`.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod budget;
pub mod engine;
pub mod models;

/// Amounts, cancellation and small helpers.
pub use monobloc_base as base;
