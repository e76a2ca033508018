//! The served project: its index, the embedder, and one session for all requests, each opened on first use.

use std::sync::{Arc, Mutex};

use anyhow::Result;

use crate::app::{App, SharedModels};
use crate::base::{Cancel, lock};
use crate::embed::Embedder;
use crate::index::{Index, Progress};
use crate::session::Session;

pub struct Project {
    pub app: App,
    /// The locks are held during opening, so that each part is opened only once.
    opened: Mutex<Option<Opened>>,
    session: Mutex<Option<Arc<Session>>>,
}

/// An opened project, for questions to the index.
#[derive(Clone)]
pub struct Opened {
    pub index: Arc<Index>,
    pub embedder: Option<Embedder>,
    /// `None` without a planner, which lookups do not need.
    models: Option<SharedModels>,
}

impl Project {
    pub fn of(app: App) -> Project {
        // The asking agent is not a person waiting at a screen.
        Project { app: app.in_background(), opened: Mutex::default(), session: Mutex::default() }
    }

    /// Index and embedder, without a refresh. Blocks while opening them.
    pub fn opened(&self) -> Result<Opened> {
        let mut opened = lock(&self.opened);
        if let Some(opened) = &*opened {
            return Ok(opened.clone());
        }
        let index = Arc::new(self.app.index()?);
        let models = self.app.shared_models().ok();
        let embedder = match &models {
            Some(models) => models.embedder.clone(),
            None => self.app.registry().ok().and_then(|registry| self.app.embedder(&registry).ok()),
        };
        Ok(opened.insert(Opened { index, embedder, models }).clone())
    }

    /// Index and embedder, after changed files were read again. Blocks until then; fails if
    /// `cancel` is set.
    pub fn refreshed(&self, cancel: &Cancel, progress: &mut dyn FnMut(Progress)) -> Result<Opened> {
        let opened = self.opened()?;
        let app = self.app.until(cancel.clone());
        app.refresh_for_turn(&opened.index, opened.embedder.as_ref(), progress)?;
        Ok(opened)
    }

    /// The session for all requests, with notices for the user. Blocks while opening it.
    pub fn session(&self, cancel: &Cancel) -> Result<(Arc<Session>, Vec<String>)> {
        let mut session = lock(&self.session);
        if let Some(session) = &*session {
            return Ok((session.clone(), Vec::new()));
        }
        let opened = self.opened()?;
        // A planner may have been downloaded in the meantime; otherwise this is the error about its
        // absence.
        let models = opened.models.map_or_else(|| self.app.shared_models(), Ok)?;
        let (made, notes) = self.app.session_refreshed(&models, opened.index, cancel, &mut |_| ())?;
        Ok((session.insert(Arc::new(made.of("monobloc mcp serve"))).clone(), notes))
    }
}
