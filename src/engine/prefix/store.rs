//! Keeps copies of sequences in host memory, reserved on the ledger and under a cap, and drops the least recently used.

use crate::base::lock;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};

use super::{Disk, Fingerprint, Tree};
use crate::base::Bytes;
use crate::budget::{Lease, Ledger};
use crate::engine::decoder::{Saved, Token};
use crate::engine::slot::FIXED_MIN;

/// Shorter prefixes are not copied: computing them again takes no noticeable time, and they would displace others.
pub const TOKENS_MIN: usize = FIXED_MIN;

/// A sequence in host memory.
#[derive(Clone, Debug)]
pub struct Copied {
    pub tokens: Vec<Token>,
    /// Lengths after each of the prefill calls that computed the start, see `slot`.
    pub cuts: Vec<usize>,
    pub saved: Saved,
}

/// All copies of a run, of every model. Clones share them.
#[derive(Clone, Debug)]
pub struct PrefixStore(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    ledger: Ledger,
    bytes_max: Bytes,
    disk: Option<Disk>,
    copies: Mutex<Copies>,
}

#[derive(Debug, Default)]
struct Copies {
    /// By the clock of their last use, oldest first.
    by_use: BTreeMap<u64, Entry>,
    /// For each model, the keys of `by_use` by tokens.
    trees: HashMap<Fingerprint, Tree<u64>>,
    clock: u64,
    bytes: Bytes,
}

#[derive(Debug)]
struct Entry {
    model: Fingerprint,
    copied: Copied,
    bytes: Bytes,
    _lease: Lease,
}

impl PrefixStore {
    /// Keeps at most `bytes_max`, and never more than the ledger grants.
    pub fn new(ledger: Ledger, bytes_max: Bytes, disk: Option<Disk>) -> PrefixStore {
        PrefixStore(Arc::new(Shared { ledger, bytes_max, disk, copies: Mutex::default() }))
    }

    /// The copies of one model.
    pub fn of(&self, model: Fingerprint) -> Prefixes {
        Prefixes { store: self.clone(), model }
    }

    /// Drops copies until the ledger has `needed` free, or none is left.
    pub fn make_room(&self, needed: Bytes) {
        let mut copies = self.copies();
        while self.0.ledger.free().host < needed && copies.drop_oldest() {}
    }

    /// Host memory held now.
    pub fn bytes(&self) -> Bytes {
        self.copies().bytes
    }

    /// Each change is complete or absent even after a panic, so a poisoned lock is ignored.
    fn copies(&self) -> MutexGuard<'_, Copies> {
        lock(&self.0.copies)
    }
}

/// The copies of one model, as its worker uses them.
#[derive(Clone, Debug)]
pub struct Prefixes {
    store: PrefixStore,
    model: Fingerprint,
}

impl Prefixes {
    /// How many tokens the best copy shares with the start of `prompt`, in memory or on disk.
    pub fn shared(&self, prompt: &[Token]) -> usize {
        let copies = self.store.copies();
        let held = copies.trees.get(&self.model).and_then(|tree| tree.longest(prompt)).map_or(0, |(shared, _)| shared);
        let on_disk = self.store.0.disk.as_ref().map_or(0, |disk| disk.shared(&self.model, prompt));
        held.max(on_disk)
    }

    /// The best copy for `prompt`; `None` if there is none or reading it from disk fails.
    pub fn best(&self, prompt: &[Token]) -> Option<Copied> {
        let mut copies = self.store.copies();
        let held =
            copies.trees.get(&self.model).and_then(|tree| tree.longest(prompt)).map(|(shared, at)| (shared, *at));
        let on_disk = self.store.0.disk.as_ref().map_or(0, |disk| disk.shared(&self.model, prompt));
        match held {
            Some((shared, at)) if shared >= on_disk => copies.touch(at),
            _ => {
                drop(copies);
                self.store.0.disk.as_ref()?.read(&self.model, prompt)
            }
        }
    }

    /// Keeps a copy if it is long enough, not covered by another and fits; older copies are dropped for it.
    pub fn put(&self, copied: Copied) {
        let bytes = Bytes((copied.saved.bytes() + size_of_val(copied.tokens.as_slice())) as u64);
        if copied.tokens.len() < TOKENS_MIN || bytes > self.store.0.bytes_max {
            return;
        }
        let mut copies = self.store.copies();
        let covered = copies.trees.get(&self.model).and_then(|tree| tree.longest(&copied.tokens));
        if covered.is_some_and(|(shared, _)| shared == copied.tokens.len()) {
            return;
        }
        while copies.bytes + bytes > self.store.0.bytes_max && copies.drop_oldest() {}
        let reservation = loop {
            match self.store.0.ledger.reserve("prefix copies", bytes) {
                Ok(reservation) => break reservation,
                Err(_) if copies.drop_oldest() => {}
                // Models have precedence: without room nothing is kept, and the prompt is computed again.
                Err(_) => return,
            }
        };
        let _lease = reservation.commit(bytes);
        copies.insert(Entry { model: self.model.clone(), copied, bytes, _lease });
    }

    /// Reserves memory for a state kept outside the store, and drops copies for it. `None` if there is too little.
    pub fn lease(&self, bytes: usize) -> Option<Lease> {
        let bytes = Bytes(bytes as u64);
        self.store.make_room(bytes);
        Some(self.store.0.ledger.reserve("parked sequence", bytes).ok()?.commit(bytes))
    }

    /// Writes a preamble to disk for later runs. It is written when it is met for the second time, so that a text that
    /// is used once does not reach the disk.
    pub fn preamble(&self, tokens: &[Token], cuts: &[usize], save: impl FnOnce() -> Option<Saved>) {
        let Some(disk) = &self.store.0.disk else { return };
        if tokens.len() < TOKENS_MIN || !disk.wants(&self.model, tokens) {
            return;
        }
        if let Some(saved) = save()
            && let Err(error) = disk.write(&self.model, tokens, cuts, &saved)
        {
            tracing::warn!(%error, "a preamble could not be kept on disk; the next run computes it again");
        }
    }
}

impl Copies {
    fn insert(&mut self, entry: Entry) {
        self.clock += 1;
        self.bytes += entry.bytes;
        let replaced = self.trees.entry(entry.model.clone()).or_default().insert(&entry.copied.tokens, self.clock);
        if let Some(old) = replaced.and_then(|at| self.by_use.remove(&at)) {
            self.bytes = self.bytes.saturating_sub(old.bytes);
        }
        self.by_use.insert(self.clock, entry);
    }

    fn touch(&mut self, at: u64) -> Option<Copied> {
        let entry = self.by_use.remove(&at)?;
        self.clock += 1;
        self.trees.get_mut(&entry.model)?.insert(&entry.copied.tokens, self.clock);
        let copied = entry.copied.clone();
        self.by_use.insert(self.clock, entry);
        Some(copied)
    }

    fn drop_oldest(&mut self) -> bool {
        let Some((_, entry)) = self.by_use.pop_first() else { return false };
        self.bytes = self.bytes.saturating_sub(entry.bytes);
        if let Some(tree) = self.trees.get_mut(&entry.model) {
            tree.remove(&entry.copied.tokens);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copied(first: i32, length: usize, bytes: usize) -> Copied {
        let tokens: Vec<Token> = (0..length as i32).map(|n| Token(first + n)).collect();
        Copied { saved: Saved { length, state: vec![0; bytes].into(), marks: Vec::new() }, cuts: Vec::new(), tokens }
    }

    fn store(ledger: u64, max: u64) -> (Ledger, Prefixes) {
        let ledger = Ledger::new(Bytes(ledger));
        let prefixes = PrefixStore::new(ledger.clone(), Bytes(max), None).of(Fingerprint::named("m"));
        (ledger, prefixes)
    }

    #[test]
    fn the_least_recently_used_copy_is_dropped_to_make_room() {
        let (_, prefixes) = store(1 << 20, 2500);
        let (a, b, c) = (copied(0, 100, 600), copied(1000, 100, 600), copied(2000, 100, 600));
        let kept = |one: &Copied| prefixes.shared(&one.tokens) == 100;
        prefixes.put(a.clone());
        prefixes.put(b.clone());
        assert!(prefixes.best(&a.tokens).is_some());
        prefixes.put(c.clone());
        assert!(kept(&a) && kept(&c) && !kept(&b));
    }

    #[test]
    fn copies_take_no_memory_that_a_model_needs() {
        let (ledger, prefixes) = store(2500, 1 << 20);
        prefixes.put(copied(0, 100, 600));
        prefixes.put(copied(1000, 100, 600));
        assert_eq!(prefixes.store.bytes(), Bytes(2000));
        prefixes.store.make_room(Bytes(1200));
        assert!(ledger.free().host >= Bytes(1200));
        prefixes.store.make_room(Bytes(2500));
        let held = ledger.reserve("planner", ledger.free()).unwrap();
        prefixes.put(copied(5000, 100, 600));
        assert_eq!(prefixes.shared(&copied(5000, 100, 0).tokens), 0);
        drop(held);
        assert_eq!(ledger.free().host + prefixes.store.bytes(), Bytes(2500));
    }

    #[test]
    fn models_do_not_see_each_others_copies() {
        let (ledger, prefixes) = store(1 << 20, 1 << 20);
        prefixes.put(copied(0, 100, 10));
        let other = prefixes.store.of(Fingerprint::named("n"));
        assert_eq!(other.shared(&copied(0, 100, 10).tokens), 0);
        drop((prefixes, other));
        assert_eq!(ledger.free().host, Bytes(1 << 20));
    }

    #[test]
    fn short_and_covered_prefixes_are_not_kept() {
        let (_, prefixes) = store(1 << 20, 1 << 20);
        prefixes.put(copied(0, TOKENS_MIN - 1, 10));
        assert_eq!(prefixes.store.bytes(), Bytes::ZERO);
        prefixes.put(copied(0, 200, 10));
        let before = prefixes.store.bytes();
        prefixes.put(copied(0, 150, 10));
        assert_eq!(prefixes.store.bytes(), before);
    }
}
