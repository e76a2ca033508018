//! Opens the index database (SQLite), rebuilds it when its schema has changed, and sets it aside when it is damaged.

mod answers;
mod names;
mod read;
mod write;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, params};

pub use answers::Answer;
pub use names::{HandedOnName, Named};
pub use read::{ChunkPlace, ChunkRow, FileRow, SymbolRow, Unembedded};
pub use rusqlite::Error as DatabaseError;
pub use write::FileRecord;

use super::IndexError;
use crate::base::storage::Trouble;
use crate::base::{Bytes, Hidden};

/// Raise this whenever the schema or the stored data changes; an index of another version is
/// rebuilt.
const VERSION: &str = "10";
/// Page cache of a connection.
const CACHE_KIB: i64 = 32_000;
/// How long a statement waits for another process's write.
const BUSY_MS: u64 = 5_000;
const TABLES: &[&str] =
    &["files", "outlines", "chunks", "chunks_text", "symbols", "names", "edges", "unresolved", "answers", "embeddings"];

/// Tables without a path column.
const WITHOUT_PATH: &[&str] = &["chunks_text", "answers", "embeddings"];

/// One connection to `.monobloc/monobloc.db`.
pub struct Store {
    db: Connection,
    path: PathBuf,
    /// Whether some files are hidden from it.
    hides: bool,
}

impl Store {
    /// Opens or creates the database in `folder`. The second value describes what was discarded, if
    /// anything.
    pub fn open(folder: &Path) -> Result<(Store, Option<String>), IndexError> {
        let unwritable = |source| IndexError::Folder { path: folder.to_owned(), source };
        fs::create_dir_all(folder).map_err(unwritable)?;
        let ignore = folder.join(".gitignore");
        if !ignore.exists() {
            fs::write(&ignore, "*\n").map_err(unwritable)?;
        }
        let path = folder.join("monobloc.db");
        match Store::connect(&path) {
            Err(error) if is_damage(&error) => {
                let aside = set_aside(&path).map_err(unwritable)?;
                let (store, _) =
                    Store::connect(&path).map_err(|source| IndexError::Store { path: path.clone(), source })?;
                let kept = format!("it is kept as {}, with the lessons in it, and rebuilt", aside.display());
                Ok((store, Some(format!("the index was damaged ({error}); {kept}"))))
            }
            Err(source) => Err(IndexError::Store { path, source }),
            Ok((store, note)) => Ok((store, note)),
        }
    }

    /// The fingerprints of the embedders whose vectors the database in `folder` has: the one whose
    /// vectors were searched last, then by their number. Empty if there is no database, or it
    /// cannot be read. Changes nothing.
    pub fn embedders(folder: &Path) -> Vec<String> {
        let path = folder.join("monobloc.db");
        let Ok(db) = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY) else { return Vec::new() };
        let store = Store { db, path, hides: false };
        let mark = store.meta("vectors").ok().flatten().unwrap_or_default();
        let last = mark.split(' ').next().unwrap_or_default();
        let mut all: Vec<String> = store.models().unwrap_or_default().into_iter().map(|(model, _)| model).collect();
        all.sort_by_key(|model| model != last);
        all
    }

    /// Upper bound of this connection's page cache: the size of the database if it is smaller than
    /// the cache.
    pub fn cache(&self) -> Bytes {
        let all = fs::metadata(&self.path).map_or(0, |about| about.len());
        Bytes(all.min(CACHE_KIB as u64 * 1024))
    }

    /// Opens a second connection to the same database, for reading alongside a writer.
    pub fn reopen(&self) -> Result<Store, IndexError> {
        Store::connect(&self.path).map(|(store, _)| store).map_err(|e| self.error(e))
    }

    fn connect(path: &Path) -> rusqlite::Result<(Store, Option<String>)> {
        let mut db = Connection::open(path)?;
        db.busy_timeout(Duration::from_millis(BUSY_MS))?;
        db.pragma_update(None, "journal_mode", "WAL")?;
        // A machine crash may lose the last batch but never the database; the files can be read
        // again.
        db.pragma_update(None, "synchronous", "NORMAL")?;
        // A negative number counts KiB instead of pages.
        db.pragma_update(None, "cache_size", -CACHE_KIB)?;
        db.set_prepared_statement_cache_capacity(64);
        db.execute_batch(
            "CREATE TABLE IF NOT EXISTS index_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
        )?;
        let change = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let version: Option<String> =
            change.query_row("SELECT value FROM index_meta WHERE name = 'version'", [], |r| r.get(0)).optional()?;
        let mut note = None;
        if version.as_deref() != Some(VERSION) {
            for table in TABLES {
                change.execute_batch(&format!("DROP TABLE IF EXISTS {table}"))?;
            }
            change.execute_batch(include_str!("schema.sql"))?;
            change.execute("INSERT OR REPLACE INTO index_meta VALUES ('version', ?1)", [VERSION])?;
            change.execute("INSERT OR IGNORE INTO index_meta VALUES ('generation', '0')", [])?;
            note =
                version.map(|v| format!("the index had format {v}, but this program writes {VERSION}; it is rebuilt"));
        }
        change.commit()?;
        Ok((Store { db, path: path.to_owned(), hides: false }, note))
    }

    /// Hides files from this connection from now on, with views that shadow the tables and omit the
    /// files' rows. The full-text index stays complete, but it returns only chunk numbers.
    pub fn hide(&mut self, hidden: Hidden) -> Result<(), IndexError> {
        self.hides = true;
        let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
        let hides = self.db.create_scalar_function("hidden", 1, flags, move |call| {
            Ok(hidden.hides(call.get_raw(0).as_str().unwrap_or_default()))
        });
        let view =
            |table: &&str| format!("CREATE TEMP VIEW {table} AS SELECT * FROM main.{table} WHERE NOT hidden(path);");
        let views: String = TABLES.iter().filter(|table| !WITHOUT_PATH.contains(table)).map(view).collect();
        hides.and_then(|()| self.db.execute_batch(&views)).map_err(|e| self.error(e))
    }

    /// The number of hidden indexed files.
    pub fn hidden(&self) -> Result<usize, IndexError> {
        if !self.hides {
            return Ok(0);
        }
        let count = |table: &str| self.count(&format!("SELECT COUNT(*) FROM {table} WHERE skipped IS NULL"), &[]);
        Ok(count("main.files")? - count("files")?)
    }

    pub fn error(&self, source: rusqlite::Error) -> IndexError {
        IndexError::Store { path: self.path.clone(), source }
    }

    pub fn meta(&self, name: &str) -> Result<Option<String>, IndexError> {
        let found = self.db.query_row("SELECT value FROM index_meta WHERE name = ?1", [name], |r| r.get(0)).optional();
        found.map_err(|e| self.error(e))
    }

    pub fn set_meta(&self, name: &str, value: &str) -> Result<(), IndexError> {
        let done = self.db.execute("INSERT OR REPLACE INTO index_meta VALUES (?1, ?2)", params![name, value]);
        done.map(|_| ()).map_err(|e| self.error(e))
    }
}

fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt))
}

/// The cause of a database error in `file`.
pub fn trouble(error: &rusqlite::Error, file: &Path) -> Trouble {
    Trouble::of_database(error.sqlite_error().map(|error| error.extended_code), file)
}

/// Renames a damaged database and its log files to the first free name of `….damaged`,
/// `….damaged-2`, … Returns the new path.
fn set_aside(path: &Path) -> std::io::Result<PathBuf> {
    let with = |path: &Path, suffix: &str| {
        let mut path = path.as_os_str().to_owned();
        path.push(suffix);
        PathBuf::from(path)
    };
    let (mut aside, mut number) = (with(path, ".damaged"), 1);
    while aside.exists() {
        number += 1;
        aside = with(path, &format!(".damaged-{number}"));
    }
    fs::rename(path, &aside)?;
    for log in ["-wal", "-shm"] {
        match fs::rename(with(path, log), with(&aside, log)) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
    }
    Ok(aside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_database_is_set_aside_and_built_again_in_a_folder_that_git_ignores() {
        let folder = tempfile::tempdir().unwrap();
        drop(Store::open(folder.path()).unwrap());
        assert_eq!(fs::read_to_string(folder.path().join(".gitignore")).unwrap(), "*\n");
        for aside in ["monobloc.db.damaged", "monobloc.db.damaged-2"] {
            let text = format!("no database at all, but long enough to be looked at, to be {aside}").repeat(99);
            fs::write(folder.path().join("monobloc.db"), &text).unwrap();
            let (store, note) = Store::open(folder.path()).unwrap();
            assert!(note.is_some_and(|n| n.contains("damaged")));
            assert_eq!(store.files().unwrap(), []);
            assert_eq!(fs::read_to_string(folder.path().join(aside)).unwrap(), text);
        }
    }

    #[test]
    fn an_index_of_another_version_is_dropped_without_touching_foreign_tables() {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(folder.path()).unwrap();
        store.db.execute_batch("CREATE TABLE journal (line TEXT); INSERT INTO journal VALUES ('kept')").unwrap();
        store.set_meta("version", "0").unwrap();
        drop(store);
        let (store, note) = Store::open(folder.path()).unwrap();
        assert!(note.is_some_and(|n| n.contains("format 0")));
        assert_eq!(store.db.query_row("SELECT line FROM journal", [], |r| r.get::<_, String>(0)).unwrap(), "kept");
    }
}
