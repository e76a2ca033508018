//! The account of memory of the whole process, the host's and an accelerator's: reserve before allocating, commit when
//! measured, release by dropping.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Amount;
use super::machine::Machine;
use crate::base::Bytes;

/// The account. Clones share it. What it has promised never exceeds its capacity.
#[derive(Clone, Debug)]
pub struct Ledger(Arc<Mutex<Account>>);

#[derive(Debug)]
struct Account {
    /// What may be used in each memory, and whether they are one.
    machine: Machine,
    promised: Amount,
    next: u64,
    entries: BTreeMap<u64, Entry>,
}

/// One line of the account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub label: String,
    /// What is held for it.
    pub bytes: Amount,
    /// What was measured after loading; `None` while only reserved.
    pub measured: Option<Amount>,
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

/// There is not enough left in one of the memories.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Refused {
    pub label: String,
    pub needed: Bytes,
    pub free: Bytes,
    pub capacity: Bytes,
    /// It is the accelerator's memory that is short.
    pub on_device: bool,
    /// What the needed memory is made of, `weights 98.0 MiB, KV 85.0 MiB` say; empty if nobody explained.
    pub parts: String,
    /// What to do about it.
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
    /// `needed` is more than is `free`: says so of the memory that is short.
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
    /// Of `capacity` bytes of host memory, and no accelerator.
    pub fn new(capacity: Bytes) -> Ledger {
        Ledger::of(Machine::of(capacity))
    }

    /// Of what `machine` has for us in each of its memories.
    pub fn of(machine: Machine) -> Ledger {
        let account = Account { machine, promised: Amount::default(), next: 0, entries: BTreeMap::new() };
        Ledger(Arc::new(Mutex::new(account)))
    }

    /// The machine with what may be used of it now, promised or not.
    pub fn machine(&self) -> Machine {
        self.account().machine
    }

    /// Sets `bytes` aside, or says why not. Nothing is allocated either way.
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

    /// Puts what is in memory already on the account, as far as there is room on it.
    pub fn hold(&self, label: &str, measured: impl Into<Amount>) -> Lease {
        let none = self.reserve(label, Amount::default()).expect("nothing always fits; this is a bug in fits");
        none.commit(measured)
    }

    /// There is more or less host memory than before. What is promised stays promised, even where it is now too much:
    /// then nothing new is let in until enough was given back.
    pub fn set_capacity(&self, host: Bytes) {
        self.account().machine.host.available = host;
    }

    /// The same for an accelerator's memory.
    pub fn set_device_capacity(&self, device: Bytes) {
        if let Some(accelerator) = &mut self.account().machine.accelerator {
            accelerator.free = device;
        }
    }

    /// What is promised in all, of each account.
    pub fn promised(&self) -> Amount {
        self.account().promised
    }

    pub fn capacity(&self) -> Amount {
        self.account().machine.capacity()
    }

    pub fn free(&self) -> Amount {
        self.account().free()
    }

    /// Free bytes where models mostly live.
    pub fn main_free(&self) -> Bytes {
        let account = self.account();
        account.machine.main(account.free())
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
    fn free(&self) -> Amount {
        self.machine.capacity().saturating_sub(self.promised)
    }
}

impl Reservation {
    /// Books `bytes` of what is set aside apart, under a name of its own: weights outlive their first context, say.
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

    /// Notes what was really taken. Less than reserved frees the rest at once; more is held as far as the capacity goes.
    pub fn commit(self, measured: impl Into<Amount>) -> Lease {
        let (Reservation(held), measured) = (self, measured.into());
        let mut account = held.ledger.account();
        let free = account.free();
        let mut change = (Amount::default(), Amount::default());
        if let Some(entry) = account.entries.get_mut(&held.id) {
            let holds = measured.min(entry.bytes + free);
            if holds != measured {
                tracing::warn!(
                    "{} took {measured}, {} were reserved and the rest is not free; memory may run short",
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
    fn a_refusal_carries_the_arithmetic() {
        let ledger = Ledger::new(Bytes::mib(50));
        let held = ledger.reserve("embedder", Bytes::mib(20)).unwrap();
        let refused = ledger.reserve("planner", Bytes::mib(212)).unwrap_err();
        assert_eq!(refused.to_string(), "planner needs 212.0 MiB, 30.0 MiB of 50.0 MiB are free; raise --budget");
        drop(held);
        assert_eq!(ledger.free(), Bytes::mib(50).into());
    }

    #[test]
    fn a_commit_below_the_reservation_frees_the_rest() {
        let ledger = Ledger::new(Bytes(100));
        let lease = ledger.reserve("a", Bytes(60)).unwrap().commit(Bytes(40));
        assert_eq!((lease.bytes().host, ledger.free().host), (Bytes(40), Bytes(60)));
        drop(lease);
        assert_eq!((ledger.free().host, ledger.entries().len()), (Bytes(100), 0));
    }

    #[test]
    fn a_part_split_off_is_given_back_on_its_own() {
        let ledger = Ledger::new(Bytes(100));
        let whole = ledger.reserve("context", Bytes(60)).unwrap();
        let weights = whole.split("weights", Bytes(40)).commit(Bytes(40));
        assert_eq!((weights.bytes().host, ledger.free().host), (Bytes(40), Bytes(40)));
        drop(whole);
        assert_eq!(ledger.free().host, Bytes(60));
        drop(weights);
        assert_eq!((ledger.free().host, ledger.entries().len()), (Bytes(100), 0));
    }

    #[test]
    fn a_commit_above_the_reservation_is_held_as_far_as_there_is_room() {
        let ledger = Ledger::new(Bytes(100));
        let lease = ledger.reserve("a", Bytes(60)).unwrap().commit(Bytes(150));
        assert_eq!((lease.bytes().host, ledger.free().host), (Bytes(100), Bytes::ZERO));
        assert_eq!(ledger.entries()[0].measured, Some(Bytes(150).into()));
        drop(lease);
        assert_eq!(ledger.free().host, Bytes(100));
    }

    #[test]
    fn a_shrunken_account_lets_nothing_in_and_throws_nobody_out() {
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
        let refused = card.reserve("router", Amount { host: Bytes::ZERO, device: Bytes::gib(1) }).unwrap_err();
        assert!(refused.to_string().starts_with("router needs 1.0 GiB of the device's memory, "), "{refused}");
        assert!(card.reserve("router", Bytes::gib(7)).is_ok());
        let lease = held.commit(Amount { host: Bytes::gib(1), device: Bytes::gib(2) });
        assert!(card.reserve("router", Amount { host: Bytes::ZERO, device: Bytes::gib(1) }).is_ok());
        drop(lease);
        assert_eq!(card.promised(), Amount::default());
    }

    #[test]
    fn what_lies_in_a_shared_memory_counts_on_both_accounts() {
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
            let held: Amount = ledger.entries().iter().map(|entry| entry.bytes).sum();
            assert!(held.fits(ledger.capacity()), "{held} of {} promised", ledger.capacity());
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
            prop_assert_eq!(ledger.free().host, Bytes(capacity));
            prop_assert!(ledger.entries().is_empty());
        }
    }
}
