//! Checks the hash chain of a journal, and compares it with the hashes stored in checkpoints.

use std::io::{self, BufRead, Write};
use std::path::Path;

use super::chain::{self, Damage, Link};
use crate::checkpoint::{CheckpointError, Store};

#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    #[error("the journal cannot be read: {0}")]
    Read(#[from] io::Error),
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
}

/// Checks the chain. With a project, also checks that every record to which its checkpoints refer
/// exists with the same hash; this detects a journal that was truncated or completely rewritten.
/// Returns the last link.
pub fn verify(journal: impl BufRead, project: Option<&Path>) -> Result<Result<Link, Damage>, AuditError> {
    let mut anchors = match project.map(Store::existing).transpose()?.flatten() {
        Some(store) => store.checkpoints()?,
        None => Vec::new(),
    };
    // Two conversations may begin in one order and make their checkpoints in the other.
    anchors.sort_by_key(|checkpoint| checkpoint.anchor.seq);
    let mut remembered = anchors.iter().filter(|checkpoint| checkpoint.anchor.seq > 0).peekable();
    let mut wrong = None;
    let end = chain::follow(journal, |link, _, _| {
        while let Some(checkpoint) = remembered.next_if(|checkpoint| checkpoint.anchor.seq <= link.seq) {
            let anchor = &checkpoint.anchor;
            if wrong.is_none() && anchor.seq == link.seq && anchor.hash != link.hash {
                let why =
                    format!("checkpoint c{} refers to a different record; the journal was rewritten", checkpoint.id);
                wrong = Some(Damage { record: link.seq, why });
            }
        }
    })?;
    let missing = remembered.next().map(|checkpoint| Damage {
        record: checkpoint.anchor.seq,
        why: format!("it is missing; checkpoint c{} was made after it, so the end was cut off", checkpoint.id),
    });
    Ok(end.and_then(|end| wrong.or(missing).map_or(Ok(end), Err)))
}

/// Checks the chain and copies every record before the first damaged one to `out`.
pub fn export(journal: impl BufRead, out: &mut dyn Write) -> Result<Result<Link, Damage>, AuditError> {
    let mut written = Ok(());
    let end = chain::follow(journal, |_, _, line| {
        if written.is_ok() {
            written = out.write_all(line);
        }
    })?;
    written?;
    Ok(end)
}
