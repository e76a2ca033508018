//! Checks, right before a change is made, that the file still has the content it was planned for,
//! and reverts changes.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::base::overwrite::{self, About};
use crate::tools::confine::Inside;
use crate::tools::files::change::{Change, rename, text_of, write};
use crate::tools::planned::Back;

/// The SHA-256 of a file's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen([u8; 32]);

impl Seen {
    pub(super) fn of_bytes(bytes: &[u8]) -> Seen {
        Seen(Sha256::digest(bytes).into())
    }

    pub fn of(file: &Inside) -> Result<Seen, String> {
        let mut bytes = Vec::new();
        let read = file.open().map_err(|error| error.to_string())?.read_to_end(&mut bytes);
        read.map_err(|error| format!("{}: {error}", file.relative()))?;
        Ok(Seen::of_bytes(&bytes))
    }
}

impl Change {
    /// Fails if the file no longer has the content that the change was planned for.
    pub(super) fn is_as_seen(&self) -> Result<(), String> {
        let as_seen = match self {
            Change::Text { file, before: Some(before), .. } => text_of(file).is_ok_and(|now| now == *before),
            Change::Text { file, before: None, .. } => !file.exists(),
            Change::Deletion { file, seen, .. } => Seen::of(file).is_ok_and(|now| now == *seen),
            Change::Move { from, to, seen } => Seen::of(from).is_ok_and(|now| now == *seen) && !to.exists(),
        };
        if as_seen { Ok(()) } else { Err(format!("{} was changed meanwhile", self.path())) }
    }

    /// Fails if a folder that the change writes to is not writable. `Change::plan` has already
    /// checked the read-only marks.
    pub(in crate::tools) fn may_be_made(&self) -> Result<(), String> {
        let target = match self {
            Change::Move { to, .. } => to,
            other => other.file(),
        };
        for file in [self.file(), target] {
            let folder = file.absolute().ancestors().skip(1).find(|folder| folder.exists());
            if let Some(folder) = folder.filter(|folder| !may_write(folder)) {
                let (path, folder) = (file.relative(), folder.display());
                return Err(format!("{path}: the folder {folder} is not writable; make it writable"));
            }
        }
        Ok(())
    }

    /// Returns a function that reverts the change after it has been made. Must be called before the
    /// change is made.
    pub(in crate::tools) fn way_back(&self) -> Result<Back, String> {
        let cannot = |path: &str, error: &dyn std::fmt::Display| format!("{path}: {error}");
        Ok(match self.clone() {
            Change::Text { file, before, after, .. } => {
                let folders = missing_folders(&file);
                Box::new(move || {
                    let path = file.relative();
                    if !text_of(&file).is_ok_and(|now| now == after) {
                        return Err(format!("{path} was changed meanwhile"));
                    }
                    match before {
                        Some(before) => write(&file, before.as_bytes()).map_err(|error| cannot(&path, &error)),
                        None => {
                            fs::remove_file(file.absolute()).map_err(|error| cannot(&path, &error))?;
                            remove_empty(&folders);
                            Ok(())
                        }
                    }
                })
            }
            Change::Deletion { file, .. } => {
                let path = file.relative();
                let content = fs::read(file.absolute()).map_err(|error| cannot(&path, &error))?;
                let about = About::of(file.absolute()).map_err(|error| cannot(&path, &error))?;
                Box::new(move || {
                    if file.exists() {
                        return Err(format!("{path} exists again"));
                    }
                    overwrite::write(file.absolute(), &content, Some(&about), file.root())
                        .map_err(|error| cannot(&path, &error))
                })
            }
            Change::Move { from, to, .. } => {
                let folders = missing_folders(&to);
                Box::new(move || {
                    if from.exists() {
                        return Err(format!("{} exists again", from.relative()));
                    }
                    rename(&to, &from)?;
                    remove_empty(&folders);
                    Ok(())
                })
            }
        })
    }
}

/// The folders to be created for `file`, innermost first.
fn missing_folders(file: &Inside) -> Vec<PathBuf> {
    let above = file.absolute().ancestors().skip(1);
    above.take_while(|folder| fs::symlink_metadata(folder).is_err()).map(PathBuf::from).collect()
}

/// Removes these folders in order, up to the first one that is not empty.
fn remove_empty(folders: &[PathBuf]) {
    let _ = folders.iter().try_for_each(fs::remove_dir);
}

/// Whether files can be created in a folder.
fn may_write(folder: &Path) -> bool {
    tempfile::tempfile_in(folder).is_ok()
}
