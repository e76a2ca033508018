//! Opens every layer once, bottom to top, and lends it out. Knows no user interface.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::base::mask::Mask;
use crate::base::{Bytes, Cancel, Config, ConversationId};
use crate::budget::estimate::PROCESS;
use crate::budget::ladder::Asked;
use crate::budget::machine::{DeviceName, HEADROOM, Machine};
use crate::budget::permit::{Permit, Priority};
use crate::budget::watch::Watch;
use crate::budget::{HostMemory, Lease, Ledger, Refused, device};
use crate::embed::{self, Embedder};
use crate::engine::llama::devices;
use crate::engine::pool::{EngineMemory, Pool, PoolOptions};
use crate::engine::prefix::{Disk, PrefixStore};
use crate::index::{Index, Progress};
use crate::lessons::Lessons;
use crate::measure::{complete, fit};
use crate::models::{ModelSpec, Registry, Role, places, registry};
use crate::orchestrate::names::Names;
use crate::orchestrate::{Meter, Toolkit};
use crate::protocol::Mode;
use crate::session::{self, Rewinder, Session};
use crate::tools::confine::Root;
use crate::tools::mcp::Servers;
use crate::tools::policy::{Policy, Rules};
use crate::tools::{Catalog, Context, Prefilter, sandbox};

/// Time between two looks at the machine's free memory.
const WATCH_EVERY: Duration = Duration::from_secs(2);

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

/// Where a project keeps what was done in it.
pub fn journal(project: &Path) -> PathBuf {
    project.join(".monobloc").join("journal.ndjson")
}

/// What `monobloc fit` is asked.
#[derive(Clone, Debug, Default)]
pub struct FitRequest {
    /// Models to be loaded together; none means the roles of the registry.
    pub files: Vec<PathBuf>,
    /// The machine, as [`DeviceName`] reads it; `None` is this one.
    pub device: Option<String>,
    /// Tokens a slot and type of keys and values, for files; without a type, that of each.
    pub context: u32,
    pub kv_type: Option<String>,
    pub overhead: Option<Bytes>,
    pub activations: Option<Bytes>,
}

/// Everything below the user interface. Clones share ledger and permit.
#[derive(Clone)]
pub struct App {
    pub config: Config,
    pub cancel: Cancel,
    ledger: Ledger,
    permit: Permit,
    rules: Rules,
    servers: Servers,
    /// Made when first asked for: it may have to start servers.
    catalog: Arc<OnceLock<(Catalog, Vec<String>)>>,
    /// Made when names are first to be masked.
    names: Arc<OnceLock<Arc<Names>>>,
    /// The program's own part of the ledger.
    _process: Option<Arc<Lease>>,
}

impl App {
    /// Asks the machine how much memory there is; loads and starts nothing. A rule that fails its examples is an error.
    pub fn open(config: Config, cancel: Cancel) -> Result<App> {
        let free = device::host().map_or(Bytes::gib(4), |host| host.available.saturating_sub(HEADROOM));
        let ledger = Ledger::new(config.budget.unwrap_or(free));
        // A budget below this lets no model in anyway, and says so then.
        let process = ledger.reserve("process", PROCESS).ok().map(|reservation| Arc::new(reservation.commit(PROCESS)));
        let rules = Rules::compile(&config.rules)?;
        let servers =
            Servers::new(&config.servers, &config.commands, &config.project, &places::cache_dir().join("mcp"));
        Ok(App {
            config,
            cancel,
            ledger,
            permit: Permit::new(),
            rules,
            servers,
            catalog: Arc::default(),
            names: Arc::default(),
            _process: process,
        })
    }

    /// Follows the machine's free memory for as long as it is polled.
    pub fn watch(&self) -> impl Future<Output = ()> + Send + 'static {
        let total = device::host().map_or(Bytes::gib(4), |host| host.total);
        let mut watch = Watch::new(self.config.budget.unwrap_or(total));
        let ledger = self.ledger.clone();
        async move {
            loop {
                tokio::time::sleep(WATCH_EVERY).await;
                watch.poll(&ledger);
            }
        }
    }

    /// The same, ended by another flag: for one request of a conversation.
    pub fn until(&self, cancel: Cancel) -> App {
        App { cancel, ..self.clone() }
    }

    /// The same on another folder.
    pub fn on(&self, project: &Path) -> App {
        App { config: Config { project: project.to_owned(), ..self.config.clone() }, ..self.clone() }
    }

    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// What models there are; where the best planner does not fit into memory, the best that does plans. Reads headers only.
    pub fn registry(&self) -> Result<Registry> {
        let mut registry = Registry::open(&self.config)?;
        let all = fit::alternatives(&registry, Role::Planner);
        if all.is_empty() || registry.is_named(Role::Planner) {
            return Ok(registry);
        }
        let (report, refused) = self.fit_roles(&registry)?;
        let placed = report.models.iter().find(|model| model.role == Role::Planner.to_string() && refused.is_none());
        if let Some(header) = placed.and_then(|placed| all.iter().find(|header| header.path == placed.file)) {
            registry.plan_with(header, report.budget_bytes)?;
        }
        Ok(registry)
    }

    /// The models of a registry, each loaded when first needed.
    pub fn pool(&self, registry: Registry) -> Pool {
        Pool::new(registry, self.ledger.clone(), self.permit.clone(), self.pool_options())
    }

    fn pool_options(&self) -> PoolOptions {
        PoolOptions {
            threads: self.threads(),
            slots: self.config.slots,
            tool_call_format: self.config.tool_call_format.clone(),
            max_loaded: self.config.max_loaded,
            repack: self.config.repack,
            memory: self.engine_memory(true),
        }
    }

    /// A pool without roles, for model files named one by one.
    pub fn empty_pool(&self) -> Pool {
        let options = PoolOptions {
            threads: self.threads(),
            slots: usize::MAX,
            tool_call_format: None,
            max_loaded: None,
            repack: self.config.repack,
            memory: self.engine_memory(false),
        };
        Pool::alone(self.ledger.clone(), self.permit.clone(), options)
    }

    /// What engines keep beyond their own life; `preambles` on disk only where runs repeat, not in measurements.
    fn engine_memory(&self, preambles: bool) -> EngineMemory {
        let cache = places::cache_dir();
        let disk = preambles.then(|| Disk::open(cache.join("preambles"), PREAMBLES_MAX));
        EngineMemory {
            prefixes: Some(PrefixStore::new(self.ledger.clone(), COPIES_MAX, disk)),
            verdicts: Some(cache.join("verdicts")),
            capabilities: Some(capabilities()),
        }
    }

    /// Most threads for inference.
    pub fn threads(&self) -> usize {
        match self.config.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }

    /// The fingerprint of the registry's embedder, without loading it; `None` where there is none that can be used.
    pub fn embedder_fingerprint(&self, registry: &Registry) -> Option<String> {
        embed::fingerprint(&registry.embedder()?.path, &embed::Options::default()).ok()
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

    /// What the roles of `registry` would take on this machine.
    fn fit_roles(&self, registry: &Registry) -> Result<(fit::Report, Option<Refused>)> {
        let machine = self.machine(None)?;
        let given = fit::Given { embedder: self.embedder_bytes(registry), ..fit::Given::default() };
        Ok(fit::report(&self.roles_asked(registry)?, &given, &machine))
    }

    /// The machine that `device` names, within the budget; `None` is this one.
    fn machine(&self, device: Option<&str>) -> Result<Machine> {
        let device = device.map(str::parse::<DeviceName>).transpose()?;
        let machine = match (&device, self.config.budget) {
            // A budget without a size is a machine that has that much, whatever this one has.
            (None, Some(budget)) => Some(Machine::of(budget)),
            (Some(device), Some(budget)) if device.is_this_cpu() => Some(Machine::of(budget)),
            (Some(device), _) => device.machine(),
            (None, None) => Machine::here().map(|machine| {
                let available = machine.host.available.saturating_sub(HEADROOM);
                let host = HostMemory { available, ..machine.host };
                Machine { host, ..machine }.with(devices::accelerator())
            }),
        };
        let machine =
            machine.context("this system does not say how much memory it has; name --device cpu:16GiB, say")?;
        Ok(self.config.budget.map_or(machine, |budget| machine.limited_to(budget)))
    }

    /// A missing or damaged embedder takes nothing: search goes by words then.
    fn embedder_bytes(&self, registry: &Registry) -> Bytes {
        let plain = embed::Options { threads: self.threads(), ..embed::Options::default() };
        let embedder = registry.embedder().and_then(|spec| embed::memory(&spec.path, &plain).ok());
        embedder.unwrap_or(Bytes::ZERO)
    }

    /// What `request` would take; a refusal comes beside the report.
    pub fn fit(&self, request: &FitRequest) -> Result<(fit::Report, Option<Refused>)> {
        let machine = self.machine(request.device.as_deref())?;
        let mut given =
            fit::Given { embedder: Bytes::ZERO, overhead: request.overhead, activations: request.activations };
        let asked = match request.files.is_empty() {
            true => {
                let registry = Registry::open(&self.config)?;
                given.embedder = self.embedder_bytes(&registry);
                self.roles_asked(&registry)?
            }
            false => request.files.iter().map(|file| self.file_asked(file, request)).collect::<Result<_>>()?,
        };
        let (mut report, refused) = fit::report(&asked, &given, &machine);
        if request.device.is_none() {
            report.forecast(&capabilities());
        }
        Ok((report, refused))
    }

    /// How the model of `file` keeps keys and values: as asked, else as it would in a request.
    pub fn kv_type(&self, asked: Option<&str>, file: &Path) -> Result<String> {
        match asked {
            Some(asked) => Ok(asked.to_owned()),
            None => Ok(registry::kv_type(&self.config, file)?),
        }
    }

    /// On which rung each role would stand if it were loaded now, by its name; what does not fit says so.
    pub fn rungs(&self) -> Result<BTreeMap<String, String>> {
        let (report, _) = self.fit(&FitRequest::default())?;
        let left_out = report.left_out.into_iter().map(|name| (name, "left out: the planner plays it".to_owned()));
        Ok(report.models.into_iter().map(|model| (model.role, model.rung)).chain(left_out).collect())
    }

    /// The planner with what could replace it, and the router unless one file plays both.
    fn roles_asked(&self, registry: &Registry) -> Result<Vec<Asked>> {
        let planner = registry.get(Role::Planner)?.clone();
        let router = registry.get(Role::Router).ok().filter(|spec| spec.path != planner.path).cloned();
        // What the user named is what is meant.
        let others = match registry.is_named(Role::Planner) {
            true => Vec::new(),
            false => fit::alternatives(registry, Role::Planner),
        };
        let pool = Pool::alone(self.ledger.clone(), self.permit.clone(), self.pool_options());
        let mut candidates = vec![(planner.header.clone(), pool.wanted(&planner)?)];
        for header in others {
            let spec = ModelSpec { path: header.path.clone(), header, ..planner.clone() };
            candidates.push((spec.header.clone(), pool.wanted(&spec)?));
        }
        let on_host = |spec: &ModelSpec| spec.gpu_layers == Some(0);
        let mut asked =
            vec![Asked { name: Role::Planner.to_string(), candidates, on_host: on_host(&planner), optional: false }];
        if let Some(spec) = router {
            let candidates = vec![(spec.header.clone(), pool.wanted(&spec)?)];
            asked.push(Asked { name: Role::Router.to_string(), candidates, on_host: on_host(&spec), optional: true });
        }
        Ok(asked)
    }

    fn file_asked(&self, file: &Path, request: &FitRequest) -> Result<Asked> {
        let kv_type = self.kv_type(request.kv_type.as_deref(), file)?;
        let spec = complete::model(file, self.config.slots, request.context, &kv_type)?;
        let candidates = vec![(spec.header.clone(), self.empty_pool().wanted(&spec)?)];
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Asked { name, candidates, on_host: false, optional: false })
    }

    /// The project's index as it is on disk; see [`App::refresh`].
    pub fn index(&self) -> Result<Index> {
        Ok(Index::open(&self.config.project)?)
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

    /// The tools of the program and of the configured servers, with notes about what is not there.
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

    /// The tools as they are now, if a running server has changed its own since this was last asked.
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

    /// The configured servers.
    pub fn servers(&self) -> &Servers {
        &self.servers
    }

    /// What the user consented to beforehand.
    pub fn policy(&self) -> Policy {
        let policy = Policy::new(self.config.approve, self.rules.clone(), &self.config.project);
        policy.unconfined(sandbox::unconfined(&self.config.commands))
    }

    /// Ends what would outlive the program.
    pub fn end(&self) {
        self.servers.end();
    }

    /// Ends the process now, whatever runs.
    pub fn exit(&self, code: i32) -> ! {
        self.end();
        crate::engine::llama::exit(code)
    }

    /// Tools, models and index for turns on this project.
    pub fn toolkit(&self, pool: Pool, embedder: Option<Embedder>, index: Option<Index>) -> Result<Toolkit> {
        let root = Root::open(&self.config.project)?;
        let index = index.map(Arc::new);
        let catalog = self.catalog().0.clone();
        let lessons = if self.config.learn { Some(Arc::new(self.lessons_with(|| Ok(pool.clone()))?)) } else { None };
        let context = Context {
            lessons,
            index: index.clone(),
            embedder: embedder.clone(),
            servers: Some(self.servers.clone()),
            commands: Arc::new(self.config.commands.clone()),
            ..Context::new(root, self.cancel.clone())
        };
        self.toolkit_for(catalog, pool, embedder, index, Some(context))
    }

    /// The built-in tools for a project, with its index if it has one.
    pub fn toolkit_of_project(&self, pool: Pool, embedder: Option<Embedder>) -> Result<Toolkit> {
        let root = Root::open(&self.config.project)?;
        let is_indexed = self.config.project.join(".monobloc").is_dir();
        let index = if is_indexed { Some(Arc::new(self.index()?)) } else { None };
        let context = Context { index: index.clone(), ..Context::new(root, self.cancel.clone()) };
        self.toolkit_for(Catalog::builtin(), pool, embedder, index, Some(context))
    }

    /// What was learned in the project.
    pub fn lessons(&self) -> Result<Lessons> {
        self.lessons_with(|| Ok(self.pool(self.registry()?)))
    }

    fn lessons_with(&self, pool: impl FnOnce() -> Result<Pool>) -> Result<Lessons> {
        Ok(Lessons::open(&database(&self.project()?))?.masking(self.mask(pool)?))
    }

    /// What is masked before it is written down. One judge for everything, because it remembers.
    fn mask(&self, pool: impl FnOnce() -> Result<Pool>) -> Result<Mask> {
        match (self.config.mask_names, self.config.mask_private, self.names.get()) {
            (true, _, Some(names)) => Ok(Mask::Names(names.clone())),
            (true, _, None) => {
                let names = Arc::new(Names::new(pool()?, self.cancel.clone()));
                Ok(Mask::Names(self.names.get_or_init(|| names).clone()))
            }
            (false, true, _) => Ok(Mask::Forms),
            (false, false, _) => Ok(Mask::Nothing),
        }
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
        Ok(Toolkit {
            pool,
            prefilter: Arc::new(self.prefilter(&catalog, embedder.as_ref())?),
            embedder,
            catalog: Arc::new(catalog),
            index,
            context,
            tools_offered: self.config.tools_offered,
            orchestrate: self.config.orchestrate,
            iterations_max: self.config.iterations_max,
            mode: Mode::Agent,
            cognitive: self.config.cognitive,
            given: Vec::new(),
            conversation: ConversationId::fresh(),
            earlier: Vec::new(),
            cancel: self.cancel.clone(),
            meter: Meter::start(),
        })
    }

    /// The project held still, to be taken back; what a killed program had begun is finished first.
    pub fn rewinder(&self, command: &str) -> Result<Rewinder> {
        let project = self.project()?;
        Ok(Rewinder::open(command, &project, &database(&project), &journal(&project), &self.cancel)?)
    }

    /// Finishes what a killed program had begun, unless somebody is at work. Gives what was done, in words.
    pub fn recover(&self) -> Result<Vec<String>> {
        let project = self.project()?;
        Ok(session::recover(&project, &database(&project), &journal(&project))?)
    }

    /// The project's folder, without links in its path.
    pub fn project(&self) -> Result<PathBuf> {
        Ok(Root::open(&self.config.project)?.path().to_owned())
    }

    /// A conversation on the project, recorded in its journal.
    pub fn session(&self, toolkit: Toolkit) -> Result<Session> {
        let mask = self.mask(|| Ok(toolkit.pool.clone()))?;
        Ok(Session::open(toolkit, Some(&journal(&self.config.project)), self.policy())?.masking(mask))
    }
}

/// Where is kept what was measured of model files: what they can be trusted with, and how fast they are.
fn capabilities() -> PathBuf {
    places::cache_dir().join("capability")
}
