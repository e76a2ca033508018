//! Loads, unloads, swaps and pins models on request, and estimates how much memory a load would take.

use std::sync::Arc;

use super::active::Active;
use super::evict::{Holder, Room, freed, victims};
use super::load::{Need, Progress};
use super::resident::{Entry, Key, Resident, file_name};
use super::{Inner, Pool, PoolError, shape};
use crate::base::Bytes;
use crate::budget::{LoadSettings, Refused};
use crate::engine::prefix::PrefixStore;
use crate::models::{ModelSpec, Role};

/// The memory that a load would take.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    pub file: String,
    /// Memory needed in addition to what is already loaded.
    pub needed: Bytes,
    pub free: Bytes,
    /// The components of `needed`, for example `weights 98.0 MiB, KV 85.0 MiB`.
    pub parts: String,
    /// Whether it is already in memory.
    pub loaded: bool,
}

impl Pool {
    /// Loads the model of a role, or a file in the model folder, which has no role until a swap.
    /// Returns the loaded model.
    pub fn load(&self, name: &str, progress: Progress) -> Result<Active, PoolError> {
        let inner = &self.inner;
        let _changing = inner.change();
        let key = match text_role(name) {
            Some(role) => {
                drop(inner.lease(role, progress)?);
                inner.key_of(role).ok_or_else(|| PoolError::Absent(role.to_string()))?
            }
            None => inner.load(inner.need(&inner.file(name, Role::Planner)?)?, progress)?,
        };
        inner.describe(&key)
    }

    /// Unloads every context that matches `name` and waits until its memory is free. Returns the
    /// amount of memory freed. Before returning `NotLoaded`, waits for models that the keep-alive
    /// has just unloaded.
    pub fn unload(&self, name: &str) -> Result<Bytes, PoolError> {
        let inner = &self.inner;
        let _changing = inner.change();
        let machine = inner.ledger.machine();
        let before = machine.total(inner.ledger.free());
        let taken = inner.remove(|resident| resident.meant(name));
        let gone = taken.or_else(|refusal| match refusal {
            // The model may be unloading right now: wait for its memory before returning the error.
            PoolError::NotLoaded { .. } => inner.released(Vec::new(), None).and(Err(refusal)),
            refusal => Err(refusal),
        })?;
        inner.released(gone, None)?;
        Ok(machine.total(inner.ledger.free()).saturating_sub(before))
    }

    /// Replaces the loaded model `from` and all contexts that match the name with `to`, a role or a
    /// file, which takes over their roles. The memory of `from` counts as free; if `to` does not
    /// fit even then, nothing changes.
    pub fn swap(&self, from: &str, to: &str, progress: Progress) -> Result<Active, PoolError> {
        let _changing = self.inner.change();
        self.inner.swap(from, to, progress)
    }

    /// Pins a loaded model, so that it stays in memory, or unpins it.
    pub fn pin(&self, name: &str, pinned: bool) -> Result<Vec<Active>, PoolError> {
        let mut resident = self.inner.resident();
        let meant = resident.meant(name)?;
        for &index in &meant {
            resident.entries[index].pinned = pinned;
        }
        let active = resident.active();
        drop(resident);
        self.inner.keep_an_eye();
        Ok(meant.into_iter().map(|index| active[index].clone()).collect())
    }

    /// The settings used to estimate a model's memory.
    pub fn wanted(&self, spec: &ModelSpec) -> Result<LoadSettings, PoolError> {
        let Inner { options, ledger, .. } = &*self.inner;
        let machine = ledger.machine();
        Ok(shape::wanted(spec, &shape::of(spec, options, &machine)?, options, &machine))
    }

    /// Memory that loading a role or a file would take, and free memory. Loads nothing.
    pub fn estimate_memory(&self, name: &str) -> Result<Forecast, PoolError> {
        let need = self.inner.need(&self.inner.named(name, Role::Planner)?)?;
        let (loaded, machine) = (self.inner.resident().find(&need.key).is_some(), self.inner.ledger.machine());
        Ok(Forecast {
            file: file_name(&need.key.path),
            needed: if loaded { Bytes::ZERO } else { machine.total(need.amount()) },
            free: machine.total(self.inner.ledger.free()),
            parts: need.told(),
            loaded,
        })
    }
}

impl Inner {
    /// The model of a role, or a file with the settings of the role `like`.
    fn named(&self, name: &str, like: Role) -> Result<ModelSpec, PoolError> {
        match text_role(name) {
            Some(role) => self.spec(role),
            None => self.file(name, like),
        }
    }

    fn file(&self, name: &str, like: Role) -> Result<ModelSpec, PoolError> {
        let registry = self.registry.as_ref().ok_or_else(|| PoolError::Absent(name.to_owned()))?;
        Ok(registry.named(name, like)?)
    }

    fn describe(&self, key: &Key) -> Result<Active, PoolError> {
        let resident = self.resident();
        let index = resident.entries.iter().position(|entry| entry.key == *key);
        let gone = || PoolError::NotLoaded { name: file_name(&key.path), there: resident.told() };
        index.map(|index| resident.active().swap_remove(index)).ok_or_else(gone)
    }

    /// Removes the contexts selected by `meant` from the list, or none if one of them is pinned or
    /// in use.
    fn remove(&self, meant: impl FnOnce(&Resident) -> Result<Vec<usize>, PoolError>) -> Result<Vec<Entry>, PoolError> {
        let mut resident = self.resident();
        let meant = meant(&resident)?;
        for &index in &meant {
            resident.entries[index].may_go()?;
        }
        Ok(meant.into_iter().rev().map(|index| resident.entries.remove(index)).collect())
    }

    fn swap(self: &Arc<Inner>, from: &str, to: &str, progress: Progress) -> Result<Active, PoolError> {
        let (old, roles) = self.to_be_replaced(from)?;
        let spec = self.named(to, roles.first().copied().unwrap_or(Role::Planner))?;
        let need = self.need(&spec)?;
        if old.contains(&need.key) {
            return self.describe(&need.key);
        }
        self.released(Vec::new(), Some(&need))?;
        let has_place = self.missing_places(&need, self.resident().files()) == 0;
        let new = if has_place && need.amount().fits(self.ledger.free()) {
            self.load_then_unload(&old, need, progress)?
        } else {
            self.unload_then_load(&old, need, progress)?
        };
        let mut resident = self.resident();
        for role in roles {
            resident.assign(role, &new);
            resident.assigned.insert(role, spec.clone());
        }
        drop(resident);
        self.describe(&new)
    }

    /// The contexts that match `from`, which must belong to one file, and all their roles.
    fn to_be_replaced(&self, from: &str) -> Result<(Vec<Key>, Vec<Role>), PoolError> {
        let resident = self.resident();
        let (mut keys, mut roles) = (Vec::new(), Vec::new());
        for index in resident.meant(from)? {
            let entry = &resident.entries[index];
            entry.may_go()?;
            keys.push(entry.key.clone());
            roles.extend_from_slice(&entry.roles);
        }
        roles.sort();
        Ok((keys, roles))
    }

    /// Loads the new model first and unloads the old one only if that succeeds.
    fn load_then_unload(self: &Arc<Inner>, old: &[Key], need: Need, progress: Progress) -> Result<Key, PoolError> {
        let new = self.load(need, progress)?;
        match self.remove(|resident| Ok(resident.places(old))) {
            Ok(gone) => self.released(gone, None)?,
            Err(error) => {
                let unused = self.remove(|resident| Ok(resident.places(std::slice::from_ref(&new))))?;
                self.released(unused, None)?;
                return Err(error);
            }
        }
        Ok(new)
    }

    /// Unloads the old model to make room for the new one, which then fits. If the load still fails
    /// (a damaged file, a cancelled load), the old model is loaded again.
    fn unload_then_load(self: &Arc<Inner>, old: &[Key], need: Need, progress: Progress) -> Result<Key, PoolError> {
        self.fits_without(old, &need)?;
        let gone = self.remove(|resident| Ok(resident.places(old)))?;
        let before: Vec<_> = gone.iter().map(|one| (one.spec.clone(), one.roles.clone(), one.pinned)).collect();
        let released = self.released(gone, Some(&need));
        let loaded = released.and_then(|()| self.load(need, progress));
        let Err(error) = loaded else { return loaded };
        let Some((first, ..)) = before.first() else { return Err(error) };
        let (from, reason) = (file_name(&first.path), error.to_string());
        for (spec, roles, pinned) in before {
            let again = match self.need(&spec).and_then(|need| self.load(need, Box::new(|_, _| true))) {
                Ok(again) => again,
                Err(why) => return Err(PoolError::SwapLost { from, reason, why: why.to_string() }),
            };
            let mut resident = self.resident();
            roles.into_iter().for_each(|role| resident.assign(role, &again));
            resident.entries.iter_mut().filter(|entry| entry.key == again).for_each(|entry| entry.pinned = pinned);
        }
        Err(PoolError::SwappedBack { from, reason })
    }

    /// Fails if the new model does not fit even after the old one and all idle ones are unloaded.
    fn fits_without(&self, old: &[Key], need: &Need) -> Result<(), PoolError> {
        let resident = self.resident();
        let contexts = resident
            .entries
            .iter()
            .map(|entry| entry.holder(old.contains(&entry.key) || entry.is_spared_by(need.role())));
        let holders: Vec<Holder> = contexts.chain(need.anchor()).collect();
        let given = freed(&holders, &resident.places(old));
        let places = self.missing_places(need, resident.files()).saturating_sub(given.files);
        let copies = self.options.memory.prefixes.as_ref().map_or(Bytes::ZERO, PrefixStore::bytes);
        let free = self.ledger.free() + given.bytes + copies.into();
        let wanted = Room { bytes: need.amount().saturating_sub(free), files: places };
        if victims(&holders, wanted).is_some() {
            return Ok(());
        }
        drop(resident);
        let way_out = format!("raise --budget, or use a smaller model than {}", file_name(&need.key.path));
        let replaced = old.first().map(|key| file_name(&key.path)).unwrap_or_default();
        let label = format!("{} in place of {replaced}", file_name(&need.key.path));
        let refused = Refused::of(&label, need.amount(), free, self.ledger.capacity());
        let refused = Refused { way_out, ..refused };
        Err(self.no_room(need, refused))
    }
}

/// The role named `name`, if its models come from a pool.
fn text_role(name: &str) -> Option<Role> {
    name.to_ascii_lowercase().parse::<Role>().ok().filter(|role| Role::TEXT.contains(role))
}
