//! Runs commands that can change one folder and nothing else, and undoes their changes.
#![doc = include_str!("../README.md")]
// A failure that a caller can act on is an error; all others go through `base::OrBug`.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod checkpoint;
pub mod confine;
pub mod sandbox;

/// Amounts, cancellation and small helpers.
pub use monobloc_base as base;
