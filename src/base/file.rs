//! Replaces a file as a whole: whoever reads it meanwhile, or after a kill, sees the old text or the new one.

use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, io};

/// Writes `bytes` beside `path` and puts that in its place; missing folders are made.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    // Two processes, or two threads of one, may write the same file.
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let mut name = path.file_name().map_or_else(OsString::new, OsString::from);
    name.push(format!(".{}-{}.partial", std::process::id(), WRITTEN.fetch_add(1, Ordering::Relaxed)));
    let partial = path.with_file_name(name);
    let written = fs::write(&partial, bytes).and_then(|()| fs::rename(&partial, path));
    if written.is_err() {
        let _ = fs::remove_file(&partial);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_replace_one_file_do_not_see_each_others_halves() {
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
