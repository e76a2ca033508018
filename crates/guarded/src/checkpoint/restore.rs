//! Restores files by a plan in the database, in place or into a copy; an interrupted restore can be resumed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rusqlite::params;

use super::CheckpointError;
use super::carry_out::{copy, put_link};
use super::entry::{Entry, Marks};
use super::rewind::{Checkpoint, Plan, Step};
use super::scan::{FILE_MAX, Stat, now_ns};
use super::store::{Known, Origin, Store, bytes, entry, path};
use super::sync::Look;
use super::turn::About;

/// The reason for skipping a path that another program is changing at the same time.
const MEANWHILE: &str = "changed meanwhile; it stays as it is";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The checkpoint being restored.
    pub target: i64,
    /// The checkpoint of the state before the restore, for undoing the restore.
    pub safety: i64,
    /// Whether all files are restored, so that only the report is left to do.
    pub applied: bool,
    /// Paths in the plan that are left unchanged, each with the reason. Not stored.
    pub left: Vec<(PathBuf, String)>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    pub restored: Vec<PathBuf>,
    /// Paths that were not restored, each with the reason.
    pub skipped: Vec<(PathBuf, String)>,
}

impl Store {
    /// Records other programs' changes to the whole project, as a plan requires, and removes
    /// temporary files of interrupted writes. The caller must hold the project's lock, so that no
    /// write is in progress.
    pub fn look(&mut self, project: &Path) -> Result<(), CheckpointError> {
        let leftovers = self.atomically(|store| Look::new(store, project, Origin::Outside).all())?;
        for leftover in leftovers {
            // If this fails, the next comparison finds the file again.
            let _ = fs::remove_file(project.join(leftover));
        }
        Ok(())
    }

    /// Stores the plan of a restore and everything it will overwrite. A path that cannot be
    /// restored, or that changed after the plan was made, is omitted and reported; the others are
    /// not affected. Changes no file yet. `memory` holds the current lessons.
    pub fn prepare(
        &mut self,
        project: &Path,
        target: &Checkpoint,
        plan: &Plan,
        about: &About,
        memory: &[Vec<u8>],
    ) -> Result<Pending, CheckpointError> {
        self.atomically(|store| {
            let look = Look::new(store, project, Origin::Outside);
            let (mut steps, mut left) = (Vec::new(), Vec::new());
            for step in &plan.steps {
                match store.ready(&look, step)? {
                    Ok(()) => steps.push(step),
                    Err(why) => left.push((step.path.clone(), why)),
                }
            }
            let safety = store.add_checkpoint("rewind", about, memory)?;
            for step in steps {
                let sql = "INSERT INTO restore_plan VALUES (?1, ?2, ?3)";
                store.run(sql, params![bytes(&step.path), step.now.to_string(), step.then.to_string()])?;
            }
            let sql = "INSERT INTO restore VALUES (1, ?1, ?2, 'files', 0)";
            store.run(sql, [target.id, safety])?;
            Ok(Pending { target: target.id, safety, applied: false, left })
        })
    }

    /// Whether a step can be carried out. The inner error states why not.
    fn ready(&self, look: &Look<'_>, step: &Step) -> Result<Result<(), String>, CheckpointError> {
        for content in step.then.contents() {
            match self.blob(content) {
                Ok(_) => {}
                Err(CheckpointError::Lost { .. }) => return Ok(Err("its content is no longer stored".to_owned())),
                Err(CheckpointError::Damaged { .. }) => return Ok(Err("its stored content is damaged".to_owned())),
                Err(error) => return Err(error),
            }
        }
        let before = self.known_at(&step.path)?;
        match look.path(&step.path) {
            Err(CheckpointError::Path { why, .. }) => return Ok(Err(why)),
            done => done?,
        }
        let now = self.known_at(&step.path)?;
        let is_as_planned = if step.now.is_restorable() {
            now.map_or(Entry::Absent, |known| known.entry).is_same(&step.now)
        } else {
            // Its content cannot be compared; its metadata shows whether it was touched.
            now.map(|known| known.stat) == before.map(|known| known.stat)
        };
        Ok(if is_as_planned { Ok(()) } else { Err(MEANWHILE.to_owned()) })
    }

    /// The restore that is in progress or was interrupted.
    pub fn pending(&self) -> Result<Option<Pending>, CheckpointError> {
        self.row("SELECT target, safety, phase FROM restore", [], |row| {
            let applied = row.get_ref(2)?.as_str()? == "applied";
            Ok(Pending { target: row.get(0)?, safety: row.get(1)?, applied, left: Vec::new() })
        })
    }

    /// Carries out the remaining steps of the stored plan. Files that changed since the plan was
    /// made are skipped.
    pub fn apply(&mut self, project: &Path, pending: &Pending) -> Result<Applied, CheckpointError> {
        let steps = self.rows("SELECT path, old, new FROM restore_plan ORDER BY path", [], |row| {
            Ok(Step { path: path(row, 0)?, now: entry(row, 1)?, then: entry(row, 2)?, foreign: false })
        })?;
        let mut applied = Applied::default();
        let mut todo = Vec::new();
        for step in steps {
            match self.still_expected(project, &step) {
                Ok(true) => todo.push(step),
                Ok(false) => applied.skipped.push((step.path, MEANWHILE.to_owned())),
                Err(error) => applied.skipped.push((step.path, error.to_string())),
            }
        }
        let mut failed = BTreeSet::new();
        for (step, done) in self.work_through(project, &todo) {
            if done.is_err() {
                failed.insert(step.path.clone());
            }
            match done {
                // A folder in which other programs have since created files must stay.
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
                Err(error) => applied.skipped.push((step.path.clone(), error.to_string())),
                Ok(Some(why)) => applied.skipped.push((step.path.clone(), why)),
                Ok(None) => {}
            }
        }
        let done: Vec<Step> = todo.into_iter().filter(|step| !failed.contains(&step.path)).collect();
        self.atomically(|store| {
            for step in &done {
                store.note(project, step, pending.target)?;
            }
            store.run("UPDATE restore SET phase = 'applied'", [])?;
            store.run("DELETE FROM restore_plan", []).map(drop)
        })?;
        applied.restored = done.into_iter().map(|step| step.path).collect();
        Ok(applied)
    }

    /// Writes the project as it was at the checkpoint into an empty folder. Returns the paths whose
    /// content is not available.
    pub fn copy_to(
        &self,
        project: &Path,
        checkpoint: &Checkpoint,
        folder: &Path,
    ) -> Result<Vec<PathBuf>, CheckpointError> {
        let mut missing = Vec::new();
        let known = self.known()?;
        // The entry of every covered path at the checkpoint: its current entry with later changes
        // undone.
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
                Entry::Link { hash, .. } => put_link(&to, self.blob(*hash)?, Marks::default()).map_err(wrong)?,
                Entry::File { mode, hash: Some(hash), .. } => {
                    copy(&to, &self.blob(*hash)?, *mode, folder).map_err(wrong)?;
                }
                // Not stored, because no call could overwrite it: if unchanged, the project still
                // has its content.
                Entry::File { mode, hash: None, .. } => {
                    let same = known.get(path).is_some_and(|known| {
                        known.entry == *entry && Stat::at(&project.join(path)) == Ok(Some(known.stat))
                    });
                    let copied = same.then(|| fs::read(project.join(path)).ok()).flatten();
                    match copied {
                        Some(bytes) => {
                            copy(&to, &bytes, *mode, folder).map_err(wrong)?;
                        }
                        None => missing.push(path.clone()),
                    }
                }
            }
        }
        for (path, entry) in entries.iter().rev() {
            if let Entry::Dir { mode, .. } = entry {
                let set = fs::set_permissions(folder.join(path), Permissions::from_mode(*mode));
                set.map_err(|error| CheckpointError::Path { path: path.clone(), why: error.to_string() })?;
            }
        }
        Ok(missing)
    }

    /// Discards the restore after its result was reported.
    pub fn settled(&mut self) -> Result<(), CheckpointError> {
        self.run("DELETE FROM restore", []).map(drop)
    }

    fn note(&self, project: &Path, step: &Step, target: i64) -> Result<(), CheckpointError> {
        let stat = Stat::at(&project.join(&step.path)).ok().flatten();
        let known = stat.map(|stat| Known { entry: step.then, stat, fresh: stat.is_fresh(now_ns()) });
        self.set_known(&step.path, known.as_ref().filter(|_| step.then != Entry::Absent))?;
        if step.now.is_same(&step.then) {
            return Ok(());
        }
        self.add_change(Origin::Rewind(target), &step.path, step.now, step.then)
    }

    /// Whether a path is still in the state before the plan, in the state after it, or between the
    /// two.
    fn still_expected(&self, project: &Path, step: &Step) -> io::Result<bool> {
        let at = project.join(&step.path);
        let stat = Stat::at(&at).map_err(io::Error::other)?;
        if !step.now.is_restorable() {
            let known = self.known_at(&step.path).map_err(io::Error::other)?;
            if stat == known.map(|known| known.stat) {
                return Ok(true);
            }
        }
        if stat.is_some_and(|stat| stat.size > FILE_MAX.0) {
            return Ok(false);
        }
        let found = Entry::at(&at)?;
        let on_the_way = match (step.now, step.then) {
            (now, then) if found.is_same(&now) || found.is_same(&then) => return Ok(true),
            (Entry::Dir { .. }, Entry::Dir { .. }) => found.is_dir(),
            // An entry of another kind is removed before the new one is created.
            (now, then) if std::mem::discriminant(&now) != std::mem::discriminant(&then) => {
                found == Entry::Absent || (found.is_dir() && (now.is_dir() || then.is_dir()))
            }
            _ => false,
        };
        Ok(on_the_way)
    }
}
