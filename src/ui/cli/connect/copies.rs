//! Reads and replaces a client's file, and keeps old versions next to it as `NAME.before-monobloc`.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::base::overwrite::{self, About};

/// Maximum number of copies of one file; more could only come from a loop.
const COPIES_MAX: usize = 100;

/// The text of a file; `None` if it does not exist.
pub fn read(file: &Path) -> Result<Option<String>> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("{} cannot be read; nothing was written", file.display())),
    }
}

/// Atomically replaces the file that the path leads to, keeping its owner and permissions: many
/// such files contain keys. A new file is readable only by its owner, and a read-only file is left
/// alone.
pub fn replace(file: &Path, text: &str) -> Result<()> {
    let written = || -> io::Result<()> {
        // A link to another folder, as is common for dotfiles, stays a link.
        let target = match fs::canonicalize(file) {
            Ok(target) => target,
            Err(_) if fs::symlink_metadata(file).is_ok() => {
                return Err(io::Error::other("it is a dangling link; create its target first"));
            }
            Err(_) => file.to_owned(),
        };
        let folder = target.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        if let Some(mode) = overwrite::read_only_mode(&target) {
            return Err(io::Error::other(format!(
                "it is marked read-only (mode {mode:03o}); `chmod u+w` allows changes"
            )));
        }
        let private = About { mode: 0o600, owner: None, attributes: None };
        overwrite::write(&target, text.as_bytes(), Some(&private).filter(|_| !target.exists()), folder)
    };
    written().with_context(|| format!("{} cannot be written", file.display()))
}

/// Keeps the file's current text next to it, under the first name that is free or already contains
/// this text.
pub fn keep(file: &Path, text: &str) -> Result<PathBuf> {
    for number in 0..COPIES_MAX {
        let copy = name(file, number);
        let written = || -> io::Result<()> {
            let mut to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&copy)?;
            to.write_all(text.as_bytes())?;
            to.set_permissions(fs::metadata(file)?.permissions())
        };
        match written() {
            Ok(()) => return Ok(copy),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                if fs::read_to_string(&copy).is_ok_and(|old| old == text) {
                    return Ok(copy);
                }
            }
            Err(error) => {
                let why = format!("{} is not writable, so {} stays as it is", copy.display(), file.display());
                return Err(error).context(why);
            }
        }
    }
    bail!("{} has {COPIES_MAX} copies in the same folder; delete those that you do not need", file.display())
}

/// The existing copies, latest first.
pub fn of(file: &Path) -> Vec<PathBuf> {
    (0..COPIES_MAX).rev().map(|number| name(file, number)).filter(|copy| copy.exists()).collect()
}

fn name(file: &Path, number: usize) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".before-monobloc");
    if number > 0 {
        name.push(format!(".{number}"));
    }
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_replaced_file_keeps_its_permissions_and_its_link() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("dotfiles"), folder.path().join("b/config"));
        fs::create_dir(folder.path().join("b")).unwrap();
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&file, &link).unwrap();
        replace(&link, "new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        replace(&folder.path().join("c/new"), "x").unwrap();
        let mode = fs::metadata(folder.path().join("c/new")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o400)).unwrap();
        assert!(format!("{:#}", replace(&link, "newer").unwrap_err()).contains("read-only (mode 400)"));
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    }
}
