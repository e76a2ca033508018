//! Computes embedding vectors of texts (unit length): in this process with our own kernels, or by a server.
//!
//! Callers wait. In this process its thread takes the device's permit for every batch; only BERT encoders with mean pooling are
//! supported.

mod away;
pub(crate) mod batch;
pub(crate) mod bert;
mod embedder;
pub(crate) mod error;
pub(crate) mod folder;
pub(crate) mod handle;
pub(crate) mod pieces;

pub use away::Away;
pub use embedder::Embedder;
pub use error::EmbedError;
pub use folder::{fingerprint, memory};
pub use handle::Options;
pub use pieces::TOKENS_MAX;
