//! Assigns slots to waiting jobs: which job is next, its slot, the job it preempts, and the prefix it reuses.

use std::cmp::Reverse;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::{Active, Decoder, Job, Progress, Worker};
use crate::budget::Lease;
use crate::engine::decoder::{Saved, Sharing, Token};
use crate::engine::prefix::{Copied, TOKENS_MIN};
use crate::engine::request::EngineError;
use crate::engine::scheduler::{self, Running, Waiting};
use crate::engine::slot::{self, Held, Prefill, Reuse, Slot};

/// Maximum number of times a job may have to give up its slot.
const PARKED_MAX: u8 = 3;

/// A job without a slot.
pub(super) enum Waiter {
    Fresh(Box<Job>),
    /// It had a slot, and gave it up to a more urgent job.
    Parked(Box<Parked>),
}

pub(super) struct Parked {
    active: Active,
    slot: Slot,
    /// `None` if nothing has been computed yet.
    saved: Option<Saved>,
    _lease: Option<Lease>,
}

impl Parked {
    /// Its urgency when it got its slot.
    pub fn urgency(&self) -> u64 {
        self.active.urgency
    }
}

impl Waiter {
    pub fn job(&self) -> &Job {
        match self {
            Waiter::Fresh(job) => job,
            Waiter::Parked(parked) => &parked.active.job,
        }
    }
}

impl<D: Decoder> Worker<'_, D> {
    /// Assigns slots to waiting jobs as far as possible, and updates the queue position and
    /// expected wait of the others.
    pub(super) fn admit(&mut self) {
        while let Some((next, urgency)) = self.next_waiting() {
            let prompt = &self.waiting[next].job().prompt;
            let Some(index) = self.free_slot(prompt).or_else(|| self.preempted_slot(urgency)) else {
                break;
            };
            // Parking puts a job at the end of the queue, so the index `next` is still right.
            let Some(waiter) = self.waiting.remove(next) else { break };
            self.pressure.leave(waiter.job().priority);
            self.clock += 1;
            match waiter {
                Waiter::Fresh(job) => self.start(index, *job, urgency),
                Waiter::Parked(parked) => self.resume(index, *parked, urgency),
            }
        }
        for (place, index) in scheduler::order(&self.all_waiting()).into_iter().enumerate() {
            let eta = self.service_ms * (place + 1) as f64 / self.slots.len() as f64;
            self.waiting[index].job().standing.moved_to(place + 1, eta as u64);
        }
    }

    fn all_waiting(&self) -> Vec<Waiting> {
        self.waiting.iter().map(|waiter| self.as_waiting(waiter)).collect()
    }

    fn next_waiting(&self) -> Option<(usize, u64)> {
        let waiting = self.all_waiting();
        let next = scheduler::admit(&waiting)?;
        Some((next, waiting[next].urgency()))
    }

    fn as_waiting(&self, waiter: &Waiter) -> Waiting {
        let job = waiter.job();
        Waiting {
            priority: job.priority,
            waited_ms: job.submitted.elapsed().as_millis() as u64,
            follows: matches!(waiter, Waiter::Fresh(job) if self.follows(job)),
        }
    }

    /// Whether a running prompt of at least the same priority is computing a prefix that `job`
    /// could then copy.
    fn follows(&self, job: &Job) -> bool {
        let prefill = self.prefill_of(job);
        let usable = |tokens: &[Token], held: Held<'_>| {
            let shared = slot::shared(tokens, &job.prompt);
            prefill.reusable(shared, held, Reuse::Exact, |end| self.may_split(end))
        };
        let will_hold = |active: &Active| {
            let cuts: Vec<usize> = active.prefill.cuts().collect();
            usable(&active.job.prompt, Held { cuts: &cuts, exact: active.job.prompt.len() })
        };
        let leaders = self.slots.iter().filter_map(|one| Some((one, one.active.as_ref()?)));
        let ahead = leaders
            .filter(|(_, active)| matches!(active.progress, Progress::Prompt) && active.job.priority >= job.priority)
            .map(|(one, active)| (one, will_hold(active)))
            .filter(|(one, usable)| one.slot.tokens.len() < *usable)
            .map(|(_, usable)| usable)
            .max();
        let Some(ahead) = ahead else { return false };
        let now = self.slots.iter().map(|one| usable(&one.slot.tokens, one.slot.held())).max().unwrap_or(0);
        ahead >= now + TOKENS_MIN
    }

    fn prefill_of(&self, job: &Job) -> Prefill {
        let shown = job.shown.iter().map(|shown| shown.from..shown.end()).collect();
        Prefill::new(job.prompt.len(), job.fixed(), self.limits.chunk).with_pictures(shown)
    }

    /// The idle slot to use: one that holds a prefix of `prompt` and little else; otherwise the
    /// least recently used, so that frequently used prefixes stay in their slots, and among unused
    /// ones a slot next to a busy one, because neighbours can share a call. If bits may change, so
    /// that all calls are shared, a slot between or next to busy ones comes first.
    fn free_slot(&self, prompt: &[Token]) -> Option<usize> {
        let idle =
            || self.slots.iter().enumerate().filter(|(_, one)| one.active.is_none()).map(|(i, one)| (i, &one.slot));
        let wanted = self.limits.sharing == Sharing::Wanted;
        // The first token is the same in every prompt.
        let least = if wanted { TOKENS_MIN } else { 1 };
        let in_place = idle()
            .map(|(index, slot)| (slot.shared(prompt), index, slot))
            .filter(|(shared, _, slot)| *shared >= least && slot.tokens.len() - shared < TOKENS_MIN)
            .max_by_key(|(shared, ..)| *shared)
            .map(|(_, index, _)| index);
        let is_busy = |index: usize| self.slots.get(index).is_some_and(|one| one.active.is_some());
        let neighbours =
            |index: usize| usize::from(is_busy(index + 1)) + usize::from(index.checked_sub(1).is_some_and(is_busy));
        let first = |index: usize| Reverse(if wanted { neighbours(index) } else { 0 });
        let age = |(index, slot): &(usize, &Slot)| (first(*index), slot.used, neighbours(*index) == 0, *index);
        in_place.or_else(|| idle().min_by_key(age).map(|(index, _)| index))
    }

    /// Parks the least urgent job and returns its slot. `None` if no job is less urgent, memory is
    /// short, or the job's sequence cannot be copied.
    fn preempted_slot(&mut self, urgency: u64) -> Option<usize> {
        let running: Vec<Running> = self
            .slots
            .iter()
            .enumerate()
            .filter_map(|(slot, one)| {
                let active = one.active.as_ref()?;
                let is_scored = matches!(active.progress, Progress::Score { .. });
                let may_be_parked = active.parked < PARKED_MAX && !is_scored && self.decoder.copies_exactly(slot);
                Some(Running { slot, urgency: active.urgency, may_be_parked })
            })
            .collect();
        let index = scheduler::preempt(&running, urgency)?;
        let mut parked = self.park(index)?;
        parked.active.parked += 1;
        self.pressure.enter(parked.active.job.priority);
        self.waiting.push_back(Waiter::Parked(Box::new(parked)));
        Some(index)
    }

    /// Removes the job from slot `index` with a copy of its sequence. `None` if memory is short or
    /// the sequence cannot be copied.
    pub(super) fn park(&mut self, index: usize) -> Option<Parked> {
        let saved = self.decoder.save(index);
        if saved.is_none() && !self.slots[index].slot.tokens.is_empty() {
            return None;
        }
        let lease = match (&saved, &self.prefixes) {
            (Some(saved), Some(prefixes)) => Some(prefixes.lease(saved.bytes())?),
            _ => None,
        };
        let active = self.slots[index].active.take()?;
        let held = &mut self.slots[index].slot;
        let slot = held.clone();
        // The parked state is already a copy.
        held.generated = false;
        Some(Parked { active, slot, saved, _lease: lease })
    }

    fn start(&mut self, index: usize, job: Job, urgency: u64) {
        job.standing.position.store(0, Ordering::Relaxed);
        let reuse = if self.limits.sharing == Sharing::Wanted { Reuse::Continue } else { job.reuse() };
        let prefill = self.prefill_of(&job);
        self.fetch_prefix(index, &job.prompt, &prefill, reuse);
        let held = &self.slots[index].slot;
        let wanted = prefill.reusable(held.shared(&job.prompt), held.held(), reuse, |end| self.may_split(end));
        if wanted + TOKENS_MIN <= held.tokens.len() {
            self.leave_copy(index);
        }
        let cached = self.cut_back(index, wanted);
        let occupied = &mut self.slots[index];
        if reuse == Reuse::Exact && cached == wanted {
            occupied.slot.exact = wanted;
        }
        occupied.slot.used = self.clock;
        occupied.slot.generated = job.generates();
        let now = Instant::now();
        occupied.active = Some(Active {
            job,
            prefill,
            started: now,
            prompted: None,
            cached,
            served: self.clock,
            served_at: now,
            urgency,
            parked: 0,
            stopped: 0,
            progress: Progress::Prompt,
        });
    }

    pub(super) fn resume(&mut self, index: usize, parked: Parked, urgency: u64) {
        let Parked { mut active, mut slot, saved, .. } = parked;
        active.job.standing.position.store(0, Ordering::Relaxed);
        self.leave_copy(index);
        let restored = saved.is_none_or(|saved| self.decoder.restore(index, &saved));
        if slot.tokens.is_empty() {
            self.decoder.keep(index, 0);
        }
        if !restored {
            self.slots[index].slot = Slot::default();
            let reason = "it had to change its slot and could not be restored; ask again".to_owned();
            return active.job.fail(EngineError::Interrupted { reason });
        }
        slot.used = self.clock;
        (active.served, active.served_at, active.urgency) = (self.clock, Instant::now(), urgency);
        self.slots[index].slot = slot;
        self.slots[index].active = Some(active);
    }

    /// Restores the longest known prefix of `prompt` into slot `index`, from another slot or the
    /// prefix store, if it saves at least [`TOKENS_MIN`] tokens compared with the slot's current
    /// contents.
    fn fetch_prefix(&mut self, index: usize, prompt: &[Token], prefill: &Prefill, reuse: Reuse) {
        let usable = |tokens: &[Token], held: Held<'_>| {
            let most = prefill.reusable(slot::shared(tokens, prompt), held, reuse, |end| self.may_split(end));
            // Layers that cannot be cut return to the end of a call.
            if self.limits.cuts_anywhere || most == tokens.len() { most } else { held.last_cut(most) }
        };
        let of = |one: &super::Occupied| usable(&one.slot.tokens, one.slot.held());
        let here = of(&self.slots[index]);
        let others = self.slots.iter().enumerate().filter(|(other, _)| *other != index);
        let (there, other) = others.map(|(other, one)| (of(one), other)).max().unwrap_or((0, index));
        let stored = self.prefixes.as_ref().map_or(0, |prefixes| prefixes.shared(prompt, prefill.fixed()));
        if stored >= here.max(there) + TOKENS_MIN
            && let Some(copied) = self.prefixes.as_ref().and_then(|prefixes| prefixes.best(prompt, prefill.fixed()))
        {
            let slot = Slot::of(copied.tokens, copied.cuts);
            if usable(&slot.tokens, slot.held()) >= here.max(there) + TOKENS_MIN {
                return self.restore_into(index, slot, &copied.saved);
            }
        }
        if there >= here + TOKENS_MIN
            && let Some(saved) = self.decoder.save(other)
        {
            let Slot { tokens, cuts, exact, .. } = self.slots[other].slot.clone();
            self.restore_into(index, Slot { tokens, cuts, exact, ..Slot::default() }, &saved);
        }
    }

    fn restore_into(&mut self, index: usize, slot: Slot, saved: &Saved) {
        self.leave_copy(index);
        let restored = self.decoder.restore(index, saved);
        self.slots[index].slot = if restored { slot } else { Slot::default() };
    }

    /// Copies a slot's contents to the prefix store before they are overwritten, if they are long
    /// enough and belong to a generation.
    fn leave_copy(&mut self, index: usize) {
        let Some(prefixes) = &self.prefixes else { return };
        let Slot { tokens, cuts, generated, .. } = &self.slots[index].slot;
        if tokens.len() < TOKENS_MIN || !generated {
            return;
        }
        if let Some(saved) = self.decoder.save(index) {
            prefixes.put(Copied { tokens: tokens.clone(), cuts: cuts.clone(), saved });
        }
    }

    /// Copies all slots to the prefix store before the model is unloaded, in case it is loaded
    /// again.
    pub(super) fn leave_copies(&mut self) {
        (0..self.slots.len()).for_each(|index| self.leave_copy(index));
    }
}
