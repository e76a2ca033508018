//! What every tool is lent while it runs.

use crate::base::Cancel;
use crate::tools::confine::Root;

/// Lent to each call; grows with the layers that tools stand on. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Context {
    /// The folder no tool can leave.
    pub root: Root,
    /// Ends long work early.
    pub cancel: Cancel,
}

impl Context {
    pub fn new(root: Root, cancel: Cancel) -> Context {
        Context { root, cancel }
    }
}
