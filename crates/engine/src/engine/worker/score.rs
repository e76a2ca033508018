//! Scores continuations of one prefix, one after another.

use super::{Active, DecodeError, Decoder, Progress, Task, Update, Worker};
use crate::engine::decoder::{Row, Token};
use crate::engine::sampler;

impl<D: Decoder> Worker<'_, D> {
    /// Evaluates the next continuation of a scoring job and cuts the sequence back to the end of
    /// its prefix.
    pub(super) fn score_one(&mut self, index: usize) {
        let Some(active) = &self.slots[index].active else { return };
        let (Progress::Score { after, sums }, Task::Score { continuations, .. }) = (&active.progress, &active.job.task)
        else {
            return;
        };
        let continuation = &continuations[sums.len()];
        let base = active.job.prompt.len();
        let cut = continuation.len().min(self.limits.outputs + 1);
        let mut sum = continuation.first().map_or(0.0, |&token| sampler::log_probability(after, token));
        let rows: Vec<Row> = continuation[..cut.saturating_sub(1)]
            .iter()
            .enumerate()
            .map(|(offset, &token)| Row { sequence: index, position: base + offset, token, logits: true })
            .collect();
        let wanted: Vec<Token> = continuation.iter().copied().skip(1).take(rows.len()).collect();
        if !rows.is_empty() {
            match self.decoder.decode(&rows, &|| active.job.is_over()) {
                Ok(()) => {}
                Err(DecodeError::Stopped) => {
                    // The job is over; the worker ends it, with the reason, before the next call.
                    self.cut_back(index, base);
                    return;
                }
                Err(error) => return self.abort(&[index], &error),
            }
            for (row, token) in wanted.into_iter().enumerate() {
                sum += sampler::log_probability(self.decoder.logits(row), token);
            }
            let kept = self.cut_back(index, base);
            if kept < base {
                let reason = format!("only {kept} of {base} positions could be restored after scoring");
                return self.abort(&[index], &DecodeError::Failed { rows: rows.len(), reason });
            }
        }
        if let Some(Active { progress: Progress::Score { sums, .. }, .. }) = &mut self.slots[index].active {
            sums.push(sum);
        }
        self.finish_score_if_done(index);
    }

    /// Sends the scores and ends the job once every continuation is scored.
    pub(super) fn finish_score_if_done(&mut self, index: usize) {
        let done = match &self.slots[index].active {
            Some(Active { progress: Progress::Score { sums, .. }, job, .. }) => {
                matches!(&job.task, Task::Score { continuations, .. } if continuations.len() == sums.len())
            }
            _ => false,
        };
        if !done {
            return;
        }
        if let Some(active) = self.slots[index].active.take() {
            let tally = active.tally();
            if let Progress::Score { sums, .. } = active.progress {
                let _ = active.job.updates.send(Update::Scored { sums, tally });
            }
        }
    }
}
