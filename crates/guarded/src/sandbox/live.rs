//! Tracks the running process groups that monobloc started, so that none outlives it.

use std::sync::Mutex;

use super::group::{end_marked, kill_group};
use super::system::Mark;
use crate::base::lock;

/// The running groups; `None` once the program is ending, because nothing may be started then.
static LIVE: Mutex<Option<Vec<Live>>> = Mutex::new(Some(Vec::new()));

/// A process group and its permanent mark, if it has one.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Live {
    leader: u32,
    mark: Option<Mark>,
}

impl Live {
    fn end(self) {
        kill_group(self.leader);
        if let Some(mark) = self.mark {
            end_marked(mark);
        }
    }
}

/// A group that is killed when the program ends. Drop this when the group has ended: from then on
/// its number may be reused.
#[must_use]
pub struct Registered(Live);

impl Registered {
    /// The group led by the process `leader`, whose processes have the mark `mark`.
    pub fn new(leader: u32, mark: Option<Mark>) -> Registered {
        let live = Live { leader, mark };
        match &mut *lock(&LIVE) {
            Some(all) => all.push(live),
            None => live.end(),
        }
        Registered(live)
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        if let Some(all) = &mut *lock(&LIVE)
            && let Some(at) = all.iter().position(|one| *one == self.0)
        {
            all.swap_remove(at);
        }
    }
}

/// Kills every process in every running group, and in any group started later. Call this when the
/// program ends.
pub fn end_all() {
    let live = lock(&LIVE).take();
    live.into_iter().flatten().for_each(Live::end);
}
