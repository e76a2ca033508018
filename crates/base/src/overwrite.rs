//! Replaces the content of a project's file and keeps its owner, mode, extended attributes and other names.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use xattr::FileExt;

use super::ignored::PRIVATE;
use super::walk::everything;

/// Maximum number of entries searched for other names of a file.
const ENTRIES_MAX: usize = 200_000;
/// Attributes that the kernel computes from the content of a file.
const COMPUTED: [&str; 2] = ["security.ima", "security.evm"];

/// Extended attributes by name, sorted; they include access control lists.
pub type Attributes = Vec<(OsString, Vec<u8>)>;

/// The owner, mode and attributes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// Includes the set-user-ID, set-group-ID and sticky bits.
    pub mode: u32,
    /// User and group; `None` if unknown.
    pub owner: Option<(u32, u32)>,
    /// `None` if unknown.
    pub attributes: Option<Attributes>,
}

impl About {
    pub fn of(path: &Path) -> io::Result<About> {
        let about = fs::symlink_metadata(path)?;
        let mut attributes = Vec::new();
        // A file system without attributes returns an error.
        for name in xattr::list(path).into_iter().flatten().filter(|name| !COMPUTED.iter().any(|one| name == one)) {
            if let Some(value) = xattr::get(path, &name)? {
                attributes.push((name, value));
            }
        }
        attributes.sort();
        let owner = Some((about.uid(), about.gid()));
        Ok(About { mode: about.permissions().mode() & 0o7777, owner, attributes: Some(attributes) })
    }

    /// Fills in unknown parts from `other`.
    fn or(&self, other: &About) -> About {
        let attributes = self.attributes.as_ref().or(other.attributes.as_ref()).cloned();
        About { mode: self.mode, owner: self.owner.or(other.owner), attributes }
    }

    /// Applies all of this to a file. The owner is set first, because changing it clears bits of
    /// the mode. On failure, the set-user-ID and set-group-ID bits are cleared, so that the file
    /// cannot run with somebody else's rights.
    pub fn put_on(&self, file: &File) -> io::Result<()> {
        let now = file.metadata()?;
        if let Some((user, group)) = self.owner.filter(|owner| (now.uid(), now.gid()) != *owner) {
            fchown(file, Some(user), Some(group))?;
        }
        if let Some(attributes) = &self.attributes {
            for name in file.list_xattr().into_iter().flatten() {
                let is_computed = COMPUTED.iter().any(|one| name == *one);
                if !is_computed && !attributes.iter().any(|(kept, _)| *kept == name) {
                    file.remove_xattr(&name)?;
                }
            }
            for (name, value) in attributes {
                if file.get_xattr(name).ok().flatten().as_ref() != Some(value) {
                    file.set_xattr(name, value)?;
                }
            }
        }
        if file.metadata()?.permissions().mode() & 0o7777 != self.mode {
            file.set_permissions(Permissions::from_mode(self.mode))?;
        }
        Ok(())
    }
}

/// The other names of one file (hard links).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Names in the project, absolute and sorted, outside the folders of version control and of
    /// monobloc.
    pub inside: Vec<PathBuf>,
    /// Whether there are names outside the project.
    pub elsewhere: bool,
}

/// Finds the other names of the file at a path in the project.
pub fn other_names(at: &Path, project: &Path) -> io::Result<Names> {
    let about = fs::symlink_metadata(at)?;
    let others = about.nlink().saturating_sub(1);
    if !about.is_file() || others == 0 {
        return Ok(Names::default());
    }
    let is_same = |entry: &ignore::DirEntry| {
        let kind = entry.file_type().is_some_and(|kind| kind.is_file());
        let other = entry.metadata().ok().filter(|_| kind && entry.path() != at);
        other.is_some_and(|other| (other.dev(), other.ino()) == (about.dev(), about.ino()))
    };
    let mut walk = everything(project, &PRIVATE);
    walk.same_file_system(true);
    let all = walk.build().flatten().take(ENTRIES_MAX).filter(is_same).map(ignore::DirEntry::into_path);
    let mut inside: Vec<PathBuf> = all.take(usize::try_from(others).unwrap_or(usize::MAX)).collect();
    inside.sort();
    Ok(Names { elsewhere: (inside.len() as u64) < others, inside })
}

/// Whether an entry with that name belongs to version control or to monobloc.
pub fn is_private(name: &std::ffi::OsStr) -> bool {
    PRIVATE.iter().any(|one| name == *one)
}

/// The mode of an existing file or folder that its owner cannot write.
pub fn read_only_mode(at: &Path) -> Option<u32> {
    let about = fs::symlink_metadata(at).ok().filter(|about| about.is_file() || about.is_dir())?;
    let mode = about.permissions().mode() & 0o7777;
    (mode & 0o200 == 0).then_some(mode)
}

/// A name for a file that is written first and renamed later; random, because several processes or
/// threads may write the same file.
pub fn temporary_name() -> String {
    format!(".monobloc-{:016x}", fastrand::u64(..))
}

pub fn is_temporary(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let digits = name.strip_prefix(".monobloc-").unwrap_or_default();
    digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// Writes the content of a file durably. A reader sees the old or the new content, unless the file
/// must be written in place.
///
/// - `about`: the owner, mode and attributes to apply; `None` keeps the existing ones, and gives a
///   new file the defaults.
/// - A file whose names all lie in the `project` is written in place, so that every name shows the
///   new content. A file with a name elsewhere is replaced by a separate file: nothing outside the
///   project changes.
/// - If something cannot be transferred to a new file (such as another owner, by a user who may not
///   give files away), the file is written in place, which keeps it.
pub fn write(at: &Path, content: &[u8], about: Option<&About>, project: &Path) -> io::Result<()> {
    let existing = match fs::symlink_metadata(at) {
        Ok(existing) => Some(existing),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let Some(existing) = existing.filter(Metadata::is_file) else {
        return beside(at, content, about);
    };
    let now = About::of(at)?;
    let about = about.map_or_else(|| now.clone(), |about| about.or(&now));
    let names = other_names(at, project)?;
    if !names.inside.is_empty() && !names.elsewhere {
        return in_place(at, content, &about, &existing);
    }
    match beside(at, content, Some(&about)) {
        Err(error) if !names.elsewhere && error.kind() != io::ErrorKind::StorageFull => {
            // Return the first error, which names the part that could not be kept.
            in_place(at, content, &about, &existing).map_err(|_| error)
        }
        done => done,
    }
}

/// Writes a new file under a temporary name, then renames it.
fn beside(at: &Path, content: &[u8], about: Option<&About>) -> io::Result<()> {
    replace(at, |temporary| {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC);
        if about.is_some() {
            // Nobody else may read the file before it has the right owner and mode.
            options.mode(0o600);
        }
        let mut file = options.open(temporary)?;
        file.write_all(content)?;
        if let Some(about) = about {
            about.put_on(&file)?;
        }
        file.sync_all()
    })
}

/// Calls `make` with a temporary path next to `at`, then renames the result to `at`.
pub fn replace(at: &Path, make: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let temporary = at.with_file_name(temporary_name());
    let made = make(&temporary).and_then(|()| fs::rename(&temporary, at));
    if made.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    made
}

/// Overwrites the content of the file `existing`. If that fails midway, the old content is written
/// back.
fn in_place(at: &Path, content: &[u8], about: &About, existing: &Metadata) -> io::Result<()> {
    let open = || OpenOptions::new().write(true).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC).open(at);
    let mut file = match open() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            fs::set_permissions(at, Permissions::from_mode(existing.permissions().mode() & 0o7777 | 0o600))?;
            open()?
        }
        opened => opened?,
    };
    let opened = file.metadata()?;
    if (opened.dev(), opened.ino()) != (existing.dev(), existing.ino()) {
        return Err(io::Error::other("the file was replaced in the meantime"));
    }
    let old = fs::read(at)?;
    let mut put = |bytes: &[u8]| {
        file.seek(SeekFrom::Start(0))?;
        file.write_all(bytes)?;
        file.set_len(bytes.len() as u64)
    };
    if let Err(error) = put(content) {
        put(&old)?;
        return Err(error);
    }
    // Writing may clear bits of the mode.
    about.put_on(&file)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ATTRIBUTE: &str = "user.monobloc.test";

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    fn inode(path: &Path) -> u64 {
        fs::metadata(path).unwrap().ino()
    }

    /// Whether the file system supports user attributes.
    fn has_attributes(file: &Path) -> bool {
        xattr::set(file, ATTRIBUTE, b"probe").is_ok()
    }

    #[test]
    fn mode_owner_and_attributes_stay() {
        let folder = folder();
        let file = folder.path().join("tool");
        fs::write(&file, "old").unwrap();
        has_attributes(&file);
        // Only root may give files away; other users' files keep their owner.
        let _ = std::os::unix::fs::chown(&file, Some(1234), Some(2345));
        for mode in [0o640, 0o4755, 0o2711, 0o600] {
            fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            let before = About::of(&file).unwrap();
            write(&file, format!("{mode:o}").as_bytes(), None, folder.path()).unwrap();
            assert_eq!(About::of(&file).unwrap(), before);
            assert_eq!(fs::read_to_string(&file).unwrap(), format!("{mode:o}"));
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn a_file_gets_what_is_asked_for() {
        let folder = folder();
        let (file, new) = (folder.path().join("a"), folder.path().join("new"));
        fs::write(&file, "old").unwrap();
        let mut wanted = About::of(&file).unwrap();
        if has_attributes(&file) {
            wanted.attributes = Some(vec![(ATTRIBUTE.into(), b"value".to_vec())]);
        }
        wanted.mode = 0o751;
        for file in [&file, &new] {
            write(file, b"new", Some(&wanted), folder.path()).unwrap();
            assert_eq!((About::of(file).unwrap(), fs::read(file).unwrap()), (wanted.clone(), b"new".to_vec()));
        }
    }

    #[test]
    fn every_name_in_the_project_shows_the_new_content() {
        let folder = folder();
        let [one, two] = ["one", "deep/two"].map(|name| folder.path().join(name));
        fs::create_dir(folder.path().join("deep")).unwrap();
        fs::write(&one, "a longer old text").unwrap();
        fs::hard_link(&one, &two).unwrap();
        let names = other_names(&two, folder.path()).unwrap();
        assert_eq!(names, Names { inside: vec![one.clone()], elsewhere: false });
        for content in ["new", "", "a text that is longer than any before it"] {
            write(&one, content.as_bytes(), None, folder.path()).unwrap();
            assert_eq!(fs::read_to_string(&two).unwrap(), content);
            assert_eq!(inode(&one), inode(&two));
        }
        // A file that nobody may write is still restored.
        let read_only = About { mode: 0o400, ..About::of(&one).unwrap() };
        write(&one, b"1", Some(&read_only), folder.path()).unwrap();
        write(&two, b"2", Some(&read_only), folder.path()).unwrap();
        assert_eq!((fs::read(&one).unwrap(), About::of(&two).unwrap()), (b"2".to_vec(), read_only));
    }

    #[test]
    fn a_name_outside_the_project_or_in_git_keeps_the_old_content() {
        let (folder, outside) = (folder(), folder());
        let git = folder.path().join(".git");
        fs::create_dir(&git).unwrap();
        for (number, elsewhere) in [outside.path().join("a"), git.join("a")].into_iter().enumerate() {
            let [one, two] = ["one", "two"].map(|name| folder.path().join(format!("{name}{number}")));
            fs::write(&elsewhere, "old").unwrap();
            fs::hard_link(&elsewhere, &one).unwrap();
            fs::hard_link(&elsewhere, &two).unwrap();
            assert!(other_names(&one, folder.path()).unwrap().elsewhere);
            write(&one, b"new", None, folder.path()).unwrap();
            assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "old");
            assert_eq!(fs::read_to_string(&two).unwrap(), "old");
        }
    }

    #[test]
    fn a_mark_against_writing_is_seen_whoever_asks() {
        let folder = folder();
        let file = folder.path().join("a");
        fs::write(&file, "").unwrap();
        for (mode, expected) in [(0o644, None), (0o444, Some(0o444)), (0o4555, Some(0o4555)), (0o200, None)] {
            fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            assert_eq!(read_only_mode(&file), expected);
        }
        assert_eq!(read_only_mode(&folder.path().join("none")), None);
    }
}
