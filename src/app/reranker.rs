//! Reserves the memory of the process's re-ranker, opens it at the first search that needs it, and limits what it scores.

use std::sync::{Arc, Mutex, OnceLock, TryLockError};
use std::time::Duration;

use super::{App, capabilities};
use crate::agent;
use crate::base::{Bytes, Cancel};
use crate::budget::Reservation;
use crate::embed::rerank::{self, Judge, Judges, RerankError, Reranker};
use crate::models::{ModelsError, Registry, RerankerSpec, Role, digest, registry};

/// The re-ranker of a process, found and loaded once.
#[derive(Default)]
pub struct Shared {
    /// With the fingerprint of its file.
    found: OnceLock<Result<(RerankerSpec, String), RerankError>>,
    /// Set once it is loaded, or is unusable in this process.
    judge: OnceLock<Result<Arc<dyn Judge>, RerankError>>,
    /// Its memory before it is loaded; locked while a search loads it.
    reserved: Mutex<Option<Reservation>>,
}

impl Shared {
    /// Keeps it from being loaded, because the planner would not fit beside it.
    pub fn leave_out(&self) {
        let why = "the planner would not fit into memory with the re-ranker; take it out of [reranker] in models.toml";
        self.judge.get_or_init(|| Err(RerankError::Refused(why.to_owned())));
        if let Ok(mut reserved) = self.reserved.try_lock() {
            reserved.take();
        }
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

    /// Reserves the memory of the re-ranker, if there is one, before others take it. If the ledger
    /// refuses, the first search asks again.
    pub(super) fn reserve_reranker(&self) {
        let shared = &self.reranker;
        if registry::sets(&self.config, Role::Reranker)
            && let Ok((spec, _)) = self.found_reranker()
            && let Ok(mut reserved) = shared.reserved.try_lock()
            && reserved.is_none()
            && shared.judge.get().is_none()
        {
            *reserved = self.ledger.reserve(super::fit::RERANKER, rerank::memory(&spec.header)).ok();
        }
    }

    fn found_reranker(&self) -> Result<&(RerankerSpec, String), RerankError> {
        let find = || -> Result<(RerankerSpec, String), String> {
            let registry = Registry::open(&self.config).map_err(|why| why.to_string())?;
            let none = || ModelsError::NoModel {
                role: Role::Reranker,
                looked: vec![registry.dir.clone()],
                notes: String::new(),
            };
            let found = registry.reranker().and_then(|spec| spec.cloned().ok_or_else(none));
            let spec = found.map_err(|why| why.to_string())?;
            let fingerprint = digest::fingerprint(&spec.path);
            let fingerprint = fingerprint.map_err(|why| format!("{}: {why}", spec.path.display()))?;
            Ok((spec, fingerprint))
        };
        self.reranker.found.get_or_init(|| find().map_err(RerankError::Refused)).as_ref().map_err(Clone::clone)
    }
}

impl OfApp {
    fn open(&self, reserved: &mut Option<Reservation>, cancel: &Cancel) -> Result<Arc<dyn Judge>, RerankError> {
        let (spec, _) = self.0.found_reranker()?;
        let needed = rerank::memory(&spec.header);
        let reservation = reserved.take().map_or_else(|| self.0.ledger.reserve(super::fit::RERANKER, needed), Ok);
        let reservation = reservation.map_err(|why| RerankError::Failed(why.to_string()))?;
        let options = rerank::Options {
            threads: self.0.threads(),
            permit: self.0.permit.clone(),
            lease: Some(reservation.commit(needed)),
            trial: self.0.trial.clone(),
            folder: Some(capabilities()),
            speed_min: rerank::PAIRS_MIN as f64 / self.time().as_secs_f64(),
        };
        Ok(Arc::new(Reranker::open(&spec.header, &spec.ranking, options, cancel)?))
    }
}

impl Judges for OfApp {
    fn fingerprint(&self) -> Result<String, RerankError> {
        match self.0.reranker.judge.get() {
            Some(Err(why)) => Err(why.clone()),
            _ => self.0.found_reranker().map(|(_, fingerprint)| fingerprint.clone()),
        }
    }

    fn judge(&self, cancel: &Cancel) -> Result<Arc<dyn Judge>, RerankError> {
        let shared = &self.0.reranker;
        let opened = || shared.judge.get().cloned();
        if let Some(opened) = opened() {
            return opened;
        }
        let mut reserved = match shared.reserved.try_lock() {
            Ok(reserved) => reserved,
            // A search panicked while it loaded the re-ranker.
            Err(TryLockError::Poisoned(reserved)) => reserved.into_inner(),
            Err(TryLockError::WouldBlock) => {
                return Err(RerankError::Failed("the re-ranker is still being loaded".to_owned()));
            }
        };
        // Another search may have loaded it before the lock was taken.
        opened().unwrap_or_else(|| {
            let new = self.open(&mut reserved, cancel);
            match new {
                // The next search may load it.
                Err(RerankError::Cancelled | RerankError::Failed(_)) => new,
                new => shared.judge.get_or_init(|| new).clone(),
            }
        })
    }

    fn most(&self, pairs_a_second: f64) -> usize {
        agent::judged(pairs_a_second, self.0.config.turn_time)
    }

    fn time(&self) -> Duration {
        agent::judging(self.0.config.turn_time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn a_search_does_not_wait_while_another_loads_the_re_ranker_and_a_refused_one_stays_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("models.toml");
        std::fs::write(&file, "[reranker]\nfile = \"gone.gguf\"\n").unwrap();
        let config =
            Config { project: folder.path().into(), model_dir: Some(folder.path().into()), ..Config::default() };
        let app = App::open(config, Cancel::new()).unwrap();
        let judge = |judges: &Arc<dyn Judges>| judges.judge(&Cancel::new()).err();
        let judges = app.judges().unwrap();
        let loading = app.reranker.reserved.lock().unwrap();
        assert_eq!(judge(&judges), Some(RerankError::Failed("the re-ranker is still being loaded".into())));
        app.reserve_reranker();
        drop(loading);
        let Some(RerankError::Refused(why)) = judge(&judges) else { panic!("it was loaded") };
        assert!(why.contains("gone.gguf"), "{why}");
        assert_eq!((judge(&judges), judges.fingerprint().err()), {
            let refused = Some(RerankError::Refused(why));
            (refused.clone(), refused)
        });
    }
}
