//! Looks things up for the screen on threads of their own: files, checkpoints, earlier requests, tables.

use anyhow::Result;
use ignore::WalkBuilder;
use serde_json::Value;

use super::popup::Choice;
use crate::app::{self, App};
use crate::session::{History, Journal, Session};
use crate::ui::cli::chat::line::Show;
use crate::ui::cli::chat::{TALKS_MAX, back, table};

/// Most files that are offered, and most entries that are looked at for them.
const FILES_MAX: usize = 20_000;
const ENTRIES_MAX: usize = 200_000;
/// Most earlier requests that are read.
const ASKED_MAX: usize = 1_000;

/// The project's files without ignored ones, relative to the project.
pub fn files(app: &App) -> Vec<String> {
    let root = &app.config.project;
    let mut walk = WalkBuilder::new(root);
    walk.hidden(false).require_git(false).follow_links(false);
    walk.filter_entry(|entry| !matches!(entry.file_name().to_str(), Some(".git" | ".monobloc")));
    let entries = walk.build().take(ENTRIES_MAX).flatten();
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
    let rows = back::list(app)?.1;
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let choice = |row: &Value| {
        let name = text(row, "checkpoint");
        let before = if text(row, "before") == "turn" { text(row, "request") } else { "going back".to_owned() };
        let label = format!("{name:>5}  {}  before: {before}", text(row, "time"));
        Choice { label: label.replace('\n', " "), detail: String::new(), value: name }
    };
    let oldest_first: Vec<Choice> = rows.as_array().into_iter().flatten().map(choice).collect();
    Ok(oldest_first.into_iter().rev().collect())
}

/// The project's earlier requests, oldest first; none if the journal cannot be read, which the session reports itself.
pub fn asked(app: &App) -> Vec<String> {
    let read = || -> Result<Vec<String>> {
        let Some(journal) = Journal::existing(&app::journal(&app.project()?))? else { return Ok(Vec::new()) };
        let turns = History::of(&journal.entries()?).turns;
        let newest = turns.len().saturating_sub(ASKED_MAX);
        Ok(turns.into_iter().skip(newest).map(|turn| turn.request).collect())
    };
    read().unwrap_or_default()
}

/// What a command shows, as text.
pub fn shown(app: &App, session: &Session, what: Show) -> Result<String> {
    Ok(match what {
        Show::Memory => table::memory(&session.memory()),
        Show::Files => table::files(&session.model_files()),
        Show::Checkpoints => back::list(app)?.0,
        Show::Talks => {
            let mut talks = session.talks()?;
            talks.truncate(TALKS_MAX);
            table::talks(&talks)
        }
        Show::Help => crate::ui::cli::chat::line::help(),
    })
}
