//! Gives models up: chosen ones, or as many idle ones as a load needs; and waits until their memory is back.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::evict::{Holder, Room, victims};
use super::load::{Need, PARTS};
use super::resident::{Entry, Leaving, Resident, file_name};
use super::{Inner, PoolError};
use crate::base::Bytes;
use crate::budget::Refused;
use crate::models::Role;

/// Longest wait for a thread to free its context and weights. Unmapping 24 GiB takes under a second.
pub const RELEASE_MAX: Duration = Duration::from_secs(5);

impl Inner {
    /// Gives up idle models so that `wanted` is free; answers false, and leaves all, where that would not be enough.
    pub(super) fn give_up(&self, wanted: Room, spare: Option<Role>, need: &Need) -> Result<bool, PoolError> {
        let mut resident = self.resident();
        let Some(mut chosen) = chosen(&resident, wanted, spare, need) else { return Ok(false) };
        chosen.sort_unstable();
        let gone: Vec<Entry> = chosen.into_iter().rev().map(|index| resident.entries.remove(index)).collect();
        drop(resident);
        self.released(gone, Some(need))?;
        Ok(true)
    }

    pub(super) fn could_give_up(&self, wanted: Room, spare: Option<Role>, need: &Need) -> bool {
        chosen(&self.resident(), wanted, spare, need).is_some()
    }

    /// Drops contexts and waits until their memory is back in the ledger, and that of weights which no other context
    /// and no coming one counts on; those included that the keep-alive sent away a moment ago.
    pub(super) fn released(&self, gone: Vec<Entry>, coming: Option<&Need>) -> Result<(), PoolError> {
        let mut resident = self.resident();
        resident.see_off(&gone);
        let leaving = std::mem::take(&mut resident.leaving);
        drop(resident);
        drop(gone);
        let stays =
            |one: &Leaving| one.weights && coming.is_some_and(|need| need.there.is_some() && need.key.path == one.path);
        let deadline = Instant::now() + RELEASE_MAX;
        match leaving.iter().find(|one| !stays(one) && !one.word.wait(deadline)) {
            Some(one) => Err(PoolError::NotReleased { file: file_name(&one.path) }),
            None => Ok(()),
        }
    }

    /// A role's own model is known by the role, any other by its file.
    pub(super) fn known_as(&self, need: &Need) -> String {
        let of_role = self.spec(need.role()).is_ok_and(|spec| spec.path == need.key.path);
        if of_role { need.role().to_string() } else { file_name(&need.key.path) }
    }

    /// Lines of the account that are not this pool's.
    pub(super) fn others(&self) -> Vec<(String, Bytes)> {
        let own = |label: &str| PARTS.iter().any(|part| label.ends_with(&format!(" {part}")));
        let mut others: BTreeMap<String, Bytes> = BTreeMap::new();
        for entry in self.ledger.entries().into_iter().filter(|entry| !own(&entry.label)) {
            *others.entry(entry.label).or_default() += entry.bytes.host;
        }
        others.into_iter().collect()
    }

    /// A refusal of the ledger, with who holds what.
    pub(super) fn no_room(&self, need: &Need, refused: Refused) -> PoolError {
        let mut loaded = self.resident().told();
        for (label, bytes) in self.others() {
            let comma = if loaded.is_empty() { "" } else { ", " };
            loaded.push_str(&format!("{comma}{label} {bytes}"));
        }
        let parts = match refused.parts.is_empty() {
            true => need.told(),
            false => refused.parts.clone(),
        };
        PoolError::Memory { refused: Box::new(Refused { parts, ..refused }), loaded }
    }
}

/// The contexts to give up for `need`, never those that play `spare`.
fn chosen(resident: &Resident, wanted: Room, spare: Option<Role>, need: &Need) -> Option<Vec<usize>> {
    let spared = |entry: &Entry| spare.is_some_and(|role| entry.roles.contains(&role));
    let contexts = resident.entries.iter().map(|entry| entry.holder(spared(entry)));
    let holders: Vec<Holder> = contexts.chain(need.anchor()).collect();
    victims(&holders, wanted)
}
