//! Decides what a worker does next. Pure: works on phases, priorities and times, without tensors or queues.

use std::cmp::Reverse;
use std::ops::Range;

use crate::budget::permit::Priority;

/// A waiting job gains one priority level each time it has waited this long, so that no job starves.
const AGEING_MS: u64 = 5_000;

/// A job without a slot.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    pub priority: Priority,
    pub waited_ms: u64,
    /// A running prompt is computing a prefix of this one: waiting to copy it is cheaper than
    /// starting.
    pub follows: bool,
}

impl Waiting {
    /// Priority plus age.
    pub fn urgency(&self) -> u64 {
        urgency(self.priority, self.waited_ms)
    }
}

fn urgency(priority: Priority, waited_ms: u64) -> u64 {
    priority as u64 + waited_ms / AGEING_MS
}

/// The indices of the jobs in the order in which they get slots: most urgent first, ties in order
/// of arrival. A job that follows another waits for it.
pub fn order(waiting: &[Waiting]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..waiting.len()).collect();
    order.sort_by_key(|&index| (waiting[index].follows, Reverse(waiting[index].urgency())));
    order
}

/// The index of the job to admit next, leaving out jobs that follow another.
pub fn admit(waiting: &[Waiting]) -> Option<usize> {
    order(waiting).first().copied().filter(|&index| !waiting[index].follows)
}

/// A job with a slot.
#[derive(Clone, Copy, Debug)]
pub struct Running {
    pub slot: usize,
    /// Its urgency when it got the slot, so that a job that waited long is not preempted at once.
    pub urgency: u64,
    pub may_be_parked: bool,
}

/// The slot to free for a job of `urgency`: that of the least urgent job, if it is less urgent than
/// this.
pub fn preempt(running: &[Running], urgency: u64) -> Option<usize> {
    let least = running.iter().filter(|job| job.may_be_parked).min_by_key(|job| job.urgency)?;
    (least.urgency < urgency).then_some(least.slot)
}

/// The next work of a slot's job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Idle,
    /// A chunk of a prompt, or of a continuation being scored.
    Chunk,
    /// One more token.
    Decode,
}

#[derive(Clone, Copy, Debug)]
pub struct View {
    pub phase: Phase,
    pub priority: Priority,
    /// The worker's clock at the last call for this slot's job; the smallest value marks the
    /// longest wait.
    pub served: u64,
    /// Time since then.
    pub waited_ms: u64,
    /// Rows of its next chunk if the chunk may share a call with other prompts, otherwise 0.
    pub rows: usize,
}

impl View {
    fn urgency(&self) -> u64 {
        urgency(self.priority, self.waited_ms)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    Nothing,
    /// One chunk for each of these slots.
    Chunk(Range<usize>),
    Decode(Vec<usize>),
}

/// Shares a model's time between prefill chunks and decoding.
#[derive(Debug, Default)]
pub struct Scheduler {
    /// Time spent on each kind of call since both kinds have been waiting.
    chunk_ms: u64,
    decode_ms: u64,
    /// Maximum number of consecutive calls for one slot if calls cannot be shared.
    in_a_row: usize,
    /// Maximum number of rows in a chunk.
    chunk: usize,
    /// The slot of the last such call, and the number of its consecutive calls.
    turn: Option<(usize, usize)>,
}

impl Scheduler {
    pub fn new(in_a_row: usize, chunk: usize) -> Scheduler {
        Scheduler { in_a_row, chunk, ..Scheduler::default() }
    }

    /// The next call. Only the most urgent running jobs get calls, and a job becomes more urgent
    /// while it gets none. Between a chunk and a decode, the kind with less time so far goes first.
    /// Without `co_batch`, a call decodes one slot, which gets several consecutive calls if so
    /// configured.
    pub fn next(&mut self, slots: &[View], co_batch: bool) -> Work {
        let Some(highest) = slots.iter().filter(|slot| slot.phase != Phase::Idle).map(View::urgency).max() else {
            (self.chunk_ms, self.decode_ms) = (0, 0);
            return Work::Nothing;
        };
        let of = |phase: Phase| {
            let mut indices: Vec<usize> =
                (0..slots.len()).filter(|&i| slots[i].phase == phase && slots[i].urgency() == highest).collect();
            indices.sort_by_key(|&i| slots[i].served);
            indices
        };
        let (chunks, mut decodes) = (of(Phase::Chunk), of(Phase::Decode));
        if chunks.is_empty() || decodes.is_empty() {
            (self.chunk_ms, self.decode_ms) = (0, 0);
        }
        if let Some(&slot) = chunks.first()
            && (decodes.is_empty() || self.chunk_ms <= self.decode_ms)
        {
            let rows = |(index, view): (usize, &View)| if chunks.contains(&index) { view.rows } else { 0 };
            let rows: Vec<usize> = slots.iter().enumerate().map(rows).collect();
            return Work::Chunk(beside(&rows, slot, self.chunk));
        }
        if !co_batch {
            let goes_on = self.turn.filter(|(slot, calls)| *calls < self.in_a_row && decodes.contains(slot));
            let (slot, calls) = goes_on.unwrap_or((decodes[0], 0));
            self.turn = Some((slot, calls + 1));
            decodes = vec![slot];
        }
        Work::Decode(decodes)
    }

    /// Records how long a call took.
    pub fn spent(&mut self, work: &Work, wall_ms: u64) {
        match work {
            Work::Chunk(_) => self.chunk_ms += wall_ms,
            Work::Decode(_) => self.decode_ms += wall_ms,
            Work::Nothing => {}
        }
    }
}

/// The slots whose prompts are read in one call with that of slot `first`, with the same number of
/// rows each: the neighbours that make the largest call of at most `most` rows, if it has at least
/// twice the rows of a call for `first` alone. `rows` holds the size of each slot's next chunk.
/// llama.cpp computes several sequences together only if their numbers are consecutive and each has
/// the same number of rows.
fn beside(rows: &[usize], first: usize, most: usize) -> Range<usize> {
    let alone = first..first + 1;
    let together = |slots: &Range<usize>| shortest(&rows[slots.clone()], most) * slots.len();
    let around = (0..=first).flat_map(|from| (first + 1..=rows.len()).map(move |to| from..to));
    let largest = around.max_by_key(|slots| (together(slots), Reverse(slots.len()))).unwrap_or(alone.clone());
    if together(&largest) >= 2 * together(&alone).max(1) { largest } else { alone }
}

/// Number of rows per slot in a shared call.
pub fn shortest(rows: &[usize], most: usize) -> usize {
    rows.iter().copied().min().unwrap_or(0).min(most / rows.len().max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(phase: Phase, priority: Priority, served: u64) -> View {
        View { phase, priority, served, waited_ms: 0, rows: 0 }
    }

    #[test]
    fn prompts_share_a_call_that_is_twice_as_large_as_one_of_their_own() {
        let check = |rows: &[usize], first: usize, expected: Range<usize>| {
            assert_eq!(beside(rows, first, 256), expected, "{rows:?}, {first} first");
        };
        check(&[30, 30, 30], 0, 0..3);
        check(&[30, 30, 30], 2, 0..3);
        // A slot between them has nothing to read, or nothing that may be shared.
        check(&[30, 0, 30, 40], 2, 2..4);
        check(&[0, 0, 30], 0, 0..1);
        // Nearly full calls stay separate; a short neighbour would shorten this one; and 25 rows
        // each would leave 5 for another call.
        check(&[200, 200], 0, 0..1);
        check(&[128, 128], 1, 0..2);
        check(&[100, 3, 90], 0, 0..1);
        check(&[100, 3, 90], 1, 0..3);
        check(&[30, 25], 0, 0..1);
        check(&[16; 16], 5, 0..16);
        assert_eq!((shortest(&[30, 25], 256), shortest(&[300, 400, 500], 256)), (25, 85));
    }

    #[test]
    fn only_prompts_that_are_equally_urgent_share_a_call() {
        let prompt = |priority| View { rows: 20, ..view(Phase::Chunk, priority, 0) };
        let slots = [Priority::User, Priority::User, Priority::Step, Priority::User].map(prompt);
        assert_eq!(Scheduler::new(1, 256).next(&slots, true), Work::Chunk(0..2));
    }

    #[test]
    fn a_user_goes_before_a_background_job() {
        let slots = [view(Phase::Decode, Priority::Background, 0), view(Phase::Chunk, Priority::User, 1)];
        assert_eq!(Scheduler::default().next(&slots, true), Work::Chunk(1..2));
        let slots = [view(Phase::Chunk, Priority::Background, 0), view(Phase::Decode, Priority::User, 1)];
        assert_eq!(Scheduler::default().next(&slots, true), Work::Decode(vec![1]));
    }

    #[test]
    fn time_before_both_kinds_were_waiting_does_not_count() {
        let slots = [view(Phase::Chunk, Priority::User, 0), view(Phase::Decode, Priority::User, 1)];
        let mut scheduler = Scheduler::default();
        for _ in 0..3 {
            let alone = scheduler.next(&slots[..1], true);
            scheduler.spent(&alone, 100);
        }
        let work: Vec<Work> = (0..3)
            .map(|_| {
                let work = scheduler.next(&slots, true);
                scheduler.spent(&work, 50);
                work
            })
            .collect();
        assert_eq!(work, [Work::Decode(vec![1]), Work::Decode(vec![1]), Work::Chunk(0..1)], "for the last chunk alone");
    }

    #[test]
    fn answers_go_on_while_a_prompt_comes_in() {
        let slots = [view(Phase::Decode, Priority::User, 0), view(Phase::Chunk, Priority::User, 1)];
        let mut scheduler = Scheduler::default();
        let first = scheduler.next(&slots, true);
        assert_eq!(first, Work::Chunk(1..2));
        scheduler.spent(&first, 120);
        let mut decoded = 0;
        while let work @ Work::Decode(_) = scheduler.next(&slots, true) {
            scheduler.spent(&work, 10);
            decoded += 10;
        }
        assert_eq!(decoded, 120);
    }

    #[test]
    fn slots_that_cannot_share_a_call_take_turns_of_one_or_several_calls() {
        let slots = [view(Phase::Decode, Priority::User, 9), view(Phase::Decode, Priority::User, 4)];
        assert_eq!(Scheduler::default().next(&slots, true), Work::Decode(vec![1, 0]));
        assert_eq!(Scheduler::default().next(&slots, false), Work::Decode(vec![1]));
        let mut scheduler = Scheduler::new(2, 256);
        let mut three = |slots: &[View]| [0; 3].map(|_| scheduler.next(slots, false));
        assert_eq!(three(&slots), [1, 1, 1].map(|slot| Work::Decode(vec![slot])), "it has waited longest each time");
        let served = [view(Phase::Decode, Priority::User, 4), view(Phase::Decode, Priority::User, 9)];
        assert_eq!(three(&served), [1, 0, 0].map(|slot| Work::Decode(vec![slot])));
    }

    #[test]
    fn the_first_of_equals_is_admitted_age_counts_and_followers_wait() {
        use Priority::{Background, Step, User};
        let check = |waiting: &[(Priority, u64, bool)], expected: Option<usize>| {
            let job = |&(priority, waited_ms, follows)| Waiting { priority, waited_ms, follows };
            let jobs: Vec<Waiting> = waiting.iter().map(job).collect();
            assert_eq!(admit(&jobs), expected, "{waiting:?}");
            assert_eq!(order(&jobs).len(), jobs.len());
        };
        check(&[], None);
        check(&[(Step, 10, false), (Step, 10, false)], Some(0));
        check(&[(Step, 10, false), (User, 0, false)], Some(1));
        check(&[(Background, 3 * AGEING_MS, false), (User, 0, false)], Some(0));
        check(&[(User, 0, true), (Step, 0, false)], Some(1));
        check(&[(User, 0, true)], None);
        let job = |priority| Waiting { priority, waited_ms: 0, follows: false };
        let all = [job(Step), job(Background), job(Step), job(User), Waiting { follows: true, ..job(User) }];
        assert_eq!(order(&all), [3, 0, 2, 1, 4]);
    }

    #[test]
    fn the_least_urgent_job_gives_its_slot_up_but_not_to_its_equal() {
        let job = |slot, urgency, may_be_parked| Running { slot, urgency, may_be_parked };
        assert_eq!(preempt(&[job(0, 1, true), job(1, 0, true)], 2), Some(1));
        assert_eq!(preempt(&[job(0, 2, true), job(1, 2, true)], 2), None);
        assert_eq!(preempt(&[job(0, 0, false)], 2), None);
    }

    #[test]
    fn a_job_that_gets_no_calls_becomes_urgent() {
        let waited = View { waited_ms: 2 * AGEING_MS, ..view(Phase::Decode, Priority::Background, 0) };
        let slots = [waited, view(Phase::Decode, Priority::User, 1)];
        assert_eq!(Scheduler::default().next(&slots, true), Work::Decode(vec![0, 1]));
    }
}
