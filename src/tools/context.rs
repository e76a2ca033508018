//! What every tool is lent while it runs.

use std::sync::Arc;

use crate::base::Cancel;
use crate::base::config::Commands;
use crate::checkpoint::Turn;
use crate::embed::Embedder;
use crate::index::Index;
use crate::lessons::Lessons;
use crate::retrieve::Cache;
use crate::tools::confine::Root;
use crate::tools::mcp::Servers;

/// Lent to each call. Cheap to clone.
#[derive(Clone)]
pub struct Context {
    /// The folder no tool can leave.
    pub root: Root,
    /// Ends long work early.
    pub cancel: Cancel,
    /// What commands are held to.
    pub commands: Arc<Commands>,
    /// What `index_…` tools ask; without one they say so.
    pub index: Option<Arc<Index>>,
    /// Turns questions into vectors; without one search goes by words.
    pub embedder: Option<Embedder>,
    pub lessons: Option<Arc<Lessons>>,
    /// Tools of other programs; without it they are only described.
    pub servers: Option<Servers>,
    /// Keeps what calls overwrite; without one nothing can be undone.
    pub turn: Option<Arc<Turn>>,
    /// Answers of `index_search`, kept while the index stays as it is.
    pub answers: Arc<Cache>,
}

impl Context {
    pub fn new(root: Root, cancel: Cancel) -> Context {
        let (commands, answers) = (Arc::default(), Arc::default());
        Context {
            root,
            cancel,
            commands,
            index: None,
            embedder: None,
            lessons: None,
            servers: None,
            turn: None,
            answers,
        }
    }
}
