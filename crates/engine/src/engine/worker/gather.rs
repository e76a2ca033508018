//! Moves jobs to neighbouring slots, so that their tokens share a call.

use std::cmp::Reverse;

use super::{Decoder, Worker};
use crate::engine::decoder::Sharing;

/// Number of times in a row that tokens are generated in several calls before jobs are moved: the
/// next job may soon fill the gap, and a move takes as long as a few tokens.
const APART_MAX: usize = 8;

impl<D: Decoder> Worker<'_, D> {
    /// Moves jobs next to each other if their tokens have been generated in separate calls for some
    /// time.
    pub(super) fn gather(&mut self) {
        if self.limits.sharing != Sharing::Wanted || self.apart < APART_MAX {
            return;
        }
        self.apart = 0;
        let busy: Vec<bool> = self.slots.iter().map(|one| one.active.is_some()).collect();
        for (from, to) in moves(&busy) {
            // A job that cannot be copied stays where it is.
            if let Some(parked) = self.park(from) {
                let urgency = parked.urgency();
                self.resume(to, parked, urgency);
            }
        }
    }
}

/// The smallest set of moves, each from a busy slot to a free one, after which the busy slots are
/// neighbours.
fn moves(busy: &[bool]) -> Vec<(usize, usize)> {
    let jobs = busy.iter().filter(|busy| **busy).count();
    let held = |from: usize| busy[from..from + jobs].iter().filter(|busy| **busy).count();
    let from = (0..=busy.len() - jobs).max_by_key(|&from| (held(from), Reverse(from))).unwrap_or(0);
    let kept = from..from + jobs;
    let outside = (0..busy.len()).filter(|slot| busy[*slot] && !kept.contains(slot));
    outside.zip(kept.clone().filter(|slot| !busy[*slot])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(slots: &str, expected: &[(usize, usize)]) {
        let busy: Vec<bool> = slots.chars().map(|slot| slot == 'x').collect();
        assert_eq!(moves(&busy), expected, "{slots}");
    }

    #[test]
    fn the_fewest_jobs_move_into_the_gaps() {
        check("xx.x", &[(3, 2)]);
        check("x.xx....", &[(3, 1)]);
        check("x..xxx.x", &[(0, 6)]);
        check("x.x.x.x.", &[(4, 1), (6, 3)]);
        check("x......x", &[(7, 1)]);
        check(".xx.", &[]);
        check("....", &[]);
        check("xxxx", &[]);
    }
}
