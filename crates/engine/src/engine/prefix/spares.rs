//! Keeps checkpoints beyond a context's own share of memory, until something else needs that memory.
//!
//! A checkpoint of Qwen3.6 takes 63 to 150 MiB, so a slot's own share holds only a few. Having more
//! saves time when an earlier part of a prompt changes; they are the first to be dropped when
//! memory is short.

use std::sync::{Arc, Mutex, MutexGuard, Weak};

use crate::base::{Bytes, lock};
use crate::budget::{Lease, Ledger};

/// The spare checkpoints of all models. Clones share them.
#[derive(Clone, Debug)]
pub struct Spares(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    ledger: Ledger,
    bytes_max: Bytes,
    /// Oldest first.
    kept: Mutex<Vec<Arc<Held>>>,
}

#[derive(Debug)]
struct Held {
    state: Arc<[u8]>,
    _lease: Lease,
}

/// A checkpoint that may already have been dropped. Its memory is freed once nothing holds it.
#[derive(Clone, Debug)]
pub struct Spare(Arc<Ticket>);

#[derive(Debug)]
struct Ticket {
    held: Weak<Held>,
    spares: Spares,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.spares.kept().retain(|held| !std::ptr::eq(Arc::as_ptr(held), self.held.as_ptr()));
    }
}

impl Spare {
    /// Its bytes; `None` if it was dropped.
    pub fn state(&self) -> Option<Arc<[u8]>> {
        self.0.held.upgrade().map(|held| held.state.clone())
    }

    pub fn is_there(&self) -> bool {
        self.0.held.strong_count() > 0
    }
}

impl Spares {
    /// Keeps at most `bytes_max`, and never more than the ledger grants.
    pub fn new(ledger: Ledger, bytes_max: Bytes) -> Spares {
        Spares(Arc::new(Shared { ledger, bytes_max, kept: Mutex::default() }))
    }

    /// Keeps a checkpoint and drops older ones above the limit. `None` if the ledger has no room
    /// for it.
    pub fn keep(&self, state: Arc<[u8]>) -> Option<Spare> {
        let bytes = Bytes(state.len() as u64);
        if bytes > self.0.bytes_max {
            return None;
        }
        let mut kept = self.kept();
        while held(&kept) + bytes > self.0.bytes_max && drop_oldest(&mut kept) {}
        let lease = self.0.ledger.reserve("checkpoints", bytes).ok()?.commit(bytes);
        let held = Arc::new(Held { state, _lease: lease });
        let spare = Spare(Arc::new(Ticket { held: Arc::downgrade(&held), spares: self.clone() }));
        kept.push(held);
        Some(spare)
    }

    /// Drops checkpoints until the ledger has `needed` free or none is left.
    pub fn make_room(&self, needed: Bytes) {
        let mut kept = self.kept();
        while self.0.ledger.free().host < needed && drop_oldest(&mut kept) {}
    }

    /// Host memory in use now.
    pub fn bytes(&self) -> Bytes {
        held(&self.kept())
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Arc<Held>>> {
        lock(&self.0.kept)
    }
}

fn held(kept: &[Arc<Held>]) -> Bytes {
    kept.iter().map(|held| Bytes(held.state.len() as u64)).sum()
}

fn drop_oldest(kept: &mut Vec<Arc<Held>>) -> bool {
    if kept.is_empty() {
        return false;
    }
    kept.remove(0);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(bytes: usize) -> Arc<[u8]> {
        vec![7; bytes].into()
    }

    #[test]
    fn checkpoints_go_when_there_are_too_many_memory_is_needed_or_nobody_has_them() {
        let ledger = Ledger::new(Bytes(1000));
        let spares = Spares::new(ledger.clone(), Bytes(500));
        let mut kept: Vec<Spare> = (0..6).map(|_| spares.keep(some(100)).unwrap()).collect();
        let there = |kept: &[Spare]| kept.iter().map(Spare::is_there).collect::<Vec<_>>();
        assert_eq!(there(&kept), [false, true, true, true, true, true]);
        assert_eq!(ledger.promised().host, Bytes(500));
        spares.make_room(Bytes(650));
        assert_eq!((there(&kept), ledger.free().host), (vec![false, false, false, true, true, true], Bytes(700)));
        assert_eq!((kept[3].state(), kept[0].state()), (Some(some(100)), None));
        let copy = kept[4].clone();
        drop(kept.remove(4));
        assert_eq!((copy.is_there(), spares.bytes()), (true, Bytes(300)));
        drop(copy);
        assert_eq!(spares.bytes(), Bytes(200));
        // Simulates unloading the model.
        drop(kept);
        assert_eq!((spares.bytes(), ledger.free().host), (Bytes::ZERO, Bytes(1000)));
    }

    #[test]
    fn nothing_is_kept_that_the_ledger_does_not_grant() {
        let ledger = Ledger::new(Bytes(1000));
        let spares = Spares::new(ledger.clone(), Bytes(5000));
        let held = ledger.reserve("planner", Bytes(950)).unwrap();
        assert!(spares.keep(some(100)).is_none());
        drop(held);
        assert!(spares.keep(some(100)).is_some() && spares.keep(some(6000)).is_none());
    }
}
