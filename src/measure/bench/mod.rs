//! What `monobloc bench` measures: memory, latency, slots, retrieval; each in a file of its own.

pub mod ab;
pub mod bandwidth;
mod bare;
pub mod latency;
pub mod memory;
pub mod retrieval;
pub mod slots;
pub mod subject;
