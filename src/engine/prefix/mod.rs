//! Beginnings of prompts that need not be computed again: copies of sequences in host memory, and fixed ones on disk.
//!
//! A slot remembers what it computed last; this folder remembers what slots had to give up, what a model held when it
//! was unloaded, and the preambles that are the same in every run.

mod disk;
mod store;
mod tree;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use sha2::{Digest, Sha256};

pub use disk::Disk;
pub use store::{Copied, PrefixStore, Prefixes, TOKENS_MIN};
pub use tree::Tree;

use super::llama::{self, Shape};

/// Names everything that decides the bits of a saved state: model file, KV format, chunk, threads, slots, adapters and
/// build. States of different fingerprints are never mixed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(String);

/// Bytes read from each of the places that stand for a whole model file.
const SAMPLE: u64 = 1 << 20;

impl Fingerprint {
    /// Of a model file as it is loaded. A file of 13 GiB takes half a minute to hash, so its length, the time of its
    /// last change and a MiB each from beginning, middle and end stand for it. `extra` names what else changes the
    /// arithmetic: adapters, where layers lie, whether weights are repacked.
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
        // The number of slots is part of the format of a state; how long a slot is, is not.
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

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
