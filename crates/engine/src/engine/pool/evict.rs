//! Chooses which models to unload when memory or places run out: the longest idle ones, and no more than needed. Pure.

use std::path::Path;
use std::time::Duration;

use crate::budget::Amount;

/// One context in memory, reduced to the facts that the choice depends on.
#[derive(Clone, Copy, Debug)]
pub struct Holder<'a> {
    pub file: &'a Path,
    /// Memory freed with this context.
    pub context: Amount,
    /// Memory freed with the last context of this file.
    pub weights: Amount,
    /// Time since its last use; `None` while it is in use.
    pub idle: Option<Duration>,
    /// Never chosen, because it is pinned or spared for another reason.
    pub kept: bool,
}

/// Memory and places for files, either required or freed by a choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    pub bytes: Amount,
    /// Number of model files; each counts once, however many contexts it has.
    pub files: usize,
}

impl Room {
    fn covers(&self, wanted: Room) -> bool {
        wanted.bytes.fits(self.bytes) && self.files >= wanted.files
    }
}

/// Memory freed by unloading the contexts `gone`.
pub fn freed(holders: &[Holder], gone: &[usize]) -> Room {
    let mut room = Room::default();
    for (at, &index) in gone.iter().enumerate() {
        let one = &holders[index];
        room.bytes += one.context;
        let others = (0..holders.len()).filter(|other| !gone[..=at].contains(other));
        if others.into_iter().all(|other| holders[other].file != one.file) {
            room.bytes += one.weights;
            room.files += 1;
        }
    }
    room
}

/// The contexts to unload to free `wanted`; `None` if even unloading all idle ones would not
/// suffice.
pub fn victims(holders: &[Holder], wanted: Room) -> Option<Vec<usize>> {
    let mut idle: Vec<usize> = (0..holders.len()).filter(|&i| holders[i].idle.is_some() && !holders[i].kept).collect();
    idle.sort_by_key(|&index| std::cmp::Reverse(holders[index].idle));
    let enough = (0..=idle.len()).find(|&count| freed(holders, &idle[..count]).covers(wanted))?;
    let mut chosen = idle[..enough].to_vec();
    // Once a larger context is chosen as well, an earlier choice may be unnecessary; it then stays
    // loaded.
    for index in idle[..enough].iter().rev() {
        let without: Vec<usize> = chosen.iter().copied().filter(|other| other != index).collect();
        if freed(holders, &without).covers(wanted) {
            chosen = without;
        }
    }
    Some(chosen)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::base::Bytes;

    fn holder(file: &str, context: u64, weights: u64, idle: Option<u64>) -> Holder<'_> {
        let (context, weights) = (Bytes(context).into(), Bytes(weights).into());
        Holder { file: Path::new(file), context, weights, idle: idle.map(Duration::from_secs), kept: false }
    }

    fn check(holders: &[Holder], bytes: u64, files: usize, expected: Option<&[usize]>) {
        let chosen = victims(holders, Room { bytes: Bytes(bytes).into(), files });
        assert_eq!(chosen.as_deref(), expected, "{holders:?}");
    }

    #[test]
    fn the_longest_idle_goes_first_weights_with_their_last_context_and_nothing_in_vain() {
        let three = [holder("a", 1, 9, Some(5)), holder("b", 1, 9, Some(50)), holder("c", 1, 90, Some(1))];
        check(&three, 0, 0, Some(&[]));
        check(&three, 10, 0, Some(&[1]));
        check(&three, 20, 0, Some(&[1, 0]));
        check(&three, 90, 0, Some(&[2]));
        check(&three, 200, 0, None);
        check(&three, 0, 1, Some(&[1]));
        let pinned = Holder { kept: true, ..holder("a", 10, 10, Some(100)) };
        check(&[pinned, holder("b", 10, 10, None)], 1, 0, None);
        check(&[pinned, holder("b", 10, 10, Some(0))], 20, 0, Some(&[1]));
        let shared = [holder("a", 1, 9, Some(5)), holder("a", 2, 9, None)];
        check(&shared, 1, 0, Some(&[0]));
        check(&shared, 2, 0, None);
        check(&shared, 0, 1, None);
        check(&[holder("a", 1, 9, Some(5)), holder("a", 2, 9, Some(6))], 12, 1, Some(&[1, 0]));
    }

    proptest! {
        #[test]
        fn a_choice_frees_enough_and_every_part_is_needed(
            all in proptest::collection::vec((0usize..4, 0u64..50, 0u64..50, proptest::option::of(0u64..9), any::<bool>()), 0..7),
            bytes in 0u64..200,
            files in 0usize..3,
        ) {
            const FILES: [&str; 4] = ["a", "b", "c", "d"];
            let holders: Vec<Holder> = all.iter()
                .map(|&(file, context, _, idle, kept)| Holder { kept, ..holder(FILES[file], context, file as u64 * 10, idle) })
                .collect();
            let wanted = Room { bytes: Bytes(bytes).into(), files };
            let idle: Vec<usize> = (0..holders.len()).filter(|&i| holders[i].idle.is_some() && !holders[i].kept).collect();
            match victims(&holders, wanted) {
                None => prop_assert!(!freed(&holders, &idle).covers(wanted)),
                Some(chosen) => {
                    prop_assert!(freed(&holders, &chosen).covers(wanted));
                    prop_assert!(chosen.iter().all(|index| idle.contains(index)));
                    for index in &chosen {
                        let without: Vec<usize> = chosen.iter().copied().filter(|other| other != index).collect();
                        prop_assert!(!freed(&holders, &without).covers(wanted));
                    }
                }
            }
        }
    }
}
