//! What is in memory: contexts, the roles they play, who uses them, and what a person is told about each.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::evict::Holder;
use super::usage::{Gone, Usage};
use super::weights::Held;
use super::{Leased, PoolError};
use crate::base::Bytes;
use crate::budget::place::{Footprint, Settings};
use crate::budget::{Amount, Estimate};
use crate::engine::handle::Engine;
use crate::engine::llama::Shape;
use crate::models::dialect::Dialect;
use crate::models::{Measured, ModelCapability, ModelSpec, Role};

/// A context is shared by all who ask for the same file, settings and adapters.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    pub path: PathBuf,
    pub shape: Shape,
    pub lora: Vec<(PathBuf, f32)>,
}

/// What a caller is lent.
pub struct Model {
    pub engine: Engine,
    pub dialect: Arc<dyn Dialect>,
    pub capability: ModelCapability,
    /// The user has said so.
    pub said: bool,
    pub measured: Option<Measured>,
    /// What was given up for it to fit.
    pub rung: Option<String>,
    pub usage: Usage,
}

impl Model {
    pub fn lend(&self, role: Role) -> Leased {
        Leased {
            role,
            engine: self.engine.clone(),
            dialect: self.dialect.clone(),
            capability: self.capability,
            said: self.said,
            measured: self.measured.clone(),
            rung: self.rung.clone(),
            _loan: self.usage.lend(),
        }
    }

    /// `None` while somebody has it on loan, or kept a handle of a loan.
    pub fn idle(&self) -> Option<Duration> {
        self.usage.idle().filter(|_| self.engine.handles() == 1)
    }
}

/// One context in memory.
pub struct Entry {
    pub key: Key,
    /// As it was asked for; what it stands on if it has to be loaded again.
    pub spec: ModelSpec,
    pub roles: Vec<Role>,
    pub model: Model,
    pub pinned: bool,
    /// How it was loaded, and what that takes.
    pub settings: Settings,
    pub need: Footprint,
    pub estimate: Estimate,
    pub adapters: Bytes,
    pub held: Weak<Held>,
    /// Word that the memory of the context, and that of the weights, is given back.
    pub context_gone: Gone,
    pub weights_gone: Gone,
}

impl Entry {
    /// Everything that goes with this context.
    pub fn context(&self) -> Amount {
        self.need.context + self.adapters.into()
    }

    /// Whether it may be taken out of memory now.
    pub fn may_go(&self) -> Result<(), PoolError> {
        match (self.model.idle(), self.pinned) {
            (None, _) => Err(PoolError::InUse(file_name(&self.key.path))),
            (_, true) => Err(PoolError::Pinned(file_name(&self.key.path))),
            (Some(_), false) => Ok(()),
        }
    }

    /// Two roles on one context: it is kept as the more demanding of them wants.
    pub fn kept_as(&mut self, spec: &ModelSpec) {
        self.pinned |= spec.pinned;
        let (ours, theirs) = (self.spec.keep_alive, spec.keep_alive);
        self.spec.keep_alive = if ours.is_zero() || theirs.is_zero() { Duration::ZERO } else { ours.max(theirs) };
    }

    pub fn holder(&self, kept: bool) -> Holder<'_> {
        Holder {
            file: &self.key.path,
            context: self.context(),
            weights: self.need.weights,
            idle: self.model.idle(),
            kept: self.pinned || kept,
        }
    }

    /// Whether a person means it by `name`: its role, its path, its file's name.
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
    /// Roles that a swap gave to another model than models.toml does.
    pub assigned: HashMap<Role, ModelSpec>,
    /// Models that were there from the start and stay: the scripted ones of tests.
    pub fixed: HashMap<Role, Model>,
    pub loading: Option<Loading>,
    /// What was sent away without waiting for it.
    pub leaving: Vec<Leaving>,
}

/// Memory that is about to come back.
pub struct Leaving {
    pub path: PathBuf,
    /// Of weights, or of a context.
    pub weights: bool,
    pub word: Gone,
}

/// A load under way.
#[derive(Clone, Debug, PartialEq)]
pub struct Loading {
    pub file: String,
    /// 0 to 1.
    pub share: f32,
}

impl Resident {
    pub fn of(&self, role: Role) -> Option<Leased> {
        let loaded = self.entries.iter().find(|entry| entry.roles.contains(&role)).map(|entry| &entry.model);
        loaded.or_else(|| self.fixed.get(&role)).map(|model| model.lend(role))
    }

    pub fn find(&self, key: &Key) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == *key)
    }

    /// Weights of a file that a context still stands on.
    pub fn weights(&self, path: &Path) -> Option<(Arc<Held>, Gone)> {
        let of_file = self.entries.iter().filter(|entry| entry.key.path == path);
        of_file.into_iter().find_map(|entry| Some((entry.held.upgrade()?, entry.weights_gone.clone())))
    }

    /// Model files in memory.
    pub fn files(&self) -> usize {
        self.entries.iter().map(|entry| &entry.key.path).collect::<BTreeSet<_>>().len()
    }

    /// Notes what has to be waited for when these go: each context, and weights that nobody else stands on.
    pub fn see_off(&mut self, gone: &[Entry]) {
        self.leaving.retain(|one| !one.word.wait(Instant::now()));
        for entry in gone {
            let leaving = |weights, word: &Gone| Leaving { path: entry.key.path.clone(), weights, word: word.clone() };
            self.leaving.push(leaving(false, &entry.context_gone));
            if self.entries.iter().all(|other| other.key.path != entry.key.path) {
                self.leaving.push(leaving(true, &entry.weights_gone));
            }
        }
    }

    /// Gives `role` to the context `key`, and to no other.
    pub fn assign(&mut self, role: Role, key: &Key) {
        for entry in &mut self.entries {
            entry.roles.retain(|other| *other != role);
            if entry.key == *key {
                entry.roles.push(role);
                entry.roles.sort();
            }
        }
    }

    /// The contexts a person means by a role, a file or a part of its name; of a part, only one file may have it.
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
