//! Restores files by a plan stored in the database, so that an interrupted restore can be continued, or into a copy.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rusqlite::params;

use super::CheckpointError;
use super::entry::Entry;
use super::rewind::{Checkpoint, Plan, Step};
use super::scan::{Kind, Stat, now_ns, temporary_name};
use super::store::{Known, Origin, Store, bytes, entry, hash, path};
use super::sync::Look;
use super::turn::About;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The checkpoint that is restored.
    pub target: i64,
    /// The checkpoint of the state before the restore, which undoes it.
    pub safety: i64,
    /// Whether all files are restored, so that it only remains to report it.
    pub applied: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    pub restored: Vec<PathBuf>,
    /// Paths that were not restored, each with the reason.
    pub skipped: Vec<(PathBuf, String)>,
}

impl Store {
    /// Records changes by others in the whole project, as a plan needs them, and removes temporary files of interrupted writes.
    /// The caller must hold the project's lock, so that no write is in progress.
    pub fn look(&mut self, project: &Path) -> Result<(), CheckpointError> {
        let leftovers = self.atomically(|store| Look::new(store, project, Origin::Outside).all())?;
        for leftover in leftovers {
            // If this fails, the next look finds it again.
            let _ = fs::remove_file(project.join(leftover));
        }
        Ok(())
    }

    /// Stores the plan of a restore, after checking that all contents it needs are intact and storing what it will overwrite.
    /// Changes no file yet. `memory` are the present lessons.
    pub fn prepare(
        &mut self,
        project: &Path,
        target: &Checkpoint,
        plan: &Plan,
        about: &About,
        memory: &[Vec<u8>],
    ) -> Result<Pending, CheckpointError> {
        for content in plan.steps.iter().filter_map(|step| step.then.content()) {
            self.blob(content)?;
        }
        self.memory_of(target)?;
        self.atomically(|store| {
            let paths: Vec<PathBuf> = plan.steps.iter().map(|step| step.path.clone()).collect();
            Look::new(store, project, Origin::Outside).paths(&paths)?;
            let safety = store.add_checkpoint("rewind", about, memory)?;
            for step in &plan.steps {
                let now = store.known_at(&step.path)?.map_or(Entry::Absent, |known| known.entry);
                let sql = "INSERT INTO restore_plan VALUES (?1, ?2, ?3)";
                store.run(sql, params![bytes(&step.path), now.to_string(), step.then.to_string()])?;
            }
            let sql = "INSERT INTO restore VALUES (1, ?1, ?2, 'files', 0)";
            store.run(sql, [target.id, safety])?;
            Ok(Pending { target: target.id, safety, applied: false })
        })
    }

    /// The restore that is in progress or was interrupted.
    pub fn pending(&self) -> Result<Option<Pending>, CheckpointError> {
        self.row("SELECT target, safety, phase FROM restore", [], |row| {
            Ok(Pending { target: row.get(0)?, safety: row.get(1)?, applied: row.get_ref(2)?.as_str()? == "applied" })
        })
    }

    /// Carries out the steps of the stored plan that are not done yet. Files that were changed since the plan was made are skipped.
    pub fn apply(&mut self, project: &Path, pending: &Pending) -> Result<Applied, CheckpointError> {
        let steps = self.rows("SELECT path, old, new FROM restore_plan ORDER BY path", [], |row| {
            Ok(Step { path: path(row, 0)?, now: entry(row, 1)?, then: entry(row, 2)?, foreign: false })
        })?;
        let mut applied = Applied::default();
        let mut todo = Vec::new();
        for step in steps {
            match self.still_expected(project, &step) {
                Ok(true) => todo.push(step),
                Ok(false) => applied.skipped.push((step.path, "changed meanwhile; it stays as it is".to_owned())),
                Err(error) => applied.skipped.push((step.path, error.to_string())),
            }
        }
        let mut failed = BTreeSet::new();
        for (step, done) in self.work_through(project, &todo) {
            if let Err(error) = done {
                failed.insert(step.path.clone());
                applied.skipped.push((step.path.clone(), error));
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

    /// Forgets the restore, after its end was reported.
    pub fn settled(&mut self) -> Result<(), CheckpointError> {
        self.run("DELETE FROM restore", []).map(drop)
    }

    fn note(&self, project: &Path, step: &Step, target: i64) -> Result<(), CheckpointError> {
        let stat = Stat::at(&project.join(&step.path)).ok().flatten();
        let known = stat.map(|stat| Known { entry: step.then, stat, fresh: stat.is_fresh(now_ns()) });
        self.set_known(&step.path, known.as_ref().filter(|_| step.then != Entry::Absent))?;
        if step.now == step.then {
            return Ok(());
        }
        self.add_change(Origin::Rewind(target), &step.path, step.now, step.then)
    }

    /// Whether a path is as the plan found it, as the plan wants it, or in a state between both.
    fn still_expected(&self, project: &Path, step: &Step) -> io::Result<bool> {
        let at = project.join(&step.path);
        let found = Entry::at(&at)?;
        let on_the_way = match (step.now, step.then) {
            (now, then) if found == now || found == then => return Ok(true),
            (Entry::Dir { .. }, Entry::Dir { .. }) => found.is_dir(),
            // An entry of another kind is removed before the new one is made.
            (now, then) if std::mem::discriminant(&now) != std::mem::discriminant(&then) => {
                found == Entry::Absent || (found.is_dir() && (now.is_dir() || then.is_dir()))
            }
            _ => false,
        };
        Ok(on_the_way)
    }

    /// Runs all steps: removes entries, deepest first; makes folders, outermost first; writes files and links; sets modes of
    /// folders last, because they may forbid writing. Gives the result of every action.
    fn work_through<'a>(&self, project: &Path, steps: &'a [Step]) -> Vec<(&'a Step, Result<(), String>)> {
        let mut ends: Vec<(&Step, Result<(), String>)> = Vec::new();
        let mut run = |step: &'a Step, work: &dyn Fn(&Path) -> io::Result<()>| {
            let done = on_real_folders(project, &step.path).and_then(|()| work(&project.join(&step.path)));
            ends.push((step, done.map_err(|error| error.to_string())));
        };
        for step in steps.iter().filter(|step| step.now.is_dir()) {
            run(step, &open_up);
        }
        for step in steps.iter().rev().filter(|step| step.then == Entry::Absent || changes_kind(step)) {
            run(step, &|at| remove(at, step.then));
        }
        for step in steps.iter().filter(|step| step.then.is_dir()) {
            run(step, &make_folder);
        }
        for step in steps {
            if let Some(content) = step.then.content() {
                run(step, &|at| {
                    let bytes = self.blob(content).map_err(io::Error::other)?;
                    write(at, step.then, bytes)
                });
            }
        }
        for step in steps.iter().rev() {
            if let Entry::Dir { mode } = step.then {
                run(step, &|at| fs::set_permissions(at, Permissions::from_mode(mode)));
            }
        }
        ends
    }
}

fn changes_kind(step: &Step) -> bool {
    step.now != Entry::Absent && std::mem::discriminant(&step.now) != std::mem::discriminant(&step.then)
}

impl Entry {
    /// The present entry at a path, with its whole content hashed.
    pub fn at(path: &Path) -> io::Result<Entry> {
        let Some(stat) = Stat::at(path).map_err(io::Error::other)? else { return Ok(Entry::Absent) };
        Ok(match stat.kind {
            Kind::Dir => Entry::Dir { mode: stat.mode },
            Kind::Link => Entry::Link { hash: hash(&fs::read_link(path)?.into_os_string().into_vec()) },
            Kind::File => Entry::File { mode: stat.mode, hash: Some(hash(&fs::read(path)?)) },
        })
    }
}

/// Fails if a folder above `path` is a link or a file, so that nothing outside the project is touched.
fn on_real_folders(project: &Path, path: &Path) -> io::Result<()> {
    for folder in path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()) {
        match fs::symlink_metadata(project.join(folder)) {
            Ok(about) if about.is_dir() => {}
            Ok(_) => return Err(io::Error::other(format!("`{}` is no folder", folder.display()))),
            // A step will make it, or everything below it is removed too.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Gives the owner all rights on a folder, until its mode is restored.
fn open_up(at: &Path) -> io::Result<()> {
    match fs::symlink_metadata(at) {
        Ok(about) if about.is_dir() && about.permissions().mode() & 0o700 != 0o700 => {
            fs::set_permissions(at, Permissions::from_mode(about.permissions().mode() & 0o7777 | 0o700))
        }
        _ => Ok(()),
    }
}

/// Removes the entry at a path, unless it is already of the kind of `then`. Fails for a folder that is not empty.
fn remove(at: &Path, then: Entry) -> io::Result<()> {
    let gone = match fs::symlink_metadata(at) {
        Ok(about) if about.is_dir() && then.is_dir() => Ok(()),
        Ok(about) if about.is_dir() => fs::remove_dir(at),
        Ok(about) if about.is_file() && matches!(then, Entry::File { .. }) => Ok(()),
        Ok(_) => fs::remove_file(at),
        Err(error) => Err(error),
    };
    match gone {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
            Err(io::Error::other("the folder has other files in it; it stays"))
        }
        other => other,
    }
}

fn make_folder(at: &Path) -> io::Result<()> {
    match fs::create_dir(at) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => open_up(at),
        other => other,
    }
}

/// Writes a file or link, atomically.
fn write(at: &Path, then: Entry, content: Vec<u8>) -> io::Result<()> {
    let folder = at.parent().ok_or_else(|| io::Error::other("it has no folder"))?;
    fs::create_dir_all(folder)?;
    match then {
        Entry::File { mode, .. } => replace_file(at, Some(Permissions::from_mode(mode)), &content),
        _ => replace(at, |beside| std::os::unix::fs::symlink(std::ffi::OsString::from_vec(content), beside)),
    }
}

/// Writes a file, atomically and durably: a reader sees the old content or the new one.
pub fn replace_file(at: &Path, mode: Option<Permissions>, content: &[u8]) -> io::Result<()> {
    replace(at, |beside| {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC);
        let mut file = options.open(beside)?;
        file.write_all(content)?;
        if let Some(mode) = mode {
            file.set_permissions(mode)?;
        }
        file.sync_all()
    })
}

/// Has an entry made under a temporary name beside the path, then renames it.
fn replace(at: &Path, make: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let beside = at.with_file_name(temporary_name());
    let made = make(&beside).and_then(|()| fs::rename(&beside, at));
    if made.is_err() {
        let _ = fs::remove_file(&beside);
    }
    made
}
