//! Manages memory and compute: how much there is, how much a model needs, who holds how much, whose turn it is.

pub(crate) mod amount;
pub(crate) mod cache;
pub(crate) mod device;
pub mod estimate;
#[cfg(test)]
mod example;
pub mod ladder;
pub(crate) mod ledger;
pub mod machine;
pub mod permit;
pub(crate) mod place;
pub(crate) mod process;
pub(crate) mod repack;
pub(crate) mod watch;

pub use amount::Amount;
pub use device::HostMemory;
pub use estimate::{Estimate, LoadSettings};
pub use ledger::{Entry, Lease, Ledger, Refused, Reservation};
pub use permit::{Permit, Priority};
