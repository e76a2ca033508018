//! The prefix cache: saved sequences that prompts can continue, in host memory and, for fixed preambles, on disk.
//!
//! A slot holds its latest sequence. This folder keeps sequences that slots had to give up, those
//! of unloaded models, and the preambles that are the same in every run.

mod disk;
mod spares;
mod store;

use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};

pub use disk::Disk;
pub use spares::{Spare, Spares};
pub use store::{Copied, PrefixStore, Prefixes, TOKENS_MIN};

use super::llama::{self, Shape};
use crate::base::hex;
use crate::models::digest;

/// Identifies everything that determines the bits of a saved state: model file, KV format, chunk,
/// threads, slots, adapters and build. A state is never used with a different fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// The fingerprint of a model file and of how it is loaded. `extra` lists anything else that
    /// changes the arithmetic: adapters, placement of layers, repacked weights, shared calls.
    pub fn of(file: &Path, shape: &Shape, extra: &str) -> io::Result<Fingerprint> {
        // The format of a state depends on the number of slots, but not on their length.
        let all = format!(
            "{} {} {} slots={} kv={} products={} threads={} chunk={} {extra}",
            digest::fingerprint(file)?,
            llama::BINDING,
            llama::system_info(),
            shape.slots,
            shape.kv.name(),
            shape.is_read_in_products(),
            shape.threads,
            shape.chunk,
        );
        Ok(Fingerprint(hex(&Sha256::digest(all))))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    #[cfg(test)]
    pub fn named(name: &str) -> Fingerprint {
        Fingerprint(name.to_owned())
    }
}
