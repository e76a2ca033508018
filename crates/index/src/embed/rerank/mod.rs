//! Scores how well texts answer a question: a re-ranker reads each text together with the question.
//!
//! It is a GGUF cross-encoder, which llama.cpp computes on the processor. Calls block; the calling
//! thread takes the device's permit for every batch.

mod pairs;
mod reranker;

use std::sync::Arc;

use crate::base::Cancel;

pub use reranker::{Options, Reranker, memory};

/// A model that reads a question and a text together.
pub trait Judge: Send + Sync {
    /// The name of its file, for notes.
    fn name(&self) -> &str;
    /// Pairs of a question and a text that it scores in a second here, as measured.
    fn pairs_a_second(&self) -> f64;
    /// The score of each text for the question, in order: the higher, the better it answers. Stops
    /// between batches if cancelled.
    fn scores(&self, question: &str, texts: &[String], cancel: &Cancel) -> Result<Vec<f32>, RerankError>;
}

/// Gives the judge of searches, if there is one: it is found and loaded at the first search.
pub trait Judges: Send + Sync {
    /// Identifies the model without loading it, for stored answers.
    fn fingerprint(&self) -> String;
    /// Loads it at the first call.
    fn judge(&self, cancel: &Cancel) -> Result<Arc<dyn Judge>, RerankError>;
    /// Maximum number of hits of one search that are scored at this many pairs a second.
    fn most(&self, pairs_a_second: f64) -> usize;
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RerankError {
    #[error("it was cancelled")]
    Cancelled,
    /// A text that names the file, the fault and the way out.
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Failed(String),
}
