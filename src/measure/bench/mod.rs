//! What `monobloc bench` measures: memory; each in a file of its own.

pub mod memory;
