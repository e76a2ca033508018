//! The context of every tool call: the project, cancellation, limits, the index and other shared services.

use std::sync::Arc;

use crate::base::Cancel;
use crate::checkpoint::Turn;
use crate::config::Commands;
use crate::embed::Embedder;
use crate::index::Index;
use crate::lessons::Lessons;
use crate::tools::confine::Root;
use crate::tools::mcp::Servers;
use crate::tools::outcome::TEXT_MAX_BYTES;

/// Shared services for tool calls. Cheap to clone.
#[derive(Clone)]
pub struct Context {
    /// The folder that no tool can leave.
    pub root: Root,
    /// Cancels long work.
    pub cancel: Cancel,
    /// The settings and limits for commands.
    pub commands: Arc<Commands>,
    /// Used by the `index_…` tools; without an index they return an error.
    pub index: Option<Arc<Index>>,
    /// Embeds questions; without it, search uses only words.
    pub embedder: Option<Embedder>,
    pub lessons: Option<Arc<Lessons>>,
    /// MCP servers; without them their tools cannot be run.
    pub servers: Option<Servers>,
    /// Makes checkpoints before calls that change something; without it, nothing can be undone.
    pub turn: Option<Arc<Turn>>,
    /// Maximum size of one result in bytes. Tools shorten their results by whole lines and explain
    /// how to get the rest.
    pub text_max_bytes: usize,
}

impl Context {
    pub fn new(root: Root, cancel: Cancel) -> Context {
        let commands = Arc::default();
        Context {
            root,
            cancel,
            commands,
            index: None,
            embedder: None,
            lessons: None,
            servers: None,
            turn: None,
            text_max_bytes: TEXT_MAX_BYTES,
        }
    }
}
