//! Decides where data about a project is stored: in its `.monobloc`, or in a user folder if that is
//! not writable.
//!
//! This way, a project on a read-only or full disk can still be searched.

use std::fs::DirBuilder;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access, statvfs};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::{hex, places};

/// The folder's name in a project.
pub const OWN: &str = ".monobloc";

/// The folder for a project's index, lessons and journal. Created here only if it is outside the
/// project.
pub fn folder(project: &Path) -> PathBuf {
    let own = project.join(OWN);
    if read_only(project).is_none() {
        return own;
    }
    elsewhere(project).unwrap_or(own)
}

/// The reason nothing in a project can be changed, with the remedy: its folder or monobloc's data
/// in it is not writable, or the disk has no space for the data that an undo needs. `None` if
/// changes are possible.
pub fn read_only(project: &Path) -> Option<String> {
    let own = project.join(OWN);
    let refused = |path: &Path, wanted| match access(path, wanted) {
        Err(why @ (Errno::ROFS | Errno::ACCESS | Errno::PERM)) => {
            let why = std::io::Error::from(why);
            Some(format!("{} is not writable: {why}; make it writable or work on a copy", path.display()))
        }
        _ => None,
    };
    let folder = if own.symlink_metadata().is_ok() { own.as_path() } else { project };
    refused(folder, Access::WRITE_OK | Access::EXEC_OK)
        .or_else(|| {
            let kept = ["monobloc.db", "checkpoints.db", "journal.ndjson", "lock"].map(|name| own.join(name));
            kept.iter().find_map(|file| refused(file, Access::WRITE_OK))
        })
        .or_else(|| {
            is_full(folder).then(|| format!("no space is left in {}; free some and try again", folder.display()))
        })
}

/// Free space below which a disk counts as full: opening a database takes 32 KiB, and a change
/// needs a few pages.
const ROOM: u64 = 128 << 10;

/// Whether this user has less than [`ROOM`] left on a disk. A disk that does not report its size
/// does not count as full.
fn is_full(folder: &Path) -> bool {
    let Ok(disk) = statvfs(folder) else { return false };
    // Some blocks are reserved for root.
    let blocks = if user() == Some(0) { disk.f_bfree } else { disk.f_bavail };
    disk.f_blocks > 0 && blocks.saturating_mul(disk.f_frsize) < ROOM
}

/// This user's folder for the project: in the cache, else among temporary files, else in memory.
/// `None` if none can be created.
fn elsewhere(project: &Path) -> Option<PathBuf> {
    let real = project.canonicalize().unwrap_or_else(|_| project.to_owned());
    let mark = hex(&Sha256::digest(real.as_os_str().as_bytes())[..8]);
    let name = real.file_name().map_or_else(|| "root".into(), |name| name.to_string_lossy().into_owned());
    let name = format!("{name}-{mark}");
    let user = user()?;
    let shared = |folder: PathBuf| folder.join(format!("monobloc-{user}"));
    let tops = [places::cache_dir(), shared(std::env::temp_dir()), shared(PathBuf::from("/dev/shm"))];
    tops.iter().find_map(|top| usable(&top.join("projects").join(&name), top, user))
}

/// The user ID of this process, from its entry in /proc, else from the home folder.
fn user() -> Option<u32> {
    let own = Path::new("/proc/self").metadata().or_else(|_| std::env::home_dir().unwrap_or_default().metadata());
    own.ok().map(|about| about.uid())
}

/// The folder, created if missing. `None` if it is not writable or another user has put a folder or
/// link in its place.
fn usable(folder: &Path, top: &Path, user: u32) -> Option<PathBuf> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).ok()?;
    let owned = |path: &Path| path.symlink_metadata().is_ok_and(|about| about.is_dir() && about.uid() == user);
    let ours = folder.ancestors().take_while(|part| part.starts_with(top)).all(owned);
    let writable = access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok() && !is_full(folder);
    (ours && writable).then(|| folder.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_project_that_can_be_written_keeps_its_own_folder() {
        let project = tempfile::tempdir().unwrap();
        assert_eq!(read_only(project.path()), None);
        assert_eq!(folder(project.path()), project.path().join(OWN));
        assert!(!project.path().join(OWN).exists(), "nothing is made by asking");
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_told_with_its_reason() {
        let project = tempfile::tempdir().unwrap();
        fs::create_dir(project.path().join(OWN)).unwrap();
        let file = project.path().join(OWN).join("journal.ndjson");
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o444)).unwrap();
        // Root can write to any file.
        let kept_out = fs::OpenOptions::new().append(true).open(&file).is_err();
        let told = read_only(project.path());
        assert_eq!(told.is_some_and(|why| why.contains("journal.ndjson") && why.contains("denied")), kept_out);
    }

    #[test]
    fn two_projects_of_one_name_have_two_folders_and_a_link_of_others_is_not_followed() {
        let top = tempfile::tempdir().unwrap();
        let user = user().unwrap();
        let first = usable(&top.path().join("t/projects/a-1"), &top.path().join("t"), user).unwrap();
        assert_eq!(fs::metadata(&first).unwrap().permissions().mode() & 0o077, 0, "others cannot read it");
        symlink(&first, top.path().join("t/projects/a-2")).unwrap();
        assert_eq!(usable(&top.path().join("t/projects/a-2"), &top.path().join("t"), user), None);
        assert_eq!(usable(&first, &top.path().join("t"), user + 1), None, "it belongs to another user");
    }
}
