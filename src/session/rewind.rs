//! Takes a project back to a checkpoint (files, lessons and conversation together) and records that in the journal.

use std::path::{Path, PathBuf};

use super::history::History;
use super::journal::{Journal, JournalError};
use crate::base::{Cancel, ConversationId};
use crate::checkpoint::{
    self, About, Anchor, Applied, Checkpoint, CheckpointError, Foreign, Lock, Pending, Plan, Store,
};
use crate::lessons::{Lessons, LessonsError};
use crate::protocol::{Event, Record, Rewound};

#[derive(Debug, thiserror::Error)]
pub enum RewindError {
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Lessons(#[from] LessonsError),
    #[error("there is nothing to undo: no turn that counts has changed a file")]
    Nothing,
}

/// A locked project, with everything that a rewind changes.
pub struct Rewinder {
    project: PathBuf,
    store: Store,
    journal: Journal,
    lessons: Lessons,
    _lock: Lock,
    /// Messages about work of a killed process that was finished on opening.
    pub notes: Vec<String>,
}

/// What a rewind would do; nothing is done yet.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub target: Checkpoint,
    pub plan: Plan,
    /// Whether a command ran in the turns that would be undone: its effects outside the project stay.
    pub commands: bool,
}

impl Prepared {
    /// What going back does not restore, in words.
    pub fn notes(&self) -> Vec<String> {
        let lost = self.plan.lost.iter();
        let mut notes: Vec<String> =
            lost.map(|path| format!("{} cannot come back, its content was never kept", path.display())).collect();
        if self.commands {
            notes.push("a command ran; what it did to ignored files, to .git or outside the project stays".to_owned());
        }
        notes
    }
}

impl Rewinder {
    /// Waits for the project's lock and finishes what a killed process has begun. `command` names the lock's holder.
    pub fn open(
        command: &str,
        project: &Path,
        database: &Path,
        journal: &Path,
        cancel: &Cancel,
    ) -> Result<Rewinder, RewindError> {
        let lock = Lock::wait(project, command, cancel)?;
        Rewinder::with(lock, project, database, journal)
    }

    fn with(lock: Lock, project: &Path, database: &Path, journal: &Path) -> Result<Rewinder, RewindError> {
        let mut rewinder = Rewinder {
            project: project.to_owned(),
            store: Store::open(project)?,
            journal: Journal::open(journal)?,
            lessons: Lessons::open(database)?,
            _lock: lock,
            notes: Vec::new(),
        };
        rewinder.clean_up()?;
        Ok(rewinder)
    }

    fn clean_up(&mut self) -> Result<(), RewindError> {
        for checkpoint in checkpoint::recover(&mut self.store, &self.project)? {
            self.notes.push(format!(
                "a turn was interrupted; `monobloc rewind c{checkpoint}` takes back what it had changed by then"
            ));
        }
        if let Some(pending) = self.store.pending()? {
            let rewound = self.carry_on(&pending)?;
            self.store.look(&self.project)?;
            self.notes.push(format!("going back to {}, which was interrupted, is finished now", rewound.checkpoint));
        }
        Ok(())
    }

    /// The checkpoint of the last turn that changed a file and is not undone.
    pub fn latest(&self) -> Result<Checkpoint, RewindError> {
        let history = History::of(&self.journal.entries()?);
        let is_live = |seq: u64| history.turns.iter().any(|turn| turn.seq == seq && !turn.undone);
        for checkpoint in self.store.checkpoints()?.into_iter().rev() {
            let changed = self.store.summary(checkpoint.id)?;
            if checkpoint.reason == "turn"
                && is_live(checkpoint.anchor.seq)
                && changed.created + changed.changed + changed.deleted > 0
            {
                return Ok(checkpoint);
            }
        }
        Err(RewindError::Nothing)
    }

    /// The newest checkpoint: made before the last turn with changes or before the last rewind.
    pub fn newest(&self) -> Result<Checkpoint, RewindError> {
        self.store.checkpoints()?.pop().ok_or(RewindError::Nothing)
    }

    /// The checkpoint called `name`, for example `c3` or `3`.
    pub fn find(&self, name: &str) -> Result<Checkpoint, RewindError> {
        let number = name.strip_prefix('c').unwrap_or(name).parse().ok();
        let found = number.map(|number| self.store.find(number)).transpose()?.flatten();
        Ok(found.ok_or_else(|| CheckpointError::Unknown(name.to_owned()))?)
    }

    /// What going back to `target` would change. First scans the project for changes made by others.
    pub fn plan(&mut self, target: Checkpoint) -> Result<Prepared, RewindError> {
        self.store.look(&self.project)?;
        let plan = self.store.plan_to(&target)?;
        let commands = self.store.ran_since("run_command", target.id)?;
        Ok(Prepared { target, plan, commands })
    }

    /// Goes back. If the process is killed after the first change, the next start finishes it.
    pub fn go(&mut self, prepared: Prepared, foreign: Foreign) -> Result<Rewound, RewindError> {
        let Prepared { target, mut plan, .. } = prepared;
        if foreign == Foreign::Keep {
            plan.steps.retain(|step| !step.foreign);
        }
        let end = self.journal.end().clone();
        let about = About {
            conversation: target.conversation.clone(),
            request: format!("go back to c{}", target.id),
            anchor: Anchor { seq: end.seq, hash: end.hash },
            command: String::new(),
        };
        let memory = self.lessons.rows()?;
        let pending = self.store.prepare(&self.project, &target, &plan, &about, &memory)?;
        self.carry_on(&pending)
    }

    /// Restores lessons, then files, then writes the journal. May be called again after a kill: finished parts are
    /// skipped and the others can be repeated.
    fn carry_on(&mut self, pending: &Pending) -> Result<Rewound, RewindError> {
        let unknown = || CheckpointError::Unknown(format!("c{}", pending.target));
        let target = self.store.find(pending.target)?.ok_or_else(unknown)?;
        let applied = if pending.applied {
            Applied::default()
        } else {
            let restored = self.lessons.restore(&self.store.memory_of(&target)?)?;
            let mut applied = self.store.apply(&self.project, pending)?;
            if !restored {
                let why = "stored by another version; they stay as they are now".to_owned();
                applied.skipped.insert(0, (PathBuf::from("lessons"), why));
            }
            applied
        };
        let (checkpoint, safety) = (format!("c{}", target.id), format!("c{}", pending.safety));
        let recorded = self.journal.entries()?.into_iter().rev().find_map(|entry| match entry.record.event {
            Event::Rewound(rewound) if rewound.safety == safety => Some(rewound),
            _ => None,
        });
        let rewound = match recorded {
            Some(rewound) => rewound,
            None => {
                let shown = |path: &PathBuf| path.display().to_string();
                let rewound = Rewound {
                    checkpoint,
                    safety,
                    // The record that begins a turn is undone together with the turn.
                    journal_seq: target.anchor.seq - u64::from(target.reason == "turn" && target.anchor.seq > 0),
                    restored: applied.restored.iter().map(shown).collect(),
                    left: applied.skipped.iter().map(|(path, why)| (shown(path), why.clone())).collect(),
                };
                let conversation = ConversationId(target.conversation.clone());
                self.journal.append(&Record::now(&conversation, Event::Rewound(rewound.clone())))?;
                rewound
            }
        };
        self.store.settled()?;
        self.store.prune()?;
        Ok(rewound)
    }
}

/// Finishes what a killed process has begun, unless another process holds the lock. Returns messages about what was
/// done.
pub fn recover(project: &Path, database: &Path, journal: &Path) -> Result<Vec<String>, RewindError> {
    let Some(store) = Store::existing(project)? else { return Ok(Vec::new()) };
    if !store.is_unfinished()? {
        return Ok(Vec::new());
    }
    drop(store);
    match Lock::try_take(project, "monobloc")? {
        Ok(lock) => Ok(Rewinder::with(lock, project, database, journal)?.notes),
        // Not killed: another process is still at work.
        Err(_) => Ok(Vec::new()),
    }
}
