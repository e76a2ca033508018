//! What the measuring verbs do: so far, writing full-size models with random weights.

pub mod shape;
pub mod synth;
mod tokens;
mod weights;

pub use shape::{Quant, Shape};
pub use synth::{SynthError, write};
