//! Unloads given models, or as many idle ones as a load needs, and waits until their memory is free.

use std::collections::BTreeMap;
use std::sync::Weak;
use std::thread;
use std::time::{Duration, Instant};

use super::evict::{Holder, Room, victims};
use super::load::{Need, PARTS};
use super::resident::{Entry, Leaving, Resident, file_name};
use super::{Inner, PoolError};
use crate::base::Bytes;
use crate::budget::Refused;
use crate::models::Role;

/// Maximum wait for a thread to free its context and weights. Unmapping 24 GiB takes under a
/// second.
pub const RELEASE_MAX: Duration = Duration::from_secs(5);

impl Inner {
    /// Unloads idle models to free `wanted` for a model of `role`: for its load if `need` is given,
    /// otherwise for its projector. If that would not suffice, unloads none and returns false.
    pub(super) fn give_up(&self, wanted: Room, role: Role, need: Option<&Need>) -> Result<bool, PoolError> {
        let mut resident = self.resident();
        let Some(mut chosen) = choose(&resident, wanted, role, need) else { return Ok(false) };
        chosen.sort_unstable();
        let gone: Vec<Entry> = chosen.into_iter().rev().map(|index| resident.entries.remove(index)).collect();
        drop(resident);
        self.released(gone, need)?;
        Ok(true)
    }

    /// Drops contexts and waits until their memory is back in the ledger, including that of weights
    /// used by no other context and not by the `coming` load. Also waits for models that the
    /// keep-alive has just unloaded.
    pub(super) fn released(&self, gone: Vec<Entry>, coming: Option<&Need>) -> Result<(), PoolError> {
        let mut resident = self.resident();
        resident.see_off(&gone);
        let leaving = std::mem::take(&mut resident.leaving);
        drop(resident);
        drop(gone);
        let stays =
            |one: &Leaving| one.weights && coming.is_some_and(|need| need.there.is_some() && need.key.path == one.path);
        let deadline = Instant::now() + RELEASE_MAX;
        match leaving.iter().find(|one| !stays(one) && !is_freed(&one.memory, deadline)) {
            Some(one) => Err(PoolError::NotReleased { file: file_name(&one.path) }),
            None => Ok(()),
        }
    }

    /// The name of a model in messages: its role if it is the role's own model, otherwise its file.
    pub(super) fn known_as(&self, need: &Need) -> String {
        let of_role = self.spec(need.role()).is_ok_and(|spec| spec.path == need.key.path);
        if of_role { need.role().to_string() } else { file_name(&need.key.path) }
    }

    /// Host memory on the ledger that does not belong to this pool, by label.
    pub(super) fn others(&self) -> Vec<(String, Bytes)> {
        let own = |label: &str| PARTS.iter().any(|part| label.ends_with(&format!(" {part}")));
        let mut others: BTreeMap<String, Bytes> = BTreeMap::new();
        for entry in self.ledger.entries().into_iter().filter(|entry| !own(&entry.label)) {
            *others.entry(entry.label).or_default() += entry.bytes.host;
        }
        others.into_iter().collect()
    }

    /// The error for a reservation refused by the ledger, with a list of all holders.
    pub(super) fn no_room(&self, need: &Need, refused: Refused) -> PoolError {
        let mut loaded = self.resident().told();
        for (label, bytes) in self.others() {
            let comma = if loaded.is_empty() { "" } else { ", " };
            loaded.push_str(&format!("{comma}{label} {bytes}"));
        }
        let parts = if refused.parts.is_empty() { need.told() } else { refused.parts.clone() };
        PoolError::Memory { refused: Box::new(Refused { parts, ..refused }), loaded }
    }
}

/// Waits until the lease on some memory is dropped, or until `deadline`; returns whether it was
/// dropped.
fn is_freed(memory: &Weak<()>, deadline: Instant) -> bool {
    while memory.strong_count() > 0 {
        if Instant::now() > deadline {
            return false;
        }
        thread::sleep(Duration::from_millis(1));
    }
    true
}

/// The contexts to unload for a model of `role`, as in [`Inner::give_up`]; `None` if unloading all
/// candidates would not suffice.
pub(super) fn choose(resident: &Resident, wanted: Room, role: Role, need: Option<&Need>) -> Option<Vec<usize>> {
    let contexts = resident.entries.iter().map(|entry| entry.holder(entry.is_spared_by(role)));
    let holders: Vec<Holder> = contexts.chain(need.and_then(Need::anchor)).collect();
    victims(&holders, wanted)
}
