//! Evaluates prompts: one chunk per call, or the same number of rows of several prompts.

use std::ops::Range;
use std::time::Instant;

use super::decode::Taken;
use super::{Decoder, Occupied, Progress, Task, Worker};
use crate::budget::permit::Priority;
use crate::engine::decoder::{DecodeError, Row};
use crate::engine::repetition::Repetition;
use crate::engine::scheduler;
use crate::engine::slot::Prefill;

/// Maximum number of times a chunk may be stopped for a more urgent job before it runs to its end.
/// A stopped call loses its results, so this limits how long a prompt can be delayed.
const STOPPED_MAX: u8 = 3;

/// Positions in the prompt of slot `index` that are evaluated in one call.
pub(super) struct Part {
    pub index: usize,
    pub positions: Range<usize>,
}

impl<D: Decoder> Worker<'_, D> {
    /// Evaluates the next rows of the prompts of `slots` in one call.
    pub(super) fn chunks(&mut self, slots: Range<usize>) {
        if slots.len() < 2 {
            return self.chunk(slots.start);
        }
        let rows: Vec<usize> = self.slots[slots.clone()].iter().map(Occupied::prompt_rows).collect();
        let rows = scheduler::shortest(&rows, self.limits.chunk);
        let parts: Vec<Part> = slots
            .map(|index| {
                let from = self.slots[index].slot.tokens.len();
                Part { index, positions: from..from + rows }
            })
            .collect();
        match self.evaluate(&parts, false) {
            Ok(()) => {
                for (number, part) in parts.iter().enumerate() {
                    self.read(part, true, (number + 1) * rows - 1);
                }
            }
            Err(DecodeError::Stopped) => parts.iter().for_each(|part| self.stopped(part.index, part.positions.start)),
            // One by one, so that a prompt that cannot be computed does not end the others.
            Err(error) => {
                for Part { index, positions } in parts {
                    if self.cut_back(index, positions.start) == positions.start {
                        self.chunk(index);
                    } else {
                        self.abort(&[index], &error);
                    }
                }
            }
        }
    }

    /// Evaluates the next chunk of a prompt, or part of it; after the last one, generates the first
    /// token.
    fn chunk(&mut self, index: usize) {
        let Occupied { slot, active: Some(active) } = &self.slots[index] else { return };
        let (from, end) = (slot.tokens.len(), active.prefill.end(slot));
        if active.job.shown_at(from).is_some() {
            return self.look(index, from);
        }
        let to = if self.goes_in_parts(index, end) { Prefill::part_of(from, end, self.limits.part) } else { end };
        let proof = if to == end { self.proof_of_splits(index, end) } else { None };
        let whole = Part { index, positions: from..to };
        match self.evaluate(std::slice::from_ref(&whole), proof.is_some()) {
            Ok(()) => {}
            Err(DecodeError::Stopped) => return self.stopped(index, from),
            Err(error) => return self.abort(&[index], &error),
        }
        let mut rows = to - from;
        if let Some(part) = proof {
            match self.prove_split(index, from, part, to) {
                Ok(true) => rows = to - part,
                // A prompt computed in two parts would differ from a cold run.
                Ok(false) => return self.stopped(index, from),
                Err(error) => return self.abort(&[index], &error),
            }
        }
        self.read(&whole, to == end, rows - 1);
    }

    /// Evaluates the picture part at position `from` of a prompt.
    fn look(&mut self, index: usize, from: usize) {
        let Some(active) = &self.slots[index].active else { return };
        let Some(shown) = active.job.shown_at(from) else { return };
        let whole = Part { index, positions: from..shown.end() };
        let wanted = shown.end() == active.job.prompt.len();
        let must_finish = active.stopped >= STOPPED_MAX;
        let (pressure, permit, job) = (&self.pressure, &self.permit, &active.job);
        let stop = || {
            job.is_over() || (!must_finish && (pressure.above(job.priority) || permit.is_wanted_above(job.priority)))
        };
        match self.decoder.see(index, shown, wanted, &stop) {
            Ok(row) => self.read(&whole, true, row),
            Err(DecodeError::Stopped) => self.stopped(index, from),
            Err(error) => self.abort(&[index], &error),
        }
    }

    /// Records that a part of a prompt was computed. `ends` is false for the first part of a call;
    /// `row` is the last row of `part` in the latest call.
    fn read(&mut self, part: &Part, ends: bool, row: usize) {
        let (index, to) = (part.index, part.positions.end);
        let Occupied { slot, active: Some(active) } = &mut self.slots[index] else { return };
        active.stopped = 0;
        slot.extend(active.job.prompt[part.positions.clone()].iter().copied(), ends);
        let last = to == active.job.prompt.len();
        self.decoder.mark(index);
        self.keep_preamble(index, to);
        if last {
            self.prompt_done(index, row);
        }
    }

    /// Evaluates these parts of prompts in one call, which stops early for a job more urgent than
    /// all of theirs. Logits are computed at the end of each prompt, and at the end of each part if
    /// `wanted`.
    pub(super) fn evaluate(&mut self, parts: &[Part], wanted: bool) -> Result<(), DecodeError> {
        let (mut rows, mut jobs, mut must_finish) = (Vec::new(), Vec::new(), false);
        for Part { index, positions } in parts {
            let Some(active) = &self.slots[*index].active else { return Err(DecodeError::Stopped) };
            let end = positions.end;
            let logits = wanted || end == active.job.prompt.len();
            rows.extend(positions.clone().map(|position| Row {
                sequence: *index,
                position,
                token: active.job.prompt[position],
                logits: logits && position + 1 == end,
            }));
            jobs.push(&active.job);
            must_finish |= active.stopped >= STOPPED_MAX;
        }
        let (pressure, permit) = (&self.pressure, &self.permit);
        let priority = jobs.iter().map(|job| job.priority).max().unwrap_or(Priority::Background);
        let stop = || {
            jobs.iter().all(|job| job.is_over())
                || (!must_finish && (pressure.above(priority) || permit.is_wanted_above(priority)))
        };
        self.decoder.decode(&rows, &stop)
    }

    /// Discards the result of a call: cuts the sequence back to its previous state.
    fn stopped(&mut self, index: usize, from: usize) {
        self.cut_back(index, from);
        if let Some(active) = &mut self.slots[index].active {
            active.stopped = active.stopped.saturating_add(1);
        }
    }

    /// Whether the call that ends at `end` is made in parts: because a job of at least the same
    /// priority is generating and would have to wait, or because it was stopped before and stopping
    /// a part loses less.
    fn goes_in_parts(&self, index: usize, end: usize) -> bool {
        let Occupied { slot, active: Some(active) } = &self.slots[index] else { return false };
        let priority = active.job.priority;
        let answers =
            |one: &Occupied| matches!(one.progress(), Some(Progress::Decode { .. })) && one.priority() >= priority;
        let is_waited_for = || active.stopped > 0 || self.slots.iter().any(answers);
        slot.is_exact() && self.may_split(end) && is_waited_for()
    }

    /// Offers the fixed prefix to the disk cache when its end is reached, if it was computed as in
    /// a cold run.
    fn keep_preamble(&mut self, index: usize, to: usize) {
        let (Some(prefixes), Some(active)) = (&self.prefixes, &self.slots[index].active) else { return };
        let held = &self.slots[index].slot;
        let is_cold = active.prefill.cuts().take_while(|cut| *cut <= to).eq(held.cuts.iter().copied());
        if to == active.prefill.fixed() && is_cold {
            prefixes.preamble(&held.tokens, &held.cuts, || self.decoder.save(index));
        }
    }

    fn prompt_done(&mut self, index: usize, row: usize) {
        let Some(active) = &self.slots[index].active else { return };
        let lookup = self.lookup(&active.job.task, &active.job.prompt);
        let Some(active) = &mut self.slots[index].active else { return };
        active.prompted = Some(Instant::now());
        match &active.job.task {
            Task::Generate { request, .. } => {
                let random = fastrand::Rng::with_seed(request.sampling.seed);
                active.progress =
                    Progress::Decode { generated: Vec::new(), random, repetition: Repetition::default(), lookup };
                self.take_tokens(&[Taken { slot: index, row }]);
            }
            Task::Score { continuations, .. } => {
                let sums = Vec::with_capacity(continuations.len());
                active.progress = Progress::Score { after: self.decoder.logits(row).to_vec(), sums };
                self.finish_score_if_done(index);
            }
        }
    }
}
