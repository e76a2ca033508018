//! Locks a project so that only one process at a time can change it, and reports which process holds the lock.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::CheckpointError;
use crate::base::{Cancel, state};

/// Maximum wait for another process: most calls end within this time, and users accept such a wait.
pub const WAIT_MAX: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(50);
const HOLDER_BYTES_MAX: u64 = 4 << 10;

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

/// The lock, held until dropped. The system releases it however the process ends, so it never goes
/// stale; a dead holder's name in the file has no effect.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Takes a project's lock, waiting at most [`WAIT_MAX`] for another process.
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

    /// Takes the lock, or returns its holder if another process has it.
    pub fn try_take(project: &Path, command: &str) -> Result<Result<Lock, Holder>, CheckpointError> {
        if let Some(why) = state::read_only(project) {
            return Err(CheckpointError::ReadOnly { why });
        }
        let path: PathBuf = project.join(state::OWN).join("lock");
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
        // Removes the holder's name; closing the file releases the lock itself.
        let _ = self.file.set_len(0);
    }
}

fn holder(file: &mut File) -> Holder {
    let mut text = String::new();
    let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.take(HOLDER_BYTES_MAX).read_to_string(&mut text));
    // The file may be empty: the holder writes its name shortly after taking the lock.
    read.ok().and_then(|_| serde_json::from_str(&text).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_process_learns_the_holder_and_gets_the_lock_after_it() {
        let folder = tempfile::tempdir().unwrap();
        let first = Lock::try_take(folder.path(), "monobloc ask").unwrap().unwrap();
        let holder = Lock::try_take(folder.path(), "monobloc undo").unwrap().unwrap_err();
        assert_eq!((holder.pid, holder.command.as_str()), (std::process::id(), "monobloc ask"));
        drop(first);
        assert_eq!(fs::read_to_string(folder.path().join(".monobloc/lock")).unwrap(), "", "nobody holds it");
        assert!(Lock::try_take(folder.path(), "monobloc undo").unwrap().is_ok());
    }

    #[test]
    fn a_lock_file_of_a_dead_process_does_not_block() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".monobloc")).unwrap();
        let left = r#"{"pid":4194304,"since":"2020-01-01T00:00:00Z","command":"monobloc ask"}"#;
        fs::write(folder.path().join(".monobloc/lock"), left).unwrap();
        assert!(Lock::try_take(folder.path(), "monobloc ask").unwrap().is_ok());
    }

    #[test]
    fn a_waiting_process_gets_the_lock_when_it_is_free_and_can_be_cancelled() {
        let folder = tempfile::tempdir().unwrap();
        let first = Lock::try_take(folder.path(), "monobloc ask").unwrap().unwrap();
        let cancelled = Cancel::new();
        cancelled.cancel();
        let error = Lock::wait(folder.path(), "monobloc undo", &cancelled).unwrap_err();
        assert!(error.to_string().contains("`monobloc ask`"), "{error}");
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| Lock::wait(folder.path(), "monobloc undo", &Cancel::new()).map(drop));
            std::thread::sleep(2 * POLL);
            drop(first);
            waiter.join().unwrap().unwrap();
        });
    }
}
