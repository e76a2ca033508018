//! Generates one more token for each slot: in a shared call if that changes nothing or the user wants it, else one by one.

use super::choose::Chooser;
use super::{Decoder, Finish, Progress, Repetition, Task, Update, Worker};
use crate::engine::decoder::{Row, Sharing};
use crate::engine::sharing::{Regime, Verdict};
use crate::engine::thought::Thought;

impl<D: Decoder> Worker<'_, D> {
    /// Generates one more token for every slot in `indices`, or several if tokens were guessed. A guess is verified in
    /// a call of its own, so that it does not depend on other slots.
    pub(super) fn decode(&mut self, indices: &[usize]) {
        let unguessed: Vec<usize> = indices.iter().copied().filter(|&index| !self.verify(index)).collect();
        let mut rows: Vec<Row> = unguessed.iter().filter_map(|&index| self.next_row(index)).collect();
        rows.sort_by_key(|row| row.sequence);
        // llama.cpp computes only sequences with consecutive numbers together, and only in that order
        // (`llama_batch_allocr::split_equal`).
        for run in rows.chunk_by(|one, next| one.sequence + 1 == next.sequence) {
            self.decode_run(run);
        }
    }

    /// Generates one more token for each of some sequences with consecutive numbers.
    fn decode_run(&mut self, rows: &[Row]) {
        if rows.len() < 2 || matches!(self.limits.sharing, Sharing::Always | Sharing::Wanted) {
            return self.decode_together(rows);
        }
        let lengths: Vec<usize> = rows.iter().map(|row| row.position).collect();
        let regime = Regime::of(&lengths);
        match self.verdicts.on(regime) {
            Verdict::Proved => self.decode_together(rows),
            // Normally the scheduler sends one slot a call here; several arrive only in the call that refuted sharing.
            Verdict::Refuted => rows.iter().for_each(|row| self.decode_together(std::slice::from_ref(row))),
            Verdict::Open => self.decode_both_ways(rows, regime),
        }
    }

    fn next_row(&self, index: usize) -> Option<Row> {
        let occupied = &self.slots[index];
        let token = *occupied.generated()?.last()?;
        Some(Row { sequence: index, position: occupied.slot.tokens.len(), token, logits: true })
    }

    /// Evaluates all rows in one call; if that fails, one by one.
    fn decode_together(&mut self, rows: &[Row]) {
        if let Err(error) = self.decoder.decode(rows, &|| false) {
            for row in rows {
                if rows.len() > 1 && self.cut_back(row.sequence, row.position) == row.position {
                    self.decode_together(std::slice::from_ref(row));
                } else {
                    self.abort(&[row.sequence], &error);
                }
            }
            return;
        }
        for (number, row) in rows.iter().enumerate() {
            self.slots[row.sequence].slot.push(row.token);
            let logits = self.decoder.logits(number).to_vec();
            self.take_token(row.sequence, logits);
        }
    }

    /// Evaluates all rows in one call, takes them back, and evaluates them one by one. The latter results count.
    fn decode_both_ways(&mut self, rows: &[Row], regime: Regime) {
        rows.iter().for_each(|row| self.decoder.mark(row.sequence));
        let shared: Option<Vec<Vec<f32>>> = match self.decoder.decode(rows, &|| false) {
            Ok(()) => Some((0..rows.len()).map(|number| self.decoder.logits(number).to_vec()).collect()),
            Err(_) => None,
        };
        let mut equal = shared.is_some();
        for (number, row) in rows.iter().enumerate() {
            if self.cut_back(row.sequence, row.position) != row.position {
                let reason = "its sequence could not be taken back one token".to_owned();
                let error = crate::engine::decoder::DecodeError::Failed { rows: 1, reason };
                equal = false;
                self.abort(&[row.sequence], &error);
                continue;
            }
            if let Err(error) = self.decoder.decode(std::slice::from_ref(row), &|| false) {
                self.abort(&[row.sequence], &error);
                continue;
            }
            let alone = self.decoder.logits(0).to_vec();
            equal &= shared.as_ref().is_some_and(|shared| same_bits(&shared[number], &alone));
            self.slots[row.sequence].slot.push(row.token);
            self.take_token(row.sequence, alone);
        }
        self.verdicts.found(regime, equal);
    }

    /// Chooses the next token from `logits`, sends it out, and ends the job if it is complete.
    pub(super) fn take_token(&mut self, index: usize, logits: Vec<f32>) {
        let held = self.slots[index].slot.tokens.len();
        let Some(active) = &mut self.slots[index].active else { return };
        let (
            Progress::Decode { generated, random, repetition, lookup },
            Task::Generate { request, constraint, thought },
        ) = (&mut active.progress, &mut active.job.task)
        else {
            return;
        };
        if request.max_tokens == 0 {
            return self.finish(index, Finish::MaxTokens);
        }
        let (constraint, mut thought) = (constraint.as_deref_mut(), thought.as_deref_mut());
        let chooser = Chooser { vocabulary: self.vocabulary, request, constraint, thought: thought.as_deref_mut() };
        let chosen = match chooser.choose(logits, generated, random) {
            Ok(chosen) => chosen,
            Err(error) => {
                active.job.fail(error.into());
                self.slots[index].active = None;
                return;
            }
        };
        if chosen.is_end {
            return self.finish(index, Finish::End);
        }
        let token = chosen.choice.token;
        generated.push(token);
        if let Some(lookup) = lookup {
            lookup.push(token);
        }
        // A closed stream is noticed before the next call.
        let _ = active.job.updates.send(Update::Token(chosen.choice, chosen.logprobs));
        let aside = thought.as_ref().map_or(0, |thought| thought.aside());
        // A benchmark (`ignore_end`) generates all its tokens, even repeated ones.
        let mut is_circle = !request.ignore_end && repetition.push(generated);
        // A thought that goes round in circles is closed, and the answer goes on.
        if is_circle && thought.is_some_and(Thought::close) {
            (*repetition, is_circle) = (Repetition::default(), false);
        }
        if chosen.completes {
            self.finish(index, Finish::End);
        } else if is_circle {
            self.finish(index, Finish::Repetition);
        } else if generated.len() - aside >= request.max_tokens {
            self.finish(index, Finish::MaxTokens);
        } else if held + 1 >= self.limits.context {
            self.finish(index, Finish::ContextFull);
        }
    }
}

/// Whether two rows of logits are equal bit by bit.
pub(super) fn same_bits(a: &[f32], b: &[f32]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}
