//! Computes unit-length embedding vectors of texts, in this process with our own kernels or on a server.
//!
//! Calls block. In this process the calling thread takes the device's permit for every batch; only
//! BERT encoders with mean pooling are supported.

mod batch;
mod bert;
mod embedder;
mod error;
mod folder;
mod handle;
mod pieces;

pub use embedder::{Distant, Embedder};
pub use error::EmbedError;
pub use folder::{fingerprint, memory};
pub use handle::Options;
pub use pieces::{TOKENS_MAX, mean};
