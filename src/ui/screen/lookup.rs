//! Looks things up for the screen on separate threads: files, checkpoints, earlier requests, tables.

use anyhow::Result;

use super::popup::Choice;
use crate::app::{App, CheckpointRow};
use crate::base::walk::walk;

/// Maximum number of files offered, and of entries searched to find them.
const FILES_MAX: usize = 20_000;
const ENTRIES_MAX: usize = 200_000;
/// Maximum number of checkpoints offered.
const CHECKPOINTS_MAX: usize = 20;
/// Maximum number of earlier requests read.
const ASKED_MAX: usize = 1_000;

/// The project's files, except ignored ones, relative to the project.
pub fn files(app: &App) -> Vec<String> {
    let root = &app.config.project;
    let entries = walk(root, root).build().take(ENTRIES_MAX).flatten();
    let files = entries.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let path = |entry: ignore::DirEntry| {
        let path = entry.path().strip_prefix(root).unwrap_or(entry.path());
        path.to_str().map(str::to_owned)
    };
    let mut paths: Vec<String> = files.filter_map(path).take(FILES_MAX).collect();
    paths.sort();
    paths
}

/// The checkpoints to go back to, newest first.
pub fn checkpoints(app: &App) -> Result<Vec<Choice>> {
    let choice = |row: CheckpointRow| {
        let before = if row.before == "turn" { row.request.as_str() } else { "going back" };
        let label = format!("{:>5}  {}  before: {before}", row.checkpoint, row.time);
        Choice { label: label.replace('\n', " "), detail: String::new(), value: row.checkpoint }
    };
    let rows = app.checkpoints(CHECKPOINTS_MAX)?.unwrap_or_default();
    Ok(rows.into_iter().rev().map(choice).collect())
}

/// The project's earlier requests, oldest first; none if the journal cannot be read, which the
/// session itself reports.
pub fn asked(app: &App) -> Vec<String> {
    let turns = app.history().ok().flatten().map(|history| history.turns).unwrap_or_default();
    let newest = turns.len().saturating_sub(ASKED_MAX);
    turns.into_iter().skip(newest).map(|turn| turn.request).collect()
}
