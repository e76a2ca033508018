//! Copies a project as it was at a checkpoint to another folder, to try things out there.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::CheckpointError;
use super::entry::Entry;
use super::restore::write;
use super::rewind::Checkpoint;
use super::scan::Stat;
use super::store::Store;

impl Store {
    /// Writes the project as it was at the checkpoint into an empty folder. Returns the paths whose content is not available.
    pub fn copy_to(
        &self,
        project: &Path,
        checkpoint: &Checkpoint,
        folder: &Path,
    ) -> Result<Vec<PathBuf>, CheckpointError> {
        let mut missing = Vec::new();
        let known = self.known()?;
        // The entry of every covered path at the checkpoint: as it is known now, with the later changes undone.
        let mut entries: BTreeMap<PathBuf, Entry> =
            known.iter().map(|(path, known)| (path.clone(), known.entry)).collect();
        for change in self.changes_after(checkpoint.position)?.into_iter().rev() {
            entries.insert(change.path, change.old);
        }
        for (path, entry) in &entries {
            let to = folder.join(path);
            let wrong = |error: std::io::Error| CheckpointError::Path { path: path.clone(), why: error.to_string() };
            match entry {
                Entry::Absent => {}
                Entry::Dir { .. } => fs::create_dir_all(&to).map_err(wrong)?,
                Entry::Link { hash } => write(&to, *entry, self.blob(*hash)?).map_err(wrong)?,
                Entry::File { hash: Some(hash), .. } => write(&to, *entry, self.blob(*hash)?).map_err(wrong)?,
                // Not stored, because no call could overwrite it: if unchanged, the project still has its content.
                Entry::File { mode, hash: None } => {
                    let same = known.get(path).is_some_and(|known| {
                        known.entry == *entry && Stat::at(&project.join(path)) == Ok(Some(known.stat))
                    });
                    let copied = same.then(|| fs::read(project.join(path)).ok()).flatten();
                    match copied {
                        Some(bytes) => {
                            write(&to, Entry::File { mode: *mode, hash: None }, bytes).map_err(wrong)?;
                        }
                        None => missing.push(path.clone()),
                    }
                }
            }
        }
        for (path, entry) in entries.iter().rev() {
            if let Entry::Dir { mode } = entry {
                let set = fs::set_permissions(folder.join(path), Permissions::from_mode(*mode));
                set.map_err(|error| CheckpointError::Path { path: path.clone(), why: error.to_string() })?;
            }
        }
        Ok(missing)
    }
}
