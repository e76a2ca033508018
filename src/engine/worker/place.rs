//! Gives slots to jobs: whom next, which slot, whose slot if none is free, and with what beginning already in it.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::{Active, Decoder, Job, Progress, Worker};
use crate::budget::Lease;
use crate::engine::decoder::{Saved, Token};
use crate::engine::prefix::{Copied, TOKENS_MIN};
use crate::engine::request::EngineError;
use crate::engine::scheduler::{self, Running, Waiting};
use crate::engine::slot::{self, Slot};

/// How often a job may have to give its slot up.
const PARKED_MAX: u8 = 3;

/// A job without a slot.
pub(super) enum Waiter {
    Fresh(Box<Job>),
    /// It had one, and gave it up to somebody more urgent.
    Parked(Box<Parked>),
}

pub(super) struct Parked {
    active: Active,
    slot: Slot,
    /// `None` if nothing was computed yet.
    saved: Option<Saved>,
    _lease: Option<Lease>,
}

impl Waiter {
    pub fn job(&self) -> &Job {
        match self {
            Waiter::Fresh(job) => job,
            Waiter::Parked(parked) => &parked.active.job,
        }
    }

    fn prompt(&self) -> &[Token] {
        match self {
            Waiter::Fresh(job) => job.prompt(),
            Waiter::Parked(parked) => &parked.active.prompt,
        }
    }
}

impl<D: Decoder> Worker<'_, D> {
    /// Gives slots to waiting jobs as far as they go, and tells the others where they stand.
    pub(super) fn admit(&mut self) {
        while let Some((next, urgency)) = self.next_waiting() {
            let Some(index) = self.free_slot(self.waiting[next].prompt()).or_else(|| self.preempted_slot(urgency))
            else {
                break;
            };
            // Parking puts its job at the end of the queue, so `next` still counts.
            let Some(waiter) = self.waiting.remove(next) else { break };
            self.pressure.leave(waiter.job().priority());
            self.clock += 1;
            match waiter {
                Waiter::Fresh(job) => self.start(index, *job, urgency),
                Waiter::Parked(parked) => self.resume(index, *parked, urgency),
            }
        }
        for (index, waiter) in self.waiting.iter().enumerate() {
            let eta = self.service_ms * (index + 1) as f64 / self.slots.len() as f64;
            waiter.job().standing.position.store(index + 1, Ordering::Relaxed);
            waiter.job().standing.eta_ms.store(eta as u64, Ordering::Relaxed);
        }
    }

    fn next_waiting(&self) -> Option<(usize, u64)> {
        let waiting: Vec<Waiting> = self.waiting.iter().map(|waiter| self.standing(waiter)).collect();
        let next = scheduler::admit(&waiting)?;
        Some((next, waiting[next].urgency()))
    }

    fn standing(&self, waiter: &Waiter) -> Waiting {
        let job = waiter.job();
        Waiting {
            priority: job.priority(),
            waited_ms: job.submitted.elapsed().as_millis() as u64,
            follows: matches!(waiter, Waiter::Fresh(job) if self.follows(job)),
        }
    }

    /// Whether a prompt at work, at least as urgent, is still computing what `job` could then copy.
    fn follows(&self, job: &Job) -> bool {
        let chunk = self.limits.chunk;
        let leaders = self.slots.iter().filter_map(|one| Some((one, one.active.as_ref()?)));
        let ahead = leaders
            .filter(|(_, active)| {
                matches!(active.progress, Progress::Prompt) && active.job.priority() >= job.priority()
            })
            .map(|(one, active)| (one, slot::shared(&active.prompt, job.prompt()) / chunk * chunk))
            .filter(|(one, shared)| one.slot.tokens.len() < *shared)
            .map(|(_, shared)| shared)
            .max();
        let Some(ahead) = ahead else { return false };
        let now = self.slots.iter().map(|one| one.slot.shared(job.prompt())).max().unwrap_or(0);
        ahead > now / chunk * chunk
    }

    /// The idle slot to use: one that holds the beginning and little else; then the longest unused, so that what is
    /// used again and again survives in its slot.
    fn free_slot(&self, prompt: &[Token]) -> Option<usize> {
        let idle =
            || self.slots.iter().enumerate().filter(|(_, one)| one.active.is_none()).map(|(i, one)| (i, &one.slot));
        let in_place = idle()
            .map(|(index, slot)| (slot.shared(prompt), index, slot))
            .filter(|(shared, _, slot)| *shared > 0 && slot.tokens.len() - shared < TOKENS_MIN)
            .max_by_key(|(shared, ..)| *shared)
            .map(|(_, index, _)| index);
        in_place.or_else(|| idle().min_by_key(|(_, slot)| slot.used).map(|(index, _)| index))
    }

    /// The slot of the least urgent job, after that job was parked. Without memory for its state it goes on.
    fn preempted_slot(&mut self, urgency: u64) -> Option<usize> {
        let running: Vec<Running> = self
            .slots
            .iter()
            .enumerate()
            .filter_map(|(slot, one)| {
                let active = one.active.as_ref()?;
                let may_be_parked = active.parked < PARKED_MAX && !matches!(active.progress, Progress::Score { .. });
                Some(Running { slot, urgency: active.urgency, may_be_parked })
            })
            .collect();
        let index = scheduler::preempt(&running, urgency)?;
        let saved = self.decoder.save(index);
        let lease = match (&saved, &self.prefixes) {
            (Some(saved), Some(prefixes)) => Some(prefixes.lease(saved.bytes())?),
            _ => None,
        };
        let mut active = self.slots[index].active.take()?;
        active.parked += 1;
        self.pressure.enter(active.job.priority());
        let held = &mut self.slots[index].slot;
        let slot = Slot { tokens: held.tokens.clone(), ..*held };
        // Nobody needs another copy of it.
        held.generated = false;
        self.waiting.push_back(Waiter::Parked(Box::new(Parked { active, slot, saved, _lease: lease })));
        Some(index)
    }

    fn start(&mut self, index: usize, mut job: Job, urgency: u64) {
        job.standing.position.store(0, Ordering::Relaxed);
        let reuse = job.reuse();
        let prompt = job.take_prompt();
        self.fetch(index, &prompt, reuse);
        let held = &self.slots[index].slot;
        let wanted = slot::reusable(held.shared(&prompt), held.whole_chunks, prompt.len(), self.limits.chunk, reuse);
        if wanted + TOKENS_MIN <= held.tokens.len() {
            self.leave_copy(index);
        }
        let cached = self.cut_back(index, wanted);
        let occupied = &mut self.slots[index];
        occupied.slot.used = self.clock;
        occupied.slot.generated = job.generates();
        let now = Instant::now();
        occupied.active = Some(Active {
            job,
            prompt,
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

    fn resume(&mut self, index: usize, parked: Parked, urgency: u64) {
        let Parked { mut active, mut slot, saved, .. } = parked;
        active.job.standing.position.store(0, Ordering::Relaxed);
        self.leave_copy(index);
        let restored = saved.is_none_or(|saved| self.decoder.restore(index, &saved));
        if slot.tokens.is_empty() {
            self.decoder.keep(index, 0);
        }
        if !restored {
            self.slots[index].slot = Slot::default();
            let reason = "its slot was given to a more urgent request and could not be restored; ask again".to_owned();
            return active.job.fail(EngineError::Interrupted { reason });
        }
        slot.used = self.clock;
        (active.served, active.served_at, active.urgency) = (self.clock, Instant::now(), urgency);
        self.slots[index].slot = slot;
        self.slots[index].active = Some(active);
    }

    /// Brings the longest beginning of `prompt` into slot `index`, from another slot or a copy, where that is a chunk or
    /// more better than what lies there.
    fn fetch(&mut self, index: usize, prompt: &[Token], reuse: slot::Reuse) {
        let chunk = self.limits.chunk;
        let usable =
            |tokens: &[Token], whole| slot::reusable(slot::shared(tokens, prompt), whole, prompt.len(), chunk, reuse);
        let of = |one: &super::Occupied| usable(&one.slot.tokens, one.slot.whole_chunks);
        let here = of(&self.slots[index]);
        let others = self.slots.iter().enumerate().filter(|(other, _)| *other != index);
        let (there, other) = others.map(|(other, one)| (of(one), other)).max().unwrap_or((0, index));
        let stored = self.prefixes.as_ref().map_or(0, |prefixes| prefixes.shared(prompt));
        if stored >= here.max(there) + chunk
            && let Some(copied) = self.prefixes.as_ref().and_then(|prefixes| prefixes.best(prompt))
            && usable(&copied.tokens, copied.whole_chunks) >= here.max(there) + chunk
        {
            return self.put_in(index, copied);
        }
        if there >= here + chunk
            && let Some(saved) = self.decoder.save(other)
        {
            let Slot { tokens, whole_chunks, .. } = &self.slots[other].slot;
            let copied = Copied { tokens: tokens.clone(), whole_chunks: *whole_chunks, saved };
            self.put_in(index, copied);
        }
    }

    fn put_in(&mut self, index: usize, copied: Copied) {
        self.leave_copy(index);
        let slot = match self.decoder.restore(index, &copied.saved) {
            true => Slot { tokens: copied.tokens, whole_chunks: copied.whole_chunks, ..Slot::default() },
            false => Slot::default(),
        };
        self.slots[index].slot = slot;
    }

    /// Copies what a slot holds to the store before it is overwritten.
    fn leave_copy(&mut self, index: usize) {
        let Some(prefixes) = &self.prefixes else { return };
        let Slot { tokens, whole_chunks, generated, .. } = &self.slots[index].slot;
        if tokens.len() < TOKENS_MIN || !generated {
            return;
        }
        if let Some(saved) = self.decoder.save(index) {
            prefixes.put(Copied { tokens: tokens.clone(), whole_chunks: *whole_chunks, saved });
        }
    }

    /// The model is about to be unloaded: what it holds comes back when it is loaded again.
    pub(super) fn leave_copies(&mut self) {
        (0..self.slots.len()).for_each(|index| self.leave_copy(index));
    }
}
