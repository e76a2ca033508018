//! Scores how well texts answer a question: a re-ranker reads each text together with the question.
//!
//! It is a GGUF cross-encoder, which llama.cpp computes on the processor. Calls block; the calling
//! thread takes the device's permit for every batch.

mod pairs;
mod reranker;

use std::sync::Arc;
use std::time::Duration;

use crate::base::Cancel;

pub use reranker::{Options, Reranker, memory};

/// Minimum number of hits that can be put in another order.
pub const PAIRS_MIN: usize = 2;

/// A model that reads a question and a text together.
pub trait Judge: Send + Sync {
    /// The name of its file, for notes.
    fn name(&self) -> &str;
    /// Pairs of a question and a text that it scores in a second here, as measured.
    fn pairs_a_second(&self) -> f64;
    /// The scores of the texts for the question, in order: the higher, the better it answers. Ends
    /// between batches after `time`, with the scores of the first texts, or if cancelled.
    fn scores(
        &self,
        question: &str,
        texts: &[String],
        time: Duration,
        cancel: &Cancel,
    ) -> Result<Vec<f32>, RerankError>;
}

/// Gives the judge of searches, if there is one: it is found and loaded at the first search.
pub trait Judges: Send + Sync {
    /// Identifies the model without loading it, for stored answers. The error says why it cannot be
    /// used in this process.
    fn fingerprint(&self) -> Result<String, RerankError>;
    /// Loads it at the first call; fails at once while another thread loads it.
    fn judge(&self, cancel: &Cancel) -> Result<Arc<dyn Judge>, RerankError>;
    /// Maximum number of hits of one search that are scored at this many pairs a second.
    fn most(&self, pairs_a_second: f64) -> usize;
    /// Maximum time for scoring the hits of one search.
    fn time(&self) -> Duration;
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RerankError {
    #[error("it was cancelled")]
    Cancelled,
    /// It cannot be used in this process. The text names the file, the fault and the way out.
    #[error("{0}")]
    Refused(String),
    /// Another search may succeed.
    #[error("{0}")]
    Failed(String),
}
