//! Computes embedding vectors of texts (unit length) in this process, with candle and our own kernels.
//!
//! A handle tokenises texts and waits; one worker thread owns the weights and takes the device's permit for every batch.
//! Only BERT encoders with mean pooling are supported.

pub(crate) mod batch;
pub(crate) mod bert;
pub(crate) mod error;
pub(crate) mod folder;
pub(crate) mod handle;
mod ops;
pub(crate) mod worker;

pub use error::EmbedError;
pub use folder::{fingerprint, memory};
pub use handle::{Embedder, Options};
pub use worker::{Gate, Urgency};
