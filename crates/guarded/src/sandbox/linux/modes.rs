//! Restores permissions of protected files that a command changed, because Landlock does not cover permissions.

use std::collections::{BTreeSet, VecDeque};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// Maximum number of files and folders whose permissions are recorded.
const NOTED_MAX: usize = 4_000;

#[derive(Default)]
pub struct Modes(Vec<(PathBuf, u32)>);

impl Modes {
    /// The permissions of the files and folders at and below these paths. A folder comes before its
    /// entries; if there are too many, the deepest are omitted. Links have none.
    pub fn of(paths: &BTreeSet<PathBuf>) -> Modes {
        let (mut modes, mut next) = (Vec::new(), paths.iter().cloned().collect::<VecDeque<_>>());
        while let Some(path) = next.pop_front().filter(|_| modes.len() < NOTED_MAX) {
            let Ok(about) = path.symlink_metadata() else { continue };
            if about.is_symlink() {
                continue;
            }
            if about.is_dir() {
                let entries = fs::read_dir(&path).into_iter().flatten().flatten();
                next.extend(entries.map(|entry| entry.path()).take(NOTED_MAX));
            }
            modes.push((path, about.permissions().mode()));
        }
        Modes(modes)
    }

    /// Call this when every process of the command has ended. Restores folders before their
    /// entries, which cannot be reached earlier.
    pub fn put_back(&self) {
        for (path, mode) in &self.0 {
            let changed =
                path.symlink_metadata().is_ok_and(|now| !now.is_symlink() && now.permissions().mode() != *mode);
            if changed && let Err(why) = fs::set_permissions(path, Permissions::from_mode(*mode)) {
                tracing::warn!("the permissions of {} cannot be restored: {why}", path.display());
            }
        }
    }
}
