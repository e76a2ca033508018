//! Defines a changed file as its full text before and after, for user interfaces that draw the difference themselves.

use std::sync::Arc;

/// The text of a file before and after a change. It stays within the process: neither journal nor `--json` holds it, because both
/// have the unified diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Relative to the project, with `/`.
    pub path: String,
    /// `None` if the file did not exist.
    pub old: Option<Arc<str>>,
    /// `None` if the file is gone.
    pub new: Option<Arc<str>>,
}
