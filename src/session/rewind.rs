//! Returns a project to a checkpoint (files, lessons and conversation together) and records this in the journal.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::history::History;
use super::journal::{Journal, JournalError};
use crate::base::{Cancel, ConversationId};
use crate::checkpoint::{
    self, About, Anchor, Applied, Checkpoint, CheckpointError, Foreign, Lock, Pending, Plan, Step, Store,
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
    #[error("there is nothing to undo: no file was changed, or all changes are undone")]
    Nothing,
}

/// A locked project, and everything that a rewind changes.
pub struct Rewinder {
    project: PathBuf,
    store: Store,
    journal: Journal,
    lessons: Lessons,
    _lock: Lock,
    /// Messages about a killed process's work that was finished on opening.
    pub notes: Vec<String>,
}

/// A planned rewind that has not been carried out.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub target: Checkpoint,
    pub plan: Plan,
    /// Whether a command ran in the turns to undo; its effects outside the project stay.
    pub commands: bool,
    /// Paths in the plan that cannot be restored, each with a reason.
    pub lost: BTreeMap<PathBuf, String>,
    /// Other paths that the turns changed and that checkpoints do not cover, each with the reason.
    pub uncovered: BTreeMap<String, String>,
}

impl Prepared {
    /// Lines about changes that going back cannot undo.
    pub fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> =
            self.uncovered.iter().map(|(path, why)| format!("{path} was changed and stays as it is ({why})")).collect();
        if self.commands {
            notes.push("a command ran; what it did to ignored files, to .git or outside the project stays".to_owned());
        }
        notes
    }

    /// Splits the plan into the steps to carry out and the paths to leave, each with a reason. Only
    /// `Foreign::Overwrite` touches files that others have since changed, and removes files that
    /// could not be brought back.
    fn divided(mut self, foreign: Foreign) -> (Plan, Vec<(PathBuf, String)>) {
        let id = self.target.id;
        let is_left = |step: &Step| foreign == Foreign::Keep && (step.foreign || step.is_final());
        let why = |step: &Step| {
            let (why, then) = match step.foreign {
                true => ("changed outside monobloc since then", "overwrites it"),
                false => ("its content could not be kept", "removes it for good"),
            };
            format!("{why}, so it stays; `monobloc rewind c{id} --force` {then}")
        };
        let mut left: Vec<_> = std::mem::take(&mut self.lost).into_iter().collect();
        left.extend(self.plan.steps.extract_if(.., |step| is_left(step)).map(|step| (step.path.clone(), why(&step))));
        (self.plan, left)
    }
}

impl Rewinder {
    /// Waits for the project's lock and finishes work left by a killed process. `command` names the
    /// new holder.
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
                "a turn was interrupted; `monobloc rewind c{checkpoint}` takes back what it had changed"
            ));
        }
        if let Some(pending) = self.store.pending()? {
            let rewound = self.carry_on(&pending)?;
            self.store.look(&self.project)?;
            self.notes.push(format!("the interrupted return to {} is now finished", rewound.checkpoint));
        }
        Ok(())
    }

    /// The checkpoint of the last turn that changed a file and has not been undone.
    pub fn latest(&self) -> Result<Checkpoint, RewindError> {
        let history = History::of(&self.journal.entries()?);
        let is_live = |seq: u64| history.turns.iter().any(|turn| turn.seq == seq && !turn.undone);
        for checkpoint in self.store.checkpoints()?.into_iter().rev() {
            let is_turn = checkpoint.reason == "turn" && is_live(checkpoint.anchor.seq);
            if is_turn && !self.store.summary(checkpoint.id)?.is_empty() {
                return Ok(checkpoint);
            }
        }
        Err(RewindError::Nothing)
    }

    /// The newest checkpoint, made before the last turn with changes or the last rewind.
    pub fn newest(&self) -> Result<Checkpoint, RewindError> {
        self.store.checkpoints()?.pop().ok_or(RewindError::Nothing)
    }

    /// The checkpoint with the name `name`, for example `c3` or `3`.
    pub fn find(&self, name: &str) -> Result<Checkpoint, RewindError> {
        let number = name.strip_prefix('c').unwrap_or(name).parse().ok();
        let found = number.map(|number| self.store.find(number)).transpose()?.flatten();
        Ok(found.ok_or_else(|| CheckpointError::Unknown(name.to_owned()))?)
    }

    /// Determines the changes that going back to `target` would make. First scans the project for
    /// changes by others.
    pub fn plan(&mut self, target: Checkpoint) -> Result<Prepared, RewindError> {
        self.store.look(&self.project)?;
        let plan = self.store.plan_to(&target)?;
        let commands = self.store.ran_since("run_command", target.id)?;
        let mut uncovered = self.uncovered_since(target.id)?;
        let lost = plan.lost.iter().map(|path| {
            let why = uncovered.get(&path.display().to_string()).map_or("its content was not kept", String::as_str);
            (path.clone(), format!("{why}; it stays as it is now"))
        });
        let lost: BTreeMap<PathBuf, String> = lost.collect();
        let planned = plan.steps.iter().map(|step| &step.path).chain(&plan.lost);
        planned.for_each(|path| drop(uncovered.remove(&path.display().to_string())));
        Ok(Prepared { target, plan, commands, lost, uncovered })
    }

    /// The paths changed since a checkpoint and not covered by any, according to the journal, each
    /// with a reason.
    fn uncovered_since(&self, checkpoint: i64) -> Result<BTreeMap<String, String>, RewindError> {
        let events = self.journal.entries()?.into_iter().map(|entry| entry.record.event);
        let left = events.filter_map(|event| match event {
            Event::CheckpointMade { checkpoint: name, left, .. } => {
                let number: i64 = name.strip_prefix('c')?.parse().ok()?;
                (number >= checkpoint).then_some(left)
            }
            _ => None,
        });
        Ok(left.flatten().collect())
    }

    /// Goes back, path by path. If the process is killed after the first change, the next start
    /// completes the rest.
    pub fn go(&mut self, prepared: Prepared, foreign: Foreign) -> Result<Rewound, RewindError> {
        let target = prepared.target.clone();
        let (plan, left) = prepared.divided(foreign);
        let end = self.journal.end().clone();
        let about = About {
            conversation: target.conversation.clone(),
            request: format!("go back to c{}", target.id),
            anchor: Anchor { seq: end.seq, hash: end.hash },
            command: String::new(),
        };
        let memory = self.lessons.rows()?;
        let mut pending = self.store.prepare(&self.project, &target, &plan, &about, &memory)?;
        pending.left.extend(left);
        pending.left.sort();
        self.carry_on(&pending)
    }

    /// Restores lessons, then files, then writes the journal. May be called again after a kill:
    /// finished parts are skipped, the others can be repeated.
    fn carry_on(&mut self, pending: &Pending) -> Result<Rewound, RewindError> {
        let unknown = || CheckpointError::Unknown(format!("c{}", pending.target));
        let target = self.store.find(pending.target)?.ok_or_else(unknown)?;
        let applied = if pending.applied {
            Applied::default()
        } else {
            let memory = match self.store.memory_of(&target) {
                Ok(memory) => self.lessons.restore(&memory)?.then_some(()).ok_or("stored by another version"),
                Err(CheckpointError::Lost { .. } | CheckpointError::Damaged { .. }) => Err("not stored, or damaged"),
                Err(error) => return Err(error.into()),
            };
            let mut applied = self.store.apply(&self.project, pending)?;
            if let Err(why) = memory {
                applied.skipped.insert(0, (PathBuf::from("lessons"), format!("{why}; they stay as they are now")));
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
                    left: pending
                        .left
                        .iter()
                        .chain(&applied.skipped)
                        .map(|(path, why)| (shown(path), why.clone()))
                        .collect(),
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

/// Finishes work left by a killed process, unless another process holds the lock. Returns messages
/// about it.
pub fn recover(project: &Path, database: &Path, journal: &Path) -> Result<Vec<String>, RewindError> {
    let Some(store) = Store::existing(project)? else { return Ok(Vec::new()) };
    if !store.is_unfinished()? {
        return Ok(Vec::new());
    }
    drop(store);
    match Lock::try_take(project, "monobloc")? {
        Ok(lock) => Ok(Rewinder::with(lock, project, database, journal)?.notes),
        // Not killed: another process is still working.
        Err(_) => Ok(Vec::new()),
    }
}
