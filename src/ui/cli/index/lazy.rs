//! An embedder that is loaded only when a text must be embedded, so that a run without new text loads no model.

use anyhow::Result;

use crate::app::App;
use crate::embed::{EmbedError, Embedder};
use crate::index::{Index, IndexError, Progress};
use crate::models::Registry;
use crate::ui::cli::{or_note, warn};

/// The embedder, if already loaded.
pub struct Lazy {
    /// Where to load it from. It is loaded at most once, and a missing embedder is reported once.
    registry: Option<Registry>,
    embedder: Option<Embedder>,
    /// The embedder's identity, under which vectors are stored; `None` if there is no embedder.
    pub fingerprint: Option<String>,
}

impl Lazy {
    /// Finds the embedder without reading its weights.
    pub fn new(app: &App) -> Lazy {
        let registry = or_note(app.registry());
        let fingerprint = registry.as_ref().and_then(|registry| app.embedder_fingerprint(registry));
        let mut lazy = Lazy { registry, embedder: None, fingerprint };
        if lazy.fingerprint.is_none() {
            // Opening it yields the reason it cannot be used.
            lazy.open(app);
        }
        lazy
    }

    fn open(&mut self, app: &App) -> Option<&Embedder> {
        if let Some(registry) = self.registry.take() {
            self.embedder = or_note(app.embedder(&registry));
            self.fingerprint = self.embedder.as_ref().map(|embedder| embedder.fingerprint().to_owned());
        }
        self.embedder.as_ref()
    }

    /// Computes the missing vectors; first calls `before` with their number. Returns the number of
    /// chunks with a vector.
    pub fn vectors(
        &mut self,
        index: &Index,
        app: &App,
        before: impl FnOnce(usize),
        progress: &mut dyn FnMut(Progress),
    ) -> Result<usize> {
        let Some(fingerprint) = self.fingerprint.clone() else { return Ok(0) };
        let missing = index.vectors_missing(&fingerprint)?;
        before(missing);
        if missing == 0 {
            return Ok(index.chunks_with_vector(&fingerprint)?);
        }
        match self.open(app) {
            Some(embedder) => match index.refresh_vectors(embedder, progress, &app.cancel) {
                Err(IndexError::Embed(why @ EmbedError::Away(_))) => {
                    warn(format!("{missing} places are found by words only: {why}"));
                    Ok(index.chunks_with_vector(&fingerprint)?)
                }
                refreshed => Ok(refreshed?),
            },
            None => Ok(0),
        }
    }
}
