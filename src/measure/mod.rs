//! Implements the measuring commands: `complete`, `bench`, `eval`, `fit`, `models probe` and `synth`.

pub(crate) mod bench;
pub(crate) mod complete;
pub(crate) mod eval;
pub(crate) mod fit;
mod jsonl;
pub(crate) mod probe;
pub(crate) mod quant;
pub mod shape;
mod statistics;
pub mod synth;
mod tokens;
mod weights;

pub use crate::engine::sampler::{Dry, Sampling, SamplingError};
pub use quant::Quant;
pub use shape::Shape;
pub use synth::{Recipe, SynthError, write};
