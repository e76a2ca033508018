//! The checkpoints of one sequence: those in its context's memory, and spare ones.

use std::sync::Arc;

use crate::engine::prefix::{Spare, Spares};

/// Maximum number of checkpoints per sequence.
const MARKS_MAX: usize = 32;

/// A checkpoint of the layers that cannot be cut.
#[derive(Clone)]
pub(super) enum Mark {
    /// In the slot's share of the context's memory.
    Own(Arc<[u8]>),
    /// Dropped when its memory is needed for something else.
    Spare(Spare),
}

impl Mark {
    pub fn state(&self) -> Option<Arc<[u8]>> {
        match self {
            Mark::Own(state) => Some(state.clone()),
            Mark::Spare(spare) => spare.state(),
        }
    }

    pub fn is_there(&self) -> bool {
        match self {
            Mark::Own(_) => true,
            Mark::Spare(spare) => spare.is_there(),
        }
    }
}

/// Leaves only the last `own` checkpoints in the context's memory; the others become spare if there
/// is room, otherwise they are dropped.
pub(super) fn spare_the_older(marks: &mut Vec<(usize, Mark)>, own: usize, spares: Option<&Spares>) {
    let older = marks.len().saturating_sub(own);
    let mut number = 0;
    marks.retain_mut(|(_, mark)| {
        number += 1;
        match mark {
            Mark::Own(state) if number <= older => match spares.and_then(|spares| spares.keep(state.clone())) {
                Some(spare) => *mark = Mark::Spare(spare),
                None => return false,
            },
            _ => {}
        }
        true
    });
}

/// If there are too many, drops every second checkpoint of the older half: going far back then
/// recomputes a few more chunks, but never a whole prompt.
pub(super) fn thin(marks: &mut Vec<(usize, Mark)>) {
    if marks.len() > MARKS_MAX {
        let mut number = 0;
        marks.retain(|_| {
            number += 1;
            number > MARKS_MAX / 2 || number % 2 == 1
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Bytes;
    use crate::budget::Ledger;

    fn marks(count: usize) -> Vec<(usize, Mark)> {
        (1..=count).map(|n| (64 * n, Mark::Own(vec![n as u8; 100].into()))).collect()
    }

    fn lengths(marks: &[(usize, Mark)]) -> Vec<usize> {
        marks.iter().map(|(length, _)| *length).collect()
    }

    #[test]
    fn older_checkpoints_become_spare_or_go_and_the_last_ones_stay() {
        let ledger = Ledger::new(Bytes(250));
        let spares = Spares::new(ledger.clone(), Bytes(1000));
        let mut kept = marks(5);
        spare_the_older(&mut kept, 2, Some(&spares));
        assert_eq!(lengths(&kept), [64, 128, 256, 320], "there is room for two spare ones");
        assert_eq!(ledger.promised().host, Bytes(200));
        spares.make_room(Bytes(250));
        let there: Vec<bool> = kept.iter().map(|(_, mark)| mark.is_there()).collect();
        assert_eq!((there, kept[2].1.state()), (vec![false, false, true, true], Some(vec![4; 100].into())));
        let mut alone = marks(5);
        spare_the_older(&mut alone, 2, None);
        assert_eq!(lengths(&alone), [256, 320]);
    }

    #[test]
    fn of_too_many_checkpoints_every_second_of_the_older_half_goes() {
        let mut many = marks(MARKS_MAX + 1);
        thin(&mut many);
        assert_eq!(many.len(), MARKS_MAX + 1 - MARKS_MAX / 4);
        assert_eq!(lengths(&many)[..3], [64, 192, 320]);
    }
}
