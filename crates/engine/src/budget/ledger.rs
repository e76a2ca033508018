//! The ledger of the process's memory, host and accelerator: reserve first, commit measurements, drop to release.

use crate::base::{OrBug, lock};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use super::Amount;
use super::machine::Machine;
use crate::base::Bytes;

/// The memory ledger. Clones share it. It never promises more than its capacity.
#[derive(Clone, Debug)]
pub struct Ledger(Arc<Mutex<Account>>);

#[derive(Debug)]
struct Account {
    /// The capacity of each memory, and whether host and accelerator share one.
    machine: Machine,
    promised: Amount,
    next: u64,
    entries: BTreeMap<u64, Entry>,
}

/// One entry of the account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub label: String,
    /// Memory promised to it.
    pub bytes: Amount,
    /// Memory measured after loading; `None` while it is only reserved.
    pub measured: Option<Amount>,
}

/// Memory reserved for something about to be loaded. Dropping it releases the memory.
#[derive(Debug)]
pub struct Reservation(Held);

/// Memory of something loaded. Dropping it releases the memory.
#[derive(Debug)]
pub struct Lease(Held);

#[derive(Debug)]
struct Held {
    ledger: Ledger,
    id: u64,
}

/// The error when one of the memories does not have enough left.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Refused {
    pub label: String,
    pub needed: Bytes,
    pub free: Bytes,
    pub capacity: Bytes,
    /// Whether the accelerator's memory is short rather than the host's.
    pub on_device: bool,
    /// The components of `needed`, such as `weights 98.0 MiB, KV 85.0 MiB`; may be empty.
    pub parts: String,
    /// Advice for the user.
    pub way_out: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = if self.on_device { " of the device's memory" } else { "" };
        write!(f, "{} needs {}{of}", self.label, self.needed)?;
        if !self.parts.is_empty() {
            write!(f, " ({})", self.parts)?;
        }
        write!(f, ", {} of {} are free; {}", self.free, self.capacity, self.way_out)
    }
}

impl Refused {
    /// The error for `needed` exceeding `free`, with the numbers of the memory that is short.
    pub fn of(label: &str, needed: Amount, free: Amount, capacity: Amount) -> Refused {
        let on_device = needed.device > free.device;
        let short = |amount: Amount| if on_device { amount.device } else { amount.host };
        Refused {
            label: label.to_owned(),
            needed: short(needed),
            free: short(free),
            capacity: short(capacity),
            on_device,
            parts: String::new(),
            way_out: "raise --budget".into(),
        }
    }
}

impl Ledger {
    /// A ledger of `capacity` bytes of host memory, without an accelerator.
    pub fn new(capacity: Bytes) -> Ledger {
        Ledger::of(Machine::of(capacity))
    }

    /// A ledger of the memories of `machine`.
    pub fn of(machine: Machine) -> Ledger {
        let account = Account { machine, promised: Amount::default(), next: 0, entries: BTreeMap::new() };
        Ledger(Arc::new(Mutex::new(account)))
    }

    /// The machine with its current capacity, including promised memory.
    pub fn machine(&self) -> Machine {
        self.account().machine
    }

    /// Reserves `bytes`, or fails if less is free. Nothing is allocated either way.
    pub fn reserve(&self, label: &str, bytes: impl Into<Amount>) -> Result<Reservation, Refused> {
        let (mut account, bytes) = (self.account(), bytes.into());
        let (free, capacity) = (account.free(), account.machine.capacity());
        if !bytes.fits(free) {
            return Err(Refused::of(label, bytes, free, capacity));
        }
        let id = account.next;
        account.next += 1;
        account.promised += bytes;
        account.entries.insert(id, Entry { label: label.to_owned(), bytes, measured: None });
        Ok(Reservation(Held { ledger: self.clone(), id }))
    }

    /// Adds an entry for something already in memory, limited to the free memory.
    pub fn hold(&self, label: &str, measured: impl Into<Amount>) -> Lease {
        let none = self.reserve(label, Amount::default()).or_bug("nothing always fits");
        none.commit(measured)
    }

    /// Changes the capacity of the host. Promises stay even if they now exceed it; every further
    /// reservation then fails until enough is released.
    pub fn set_capacity(&self, host: Bytes) {
        self.account().machine.host.available = host;
    }

    /// Changes the capacity of the accelerator, with the same effect.
    pub fn set_device_capacity(&self, device: Bytes) {
        if let Some(accelerator) = &mut self.account().machine.accelerator {
            accelerator.free = device;
        }
    }

    /// The sum of all entries.
    pub fn promised(&self) -> Amount {
        self.account().promised
    }

    pub fn capacity(&self) -> Amount {
        self.account().machine.capacity()
    }

    pub fn free(&self) -> Amount {
        self.account().free()
    }

    /// Free memory on the accelerator if there is one, otherwise on the host.
    pub fn main_free(&self) -> Bytes {
        let account = self.account();
        account.machine.main(account.free())
    }

    /// All entries, oldest first.
    pub fn entries(&self) -> Vec<Entry> {
        self.account().entries.values().cloned().collect()
    }

    /// Ignores poisoning: changes to the account cannot panic half-way, so it is consistent even
    /// after a panic.
    fn account(&self) -> MutexGuard<'_, Account> {
        lock(&self.0)
    }
}

impl Account {
    fn free(&self) -> Amount {
        self.machine.capacity().saturating_sub(self.promised)
    }
}

impl Reservation {
    /// Moves `bytes` of this reservation into a separate one: weights, for example, outlive their
    /// first context.
    pub fn split(&self, label: &str, bytes: impl Into<Amount>) -> Reservation {
        let bytes = bytes.into();
        let ledger = &self.0.ledger;
        let mut account = ledger.account();
        let id = account.next;
        account.next += 1;
        let moved = account.entries.get_mut(&self.0.id).map_or(Amount::default(), |entry| {
            let moved = bytes.min(entry.bytes);
            entry.bytes = entry.bytes.saturating_sub(moved);
            moved
        });
        account.entries.insert(id, Entry { label: label.to_owned(), bytes: moved, measured: None });
        drop(account);
        Reservation(Held { ledger: ledger.clone(), id })
    }

    /// Records the memory actually used. If less than reserved, the rest is released; if more, the
    /// excess is added as far as memory is free.
    pub fn commit(self, measured: impl Into<Amount>) -> Lease {
        let (Reservation(held), measured) = (self, measured.into());
        let mut account = held.ledger.account();
        let free = account.free();
        let mut change = (Amount::default(), Amount::default());
        if let Some(entry) = account.entries.get_mut(&held.id) {
            let booked = measured.min(entry.bytes + free);
            if booked != measured {
                tracing::warn!(
                    "{} took {measured}, but {} were reserved and the rest is not free; memory may run short",
                    entry.label,
                    entry.bytes
                );
            }
            change = (entry.bytes, booked);
            entry.bytes = booked;
            entry.measured = Some(measured);
        }
        account.promised = account.promised.saturating_sub(change.0) + change.1;
        drop(account);
        Lease(held)
    }
}

impl Lease {
    /// The memory of this lease's entry.
    pub fn bytes(&self) -> Amount {
        self.0.ledger.account().entries.get(&self.0.id).map_or(Amount::default(), |entry| entry.bytes)
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
    use crate::budget::machine::Kind;

    #[test]
    fn a_refusal_names_needed_and_free_memory() {
        let ledger = Ledger::new(Bytes::mib(50));
        let held = ledger.reserve("embedder", Bytes::mib(20)).unwrap();
        let refused = ledger.reserve("planner", Bytes::mib(212)).unwrap_err();
        assert_eq!(refused.to_string(), "planner needs 212.0 MiB, 30.0 MiB of 50.0 MiB are free; raise --budget");
        drop(held);
        assert_eq!(ledger.free(), Bytes::mib(50).into());
    }

    #[test]
    fn a_commit_frees_what_was_not_taken_and_adds_what_is_free() {
        let check = |measured: u64, booked: u64| {
            let ledger = Ledger::new(Bytes(100));
            let lease = ledger.reserve("a", Bytes(60)).unwrap().commit(Bytes(measured));
            assert_eq!((lease.bytes().host, ledger.free().host), (Bytes(booked), Bytes(100 - booked)));
            assert_eq!(ledger.entries()[0].measured, Some(Bytes(measured).into()));
            drop(lease);
            assert_eq!((ledger.free().host, ledger.entries().len()), (Bytes(100), 0));
        };
        check(40, 40);
        check(150, 100);
    }

    #[test]
    fn a_part_split_off_is_released_on_its_own() {
        let ledger = Ledger::new(Bytes(100));
        let whole = ledger.reserve("context", Bytes(60)).unwrap();
        let weights = whole.split("weights", Bytes(40)).commit(Bytes(40));
        let other = ledger.reserve("other", Bytes(10)).unwrap();
        let labels: Vec<String> = ledger.entries().into_iter().map(|entry| entry.label).collect();
        assert_eq!(labels, ["context", "weights", "other"]);
        drop(other);
        assert_eq!((weights.bytes().host, ledger.free().host), (Bytes(40), Bytes(40)));
        drop(whole);
        assert_eq!(ledger.free().host, Bytes(60));
        drop(weights);
        assert_eq!((ledger.free().host, ledger.entries().len()), (Bytes(100), 0));
    }

    #[test]
    fn a_smaller_capacity_refuses_new_reservations_and_keeps_old_ones() {
        let ledger = Ledger::new(Bytes(100));
        let lease = ledger.reserve("a", Bytes(60)).unwrap().commit(Bytes(60));
        ledger.set_capacity(Bytes(50));
        assert_eq!(
            (lease.bytes().host, ledger.free().host, ledger.promised().host),
            (Bytes(60), Bytes::ZERO, Bytes(60))
        );
        assert!(ledger.reserve("b", Bytes(1)).is_err());
        drop(lease);
        assert!(ledger.reserve("b", Bytes(50)).is_ok());
        ledger.set_capacity(Bytes(200));
        assert_eq!(ledger.free().host, Bytes(200));
    }

    #[test]
    fn each_memory_has_its_own_account() {
        let card = Ledger::of(Machine::of(Bytes::gib(8)).with_card(Kind::Cuda, Bytes::gib(4)));
        let held = card.reserve("planner", Amount { host: Bytes::gib(1), device: Bytes::gib(3) }).unwrap();
        assert_eq!(card.free().host, Bytes::gib(7));
        assert_eq!(card.main_free(), card.free().device);
        assert_eq!(Ledger::new(Bytes(100)).main_free(), Bytes(100));
        let refused = card.reserve("router", Amount { host: Bytes::ZERO, device: Bytes::gib(1) }).unwrap_err();
        assert!(refused.to_string().starts_with("router needs 1.0 GiB of the device's memory, "), "{refused}");
        assert!(card.reserve("router", Bytes::gib(7)).is_ok());
        let lease = held.commit(Amount { host: Bytes::gib(1), device: Bytes::gib(2) });
        assert!(card.reserve("router", Amount { host: Bytes::ZERO, device: Bytes::gib(1) }).is_ok());
        drop(lease);
        assert_eq!(card.promised(), Amount::default());
    }

    #[test]
    fn shared_memory_counts_on_both_accounts() {
        let mac = Ledger::of(Machine::metal(Bytes::gib(16)));
        let before = mac.free();
        let planner = mac.machine().amount(Bytes::gib(1), Bytes::gib(6));
        let held = mac.reserve("planner", planner).unwrap();
        assert_eq!(before.saturating_sub(mac.free()), Amount { host: Bytes::gib(7), device: Bytes::gib(6) });
        let system = mac.reserve("everything else", Bytes::gib(8)).unwrap();
        let refused = mac.reserve("router", mac.machine().amount(Bytes::ZERO, Bytes::gib(1))).unwrap_err();
        assert!(!refused.on_device && refused.free < Bytes::gib(1), "{refused}");
        drop((held, system));
        assert_eq!(mac.free(), before);
    }

    /// Reserves, commits and drops; the first number of each action selects the operation.
    fn act(ledger: &Ledger, actions: &[(u8, u64)]) {
        let (mut reserved, mut leased) = (Vec::new(), Vec::new());
        for &(action, bytes) in actions {
            match action % 4 {
                0 | 1 => reserved.extend(ledger.reserve("x", Bytes(bytes))),
                2 => leased.extend(reserved.pop().map(|held: Reservation| held.commit(Bytes(bytes)))),
                _ => drop(leased.pop()),
            }
            // Other threads may act between two calls, so the sum is exact only over a single
            // reading of the entries.
            let held: Amount = ledger.entries().iter().map(|entry| entry.bytes).sum();
            assert!(held.fits(ledger.capacity()), "{held} of {} promised", ledger.capacity());
        }
    }

    proptest! {
        #[test]
        fn no_more_is_promised_than_there_is(
            capacity in 0u64..2000,
            threads in proptest::collection::vec(proptest::collection::vec((any::<u8>(), 0u64..1000), 0..40), 1..4),
        ) {
            let ledger = Ledger::new(Bytes(capacity));
            thread::scope(|scope| {
                for actions in &threads {
                    scope.spawn(|| act(&ledger, actions));
                }
            });
            prop_assert_eq!(ledger.free().host, Bytes(capacity));
            prop_assert!(ledger.entries().is_empty());
        }
    }
}
