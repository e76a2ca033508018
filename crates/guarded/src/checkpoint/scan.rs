//! Lists the entries that a checkpoint covers (all that are not ignored), with metadata that reveals changes.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::base::Bytes;
use crate::base::overwrite::is_temporary;
use crate::base::stamp::Stamp;
pub use crate::base::stamp::{TICK_NS, now_ns};
use crate::base::walk::walk;

/// Maximum number of entries that a checkpoint covers, in case a home folder is given by mistake.
pub const ENTRIES_MAX: usize = 200_000;
/// Maximum size of a file whose content is stored; larger files are assumed to be data.
pub const FILE_MAX: Bytes = Bytes::mib(32);
const DEPTH_MAX: usize = 128;
/// Maximum number of uncovered paths listed.
const UNCOVERED_MAX: usize = 1_000;

/// An entry's metadata. If it is the same at two times, the entry did not change in between, unless
/// [`Stat::is_fresh`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    pub kind: Kind,
    pub mode: u32,
    pub size: u64,
    pub mtime_ns: i64,
    /// Unlike `mtime_ns`, programs cannot set it.
    pub ctime_ns: i64,
    pub inode: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    // The values stored in the database.
    File = 0,
    Dir = 1,
    Link = 2,
}

impl Stat {
    /// `None` if it is not a file, folder or link.
    pub fn of(about: &Metadata) -> Option<Stat> {
        let kind = match about.file_type() {
            kind if kind.is_file() => Kind::File,
            kind if kind.is_dir() => Kind::Dir,
            kind if kind.is_symlink() => Kind::Link,
            _ => return None,
        };
        let (stamp, folder) = (Stamp::of(about), kind == Kind::Dir);
        Some(Stat {
            kind,
            mode: about.permissions().mode() & 0o7777,
            // A folder's size and times change with its entries, which are compared separately.
            size: if folder { 0 } else { stamp.size },
            mtime_ns: if folder { 0 } else { stamp.mtime_ns },
            ctime_ns: stamp.ctime_ns,
            inode: stamp.inode,
        })
    }

    /// The current entry at `path`, without following links; `None` if there is none; an error if
    /// it is unreadable or of another kind.
    pub fn at(path: &Path) -> Result<Option<Stat>, String> {
        match fs::symlink_metadata(path) {
            Ok(about) => Stat::of(&about).map(Some).ok_or_else(|| "neither file, folder nor link".to_owned()),
            Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
                Ok(None)
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// Whether the file changed so shortly before `now_ns` that another change could leave the same
    /// metadata.
    pub fn is_fresh(&self, now_ns: i64) -> bool {
        self.kind == Kind::File && self.ctime_ns >= now_ns.saturating_sub(TICK_NS)
    }
}

#[derive(Debug, Default)]
pub struct Scan {
    /// Keyed by path relative to the project.
    pub entries: BTreeMap<PathBuf, Stat>,
    /// Paths that are not covered, each with the reason.
    pub uncovered: Vec<(PathBuf, String)>,
    /// Number of uncovered paths beyond [`UNCOVERED_MAX`].
    unlisted: usize,
    /// Temporary files of interrupted writes.
    pub leftovers: Vec<PathBuf>,
}

/// Lists everything below `project`, except ignored entries and the folders of version control and
/// of monobloc.
pub fn scan(project: &Path) -> Scan {
    let mut scan = Scan::default();
    for entry in walk(project, project).max_depth(Some(DEPTH_MAX)).build() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                scan.leave_out(PathBuf::new(), error.to_string());
                continue;
            }
        };
        let Ok(path) = entry.path().strip_prefix(project) else { continue };
        if entry.depth() == 0 {
            continue;
        }
        if is_temporary(path) {
            scan.leftovers.push(path.to_owned());
            continue;
        }
        if scan.entries.len() >= ENTRIES_MAX {
            scan.leave_out(path.to_owned(), format!("more than {ENTRIES_MAX} entries; name folders in .ignore"));
            break;
        }
        match Stat::at(entry.path()) {
            Ok(Some(stat)) => drop(scan.entries.insert(path.to_owned(), stat)),
            Ok(None) => {}
            Err(why) => scan.leave_out(path.to_owned(), why),
        }
    }
    scan
}

impl Scan {
    fn leave_out(&mut self, path: PathBuf, why: String) {
        if self.uncovered.len() < UNCOVERED_MAX {
            return self.uncovered.push((path, why));
        }
        self.unlisted += 1;
        self.uncovered.truncate(UNCOVERED_MAX);
        self.uncovered.push((PathBuf::from("."), format!("{} more entries, not listed", self.unlisted)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::overwrite::temporary_name;

    #[test]
    fn ignored_files_are_left_out_and_temporary_files_listed() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        };
        for path in ["src/a.rs", "target/a", ".git/config", ".monobloc/db", ".env"] {
            write(path);
        }
        let temporary = temporary_name();
        write(&temporary);
        fs::write(folder.path().join(".gitignore"), "target/\n").unwrap();
        std::os::unix::fs::symlink("src/a.rs", folder.path().join("link")).unwrap();
        fs::create_dir(folder.path().join("empty")).unwrap();
        let scan = scan(folder.path());
        let paths: Vec<&str> = scan.entries.keys().filter_map(|path| path.to_str()).collect();
        assert_eq!(paths, [".env", ".gitignore", "empty", "link", "src", "src/a.rs"]);
        assert_eq!(scan.leftovers, [PathBuf::from(temporary)]);
        assert_eq!(scan.entries[Path::new("link")].kind, Kind::Link);
    }

    #[test]
    fn a_file_is_fresh_for_a_tick_after_its_change() {
        let stat = |kind| Stat { kind, mode: 0o644, size: 1, mtime_ns: 0, ctime_ns: 5 * TICK_NS, inode: 1 };
        let fresh = |kind, now: i64| stat(kind).is_fresh(now);
        assert!(fresh(Kind::File, 5 * TICK_NS) && fresh(Kind::File, 6 * TICK_NS));
        assert!(!fresh(Kind::File, 6 * TICK_NS + 1) && !fresh(Kind::Dir, 5 * TICK_NS));
    }

    #[test]
    fn uncovered_paths_beyond_the_bound_are_counted() {
        let mut scan = Scan::default();
        (0..UNCOVERED_MAX + 3).for_each(|path| scan.leave_out(path.to_string().into(), "unreadable".into()));
        let (_, why) = &scan.uncovered[UNCOVERED_MAX];
        assert_eq!((scan.uncovered.len(), why.as_str()), (UNCOVERED_MAX + 1, "3 more entries, not listed"));
    }
}
