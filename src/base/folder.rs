//! Lists and copies the files of a folder, up to a number of them.

use std::fs;
use std::io::{Error, Result};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Every file and link below `folder`, without what has a name that is left out; an error if there are more than `most`.
pub fn files(folder: &Path, most: usize, left_out: &dyn Fn(&str) -> bool) -> Result<Vec<PathBuf>> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(open) = folders.pop() {
        for entry in fs::read_dir(&open).map_err(|error| about(&open, &error))? {
            let entry = entry?;
            if left_out(&entry.file_name().to_string_lossy()) {
                continue;
            }
            match entry.file_type()?.is_dir() {
                true => folders.push(entry.path()),
                false => found.push(entry.path()),
            }
            if found.len() + folders.len() > most {
                return Err(Error::other(format!("{} holds more than {most} files", folder.display())));
            }
        }
    }
    Ok(found)
}

/// Copies those files to another folder, which is made; links stay links.
pub fn copy(from: &Path, to: &Path, most: usize, left_out: &dyn Fn(&str) -> bool) -> Result<()> {
    fs::create_dir_all(to)?;
    for path in files(from, most, left_out)? {
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
