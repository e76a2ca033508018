//! Tracks a turn's changes: makes a checkpoint before the first, and assigns each to the call that made it.

use crate::base::lock;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use rusqlite::params;

use super::CheckpointError;
use super::entry::Entry;
use super::hidden::Hidden;
use super::lock::Lock;
use super::scan::now_ns;
use super::store::{Change, Origin, Store, bytes};
use super::sync::Look;
use crate::base::Cancel;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// These paths, relative to the project, and their parent folders.
    Paths(Vec<PathBuf>),
    Everything,
}

/// Returns the current lessons.
pub type Memory<'m> = &'m dyn Fn() -> Result<Vec<Vec<u8>>, String>;

/// The last journal record before a checkpoint; a restore does not undo this record or earlier
/// ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Anchor {
    /// 0 before the first record.
    pub seq: u64,
    pub hash: String,
}

#[derive(Clone, Debug, Default)]
pub struct About {
    pub conversation: String,
    pub request: String,
    pub anchor: Anchor,
    /// The running command, shown to other processes that wait for the lock.
    pub command: String,
}

/// A turn's net changes, as numbers of files whose changes can be undone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub checkpoint: i64,
    pub created: usize,
    pub changed: usize,
    pub deleted: usize,
    /// Changed paths whose changes cannot be undone, each with the reason.
    pub left: Vec<(PathBuf, String)>,
}

impl Summary {
    /// Whether there are no known changes.
    pub fn is_empty(&self) -> bool {
        self.created + self.changed + self.deleted == 0 && self.left.is_empty()
    }
}

/// One turn. Does nothing (no opening, locking or writing) before its first call that may change
/// something.
pub struct Turn {
    project: PathBuf,
    about: About,
    cancel: Cancel,
    state: Mutex<State>,
}

enum State {
    Untouched,
    Open(Box<Open>),
    Finished,
}

struct Open {
    store: Store,
    checkpoint: i64,
    call: Option<i64>,
    /// The uncovered entries before the call in progress, if the call may change anything.
    hidden: Option<Hidden>,
    /// Such calls' changes to uncovered entries, each path with the reason.
    left: BTreeMap<PathBuf, String>,
    _lock: Lock,
}

impl Turn {
    pub fn new(project: &Path, about: About, cancel: Cancel) -> Turn {
        Turn { project: project.to_owned(), about, cancel, state: Mutex::new(State::Untouched) }
    }

    /// Prepares a call: stores everything that it may overwrite. The first call of a turn waits for
    /// the project's lock and makes the checkpoint. Returns the checkpoint's number. If this fails,
    /// the call must not run.
    pub fn begin(&self, tool: &str, reach: &Reach, memory: Memory<'_>) -> Result<i64, CheckpointError> {
        let mut state = self.state();
        Ok(self.begun(&mut state, tool, reach, memory)?.checkpoint)
    }

    /// Prepares a call, runs its `work` and ends it; for work in this process that cannot be
    /// interrupted.
    pub fn during<T>(
        &self,
        tool: &str,
        reach: &Reach,
        memory: Memory<'_>,
        work: impl FnOnce() -> T,
    ) -> Result<(T, i64), CheckpointError> {
        // The lock is held during the work, so that the turn cannot be finished in the meantime.
        let mut state = self.state();
        let open = self.begun(&mut state, tool, reach, memory)?;
        let done = work();
        open.end(&self.project)?;
        Ok((done, open.checkpoint))
    }

    fn begun<'s>(
        &self,
        state: &'s mut State,
        tool: &str,
        reach: &Reach,
        memory: Memory<'_>,
    ) -> Result<&'s mut Open, CheckpointError> {
        let first = matches!(state, State::Untouched);
        if first {
            *state = State::Open(Box::new(self.open(reach, memory)?));
        }
        let State::Open(open) = state else { return Err(CheckpointError::Over) };
        open.end(&self.project)?;
        let checkpoint = open.checkpoint;
        let call = open.store.atomically(|store| {
            let look = Look::before(store, &self.project, reach);
            match reach {
                Reach::Paths(paths) => look.paths(paths)?,
                Reach::Everything if first => {}
                Reach::Everything => drop(look.all()?),
            }
            store.add_call(checkpoint, tool, reach)
        })?;
        open.call = Some(call);
        open.hidden = match reach {
            Reach::Everything => Some(Hidden::of(&self.project, &open.store.known_paths()?)),
            Reach::Paths(_) => None,
        };
        Ok(open)
    }

    /// Takes the project's lock and makes the checkpoint.
    fn open(&self, reach: &Reach, memory: Memory<'_>) -> Result<Open, CheckpointError> {
        let lock = Lock::wait(&self.project, &self.about.command, &self.cancel)?;
        let mut store = Store::open(&self.project)?;
        recover(&mut store, &self.project)?;
        if store.pending()?.is_some() {
            return Err(CheckpointError::Unfinished);
        }
        let memory = memory().map_err(CheckpointError::Memory)?;
        let checkpoint = store.atomically(|store| {
            Look::before(store, &self.project, reach).all()?;
            store.add_checkpoint("turn", &self.about, &memory)
        })?;
        Ok(Open { store, checkpoint, call: None, hidden: None, left: BTreeMap::new(), _lock: lock })
    }

    /// Records the changes of a call, whether it succeeded or not.
    pub fn end(&self) -> Result<(), CheckpointError> {
        match &mut *self.state() {
            State::Open(open) => open.end(&self.project),
            State::Untouched | State::Finished => Ok(()),
        }
    }

    /// Ends the turn and releases the project's lock. `None` if no checkpoint was made.
    pub fn finish(&self) -> Result<Option<Summary>, CheckpointError> {
        let State::Open(mut open) = std::mem::replace(&mut *self.state(), State::Finished) else { return Ok(None) };
        open.end(&self.project)?;
        open.store.prune()?;
        let mut summary = open.store.summary(open.checkpoint)?;
        let others = open.left.into_iter().filter(|(path, _)| !summary.left.iter().any(|(known, _)| known == path));
        summary.left.extend(others.collect::<Vec<_>>());
        Ok(Some(summary))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Poisoning is ignored, because the database stays consistent after a panic.
        lock(&self.state)
    }
}

impl Open {
    fn end(&mut self, project: &Path) -> Result<(), CheckpointError> {
        if let Some(call) = self.call.take() {
            self.store.atomically(|store| store.end_call(project, call))?;
        }
        if let Some(hidden) = self.hidden.take() {
            self.left.extend(hidden.changes(project, &self.store.known_paths()?));
        }
        Ok(())
    }
}

impl Store {
    /// Adds a checkpoint of the last known state.
    pub(super) fn add_checkpoint(
        &self,
        reason: &str,
        about: &About,
        memory: &[Vec<u8>],
    ) -> Result<i64, CheckpointError> {
        let rows = memory.iter().map(|row| self.put_blob(row)).collect::<Result<Vec<_>, _>>()?;
        let list: Vec<u8> = rows.iter().flat_map(|hash| hash.0).collect();
        let list = self.put_blob(&list)?;
        let position = self.position()?;
        let time = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string();
        self.run(
            "INSERT INTO checkpoints (time, reason, conversation, request, position, journal_seq, journal_hash, memory)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                time,
                reason,
                about.conversation,
                about.request,
                position,
                about.anchor.seq as i64,
                about.anchor.hash,
                list.0
            ],
        )?;
        Ok(self.db.last_insert_rowid())
    }

    fn add_call(&self, checkpoint: i64, tool: &str, reach: &Reach) -> Result<i64, CheckpointError> {
        let sql = "INSERT INTO calls (checkpoint, tool, started_ns, everything, open) VALUES (?1, ?2, ?3, ?4, 1)";
        self.run(sql, params![checkpoint, tool, now_ns(), *reach == Reach::Everything])?;
        let call = self.db.last_insert_rowid();
        if let Reach::Paths(paths) = reach {
            for path in paths {
                self.run("INSERT OR IGNORE INTO call_paths VALUES (?1, ?2)", params![call, bytes(path)])?;
            }
        }
        Ok(call)
    }

    /// Records the current differences as changes by the call, and removes temporary files of
    /// interrupted writes.
    pub(super) fn end_call(&self, project: &Path, call: i64) -> Result<(), CheckpointError> {
        let sql = "SELECT started_ns, everything FROM calls WHERE id = ?1";
        let found = self.row(sql, [call], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let Some((began, everything)): Option<(i64, bool)> = found else { return Ok(()) };
        let look = Look { began_ns: everything.then_some(began), ..Look::new(self, project, Origin::Call(call)) };
        if everything {
            for leftover in look.all()? {
                // If this fails, the next comparison finds the file again.
                let _ = fs::remove_file(project.join(leftover));
            }
        } else {
            let sql = "SELECT path FROM call_paths WHERE call = ?1";
            let paths = self.rows(sql, [call], |row| super::store::path(row, 0))?;
            look.paths(&paths)?;
        }
        self.run("UPDATE calls SET open = 0 WHERE id = ?1", [call]).map(drop)
    }

    /// Whether a call or restore was interrupted or is still running.
    pub fn is_unfinished(&self) -> Result<bool, CheckpointError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM calls WHERE open = 1) OR EXISTS (SELECT 1 FROM restore)";
        Ok(self.row(sql, [], |row| row.get(0))?.unwrap_or(false))
    }

    /// Whether a tool ran in a checkpoint's turn or later.
    pub fn ran_since(&self, tool: &str, checkpoint: i64) -> Result<bool, CheckpointError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM calls WHERE tool = ?1 AND checkpoint >= ?2)";
        Ok(self.row(sql, (tool, checkpoint), |row| row.get(0))?.unwrap_or(false))
    }

    pub fn summary(&self, checkpoint: i64) -> Result<Summary, CheckpointError> {
        let mut summary = Summary { checkpoint, ..Summary::default() };
        let uncovered: BTreeMap<PathBuf, String> = self.uncovered()?.into_iter().collect();
        let why = |path: &Path| uncovered.get(path).cloned().unwrap_or_else(|| "its content was not kept".to_owned());
        for (path, (old, new)) in net(&self.changes_of(checkpoint)?) {
            // Folders are not counted, because they come and go with their files.
            match (old, new) {
                (Entry::Dir { .. } | Entry::Absent, Entry::Dir { .. } | Entry::Absent) => {}
                (old, _) if !old.is_restorable() => summary.left.push((path.to_owned(), why(path))),
                (Entry::Absent, new) if !new.is_restorable() => {
                    summary.left.push((path.to_owned(), format!("new, {}", why(path))));
                }
                (Entry::Absent, _) => summary.created += 1,
                (_, Entry::Absent) => summary.deleted += 1,
                _ => summary.changed += 1,
            }
        }
        Ok(summary)
    }

    /// Every change by the calls in a checkpoint's turn.
    pub fn changes_of(&self, checkpoint: i64) -> Result<Vec<Change>, CheckpointError> {
        self.changes("origin = 'call' AND number IN (SELECT id FROM calls WHERE checkpoint = ?1)", checkpoint)
    }
}

/// Ends the calls that were running when the process was killed; changes found now count as theirs.
/// Returns the checkpoints of the interrupted turns. The caller must hold the project's lock.
pub fn recover(store: &mut Store, project: &Path) -> Result<Vec<i64>, CheckpointError> {
    let sql = "SELECT id, checkpoint FROM calls WHERE open = 1 ORDER BY id";
    let open: Vec<(i64, i64)> = store.rows(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    for (call, _) in &open {
        store.atomically(|store| store.end_call(project, *call))?;
    }
    if !open.is_empty() {
        store.look(project)?;
    }
    let mut checkpoints: Vec<i64> = open.into_iter().map(|(_, checkpoint)| checkpoint).collect();
    checkpoints.dedup();
    Ok(checkpoints)
}

/// The first old and last new entry of every path where these differ.
pub(super) fn net(changes: &[Change]) -> BTreeMap<&Path, (Entry, Entry)> {
    let mut net: BTreeMap<&Path, (Entry, Entry)> = BTreeMap::new();
    for change in changes {
        net.entry(&change.path).and_modify(|pair| pair.1 = change.new).or_insert((change.old, change.new));
    }
    net.retain(|_, (old, new)| !old.is_same(new));
    net
}
