//! Lists what a checkpoint covers: every entry that ignore rules let through, with what tells a change without reading.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use crate::base::Bytes;

/// Most entries a checkpoint covers; a home folder given by mistake ends here.
pub const ENTRIES_MAX: usize = 200_000;
/// A larger file is data; its content is not kept.
pub const FILE_MAX: Bytes = Bytes::mib(32);
/// Deepest folder that is entered.
const DEPTH_MAX: usize = 128;
/// Reasons that are kept; the rest is counted.
const UNCOVERED_MAX: usize = 1_000;

/// What the file system says about one entry. Equal before and after means: not touched, unless [`Stat::is_fresh`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    pub kind: Kind,
    pub mode: u32,
    pub size: u64,
    pub mtime_ns: i64,
    /// Cannot be set by a program, unlike the one above.
    pub ctime_ns: i64,
    pub inode: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    Dir,
    Link,
}

/// Clocks of file systems tick this coarsely at worst (100 Hz), and a second change in one tick leaves no trace.
pub const TICK_NS: i64 = 20_000_000;

impl Stat {
    /// `None` for what is neither file, folder nor link.
    pub fn of(about: &Metadata) -> Option<Stat> {
        let kind = match about.file_type() {
            kind if kind.is_file() => Kind::File,
            kind if kind.is_dir() => Kind::Dir,
            kind if kind.is_symlink() => Kind::Link,
            _ => return None,
        };
        let ns = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        let folder = kind == Kind::Dir;
        Some(Stat {
            kind,
            mode: about.permissions().mode() & 0o7777,
            // What a folder holds is told by its entries; its own size and times change with them.
            size: if folder { 0 } else { about.size() },
            mtime_ns: if folder { 0 } else { ns(about.mtime(), about.mtime_nsec()) },
            ctime_ns: ns(about.ctime(), about.ctime_nsec()),
            inode: about.ino(),
        })
    }

    /// What stands at `path` now, links not followed. `Err`: it cannot be seen, or is none of the three kinds.
    pub fn at(path: &Path) -> Result<Option<Stat>, String> {
        match fs::symlink_metadata(path) {
            Ok(about) => Stat::of(&about).map(Some).ok_or_else(|| "neither file, folder nor link".to_owned()),
            Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
                Ok(None)
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// Changed so shortly before `now_ns` that another change could look the same.
    pub fn is_fresh(&self, now_ns: i64) -> bool {
        self.kind == Kind::File && self.ctime_ns >= now_ns.saturating_sub(TICK_NS)
    }
}

/// Now, on the clock of the stamps above.
pub fn now_ns() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}

/// What stands in a project.
#[derive(Debug, Default)]
pub struct Scan {
    /// By path relative to the project.
    pub entries: BTreeMap<PathBuf, Stat>,
    /// What is seen but not covered, and why.
    pub uncovered: Vec<(PathBuf, String)>,
    /// Left behind by a write that was killed.
    pub leftovers: Vec<PathBuf>,
}

/// Everything below `project` but what ignore rules, version control and this program keep for themselves.
pub fn scan(project: &Path) -> Scan {
    let mut scan = Scan::default();
    let mut walk = WalkBuilder::new(project);
    // Ignore files outside the project say nothing about it: what is covered must not depend on the machine.
    walk.hidden(false).parents(false).git_global(false).git_exclude(false).require_git(false).follow_links(false);
    walk.max_depth(Some(DEPTH_MAX)).filter_entry(|entry| entry.depth() == 0 || !is_private(entry.file_name().to_str()));
    for entry in walk.build() {
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
            self.uncovered.push((path, why));
        }
    }
}

fn is_private(name: Option<&str>) -> bool {
    matches!(name, Some(".git" | ".monobloc" | ".hg" | ".svn"))
}

/// A name under which this program writes a file before it is renamed into place.
pub fn temporary_name() -> String {
    format!(".monobloc-{:016x}", fastrand::u64(..))
}

fn is_temporary(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let digits = name.strip_prefix(".monobloc-").unwrap_or_default();
    digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_files_are_left_out_and_leftovers_named() {
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
}
