//! Implements `Decoder` on a llama.cpp context: evaluates rows, and cuts back, saves and restores sequences.

use std::sync::Arc;

use super::context::{Context, Part};
use super::{Shape, Weights};
use crate::engine::decoder::{DecodeError, Decoder, Limits, Row, Saved, Stop, Vocabulary};

/// Most checkpoints of one sequence. Those of the 24B model take 480 KiB each, so a full set takes 15 MiB.
pub const MARKS_MAX: usize = 32;

#[derive(Default)]
struct Sequence {
    length: usize,
    /// Rows of its last call; 0 once some of them were taken back.
    fresh: usize,
    /// Checkpoints, each with the length it was taken at, shortest first.
    marks: Vec<(usize, Arc<[u8]>)>,
    /// Whether a call failed midway, so that the next [`Decoder::keep`] must clean up whatever length it asks for.
    torn: bool,
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
        LlamaDecoder { context, limits, checkpoints: weights.needs_checkpoints(), sequences }
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
        self.sequences[sequence].marks.retain(|(length, _)| *length <= wanted);
        Some(wanted)
    }

    /// Restores the latest checkpoint at or before `wanted` and cuts the attention layers to it. `None` if it cannot.
    fn rewind(&mut self, sequence: usize, wanted: usize) -> Option<usize> {
        let marks = &mut self.sequences[sequence].marks;
        marks.retain(|(length, _)| *length <= wanted);
        let (length, state) = marks.last().cloned()?;
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
        let marks = &mut self.sequences[sequence].marks;
        marks.retain(|(earlier, _)| *earlier < length);
        marks.push((length, state.into()));
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
        Some(Saved { length, state, marks: self.sequences[sequence].marks.clone() })
    }

    fn restore(&mut self, sequence: usize, saved: &Saved) -> bool {
        self.clear(sequence);
        let taken = self.context.set_state(sequence, &saved.state, Part::Whole);
        if !taken || self.context.length(sequence) != saved.length {
            self.clear(sequence);
            return false;
        }
        self.sequences[sequence] = Sequence { length: saved.length, marks: saved.marks.clone(), ..Sequence::default() };
        true
    }
}

/// Drops every second checkpoint of the older half once there are too many: going far back then recomputes a few chunks
/// more, never a whole prompt.
fn thin(marks: &mut Vec<(usize, Arc<[u8]>)>) {
    if marks.len() > MARKS_MAX {
        let mut number = 0;
        marks.retain(|_| {
            number += 1;
            number > MARKS_MAX / 2 || number % 2 == 1
        });
    }
}
