//! Limits a project's checkpoints: removes the oldest ones, and contents that are no longer needed.

use std::collections::HashSet;

use super::CheckpointError;
use super::entry::{Entry, Hash};
use super::store::Store;

/// Maximum number of checkpoints; enough for weeks of work.
pub const CHECKPOINTS_MAX: usize = 200;
/// Stored bytes above which the oldest checkpoints are removed; half of `CONTENTS_MAX`, the limit
/// within a turn.
pub const CONTENTS_GOAL: u64 = 512 << 20;
/// Number of checkpoints removed at once, so that pruning is not needed after every turn.
const STEP: usize = 20;

impl Store {
    /// Removes the oldest checkpoints while there are too many or they take too much space; the
    /// newest always stays. Returns how many were removed.
    pub fn prune(&mut self) -> Result<usize, CheckpointError> {
        self.prune_to(CHECKPOINTS_MAX, CONTENTS_GOAL)
    }

    fn prune_to(&mut self, checkpoints_max: usize, contents_goal: u64) -> Result<usize, CheckpointError> {
        let mut gone = 0;
        loop {
            let all = self.checkpoints()?;
            let excess = all.len().saturating_sub(checkpoints_max);
            let surplus = if self.blob_bytes()? > contents_goal { STEP } else { 0 };
            let drop_count = match excess {
                0 => surplus,
                // A few more than necessary, so that the next turns need not prune.
                excess => excess + STEP.min(checkpoints_max / 4),
            };
            let drop_count = drop_count.min(all.len().saturating_sub(1));
            let Some(oldest) = all.get(drop_count).filter(|_| drop_count > 0) else { break };
            gone += drop_count;
            self.atomically(|store| {
                store.run("DELETE FROM checkpoints WHERE id < ?1", [oldest.id])?;
                store.run("DELETE FROM calls WHERE checkpoint < ?1 AND open = 0", [oldest.id])?;
                store.run("DELETE FROM call_paths WHERE call NOT IN (SELECT id FROM calls)", [])?;
                store.run("DELETE FROM changes WHERE seq <= ?1", [oldest.position])?;
                store.collect()
            })?;
        }
        if gone > 0 {
            // Each step of the statement frees one page, so it must run to completion.
            self.rows("PRAGMA incremental_vacuum", [], |_| Ok(()))?;
        }
        Ok(gone)
    }

    /// Deletes contents that no path, change, restore or checkpoint needs.
    fn collect(&self) -> Result<(), CheckpointError> {
        let mut needed: HashSet<Hash> = HashSet::new();
        let texts = "SELECT entry FROM known UNION SELECT old FROM changes UNION SELECT new FROM changes
                     UNION SELECT old FROM restore_plan UNION SELECT new FROM restore_plan";
        let entries: Vec<Entry> = self.rows(texts, [], |row| super::store::entry(row, 0))?;
        needed.extend(entries.iter().flat_map(Entry::contents));
        for checkpoint in self.checkpoints()? {
            needed.insert(checkpoint.memory);
            let list = self.blob(checkpoint.memory)?;
            needed.extend(list.as_chunks::<32>().0.iter().map(|hash| Hash(*hash)));
        }
        let all: Vec<[u8; 32]> = self.rows("SELECT hash FROM blobs", [], |row| row.get(0))?;
        for hash in all.into_iter().filter(|hash| !needed.contains(&Hash(*hash))) {
            self.run("DELETE FROM blobs WHERE hash = ?1", [hash])?;
        }
        let sum =
            "UPDATE meta SET value = (SELECT coalesce(sum(length(bytes)), 0) FROM blobs) WHERE name = 'content_bytes'";
        self.run(sum, []).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Cancel;
    use crate::checkpoint::{About, Reach, Turn};

    #[test]
    fn a_project_keeps_the_last_hundreds_of_checkpoints() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(folder.path()).unwrap();
        let add = |store: &Store| store.add_checkpoint("turn", &About::default(), &[]).map(drop);
        store.atomically(|store| (0..CHECKPOINTS_MAX).try_for_each(|_| add(store))).unwrap();
        assert_eq!(store.prune().unwrap(), 0);
        add(&store).unwrap();
        assert_eq!(store.prune().unwrap(), 1 + STEP);
        assert_eq!(store.checkpoints().unwrap().len(), CHECKPOINTS_MAX - STEP);
    }

    #[test]
    fn the_oldest_checkpoints_are_removed_and_the_others_still_work() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        let bytes =
            |turn: u32| -> Vec<u8> { (0..20_000u32).flat_map(|n| ((n * n) ^ (turn << 20)).to_le_bytes()).collect() };
        for turn in 0..12 {
            let one = Turn::new(folder.path(), About::default(), Cancel::new());
            one.begin("write_file", &Reach::Paths(vec!["a".into()]), &|| Ok(vec![b"lesson".to_vec()])).unwrap();
            std::fs::write(&file, bytes(turn)).unwrap();
            one.finish().unwrap();
        }
        let mut store = Store::open(folder.path()).unwrap();
        let before = store.blob_bytes().unwrap();
        assert_eq!(store.prune_to(8, u64::MAX).unwrap(), 6);
        let left = store.checkpoints().unwrap();
        assert_eq!((left.len(), left[0].id), (6, 7));
        assert!(store.blob_bytes().unwrap() < before * 2 / 3, "contents that nobody needs are gone");
        let free = store.row("PRAGMA freelist_count", [], |row| row.get::<_, i64>(0)).unwrap();
        assert_eq!(free, Some(0), "their space is the disk's again");
        let plan = store.plan_to(&left[0]).unwrap();
        let then = plan.steps[0].then.content().unwrap();
        assert_eq!(store.blob(then).unwrap(), bytes(5));
        assert_eq!(store.memory_of(&left[0]).unwrap(), [b"lesson".to_vec()]);
        let held = store.blob_bytes().unwrap();
        assert_eq!(store.prune_to(8, held).unwrap(), 0, "as much as is allowed");
        store.prune_to(8, 0).unwrap();
        assert_eq!(store.checkpoints().unwrap().len(), 1, "the newest stays, whatever it takes");
    }
}
