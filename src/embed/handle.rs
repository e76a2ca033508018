//! The cloneable handle to the embedding worker.

use crate::base::Cancel;

#[derive(Debug, Clone, thiserror::Error)]
pub enum EmbedError {
    #[error("the embedding worker has stopped: {0}")]
    Stopped(String),
    #[error("embedding was cancelled")]
    Cancelled,
}

/// Handle to one loaded embedding model. Clones share it; the last one dropped frees weights and memory.
#[derive(Clone)]
pub struct Embedder {}

impl Embedder {
    /// Length of every vector.
    pub fn dimensions(&self) -> usize {
        unimplemented!()
    }

    /// Identifies the weights, for caches: changes when the files change.
    pub fn fingerprint(&self) -> &str {
        unimplemented!()
    }

    /// One unit vector a text, in order. Blocks; call it from a thread that may wait.
    pub fn embed(&self, _texts: &[String], _cancel: &Cancel) -> Result<Vec<Vec<f32>>, EmbedError> {
        unimplemented!()
    }
}
