//! Lends models by role: loads one when it is first needed, gives up idle ones when memory is short or their time is up.

mod active;
mod control;
mod error;
mod evict;
mod fitting;
mod keeper;
mod load;
mod release;
mod resident;
pub mod shape;
mod usage;
mod weights;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};

use super::handle::Engine;
use super::prefix::PrefixStore;
use super::request::EngineError;
use super::scripted::Script;
use crate::base::Bytes;
use crate::budget::Ledger;
use crate::budget::permit::Permit;
use crate::models::dialect::Dialect;
use crate::models::{Measured, ModelCapability, ModelSpec, Registry, Role, Tier};

pub use active::Active;
pub use control::Forecast;
pub use error::PoolError;
pub use load::Progress;
pub use resident::Loading;
use resident::{Model, Resident};
use usage::Usage;

/// A model on loan, with all that a caller needs to speak to it. Cheap to clone; hold it for one call, not longer: a
/// model on loan is never given up.
#[derive(Clone)]
pub struct Leased {
    /// What it was asked for.
    pub role: Role,
    pub engine: Engine,
    pub dialect: Arc<dyn Dialect>,
    pub capability: ModelCapability,
    /// The capability is what the user has said; nothing measured counts against that.
    pub said: bool,
    /// What the probe found, if this file was probed before it was loaded.
    pub measured: Option<Measured>,
    /// What was given up for it to fit, in words; `None` if nothing was.
    pub rung: Option<String>,
    _loan: usage::Loan,
}

#[derive(Clone, Debug)]
pub struct PoolOptions {
    pub threads: usize,
    /// Slots a model when models.toml does not ask for fewer.
    pub slots: usize,
    pub tool_call_format: Option<String>,
    /// Model files in memory at once; `None` leaves it to the memory.
    pub max_loaded: Option<usize>,
    /// Matrices may be copied into the order that the CPU code likes best.
    pub repack: bool,
    pub memory: EngineMemory,
}

/// What engines remember beyond their own life.
#[derive(Clone, Debug, Default)]
pub struct EngineMemory {
    /// Copies of sequences that left their slots.
    pub prefixes: Option<PrefixStore>,
    /// Folder of what is known of each model on this machine.
    pub verdicts: Option<PathBuf>,
    /// Folder of what the probe found.
    pub capabilities: Option<PathBuf>,
}

/// Handle to all models of a run. Clones share it.
#[derive(Clone)]
pub struct Pool {
    inner: Arc<Inner>,
}

struct Inner {
    /// Without one, only what is resident from the start can be leased.
    registry: Option<Registry>,
    ledger: Ledger,
    permit: Permit,
    options: PoolOptions,
    /// Held for moments only, so that whoever asks what is in memory never waits for a load.
    resident: Mutex<Resident>,
    /// One change at a time: what a second load may use depends on what the first takes.
    changing: Mutex<()>,
    /// Wakes the thread that unloads models whose time is up; there is none before the first load.
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
    pub fn scripted(scripts: Vec<(Role, Script)>, dialect: Arc<dyn Dialect>) -> Result<Pool, EngineError> {
        let permit = Permit::new();
        let mut fixed = HashMap::new();
        for (role, script) in scripts {
            let (said, capability) = match script.capable {
                Some(false) => (true, ModelCapability::weak()),
                capable => (capable.is_some(), ModelCapability::capable(script.context)),
            };
            let measured = script.measured.clone();
            let engine = script.engine(permit.clone())?;
            let (dialect, usage) = (dialect.clone(), Usage::new());
            fixed.insert(role, Model { engine, dialect, capability, said, measured, rung: None, usage });
        }
        let memory = EngineMemory::default();
        let options =
            PoolOptions { threads: 1, slots: 2, tool_call_format: None, max_loaded: None, repack: false, memory };
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
        Pool { inner: Arc::new(Inner { registry, ledger, permit, options, resident, changing, keeper }) }
    }

    /// The model of `role` if it is loaded.
    pub fn resident(&self, role: Role) -> Option<Leased> {
        self.inner.resident().of(role)
    }

    /// The model of `role`, loaded if it is not yet. Blocks for as long as the load takes.
    pub fn lease(
        &self,
        role: Role,
        progress: impl FnMut(&str, f32) -> bool + Send + 'static,
    ) -> Result<Leased, PoolError> {
        let _changing = self.inner.change();
        self.inner.lease(role, Box::new(progress))
    }

    /// A model file on its own, for benchmarks and checks: `slots` and `context` as given.
    pub fn open_alone(
        &self,
        spec: &ModelSpec,
        progress: impl FnMut(&str, f32) -> bool + Send + 'static,
    ) -> Result<Leased, PoolError> {
        let _changing = self.inner.change();
        let key = self.inner.load(spec, None, Box::new(progress))?;
        self.inner.lend(spec.role, &key)
    }

    /// What is in memory now. Never waits for a load.
    pub fn active(&self) -> Vec<Active> {
        self.inner.resident().active()
    }

    pub fn ledger(&self) -> &Ledger {
        &self.inner.ledger
    }

    /// What the ledger holds that no model of this pool does.
    pub fn others(&self) -> Vec<(String, Bytes)> {
        self.inner.others()
    }

    /// The model files at hand.
    pub fn files(&self) -> Vec<PathBuf> {
        let files = self.inner.registry.as_ref().map(Registry::files).unwrap_or_default();
        files.iter().map(|file| file.path.clone()).collect()
    }

    /// Where what the probe finds is kept.
    pub fn capabilities(&self) -> Option<&PathBuf> {
        self.inner.options.memory.capabilities.as_ref()
    }

    /// How far the model of `role` goes by itself, as models.toml says.
    pub fn tier_of(&self, role: Role) -> Option<Tier> {
        self.inner.spec(role).ok()?.tier
    }

    /// The file that plays `role`, loaded or not.
    pub fn file_of(&self, role: Role) -> Option<PathBuf> {
        self.inner.spec(role).ok().map(|spec| spec.path)
    }

    /// The load that is under way.
    pub fn loading(&self) -> Option<Loading> {
        self.inner.resident().loading.clone()
    }
}

impl Inner {
    /// A poisoned lock still guards the truth: what is behind it is changed in single steps.
    fn resident(&self) -> MutexGuard<'_, Resident> {
        self.resident.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lease(self: &Arc<Inner>, role: Role, progress: Progress) -> Result<Leased, PoolError> {
        if let Some(leased) = self.resident().of(role) {
            return Ok(leased);
        }
        let spec = self.spec(role)?;
        // The planner is never given up for the router, which it can play; else they would take turns in memory.
        let spare = (role == Role::Router).then_some(Role::Planner);
        let key = match self.load(&spec, spare, progress) {
            Err(error @ (PoolError::Memory { .. } | PoolError::Full { .. })) if role == Role::Router => {
                let planner = self.key_of(Role::Planner).ok_or(error)?;
                tracing::warn!("the router does not fit beside the planner, which plays both");
                planner
            }
            loaded => loaded?,
        };
        self.resident().assign(role, &key);
        self.lend(role, &key)
    }

    fn lend(&self, role: Role, key: &resident::Key) -> Result<Leased, PoolError> {
        let resident = self.resident();
        // A model that nobody has asked for yet may be given up between its load and this.
        let entry = resident
            .find(key)
            .ok_or_else(|| PoolError::NotLoaded { name: resident::file_name(&key.path), there: resident.told() })?;
        Ok(entry.model.lend(role))
    }

    fn key_of(&self, role: Role) -> Option<resident::Key> {
        self.resident().entries.iter().find(|entry| entry.roles.contains(&role)).map(|entry| entry.key.clone())
    }

    /// What plays `role`: what a swap gave it, else what models.toml says.
    fn spec(&self, role: Role) -> Result<ModelSpec, PoolError> {
        if let Some(assigned) = self.resident().assigned.get(&role) {
            return Ok(assigned.clone());
        }
        let registry = self.registry.as_ref().ok_or_else(|| PoolError::Absent(role.to_string()))?;
        Ok(registry.get(role)?.clone())
    }
}
