//! An embedder that is loaded only when a text must be embedded, so that a run that finds nothing new loads no model.

use anyhow::Result;

use crate::app::App;
use crate::embed::Embedder;
use crate::index::{Index, Progress};
use crate::models::Registry;
use crate::ui::cli::or_note;

/// The embedder, as far as it is loaded. A missing embedder is reported once.
pub enum Lazy {
    Missing,
    Waiting { registry: Box<Registry>, fingerprint: String },
    Loaded(Embedder),
}

impl Lazy {
    /// Finds the embedder without reading its weights.
    pub fn new(app: &App) -> Lazy {
        let Some(registry) = or_note(app.registry()) else { return Lazy::Missing };
        match app.embedder_fingerprint(&registry) {
            Some(fingerprint) => Lazy::Waiting { registry: Box::new(registry), fingerprint },
            // Opening it gives the reason why it cannot be used.
            None => Lazy::opened(app, &registry),
        }
    }

    fn opened(app: &App, registry: &Registry) -> Lazy {
        or_note(app.embedder(registry)).map_or(Lazy::Missing, Lazy::Loaded)
    }

    /// The fingerprint of the embedder, by which vectors are stored.
    pub fn fingerprint(&self) -> Option<&str> {
        match self {
            Lazy::Missing => None,
            Lazy::Waiting { fingerprint, .. } => Some(fingerprint),
            Lazy::Loaded(embedder) => Some(embedder.fingerprint()),
        }
    }

    /// Computes the missing vectors; calls `before` with their number first. Returns the number of chunks that have a
    /// vector.
    pub fn vectors(
        &mut self,
        index: &Index,
        app: &App,
        before: impl FnOnce(usize),
        progress: &mut dyn FnMut(Progress),
    ) -> Result<usize> {
        let Some(fingerprint) = self.fingerprint() else { return Ok(0) };
        let missing = index.vectors_missing(fingerprint)?;
        before(missing);
        if missing == 0 {
            return Ok(index.chunks_with_vector(fingerprint)?);
        }
        match self.embedder(app) {
            Some(embedder) => Ok(index.refresh_vectors(embedder, progress, &app.cancel)?),
            None => Ok(0),
        }
    }

    fn embedder(&mut self, app: &App) -> Option<&Embedder> {
        if let Lazy::Waiting { registry, .. } = self {
            *self = Lazy::opened(app, registry);
        }
        match self {
            Lazy::Loaded(embedder) => Some(embedder),
            _ => None,
        }
    }
}
