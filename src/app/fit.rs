//! Calculates the memory of models on this or another machine, for `monobloc fit` and for choosing a planner that
//! fits.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::{App, capabilities};
use crate::base::Bytes;
use crate::budget::ladder::{self, Asked};
use crate::budget::machine::{DeviceName, HEADROOM, Machine};
use crate::budget::{HostMemory, Refused};
use crate::config::Config;
use crate::embed;
use crate::engine::llama::devices;
use crate::engine::pool::Pool;
use crate::measure::{complete, fit};
use crate::models::manifest::Candidate;
use crate::models::{EmbedderSpec, ModelSpec, Registry, Role, projector, registry};

/// The input for `monobloc fit`.
#[derive(Clone, Debug, Default)]
pub struct FitRequest {
    /// Model files to load together; empty for the registry's roles.
    pub files: Vec<PathBuf>,
    /// The machine, in the notation of [`DeviceName`]; `None` means this one.
    pub device: Option<String>,
    /// Tokens per slot, for `files` only.
    pub context: u32,
    /// KV cache type, for `files` only; `None` means the type each file would get in a request.
    pub kv_type: Option<String>,
    /// See [`fit::Given::overhead`].
    pub overhead: Option<Bytes>,
    /// See [`fit::Given::activations`].
    pub activations: Option<Bytes>,
}

/// The machine that `device` names, within the budget of `config`; `None` means this one.
pub fn machine_of(config: &Config, device: Option<&str>) -> Result<Machine> {
    let device = device.map(str::parse::<DeviceName>).transpose()?;
    let here = |accelerator| {
        Machine::here().map(|machine| {
            let available = machine.host.available.saturating_sub(HEADROOM);
            let host = HostMemory { available, ..machine.host };
            Machine { host, ..machine }.with(accelerator)
        })
    };
    let machine = match (&device, config.budget, devices::accelerator()) {
        // A budget without a given size means a machine with exactly that much memory.
        (None, Some(budget), None) => Some(Machine::of(budget)),
        (Some(device), Some(budget), _) if device.is_this_cpu() => Some(Machine::of(budget)),
        (Some(device), ..) => device.machine(),
        (None, _, accelerator) => here(accelerator),
    };
    let machine =
        machine.context("the memory size of this system is unknown; set it, for example with --device cpu:16GiB")?;
    Ok(config.budget.map_or(machine, |budget| machine.limited_to(budget)))
}

/// The embedder's name in the list of omitted models.
pub(super) const EMBEDDER: &str = "embedder";
/// The re-ranker's name there, and on the ledger.
pub(super) const RERANKER: &str = "reranker";

/// The models next to re-ranker and embedder, or without the first, or without both, if they do not
/// fit then: search needs neither, but a request needs a planner.
fn with_what_fits(asked: &[Asked], given: &fit::Given, machine: &Machine) -> (fit::Report, Option<Refused>) {
    let (mut given, mut left_out) = (*given, Vec::new());
    loop {
        let (mut report, refused) = fit::report(asked, &given, machine);
        let next = [(RERANKER, &mut given.reranker), (EMBEDDER, &mut given.embedder)];
        let next = next.into_iter().find(|(_, bytes)| **bytes > Bytes::ZERO);
        match next.filter(|_| refused.is_some()) {
            Some((name, bytes)) => {
                *bytes = Bytes::ZERO;
                left_out.push(name.to_owned());
            }
            None => {
                report.left_out.extend(left_out);
                return (report, refused);
            }
        }
    }
}

/// The model of `spec` as a load would plan it, with the projector beside it.
fn candidate(pool: &Pool, spec: &ModelSpec) -> Result<ladder::Candidate> {
    Ok(ladder::Candidate { header: spec.header.clone(), wanted: pool.wanted(spec)?, eye: pool.eye(spec) })
}

/// How an omitted model's work is done instead.
pub fn instead(left_out: &str) -> &'static str {
    match left_out {
        EMBEDDER => "search uses words only",
        RERANKER => "hits stay in the order of the search",
        _ => "the planner plays it",
    }
}

impl App {
    /// Calculates the memory of the roles in `registry` on this machine.
    pub(super) fn fit_roles(&self, registry: &Registry) -> Result<(fit::Report, Option<Refused>)> {
        let machine = machine_of(&self.config, None)?;
        let (embedder, reranker) = (self.embedder_bytes(registry), self.reranker_bytes(registry));
        let given = fit::Given { embedder, reranker, ..fit::Given::default() };
        Ok(with_what_fits(&self.roles_asked(registry)?, &given, &machine))
    }

    /// The names of what is left out so that the planner fits; nothing if even that is not enough.
    pub(super) fn left_out(&self, registry: &Registry) -> Vec<String> {
        self.fit_roles(registry).map(|(report, _)| report.left_out).unwrap_or_default()
    }

    /// The memory of the embedder; 0 if it is on a server, missing or damaged, because search then
    /// works without it.
    fn embedder_bytes(&self, registry: &Registry) -> Bytes {
        if !matches!(registry.endpoint(Role::Embedder), Ok(None)) {
            return Bytes::ZERO;
        }
        let needed = |spec: &EmbedderSpec| embed::memory(&spec.path, &self.embedder_options(spec)).ok();
        registry.embedder().and_then(needed).unwrap_or(Bytes::ZERO)
    }

    /// Calculates the memory for `request`. If it does not fit, the refusal accompanies the report.
    pub fn fit(&self, request: &FitRequest) -> Result<(fit::Report, Option<Refused>)> {
        let machine = machine_of(&self.config, request.device.as_deref())?;
        let (overhead, activations) = (request.overhead, request.activations);
        let mut given = fit::Given { overhead, activations, ..fit::Given::default() };
        let mut servers = Vec::new();
        let asked = if request.files.is_empty() {
            let registry = self.registry_as_chosen()?;
            given.embedder = self.embedder_bytes(&registry);
            given.reranker = self.reranker_bytes(&registry);
            servers = registry.servers();
            self.roles_asked(&registry)?
        } else {
            request.files.iter().map(|file| self.file_asked(file, request)).collect::<Result<_>>()?
        };
        let (mut report, refused) = with_what_fits(&asked, &given, &machine);
        report.servers = servers;
        if request.device.is_none() {
            report.forecast(&capabilities());
        }
        Ok((report, refused))
    }

    /// Planners to download for a machine with this much memory, best first; without a figure, for
    /// this machine, whose memory is returned.
    pub fn suggest(&self, memory: Option<Bytes>) -> Result<(Bytes, Vec<Candidate>)> {
        let memory = memory.map_or_else(|| machine_of(&self.config, None).map(|machine| machine.main_memory()), Ok)?;
        Ok((memory, Registry::open(&self.config)?.suggest(memory)))
    }

    /// KV cache type for the model in `file`: `asked`, else the type that it would get in a
    /// request.
    pub fn kv_type(&self, asked: Option<&str>, file: &Path) -> Result<String> {
        match asked {
            Some(asked) => Ok(asked.to_owned()),
            None => Ok(registry::kv_type(&self.config, file)?),
        }
    }

    /// Whether this program was built for an accelerator and found none.
    pub fn lacks_accelerator(&self) -> bool {
        crate::base::ACCELERATED && self.ledger.machine().accelerator.is_none()
    }

    /// For each role, what its model would have to give up to fit if loaded now, or that it does
    /// not fit.
    pub fn rungs(&self) -> Result<BTreeMap<String, String>> {
        let (report, _) = self.fit(&FitRequest::default())?;
        let left_out = report.left_out.into_iter().map(|name| {
            let instead = instead(&name);
            (name, format!("left out: {instead}"))
        });
        Ok(report.models.into_iter().map(|model| (model.role, model.rung)).chain(left_out).collect())
    }

    /// The planner with its possible replacements, and the router unless it is the same file. A
    /// role on a server needs no memory here.
    fn roles_asked(&self, registry: &Registry) -> Result<Vec<Asked>> {
        let is_here = |role| matches!(registry.endpoint(role), Ok(None));
        let router = registry.get(Role::Router).ok().filter(|_| is_here(Role::Router)).cloned();
        if !is_here(Role::Planner) {
            return Ok(router.map(|spec| self.router_asked(&spec)).transpose()?.into_iter().collect());
        }
        let planner = registry.get(Role::Planner)?.clone();
        let router = router.filter(|spec| spec.path != planner.path);
        // A planner that the user named is not replaced.
        let others =
            if registry.is_named(Role::Planner) { Vec::new() } else { fit::alternatives(registry, Role::Planner) };
        let pool = self.pool(registry.clone());
        let mut candidates = vec![candidate(&pool, &planner)?];
        for header in others {
            let beside = projector::beside(&header, &registry.files);
            let spec = ModelSpec { path: header.path.clone(), header, beside, ..planner.clone() };
            candidates.push(candidate(&pool, &spec)?);
        }
        let (name, gpu_layers) = (Role::Planner.to_string(), planner.gpu_layers);
        let mut asked = vec![Asked { name, candidates, gpu_layers, optional: false }];
        asked.extend(router.map(|spec| self.router_asked(&spec)).transpose()?);
        Ok(asked)
    }

    fn router_asked(&self, spec: &ModelSpec) -> Result<Asked> {
        let pool = Pool::alone(self.ledger.clone(), self.permit.clone(), self.pool_options(true));
        let candidates = vec![candidate(&pool, spec)?];
        let (name, gpu_layers) = (Role::Router.to_string(), spec.gpu_layers);
        Ok(Asked { name, candidates, gpu_layers, optional: true })
    }

    fn file_asked(&self, file: &Path, request: &FitRequest) -> Result<Asked> {
        let kv_type = self.kv_type(request.kv_type.as_deref(), file)?;
        let mut spec = complete::model(file, self.config.slots, request.context, &kv_type)?;
        spec.beside = projector::beside(&spec.header, &[]);
        let candidates = vec![candidate(&self.empty_pool(), &spec)?];
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Asked { name, candidates, gpu_layers: None, optional: false })
    }
}
