//! Generates a token for each slot: in a shared call if that is known to be safe or bits may
//! change, else separately.

use std::borrow::Cow;

use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::choose::Chooser;
use super::{Decoder, Finish, Occupied, Progress, Repetition, Task, Update, Worker};
use crate::engine::decoder::{Row, Sharing, Vocabulary};
use crate::engine::request::EngineError;
use crate::engine::sharing::{Regime, Verdict};
use crate::engine::thought::Thought;

/// Minimum number of slots for choosing tokens on several threads. A greedy choice takes 24 µs
/// among 65,536 tokens and 55 µs among 151,936. For sixteen slots that matters compared with a GPU
/// call of 2 ms; for a few, waking the threads would take as long.
const PARALLEL_MIN: usize = 4;

/// A slot whose next token is chosen from the logits after `row` of the last call.
pub(super) struct Taken {
    pub slot: usize,
    pub row: usize,
}

/// How a job ends after a token.
type Ended = Result<Finish, EngineError>;

impl<D: Decoder> Worker<'_, D> {
    /// Generates one more token for every slot in `indices`, or several if tokens were guessed. A
    /// guess is verified in a separate call, so that it does not depend on other slots.
    pub(super) fn decode(&mut self, indices: &[usize]) {
        let unguessed: Vec<usize> = indices.iter().copied().filter(|&index| !self.verify(index)).collect();
        let mut rows: Vec<Row> = unguessed.iter().filter_map(|&index| self.next_row(index)).collect();
        rows.sort_by_key(|row| row.sequence);
        // llama.cpp computes sequences together only if their numbers are consecutive and in order
        // (`llama_batch_allocr::split_equal`).
        let runs: Vec<&[Row]> = rows.chunk_by(|one, next| one.sequence + 1 == next.sequence).collect();
        self.apart = if runs.len() > 1 { self.apart + 1 } else { 0 };
        runs.into_iter().for_each(|run| self.decode_run(run));
    }

    /// Generates one more token for each of several sequences with consecutive numbers.
    fn decode_run(&mut self, rows: &[Row]) {
        if rows.len() < 2 || self.limits.sharing.is_given() {
            return self.decode_together(rows);
        }
        let lengths: Vec<usize> = rows.iter().map(|row| row.position).collect();
        let regime = Regime::of(&lengths);
        match self.verdicts.on(regime) {
            Verdict::Proved => self.decode_together(rows),
            // The scheduler normally sends one slot per call here; several arrive only in the call
            // that refuted sharing.
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
        rows.iter().for_each(|row| self.slots[row.sequence].slot.push(row.token));
        let taken = rows.iter().enumerate().map(|(number, row)| Taken { slot: row.sequence, row: number });
        self.take_tokens(&taken.collect::<Vec<_>>());
    }

    /// Evaluates all rows in one call, undoes them, and evaluates them one by one. The second
    /// results are used.
    fn decode_both_ways(&mut self, rows: &[Row], regime: Regime) {
        rows.iter().for_each(|row| self.decoder.mark(row.sequence));
        let shared: Option<Vec<Vec<f32>>> = match self.decoder.decode(rows, &|| false) {
            Ok(()) => Some((0..rows.len()).map(|number| self.decoder.logits(number).to_vec()).collect()),
            Err(_) => None,
        };
        let mut equal = shared.is_some();
        for (number, row) in rows.iter().enumerate() {
            if self.cut_back(row.sequence, row.position) != row.position {
                let reason = "its sequence could not be cut back by one token".to_owned();
                let error = crate::engine::decoder::DecodeError::Failed { rows: 1, reason };
                equal = false;
                self.abort(&[row.sequence], &error);
                continue;
            }
            if let Err(error) = self.decoder.decode(std::slice::from_ref(row), &|| false) {
                self.abort(&[row.sequence], &error);
                continue;
            }
            equal &= shared.as_ref().is_some_and(|shared| same_bits(&shared[number], self.decoder.logits(0)));
            self.slots[row.sequence].slot.push(row.token);
            self.take_tokens(&[Taken { slot: row.sequence, row: 0 }]);
        }
        self.verdicts.found(regime, equal);
    }

    /// Chooses the next tokens of these slots, sends them out, and ends the jobs that are complete.
    pub(super) fn take_tokens(&mut self, taken: &[Taken]) {
        let (decoder, vocabulary, context) = (&self.decoder, self.vocabulary, self.limits.context);
        let row_of = |index: usize| taken.iter().find(|taken| taken.slot == index).map(|taken| taken.row);
        let jobs = self
            .slots
            .iter_mut()
            .enumerate()
            .filter_map(|(index, one)| row_of(index).map(move |row| (index, one, decoder.logits(row))));
        let take = |(index, one, logits): (usize, &mut Occupied, &[f32])| {
            Some((index, one.take_token(vocabulary, context, logits)?))
        };
        // On a CPU, llama.cpp's threads keep spinning on the cores after a call.
        let is_serial = taken.len() < PARALLEL_MIN || self.limits.sharing != Sharing::Wanted;
        let ended: Vec<(usize, Ended)> = if is_serial {
            jobs.filter_map(take).collect()
        } else {
            // Collected first, because only this thread may access the decoder.
            jobs.collect::<Vec<_>>().into_par_iter().filter_map(take).collect()
        };
        for (index, ended) in ended {
            match ended {
                Ok(finish) => self.finish(index, finish),
                Err(error) => {
                    if let Some(active) = self.slots[index].active.take() {
                        active.job.fail(error);
                    }
                }
            }
        }
    }
}

impl Occupied {
    /// Chooses the next token from `logits` and sends it; returns how the job ends, if it does.
    fn take_token(&mut self, vocabulary: &dyn Vocabulary, context: usize, logits: &[f32]) -> Option<Ended> {
        let held = self.slot.tokens.len();
        let active = self.active.as_mut()?;
        let (
            Progress::Decode { generated, random, repetition, lookup },
            Task::Generate { request, constraint, thought },
        ) = (&mut active.progress, &mut active.job.task)
        else {
            return None;
        };
        if request.max_tokens == 0 {
            return Some(Ok(Finish::MaxTokens));
        }
        let (constraint, mut thought) = (constraint.as_deref_mut(), thought.as_deref_mut());
        let chooser = Chooser { vocabulary, request, constraint, thought: thought.as_deref_mut() };
        let chosen = match chooser.choose(Cow::Borrowed(logits), generated, random) {
            Ok(chosen) => chosen,
            Err(error) => return Some(Err(error.into())),
        };
        if chosen.is_end {
            return Some(Ok(Finish::End));
        }
        let token = chosen.choice.token;
        generated.push(token);
        if let Some(lookup) = lookup {
            lookup.push(token);
        }
        // A closed stream is detected before the next call.
        let _ = active.job.updates.send(Update::Token(chosen.choice, chosen.logprobs));
        let aside = thought.as_ref().map_or(0, |thought| thought.aside());
        // A benchmark (`ignore_end`) generates all its tokens, even repeated ones.
        let mut is_circle = !request.ignore_end && repetition.push(generated);
        // A thought that repeats itself is closed, and the answer continues.
        if is_circle && thought.is_some_and(Thought::close) {
            (*repetition, is_circle) = (Repetition::default(), false);
        }
        if chosen.completes {
            Some(Ok(Finish::End))
        } else if is_circle {
            Some(Ok(Finish::Repetition))
        } else if generated.len() - aside >= request.max_tokens {
            Some(Ok(Finish::MaxTokens))
        } else {
            (held + 1 >= context).then_some(Ok(Finish::ContextFull))
        }
    }
}

/// Whether two rows of logits are equal bit by bit.
pub(super) fn same_bits(a: &[f32], b: &[f32]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}
