//! Opens every layer once, bottom to top, and lends it out. Knows no user interface.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result};

use crate::base::{Bytes, Cancel, Config};
use crate::budget::permit::{Permit, Priority};
use crate::budget::{Ledger, device};
use crate::embed::{self, Embedder};
use crate::engine::pool::{EngineMemory, Pool, PoolOptions};
use crate::engine::prefix::{Disk, PrefixStore};
use crate::index::{Index, Progress, Report};
use crate::lessons::Lessons;
use crate::models::{Registry, places};
use crate::orchestrate::{Meter, Toolkit};
use crate::session::Session;
use crate::tools::confine::Root;
use crate::tools::{Catalog, Context, Prefilter, prefilter};

/// Left to the rest of the machine when no budget is given.
const HEADROOM: Bytes = Bytes::mib(512);

/// Copies of sequences in host memory, for what slots had to give up. On SmolLM2 some 40,000 tokens.
const COPIES_MAX: Bytes = Bytes::mib(512);

/// Fixed preambles on disk, of all models together.
const PREAMBLES_MAX: Bytes = Bytes::mib(256);

/// Texts that are embedded before a request is answered: about two seconds of MiniLM on two cores.
const VECTORS_WAITED_FOR: usize = 128;

/// Where a project keeps what monobloc knows of it.
pub fn database(project: &Path) -> PathBuf {
    project.join(".monobloc").join("monobloc.db")
}

/// Everything below the user interface. Clones share ledger and permit.
#[derive(Clone)]
pub struct App {
    pub config: Config,
    pub cancel: Cancel,
    ledger: Ledger,
    permit: Permit,
}

impl App {
    /// Asks the machine how much memory there is; loads nothing.
    pub fn open(config: Config, cancel: Cancel) -> App {
        let free = device::host().map_or(Bytes::gib(4), |host| host.available.saturating_sub(HEADROOM));
        let ledger = Ledger::new(config.budget.unwrap_or(free));
        App { config, cancel, ledger, permit: Permit::new() }
    }

    /// The same, ended by another flag: for one request of a conversation.
    pub fn until(&self, cancel: Cancel) -> App {
        App { cancel, ..self.clone() }
    }

    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// What models there are. Reads headers only.
    pub fn registry(&self) -> Result<Registry> {
        Ok(Registry::open(&self.config)?)
    }

    /// The models of a registry, each loaded when first needed.
    pub fn pool(&self, registry: Registry) -> Pool {
        let options = PoolOptions {
            threads: self.threads(),
            slots: self.config.slots,
            tool_call_format: self.config.tool_call_format.clone(),
            max_loaded: self.config.max_loaded,
            memory: self.engine_memory(true),
        };
        Pool::new(registry, self.ledger.clone(), self.permit.clone(), options)
    }

    /// A pool without roles, for model files named one by one.
    pub fn empty_pool(&self) -> Pool {
        Pool::alone(self.ledger.clone(), self.permit.clone(), self.threads(), self.engine_memory(false))
    }

    /// What engines keep beyond their own life; `preambles` on disk only where runs repeat, not in measurements.
    fn engine_memory(&self, preambles: bool) -> EngineMemory {
        let cache = places::cache_dir();
        let disk = preambles.then(|| Disk::open(cache.join("preambles"), PREAMBLES_MAX));
        EngineMemory {
            prefixes: Some(PrefixStore::new(self.ledger.clone(), COPIES_MAX, disk)),
            verdicts: Some(cache.join("verdicts")),
        }
    }

    fn threads(&self) -> usize {
        match self.config.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }

    /// The embedder, on the same ledger and the same device permit as every model. `Err` says why there is none.
    pub fn embedder(&self, registry: &Registry) -> Result<Embedder, String> {
        let Some(spec) = registry.embedder() else {
            let looked: Vec<String> =
                registry.embedder_looked().iter().map(|path| path.display().to_string()).collect();
            return Err(format!(
                "no embedder: search goes by words only. Looked in {}; fetch one with scripts/fetch-models or `monobloc models pull embedder`",
                looked.join(", ")
            ));
        };
        let plain = embed::Options { threads: self.threads(), ..embed::Options::default() };
        let needed = embed::memory(&spec.path, &plain).map_err(|error| error.to_string())?;
        let reservation = self
            .ledger
            .reserve("embedder", needed)
            .map_err(|refused| format!("no embedder: search goes by words only: {refused}"))?;
        let permit = self.permit.clone();
        let options = embed::Options {
            gate: Arc::new(move |urgency| {
                Box::new(permit.take(match urgency {
                    embed::Urgency::Query => Priority::Step,
                    embed::Urgency::Bulk => Priority::Background,
                }))
            }),
            lease: Some(Box::new(reservation.commit(needed))),
            ..plain
        };
        Embedder::open(&spec.path, options).map_err(|error| format!("no embedder: search goes by words only: {error}"))
    }

    /// The project's index as it is on disk; see [`App::refresh`].
    pub fn index(&self) -> Result<Index> {
        Ok(Index::open(&self.config.project)?)
    }

    /// Brings words and graph up to date, and the vectors too where there is an embedder.
    pub fn refresh(
        &self,
        index: &Index,
        embedder: Option<&Embedder>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Report> {
        Ok(index.refresh(embedder, progress, &self.cancel)?)
    }

    /// As much of a refresh as a request should wait for: words and graph, and vectors where few are missing. Gives the
    /// number of texts that stay without one.
    pub fn refresh_for_turn(
        &self,
        index: &Index,
        embedder: Option<&Embedder>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<usize> {
        index.refresh_lexical(progress, &self.cancel)?;
        let Some(embedder) = embedder else { return Ok(0) };
        let missing = index.vectors_missing(embedder.fingerprint())?;
        if missing > VECTORS_WAITED_FOR {
            index.load_vectors(embedder.fingerprint(), embedder.dimensions())?;
            return Ok(missing);
        }
        index.refresh_vectors(embedder, progress, &self.cancel)?;
        Ok(0)
    }

    /// Tools, models and index for turns on this project.
    pub fn toolkit(&self, pool: Pool, embedder: Option<Embedder>, index: Option<Index>) -> Result<Toolkit> {
        let root = Root::open(&self.config.project)?;
        let index = index.map(Arc::new);
        let catalog = Catalog::builtin();
        let lessons = Arc::new(Lessons::open(&database(&self.config.project))?);
        let context = Context {
            lessons: Some(lessons),
            index: index.clone(),
            embedder: embedder.clone(),
            ..Context::new(root, self.cancel.clone())
        };
        self.toolkit_for(catalog, pool, embedder, index, Some(context))
    }

    /// Tools of any catalogue, with or without a project.
    pub fn toolkit_for(
        &self,
        catalog: Catalog,
        pool: Pool,
        embedder: Option<Embedder>,
        index: Option<Arc<Index>>,
        context: Option<Context>,
    ) -> Result<Toolkit> {
        let vectors = match &embedder {
            Some(embedder) => {
                let texts: Vec<String> = catalog.specs().iter().map(prefilter::text_for_embedding).collect();
                Some(embedder.embed(&texts, &self.cancel).context("the tools could not be embedded")?)
            }
            None => None,
        };
        Ok(Toolkit {
            pool,
            prefilter: Arc::new(Prefilter::new(catalog.specs(), vectors)),
            embedder,
            catalog: Arc::new(catalog),
            index,
            context,
            tools_offered: self.config.tools_offered,
            orchestrate: self.config.orchestrate,
            cancel: self.cancel.clone(),
            meter: Meter::start(),
        })
    }

    /// A conversation on the project, recorded in its journal.
    pub fn session(&self, toolkit: Toolkit) -> Result<Session> {
        Ok(Session::open(toolkit, Some(&database(&self.config.project)), self.config.approve)?)
    }
}
