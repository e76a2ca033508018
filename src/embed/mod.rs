//! Turns text into vectors of unit length, in this process, through candle.

pub mod handle;

pub use handle::{EmbedError, Embedder};
