//! Manages memory and compute: how much there is, how much a model needs, who holds it, whose turn
//! it is.

pub mod amount;
pub mod cache;
pub mod device;
pub mod estimate;
#[cfg(test)]
mod example;
pub mod ladder;
pub mod ledger;
pub mod machine;
pub mod permit;
pub mod place;
pub mod process;
pub mod repack;
pub mod sight;
pub mod watch;

pub use amount::Amount;
pub use device::HostMemory;
pub use estimate::{Estimate, LoadSettings};
pub use ledger::{Entry, Lease, Ledger, Refused, Reservation};
pub use permit::{Permit, Priority};
