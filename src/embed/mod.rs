//! Turns text into vectors of unit length, in this process: weights and tensors through candle, no padding.
//!
//! A handle cuts texts into tokens and waits; one worker thread owns the weights and takes the device's permit for
//! every batch. Only BERT encoders with mean pooling are served.

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
