//! Reads a large file ahead of llama.cpp, which alternates between reading a matrix and copying it.
//!
//! The bytes are discarded; reading them puts them into the system's file cache before llama.cpp
//! needs them.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use crate::base::Bytes;

/// How far to read ahead: several matrices of a large model, but only a small part of a small
/// machine's cache.
const AHEAD: Bytes = Bytes::mib(512);
/// Smaller files load fast enough without it.
const WORTH_IT: Bytes = Bytes::gib(1);
const PIECE: usize = 4 << 20;

/// A thread that reads ahead during a load. Dropping it ends the thread.
pub(super) struct ReadAhead {
    /// How many bytes from the start of the first file the thread may read for now.
    allowed: Arc<AtomicU64>,
    /// Unparked when `allowed` grows.
    reader: Option<JoinHandle<()>>,
    bytes: u64,
}

impl ReadAhead {
    /// Starts the thread if the model's files are large enough. A file that cannot be opened is
    /// left for llama.cpp to report.
    pub fn of(paths: &[PathBuf]) -> ReadAhead {
        let files: Vec<File> = paths.iter().flat_map(File::open).collect();
        let bytes = files.iter().flat_map(File::metadata).map(|about| about.len()).sum();
        let allowed = Arc::new(AtomicU64::new(AHEAD.0));
        let limit = allowed.clone();
        let reader = (bytes >= WORTH_IT.0).then_some(files).and_then(|files| {
            // Without the thread, the load just takes longer.
            thread::Builder::new().name("read-ahead".into()).spawn(move || read(files, &limit)).ok()
        });
        ReadAhead { allowed, reader, bytes }
    }

    /// Reports that llama.cpp has read this share of the files, 0 to 1.
    pub fn reached(&self, share: f32) {
        self.allow((f64::from(share) * self.bytes as f64) as u64 + AHEAD.0);
    }

    fn allow(&self, bytes: u64) {
        self.allowed.store(bytes, Ordering::Release);
        if let Some(reader) = &self.reader {
            reader.thread().unpark();
        }
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        self.allow(END);
    }
}

/// The value of `allowed` that ends the thread.
const END: u64 = u64::MAX;

fn read(files: Vec<File>, allowed: &AtomicU64) {
    let (mut piece, mut done) = (vec![0; PIECE], 0);
    let mut files = files.into_iter();
    let Some(mut file) = files.next() else { return };
    loop {
        match allowed.load(Ordering::Acquire) {
            END => return,
            limit if done >= limit => thread::park(),
            _ => match file.read(&mut piece) {
                Ok(0) => match files.next() {
                    Some(next) => file = next,
                    None => return,
                },
                // llama.cpp reports read errors itself.
                Err(_) => return,
                Ok(bytes) => done += bytes as u64,
            },
        }
    }
}
