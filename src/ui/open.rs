//! Opens a session on the project, and tells a user interface what it does meanwhile and what is missing.

use anyhow::Result;

use crate::app::App;
use crate::index::Progress;
use crate::models::Role;
use crate::session::Session;

/// What is told while a session is opened.
#[derive(Debug)]
pub enum Told {
    /// Something is missing or was repaired; the session works without it.
    Note(String),
    Indexing(Progress),
}

/// A session on the project with models, tools and a refreshed index; blocks while files are read.
pub fn session(app: &App, command: &'static str, tell: &mut dyn FnMut(Told)) -> Result<Session> {
    let registry = app.registry()?;
    for note in app.recover()?.into_iter().chain(registry.replaced().cloned()) {
        tell(Told::Note(note));
    }
    // Fail now without a planner, not after minutes of indexing.
    registry.get(Role::Planner)?;
    let embedder = app.embedder(&registry).map_err(|reason| tell(Told::Note(reason))).ok();
    for note in &app.catalog().1 {
        tell(Told::Note(note.clone()));
    }
    let index = app.index()?;
    let missing = app.refresh_for_turn(&index, embedder.as_ref(), &mut |progress| tell(Told::Indexing(progress)))?;
    if missing > 0 {
        tell(Told::Note(format!("{missing} places are found by words only; `monobloc index` adds their meaning")));
    }
    let toolkit = app.toolkit(app.pool(registry), embedder, Some(index))?;
    Ok(app.session(toolkit)?.of(command))
}
