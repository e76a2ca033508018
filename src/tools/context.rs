//! What every tool is lent while it runs.

use std::sync::Arc;

use crate::base::Cancel;
use crate::embed::Embedder;
use crate::index::Index;
use crate::lessons::Lessons;
use crate::retrieve::Cache;
use crate::tools::confine::Root;

/// Lent to each call. Cheap to clone.
#[derive(Clone)]
pub struct Context {
    /// The folder no tool can leave.
    pub root: Root,
    /// Ends long work early.
    pub cancel: Cancel,
    /// What `index_…` tools ask; without one they say so.
    pub index: Option<Arc<Index>>,
    /// Turns questions into vectors; without one search goes by words.
    pub embedder: Option<Embedder>,
    pub lessons: Option<Arc<Lessons>>,
    /// Answers of `index_search`, kept while the index stays as it is.
    pub answers: Arc<Cache>,
}

impl Context {
    pub fn new(root: Root, cancel: Cancel) -> Context {
        Context { root, cancel, index: None, embedder: None, lessons: None, answers: Arc::default() }
    }
}
