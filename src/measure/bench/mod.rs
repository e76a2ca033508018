//! The measurements of `monobloc bench`, one file each.

pub mod ab;
pub mod bandwidth;
mod bare;
pub mod latency;
pub mod memory;
pub mod retrieval;
pub mod slots;
pub mod subject;
