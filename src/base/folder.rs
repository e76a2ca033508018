//! Lists and copies the files of a folder, with limits on their number and total size.

use std::fs;
use std::io::{Error, Result};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Every file and link below `folder`, except names for which `left_out` is true; an error if there
/// are more than `most`. Skips pipes, sockets and devices, because opening one may block forever.
pub fn files(folder: &Path, most: usize, left_out: &dyn Fn(&str) -> bool) -> Result<Vec<PathBuf>> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(open) = folders.pop() {
        for entry in fs::read_dir(&open).map_err(|error| about(&open, &error))? {
            let entry = entry?;
            if left_out(&entry.file_name().to_string_lossy()) {
                continue;
            }
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() || kind.is_symlink() {
                found.push(entry.path());
            }
            if found.len() + folders.len() > most {
                return Err(Error::other(format!("{} holds more than {most} files", folder.display())));
            }
        }
    }
    Ok(found)
}

/// Copies the files listed by [`files`] to the folder `to`, creating it; links stay links. Fails if
/// they exceed `most_bytes` bytes.
pub fn copy(from: &Path, to: &Path, most: usize, most_bytes: u64, left_out: &dyn Fn(&str) -> bool) -> Result<()> {
    fs::create_dir_all(to)?;
    let mut bytes = 0;
    for path in files(from, most, left_out)? {
        bytes += fs::symlink_metadata(&path)?.len();
        if bytes > most_bytes {
            return Err(Error::other(format!("{} holds more than {most_bytes} bytes", from.display())));
        }
        let target = to.join(path.strip_prefix(from).map_err(Error::other)?);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder)?;
        }
        let copied = match fs::read_link(&path) {
            Ok(link) => symlink(link, &target),
            Err(_) => fs::copy(&path, &target).map(drop),
        };
        copied.map_err(|error| about(&path, &error))?;
    }
    Ok(())
}

fn about(path: &Path, error: &Error) -> Error {
    Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_links_are_copied_up_to_a_bound_and_sockets_are_left() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(from.path().join("a")).unwrap();
        fs::write(from.path().join("a/b.txt"), "text").unwrap();
        symlink("a/b.txt", from.path().join("link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(from.path().join("socket")).unwrap();
        let all = |_: &str| false;
        copy(from.path(), to.path(), 10, 100, &all).unwrap();
        assert_eq!(fs::read_to_string(to.path().join("link")).unwrap(), "text");
        assert!(fs::read_link(to.path().join("link")).is_ok() && !to.path().join("socket").exists());
        assert!(copy(from.path(), to.path(), 10, 3, &all).unwrap_err().to_string().contains("more than 3 bytes"));
        assert!(copy(from.path(), to.path(), 1, 100, &all).unwrap_err().to_string().contains("more than 1 files"));
    }
}
