//! Code search in a folder: words, vectors and the graph of symbols, and a re-ranker if there is one.
#![doc = include_str!("../README.md")]
// A failure that a caller can act on is an error; all others go through `base::OrBug`.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod embed;
pub mod index;
pub mod retrieve;

/// Amounts, cancellation and small helpers.
pub use monobloc_base as base;
// The engine accounts for an embedder's memory and CPU time, and runs embedders in GGUF files.
use monobloc_engine::{budget, engine, models};
