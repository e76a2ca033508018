//! The right to change a project: held by one process at a time, which says who it is.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::CheckpointError;
use crate::base::Cancel;

/// How long somebody else is waited for: most calls are over by then, and a person has not yet given up.
pub const WAIT_MAX: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(50);
/// More in the lock file is not a holder's name.
const HOLDER_BYTES_MAX: u64 = 4 << 10;

/// Who holds a lock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub pid: u32,
    /// RFC 3339, UTC.
    pub since: String,
    pub command: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            0 => f.write_str("another process"),
            pid => write!(f, "process {pid} (`{}`, since {})", self.command, self.since),
        }
    }
}

/// Held until it is dropped. The system gives it back when its process ends, however that ends: no lock is ever stale,
/// and a name that a dead process left in the file means nothing.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock of a project, waiting at most [`WAIT_MAX`] for somebody else.
    pub fn wait(project: &Path, command: &str, cancel: &Cancel) -> Result<Lock, CheckpointError> {
        let until = Instant::now() + WAIT_MAX;
        loop {
            match Lock::try_take(project, command)? {
                Ok(lock) => return Ok(lock),
                Err(holder) if cancel.is_cancelled() => return Err(CheckpointError::Cancelled { holder }),
                Err(holder) if Instant::now() >= until => return Err(CheckpointError::Held { holder }),
                Err(_) => std::thread::sleep(POLL),
            }
        }
    }

    /// The lock, or who has it.
    pub fn try_take(project: &Path, command: &str) -> Result<Result<Lock, Holder>, CheckpointError> {
        let path: PathBuf = project.join(".monobloc").join("lock");
        let failed = |source| CheckpointError::Folder { path: path.clone(), source };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(Err(holder(&mut file))),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let holder =
            Holder { pid: std::process::id(), since: jiff::Timestamp::now().to_string(), command: command.to_owned() };
        let text = serde_json::to_string(&holder).unwrap_or_default();
        file.set_len(0).and_then(|()| file.write_all(text.as_bytes())).map_err(failed)?;
        Ok(Ok(Lock { file }))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Only a courtesy to who reads the file: the lock itself goes with the descriptor.
        let _ = self.file.set_len(0);
    }
}

fn holder(file: &mut File) -> Holder {
    let mut text = String::new();
    let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.take(HOLDER_BYTES_MAX).read_to_string(&mut text));
    // Between lock and name a moment passes.
    read.ok().and_then(|_| serde_json::from_str(&text).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_hears_who_is_first_and_gets_it_when_that_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let first = Lock::try_take(folder.path(), "monobloc ask").unwrap().unwrap();
        let holder = Lock::try_take(folder.path(), "monobloc undo").unwrap().unwrap_err();
        assert_eq!((holder.pid, holder.command.as_str()), (std::process::id(), "monobloc ask"));
        drop(first);
        assert!(Lock::try_take(folder.path(), "monobloc undo").unwrap().is_ok());
    }

    #[test]
    fn what_a_dead_process_wrote_is_no_lock() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".monobloc")).unwrap();
        let left = r#"{"pid":4194304,"since":"2020-01-01T00:00:00Z","command":"monobloc ask"}"#;
        fs::write(folder.path().join(".monobloc/lock"), left).unwrap();
        assert!(Lock::try_take(folder.path(), "monobloc ask").unwrap().is_ok());
    }

    #[test]
    fn who_waits_can_be_cancelled() {
        let folder = tempfile::tempdir().unwrap();
        let _first = Lock::try_take(folder.path(), "monobloc ask").unwrap().unwrap();
        let cancel = Cancel::new();
        cancel.cancel();
        let error = Lock::wait(folder.path(), "monobloc ask", &cancel).unwrap_err();
        assert!(error.to_string().contains("`monobloc ask`"), "{error}");
    }
}
