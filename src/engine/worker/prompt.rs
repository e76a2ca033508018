//! Evaluates prompts, a chunk a call.

use std::time::Instant;

use super::{Decoder, Progress, Task, Worker};
use crate::engine::decoder::{DecodeError, Row};
use crate::engine::prefix::TOKENS_MIN;
use crate::engine::repetition::Repetition;
use crate::engine::slot;

/// How often one chunk may be stopped for somebody more urgent before it runs to its end.
const STOPPED_MAX: u8 = 3;

impl<D: Decoder> Worker<'_, D> {
    /// Evaluates the next chunk of a prompt, and takes the first token after its end.
    pub(super) fn chunk(&mut self, index: usize) {
        let Some(active) = &self.slots[index].active else { return };
        let from = self.slots[index].slot.tokens.len();
        let to = slot::chunk_end(from, active.prompt.len(), self.limits.chunk);
        let last = to == active.prompt.len();
        let rows: Vec<Row> = (from..to)
            .map(|position| Row {
                sequence: index,
                position,
                token: active.prompt[position],
                logits: last && position + 1 == to,
            })
            .collect();
        let (pressure, permit, priority) = (&self.pressure, &self.permit, active.job.priority());
        let patient = active.stopped >= STOPPED_MAX;
        let stop =
            || active.job.is_over() || (!patient && (pressure.above(priority) || permit.is_wanted_above(priority)));
        match self.decoder.decode(&rows, &stop) {
            Ok(()) => {}
            Err(DecodeError::Stopped) => {
                self.cut_back(index, from);
                if let Some(active) = &mut self.slots[index].active {
                    active.stopped += 1;
                }
                return;
            }
            Err(error) => return self.abort(&[index], &error),
        }
        self.slots[index].slot.extend(rows.iter().map(|row| row.token), self.limits.chunk);
        if last || to.is_multiple_of(self.limits.chunk) {
            self.decoder.mark(index);
        }
        self.keep_preamble(index, to);
        if last {
            self.prompt_done(index, rows.len() - 1);
        }
    }

    /// At the end of the whole chunks that are the same in every run, they are offered to the disk.
    fn keep_preamble(&mut self, index: usize, to: usize) {
        let (Some(prefixes), Some(active)) = (&self.prefixes, &mut self.slots[index].active) else { return };
        active.stopped = 0;
        let fixed = active.job.fixed() / self.limits.chunk * self.limits.chunk;
        let held = &self.slots[index].slot;
        if to == fixed && to >= TOKENS_MIN && held.whole_chunks == to {
            prefixes.preamble(&held.tokens, || self.decoder.save(index));
        }
    }

    fn prompt_done(&mut self, index: usize, row: usize) {
        let logits = self.decoder.logits(row).to_vec();
        let Some(active) = &mut self.slots[index].active else { return };
        active.prompted = Some(Instant::now());
        match &active.job.task {
            Task::Generate { request, .. } => {
                let random = fastrand::Rng::with_seed(request.sampling.seed);
                active.progress = Progress::Decode { generated: Vec::new(), random, repetition: Repetition::default() };
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
