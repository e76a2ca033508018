//! Computes embedding vectors of texts (unit length) in this process, with candle and our own kernels.
//!
//! A handle tokenises texts and waits; one worker thread owns the weights and takes the device's permit for every batch.
//! Only BERT encoders with mean pooling are supported.

pub mod batch;
pub mod bert;
pub mod error;
pub mod folder;
pub mod handle;
mod ops;
pub mod worker;

pub use error::EmbedError;
pub use folder::{fingerprint, memory};
pub use handle::{Embedder, Options};
pub use worker::{Gate, Urgency};
