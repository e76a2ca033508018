//! Follows the machine's free memory with the ledger's capacity: down at once, up only after a while.

use super::Ledger;
use super::machine::HEADROOM;
use crate::base::Bytes;

/// How far two readings must differ before anything changes: other programs come and go by this much all the time.
const SMALL_CHANGE: Bytes = Bytes::mib(256);

/// Readings in a row that must show more memory before it is believed.
const PATIENCE: u32 = 5;

/// Remembers how long there has been more memory than the ledger has.
#[derive(Clone, Debug)]
pub struct Watch {
    /// Never more than this, whatever is free.
    ceiling: Bytes,
    more_seen: u32,
    least_more: Bytes,
}

impl Watch {
    pub fn new(ceiling: Bytes) -> Watch {
        Watch { ceiling, more_seen: 0, least_more: Bytes::ZERO }
    }

    /// The new capacity, if it is to change: `available` on the machine now, beside what this process `holds` of its own
    /// (mapped weights count as available: the system can take them back).
    pub fn next(&mut self, capacity: Bytes, available: Bytes, holds: Bytes) -> Option<Bytes> {
        let possible = (available + holds).saturating_sub(HEADROOM).min(self.ceiling);
        if possible + SMALL_CHANGE <= capacity {
            self.more_seen = 0;
            return Some(possible);
        }
        if possible <= capacity || (possible < capacity + SMALL_CHANGE && possible < self.ceiling) {
            self.more_seen = 0;
            return None;
        }
        self.least_more = if self.more_seen == 0 { possible } else { self.least_more.min(possible) };
        self.more_seen += 1;
        if self.more_seen < PATIENCE {
            return None;
        }
        self.more_seen = 0;
        Some(self.least_more)
    }

    /// Takes one reading of this machine and changes `ledger` by it.
    pub fn poll(&mut self, ledger: &Ledger) {
        // Without knowing what is our own, every load of ours would look like a loss.
        let Some((holds, _)) = super::process::anonymous_and_mapped() else { return };
        let Some(host) = super::device::host() else { return };
        let before = ledger.capacity().host;
        if let Some(capacity) = self.next(before, host.available, holds) {
            tracing::info!("{capacity} of memory are there for models, {before} before");
            ledger.set_capacity(capacity);
        }
    }

    /// The same for an accelerator that has `free` bytes now. While something is being loaded nobody knows how much of
    /// it is there already.
    pub fn poll_device(&mut self, ledger: &Ledger, free: Bytes) {
        if ledger.entries().iter().any(|entry| entry.measured.is_none()) {
            return;
        }
        let (before, holds) = (ledger.capacity().device, ledger.promised().device);
        // The driver says what may be taken; the rest of the machine lives elsewhere.
        if let Some(capacity) = self.next(before, free + HEADROOM, holds) {
            tracing::info!("{capacity} of the accelerator's memory are there for models, {before} before");
            ledger.set_device_capacity(capacity);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Amount;
    use crate::budget::machine::{Kind, Machine};

    /// Readings of available memory in MiB, one after the other, with a ledger of 4,096 and a ceiling of 8,192.
    fn check(readings: &[u64], expected: u64) {
        let (mut watch, mut capacity) = (Watch::new(Bytes::gib(8)), Bytes::gib(4));
        for &available in readings {
            capacity = watch.next(capacity, Bytes::mib(available) + HEADROOM, Bytes::ZERO).unwrap_or(capacity);
        }
        assert_eq!(capacity, Bytes::mib(expected), "{readings:?}");
    }

    #[test]
    fn less_memory_counts_at_once_and_more_only_when_it_stays() {
        check(&[4096, 4000, 4300], 4096);
        check(&[2000], 2000);
        check(&[6000, 6000, 6000, 6000], 4096);
        check(&[6000, 6000, 5500, 6000, 6000], 5500);
        check(&[6000, 6000, 4096, 6000, 6000, 6000], 4096);
        check(&[2000, 9000, 9000, 9000, 9000, 9000], 8192);
    }

    #[test]
    fn an_accelerators_memory_is_followed_but_not_during_a_load() {
        let ledger = Ledger::of(Machine::of(Bytes::gib(8)).with_card(Kind::Vulkan, Bytes::gib(4)));
        let mut watch = Watch::new(Bytes::gib(4));
        let model = ledger.reserve("planner", Amount { host: Bytes::ZERO, device: Bytes::gib(2) }).unwrap();
        let before = ledger.capacity();
        watch.poll_device(&ledger, Bytes::mib(100));
        assert_eq!(ledger.capacity(), before);
        let _model = model.commit(Amount { host: Bytes::ZERO, device: Bytes::gib(2) });
        watch.poll_device(&ledger, Bytes::mib(100));
        assert_eq!(ledger.capacity(), Amount { device: Bytes::mib(2148), ..before });
    }

    #[test]
    fn what_this_process_holds_is_no_loss() {
        let mut watch = Watch::new(Bytes::gib(8));
        assert_eq!(watch.next(Bytes::gib(4), Bytes::gib(1) + HEADROOM, Bytes::gib(3)), None);
    }
}
