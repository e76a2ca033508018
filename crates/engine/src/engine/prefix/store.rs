//! Keeps copies of sequences in host memory, on the ledger and up to a limit; drops the least recently used.
//!
//! Spare checkpoints are dropped before any copy.

use crate::base::lock;
use std::sync::{Arc, Mutex, MutexGuard};

use super::{Disk, Fingerprint, Spares};
use crate::base::Bytes;
use crate::budget::{Lease, Ledger};
use crate::engine::decoder::{Saved, Token};
use crate::engine::slot::{self, FIXED_MIN};

/// Shorter prefixes are not copied: recomputing them takes no noticeable time, and they would
/// displace others.
pub const TOKENS_MIN: usize = FIXED_MIN;

/// Maximum memory of spare checkpoints of all models.
const SPARES_MAX: Bytes = Bytes::gib(2);

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
    spares: Spares,
    copies: Mutex<Copies>,
}

/// All copies together have at most some ten thousand tokens, so they are searched linearly.
#[derive(Debug, Default)]
struct Copies {
    /// Least recently used first.
    kept: Vec<Entry>,
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
        let spares = Spares::new(ledger.clone(), SPARES_MAX);
        PrefixStore(Arc::new(Shared { ledger, bytes_max, disk, spares, copies: Mutex::default() }))
    }

    /// The copies of one model.
    pub fn of(&self, model: Fingerprint) -> Prefixes {
        Prefixes { store: self.clone(), model }
    }

    /// Drops spare checkpoints, then copies, until the ledger has `needed` free or none is left.
    pub fn make_room(&self, needed: Bytes) {
        self.0.spares.make_room(needed);
        let mut copies = self.copies();
        while self.0.ledger.free().host < needed && copies.drop_oldest() {}
    }

    /// Host memory in use now, all of which [`PrefixStore::make_room`] can free.
    pub fn bytes(&self) -> Bytes {
        self.copies().bytes + self.0.spares.bytes()
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
    /// Number of tokens that the best copy shares with the start of `prompt`, in memory or, for its
    /// first `fixed` tokens, on disk.
    pub fn shared(&self, prompt: &[Token], fixed: usize) -> usize {
        let held = self.store.copies().longest(&self.model, prompt).map_or(0, |(shared, _)| shared);
        held.max(self.shared_on_disk(&prompt[..fixed]))
    }

    fn shared_on_disk(&self, preamble: &[Token]) -> usize {
        let is_there = |disk: &Disk| !preamble.is_empty() && disk.has(&self.model, preamble);
        if self.store.0.disk.as_ref().is_some_and(is_there) { preamble.len() } else { 0 }
    }

    /// The best copy for `prompt`, whose first `fixed` tokens may be on disk; `None` if there is
    /// none or reading it fails.
    pub fn best(&self, prompt: &[Token], fixed: usize) -> Option<Copied> {
        let mut copies = self.store.copies();
        match copies.longest(&self.model, prompt) {
            Some((shared, index)) if shared >= self.shared_on_disk(&prompt[..fixed]) => {
                let entry = copies.kept.remove(index);
                let copied = entry.copied.clone();
                copies.kept.push(entry);
                Some(copied)
            }
            _ => {
                drop(copies);
                self.store.0.disk.as_ref()?.read(&self.model, &prompt[..fixed])
            }
        }
    }

    /// Keeps a copy if it is long enough, not covered by another, and fits; older copies are
    /// dropped to make room.
    pub fn put(&self, copied: Copied) {
        let bytes = Bytes((copied.saved.bytes() + size_of_val(copied.tokens.as_slice())) as u64);
        if copied.tokens.len() < TOKENS_MIN || bytes > self.store.0.bytes_max {
            return;
        }
        let mut copies = self.store.copies();
        let covered = copies.longest(&self.model, &copied.tokens);
        if covered.is_some_and(|(shared, _)| shared == copied.tokens.len()) {
            return;
        }
        while copies.bytes + bytes > self.store.0.bytes_max && copies.drop_oldest() {}
        self.store.0.spares.make_room(bytes);
        let reservation = loop {
            match self.store.0.ledger.reserve("prefix copies", bytes) {
                Ok(reservation) => break reservation,
                Err(_) if copies.drop_oldest() => {}
                // Models take precedence: if there is no room, nothing is kept, and the prompt is
                // recomputed.
                Err(_) => return,
            }
        };
        let _lease = reservation.commit(bytes);
        copies.bytes += bytes;
        copies.kept.push(Entry { model: self.model.clone(), copied, bytes, _lease });
    }

    /// Storage for the model's checkpoints beyond its contexts' own shares.
    pub fn spares(&self) -> Spares {
        self.store.0.spares.clone()
    }

    /// Reserves memory for a state kept outside the store, dropping copies if necessary. `None` if
    /// there is too little.
    pub fn lease(&self, bytes: usize) -> Option<Lease> {
        let bytes = Bytes(bytes as u64);
        self.store.make_room(bytes);
        Some(self.store.0.ledger.reserve("parked sequence", bytes).ok()?.commit(bytes))
    }

    /// Writes a preamble to disk for later runs when it is seen for the second time, so that texts
    /// used only once are not written.
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
    /// The maximum number of tokens that a copy of `model` shares with the start of `prompt`, and
    /// the position of that copy; `None` if none shares a token.
    fn longest(&self, model: &Fingerprint, prompt: &[Token]) -> Option<(usize, usize)> {
        let of_model = self.kept.iter().enumerate().filter(|(_, entry)| entry.model == *model);
        let shared = of_model.map(|(index, entry)| (slot::shared(&entry.copied.tokens, prompt), index));
        shared.filter(|(shared, _)| *shared > 0).max()
    }

    fn drop_oldest(&mut self) -> bool {
        if self.kept.is_empty() {
            return false;
        }
        let entry = self.kept.remove(0);
        self.bytes = self.bytes.saturating_sub(entry.bytes);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copied(first: i32, length: usize, bytes: usize) -> Copied {
        let tokens: Vec<Token> = (0..length as i32).map(|n| Token(first + n)).collect();
        let saved = Saved { length, state: vec![0; bytes].into(), marks: Vec::new(), places: Vec::new() };
        Copied { saved, cuts: Vec::new(), tokens }
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
        let kept = |one: &Copied| prefixes.shared(&one.tokens, 0) == 100;
        prefixes.put(a.clone());
        prefixes.put(b.clone());
        assert!(prefixes.best(&a.tokens, 0).is_some());
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
        assert_eq!(prefixes.shared(&copied(5000, 100, 0).tokens, 0), 0);
        drop(held);
        assert_eq!(ledger.free().host + prefixes.store.bytes(), Bytes(2500));
    }

    #[test]
    fn the_copy_that_shares_most_tokens_is_used() {
        let (_, prefixes) = store(1 << 20, 1 << 20);
        let (a, b) = (copied(0, 100, 10), copied(0, 90, 10));
        let longer = Copied { tokens: [&b.tokens[..], &copied(500, 30, 10).tokens[..]].concat(), ..b };
        prefixes.put(a.clone());
        prefixes.put(longer.clone());
        let best = |prompt: &[Token]| prefixes.best(prompt, 0).map(|copied| copied.tokens);
        let after = |one: &Copied| [&one.tokens[..95], &[Token(9999)]].concat();
        assert_eq!((prefixes.shared(&after(&a), 0), best(&after(&a))), (95, Some(a.tokens)));
        assert_eq!((prefixes.shared(&after(&longer), 0), best(&after(&longer))), (95, Some(longer.tokens)));
        assert_eq!((prefixes.shared(&[Token(9999)], 0), best(&[Token(9999)])), (0, None));
    }

    #[test]
    fn models_do_not_see_each_others_copies() {
        let (ledger, prefixes) = store(1 << 20, 1 << 20);
        prefixes.put(copied(0, 100, 10));
        let other = prefixes.store.of(Fingerprint::named("n"));
        assert_eq!(other.shared(&copied(0, 100, 10).tokens, 0), 0);
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
