//! Computes embedding vectors of texts (unit length) in this process, with our own kernels.
//!
//! Whoever calls waits: its thread takes the device's permit for every batch. Only BERT encoders with mean pooling are
//! supported.

pub(crate) mod batch;
pub(crate) mod bert;
pub(crate) mod error;
pub(crate) mod folder;
pub(crate) mod handle;
pub(crate) mod pieces;

pub use error::EmbedError;
pub use folder::{fingerprint, memory};
pub use handle::{Embedder, Options};
pub use pieces::TOKENS_MAX;
