//! The list of models in memory: contexts, their roles, and their users.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use super::evict::Holder;
use super::weights::Held;
use super::{Leased, PoolError};
use crate::base::{Bytes, lock};
use crate::budget::place::Footprint;
use crate::budget::{Amount, Estimate, Lease, LoadSettings};
use crate::engine::Manner;
use crate::engine::handle::Engine;
use crate::engine::llama::Shape;
use crate::models::Think;
use crate::models::dialect::Dialect;
use crate::models::speed::Speed;
use crate::models::{Measured, ModelCapability, ModelSpec, Role};

/// Identifies a context, which is shared by all callers that request the same file, settings and
/// adapters.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    pub path: PathBuf,
    pub shape: Shape,
    pub lora: Vec<(PathBuf, f32)>,
}

/// A running model with everything needed to lend it.
pub struct Model {
    pub engine: Engine,
    pub dialect: Arc<Dialect>,
    pub capability: ModelCapability,
    /// Whether the user declared the capability, which then overrides the measured one.
    pub said: bool,
    /// The probe result, if this file was probed before it was loaded.
    pub measured: Option<Measured>,
    /// Sampling settings for its free text.
    pub manner: Manner,
    /// How much it thinks, and the last words of a thought that is cut short.
    pub think: Think,
    pub last_words: &'static str,
    /// Its reading and writing speed, if measured on this machine before it was loaded.
    pub speed: Option<Speed>,
    /// Number of its parameters according to the file's header; 0 for a scripted model.
    pub parameters: u64,
    /// The settings reduced to make it fit, in words; `None` if there are none.
    pub rung: Option<String>,
    /// When the last loan ended.
    pub(super) used: Mutex<Instant>,
}

/// One context in memory.
pub struct Entry {
    pub key: Key,
    /// The specification for loading it again.
    pub spec: ModelSpec,
    pub roles: Vec<Role>,
    /// Cloned for each loan.
    pub model: Arc<Model>,
    pub pinned: bool,
    /// The settings with which it was loaded.
    pub settings: LoadSettings,
    /// The memory it takes.
    pub need: Footprint,
    pub estimate: Estimate,
    pub adapters: Bytes,
    pub held: Weak<Held>,
    /// Can no longer be upgraded once the context's memory is freed; the next field does the same
    /// for the weights.
    pub context_gone: Weak<()>,
    pub weights_gone: Weak<()>,
}

impl Entry {
    /// Time since its last use; `None` while it is on loan or a handle from a loan still exists.
    pub fn idle(&self) -> Option<Duration> {
        let is_idle = Arc::strong_count(&self.model) == 1 && self.model.engine.handles() == 1;
        is_idle.then(|| lock(&self.model.used).elapsed())
    }

    /// All memory freed with this context.
    pub fn context(&self) -> Amount {
        self.need.context + self.adapters.into()
    }

    /// Fails if it cannot be unloaded now because it is in use or pinned.
    pub fn may_go(&self) -> Result<(), PoolError> {
        match (self.idle(), self.pinned) {
            (None, _) => Err(PoolError::InUse(file_name(&self.key.path))),
            (_, true) => Err(PoolError::Pinned(file_name(&self.key.path))),
            (Some(_), false) => Ok(()),
        }
    }

    /// Adds another role's preferences for this context: it stays in memory as long as either role
    /// requires.
    pub fn kept_as(&mut self, spec: &ModelSpec) {
        self.pinned |= spec.pinned;
        let (ours, theirs) = (self.spec.keep_alive, spec.keep_alive);
        self.spec.keep_alive = if ours.is_zero() || theirs.is_zero() { Duration::ZERO } else { ours.max(theirs) };
    }

    /// Whether this model must stay in memory when one of `role` needs room. The planner can also
    /// act as router, so it is never unloaded for the router; otherwise the two would keep evicting
    /// each other.
    pub fn is_spared_by(&self, role: Role) -> bool {
        role != Role::Planner && self.roles.contains(&Role::Planner)
    }

    /// The memory of its projector, if that is loaded.
    fn projector(&self) -> Amount {
        let held = self.held.upgrade();
        held.and_then(|held| lock(&held.projector).as_ref().map(Lease::bytes)).unwrap_or_default()
    }

    pub fn holder(&self, kept: bool) -> Holder<'_> {
        Holder {
            file: &self.key.path,
            context: self.context(),
            weights: self.need.weights + self.projector(),
            idle: self.idle(),
            kept: self.pinned || kept,
        }
    }

    /// Whether `name` is one of its roles, its path or its file name.
    fn is_called(&self, name: &str) -> bool {
        let file = file_name(&self.key.path).to_lowercase();
        let lower = name.to_lowercase();
        let role = self.roles.iter().any(|role| role.to_string() == lower);
        role || Path::new(name) == self.key.path || file == lower || file.strip_suffix(".gguf") == Some(&lower)
    }

    fn is_called_in_part(&self, name: &str) -> bool {
        file_name(&self.key.path).to_lowercase().contains(&name.to_lowercase())
    }
}

/// Everything in memory.
#[derive(Default)]
pub struct Resident {
    pub entries: Vec<Entry>,
    /// The models that swaps assigned to roles instead of those in models.toml.
    pub assigned: HashMap<Role, ModelSpec>,
    /// Models that are present from the start and are never unloaded: the scripted ones of tests.
    pub fixed: HashMap<Role, Arc<Model>>,
    pub loading: Option<Loading>,
    /// Contexts that were unloaded without waiting for their memory to be freed.
    pub leaving: Vec<Leaving>,
}

/// Memory that is about to be freed.
pub struct Leaving {
    pub path: PathBuf,
    /// True for weights, false for a context.
    pub weights: bool,
    pub memory: Weak<()>,
}

/// A load in progress.
#[derive(Clone, Debug, PartialEq)]
pub struct Loading {
    pub file: String,
    /// The share of the file read so far, 0 to 1.
    pub share: f32,
}

impl Resident {
    /// A loan of `role`'s model, if it is in memory.
    pub fn of(&self, role: Role) -> Option<Leased> {
        let loaded = self.entries.iter().find(|entry| entry.roles.contains(&role)).map(|entry| &entry.model);
        loaded.or_else(|| self.fixed.get(&role)).map(|model| Leased { role, model: model.clone() })
    }

    pub fn find(&self, key: &Key) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == *key)
    }

    /// The list indices of the contexts `keys`, in ascending order; those not in memory are
    /// omitted.
    pub fn places(&self, keys: &[Key]) -> Vec<usize> {
        (0..self.entries.len()).filter(|&index| keys.contains(&self.entries[index].key)).collect()
    }

    /// The weights of a file, if a context in memory uses them.
    pub fn weights(&self, path: &Path) -> Option<Arc<Held>> {
        self.entries.iter().filter(|entry| entry.key.path == path).find_map(|entry| entry.held.upgrade())
    }

    /// Number of model files in memory.
    pub fn files(&self) -> usize {
        self.entries.iter().map(|entry| &entry.key.path).collect::<BTreeSet<_>>().len()
    }

    /// Records the memory to wait for when `gone` are dropped: each context, and weights that no
    /// other context uses.
    pub fn see_off(&mut self, gone: &[Entry]) {
        self.leaving.retain(|one| one.memory.strong_count() > 0);
        for entry in gone {
            let leaving =
                |weights, memory: &Weak<()>| Leaving { path: entry.key.path.clone(), weights, memory: memory.clone() };
            self.leaving.push(leaving(false, &entry.context_gone));
            if self.entries.iter().all(|other| other.key.path != entry.key.path) {
                self.leaving.push(leaving(true, &entry.weights_gone));
            }
        }
    }

    /// Assigns `role` to the context `key`, and removes it from all others.
    pub fn assign(&mut self, role: Role, key: &Key) {
        for entry in &mut self.entries {
            entry.roles.retain(|other| *other != role);
            if entry.key == *key {
                entry.roles.push(role);
                entry.roles.sort();
            }
        }
    }

    /// The contexts that match a role, a file or part of a file name. Fails if none match or the
    /// matches belong to several files.
    pub fn meant(&self, name: &str) -> Result<Vec<usize>, PoolError> {
        let those = |test: &dyn Fn(&Entry) -> bool| -> Vec<usize> {
            (0..self.entries.len()).filter(|&index| test(&self.entries[index])).collect()
        };
        let mut meant = those(&|entry| entry.is_called(name));
        if meant.is_empty() {
            meant = those(&|entry| entry.is_called_in_part(name));
        }
        let files = |of: &[usize]| {
            let files: BTreeSet<String> = of.iter().map(|&index| file_name(&self.entries[index].key.path)).collect();
            files.into_iter().collect::<Vec<_>>().join(", ")
        };
        match meant.first() {
            None => Err(PoolError::NotLoaded { name: name.to_owned(), there: self.told() }),
            Some(&first) if meant.iter().any(|&i| self.entries[i].key.path != self.entries[first].key.path) => {
                Err(PoolError::Several { name: name.to_owned(), files: files(&meant) })
            }
            Some(_) => Ok(meant),
        }
    }
}

pub fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
