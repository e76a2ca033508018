//! Reads a large file ahead of llama.cpp, which reads a matrix, copies it into another order, and only then reads the next.
//!
//! What is read goes nowhere: it is then in the system's cache when llama.cpp asks for it.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use crate::base::Bytes;

/// How far ahead: several matrices of a large model, and little of a small machine's cache.
const AHEAD: Bytes = Bytes::mib(512);
/// Smaller files are read at once either way.
const WORTH_IT: Bytes = Bytes::gib(1);
const PIECE: usize = 4 << 20;

/// A thread that reads on while a load goes on. Dropping it ends the thread.
pub(super) struct Ahead {
    /// Bytes that may be read by now.
    allowed: Arc<AtomicU64>,
    /// Woken when they become more.
    reader: Option<JoinHandle<()>>,
    bytes: u64,
}

impl Ahead {
    pub fn of(path: &Path) -> Ahead {
        let file = File::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
        let (bytes, file) = file.map_or((0, None), |(bytes, file)| (bytes, Some(file)));
        let allowed = Arc::new(AtomicU64::new(AHEAD.0));
        let limit = allowed.clone();
        let reader = file.filter(|_| bytes >= WORTH_IT.0).and_then(|file| {
            // Without the thread the load takes longer, no more.
            thread::Builder::new().name("read-ahead".into()).spawn(move || read(file, &limit)).ok()
        });
        Ahead { allowed, reader, bytes }
    }

    /// Llama.cpp has read this share, 0 to 1.
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

impl Drop for Ahead {
    fn drop(&mut self) {
        self.allow(END);
    }
}

/// Nobody reads any more.
const END: u64 = u64::MAX;

fn read(mut file: File, allowed: &AtomicU64) {
    let (mut piece, mut done) = (vec![0; PIECE], 0);
    loop {
        match allowed.load(Ordering::Acquire) {
            END => return,
            limit if done >= limit => thread::park(),
            _ => match file.read(&mut piece) {
                // What cannot be read, llama.cpp will say.
                Ok(0) | Err(_) => return,
                Ok(bytes) => done += bytes as u64,
            },
        }
    }
}
