//! Cleans up after a process that was killed during a call.

use std::path::Path;

use super::CheckpointError;
use super::store::Store;

impl Store {
    /// Whether a call or restore was interrupted or is still running.
    pub fn is_unfinished(&self) -> Result<bool, CheckpointError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM calls WHERE open = 1) OR EXISTS (SELECT 1 FROM restore)";
        Ok(self.row(sql, [], |row| row.get(0))?.unwrap_or(false))
    }

    /// Whether a tool ran in the turn of a checkpoint or later.
    pub fn ran_since(&self, tool: &str, checkpoint: i64) -> Result<bool, CheckpointError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM calls WHERE tool = ?1 AND checkpoint >= ?2)";
        Ok(self.row(sql, (tool, checkpoint), |row| row.get(0))?.unwrap_or(false))
    }
}

/// Ends calls that ran when the process was killed; changes found now count as made by them. Returns the checkpoints of the
/// interrupted turns. The caller must hold the project's lock.
pub fn recover(store: &mut Store, project: &Path) -> Result<Vec<i64>, CheckpointError> {
    let sql = "SELECT id, checkpoint FROM calls WHERE open = 1 ORDER BY id";
    let open: Vec<(i64, i64)> = store.rows(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    for (call, _) in &open {
        store.atomically(|store| store.end_call(project, *call))?;
    }
    if !open.is_empty() {
        store.look(project)?;
    }
    let mut checkpoints: Vec<i64> = open.into_iter().map(|(_, checkpoint)| checkpoint).collect();
    checkpoints.dedup();
    Ok(checkpoints)
}
