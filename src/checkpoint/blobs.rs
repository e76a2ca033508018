//! Stores contents by their hash: each once, compressed with LZ4, and verified whenever it is read.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rusqlite::params;
use sha2::{Digest, Sha256};

use super::CheckpointError;
use super::entry::{Entry, Hash};
use super::scan::{FILE_MAX, Kind, Stat};
use super::store::Store;

/// Attempts to read a file that is being written to.
const TRIES: usize = 3;

pub fn hash(bytes: &[u8]) -> Hash {
    Hash(Sha256::digest(bytes).into())
}

impl Store {
    pub fn has_blob(&self, hash: Hash) -> Result<bool, CheckpointError> {
        Ok(self.row("SELECT 1 FROM blobs WHERE hash = ?1", [hash.0], |_| Ok(()))?.is_some())
    }

    /// Stores a content, unless it is stored already.
    pub fn put_blob(&self, bytes: &[u8]) -> Result<Hash, CheckpointError> {
        let hash = hash(bytes);
        if self.has_blob(hash)? {
            return Ok(hash);
        }
        let packed = lz4_flex::compress(bytes);
        let smaller = packed.len() < bytes.len();
        let kept = if smaller { &packed[..] } else { bytes };
        let sql = "INSERT INTO blobs (hash, size, packed, bytes) VALUES (?1, ?2, ?3, ?4)";
        self.run(sql, params![hash.0, bytes.len() as i64, smaller, kept])?;
        let sql = "UPDATE meta SET value = value + ?1 WHERE name = 'content_bytes'";
        self.run(sql, [kept.len() as i64])?;
        Ok(hash)
    }

    /// The content with this hash; an error if it is missing or damaged.
    pub fn blob(&self, wanted: Hash) -> Result<Vec<u8>, CheckpointError> {
        let sql = "SELECT size, packed, bytes FROM blobs WHERE hash = ?1";
        let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, bool>(1)?, row.get(2)?));
        let found: Option<(i64, bool, Vec<u8>)> = self.row(sql, [wanted.0], read)?;
        let (size, packed, kept) = found.ok_or(CheckpointError::Lost { hash: wanted })?;
        let damaged = || CheckpointError::Damaged { hash: wanted };
        let size = usize::try_from(size).ok().filter(|size| *size as u64 <= FILE_MAX.0).ok_or_else(damaged)?;
        let bytes = if packed { lz4_flex::decompress(&kept, size).map_err(|_| damaged())? } else { kept };
        if hash(&bytes) == wanted { Ok(bytes) } else { Err(damaged()) }
    }

    /// Bytes of all contents in the database, as stored.
    pub fn blob_bytes(&self) -> Result<u64, CheckpointError> {
        // The sum is stored, because adding the contents up would read them all.
        let sum = self.row("SELECT value FROM meta WHERE name = 'content_bytes'", [], |row| row.get::<_, i64>(0))?;
        Ok(sum.unwrap_or(0) as u64)
    }

    /// Stores the content at a path and gives its entry. The inner error says why it could not be read or is too large.
    pub fn keep(&self, path: &Path, stat: Stat) -> Result<Result<(Entry, Stat), String>, CheckpointError> {
        let entry = match stat.kind {
            Kind::Dir => Entry::Dir { mode: stat.mode },
            Kind::Link => match std::fs::read_link(path) {
                Ok(target) => Entry::Link { hash: self.put_blob(target.as_os_str().as_bytes())? },
                Err(error) => return Ok(Err(error.to_string())),
            },
            Kind::File => match read_steady(path, stat) {
                Ok((bytes, stat)) => {
                    let entry = Entry::File { mode: stat.mode, hash: Some(self.put_blob(&bytes)?) };
                    return Ok(Ok((entry, stat)));
                }
                Err(why) => return Ok(Err(why)),
            },
        };
        Ok(Ok((entry, stat)))
    }
}

/// A file's content with a `Stat` that was the same before and after reading.
fn read_steady(path: &Path, mut stat: Stat) -> Result<(Vec<u8>, Stat), String> {
    for _ in 0..TRIES {
        if stat.size > FILE_MAX.0 {
            return Err(format!("{}, more than {FILE_MAX}", crate::base::Bytes(stat.size)));
        }
        let bytes = read(path).map_err(|error| error.to_string())?;
        let after = Stat::at(path)?.ok_or("gone while it was read")?;
        if after == stat && bytes.len() as u64 == stat.size {
            return Ok((bytes, stat));
        }
        if after.kind != Kind::File {
            return Err("replaced while it was read".to_owned());
        }
        stat = after;
    }
    Err("it is being written to".to_owned())
}

/// Reads a file without following links or blocking on pipes.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut options = OpenOptions::new();
    let file: File = options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    let mut bytes = Vec::new();
    file.take(FILE_MAX.0 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
