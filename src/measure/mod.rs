//! Implements the commands that measure: `complete`, `bench`, `eval`, `fit`, `models probe` and `synth`.

pub mod bench;
pub mod complete;
pub mod eval;
pub mod fit;
mod jsonl;
pub mod probe;
pub mod quant;
pub mod shape;
mod statistics;
pub mod synth;
mod tokens;
mod weights;

pub use crate::engine::sampler::{Dry, Sampling, SamplingError};
pub use quant::Quant;
pub use shape::Shape;
pub use synth::{SynthError, write};
