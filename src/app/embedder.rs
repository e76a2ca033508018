//! Opens the process's embedder, from a folder, a file or a server, and keeps the vectors of the index up to date with it.

use std::sync::Arc;

use anyhow::Result;

use super::App;
use crate::embed::{self, EmbedError, Embedder};
use crate::index::{Index, IndexError, Progress};
use crate::models::{EmbedderSpec, Registry, Role};
use crate::remote::{self, consent};

/// Maximum number of texts that a request waits for MiniLM to embed, about two seconds on two
/// cores; fewer for a slower model.
const VECTORS_WAITED_FOR: f64 = 128.0;

/// Maximum number of embedders of which a fingerprint is computed to find the one of an index: a
/// new file is read whole for it, once.
const COMPARED_MAX: usize = 16;

impl App {
    /// Makes the embedder whose vectors the project's index has the one of `registry`, if it is
    /// still found and models.toml names none: another one in a folder must not be a reason to
    /// compute all vectors again.
    pub(super) fn keep_embedder(&self, registry: &mut Registry) {
        if registry.is_named(Role::Embedder) || !matches!(registry.endpoint(Role::Embedder), Ok(None)) {
            return;
        }
        let made = Index::embedders(&self.config.project);
        let of = |spec: &EmbedderSpec| embed::fingerprint(&spec.path, &self.embedder_options(spec)).ok();
        if made.is_empty() || registry.embedder().and_then(of).as_ref() == made.first() {
            return;
        }
        let found: Vec<(EmbedderSpec, Option<String>)> =
            registry.embedders().into_iter().take(COMPARED_MAX).map(|spec| (spec.clone(), of(&spec))).collect();
        let by = |made: &String| found.iter().find(|(_, fingerprint)| fingerprint.as_ref() == Some(made));
        if let Some((spec, _)) = made.iter().find_map(by) {
            registry.embed_with(spec.clone());
        }
    }

    /// The fingerprint of the registry's embedder, without loading it; `None` if there is no usable
    /// one.
    pub fn embedder_fingerprint(&self, registry: &Registry) -> Option<String> {
        match registry.endpoint(Role::Embedder).ok()? {
            Some(endpoint) => remote::Away::known(endpoint, &remote::folder()),
            None => {
                let spec = registry.embedder()?;
                embed::fingerprint(&spec.path, &self.embedder_options(spec)).ok()
            }
        }
    }

    /// The options for an embedder, without the permit, and the memory that it will need once
    /// loaded.
    pub(super) fn embedder_options(&self, spec: &EmbedderSpec) -> embed::Options {
        let (wishes, trial) = (spec.wishes.clone(), self.trial.clone());
        embed::Options { threads: self.threads(), wishes, trial, ..embed::Options::default() }
    }

    /// The embedder; it shares the memory ledger and the compute permit with all models. `Err`
    /// explains why there is none.
    pub fn embedder(&self, registry: &Registry) -> Result<Embedder, String> {
        let without = |why: String| format!("no embedder: search uses words only: {why}");
        if let Some(endpoint) = registry.endpoint(Role::Embedder).map_err(|why| without(why.to_string()))? {
            if !consent::given(&consent::store(), endpoint.url()) {
                let url = endpoint.url();
                return Err(without(format!(
                    "nothing is sent to {url} before you consent with `monobloc models add {url} --role embedder`"
                )));
            }
            let away = remote::Away::open(endpoint, &remote::folder(), &self.cancel);
            return away.map(|away| Embedder::Away(Arc::new(away))).map_err(|why| without(why.to_string()));
        }
        let Some(spec) = registry.embedder() else {
            let looked: Vec<String> = registry.embedder_looked.iter().map(|path| path.display().to_string()).collect();
            return Err(format!(
                "no embedder: search uses words only. Looked in {}; fetch one with scripts/fetch-models or `monobloc models pull embedder`",
                looked.join(", ")
            ));
        };
        let plain = self.embedder_options(spec);
        let needed = embed::memory(&spec.path, &plain).map_err(|error| without(error.to_string()))?;
        let reservation = self.ledger.reserve("embedder", needed).map_err(|refused| without(refused.to_string()))?;
        let options = embed::Options { permit: self.permit.clone(), lease: Some(reservation.commit(needed)), ..plain };
        Embedder::open(&spec.path, options).map_err(|error| without(error.to_string()))
    }

    /// Embeds new texts if that takes only a moment. Returns the number of texts that still have no
    /// vector.
    pub(super) fn refresh_vectors_for_turn(
        &self,
        index: &Index,
        embedder: Option<&Embedder>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<usize> {
        let Some(embedder) = embedder else { return Ok(0) };
        let missing = index.vectors_missing(embedder.fingerprint())?;
        if missing as f64 * embedder.work() > VECTORS_WAITED_FOR {
            index.load_vectors(embedder.fingerprint(), embedder.dimensions())?;
            return Ok(missing);
        }
        match index.refresh_vectors(embedder, progress, &self.cancel) {
            // Without the server, search uses only words and reports that.
            Err(IndexError::Embed(EmbedError::Away(why))) => {
                tracing::warn!(%why, "new texts have no vector");
                Ok(index.vectors_missing(embedder.fingerprint())?)
            }
            refreshed => refreshed.map(|_| 0).map_err(Into::into),
        }
    }
}
