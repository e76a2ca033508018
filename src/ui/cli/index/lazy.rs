//! An embedder that is loaded when the first text waits for it: a run that finds nothing new loads no model.

use anyhow::Result;

use crate::app::App;
use crate::embed::Embedder;
use crate::index::{Index, Progress};
use crate::models::Registry;

/// What is known of the embedder so far. Why there is none is said once.
pub enum Lazy {
    Missing,
    Waiting { registry: Box<Registry>, fingerprint: String },
    Loaded(Embedder),
}

impl Lazy {
    /// Reads which embedder there is, no weights.
    pub fn new(app: &App) -> Lazy {
        let registry = match app.registry() {
            Ok(registry) => registry,
            Err(error) => return missing(&error.to_string()),
        };
        match app.embedder_fingerprint(&registry) {
            Some(fingerprint) => Lazy::Waiting { registry: Box::new(registry), fingerprint },
            // What is missing or damaged is named by the attempt to open it.
            None => app.embedder(&registry).map_or_else(|reason| missing(&reason), Lazy::Loaded),
        }
    }

    /// The model that vectors are of.
    pub fn fingerprint(&self) -> Option<&str> {
        match self {
            Lazy::Missing => None,
            Lazy::Waiting { fingerprint, .. } => Some(fingerprint),
            Lazy::Loaded(embedder) => Some(embedder.fingerprint()),
        }
    }

    /// Gives every chunk its vector; `before` hears how many are to be computed. Gives the number of chunks that have one.
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
            *self = app.embedder(registry).map_or_else(|reason| missing(&reason), Lazy::Loaded);
        }
        match self {
            Lazy::Loaded(embedder) => Some(embedder),
            _ => None,
        }
    }
}

fn missing(reason: &str) -> Lazy {
    eprintln!("monobloc: note: {reason}");
    Lazy::Missing
}
