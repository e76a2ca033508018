//! Opens a session on the project, and tells a user interface what it does meanwhile and what is missing.

use anyhow::Result;

use crate::app::App;
use crate::index::Progress;
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
    // Without a planner this fails now, not after minutes of indexing.
    let models = app.shared_models()?;
    for note in app.recover()?.iter().chain(&models.notes).chain(&app.catalog().1) {
        tell(Told::Note(note.clone()));
    }
    let index = app.index()?;
    let progress = &mut |progress| tell(Told::Indexing(progress));
    let missing = app.refresh_for_turn(&index, models.embedder.as_ref(), progress)?;
    if missing > 0 {
        tell(Told::Note(format!("{missing} places are found by words only; `monobloc index` adds their meaning")));
    }
    Ok(app.session_with(&models, index)?.of(command))
}
