//! Evaluates prompts, one chunk per call.

use std::ops::Range;
use std::time::Instant;

use super::{Decoder, Occupied, Progress, Task, Worker};
use crate::engine::decoder::{DecodeError, Row};
use crate::engine::repetition::Repetition;
use crate::engine::slot::Prefill;

/// How often one chunk may be stopped for a more urgent job before it runs to its end. What a stopped call computed is
/// lost, so this bounds how long a prompt can be delayed.
const STOPPED_MAX: u8 = 3;
/// Rows of a part of a chunk: a quarter of a full chunk, which takes a tenth more time per row.
const PART_ROWS: usize = 64;

impl<D: Decoder> Worker<'_, D> {
    /// Evaluates the next chunk of a prompt, or a part of it; after the last one it takes the first generated token.
    pub(super) fn chunk(&mut self, index: usize) {
        let Occupied { slot, active: Some(active) } = &self.slots[index] else { return };
        let (from, end) = (slot.tokens.len(), active.prefill.end(slot));
        let to = if self.goes_in_parts(index, end) { Prefill::part_of(from, end, PART_ROWS) } else { end };
        let proof = if to == end { self.proof_of_splits(index, end) } else { None };
        match self.evaluate(index, from..to, proof.is_some()) {
            Ok(()) => {}
            Err(DecodeError::Stopped) => return self.stopped(index, from),
            Err(error) => return self.abort(&[index], &error),
        }
        let mut rows = to - from;
        if let Some(part) = proof {
            match self.prove_split(index, from, part, to) {
                Ok(true) => rows = to - part,
                // A prompt computed in two parts differs from that of a cold run.
                Ok(false) => return self.stopped(index, from),
                Err(error) => return self.abort(&[index], &error),
            }
        }
        let Occupied { slot, active: Some(active) } = &mut self.slots[index] else { return };
        active.stopped = 0;
        slot.extend(active.job.prompt[from..to].iter().copied(), to == end);
        let last = to == active.job.prompt.len();
        self.decoder.mark(index);
        self.keep_preamble(index, to);
        if last {
            self.prompt_done(index, rows - 1);
        }
    }

    /// Evaluates these positions of a prompt in one call, which stops early for a more urgent job. Logits are computed
    /// after the last position of the prompt, and of the call if they are `wanted`.
    pub(super) fn evaluate(&mut self, index: usize, positions: Range<usize>, wanted: bool) -> Result<(), DecodeError> {
        let Some(active) = &self.slots[index].active else { return Err(DecodeError::Stopped) };
        let end = positions.end;
        let logits = wanted || end == active.job.prompt.len();
        let row = |position| Row {
            sequence: index,
            position,
            token: active.job.prompt[position],
            logits: logits && position + 1 == end,
        };
        let rows: Vec<Row> = positions.map(row).collect();
        let (pressure, permit, priority) = (&self.pressure, &self.permit, active.job.priority);
        let must_finish = active.stopped >= STOPPED_MAX;
        let stop =
            || active.job.is_over() || (!must_finish && (pressure.above(priority) || permit.is_wanted_above(priority)));
        self.decoder.decode(&rows, &stop)
    }

    /// Discards the result of a call: cuts the sequence back to what it was before.
    fn stopped(&mut self, index: usize, from: usize) {
        self.cut_back(index, from);
        if let Some(active) = &mut self.slots[index].active {
            active.stopped = active.stopped.saturating_add(1);
        }
    }

    /// Whether the call that ends at `end` is made in parts: because a job of at least the same priority generates
    /// in the meantime and would wait for its end, or because it was stopped before, and stopping a part loses less.
    fn goes_in_parts(&self, index: usize, end: usize) -> bool {
        let Occupied { slot, active: Some(active) } = &self.slots[index] else { return false };
        let priority = active.job.priority;
        let answers =
            |one: &Occupied| matches!(one.progress(), Some(Progress::Decode { .. })) && one.priority() >= priority;
        let is_waited_for = || active.stopped > 0 || self.slots.iter().any(answers);
        slot.is_exact() && self.may_split(end) && is_waited_for()
    }

    /// Offers the fixed prefix to the disk cache at its end, if it was computed as in a cold run.
    fn keep_preamble(&mut self, index: usize, to: usize) {
        let (Some(prefixes), Some(active)) = (&self.prefixes, &self.slots[index].active) else { return };
        let held = &self.slots[index].slot;
        let is_cold = active.prefill.cuts().take_while(|cut| *cut <= to).eq(held.cuts.iter().copied());
        if to == active.prefill.fixed() && is_cold {
            prefixes.preamble(&held.tokens, &held.cuts, || self.decoder.save(index));
        }
    }

    fn prompt_done(&mut self, index: usize, row: usize) {
        let logits = self.decoder.logits(row).to_vec();
        let Some(active) = &self.slots[index].active else { return };
        let lookup = self.lookup(&active.job.task, &active.job.prompt);
        let Some(active) = &mut self.slots[index].active else { return };
        active.prompted = Some(Instant::now());
        match &active.job.task {
            Task::Generate { request, .. } => {
                let random = fastrand::Rng::with_seed(request.sampling.seed);
                active.progress =
                    Progress::Decode { generated: Vec::new(), random, repetition: Repetition::default(), lookup };
                self.take_token(index, logits);
            }
            Task::Score { continuations, .. } => {
                let sums = Vec::with_capacity(continuations.len());
                active.progress = Progress::Score { after: logits, sums };
                self.finish_score_if_done(index);
            }
        }
    }
}
