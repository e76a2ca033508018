//! Compares a project with its last known state, records all differences as changes, and stores contents.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use super::CheckpointError;
use super::entry::{Entry, Marks};
use super::scan::{Kind, Scan, Stat, TICK_NS, now_ns, scan};
use super::store::{Known, Origin, Store, bytes};
use super::turn::Reach;

/// Maximum bytes of contents in a project's checkpoints.
pub const CONTENTS_MAX: u64 = 1 << 30;

pub struct Look<'a> {
    pub store: &'a Store,
    pub project: &'a Path,
    /// Who made the differences.
    pub origin: Origin,
    /// Store the content of every file, not only changed ones, because the next call may overwrite
    /// any of them.
    pub everything: bool,
    /// When the call that made the differences began. An unknown path older than that already
    /// existed, uncovered.
    pub began_ns: Option<i64>,
    pub(super) uncovered: RefCell<Vec<(PathBuf, String)>>,
    pub(super) now_ns: i64,
    /// All inodes known before a whole project is compared: a new path with one of them was moved
    /// there.
    pub(super) inodes: RefCell<HashSet<u64>>,
}

impl<'a> Look<'a> {
    pub fn new(store: &'a Store, project: &'a Path, origin: Origin) -> Look<'a> {
        Look {
            store,
            project,
            origin,
            everything: false,
            began_ns: None,
            uncovered: RefCell::default(),
            now_ns: now_ns(),
            inodes: RefCell::default(),
        }
    }

    /// For use before a call with this reach: any differences were made by other programs.
    pub fn before(store: &'a Store, project: &'a Path, reach: &Reach) -> Look<'a> {
        Look { everything: *reach == Reach::Everything, ..Look::new(store, project, Origin::Outside) }
    }

    /// Compares the whole project. Returns temporary files of interrupted writes.
    pub fn all(&self) -> Result<Vec<PathBuf>, CheckpointError> {
        let known = self.store.known()?;
        self.inodes.borrow_mut().extend(known.values().map(|known| known.stat.inode));
        let first = known.is_empty() && self.store.position()? == 0;
        let Scan { mut entries, uncovered, leftovers, .. } = scan(self.project);
        self.uncovered.borrow_mut().extend(uncovered);
        // Known paths stay covered even if ignore rules hide them now.
        for path in known.keys().filter(|path| !entries.contains_key(*path)).cloned().collect::<Vec<_>>() {
            match Stat::at(&self.project.join(&path)) {
                Ok(Some(stat)) => drop(entries.insert(path, stat)),
                Ok(None) => {}
                // An entry that cannot be read still exists.
                Err(why) => {
                    if let Some(known) = known.get(&path) {
                        entries.insert(path.clone(), known.stat);
                    }
                    self.uncovered.borrow_mut().push((path, why));
                }
            }
        }
        for (path, stat) in &entries {
            self.settle(path, known.get(path), Some(*stat), (first, self.everything))?;
        }
        for (path, gone) in known.iter().filter(|(path, _)| !entries.contains_key(*path)) {
            self.settle(path, Some(gone), None, (first, self.everything))?;
        }
        self.still_uncovered(&known, &entries)?;
        self.store.run("DELETE FROM uncovered", [])?;
        for (path, why) in self.uncovered.borrow().iter() {
            self.store.run("INSERT OR REPLACE INTO uncovered VALUES (?1, ?2)", (bytes(path), why))?;
        }
        Ok(leftovers)
    }

    /// Keeps the reasons for unchanged paths whose content is still not stored: most comparisons do
    /// not try them again.
    fn still_uncovered(
        &self,
        known: &BTreeMap<PathBuf, Known>,
        entries: &BTreeMap<PathBuf, Stat>,
    ) -> Result<(), CheckpointError> {
        for (path, why) in self.store.uncovered()? {
            let unchanged = known.get(&path).zip(entries.get(&path)).is_some_and(|(known, stat)| known.stat == *stat);
            let is_kept = self.store.known_at(&path)?.is_some_and(|known| known.entry.is_restorable());
            if unchanged && !is_kept && !self.uncovered.borrow().iter().any(|(listed, _)| *listed == path) {
                self.uncovered.borrow_mut().push((path, why));
            }
        }
        Ok(())
    }

    /// Compares these paths and their parent folders, and stores their contents; fails if that is
    /// not possible.
    pub fn paths(&self, paths: &[PathBuf]) -> Result<(), CheckpointError> {
        let all = paths.iter().flat_map(|path| path.ancestors()).filter(|part| !part.as_os_str().is_empty());
        for path in all.collect::<BTreeSet<&Path>>() {
            self.path(path)?;
        }
        match self.uncovered.borrow_mut().pop() {
            Some((path, why)) => Err(CheckpointError::Path { path, why }),
            None => Ok(()),
        }
    }

    /// Compares one path, and stores its content if possible.
    pub fn path(&self, path: &Path) -> Result<(), CheckpointError> {
        let wrong = |why| CheckpointError::Path { path: path.to_owned(), why };
        let stat = Stat::at(&self.project.join(path)).map_err(wrong)?;
        let known = self.store.known_at(path)?;
        // An ignored path is not known yet; if it exists now, it existed before.
        let baseline = known.is_none() && self.origin == Origin::Outside;
        self.settle(path, known.as_ref(), stat, (baseline, true))
    }

    /// Compares one path and records the difference. `baseline`: the path existed before, so it is
    /// not a change. `keep`: store its content even if unchanged.
    fn settle(
        &self,
        path: &Path,
        known: Option<&Known>,
        stat: Option<Stat>,
        (baseline, keep): (bool, bool),
    ) -> Result<(), CheckpointError> {
        let old = known.map_or(Entry::Absent, |known| known.entry);
        let Some(stat) = stat else {
            if known.is_some() {
                self.store.add_change(self.origin, path, old, Entry::Absent)?;
                self.store.set_known(path, None)?;
            }
            return Ok(());
        };
        let same = known.is_some_and(|known| known.stat == stat && !known.fresh);
        let kept = old.is_restorable();
        if same && (kept || !keep) {
            return Ok(());
        }
        let older = self.began_ns.is_some_and(|began| stat.ctime_ns < began.saturating_sub(TICK_NS));
        let moved = self.inodes.borrow().contains(&stat.inode);
        let baseline = baseline || (known.is_none() && older && !moved);
        let ours = self.origin != Origin::Outside;
        // Another program's new file is not read if the next call cannot overwrite it.
        let wanted = keep || stat.kind != Kind::File || (known.is_some() && kept) || (ours && !baseline);
        let (new, stat) = if wanted { self.kept(path, stat)? } else { (unkept(stat), stat) };
        let fresh = stat.is_fresh(self.now_ns);
        self.store.set_known(path, Some(&Known { entry: new, stat, fresh }))?;
        let touched = known.is_none_or(|known| {
            let (before, now) = (known.stat, stat);
            (before.kind, before.mode, before.size, before.mtime_ns) != (now.kind, now.mode, now.size, now.mtime_ns)
        });
        // Compares contents if both are stored, otherwise metadata.
        let differs = if kept && new.is_restorable() { !old.is_same(&new) } else { touched };
        if differs && !baseline {
            self.store.add_change(self.origin, path, old, new)?;
        }
        Ok(())
    }

    /// Stores the content at a path; if that is not possible, adds the path to `uncovered` and
    /// returns an entry without content.
    fn kept(&self, path: &Path, stat: Stat) -> Result<(Entry, Stat), CheckpointError> {
        let refuse = |why: String| {
            self.uncovered.borrow_mut().push((path.to_owned(), why));
            Ok((unkept(stat), stat))
        };
        let room = CONTENTS_MAX.saturating_sub(self.store.blob_bytes()?);
        if stat.kind == Kind::File && stat.size > room {
            return refuse("the checkpoints of this project are full (1 GiB)".to_owned());
        }
        self.store.keep(&self.project.join(path), stat)?.or_else(refuse)
    }
}

/// An entry without stored content.
fn unkept(stat: Stat) -> Entry {
    match stat.kind {
        Kind::Dir => Entry::Dir { mode: stat.mode, marks: Marks::default() },
        // A link without content could not be read.
        Kind::File | Kind::Link => Entry::File { mode: stat.mode, hash: None, marks: Marks::default() },
    }
}
