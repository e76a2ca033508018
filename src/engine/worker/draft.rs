//! Several tokens of one slot in a call: guessed from the text, taken as far as the model itself chooses them.

use super::{Decoder, Progress, Task, Worker};
use crate::engine::decoder::{DecodeError, Row, Token};
use crate::engine::lookup::{GUESSED_MIN, Lookup};

/// Rows of a call that verifies: kernels on processors take that many at half the price of eight, a row each.
const ROWS: usize = 16;

impl<D: Decoder> Worker<'_, D> {
    /// What guesses for the job of `prompt`, if it asks for that and rejected rows can be taken back.
    pub(super) fn lookup(&self, task: &Task, prompt: &[Token]) -> Option<Lookup> {
        let asks = matches!(task, Task::Generate { request, .. } if request.lookup);
        (asks && self.limits.undo >= GUESSED_MIN).then(|| Lookup::new(prompt))
    }

    /// Evaluates the last token of slot `index` with a guess behind it and takes the tokens that follow, up to the
    /// first that was guessed wrong. False if there was no guess.
    pub(super) fn verify(&mut self, index: usize) -> bool {
        let Some(rows) = self.guessed(index) else { return false };
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
            let logits = self.decoder.logits(number).to_vec();
            self.take_token(index, logits);
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

    /// The last token of slot `index` and a guess behind it: as many rows as the call, the context and the request
    /// leave.
    fn guessed(&self, index: usize) -> Option<Vec<Row>> {
        let occupied = &self.slots[index];
        let active = occupied.active.as_ref()?;
        let (Progress::Decode { generated, lookup: Some(lookup), .. }, Task::Generate { request, .. }) =
            (&active.progress, &active.job.task)
        else {
            return None;
        };
        let held = occupied.slot.tokens.len();
        let rows = self.limits.undo.saturating_add(1).min(self.limits.outputs).min(ROWS);
        let room = (self.limits.context - held).min(request.max_tokens - generated.len()).min(rows);
        let guess = lookup.guess(room.saturating_sub(1));
        let last = *generated.last()?;
        if guess.is_empty() {
            return None;
        }
        let row = |(offset, token)| Row { sequence: index, position: held + offset, token, logits: true };
        Some(std::iter::once(last).chain(guess.iter().copied()).enumerate().map(row).collect())
    }
}
