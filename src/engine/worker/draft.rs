//! Several tokens of one slot in a call: guessed from the text, taken as far as the model itself chooses them.

use super::{Decoder, Progress, Task, Worker};
use crate::engine::decoder::{Row, Token};
use crate::engine::lookup::Lookup;

/// Rows of a call that verifies: kernels on processors take that many at half the price of eight, a row each.
const ROWS: usize = 16;

impl<D: Decoder> Worker<'_, D> {
    /// What guesses for the job of `prompt`, if it asks for that and rejected rows can be taken back.
    pub(super) fn lookup(&self, task: &Task, prompt: &[Token]) -> Option<Lookup> {
        let asks = matches!(task, Task::Generate { request, .. } if request.lookup);
        (asks && self.limits.cuts_anywhere).then(|| Lookup::new(prompt))
    }

    /// Evaluates the last token of slot `index` with a guess behind it and takes the tokens that follow, up to the
    /// first that was guessed wrong. False if there was no guess.
    pub(super) fn verify(&mut self, index: usize) -> bool {
        let Some((guess, rows)) = self.guessed(index) else { return false };
        let held = self.slots[index].slot.tokens.len();
        if let Err(error) = self.decoder.decode(&rows, &|| false) {
            self.abort(&[index], &error);
            return true;
        }
        let mut right = 0;
        for (number, row) in rows.iter().enumerate() {
            self.slots[index].slot.push(row.token);
            let logits = self.decoder.logits(number).to_vec();
            self.take_token(index, logits);
            if self.slots[index].generated().and_then(<[Token]>::last) != guess.get(number) {
                break;
            }
            right += usize::from(number < guess.len());
        }
        self.cut_back(index, self.slots[index].slot.tokens.len().min(held + rows.len()));
        if let Some(Progress::Decode { lookup: Some(lookup), .. }) =
            self.slots[index].active.as_mut().map(|active| &mut active.progress)
        {
            lookup.settle(right);
        }
        true
    }

    /// A guess for slot `index` and the rows that verify it: as many as the call, the context and the request leave.
    fn guessed(&self, index: usize) -> Option<(Vec<Token>, Vec<Row>)> {
        let occupied = &self.slots[index];
        let active = occupied.active.as_ref()?;
        let (Progress::Decode { generated, lookup: Some(lookup), .. }, Task::Generate { request, .. }) =
            (&active.progress, &active.job.task)
        else {
            return None;
        };
        let held = occupied.slot.tokens.len();
        let room =
            (self.limits.context - held).min(request.max_tokens - generated.len()).min(self.limits.outputs).min(ROWS);
        let guess = lookup.guess(room.saturating_sub(1)).to_vec();
        let last = *generated.last()?;
        if guess.is_empty() {
            return None;
        }
        let row = |(offset, token)| Row { sequence: index, position: held + offset, token, logits: true };
        let rows = std::iter::once(last).chain(guess.iter().copied()).enumerate().map(row).collect();
        Some((guess, rows))
    }
}
