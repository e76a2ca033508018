//! Describes the memories in which models can be placed: the host's, and an accelerator's own or shared one.

use std::fmt;
use std::str::FromStr;

use super::Amount;
use super::device::{self, HostMemory};
use crate::base::Bytes;

/// Kinds of accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Cuda,
    Metal,
    Vulkan,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Cuda => "cuda",
            Kind::Metal => "metal",
            Kind::Vulkan => "vulkan",
        })
    }
}

/// An accelerator at one point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accelerator {
    pub kind: Kind,
    /// Whether it uses part of the host's memory; if false, it has its own.
    pub shared: bool,
    pub total: Bytes,
    /// Memory that this program may still use; on Metal the working set minus the memory in use.
    pub free: Bytes,
    /// Read bandwidth of its memory, in bytes per second.
    pub bandwidth: Bytes,
}

impl Accelerator {
    /// An accelerator as reported by its driver, with an assumed bandwidth.
    pub fn found(kind: Kind, shared: bool, total: Bytes, free: Bytes) -> Accelerator {
        let bandwidth = match (kind, shared) {
            (Kind::Metal, _) => METAL_BANDWIDTH,
            (_, true) => HOST_BANDWIDTH,
            (_, false) => CARD_BANDWIDTH,
        };
        Accelerator { kind, shared, total, free, bandwidth }
    }
}

/// A machine at one point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    pub host: HostMemory,
    /// Read bandwidth of the host's memory for all cores together, in bytes per second.
    pub host_bandwidth: Bytes,
    pub accelerator: Option<Accelerator>,
}

/// Memory that driver and libraries take on a card before any model is loaded: 0.7 GB on a 16 GB
/// card.
const CARD_OVERHEAD: Bytes = Bytes(700_000_000);

/// Assumed bandwidths in bytes per second: two channels of DDR5-5600 at half their 90 GB/s, a card
/// like the RTX 4060, a base M4.
const HOST_BANDWIDTH: Bytes = Bytes(45_000_000_000);
const CARD_BANDWIDTH: Bytes = Bytes(256_000_000_000);
const METAL_BANDWIDTH: Bytes = Bytes(120_000_000_000);

/// Memory left to other programs.
pub const HEADROOM: Bytes = Bytes::mib(512);

impl Machine {
    /// This machine without its accelerator; `None` if its memory is unknown.
    pub fn here() -> Option<Machine> {
        Some(Machine { host: device::host()?, host_bandwidth: HOST_BANDWIDTH, accelerator: None })
    }

    /// A machine with `bytes` of available host memory and no accelerator.
    pub fn of(bytes: Bytes) -> Machine {
        let host = HostMemory { total: bytes, available: bytes };
        Machine { host, host_bandwidth: HOST_BANDWIDTH, accelerator: None }
    }

    /// The machine with a card that has `bytes` of its own memory.
    pub fn with_card(self, kind: Kind, bytes: Bytes) -> Machine {
        let free = bytes.saturating_sub(CARD_OVERHEAD);
        self.with(Some(Accelerator::found(kind, false, bytes, free)))
    }

    /// The machine with this accelerator.
    pub fn with(self, accelerator: Option<Accelerator>) -> Machine {
        Machine { accelerator, ..self }
    }

    /// An Apple machine with `bytes` of memory shared by host and GPU.
    pub fn metal(bytes: Bytes) -> Machine {
        let available = bytes.saturating_sub(HEADROOM);
        let gpu = Accelerator::found(Kind::Metal, true, bytes, working_set(bytes));
        let host = HostMemory { total: bytes, available };
        Machine { host, host_bandwidth: METAL_BANDWIDTH, accelerator: Some(gpu) }
    }

    /// Whether host and accelerator have separate memories, so that moving a layer frees memory.
    pub fn is_separate(&self) -> bool {
        self.accelerator.is_some_and(|gpu| !gpu.shared)
    }

    /// The machine with at most `budget` usable bytes: of the accelerator's memory if there is one,
    /// otherwise of the host's.
    pub fn limited_to(mut self, budget: Bytes) -> Machine {
        match &mut self.accelerator {
            Some(gpu) => gpu.free = gpu.free.min(budget),
            None => self.host.available = self.host.available.min(budget),
        }
        self
    }

    /// Usable bytes of each memory.
    pub fn capacity(&self) -> Amount {
        Amount { host: self.host.available, device: self.accelerator.map_or(Bytes::ZERO, |gpu| gpu.free) }
    }

    /// Bytes used by the CPU and by the accelerator, as an amount on the two accounts: in shared
    /// memory, the accelerator's bytes count on both.
    pub fn amount(&self, host: Bytes, device: Bytes) -> Amount {
        match self.accelerator {
            Some(gpu) if gpu.shared => Amount { host: host + device, device },
            Some(_) => Amount { host, device },
            None => (host + device).into(),
        }
    }

    /// All bytes of `amount`, each counted once.
    pub fn total(&self, amount: Amount) -> Bytes {
        if self.is_separate() { amount.host + amount.device } else { amount.host }
    }

    /// The part of `amount` in the models' main memory: the accelerator's if there is one,
    /// otherwise the host's.
    pub fn main(&self, amount: Amount) -> Bytes {
        if self.accelerator.is_some() { amount.device } else { amount.host }
    }

    /// Capacity of the models' main memory, see [`Machine::main`].
    pub fn main_memory(&self) -> Bytes {
        self.main(self.capacity())
    }
}

/// GPU memory that Metal allows one program (`recommendedMaxWorkingSetSize`): two thirds of memory
/// up to 36 GiB, three quarters above, unless `iogpu.wired_limit_mb` is set.
fn working_set(total: Bytes) -> Bytes {
    if total <= Bytes::gib(36) { Bytes(total.0 / 3 * 2) } else { Bytes(total.0 / 4 * 3) }
}

/// A machine as a user writes it: `cpu`, `cpu:16GiB`, `cuda:8GiB`, `vulkan:8GiB+16GiB` (card and host memory), `metal:16GiB`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceName {
    kind: Option<Kind>,
    size: Option<Bytes>,
    host: Option<Bytes>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a device; write cpu, cpu:16GiB, cuda:8GiB, cuda:8GiB+16GiB (card + host memory; vulkan likewise) or metal:16GiB"
)]
pub struct NotDevice(String);

impl FromStr for DeviceName {
    type Err = NotDevice;

    fn from_str(text: &str) -> Result<DeviceName, NotDevice> {
        let wrong = || NotDevice(text.to_owned());
        let (name, sizes) = text.split_once(':').map_or((text, None), |(name, sizes)| (name, Some(sizes)));
        let kind = match name.to_ascii_lowercase().as_str() {
            "cpu" => None,
            "cuda" => Some(Kind::Cuda),
            "metal" => Some(Kind::Metal),
            "vulkan" => Some(Kind::Vulkan),
            _ => return Err(wrong()),
        };
        let mut sizes = sizes.map(|sizes| sizes.split('+')).into_iter().flatten().map(|size| size.parse::<Bytes>());
        let mut next = || sizes.next().transpose().map_err(|_| wrong());
        let device = DeviceName { kind, size: next()?, host: next()? };
        let sizes_fit = match kind {
            None => device.host.is_none(),
            Some(Kind::Cuda | Kind::Vulkan) => device.size.is_some(),
            Some(Kind::Metal) => device.size.is_some() && device.host.is_none(),
        };
        if sizes.next().is_some() || !sizes_fit { Err(wrong()) } else { Ok(device) }
    }
}

impl DeviceName {
    /// Whether it is `cpu` without a size.
    pub fn is_this_cpu(&self) -> bool {
        self.kind.is_none() && self.size.is_none()
    }

    /// The machine with this name; if the host memory is not given, it is this machine's. `None` if
    /// that is unknown.
    pub fn machine(&self) -> Option<Machine> {
        Some(match (self.kind, self.size) {
            (Some(Kind::Metal), Some(size)) => Machine::metal(size),
            (Some(kind), Some(size)) => {
                let host = self.host.map(|host| Machine::of(host.saturating_sub(HEADROOM)));
                host.or_else(Machine::here)?.with_card(kind, size)
            }
            (_, Some(size)) => Machine::of(size),
            (_, None) => Machine::here()?,
        })
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.host.available;
        match self.accelerator {
            None => write!(f, "cpu, {host} for us"),
            Some(gpu) => write!(f, "{} {}, {} of it for us, host {host}", gpu.kind, gpu.total, gpu.free),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let said = match text.parse::<DeviceName>() {
            Ok(device) => device.machine().expect("sizes are given").to_string(),
            Err(error) => error.to_string(),
        };
        assert!(said.starts_with(expected), "{text}: {said}");
    }

    #[test]
    fn bytes_count_on_the_memories_that_they_are_in() {
        let check = |machine: Machine, host: u64, device: u64, total: u64, main: u64| {
            let amount = machine.amount(Bytes(100), Bytes(20));
            assert_eq!(amount, Amount { host: Bytes(host), device: Bytes(device) });
            assert_eq!((machine.total(amount), machine.main(amount)), (Bytes(total), Bytes(main)));
            assert_eq!(machine.main_memory(), machine.main(machine.capacity()));
            assert!(machine.main_memory() > Bytes::gib(1));
        };
        let host = Machine::of(Bytes::gib(16));
        check(host, 120, 0, 120, 120);
        check(host.with_card(Kind::Cuda, Bytes::gib(8)), 100, 20, 120, 20);
        check(Machine::metal(Bytes::gib(16)), 120, 20, 120, 20);
    }

    #[test]
    fn this_machine_is_named_cpu() {
        let is_this = |text: &str| text.parse::<DeviceName>().unwrap().is_this_cpu();
        assert!(is_this("cpu") && !is_this("cpu:16GiB") && !is_this("cuda:8GiB"));
        let here =
            "cpu".parse::<DeviceName>().unwrap().machine().expect("Linux and macOS say how much memory they have");
        assert!(here.accelerator.is_none() && here.host.available > Bytes::mib(16));
    }

    #[test]
    fn machines_are_named_by_device_and_size() {
        check("cpu:16GiB", "cpu, 16.0 GiB for us");
        check("cuda:8GiB+16GiB", "cuda 8.0 GiB, 7.3 GiB of it for us, host 15.5 GiB");
        check("vulkan:4GiB+8GiB", "vulkan 4.0 GiB, 3.3 GiB of it for us, host 7.5 GiB");
        check("metal:16GiB", "metal 16.0 GiB, 10.7 GiB of it for us, host 15.5 GiB");
        check("metal:64GiB", "metal 64.0 GiB, 48.0 GiB of it for us");
        for wrong in ["gpu", "cuda", "cuda:much", "cpu:1GiB+1GiB", "metal", "cuda:1GiB+1GiB+1GiB", ""] {
            check(wrong, &format!("`{wrong}` is not a device; write cpu"));
        }
    }
}
