//! Restores a project to an earlier state: stores what every change overwrites, and journals every restore.

mod attributes;
mod carry_out;
mod entry;
mod hidden;
mod lock;
mod prune;
mod restore;
mod rewind;
mod scan;
mod store;
mod sync;
mod turn;

use std::path::{Path, PathBuf};

pub use entry::{Entry, Hash};
pub use lock::{Holder, Lock};
pub use restore::{Applied, Pending};
pub use rewind::{Checkpoint, Foreign, Plan, Step};
pub use scan::FILE_MAX;
pub use store::{Change, Origin, Store};
pub use turn::{About, Anchor, Reach, Summary, Turn, recover};

use crate::base::storage::Trouble;

/// The reason a checkpoint could not be made or restored. In that case nothing is overwritten
/// unless it is stored.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    #[error("{why}")]
    ReadOnly { why: String },
    #[error("{}", Trouble::of(source).told("the store of checkpoints", path, source))]
    Folder { path: PathBuf, source: std::io::Error },
    #[error("{}", trouble(source, file).told("the store of checkpoints", file, source))]
    Database { file: PathBuf, source: rusqlite::Error },
    #[error("{holder} is changing this project; wait for it or end it")]
    Held { holder: Holder },
    #[error("cancelled while waiting for {holder}, which is changing this project")]
    Cancelled { holder: Holder },
    #[error("there is no checkpoint `{0}`; `monobloc checkpoints` lists them")]
    Unknown(String),
    #[error("the content {hash} is no longer in the checkpoints")]
    Lost { hash: Hash },
    #[error("the content {hash} is damaged in the checkpoints")]
    Damaged { hash: Hash },
    #[error("the lessons cannot be read: {0}")]
    Memory(String),
    #[error("going back to a checkpoint was interrupted; `monobloc checkpoints` finishes it")]
    Unfinished,
    #[error("the turn is over")]
    Over,
    #[error("{path}: {why}")]
    Path { path: PathBuf, why: String },
}

fn trouble(error: &rusqlite::Error, file: &Path) -> Trouble {
    Trouble::of_database(error.sqlite_error().map(|error| error.extended_code), file)
}

#[cfg(test)]
mod tests;
