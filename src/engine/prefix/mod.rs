//! The prefix cache: saved sequences from which prompts continue, in host memory and, for fixed preambles, on disk.
//!
//! A slot holds what it computed last. This folder keeps what slots had to give up, what a model held when it was
//! unloaded, and the preambles that are the same in every run.

mod disk;
mod store;

use crate::base::hex;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use sha2::{Digest, Sha256};

pub use disk::Disk;
pub use store::{Copied, PrefixStore, Prefixes, TOKENS_MIN};

use super::llama::{self, Shape};

/// Identifies everything that decides the bits of a saved state: model file, KV format, chunk, threads, slots, adapters
/// and build. A state is never used under another fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(String);

/// Bytes hashed at each of three places of a model file.
const SAMPLE: u64 = 1 << 20;

impl Fingerprint {
    /// The fingerprint of a model file and how it is loaded. Hashing a file of 13 GiB takes half a minute, so only its
    /// length, its modification time and 1 MiB each from beginning, middle and end are hashed. `extra` names what else
    /// changes the arithmetic: adapters, where layers are, whether weights are repacked.
    pub fn of(file: &Path, shape: &Shape, extra: &str) -> io::Result<Fingerprint> {
        let mut hash = Sha256::new();
        let mut opened = File::open(file)?;
        let about = opened.metadata()?;
        let changed = about.modified()?.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        for from in [0, about.len() / 2, about.len().saturating_sub(SAMPLE)] {
            opened.seek(SeekFrom::Start(from))?;
            let mut sample = Vec::new();
            Read::by_ref(&mut opened).take(SAMPLE).read_to_end(&mut sample)?;
            hash.update(&sample);
        }
        // The format of a state depends on the number of slots, but not on their length.
        let rest = format!(
            "{} {} {} {} slots={} kv={} products={} threads={} chunk={} {extra}",
            about.len(),
            changed.as_nanos(),
            llama::BINDING,
            llama::system_info(),
            shape.slots,
            shape.kv.name(),
            shape.kv.is_read_in_products(),
            shape.threads,
            shape.chunk,
        );
        hash.update(rest.as_bytes());
        Ok(Fingerprint(hex(&hash.finalize())))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    #[cfg(test)]
    pub fn named(name: &str) -> Fingerprint {
        Fingerprint(name.to_owned())
    }
}
