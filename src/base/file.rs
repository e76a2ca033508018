//! Replaces a file as a whole: whoever reads it meanwhile, or after a kill, sees the old text or the new one.

use std::ffi::OsString;
use std::path::Path;
use std::{fs, io};

/// Writes `bytes` beside `path` and puts that in its place; missing folders are made.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    // The process in the name: two of them may write the same file.
    let mut name = path.file_name().map_or_else(OsString::new, OsString::from);
    name.push(format!(".{}.partial", std::process::id()));
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
