//! Writes model files with the shape of known models and random weights, or from a folder of safetensors.
#![doc = include_str!("../README.md")]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod embedder;
mod projector;
mod quant;
pub mod shape;
mod tokens;
mod weights;
mod write;

pub use embedder::{Conversion, Head, convert_bert};
pub use quant::{Quant, UnknownName};
pub use shape::Shape;
pub use write::{Recipe, SynthError, write, write_projector};
