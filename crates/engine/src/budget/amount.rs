//! An amount of memory on two accounts, the host's and an accelerator's.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use crate::base::Bytes;

/// Bytes on each account of a machine. If host and accelerator share one memory, the accelerator's
/// bytes count on both accounts ([`Machine::amount`](super::machine::Machine::amount)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    pub host: Bytes,
    pub device: Bytes,
}

impl Amount {
    /// Whether this is at most `other` on each account.
    pub fn fits(self, other: Amount) -> bool {
        self.host <= other.host && self.device <= other.device
    }

    pub fn saturating_sub(self, other: Amount) -> Amount {
        Amount { host: self.host.saturating_sub(other.host), device: self.device.saturating_sub(other.device) }
    }

    /// The smaller value on each account.
    pub fn min(self, other: Amount) -> Amount {
        Amount { host: self.host.min(other.host), device: self.device.min(other.device) }
    }
}

/// Plain bytes are host memory.
impl From<Bytes> for Amount {
    fn from(host: Bytes) -> Amount {
        Amount { host, device: Bytes::ZERO }
    }
}

impl Add for Amount {
    type Output = Amount;
    fn add(self, other: Amount) -> Amount {
        Amount { host: self.host + other.host, device: self.device + other.device }
    }
}

impl AddAssign for Amount {
    fn add_assign(&mut self, other: Amount) {
        *self = *self + other;
    }
}

impl Sum for Amount {
    fn sum<I: Iterator<Item = Amount>>(amounts: I) -> Amount {
        amounts.fold(Amount::default(), Add::add)
    }
}

/// `1.0 GiB`, or `1.0 GiB and 3.0 GiB of the device`.
impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.device {
            Bytes::ZERO => self.host.fmt(f),
            device => write!(f, "{} and {device} on the device", self.host),
        }
    }
}
