//! Opens the process's re-ranker at the first search that needs it, and limits what it scores.

use std::sync::{Arc, Mutex, OnceLock};

use super::{App, capabilities};
use crate::agent;
use crate::base::{Bytes, Cancel, lock};
use crate::embed::rerank::{self, Judge, Judges, RerankError, Reranker};
use crate::models::{ModelsError, Registry, RerankerSpec, Role, digest, registry};

/// The re-ranker of a process, found and loaded once.
#[derive(Default)]
pub struct Shared {
    spec: OnceLock<Result<RerankerSpec, String>>,
    judge: Mutex<Option<Result<Arc<dyn Judge>, RerankError>>>,
}

impl Shared {
    /// Keeps it from being loaded, because the planner would not fit beside it.
    pub fn leave_out(&self) {
        let why = "the planner would not fit into memory with the re-ranker; take it out of [reranker] in models.toml";
        lock(&self.judge).get_or_insert_with(|| Err(RerankError::Refused(why.to_owned())));
    }
}

/// The judges of one project's index.
struct OfApp(App);

impl App {
    /// The re-ranker for searches; `None` if models.toml names none. Reads no model file.
    pub fn judges(&self) -> Option<Arc<dyn Judges>> {
        registry::sets(&self.config, Role::Reranker).then(|| Arc::new(OfApp(self.clone())) as Arc<dyn Judges>)
    }

    /// The memory of the re-ranker, known from its header; 0 if there is none or it is unusable,
    /// because search then works without it.
    pub(super) fn reranker_bytes(&self, registry: &Registry) -> Bytes {
        registry.reranker().ok().flatten().map_or(Bytes::ZERO, |spec| rerank::memory(&spec.header))
    }
}

impl OfApp {
    fn spec(&self) -> &Result<RerankerSpec, String> {
        let find = || -> Result<RerankerSpec, ModelsError> {
            let registry = Registry::open(&self.0.config)?;
            let none = || ModelsError::NoModel {
                role: Role::Reranker,
                looked: vec![registry.dir.clone()],
                notes: String::new(),
            };
            registry.reranker()?.cloned().ok_or_else(none)
        };
        self.0.reranker.spec.get_or_init(|| find().map_err(|why| why.to_string()))
    }

    fn open(&self, cancel: &Cancel) -> Result<Arc<dyn Judge>, RerankError> {
        let refused = RerankError::Refused;
        let spec = self.spec().as_ref().map_err(|why| refused(why.clone()))?;
        let needed = rerank::memory(&spec.header);
        let reservation = self.0.ledger.reserve(super::fit::RERANKER, needed);
        let reservation = reservation.map_err(|why| refused(why.to_string()))?;
        let options = rerank::Options {
            threads: self.0.threads(),
            permit: self.0.permit.clone(),
            lease: Some(reservation.commit(needed)),
            trial: self.0.trial.clone(),
            folder: Some(capabilities()),
        };
        Ok(Arc::new(Reranker::open(&spec.header, &spec.ranking, options, cancel)?))
    }
}

impl Judges for OfApp {
    fn fingerprint(&self) -> String {
        let of_file = |spec: &RerankerSpec| digest::fingerprint(&spec.path).ok();
        self.spec().as_ref().ok().and_then(of_file).unwrap_or_default()
    }

    fn judge(&self, cancel: &Cancel) -> Result<Arc<dyn Judge>, RerankError> {
        let mut judge = lock(&self.0.reranker.judge);
        if let Some(opened) = &*judge {
            return opened.clone();
        }
        let opened = self.open(cancel);
        // The next search may load it.
        if opened.as_ref().err() != Some(&RerankError::Cancelled) {
            *judge = Some(opened.clone());
        }
        opened
    }

    fn most(&self, pairs_a_second: f64) -> usize {
        agent::judged(pairs_a_second, self.0.config.turn_time)
    }
}
