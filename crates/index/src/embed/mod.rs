//! Computes unit-length embedding vectors of texts, in this process or on a server, and scores of pairs (`rerank`).
//!
//! An embedder is a GGUF file, which llama.cpp runs, or a folder. A folder has config.json,
//! tokenizer.json and model.safetensors, and may have the files in which sentence-transformers
//! describes pooling, dense layers, prompts and length. BERT encoders run on our own kernels, the
//! others in f32 on candle. Calls block; in this process the calling thread takes the device's
//! permit for every batch.

mod batch;
mod bert;
mod dense;
mod embedder;
mod error;
mod family;
mod files;
mod folder;
mod gemma;
mod gguf;
mod handle;
mod modules;
mod pieces;
mod pooling;
mod prompts;
mod reader;
pub mod rerank;
mod source;
mod stock;
#[cfg(test)]
mod tests;
mod weights;

pub use embedder::{Distant, Embedder};
pub use error::EmbedError;
pub use handle::Options;
pub use pieces::{TOKENS_MAX, mean};
pub use prompts::Purpose;
pub use source::{fingerprint, memory};
