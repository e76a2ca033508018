//! Commands that can change a folder and nothing else, and the way back from what they changed.
#![doc = include_str!("../README.md")]
// A fault that a caller can act on is an error; all others go through `base::OrBug`.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod checkpoint;
pub mod confine;
pub mod sandbox;

/// Amounts, cancellation and small helpers.
pub use monobloc_base as base;
