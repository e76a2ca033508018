//! Verifies guessed tokens: evaluates several of a slot's tokens in one call and keeps those that the model chooses.

use super::decode::Taken;
use super::{Decoder, Progress, Task, Worker};
use crate::engine::decoder::{DecodeError, Row, Token};
use crate::engine::lookup::{GUESSED_MIN, Lookup};

/// Maximum number of rows in a verifying call: on CPUs a row costs half as much in a call of 16
/// rows as in one of eight.
const ROWS: usize = 16;

impl<D: Decoder> Worker<'_, D> {
    /// The source of guesses for a job with `prompt`, if its request allows guesses and rejected
    /// rows can be undone.
    pub(super) fn lookup(&self, task: &Task, prompt: &[Token]) -> Option<Lookup> {
        let asks = matches!(task, Task::Generate { request, .. } if request.lookup);
        (asks && self.limits.undo >= GUESSED_MIN).then(|| Lookup::new(prompt))
    }

    /// Evaluates the last token of slot `index` and a guess after it, and accepts tokens up to the
    /// first wrong guess. False if there was no guess.
    pub(super) fn verify(&mut self, index: usize) -> bool {
        let Some(rows) = self.guess_rows(index) else { return false };
        let held = self.slots[index].slot.tokens.len();
        let Some(active) = &self.slots[index].active else { return false };
        match self.decoder.decode(&rows, &|| active.job.is_over()) {
            Ok(()) => {}
            Err(DecodeError::Stopped) => {
                self.cut_back(index, held);
                return true;
            }
            Err(error) => {
                self.abort(&[index], &error);
                return true;
            }
        }
        for (number, row) in rows.iter().enumerate() {
            self.slots[index].slot.push(row.token);
            self.take_tokens(&[Taken { slot: index, row: number }]);
            let next = rows.get(number + 1).map(|next| next.token);
            let Some(lookup) = self.lookup_of(index) else { break };
            if next.is_none() || lookup.last() != next {
                lookup.settle(number);
                break;
            }
            lookup.right += 1;
        }
        let taken = self.slots[index].slot.tokens.len();
        self.cut_back(index, taken);
        true
    }

    fn lookup_of(&mut self, index: usize) -> Option<&mut Lookup> {
        match &mut self.slots[index].active.as_mut()?.progress {
            Progress::Decode { lookup, .. } => lookup.as_mut(),
            Progress::Prompt | Progress::Score { .. } => None,
        }
    }

    /// Rows for the last token of slot `index` and a guess after it, as many as the call, the
    /// context and the request allow; `None` if there is no guess.
    fn guess_rows(&self, index: usize) -> Option<Vec<Row>> {
        let occupied = &self.slots[index];
        let active = occupied.active.as_ref()?;
        let (Progress::Decode { generated, lookup: Some(lookup), .. }, Task::Generate { request, thought, .. }) =
            (&active.progress, &active.job.task)
        else {
            return None;
        };
        let held = occupied.slot.tokens.len();
        let rows = self.limits.undo.saturating_add(1).min(self.limits.outputs).min(ROWS);
        // A thought may use more tokens than the answer has left; the excess is undone.
        let left = match thought {
            Some(thought) if thought.is_open() => rows,
            Some(thought) => (request.max_tokens + thought.aside()).saturating_sub(generated.len()),
            None => request.max_tokens - generated.len(),
        };
        let room = (self.limits.context - held).min(left).min(rows);
        let guess = lookup.guess(room.saturating_sub(1));
        let last = *generated.last()?;
        if guess.is_empty() {
            return None;
        }
        let row = |(offset, token)| Row { sequence: index, position: held + offset, token, logits: true };
        Some(std::iter::once(last).chain(guess.iter().copied()).enumerate().map(row).collect())
    }
}
