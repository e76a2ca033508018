//! Implements `Decoder` on a llama.cpp context: evaluates rows, and cuts back, saves and restores sequences.

use std::sync::Arc;

use super::context::{Context, Part};
use super::{Shape, Weights};
use crate::engine::decoder::{DecodeError, Decoder, Limits, Row, Saved, Stop, Vocabulary};
use crate::engine::prefix::{Spare, Spares};

/// Maximum number of checkpoints of one sequence.
const MARKS_MAX: usize = 32;

#[derive(Default)]
struct Sequence {
    length: usize,
    /// Rows of its last call; 0 once some of them were taken back.
    fresh: usize,
    /// Checkpoints, each with the length it was taken at, shortest first. The last ones are the slot's own, older ones are spare.
    marks: Vec<(usize, Mark)>,
    /// Whether a call failed midway, so that the next [`Decoder::keep`] must clean up whatever length it asks for.
    torn: bool,
}

/// A checkpoint of the layers that cannot be cut.
#[derive(Clone)]
enum Mark {
    /// In the slot's share of the context's memory.
    Own(Arc<[u8]>),
    /// Dropped when something else needs its memory.
    Spare(Spare),
}

impl Mark {
    fn state(&self) -> Option<Arc<[u8]>> {
        match self {
            Mark::Own(state) => Some(state.clone()),
            Mark::Spare(spare) => spare.state(),
        }
    }

    fn is_there(&self) -> bool {
        match self {
            Mark::Own(_) => true,
            Mark::Spare(spare) => spare.is_there(),
        }
    }
}

/// Calls for one sequence in a row on a GPU. There a change of sequence costs 3.3 ms (H200, the 24B's shape, 2.7 ms a token): llama.cpp
/// builds its graph anew, and the CUDA graph of it is recorded again.
const GPU_CALLS_IN_A_ROW: usize = 16;

/// One context of one model.
pub struct LlamaDecoder<'w> {
    context: Context<'w>,
    limits: Limits,
    /// Whether sequences go back by checkpoints, because recurrent layers cannot be cut, only restored.
    checkpoints: bool,
    /// How many checkpoints of a sequence are in the memory of the context.
    own_marks: usize,
    /// Takes further checkpoints.
    spares: Option<Spares>,
    sequences: Vec<Sequence>,
}

impl<'w> LlamaDecoder<'w> {
    pub(super) fn new(context: Context<'w>, weights: &Weights, shape: &Shape, positions: usize) -> LlamaDecoder<'w> {
        let limits = Limits {
            sequences: shape.slots,
            context: positions,
            chunk: shape.chunk,
            outputs: shape.outputs(),
            vocabulary: weights.size(),
            sharing: weights.sharing(shape.share),
            cuts_anywhere: !weights.needs_checkpoints(),
            calls_in_a_row: if weights.is_on_gpu() { GPU_CALLS_IN_A_ROW } else { 1 },
            undo: if weights.needs_checkpoints() { context.undo_rows() } else { usize::MAX },
        };
        let sequences = (0..shape.slots).map(|_| Sequence::default()).collect();
        let (checkpoints, own_marks) = (weights.needs_checkpoints(), weights.own_marks());
        LlamaDecoder { context, limits, checkpoints, own_marks, spares: None, sequences }
    }

    /// The same, with further checkpoints in `spares`.
    pub fn with_spares(self, spares: Option<Spares>) -> LlamaDecoder<'w> {
        LlamaDecoder { spares, ..self }
    }

    /// Drops the checkpoints that are gone or beyond `length`.
    fn forget(&mut self, sequence: usize, length: usize) {
        self.sequences[sequence].marks.retain(|(at, mark)| *at <= length && mark.is_there());
    }

    fn clear(&mut self, sequence: usize) -> usize {
        // Removing a whole sequence cannot fail.
        self.context.remove(sequence, 0);
        self.sequences[sequence] = Sequence::default();
        0
    }

    /// Cuts a sequence to `length`. llama.cpp may report success without removing cells, so the length is checked.
    fn cut(&mut self, sequence: usize, length: usize) -> bool {
        self.context.remove(sequence, length) && self.context.length(sequence) == length
    }

    /// Takes back rows of the last call, using the states that recurrent layers keep for them. `None` if it cannot.
    fn undo(&mut self, sequence: usize, wanted: usize) -> Option<usize> {
        let Sequence { length, fresh, torn, .. } = self.sequences[sequence];
        let rows = length - wanted;
        if torn || rows >= fresh || rows > self.limits.undo || !self.cut(sequence, wanted) {
            return None;
        }
        self.forget(sequence, wanted);
        Some(wanted)
    }

    /// Restores the latest checkpoint at or before `wanted` and cuts the attention layers to it. `None` if it cannot.
    fn rewind(&mut self, sequence: usize, wanted: usize) -> Option<usize> {
        self.forget(sequence, wanted);
        let (length, mark) = self.sequences[sequence].marks.last().cloned()?;
        let state = mark.state()?;
        let restored = self.context.set_state(sequence, &state, Part::Uncuttable) && self.cut(sequence, length);
        restored.then_some(length)
    }
}

impl Decoder for LlamaDecoder<'_> {
    fn limits(&self) -> Limits {
        self.limits
    }

    fn decode(&mut self, rows: &[Row], stop: Stop<'_>) -> Result<(), DecodeError> {
        if let Err(error) = self.context.decode(rows, stop) {
            rows.iter().for_each(|row| self.sequences[row.sequence].torn = true);
            return Err(error);
        }
        rows.iter().for_each(|row| self.sequences[row.sequence].fresh = 0);
        for row in rows {
            let sequence = &mut self.sequences[row.sequence];
            (sequence.length, sequence.fresh) = (row.position + 1, sequence.fresh + 1);
        }
        Ok(())
    }

    fn logits(&self, row: usize) -> &[f32] {
        self.context.logits(row)
    }

    fn mark(&mut self, sequence: usize) {
        if !self.checkpoints {
            return;
        }
        let length = self.sequences[sequence].length;
        let Some(state) = self.context.state(sequence, Part::Uncuttable) else { return };
        self.forget(sequence, length.saturating_sub(1));
        let marks = &mut self.sequences[sequence].marks;
        marks.push((length, Mark::Own(state.into())));
        spare_the_older(marks, self.own_marks, self.spares.as_ref());
        thin(marks);
    }

    fn keep(&mut self, sequence: usize, wanted: usize) -> usize {
        let Sequence { length, torn, .. } = self.sequences[sequence];
        if wanted >= length && !torn {
            return length;
        }
        let wanted = wanted.min(length);
        if wanted == 0 {
            return self.clear(sequence);
        }
        let kept = if self.checkpoints {
            self.undo(sequence, wanted).or_else(|| self.rewind(sequence, wanted))
        } else {
            self.cut(sequence, wanted).then_some(wanted)
        };
        match kept {
            Some(kept) => {
                let sequence = &mut self.sequences[sequence];
                (sequence.length, sequence.fresh, sequence.torn) = (kept, 0, false);
                kept
            }
            None => self.clear(sequence),
        }
    }

    fn save(&mut self, sequence: usize) -> Option<Saved> {
        let Sequence { length, torn, .. } = self.sequences[sequence];
        if length == 0 || torn {
            return None;
        }
        let state = self.context.state(sequence, Part::Whole)?.into();
        // Spare checkpoints are left behind, so that a copy takes no more than a slot's share.
        let own = self.sequences[sequence].marks.iter().filter_map(|(length, mark)| match mark {
            Mark::Own(state) => Some((*length, state.clone())),
            Mark::Spare(_) => None,
        });
        Some(Saved { length, state, marks: own.collect() })
    }

    fn restore(&mut self, sequence: usize, saved: &Saved) -> bool {
        self.clear(sequence);
        let taken = self.context.set_state(sequence, &saved.state, Part::Whole);
        if !taken || self.context.length(sequence) != saved.length {
            self.clear(sequence);
            return false;
        }
        let marks = saved.marks.iter().map(|(length, state)| (*length, Mark::Own(state.clone()))).collect();
        self.sequences[sequence] = Sequence { length: saved.length, marks, ..Sequence::default() };
        true
    }
}

/// Leaves only the last `own` checkpoints in the context's memory; the others become spare if there is room, or go.
fn spare_the_older(marks: &mut Vec<(usize, Mark)>, own: usize, spares: Option<&Spares>) {
    let older = marks.len().saturating_sub(own.max(1));
    let mut number = 0;
    marks.retain_mut(|(_, mark)| {
        number += 1;
        match mark {
            Mark::Own(state) if number <= older => match spares.and_then(|spares| spares.keep(state.clone())) {
                Some(spare) => *mark = Mark::Spare(spare),
                None => return false,
            },
            _ => {}
        }
        true
    });
}

/// Drops every second checkpoint of the older half once there are too many: going far back then recomputes a few chunks
/// more, never a whole prompt.
fn thin(marks: &mut Vec<(usize, Mark)>) {
    if marks.len() > MARKS_MAX {
        let mut number = 0;
        marks.retain(|_| {
            number += 1;
            number > MARKS_MAX / 2 || number % 2 == 1
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Bytes;
    use crate::budget::Ledger;

    fn marks(count: usize) -> Vec<(usize, Mark)> {
        (1..=count).map(|n| (64 * n, Mark::Own(vec![n as u8; 100].into()))).collect()
    }

    fn lengths(marks: &[(usize, Mark)]) -> Vec<usize> {
        marks.iter().map(|(length, _)| *length).collect()
    }

    #[test]
    fn older_checkpoints_become_spare_or_go_and_the_last_ones_stay() {
        let ledger = Ledger::new(Bytes(250));
        let spares = Spares::new(ledger.clone(), Bytes(1000));
        let mut kept = marks(5);
        spare_the_older(&mut kept, 2, Some(&spares));
        assert_eq!(lengths(&kept), [64, 128, 256, 320], "there is room for two spare ones");
        assert_eq!(ledger.promised().host, Bytes(200));
        spares.make_room(Bytes(250));
        let there: Vec<bool> = kept.iter().map(|(_, mark)| mark.is_there()).collect();
        assert_eq!((there, kept[2].1.state()), (vec![false, false, true, true], Some(vec![4; 100].into())));
        let mut alone = marks(5);
        spare_the_older(&mut alone, 2, None);
        assert_eq!(lengths(&alone), [256, 320]);
    }

    #[test]
    fn of_too_many_checkpoints_every_second_of_the_older_half_goes() {
        let mut many = marks(MARKS_MAX + 1);
        thin(&mut many);
        assert_eq!(many.len(), MARKS_MAX + 1 - MARKS_MAX / 4);
        assert_eq!(lengths(&many)[..3], [64, 192, 320]);
    }
}
