//! Implements the measuring commands: `complete`, `bench`, `eval`, `fit` and `models probe`.

pub(crate) mod bench;
pub(crate) mod complete;
#[cfg(feature = "lab")]
pub(crate) mod eval;
pub(crate) mod fit;
mod jsonl;
pub(crate) mod probe;
mod rejecting;
mod statistics;

pub use crate::engine::sampler::{Dry, Sampling, SamplingError};
