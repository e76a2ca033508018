//! `App` opens every layer once, bottom to top, and gives access to each; it contains no
//! user-interface code.

mod embedder;
mod fit;
mod past;
mod reranker;
mod shared;
mod toolkit;

use crate::base::lock;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use anyhow::{Context as _, Result};
pub use fit::{FitRequest, instead};
pub use past::{Back, CheckpointRow, Went};
pub use shared::{SharedModels, without_vectors};

use crate::agent::private_names::Names;
use crate::agent::{Remotes, Toolkit};
use crate::base::{Bytes, Cancel, state, trial};
use crate::budget::estimate::PROCESS;
use crate::budget::machine::Machine;
use crate::budget::permit::Permit;
use crate::budget::watch::Watch;
use crate::budget::{Lease, Ledger, device};
use crate::checkpoint::Lock;
use crate::config::Config;
use crate::embed::Embedder;
use crate::engine::llama::{Weights, devices};
use crate::engine::pool::{EngineMemory, Pool, PoolOptions};
use crate::engine::prefix::{Disk, PrefixStore};
use crate::engine::trial::Trial;
use crate::index::{Index, Progress};
use crate::measure::fit::alternatives;
use crate::models::gguf::Header;
use crate::models::{Registry, Role, places};
use crate::session::{self, Rewinder, Session};
use crate::tools::confine::Root;
use crate::tools::mcp::Servers;
use crate::tools::policy::{Policy, Rules};
use crate::tools::{Catalog, Prefilter, sandbox};

/// Interval between checks of the machine's free memory.
const WATCH_EVERY: Duration = Duration::from_secs(2);

/// Maximum host memory for KV-cache copies of sequences that lost their slots: about 40,000 tokens
/// of SmolLM2.
const COPIES_MAX: Bytes = Bytes::mib(512);

/// Maximum disk space for the KV caches of fixed preambles, for all models combined.
const PREAMBLES_MAX: Bytes = Bytes::mib(256);

/// The project's database: its index and the lessons learned in it.
pub fn database(project: &Path) -> PathBuf {
    state::folder(project).join("monobloc.db")
}

/// The project's journal: every request, call, decision and result.
pub fn journal(project: &Path) -> PathBuf {
    state::folder(project).join("journal.ndjson")
}

/// Everything below the user interface. Clones share the ledger and the compute permit.
#[derive(Clone)]
pub struct App {
    pub config: Config,
    pub cancel: Cancel,
    ledger: Ledger,
    permit: Permit,
    rules: Rules,
    servers: Servers,
    /// Servers of the other projects in this process.
    others: Arc<Mutex<Vec<Servers>>>,
    /// The tools, and notes about missing ones. Created on first use, because that may start
    /// servers.
    catalog: Arc<OnceLock<(Catalog, Vec<String>)>>,
    /// Finds personal names with the router. Created the first time names are masked.
    names: Arc<OnceLock<Arc<Names>>>,
    /// The servers that fill roles.
    remotes: Remotes,
    /// The model that scores hits of searches.
    reranker: Arc<reranker::Shared>,
    /// The memory of the index, as last measured.
    indexed: Arc<Mutex<Option<Lease>>>,
    /// Tries model files before they are loaded; `None` if this process does not run the program
    /// itself.
    trial: Option<Trial>,
    /// The memory of the program itself, without models.
    _process: Option<Arc<Lease>>,
}

impl App {
    /// Determines the available memory, without loading or starting anything. A rule that fails its
    /// own examples is an error.
    pub fn open(mut config: Config, cancel: Cancel) -> Result<App> {
        let ledger = Ledger::of(fit::machine_of(&config, None).unwrap_or_else(|_| Machine::of(Bytes::gib(4))));
        // If not even this fits, no model does; the first load then reports that.
        let process = ledger.reserve("process", PROCESS).ok().map(|reservation| Arc::new(reservation.commit(PROCESS)));
        let rules = Rules::compile(&config.rules)?;
        config.commands.hidden = rules.hidden(&config.project);
        let servers = shared::servers_of(&config);
        Ok(App {
            config,
            cancel,
            ledger,
            permit: Permit::new(),
            rules,
            servers,
            others: Arc::default(),
            catalog: Arc::default(),
            names: Arc::default(),
            remotes: Remotes::default(),
            reranker: Arc::default(),
            indexed: Arc::default(),
            trial: None,
            _process: process,
        })
    }

    /// A future that adapts the ledger to the machine's free memory every two seconds; it never
    /// ends.
    pub fn watch(&self) -> impl Future<Output = ()> + Send + 'static {
        let (ledger, budget) = (self.ledger.clone(), self.config.budget);
        let accelerator = ledger.machine().accelerator;
        let total = device::host().map_or(Bytes::gib(4), |host| host.total);
        // A configured budget limits the accelerator if there is one, otherwise the host.
        let mut watch = Watch::new(budget.filter(|_| accelerator.is_none()).unwrap_or(total));
        let mut watch_device = accelerator.map(|one| Watch::new(budget.unwrap_or(one.total)));
        async move {
            loop {
                tokio::time::sleep(WATCH_EVERY).await;
                watch.poll(&ledger);
                if let (Some(watch), Some(now)) = (&mut watch_device, devices::accelerator()) {
                    watch.poll_device(&ledger, now.free);
                }
            }
        }
    }

    /// The same app with another cancel flag, for one request of a conversation.
    pub fn until(&self, cancel: Cancel) -> App {
        App { cancel, ..self.clone() }
    }

    /// The same app for turns that run without a waiting user.
    pub fn in_background(&self) -> App {
        let turn_time = self.config.turn_time.in_background();
        App { config: Config { turn_time, ..self.config.clone() }, ..self.clone() }
    }

    /// The same app, trying model files in processes of `program`, its own executable.
    pub fn tried_by(self, program: PathBuf) -> App {
        App { trial: Some(Trial { program, folder: capabilities() }), ..self }
    }

    /// Tests whether llama.cpp can load a file: in another process, or `here`, which may crash this
    /// one.
    pub fn check_model(&self, header: &Header, here: bool) -> Result<()> {
        if here && let Err(error) = sandbox::limit_self(TRIAL_BYTES_MAX, TRIAL_CPU_MAX) {
            tracing::debug!("the trial of {} is not limited: {error}", header.path.display());
        }
        Ok(match self.trial.as_ref().filter(|_| !here) {
            Some(trial) => trial.again(header, &mut || !self.cancel.is_cancelled()),
            None => Weights::rehearse(header),
        }?)
    }

    /// The same app for another project folder.
    pub fn on(&self, project: &Path) -> App {
        App { config: Config { project: project.to_owned(), ..self.config.clone() }, ..self.clone() }
    }

    /// The servers that fill roles in this process.
    pub fn remotes(&self) -> &Remotes {
        &self.remotes
    }

    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The models of the roles, with the embedder of the project's index. Reads only file headers,
    /// and once the whole of an embedder that may be the one of the index.
    fn registry_as_chosen(&self) -> Result<Registry> {
        let mut registry = Registry::open(&self.config)?;
        self.keep_embedder(&mut registry);
        Ok(registry)
    }

    /// The available models. If the preferred planner does not fit into memory, the best one that
    /// does replaces it. Reads only file headers.
    pub fn registry(&self) -> Result<Registry> {
        let mut registry = self.registry_as_chosen()?;
        let all = alternatives(&registry, Role::Planner);
        let is_away = !matches!(registry.endpoint(Role::Planner), Ok(None));
        if all.is_empty() || is_away || registry.is_named(Role::Planner) {
            return Ok(registry);
        }
        let (report, refused) = self.fit_roles(&registry)?;
        let placed = report.models.iter().find(|model| model.role == Role::Planner.to_string() && refused.is_none());
        if let Some(header) = placed.and_then(|placed| all.iter().find(|header| header.path == placed.file)) {
            registry.plan_with(header, report.budget_bytes)?;
        }
        Ok(registry)
    }

    /// The models of a registry, each loaded on first use.
    pub fn pool(&self, registry: Registry) -> Pool {
        Pool::new(registry, self.ledger.clone(), self.permit.clone(), self.pool_options(true))
    }

    /// Benchmarks store no `preambles` on disk, because these would make a rerun faster.
    fn pool_options(&self, preambles: bool) -> PoolOptions {
        PoolOptions {
            threads: self.threads(),
            slots: self.config.slots,
            flash: self.config.flash_attention,
            tool_call_format: self.config.tool_call_format.clone(),
            max_loaded: self.config.max_loaded,
            repack: self.config.repack,
            exact: self.config.exact,
            image_tokens: Some(self.config.image_tokens),
            memory: self.engine_memory(preambles),
            trial: self.trial.clone(),
        }
    }

    /// A pool without roles, for individual model files.
    pub fn empty_pool(&self) -> Pool {
        let all = self.pool_options(false);
        let options = PoolOptions { slots: usize::MAX, tool_call_format: None, max_loaded: None, ..all };
        Pool::alone(self.ledger.clone(), self.permit.clone(), options)
    }

    /// Limits and folder for data that outlives a loaded model.
    fn engine_memory(&self, preambles: bool) -> EngineMemory {
        let cache = places::cache_dir();
        let disk = preambles.then(|| Disk::open(cache.join("preambles"), PREAMBLES_MAX));
        EngineMemory {
            prefixes: Some(PrefixStore::new(self.ledger.clone(), COPIES_MAX, disk)),
            verdicts: Some(cache.join("verdicts")),
            capabilities: Some(capabilities()),
        }
    }

    /// Number of threads for inference: the configured maximum, or one per CPU.
    pub fn threads(&self) -> usize {
        match self.config.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }

    /// The project's index as stored on disk; [`App::refresh_for_turn`] brings it up to date.
    pub fn index(&self) -> Result<Index> {
        let index = Index::open(&self.config.project)?.hiding(self.config.commands.hidden.clone())?;
        Ok(index.judged_by(self.judges()))
    }

    /// Refreshes everything a request should wait for: full text, graph, and vectors if few are
    /// missing. Returns the number of texts that still have no vector.
    pub fn refresh_for_turn(
        &self,
        index: &Index,
        embedder: Option<&Embedder>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<usize> {
        index.refresh_lexical(progress, &self.cancel)?;
        let missing = self.refresh_vectors_for_turn(index, embedder, progress)?;
        let mut indexed = lock(&self.indexed);
        // The old entry is released first, because it accounts for the same memory.
        *indexed = None;
        *indexed = Some(self.ledger.hold("index", index.memory()));
        Ok(missing)
    }

    /// The built-in tools and those of the configured servers, with notes about missing ones.
    pub fn catalog(&self) -> &(Catalog, Vec<String>) {
        self.catalog.get_or_init(|| self.catalog_now())
    }

    fn catalog_now(&self) -> (Catalog, Vec<String>) {
        let (mut catalog, mut notes) = (Catalog::builtin(), Vec::new());
        for seen in self.servers.specs() {
            notes.extend(seen.notes);
            notes.extend(seen.tools.into_iter().filter_map(|spec| catalog.add(spec).err()).map(|no| no.to_string()));
        }
        (catalog, notes)
    }

    /// The new catalog if a running server has changed its tools since the last call, else `None`.
    pub fn changed_tools(&self, embedder: Option<&Embedder>) -> Result<Option<(Catalog, Prefilter)>> {
        if !self.servers.refreshed() {
            return Ok(None);
        }
        let catalog = self.catalog_now().0;
        let prefilter = self.prefilter(&catalog, embedder)?;
        Ok(Some((catalog, prefilter)))
    }

    fn prefilter(&self, catalog: &Catalog, embedder: Option<&Embedder>) -> Result<Prefilter> {
        Prefilter::embedded(catalog.specs(), embedder, &self.cancel).context("the tools could not be embedded")
    }

    pub fn servers(&self) -> &Servers {
        &self.servers
    }

    /// Which calls need consent: the approval mode, the user's rules, and whether commands can be
    /// confined.
    pub fn policy(&self) -> Policy {
        let policy = Policy::new(self.config.approve, self.rules.clone(), &self.config.project);
        policy.unconfined(sandbox::unconfined(&self.config.commands))
    }

    /// How commands are confined on this machine with these settings, in words.
    pub fn confinement(&self) -> String {
        sandbox::confinement(&self.config.commands)
    }

    /// Stops the servers of every project, which would otherwise outlive the program.
    pub fn end(&self) {
        self.servers.end();
        let others = std::mem::take(&mut *lock(&self.others));
        others.iter().for_each(Servers::end);
    }

    /// Stops the servers and ends the process at once, without waiting for a running model.
    pub fn exit(&self, code: i32) -> ! {
        self.end();
        exit(code)
    }

    /// Locks the project to undo changes, after finishing any work that a killed process left
    /// behind. `command` names the holder.
    pub fn rewinder(&self, command: &str) -> Result<Rewinder> {
        let project = self.project()?;
        Ok(Rewinder::open(command, &project, &database(&project), &journal(&project), &self.cancel)?)
    }

    /// Finishes work that a killed process left behind, unless another process is active. Returns
    /// messages about it.
    pub fn recover(&self) -> Result<Vec<String>> {
        let project = self.project()?;
        let mut notes = Vec::new();
        if trial::is_left(&project)
            && let Ok(Ok(_lock)) = Lock::try_take(&project, "monobloc")
        {
            let told =
                |path: &PathBuf| format!("{} was restored after the interrupted trial of a change", path.display());
            notes.extend(trial::take_back(&project).iter().map(told));
        }
        notes.extend(session::recover(&project, &database(&project), &journal(&project))?);
        Ok(notes)
    }

    /// The project's folder, with symbolic links resolved.
    pub fn project(&self) -> Result<PathBuf> {
        Ok(Root::open(&self.config.project)?.path().to_owned())
    }

    /// The reason nothing in the project can be changed; `None` if changes are possible.
    pub fn read_only(&self) -> Option<String> {
        state::read_only(&self.config.project)
    }

    /// Whether rules forbid reading a file. They do not apply to files outside the project.
    pub fn hides(&self, file: &Path) -> bool {
        let (Ok(project), Ok(file)) = (self.project(), file.canonicalize()) else { return false };
        file.strip_prefix(project).is_ok_and(|path| self.config.commands.hidden.hides(&path.to_string_lossy()))
    }

    /// A conversation about the project, recorded in its journal.
    pub fn session(&self, toolkit: Toolkit) -> Result<Session> {
        let mask = self.mask(|| Ok(toolkit.pool.clone()))?;
        Ok(Session::open(toolkit, Some(&journal(&self.config.project)), self.policy())?.masking(mask))
    }
}

/// The folder for measurements of model files: their capabilities and speeds.
fn capabilities() -> PathBuf {
    places::cache_dir().join("capability")
}

/// Limits for a process that tries a model file: it needs about 100 MiB and a second with a
/// vocabulary of 262,144 tokens.
const TRIAL_BYTES_MAX: Bytes = Bytes::gib(2);
const TRIAL_CPU_MAX: Duration = Duration::from_secs(120);

/// Immediately ends the process and the commands it started; trial changes are undone. Does not
/// wait for threads that are still freeing a model: an accelerator's libraries tear down their
/// state when a process ends normally, and abort it if a thread frees memory after that.
pub fn exit(code: i32) -> ! {
    trial::put_back_all();
    sandbox::end_all();
    crate::engine::llama::exit(code)
}
