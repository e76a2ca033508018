//! The database of checkpoints: contents, what is known of each path, and every change in order.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::CheckpointError;
use super::entry::Entry;
use super::scan::{Kind, Stat};

/// Raised whenever the schema changes.
const VERSION: i64 = 1;
/// Whoever writes holds the project's lock, so only a reader can be in the way, and briefly.
const BUSY: Duration = Duration::from_secs(10);

/// One connection to `.monobloc/checkpoints.db`.
pub struct Store {
    pub(super) db: Connection,
    file: PathBuf,
}

/// A path as it was when it was last looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    pub entry: Entry,
    pub stat: Stat,
    /// It may have changed again without a trace: read it the next time.
    pub fresh: bool,
}

/// Who changed a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A tool, by the number of its call.
    Call(i64),
    /// Going back, by the checkpoint gone to.
    Rewind(i64),
    /// Somebody else.
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
    /// Opens or makes the database; the folder is there.
    pub fn open(project: &Path) -> Result<Store, CheckpointError> {
        let folder = project.join(".monobloc");
        let file = folder.join("checkpoints.db");
        let unwritable = |source| CheckpointError::Folder { path: folder.clone(), source };
        fs::create_dir_all(&folder).map_err(unwritable)?;
        // It holds copies of files, which may be private: readable by its owner alone.
        let made = fs::OpenOptions::new().create(true).append(true).mode(0o600).open(&file).map_err(unwritable)?;
        if made.metadata().is_ok_and(|about| about.permissions().mode() & 0o077 != 0) {
            fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).map_err(unwritable)?;
        }
        let failed = |source| CheckpointError::Database { file: file.clone(), source };
        Store::connect(&file).map(|db| Store { db, file: file.clone() }).map_err(failed)
    }

    /// The database if there is one.
    pub fn existing(project: &Path) -> Result<Option<Store>, CheckpointError> {
        match project.join(".monobloc/checkpoints.db").exists() {
            true => Store::open(project).map(Some),
            false => Ok(None),
        }
    }

    fn connect(file: &Path) -> rusqlite::Result<Connection> {
        let mut db = Connection::open(file)?;
        db.busy_timeout(BUSY)?;
        let fresh: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        if fresh == 0 {
            // Space of pruned contents goes back to the disk; has to be said before the first table.
            db.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        }
        db.pragma_update(None, "journal_mode", "WAL")?;
        // What was changed after a checkpoint must not be on disk before the checkpoint is, even if the power fails.
        db.pragma_update(None, "synchronous", "FULL")?;
        let change = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let version: i64 = change.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        if version == 0 {
            change.execute_batch(include_str!("schema.sql"))?;
            change.pragma_update(None, "user_version", VERSION)?;
        } else if version != VERSION {
            return Err(rusqlite::Error::ToSqlConversionFailure(format!(
                "it has form {version}, this program writes {VERSION}; move it away, new checkpoints begin with the next change"
            ).into()));
        }
        change.commit()?;
        db.set_prepared_statement_cache_capacity(64);
        Ok(db)
    }

    pub(super) fn error(&self, source: rusqlite::Error) -> CheckpointError {
        CheckpointError::Database { file: self.file.clone(), source }
    }

    /// All of `work` or, if it fails or the program is killed, nothing.
    pub fn atomically<T>(
        &mut self,
        work: impl FnOnce(&Store) -> Result<T, CheckpointError>,
    ) -> Result<T, CheckpointError> {
        self.db.execute_batch("BEGIN IMMEDIATE").map_err(|e| self.error(e))?;
        let done = work(self);
        let end = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
        self.db.execute_batch(end).map_err(|e| self.error(e))?;
        done
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

    pub fn known(&self) -> Result<BTreeMap<PathBuf, Known>, CheckpointError> {
        let sql = "SELECT path, entry, kind, mode, size, mtime_ns, ctime_ns, inode, fresh FROM known";
        Ok(self.rows(sql, [], known)?.into_iter().collect())
    }

    pub fn known_at(&self, path: &Path) -> Result<Option<Known>, CheckpointError> {
        let sql = "SELECT path, entry, kind, mode, size, mtime_ns, ctime_ns, inode, fresh FROM known WHERE path = ?1";
        Ok(self.row(sql, [bytes(path)], known)?.map(|(_, known)| known))
    }

    /// `None` forgets the path.
    pub fn set_known(&self, path: &Path, known: Option<&Known>) -> Result<(), CheckpointError> {
        let Some(Known { entry, stat, fresh }) = known else {
            return self.run("DELETE FROM known WHERE path = ?1", [bytes(path)]).map(drop);
        };
        let kind = match stat.kind {
            Kind::File => 0,
            Kind::Dir => 1,
            Kind::Link => 2,
        };
        self.run(
            "INSERT OR REPLACE INTO known VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                bytes(path),
                entry.to_string(),
                kind,
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
        let sql = "SELECT seq, origin, number, path, old, new FROM changes WHERE seq > ?1 ORDER BY seq";
        self.rows(sql, [position], |row| {
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
        // Not the largest number there is: the last change may have been pruned.
        let sql = "SELECT seq FROM sqlite_sequence WHERE name = 'changes'";
        Ok(self.row(sql, [], |row| row.get(0))?.unwrap_or(0))
    }
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

/// A path as it lies in the database: file names need not be UTF-8.
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
