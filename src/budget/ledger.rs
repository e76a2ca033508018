//! One account of memory for the whole process: reserve before allocating, commit when measured, release by dropping.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::base::Bytes;

/// The account. Clones share it. What it has promised never exceeds its capacity.
#[derive(Clone, Debug)]
pub struct Ledger(Arc<Mutex<Account>>);

#[derive(Debug)]
struct Account {
    capacity: Bytes,
    promised: Bytes,
    next: u64,
    entries: BTreeMap<u64, Entry>,
}

/// One line of the account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub label: String,
    /// What is held for it.
    pub bytes: Bytes,
    /// What was measured after loading; `None` while only reserved.
    pub measured: Option<Bytes>,
}

/// Memory set aside for something about to be loaded. Dropping it gives the memory back.
#[derive(Debug)]
pub struct Reservation(Held);

/// Memory of something that is loaded. Dropping it gives the memory back.
#[derive(Debug)]
pub struct Lease(Held);

#[derive(Debug)]
struct Held {
    ledger: Ledger,
    id: u64,
}

/// There is not enough left.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Refused {
    pub label: String,
    pub needed: Bytes,
    pub free: Bytes,
    pub capacity: Bytes,
    /// What the needed memory is made of, `weights 98.0 MiB, KV 85.0 MiB` say; empty if nobody explained.
    pub parts: String,
    /// What to do about it.
    pub way_out: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} needs {}", self.label, self.needed)?;
        if !self.parts.is_empty() {
            write!(f, " ({})", self.parts)?;
        }
        write!(f, ", {} of {} are free; {}", self.free, self.capacity, self.way_out)
    }
}

impl Ledger {
    pub fn new(capacity: Bytes) -> Ledger {
        let account = Account { capacity, promised: Bytes::ZERO, next: 0, entries: BTreeMap::new() };
        Ledger(Arc::new(Mutex::new(account)))
    }

    /// Sets `bytes` aside, or says why not. Nothing is allocated either way.
    pub fn reserve(&self, label: &str, bytes: Bytes) -> Result<Reservation, Refused> {
        let mut account = self.account();
        if bytes > account.free() {
            return Err(Refused {
                label: label.to_owned(),
                needed: bytes,
                free: account.free(),
                capacity: account.capacity,
                parts: String::new(),
                way_out: "raise --budget".into(),
            });
        }
        let id = account.next;
        account.next += 1;
        account.promised += bytes;
        account.entries.insert(id, Entry { label: label.to_owned(), bytes, measured: None });
        Ok(Reservation(Held { ledger: self.clone(), id }))
    }

    /// There is more or less memory than before. What is promised stays promised, even where it is now too much: then
    /// nothing new is let in until enough was given back.
    pub fn set_capacity(&self, capacity: Bytes) {
        self.account().capacity = capacity;
    }

    /// What is promised in all.
    pub fn promised(&self) -> Bytes {
        self.account().promised
    }

    pub fn capacity(&self) -> Bytes {
        self.account().capacity
    }

    pub fn free(&self) -> Bytes {
        self.account().free()
    }

    /// The account line by line, oldest first.
    pub fn entries(&self) -> Vec<Entry> {
        self.account().entries.values().cloned().collect()
    }

    /// The account is changed in single steps that cannot panic half-way, so a poisoned lock still guards the truth.
    fn account(&self) -> MutexGuard<'_, Account> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Account {
    fn free(&self) -> Bytes {
        self.capacity.saturating_sub(self.promised)
    }
}

impl Reservation {
    /// Notes what was really taken. Less than reserved frees the rest at once; more is held as far as the capacity goes.
    pub fn commit(self, measured: Bytes) -> Lease {
        let Reservation(held) = self;
        let mut account = held.ledger.account();
        let free = account.free();
        let mut change = (Bytes::ZERO, Bytes::ZERO);
        if let Some(entry) = account.entries.get_mut(&held.id) {
            let holds = measured.min(entry.bytes + free);
            if holds < measured {
                tracing::warn!(
                    "{} took {measured}, {} were reserved; the estimate was too low",
                    entry.label,
                    entry.bytes
                );
            }
            change = (entry.bytes, holds);
            entry.bytes = holds;
            entry.measured = Some(measured);
        }
        account.promised = account.promised.saturating_sub(change.0) + change.1;
        drop(account);
        Lease(held)
    }
}

impl Lease {
    /// What is held.
    pub fn bytes(&self) -> Bytes {
        self.0.ledger.account().entries.get(&self.0.id).map_or(Bytes::ZERO, |entry| entry.bytes)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut account = self.ledger.account();
        if let Some(entry) = account.entries.remove(&self.id) {
            account.promised = account.promised.saturating_sub(entry.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_refusal_carries_the_arithmetic() {
        let ledger = Ledger::new(Bytes::mib(50));
        let held = ledger.reserve("embedder", Bytes::mib(20)).unwrap();
        let refused = ledger.reserve("planner", Bytes::mib(212)).unwrap_err();
        assert_eq!(refused.to_string(), "planner needs 212.0 MiB, 30.0 MiB of 50.0 MiB are free; raise --budget");
        drop(held);
        assert_eq!(ledger.free(), Bytes::mib(50));
    }

    #[test]
    fn a_commit_below_the_reservation_frees_the_rest() {
        let ledger = Ledger::new(Bytes(100));
        let lease = ledger.reserve("a", Bytes(60)).unwrap().commit(Bytes(40));
        assert_eq!((lease.bytes(), ledger.free()), (Bytes(40), Bytes(60)));
        drop(lease);
        assert_eq!((ledger.free(), ledger.entries().len()), (Bytes(100), 0));
    }

    #[test]
    fn a_commit_above_the_reservation_is_held_as_far_as_there_is_room() {
        let ledger = Ledger::new(Bytes(100));
        let lease = ledger.reserve("a", Bytes(60)).unwrap().commit(Bytes(150));
        assert_eq!((lease.bytes(), ledger.free()), (Bytes(100), Bytes::ZERO));
        assert_eq!(ledger.entries()[0].measured, Some(Bytes(150)));
        drop(lease);
        assert_eq!(ledger.free(), Bytes(100));
    }

    #[test]
    fn a_shrunken_account_lets_nothing_in_and_throws_nobody_out() {
        let ledger = Ledger::new(Bytes(100));
        let lease = ledger.reserve("a", Bytes(60)).unwrap().commit(Bytes(60));
        ledger.set_capacity(Bytes(50));
        assert_eq!((lease.bytes(), ledger.free(), ledger.promised()), (Bytes(60), Bytes::ZERO, Bytes(60)));
        assert!(ledger.reserve("b", Bytes(1)).is_err());
        drop(lease);
        assert!(ledger.reserve("b", Bytes(50)).is_ok());
        ledger.set_capacity(Bytes(200));
        assert_eq!(ledger.free(), Bytes(200));
    }

    /// Reserves, commits and drops as told; the first number picks the deed.
    fn act(ledger: &Ledger, deeds: &[(u8, u64)]) {
        let (mut reserved, mut leased) = (Vec::new(), Vec::new());
        for &(deed, bytes) in deeds {
            match deed % 4 {
                0 | 1 => reserved.extend(ledger.reserve("x", Bytes(bytes))),
                2 => leased.extend(reserved.pop().map(|held: Reservation| held.commit(Bytes(bytes)))),
                _ => drop(leased.pop()),
            }
            // Held memory and free memory are read one after the other, so only the sum within the account is exact.
            let held: Bytes = ledger.entries().iter().map(|entry| entry.bytes).sum();
            assert!(held <= ledger.capacity(), "{held} of {} promised", ledger.capacity());
        }
    }

    proptest! {
        #[test]
        fn no_more_is_promised_than_there_is(
            capacity in 0u64..2000,
            deeds in proptest::collection::vec(proptest::collection::vec((any::<u8>(), 0u64..1000), 0..40), 1..4),
        ) {
            let ledger = Ledger::new(Bytes(capacity));
            thread::scope(|scope| {
                for deeds in &deeds {
                    scope.spawn(|| act(&ledger, deeds));
                }
            });
            prop_assert_eq!(ledger.free(), Bytes(capacity));
            prop_assert!(ledger.entries().is_empty());
        }
    }
}
