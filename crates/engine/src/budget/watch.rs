//! Adjusts the ledger to the machine's available memory: lowers it at once, and raises it only after several readings.

use super::Ledger;
use super::machine::HEADROOM;
use crate::base::Bytes;

/// Smaller differences are ignored, because other programs cause them all the time.
const SMALL_CHANGE: Bytes = Bytes::mib(256);

/// Number of consecutive readings that must show more memory before the capacity rises.
const PATIENCE: u32 = 5;

/// The state between readings.
#[derive(Clone, Debug)]
pub struct Watch {
    /// Maximum capacity, regardless of how much memory is available.
    ceiling: Bytes,
    more_seen: u32,
    least_more: Bytes,
}

impl Watch {
    pub fn new(ceiling: Bytes) -> Watch {
        Watch { ceiling, more_seen: 0, least_more: Bytes::ZERO }
    }

    /// The new capacity if it must change, given the memory `available` on the machine and the
    /// anonymous memory that this process `holds` (mapped weights count as available, because the
    /// system can reclaim them).
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

    /// Takes one reading of this machine and adjusts the host capacity of `ledger`.
    pub fn poll(&mut self, ledger: &Ledger) {
        // If this process's own memory were not added, each load would look like a drop in
        // available memory.
        let Some((holds, _)) = super::process::anonymous_and_mapped() else { return };
        let Some(host) = super::device::host() else { return };
        let before = ledger.capacity().host;
        if let Some(capacity) = self.next(before, host.available, holds) {
            tracing::info!("{capacity} of memory is available for models, previously {before}");
            ledger.set_capacity(capacity);
        }
    }

    /// Adjusts the capacity of an accelerator that now has `free` bytes. Does nothing during a
    /// load, because it is not known how much of the load is already in memory.
    pub fn poll_device(&mut self, ledger: &Ledger, free: Bytes) {
        if ledger.entries().iter().any(|entry| entry.measured.is_none()) {
            return;
        }
        let (before, holds) = (ledger.capacity().device, ledger.promised().device);
        // The accelerator needs no headroom: all of `free` may be used, because other programs use
        // the host.
        if let Some(capacity) = self.next(before, free + HEADROOM, holds) {
            tracing::info!("{capacity} of the accelerator's memory is available for models, previously {before}");
            ledger.set_device_capacity(capacity);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Amount;
    use crate::budget::machine::{Kind, Machine};

    /// A sequence of readings of available memory in MiB, with a ledger of 4,096 and a ceiling of
    /// 8,192.
    fn check(readings: &[u64], expected: u64) {
        let (mut watch, mut capacity) = (Watch::new(Bytes::gib(8)), Bytes::gib(4));
        for &available in readings {
            capacity = watch.next(capacity, Bytes::mib(available) + HEADROOM, Bytes::ZERO).unwrap_or(capacity);
        }
        assert_eq!(capacity, Bytes::mib(expected), "{readings:?}");
    }

    #[test]
    fn capacity_falls_at_once_and_rises_only_after_several_readings() {
        check(&[4096, 4000, 4300], 4096);
        check(&[2000], 2000);
        check(&[6000, 6000, 6000, 6000], 4096);
        check(&[6000, 6000, 5500, 6000, 6000], 5500);
        check(&[6000, 6000, 4096, 6000, 6000, 6000], 4096);
        check(&[2000, 9000, 9000, 9000, 9000, 9000], 8192);
        check(&[4300; 9], 4096);
        check(&[4352; 5], 4352);
        check(&[8000, 8000, 8000, 8000, 8000, 9000, 9000, 9000, 9000, 9000], 8192);
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
    #[cfg(target_os = "linux")]
    fn a_reading_of_this_machine_lowers_too_high_a_capacity() {
        let most = Bytes::gib(1 << 20);
        let ledger = Ledger::new(most);
        Watch::new(most).poll(&ledger);
        assert!(ledger.capacity().host < most);
    }

    #[test]
    fn memory_of_this_process_does_not_lower_the_capacity() {
        let mut watch = Watch::new(Bytes::gib(8));
        assert_eq!(watch.next(Bytes::gib(4), Bytes::gib(1) + HEADROOM, Bytes::gib(3)), None);
    }
}
