//! Replaces a file atomically: a reader sees the old or the new content in full, even if the process is killed.

use std::path::Path;
use std::{fs, io};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::overwrite;

/// Writes `bytes` to a temporary file next to `path`, then renames it to `path`; creates missing folders.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    overwrite::replace(path, |temporary| fs::write(temporary, bytes))
}

/// Like [`replace`], with `value` written as JSON.
pub fn replace_json(path: &Path, value: &impl Serialize) -> io::Result<()> {
    replace(path, &serde_json::to_vec_pretty(value)?)
}

/// Reads a value from a JSON file; `None` if the file is missing, damaged or has other fields.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_replace_one_file_never_read_a_partial_write() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        std::thread::scope(|scope| {
            for byte in [b'a', b'b', b'c'] {
                let file = &file;
                scope.spawn(move || {
                    for _ in 0..200 {
                        replace(file, &vec![byte; 100_000]).unwrap();
                        let read = fs::read(file).unwrap();
                        assert!(read.len() == 100_000 && read.iter().all(|one| *one == read[0]));
                    }
                });
            }
        });
    }

    #[test]
    fn a_file_is_replaced_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new/a.json");
        replace(&file, b"one").unwrap();
        replace(&file, b"two").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"two");
        // A folder cannot be replaced by a file.
        assert!(replace(&folder.path().join("new"), b"three").is_err());
        for folder in [folder.path().to_owned(), folder.path().join("new")] {
            assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
        }
    }
}
