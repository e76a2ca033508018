//! Opens a session on the project, and reports progress and missing parts to a user interface.

use std::sync::Arc;

use anyhow::Result;

use crate::app::App;
use crate::index::Progress;
use crate::session::Session;

/// A message sent while a session is being opened.
#[derive(Debug)]
pub enum Told {
    /// Something is missing or was repaired; the session works without it.
    Note(String),
    Indexing(Progress),
}

/// A session on the project with models, tools and a refreshed index; blocks while reading files.
pub fn session(app: &App, command: &'static str, tell: &mut dyn FnMut(Told)) -> Result<Session> {
    // Without a planner, this fails now instead of after minutes of indexing.
    let models = app.shared_models()?;
    let progress = &mut |progress| tell(Told::Indexing(progress));
    let (session, notes) = app.session_refreshed(&models, Arc::new(app.index()?), &app.cancel, progress)?;
    notes.into_iter().for_each(|note| tell(Told::Note(note)));
    Ok(session.of(command))
}
