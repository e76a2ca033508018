//! The thread that owns a model: accepts jobs, assigns slots, makes calls one after another and sends tokens.

mod choose;
mod decode;
mod draft;
mod gather;
mod job;
mod place;
mod prompt;
mod score;
mod split;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Instant;

pub use job::{Busy, Inbox, Job, Pressure, Task, Update};
use place::Waiter;

use super::decoder::{DecodeError, Decoder, Limits, Sharing, Token, Vocabulary};
use super::lookup::Lookup;
use super::prefix::Prefixes;
use super::repetition::Repetition;
use super::request::{EngineError, Finish, Tally};
use super::scheduler::{Phase, Scheduler, View, Work};
use super::sharing::Verdicts;
use super::slot::{Prefill, Slot};
use crate::budget::permit::{Permit, Priority};

impl Inbox {
    /// Serves jobs until every handle is dropped, then copies the slots to the prefix store.
    pub fn serve(self, decoder: impl Decoder, vocabulary: &dyn Vocabulary) -> Result<(), String> {
        let limits = decoder.limits();
        let slots = (0..limits.sequences).map(|_| Occupied::default()).collect();
        self.ready.send(Ok(limits)).map_err(|_| "nobody is waiting for it any more".to_owned())?;
        let Inbox { jobs, pressure, permit, prefixes, verdicts, splits, .. } = self;
        let mut worker = Worker {
            decoder,
            vocabulary,
            limits,
            permit,
            pressure,
            prefixes,
            verdicts,
            splits,
            slots,
            waiting: VecDeque::new(),
            scheduler: Scheduler::new(limits.calls_in_a_row, limits.chunk),
            apart: 0,
            clock: 0,
            service_ms: 0.0,
        };
        worker.run(&jobs);
        worker.leave_copies();
        Ok(())
    }
}

/// A slot and the job that occupies it.
#[derive(Default)]
struct Occupied {
    slot: Slot,
    active: Option<Active>,
}

struct Active {
    job: Job,
    /// The calls in which the prompt is evaluated.
    prefill: Prefill,
    started: Instant,
    /// When evaluation of the prompt ended.
    prompted: Option<Instant>,
    /// Number of prompt tokens that were reused.
    cached: usize,
    /// When it last got a call, by the worker's clock and by wall-clock time.
    served: u64,
    served_at: Instant,
    /// Its urgency when it got its slot.
    urgency: u64,
    /// Number of times it had to give up its slot.
    parked: u8,
    /// Number of times its current chunk was stopped for a more urgent job.
    stopped: u8,
    progress: Progress,
}

enum Progress {
    /// Prompt tokens are being evaluated; `Slot::tokens` holds the finished ones.
    Prompt,
    /// Tokens are being generated; the last one is not in the slot yet.
    Decode { generated: Vec<Token>, random: fastrand::Rng, repetition: Repetition, lookup: Option<Lookup> },
    /// Continuations are being scored; `after` holds the logits at the end of the prefix.
    Score { after: Vec<f32>, sums: Vec<f64> },
}

struct Worker<'v, D> {
    decoder: D,
    vocabulary: &'v dyn Vocabulary,
    limits: Limits,
    permit: Permit,
    pressure: Arc<Pressure>,
    prefixes: Option<Prefixes>,
    /// Verdicts on calls shared by slots.
    verdicts: Verdicts,
    /// Verdicts on split prefill calls, by the length at their end.
    splits: Verdicts,
    slots: Vec<Occupied>,
    waiting: VecDeque<Waiter>,
    scheduler: Scheduler,
    /// Number of times in a row that tokens were generated in several calls because the slots are
    /// not neighbours.
    apart: usize,
    /// Counts calls and admissions; orders slots and jobs by age.
    clock: u64,
    /// Moving average of the time that jobs hold a slot, for the expected wait; 0 before the first
    /// one ends.
    service_ms: f64,
}

impl<D: Decoder> Worker<'_, D> {
    fn run(&mut self, jobs: &Receiver<Job>) {
        loop {
            if self.idle() {
                self.show();
                match jobs.recv() {
                    Ok(job) => self.waiting.push_back(Waiter::Fresh(Box::new(job))),
                    Err(_) => return,
                }
            }
            loop {
                match jobs.try_recv() {
                    Ok(job) => self.waiting.push_back(Waiter::Fresh(Box::new(job))),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) if self.idle() => return,
                    Err(TryRecvError::Disconnected) => break,
                }
            }
            self.drop_abandoned_jobs();
            self.admit();
            self.gather();
            self.show();
            let shares_prompts = self.limits.sharing == Sharing::Wanted;
            let views: Vec<View> = self.slots.iter().map(|slot| slot.view(shares_prompts)).collect();
            let may_share = match self.limits.sharing {
                Sharing::Always | Sharing::Wanted => true,
                Sharing::IfProved => !self.verdicts.is_refuted(),
                Sharing::Never => false,
            };
            let work = self.scheduler.next(&views, may_share);
            self.carry_out(&work);
        }
    }

    fn idle(&self) -> bool {
        self.waiting.is_empty() && self.slots.iter().all(|slot| slot.active.is_none())
    }

    fn show(&self) {
        self.pressure.show(self.slots.iter().map(Occupied::busy).collect());
    }

    /// Ends jobs whose stream was dropped or whose deadline has passed.
    fn drop_abandoned_jobs(&mut self) {
        let pressure = &self.pressure;
        self.waiting.retain(|waiter| {
            let job = waiter.job();
            // Checked only once: if a stream were dropped between two checks, its job would leave
            // the queue without leaving `pressure`.
            let over = job.is_over();
            if over {
                job.fail(EngineError::Deadline(job.deadline));
                pressure.leave(job.priority);
            }
            !over
        });
        for occupied in &mut self.slots {
            if let Some(active) = occupied.active.take_if(|active| active.job.is_over()) {
                active.job.fail(EngineError::Deadline(active.job.deadline));
            }
        }
    }

    fn carry_out(&mut self, work: &Work) {
        let indices = match work {
            Work::Nothing => return,
            Work::Chunk(slots) => slots.clone().collect(),
            Work::Decode(indices) => indices.clone(),
        };
        let priority = indices.iter().map(|&index| self.slots[index].priority()).max().unwrap_or(Priority::Background);
        let from = Instant::now();
        {
            let permit = self.permit.clone();
            let _turn = permit.take(priority);
            match work {
                Work::Chunk(slots) if matches!(self.slots[slots.start].progress(), Some(Progress::Score { .. })) => {
                    self.score_one(slots.start);
                }
                Work::Chunk(slots) => self.chunks(slots.clone()),
                Work::Decode(_) => self.decode(&indices),
                Work::Nothing => {}
            }
        }
        self.clock += 1;
        for index in indices {
            if let Some(active) = &mut self.slots[index].active {
                (active.served, active.served_at) = (self.clock, Instant::now());
            }
        }
        self.scheduler.spent(work, from.elapsed().as_millis() as u64);
    }

    fn finish(&mut self, index: usize, finish: Finish) {
        if let Some(active) = self.slots[index].active.take() {
            let held_ms = active.started.elapsed().as_millis() as f64;
            self.service_ms = if self.service_ms == 0.0 { held_ms } else { 0.8 * self.service_ms + 0.2 * held_ms };
            let tally = active.tally();
            // When the answer arrives, the slot must already be shown as free.
            self.show();
            let _ = active.job.updates.send(Update::Finished { finish, tally });
        }
    }

    /// Ends the jobs of a failed call with its error and clears their sequences; all other jobs
    /// continue.
    fn abort(&mut self, indices: &[usize], error: &DecodeError) {
        for &index in indices {
            if let Some(active) = self.slots[index].active.take() {
                active.job.fail(error.clone().into());
            }
            self.cut_back(index, 0);
        }
    }

    /// Shortens a slot to at most `length` tokens; returns how many are left.
    fn cut_back(&mut self, index: usize, length: usize) -> usize {
        let kept = self.decoder.keep(index, length);
        self.slots[index].slot.truncate(kept);
        kept
    }
}

impl Occupied {
    /// The scheduler's view of the slot. `shares_prompts`: whether its next chunk may share a call
    /// with other prompts.
    fn view(&self, shares_prompts: bool) -> View {
        let phase = match self.progress() {
            None => Phase::Idle,
            Some(Progress::Prompt | Progress::Score { .. }) => Phase::Chunk,
            Some(Progress::Decode { .. }) => Phase::Decode,
        };
        let served = self.active.as_ref().map_or(0, |active| active.served);
        let waited_ms = self.active.as_ref().map_or(0, |active| active.served_at.elapsed().as_millis() as u64);
        let rows = if shares_prompts { self.prompt_rows() } else { 0 };
        View { phase, priority: self.priority(), served, waited_ms, rows }
    }

    /// Number of text rows in its prompt's next chunk; 0 if no prompt is being read or a picture is
    /// next.
    fn prompt_rows(&self) -> usize {
        let is_text = |active: &Active| active.job.shown_at(self.slot.tokens.len()).is_none();
        match &self.active {
            Some(active) if matches!(active.progress, Progress::Prompt) && is_text(active) => {
                active.prefill.end(&self.slot) - self.slot.tokens.len()
            }
            _ => 0,
        }
    }

    fn progress(&self) -> Option<&Progress> {
        self.active.as_ref().map(|active| &active.progress)
    }

    fn priority(&self) -> Priority {
        self.active.as_ref().map_or(Priority::Background, |active| active.job.priority)
    }

    fn busy(&self) -> Option<Busy> {
        let active = self.active.as_ref()?;
        let generated = self.generated().map(<[Token]>::len);
        Some(Busy { priority: active.job.priority, prompt: active.job.prompt.len(), generated, since: active.started })
    }

    fn generated(&self) -> Option<&[Token]> {
        match self.progress()? {
            Progress::Decode { generated, .. } => Some(generated),
            Progress::Prompt | Progress::Score { .. } => None,
        }
    }
}

impl Active {
    fn tally(&self) -> Tally {
        let prompted = self.prompted.unwrap_or_else(Instant::now);
        let thought_tokens = match &self.job.task {
            Task::Generate { thought: Some(thought), .. } => thought.tokens(),
            Task::Generate { .. } | Task::Score { .. } => 0,
        };
        let (generated_tokens, guessed_tokens) = match &self.progress {
            Progress::Decode { generated, lookup, .. } => {
                (generated.len(), lookup.as_ref().map_or(0, |lookup| lookup.right))
            }
            Progress::Prompt | Progress::Score { .. } => (0, 0),
        };
        Tally {
            prompt_tokens: self.job.prompt.len(),
            cached_tokens: self.cached,
            generated_tokens,
            thought_tokens,
            guessed_tokens,
            queue_ms: self.started.duration_since(self.job.submitted).as_millis() as u64,
            prompt_ms: prompted.duration_since(self.started).as_millis() as u64,
            decode_ms: prompted.elapsed().as_millis() as u64,
        }
    }
}
