//! Plans the restore of a checkpoint path by path, and finds the paths that other programs have changed.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::CheckpointError;
use super::entry::{Entry, Hash};
use super::store::{Change, Origin, Store};
use super::turn::Anchor;

/// A state that can be restored: before a turn's first change, or before a rewind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    pub id: i64,
    /// RFC 3339, UTC.
    pub time: String,
    /// `turn` or `rewind`.
    pub reason: String,
    pub conversation: String,
    pub request: String,
    /// Number of the last change before it.
    pub position: i64,
    pub anchor: Anchor,
    /// The stored list of the lessons' hashes.
    pub memory: Hash,
}

/// How to treat files that other programs have changed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Foreign {
    Overwrite,
    /// Skip them and restore all others.
    Keep,
}

/// A path that requests have changed since the checkpoint and whose entry differs from the old one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub path: PathBuf,
    pub now: Entry,
    /// The entry to restore.
    pub then: Entry,
    /// Whether another program changed it after a request did.
    pub foreign: bool,
}

impl Step {
    /// Whether restoring it would remove an unrecoverable file: a request created it, and its
    /// content is not stored.
    pub fn is_final(&self) -> bool {
        self.then == Entry::Absent && !self.now.is_restorable()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Sorted by path.
    pub steps: Vec<Step>,
    /// Paths that cannot be restored because their content was not stored.
    pub lost: Vec<PathBuf>,
}

impl Plan {
    pub fn foreign(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(|step| step.foreign)
    }
}

/// Plans how to undo changes made by requests, path by path. `changes` must be all changes since
/// the checkpoint, in order. Paths changed only by other programs are not part of the plan. A pure
/// function.
pub fn plan(changes: &[Change]) -> Plan {
    let mut by_path: BTreeMap<&PathBuf, Vec<&Change>> = BTreeMap::new();
    for change in changes {
        by_path.entry(&change.path).or_default().push(change);
    }
    let mut plan = Plan::default();
    for (path, changes) in by_path {
        let Some(State { entry: now, before: Some(then), foreign }) = end_of(&changes) else { continue };
        if then.is_restorable() {
            plan.steps.push(Step { path: path.clone(), now, then, foreign });
        } else {
            plan.lost.push(path.clone());
        }
    }
    plan
}

/// The state of a path after some of its changes.
#[derive(Clone, Copy)]
struct State {
    entry: Entry,
    /// The entry before the requests whose changes are still in effect; `None` if there are none.
    before: Option<Entry>,
    /// Whether another program changed it after these requests.
    foreign: bool,
}

impl State {
    /// The state after a request or another program changes an entry to `new`.
    fn then(self, new: Entry, by_others: bool) -> State {
        let before = self.before.or((!by_others).then_some(self.entry)).filter(|before| !before.is_same(&new));
        State { entry: new, before, foreign: before.is_some() && (self.foreign || by_others) }
    }
}

/// The current state of a path.
fn end_of(changes: &[&Change]) -> Option<State> {
    let mut past = vec![State { entry: changes.first()?.old, before: None, foreign: false }];
    for change in changes {
        let now = *past.last()?;
        let next = match change.origin {
            Origin::Outside => now.then(change.new, true),
            Origin::Call(_) => now.then(change.new, false),
            // A restore returns to an earlier state with all its properties.
            Origin::Rewind(_) => {
                let earlier = past.iter().rev().find(|state| state.entry.is_same(&change.new));
                earlier.copied().unwrap_or_else(|| now.then(change.new, false))
            }
        };
        past.push(next);
    }
    past.pop()
}

const COLUMNS: &str =
    "SELECT id, time, reason, conversation, request, position, journal_seq, journal_hash, memory FROM checkpoints";

impl Store {
    /// All checkpoints, oldest first.
    pub fn checkpoints(&self) -> Result<Vec<Checkpoint>, CheckpointError> {
        self.rows(&format!("{COLUMNS} ORDER BY id"), [], checkpoint)
    }

    pub fn find(&self, id: i64) -> Result<Option<Checkpoint>, CheckpointError> {
        self.row(&format!("{COLUMNS} WHERE id = ?1"), [id], checkpoint)
    }

    /// The changes that restoring the checkpoint would make, given the changes recorded so far.
    pub fn plan_to(&self, checkpoint: &Checkpoint) -> Result<Plan, CheckpointError> {
        Ok(plan(&self.changes_after(checkpoint.position)?))
    }

    /// The lessons of a checkpoint, one item per lesson.
    pub fn memory_of(&self, checkpoint: &Checkpoint) -> Result<Vec<Vec<u8>>, CheckpointError> {
        let list = self.blob(checkpoint.memory)?;
        let (hashes, _) = list.as_chunks::<32>();
        hashes.iter().map(|hash| self.blob(Hash(*hash))).collect()
    }

    /// Paths that checkpoints do not cover, each with the reason.
    pub fn uncovered(&self) -> Result<Vec<(PathBuf, String)>, CheckpointError> {
        self.rows("SELECT path, why FROM uncovered ORDER BY path", [], |row| {
            Ok((super::store::path(row, 0)?, row.get(1)?))
        })
    }
}

fn checkpoint(row: &rusqlite::Row<'_>) -> rusqlite::Result<Checkpoint> {
    Ok(Checkpoint {
        id: row.get(0)?,
        time: row.get(1)?,
        reason: row.get(2)?,
        conversation: row.get(3)?,
        request: row.get(4)?,
        position: row.get(5)?,
        anchor: Anchor { seq: row.get::<_, i64>(6)? as u64, hash: row.get(7)? },
        memory: Hash(row.get(8)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::entry::Marks;

    const NONE: Marks = Marks { owner: None, attributes: None, link: None };
    const A: Entry = Entry::File { mode: 0o644, hash: Some(Hash([1; 32])), marks: NONE };
    const B: Entry = Entry::File { mode: 0o644, hash: Some(Hash([2; 32])), marks: NONE };
    const C: Entry = Entry::File { mode: 0o644, hash: Some(Hash([3; 32])), marks: NONE };
    const UNKNOWN: Entry = Entry::File { mode: 0o644, hash: None, marks: NONE };
    const OURS: Origin = Origin::Call(1);
    const BACK: Origin = Origin::Rewind(1);

    /// Checks the plan for changes to one path, each with its origin and new entry.
    fn check(start: Entry, changes: &[(Origin, Entry)], expected: Option<(Entry, bool)>) {
        let mut old = start;
        let mut all = Vec::new();
        for (seq, (origin, new)) in changes.iter().enumerate() {
            all.push(Change { seq: seq as i64, origin: *origin, path: "a".into(), old, new: *new });
            old = *new;
        }
        let plan = plan(&all);
        assert_eq!(plan.steps.first().map(|step| (step.then, step.foreign)), expected, "{changes:?}");
        assert!(plan.steps.first().is_none_or(|step| step.now == old));
    }

    #[test]
    fn the_entry_before_the_first_change_of_a_request_is_restored() {
        check(A, &[(OURS, B), (OURS, C)], Some((A, false)));
        check(Entry::Absent, &[(OURS, B)], Some((Entry::Absent, false)));
        check(A, &[(OURS, Entry::Absent)], Some((A, false)));
        check(A, &[(OURS, B), (OURS, A)], None);
        check(A, &[(Origin::Outside, B), (OURS, C)], Some((B, false)));
    }

    #[test]
    fn what_others_alone_changed_is_not_part_of_the_plan() {
        check(A, &[(Origin::Outside, B)], None);
        check(Entry::Absent, &[(Origin::Outside, B), (Origin::Outside, C)], None);
        check(A, &[(OURS, B), (Origin::Outside, A), (Origin::Outside, C)], None);
        check(A, &[(OURS, B), (BACK, A), (Origin::Outside, C)], None);
        check(A, &[(Origin::Outside, B), (BACK, A), (BACK, B)], None);
        check(UNKNOWN, &[(Origin::Outside, B)], None);
    }

    #[test]
    fn changes_by_others_after_those_of_a_request_are_marked() {
        check(A, &[(OURS, B), (Origin::Outside, C)], Some((A, true)));
        check(A, &[(OURS, B), (Origin::Outside, Entry::Absent)], Some((A, true)));
        check(A, &[(OURS, B), (Origin::Outside, C), (OURS, B)], Some((A, true)));
        check(A, &[(Origin::Outside, B), (BACK, A), (OURS, C)], Some((A, false)));
        check(A, &[(OURS, B), (BACK, A), (Origin::Outside, B), (OURS, C)], Some((B, false)));
        // Changes made by a restore are undone as well.
        check(B, &[(BACK, A)], Some((B, false)));
        check(B, &[(BACK, A), (Origin::Outside, C)], Some((B, true)));
    }

    #[test]
    fn a_content_that_was_not_stored_cannot_be_restored() {
        for new in [B, UNKNOWN, Entry::Absent] {
            let change = Change { seq: 1, origin: OURS, path: "a".into(), old: UNKNOWN, new };
            assert_eq!(plan(&[change]).lost, [PathBuf::from("a")], "{new}");
        }
        check(A, &[(OURS, UNKNOWN)], Some((A, false)));
        check(Entry::Absent, &[(OURS, UNKNOWN)], Some((Entry::Absent, false)));
    }
}
