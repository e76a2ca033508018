//! Lends models by role: loads them on first use, unloads idle ones to free memory or when their keep-alive expires.

mod active;
mod control;
mod error;
mod evict;
mod fitting;
mod keeper;
mod load;
mod release;
mod resident;
mod see;
pub mod shape;
mod weights;

use crate::base::lock;
use std::collections::HashMap;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, mpsc};
use std::time::Instant;

use super::prefix::PrefixStore;
use super::request::EngineError;
use super::sampler::Manner;
use super::scripted::Script;
use super::trial::Trial;
use crate::base::Bytes;
use crate::budget::Ledger;
use crate::budget::permit::Permit;
use crate::models::dialect::Dialect;
use crate::models::{Endpoint, ModelCapability, ModelSpec, Registry, Role, RoleWishes, Tier};
use crate::models::{Exact, FlashAttention, Think};

pub use active::Active;
pub use control::Forecast;
pub use error::PoolError;
pub use load::Progress;
pub use resident::Loading;
use resident::{Model, Resident};

/// A model on loan, with everything that a caller needs to use it. Cheap to clone. Hold it for one
/// call only, because a model on loan is never unloaded.
#[derive(Clone)]
pub struct Leased {
    /// The role it was requested for.
    pub role: Role,
    model: Arc<Model>,
}

impl Deref for Leased {
    type Target = Model;

    fn deref(&self) -> &Model {
        &self.model
    }
}

impl Drop for Leased {
    fn drop(&mut self) {
        *lock(&self.model.used) = Instant::now();
    }
}

#[derive(Clone, Debug, Default)]
pub struct PoolOptions {
    /// Tries a file in another process before it is loaded here; with `None`, it is loaded at once.
    pub trial: Option<Trial>,
    pub threads: usize,
    /// Slots per model, unless models.toml asks for fewer.
    pub slots: usize,
    pub flash: FlashAttention,
    pub tool_call_format: Option<String>,
    /// Maximum number of model files in memory at once; `None` if only memory limits them.
    pub max_loaded: Option<usize>,
    /// Whether matrices may be copied into the layout that the CPU kernels read fastest.
    pub repack: bool,
    pub exact: Exact,
    /// Maximum number of tokens per picture; `None` for
    /// [`sight::TOKENS`](crate::budget::sight::TOKENS).
    pub image_tokens: Option<u32>,
    pub memory: EngineMemory,
}

/// Limits and folders for data that outlives a loaded model.
#[derive(Clone, Debug, Default)]
pub struct EngineMemory {
    /// Copies of sequences that left their slots.
    pub prefixes: Option<PrefixStore>,
    /// Folder for the verdicts on shared and split calls, per model on this machine.
    pub verdicts: Option<PathBuf>,
    /// Folder for probe results.
    pub capabilities: Option<PathBuf>,
}

/// Handle to all models of a run. Clones share it.
#[derive(Clone)]
pub struct Pool {
    inner: Arc<Inner>,
}

struct Inner {
    /// `None` if only models that are resident from the start can be leased by role.
    registry: Option<Registry>,
    ledger: Ledger,
    permit: Permit,
    /// For models that run entirely on the accelerator: they do not wait for those on the CPU.
    accelerator: Permit,
    options: PoolOptions,
    /// Locked only briefly, so that listing the models in memory never waits for a load.
    resident: Mutex<Resident>,
    /// Locked during a load or unload, because the memory left for a second load depends on the
    /// first one.
    changing: Mutex<()>,
    /// Wakes the keep-alive thread, which is started at the first load.
    keeper: OnceLock<mpsc::Sender<()>>,
}

impl Pool {
    pub fn new(registry: Registry, ledger: Ledger, permit: Permit, options: PoolOptions) -> Pool {
        Pool::with(Some(registry), ledger, permit, options, Resident::default())
    }

    /// A pool without roles: see [`Pool::open_alone`].
    pub fn alone(ledger: Ledger, permit: Permit, options: PoolOptions) -> Pool {
        Pool::with(None, ledger, permit, options, Resident::default())
    }

    /// A pool of scripted models, for tests of behaviour.
    pub fn scripted(scripts: Vec<(Role, Script)>, dialect: Arc<Dialect>) -> Result<Pool, EngineError> {
        let permit = Permit::new();
        let mut fixed = HashMap::new();
        for (role, script) in scripts {
            let (said, capability) = match script.capable {
                Some(false) => (true, ModelCapability::weak()),
                capable => (capable.is_some(), ModelCapability::capable(script.context)),
            };
            let (measured, speed) = (script.measured.clone(), script.speed);
            let engine = script.engine(permit.clone())?;
            let (dialect, used) = (dialect.clone(), Mutex::new(Instant::now()));
            let model = Model {
                engine,
                dialect,
                capability,
                said,
                measured,
                manner: Manner::greedy(),
                think: Think::default(),
                last_words: "",
                speed,
                parameters: 0,
                rung: None,
                used,
            };
            fixed.insert(role, Arc::new(model));
        }
        let options = PoolOptions { threads: 1, slots: 2, ..PoolOptions::default() };
        let resident = Resident { fixed, ..Resident::default() };
        Ok(Pool::with(None, Ledger::new(Bytes::ZERO), permit, options, resident))
    }

    fn with(
        registry: Option<Registry>,
        ledger: Ledger,
        permit: Permit,
        options: PoolOptions,
        resident: Resident,
    ) -> Pool {
        let (resident, changing, keeper) = (Mutex::new(resident), Mutex::default(), OnceLock::new());
        let accelerator = Permit::new();
        let inner = Inner { registry, ledger, permit, accelerator, options, resident, changing, keeper };
        Pool { inner: Arc::new(inner) }
    }

    /// The model of `role`, if it is loaded.
    pub fn resident(&self, role: Role) -> Option<Leased> {
        self.inner.resident().of(role)
    }

    /// The model of `role`, loaded if necessary. Blocks during the load.
    pub fn lease(
        &self,
        role: Role,
        progress: impl FnMut(&str, f32) -> bool + Send + 'static,
    ) -> Result<Leased, PoolError> {
        let _changing = self.inner.change();
        self.inner.lease(role, Box::new(progress))
    }

    /// Loads a model file without a role, for benchmarks and checks, with the `slots` and `context` of `spec`.
    pub fn open_alone(
        &self,
        spec: &ModelSpec,
        progress: impl FnMut(&str, f32) -> bool + Send + 'static,
    ) -> Result<Leased, PoolError> {
        let _changing = self.inner.change();
        let key = self.inner.load(self.inner.need(spec)?, Box::new(progress))?;
        self.inner.lend(spec.role, &key)
    }

    /// The models in memory now. Never waits for a load.
    pub fn active(&self) -> Vec<Active> {
        self.inner.resident().active()
    }

    pub fn ledger(&self) -> &Ledger {
        &self.inner.ledger
    }

    /// Host memory on the ledger that does not belong to models of this pool, by label.
    pub fn others(&self) -> Vec<(String, Bytes)> {
        self.inner.others()
    }

    /// Paths of the model files found by the registry.
    pub fn files(&self) -> Vec<PathBuf> {
        let files = self.inner.registry.as_ref().map(|registry| registry.files.as_slice()).unwrap_or_default();
        files.iter().map(|file| file.path.clone()).collect()
    }

    /// Folder for probe results.
    pub fn capabilities(&self) -> Option<&PathBuf> {
        self.inner.options.memory.capabilities.as_ref()
    }

    /// The tier that models.toml sets for the model of `role`.
    pub fn tier_of(&self, role: Role) -> Option<Tier> {
        self.inner.spec(role).ok()?.tier
    }

    /// The model file of `role`, loaded or not.
    pub fn file_of(&self, role: Role) -> Option<PathBuf> {
        self.inner.spec(role).ok().map(|spec| spec.path)
    }

    /// Whether `role` has its own model; otherwise the planner does its work.
    pub fn plays(&self, role: Role) -> bool {
        let is_fixed = self.inner.resident().fixed.contains_key(&role);
        is_fixed || self.inner.registry.as_ref().is_some_and(|registry| registry.plays(role))
    }

    /// The server for `role`, unless a swap assigned a file to the role.
    pub fn endpoint(&self, role: Role) -> Result<Option<Endpoint>, PoolError> {
        let Some(registry) = &self.inner.registry else { return Ok(None) };
        let swapped = self.inner.resident().assigned.contains_key(&role);
        Ok(registry.endpoint(role)?.filter(|_| !swapped).cloned())
    }

    /// The preferences for `role`'s model, from the settings and models.toml; they apply to any
    /// model in that role.
    pub fn wishes(&self, role: Role) -> RoleWishes {
        self.inner.registry.as_ref().map(|registry| registry.wishes(role)).unwrap_or_default()
    }

    /// The load in progress, if any.
    pub fn loading(&self) -> Option<Loading> {
        self.inner.resident().loading.clone()
    }
}

impl Inner {
    /// Each change is a single step, so a poisoned lock is ignored.
    fn resident(&self) -> MutexGuard<'_, Resident> {
        lock(&self.resident)
    }

    fn change(&self) -> MutexGuard<'_, ()> {
        lock(&self.changing)
    }

    fn lease(self: &Arc<Inner>, role: Role, progress: Progress) -> Result<Leased, PoolError> {
        if let Some(leased) = self.resident().of(role) {
            return Ok(leased);
        }
        let spec = self.spec(role)?;
        let key = match self.need(&spec).and_then(|need| self.load(need, progress)) {
            Err(error @ (PoolError::Memory { .. } | PoolError::Full { .. })) if role != Role::Planner => {
                let planner = self.key_of(Role::Planner).ok_or(error)?;
                tracing::warn!("the {role} does not fit into memory with the planner, which plays both roles");
                planner
            }
            loaded => loaded?,
        };
        self.resident().assign(role, &key);
        self.lend(role, &key)
    }

    fn lend(&self, role: Role, key: &resident::Key) -> Result<Leased, PoolError> {
        let resident = self.resident();
        // A model that is not yet on loan may be unloaded between its load and this call.
        let entry = resident
            .find(key)
            .ok_or_else(|| PoolError::NotLoaded { name: resident::file_name(&key.path), there: resident.told() })?;
        Ok(Leased { role, model: entry.model.clone() })
    }

    fn key_of(&self, role: Role) -> Option<resident::Key> {
        self.resident().entries.iter().find(|entry| entry.roles.contains(&role)).map(|entry| entry.key.clone())
    }

    /// The model of `role`: the one assigned by a swap, otherwise the one in models.toml, verified.
    fn spec(&self, role: Role) -> Result<ModelSpec, PoolError> {
        let assigned = self.resident().assigned.get(&role).cloned();
        match assigned {
            Some(assigned) => Ok(assigned),
            None => Ok(self.registered(role)?.get(role)?.clone()),
        }
    }

    /// The same without verifying its checksum, which may take long.
    fn chosen(&self, role: Role) -> Result<ModelSpec, PoolError> {
        let assigned = self.resident().assigned.get(&role).cloned();
        match assigned {
            Some(assigned) => Ok(assigned),
            None => Ok(self.registered(role)?.chosen(role)?.clone()),
        }
    }

    fn registered(&self, role: Role) -> Result<&Registry, PoolError> {
        self.registry.as_ref().ok_or_else(|| PoolError::Absent(role.to_string()))
    }
}
