//! Plans the restore of a checkpoint for each path, and finds the paths that others have changed.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::CheckpointError;
use super::entry::{Entry, Hash};
use super::store::{Change, Origin, Store};
use super::turn::Anchor;

/// A state that can be restored: the one before a turn's first change, or before a rewind.
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
    /// The content that lists the hashes of the lessons.
    pub memory: Hash,
}

/// What happens to files that others have changed meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Foreign {
    Overwrite,
    /// They stay as they are; all others are restored.
    Keep,
}

/// A path that differs from its state at the checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub path: PathBuf,
    pub now: Entry,
    /// The entry to restore.
    pub then: Entry,
    /// Whether others have changed it since the checkpoint.
    pub foreign: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Sorted by path.
    pub steps: Vec<Step>,
    /// Paths that cannot be restored, because their content was not stored.
    pub lost: Vec<PathBuf>,
}

impl Plan {
    pub fn foreign(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(|step| step.foreign)
    }
}

/// Plans how to undo `changes`, which must be all changes since the checkpoint, in order. A pure function.
pub fn plan(changes: &[Change]) -> Plan {
    let mut by_path: BTreeMap<&PathBuf, Vec<&Change>> = BTreeMap::new();
    for change in changes {
        by_path.entry(&change.path).or_default().push(change);
    }
    let mut plan = Plan::default();
    for (path, changes) in by_path {
        let (Some(first), Some(last)) = (changes.first(), changes.last()) else { continue };
        let foreign = is_foreign(first.old, &changes);
        if first.old == last.new && (first.old.is_restorable() || !foreign) {
            continue;
        }
        if first.old.is_restorable() {
            plan.steps.push(Step { path: path.clone(), now: last.new, then: first.old, foreign });
        } else {
            plan.lost.push(path.clone());
        }
    }
    plan
}

/// Whether the present entry of a path comes at least in part from others. A restored entry counts as foreign if it did when it
/// was first there.
fn is_foreign(start: Entry, changes: &[&Change]) -> bool {
    let mut past = vec![(start, false)];
    let mut foreign = false;
    for change in changes {
        foreign = match change.origin {
            Origin::Outside => true,
            Origin::Call(_) => foreign,
            Origin::Rewind(_) => {
                past.iter().rev().find(|(entry, _)| *entry == change.new).is_some_and(|(_, foreign)| *foreign)
            }
        };
        past.push((change.new, foreign));
    }
    foreign
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

    /// What restoring the checkpoint would change, by the changes recorded so far.
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

    const A: Entry = Entry::File { mode: 0o644, hash: Some(Hash([1; 32])) };
    const B: Entry = Entry::File { mode: 0o644, hash: Some(Hash([2; 32])) };
    const C: Entry = Entry::File { mode: 0o644, hash: Some(Hash([3; 32])) };
    const UNKNOWN: Entry = Entry::File { mode: 0o644, hash: None };
    const OURS: Origin = Origin::Call(1);
    const BACK: Origin = Origin::Rewind(1);

    /// Checks the plan for changes of one path, each with its origin and new entry.
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
    fn the_entry_before_the_first_change_is_restored() {
        check(A, &[(OURS, B), (OURS, C)], Some((A, false)));
        check(Entry::Absent, &[(OURS, B)], Some((Entry::Absent, false)));
        check(A, &[(OURS, Entry::Absent)], Some((A, false)));
        check(A, &[(OURS, B), (OURS, A)], None);
    }

    #[test]
    fn changes_by_others_are_marked_until_they_are_undone() {
        check(A, &[(Origin::Outside, B)], Some((A, true)));
        check(A, &[(OURS, B), (Origin::Outside, C)], Some((A, true)));
        check(A, &[(Origin::Outside, B), (OURS, C)], Some((A, true)));
        check(A, &[(Origin::Outside, B), (Origin::Outside, A)], None);
        check(A, &[(Origin::Outside, B), (BACK, A), (OURS, C)], Some((A, false)));
        check(A, &[(Origin::Outside, B), (BACK, A), (BACK, B)], Some((A, true)));
    }

    #[test]
    fn a_content_that_was_not_stored_cannot_be_restored() {
        check(UNKNOWN, &[(Origin::Outside, B)], None);
        let change = Change { seq: 1, origin: Origin::Outside, path: "a".into(), old: UNKNOWN, new: B };
        assert_eq!(plan(&[change]).lost, [PathBuf::from("a")]);
        // Without its content nobody can tell whether others changed it.
        let same = |origin| Change { seq: 1, origin, path: "a".into(), old: UNKNOWN, new: UNKNOWN };
        assert_eq!(plan(&[same(Origin::Outside)]).lost, [PathBuf::from("a")]);
        assert_eq!(plan(&[same(OURS)]), Plan::default());
    }
}
