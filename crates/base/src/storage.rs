//! Explains why stored data could not be read or written; following the advice for each cause never
//! loses data.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use super::overwrite::temporary_name;

/// The primary result codes of SQLite (its documentation, "Result and Error Codes").
const SQLITE_PERM: i32 = 3;
const SQLITE_BUSY: i32 = 5;
const SQLITE_LOCKED: i32 = 6;
const SQLITE_READONLY: i32 = 8;
const SQLITE_IOERR: i32 = 10;
const SQLITE_CORRUPT: i32 = 11;
const SQLITE_FULL: i32 = 13;
const SQLITE_CANTOPEN: i32 = 14;
const SQLITE_NOTADB: i32 = 26;

/// Bytes written to find out whether a disk is full: the size of SQLite's smallest file.
const PROBE_BYTES: usize = 64 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// No space is left on the disk or in the user's quota.
    Full,
    /// The file or its folder cannot be written.
    ReadOnly,
    /// Another process has locked it.
    Locked,
    /// Its content was not written by this program.
    Damaged,
    Other,
}

impl Trouble {
    pub fn of(error: &io::Error) -> Trouble {
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Trouble::Full,
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Trouble::ReadOnly,
            ErrorKind::WouldBlock | ErrorKind::ResourceBusy => Trouble::Locked,
            ErrorKind::InvalidData => Trouble::Damaged,
            _ => Trouble::Other,
        }
    }

    /// Classifies a database error by SQLite's result code, extended or not. SQLite reports some
    /// files that cannot grow as disk errors, so the folder is tested.
    pub fn of_database(code: Option<i32>, file: &Path) -> Trouble {
        match code.unwrap_or_default() & 0xff {
            SQLITE_FULL => Trouble::Full,
            SQLITE_READONLY | SQLITE_PERM => Trouble::ReadOnly,
            SQLITE_BUSY | SQLITE_LOCKED => Trouble::Locked,
            SQLITE_CORRUPT | SQLITE_NOTADB => Trouble::Damaged,
            SQLITE_IOERR | SQLITE_CANTOPEN => tried(file).map_or_else(|why| Trouble::of(&why), |()| Trouble::Other),
            _ => Trouble::Other,
        }
    }

    /// The message about `what` (such as "the index"), which is stored in `file`.
    pub fn told(self, what: &str, file: &Path, source: &dyn Display) -> String {
        let folder = file.parent().unwrap_or(file).display();
        let file = file.display();
        match self {
            Trouble::Full => format!(
                "no space is left in {folder} for {what} ({source}); free some and try again; existing data is kept"
            ),
            Trouble::ReadOnly => {
                format!("{what} cannot be written: {file}: {source}; make the file and its folder writable")
            }
            Trouble::Locked => {
                format!("{what} is in use by another process: {file}: {source}; try again when it has ended")
            }
            Trouble::Damaged => format!(
                "{what} is damaged: {file}: {source}; rename the file to keep its content; a new one will be created"
            ),
            Trouble::Other => format!("{what} failed: {file}: {source}; check the disk that it is on and try again"),
        }
    }
}

/// Writes a file next to `file` and removes it again, to test whether that is possible.
fn tried(file: &Path) -> io::Result<()> {
    let probe = file.with_file_name(temporary_name());
    let written = File::create_new(&probe).and_then(|mut file| file.write_all(&[0; PROBE_BYTES]));
    let _ = fs::remove_file(&probe);
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(code: i32, expected: Trouble) {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Trouble::of_database(Some(code), &folder.path().join("a.db")), expected, "{code}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "a probe is removed");
    }

    #[test]
    fn results_of_sqlite_are_told_apart() {
        check(SQLITE_FULL, Trouble::Full);
        check(SQLITE_BUSY | (2 << 8), Trouble::Locked);
        check(SQLITE_READONLY | (4 << 8), Trouble::ReadOnly);
        check(SQLITE_CORRUPT | (1 << 8), Trouble::Damaged);
        check(SQLITE_NOTADB, Trouble::Damaged);
        // The disk has room, so this is a genuine error.
        check(SQLITE_IOERR | (19 << 8), Trouble::Other);
        check(19, Trouble::Other);
        assert_eq!(Trouble::of_database(None, Path::new("a")), Trouble::Other);
    }

    #[test]
    fn only_a_damaged_file_is_to_be_renamed_and_none_is_to_be_removed() {
        for (kind, expected) in [
            (ErrorKind::StorageFull, "no space is left in /p for the index"),
            (ErrorKind::QuotaExceeded, "no space is left"),
            (ErrorKind::ReadOnlyFilesystem, "cannot be written"),
            (ErrorKind::PermissionDenied, "make the file and its folder writable"),
            (ErrorKind::InvalidData, "rename the file"),
            (ErrorKind::Other, "check the disk"),
        ] {
            let error = io::Error::from(kind);
            let told = Trouble::of(&error).told("the index", Path::new("/p/a.db"), &error);
            assert!(told.contains(expected), "{told}");
            assert!(!told.contains("remove") && !told.contains("delete"), "{told}");
            assert_eq!(told.contains("rename"), kind == ErrorKind::InvalidData, "{told}");
        }
    }
}
