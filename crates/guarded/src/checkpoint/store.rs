//! The database of checkpoints: contents, the last known state of each path, and every change in order.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};
use sha2::{Digest, Sha256};

use super::CheckpointError;
use super::entry::{Entry, Hash, Marks};
use super::scan::{FILE_MAX, Kind, Stat};
use crate::base::overwrite::About;
use crate::base::{Bytes, state};

/// Increased whenever the database schema changes. Version 1, whose entries had no owners and
/// attributes, is still readable.
const VERSION: i64 = 2;
/// Maximum wait for a database lock. Writers hold the project's lock, so only readers can block,
/// and only briefly.
const BUSY: Duration = Duration::from_secs(10);

/// Attempts to read a file while it is being written.
const TRIES: usize = 3;

/// One connection to `.monobloc/checkpoints.db`. Each content is stored once under its hash,
/// LZ4-compressed if that makes it smaller, and verified on every read.
pub struct Store {
    pub(super) db: Connection,
    file: PathBuf,
}

/// The state of a path when it was last compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    pub entry: Entry,
    pub stat: Stat,
    /// The file may change again and keep the same metadata, so the next comparison must read it.
    pub fresh: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A tool call, by number.
    Call(i64),
    /// A restore, by the checkpoint restored.
    Rewind(i64),
    /// Other programs, such as the user's editor.
    Outside,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub seq: i64,
    pub origin: Origin,
    pub path: PathBuf,
    pub old: Entry,
    pub new: Entry,
}

impl Store {
    /// Opens the database, creating it if it is missing.
    pub fn open(project: &Path) -> Result<Store, CheckpointError> {
        let folder = project.join(".monobloc");
        let file = folder.join("checkpoints.db");
        let unwritable = |source| CheckpointError::Folder { path: folder.clone(), source };
        fs::create_dir_all(&folder).map_err(unwritable)?;
        // Only its owner may read it, because it holds copies of possibly private files.
        let made = fs::OpenOptions::new().create(true).append(true).mode(0o600).open(&file).map_err(unwritable)?;
        if made.metadata().is_ok_and(|about| about.permissions().mode() & 0o077 != 0) {
            fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).map_err(unwritable)?;
        }
        let failed = |source| CheckpointError::Database { file: file.clone(), source };
        Store::connect(&file).map(|db| Store { db, file: file.clone() }).map_err(failed)
    }

    /// Opens the database; `None` if there is none, or if it is not writable, because then no
    /// checkpoint can be restored.
    pub fn existing(project: &Path) -> Result<Option<Store>, CheckpointError> {
        if state::read_only(project).is_some() {
            return Ok(None);
        }
        let exists = project.join(".monobloc/checkpoints.db").exists();
        exists.then(|| Store::open(project)).transpose()
    }

    fn connect(file: &Path) -> rusqlite::Result<Connection> {
        let mut db = Connection::open(file)?;
        db.busy_timeout(BUSY)?;
        let fresh: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        if fresh == 0 {
            // Returns the space of pruned contents to the disk. Must be set before the first table
            // exists.
            db.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        }
        db.pragma_update(None, "journal_mode", "WAL")?;
        // A checkpoint must be on disk before the changes after it, even if power fails.
        db.pragma_update(None, "synchronous", "FULL")?;
        let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let version: i64 = change.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        if version == 0 {
            change.execute_batch(include_str!("schema.sql"))?;
            change.pragma_update(None, "user_version", VERSION)?;
        } else if version == 1 {
            change.pragma_update(None, "user_version", VERSION)?;
        } else if version != VERSION {
            return Err(rusqlite::Error::ToSqlConversionFailure(format!(
                "it has format {version}, but this program writes {VERSION}; move it away; the next change begins new checkpoints"
            ).into()));
        }
        change.commit()?;
        db.set_prepared_statement_cache_capacity(64);
        Ok(db)
    }

    pub(super) fn error(&self, source: rusqlite::Error) -> CheckpointError {
        CheckpointError::Database { file: self.file.clone(), source }
    }

    /// Runs `work` in a transaction: if it fails or panics, or the process is killed, none of it is
    /// stored.
    pub fn atomically<T>(
        &mut self,
        work: impl FnOnce(&Store) -> Result<T, CheckpointError>,
    ) -> Result<T, CheckpointError> {
        // Rolls back when dropped without a commit.
        let change = Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate).map_err(|e| self.error(e))?;
        let done = work(self)?;
        change.commit().map_err(|e| self.error(e))?;
        Ok(done)
    }

    pub(super) fn run(&self, sql: &str, values: impl rusqlite::Params) -> Result<usize, CheckpointError> {
        self.db.prepare_cached(sql).and_then(|mut one| one.execute(values)).map_err(|e| self.error(e))
    }

    pub(super) fn rows<T>(
        &self,
        sql: &str,
        values: impl rusqlite::Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, CheckpointError> {
        let all = |query: &mut rusqlite::CachedStatement<'_>| query.query_map(values, read)?.collect();
        self.db.prepare_cached(sql).and_then(|mut query| all(&mut query)).map_err(|e| self.error(e))
    }

    pub(super) fn row<T>(
        &self,
        sql: &str,
        values: impl rusqlite::Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, CheckpointError> {
        self.db
            .prepare_cached(sql)
            .and_then(|mut query| query.query_row(values, read).optional())
            .map_err(|e| self.error(e))
    }

    pub fn has_blob(&self, hash: Hash) -> Result<bool, CheckpointError> {
        Ok(self.row("SELECT 1 FROM blobs WHERE hash = ?1", [hash.0], |_| Ok(()))?.is_some())
    }

    /// Stores content unless it is already stored.
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

    /// Total bytes of all contents in the database, as stored.
    pub fn blob_bytes(&self) -> Result<u64, CheckpointError> {
        // The sum is stored, because computing it would read all contents.
        let sum = self.row("SELECT value FROM meta WHERE name = 'content_bytes'", [], |row| row.get::<_, i64>(0))?;
        Ok(sum.unwrap_or(0) as u64)
    }

    /// Stores the content at a path and returns its entry. The inner error gives the reason if the
    /// content is unreadable or too large.
    pub fn keep(&self, path: &Path, stat: Stat) -> Result<Result<(Entry, Stat), String>, CheckpointError> {
        let marks = match About::of(path) {
            Ok(about) => Marks { link: linked(path), ..self.put_marks(&about)? },
            Err(error) => return Ok(Err(error.to_string())),
        };
        let entry = match stat.kind {
            Kind::Dir => Entry::Dir { mode: stat.mode, marks },
            Kind::Link => match fs::read_link(path) {
                Ok(target) => Entry::Link { hash: self.put_blob(target.as_os_str().as_bytes())?, marks },
                Err(error) => return Ok(Err(error.to_string())),
            },
            Kind::File => match read_steady(path, stat) {
                Ok((bytes, stat)) => {
                    let entry = Entry::File { mode: stat.mode, hash: Some(self.put_blob(&bytes)?), marks };
                    return Ok(Ok((entry, stat)));
                }
                Err(why) => return Ok(Err(why)),
            },
        };
        Ok(Ok((entry, stat)))
    }

    pub fn known(&self) -> Result<BTreeMap<PathBuf, Known>, CheckpointError> {
        let sql = "SELECT path, entry, kind, mode, size, mtime_ns, ctime_ns, inode, fresh FROM known";
        Ok(self.rows(sql, [], known)?.into_iter().collect())
    }

    pub fn known_paths(&self) -> Result<HashSet<PathBuf>, CheckpointError> {
        Ok(self.rows("SELECT path FROM known", [], |row| path(row, 0))?.into_iter().collect())
    }

    pub fn known_at(&self, path: &Path) -> Result<Option<Known>, CheckpointError> {
        let sql = "SELECT path, entry, kind, mode, size, mtime_ns, ctime_ns, inode, fresh FROM known WHERE path = ?1";
        Ok(self.row(sql, [bytes(path)], known)?.map(|(_, known)| known))
    }

    /// Stores the state of a path; `None` deletes it.
    pub fn set_known(&self, path: &Path, known: Option<&Known>) -> Result<(), CheckpointError> {
        let Some(Known { entry, stat, fresh }) = known else {
            return self.run("DELETE FROM known WHERE path = ?1", [bytes(path)]).map(drop);
        };
        self.run(
            "INSERT OR REPLACE INTO known VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                bytes(path),
                entry.to_string(),
                stat.kind as i64,
                stat.mode,
                stat.size as i64,
                stat.mtime_ns,
                stat.ctime_ns,
                stat.inode as i64,
                fresh
            ],
        )
        .map(drop)
    }

    pub fn add_change(&self, origin: Origin, path: &Path, old: Entry, new: Entry) -> Result<(), CheckpointError> {
        let (name, number) = match origin {
            Origin::Call(call) => ("call", call),
            Origin::Rewind(checkpoint) => ("rewind", checkpoint),
            Origin::Outside => ("outside", 0),
        };
        let sql = "INSERT INTO changes (origin, number, path, old, new) VALUES (?1, ?2, ?3, ?4, ?5)";
        self.run(sql, params![name, number, bytes(path), old.to_string(), new.to_string()]).map(drop)
    }

    /// Every change after `position`, in order.
    pub fn changes_after(&self, position: i64) -> Result<Vec<Change>, CheckpointError> {
        self.changes("seq > ?1", position)
    }

    /// The changes that match `filter` with `value`, in order.
    pub(super) fn changes(&self, filter: &str, value: i64) -> Result<Vec<Change>, CheckpointError> {
        let sql = format!("SELECT seq, origin, number, path, old, new FROM changes WHERE {filter} ORDER BY seq");
        self.rows(&sql, [value], |row| {
            let number = row.get(2)?;
            let origin = match row.get_ref(1)?.as_str()? {
                "call" => Origin::Call(number),
                "rewind" => Origin::Rewind(number),
                _ => Origin::Outside,
            };
            Ok(Change { seq: row.get(0)?, origin, path: path(row, 3)?, old: entry(row, 4)?, new: entry(row, 5)? })
        })
    }

    /// The number of the last change.
    pub fn position(&self) -> Result<i64, CheckpointError> {
        // Not the largest number in `changes`, because the last change may have been pruned.
        let sql = "SELECT seq FROM sqlite_sequence WHERE name = 'changes'";
        Ok(self.row(sql, [], |row| row.get(0))?.unwrap_or(0))
    }
}

/// The inode of a file with several names.
fn linked(path: &Path) -> Option<u64> {
    let about = fs::symlink_metadata(path).ok().filter(|about| about.is_file() && about.nlink() > 1)?;
    Some(about.ino())
}

pub fn hash(bytes: &[u8]) -> Hash {
    Hash(Sha256::digest(bytes).into())
}

/// A file's content and a `Stat` that was the same before and after reading.
fn read_steady(path: &Path, mut stat: Stat) -> Result<(Vec<u8>, Stat), String> {
    for _ in 0..TRIES {
        if stat.size > FILE_MAX.0 {
            return Err(format!("{}, more than {FILE_MAX}", Bytes(stat.size)));
        }
        let bytes = read(path).map_err(|error| error.to_string())?;
        let after = Stat::at(path)?.ok_or("disappeared while it was being read")?;
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
    let mut options = fs::OpenOptions::new();
    let file = options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    let mut bytes = Vec::new();
    file.take(FILE_MAX.0 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn known(row: &Row<'_>) -> rusqlite::Result<(PathBuf, Known)> {
    let kind = match row.get(2)? {
        0 => Kind::File,
        1 => Kind::Dir,
        _ => Kind::Link,
    };
    let stat = Stat {
        kind,
        mode: row.get(3)?,
        size: row.get::<_, i64>(4)? as u64,
        mtime_ns: row.get(5)?,
        ctime_ns: row.get(6)?,
        inode: row.get::<_, i64>(7)? as u64,
    };
    Ok((path(row, 0)?, Known { entry: entry(row, 1)?, stat, fresh: row.get(8)? }))
}

/// A path as stored in the database: as bytes, because file names need not be UTF-8.
pub(super) fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

pub(super) fn path(row: &Row<'_>, column: usize) -> rusqlite::Result<PathBuf> {
    let bytes = row.get_ref(column)?.as_blob()?;
    Ok(PathBuf::from(OsStr::from_bytes(bytes)))
}

pub(super) fn entry(row: &Row<'_>, column: usize) -> rusqlite::Result<Entry> {
    let text = row.get_ref(column)?.as_str()?;
    let wrong = || rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, text.into());
    text.parse().map_err(|()| wrong())
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    use super::*;

    #[test]
    fn of_work_that_panics_nothing_is_stored() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(folder.path()).unwrap();
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            store.atomically(|store| -> Result<(), CheckpointError> {
                store.put_blob(b"lost")?;
                resume_unwind(Box::new("a panic"))
            })
        }));
        assert!(panicked.is_err());
        store.atomically(|store| store.put_blob(b"kept")).unwrap();
        assert!(store.has_blob(hash(b"kept")).unwrap() && !store.has_blob(hash(b"lost")).unwrap());
    }
}
