//! Finds a call's changes to entries outside checkpoints: ignored files, `.git`, and unreadable entries.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::scan::{Kind, Stat, TICK_NS, now_ns};
use crate::base::overwrite::{is_private, is_temporary};

/// Maximum time for this search: a folder of packages has tens of thousands of files.
const TIME_MAX: Duration = Duration::from_millis(300);
/// Files in `.git` that even read-only commands rewrite, and contents that nothing refers to yet.
const GIT_SKIPPED: [&str; 4] = ["index", "index.lock", "objects", "fsmonitor--daemon"];

/// The uncovered entries of covered folders before a call.
#[derive(Debug)]
pub struct Hidden {
    began_ns: i64,
    tops: BTreeSet<PathBuf>,
}

impl Hidden {
    /// `known`: all covered paths.
    pub fn of(project: &Path, known: &HashSet<PathBuf>) -> Hidden {
        Hidden { began_ns: now_ns(), tops: tops(project, known) }
    }

    /// The entries created, changed or deleted since: the outermost uncovered path of each, with
    /// the reason it is not covered.
    pub fn changes(&self, project: &Path, known: &HashSet<PathBuf>) -> BTreeMap<PathBuf, String> {
        let until = Instant::now() + TIME_MAX;
        let since = self.began_ns.saturating_sub(TICK_NS);
        let tops = tops(project, known);
        let mut changes = BTreeMap::new();
        for path in &tops {
            let is_git = path.file_name().is_some_and(|name| name == ".git");
            let skipped: &[&str] = if is_git { &GIT_SKIPPED } else { &[] };
            let why = if is_git { "git's own" } else { "ignored" };
            let why = match is_changed(&project.join(path), since, skipped, until) {
                Some(true) => why.to_owned(),
                Some(false) => continue,
                None => format!("{why}, too large to search"),
            };
            changes.insert(path.clone(), why);
        }
        // An entry that is now covered is already among the call's changes.
        let gone = self.tops.difference(&tops).filter(|path| !known.contains(*path));
        changes.extend(gone.map(|path| (path.clone(), "ignored, deleted".to_owned())));
        changes
    }
}

/// The outermost uncovered entries, except monobloc's own.
fn tops(project: &Path, known: &HashSet<PathBuf>) -> BTreeSet<PathBuf> {
    let (mut tops, mut folders) = (BTreeSet::new(), vec![PathBuf::new()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(project.join(&folder)).into_iter().flatten().flatten() {
            let (name, path) = (entry.file_name(), folder.join(entry.file_name()));
            if is_temporary(&path) || is_private(&name) && name != ".git" {
                continue;
            }
            if !known.contains(&path) {
                tops.insert(path);
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            }
        }
    }
    tops
}

/// Whether an entry, or one below it, has changed since `since_ns`; `None` if time ran out. A
/// folder counts as changed if entries were created or deleted in it. `skipped`: names directly
/// below it to skip.
fn is_changed(top: &Path, since_ns: i64, skipped: &[&str], until: Instant) -> Option<bool> {
    let mut open = vec![top.to_owned()];
    while let Some(path) = open.pop() {
        if Instant::now() > until {
            return None;
        }
        // Other programs may delete it at the same time.
        let Ok(Some(stat)) = Stat::at(&path) else { continue };
        let is_folder = stat.kind == Kind::Dir;
        if stat.ctime_ns >= since_ns && (skipped.is_empty() || !is_folder) {
            return Some(true);
        }
        if is_folder {
            let below = fs::read_dir(&path).into_iter().flatten().flatten();
            let is_skipped = |entry: &fs::DirEntry| {
                path == top && skipped.iter().any(|name| entry.file_name() == *name) || is_private(&entry.file_name())
            };
            open.extend(below.filter(|entry| !is_skipped(entry)).map(|entry| entry.path()));
        }
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Cancel;
    use crate::checkpoint::{About, Reach, Turn};

    /// Checks which uncovered changes a turn that runs one command reports, as `path: reason`.
    fn check(line: &str, expected: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        let run = |line: &str| {
            let done = std::process::Command::new("sh").args(["-ec", line]).current_dir(folder.path()).status();
            assert!(done.unwrap().success(), "{line}");
        };
        run(
            "mkdir -p src out/deep .git/objects; printf '*.log\\nout/\\n' > .gitignore; echo 1 > src/a; echo 1 > src/b.log; \
             echo 1 > out/deep/c; echo 1 > .git/HEAD; echo 1 > .git/index; echo 1 > d.log",
        );
        std::thread::sleep(Duration::from_millis(50));
        let turn = Turn::new(folder.path(), About::default(), Cancel::new());
        turn.during("run_command", &Reach::Everything, &|| Ok(Vec::new()), || run(line)).unwrap();
        let left = turn.finish().unwrap().unwrap().left;
        let left: Vec<String> = left.iter().map(|(path, why)| format!("{}: {why}", path.display())).collect();
        assert_eq!(left, expected, "{line}");
    }

    #[test]
    fn what_a_command_does_to_uncovered_entries_is_found() {
        check("echo 2 > src/a; cat out/deep/c d.log > /dev/null", &[]);
        check("echo 2 >> src/b.log", &["src/b.log: ignored"]);
        check("echo 2 > out/deep/c; echo 2 > src/new.log", &["out: ignored", "src/new.log: ignored"]);
        check("rm d.log; rm out/deep/c", &["d.log: ignored, deleted", "out: ignored"]);
        check("rm -r out", &["out: ignored, deleted"]);
        check("echo 2 > .git/HEAD", &[".git: git's own"]);
        check("echo 2 > .git/index; echo 2 > .git/objects/x", &[]);
    }
}
