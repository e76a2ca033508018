//! Implements `Decoder` on a llama.cpp context: evaluates rows, and cuts, saves and restores sequences.

use super::context::{Context, Part};
use super::eye::Seen;
use super::marks::{Mark, spare_the_older, thin};
use super::{Shape, Weights, int};
use crate::budget::cache;
use crate::engine::decoder::{DecodeError, Decoder, Limits, Place, Row, Saved, Shown, Stop, Vocabulary};
use crate::engine::prefix::Spares;

#[derive(Default)]
struct Sequence {
    length: usize,
    /// Rows of its last call; 0 once some of them were undone.
    fresh: usize,
    /// Checkpoints, each with the length at which it was taken, shortest first. The last ones are
    /// the slot's own; older ones are spare.
    marks: Vec<(usize, Mark)>,
    /// Whether a call failed midway, so that the next [`Decoder::keep`] must clean up regardless of
    /// the requested length.
    torn: bool,
    /// The length at which cells outside the window were last dropped; 0 if never.
    settled: usize,
    /// Its pictures whose rows do not take one position each.
    places: Vec<Place>,
}

impl Sequence {
    /// The position of the row after the first `length` rows.
    fn position(&self, length: usize) -> usize {
        let skipped = |place: &Place| if place.from + place.rows <= length { place.rows - place.positions } else { 0 };
        length - self.places.iter().map(skipped).sum::<usize>()
    }

    /// The length that llama.cpp reports after the first `length` rows: the last position plus one.
    /// In a picture with rows and columns, all rows have the position of the first one.
    fn told(&self, length: usize) -> usize {
        match self.places.iter().find(|place| place.from + place.rows == length) {
            Some(place) => self.position(place.from) + 1,
            None => self.position(length),
        }
    }

    /// Removes the pictures that are beyond `length`.
    fn forget_places(&mut self, length: usize) {
        self.places.retain(|place| place.from + place.rows <= length);
    }
}

/// The cells of the layers with a sliding window. llama.cpp would overwrite cells outside the
/// window one by one, in an order that depends on earlier cuts and restores, and the order of the
/// cells affects the last bits of the sums. Therefore a sequence is *settled* before it runs out of
/// cells: its window is saved and restored, and then occupies the first cells in order. Calls
/// settle at the same lengths in every run, so that the same cells hold the same positions.
#[derive(Clone, Copy)]
struct Window {
    tokens: usize,
    /// Number of cells for one sequence: enough for the window and a call.
    cells: usize,
    /// Number of cells outside the window at which a sequence is settled before a call. Only then
    /// can it be copied exactly, and urgent jobs wait for that.
    generated: usize,
}

/// Number of generated tokens after which a sequence is settled, which copies its window twice (8
/// MiB for Gemma 3 270M). On a GPU, copies take longer and tokens less time.
const SETTLED_EVERY: usize = 32;
const SETTLED_EVERY_GPU: usize = 256;

/// Number of consecutive calls for one sequence on a GPU. Switching sequences costs 3.3 ms there
/// (H200, the 24B's shape, 2.7 ms per token): llama.cpp rebuilds its graph, and its CUDA graph is
/// recorded again.
const GPU_CALLS_IN_A_ROW: usize = 16;

/// Numbers per position in models whose positions encode picture rows and columns
/// (`GGML_MROPE_SECTIONS`).
const GRID_BLOCKS: usize = 4;

/// Rows in one part of a prefill call on a CPU: a quarter of a full call, at the cost of a tenth
/// more time per row.
const PART_ROWS: usize = 64;

/// One context of one model.
pub struct LlamaDecoder<'w> {
    context: Context<'w>,
    weights: &'w Weights,
    limits: Limits,
    /// Whether there are recurrent layers, which cannot be cut, only restored.
    recurs: bool,
    /// Layers with a window can be cut back to the length at which they were last settled; to go
    /// further back, they must be restored.
    window: Option<Window>,
    /// Number of checkpoints per sequence in the context's memory.
    own_marks: usize,
    /// Takes further checkpoints.
    spares: Option<Spares>,
    sequences: Vec<Sequence>,
    /// The latest checkpoint, in a reused buffer.
    scratch: Vec<u8>,
}

impl<'w> LlamaDecoder<'w> {
    pub(super) fn new(context: Context<'w>, weights: &'w Weights, shape: &Shape, positions: usize) -> LlamaDecoder<'w> {
        let recurs = weights.recurs();
        let window = weights.window(positions).map(|tokens| Window {
            tokens,
            cells: cache::cells_with(tokens as u64, shape.rows() as u64, positions as u64) as usize,
            generated: if weights.is_on_gpu() { SETTLED_EVERY_GPU } else { SETTLED_EVERY },
        });
        let limits = Limits {
            sequences: shape.slots,
            context: positions,
            chunk: shape.chunk,
            part: if weights.is_on_gpu() { shape.chunk } else { PART_ROWS },
            outputs: shape.outputs(),
            vocabulary: weights.size(),
            sharing: weights.sharing(shape.exact),
            cuts_anywhere: !recurs && window.is_none(),
            calls_in_a_row: if weights.is_on_gpu() { GPU_CALLS_IN_A_ROW } else { 1 },
            undo: if recurs { context.undo_rows() } else { usize::MAX },
        };
        let sequences = (0..shape.slots).map(|_| Sequence::default()).collect();
        let own_marks = weights.own_marks(shape);
        let (spares, scratch) = (None, Vec::new());
        LlamaDecoder { context, weights, limits, recurs, window, own_marks, spares, sequences, scratch }
    }

    /// The same decoder, with `spares` for further checkpoints.
    pub fn with_spares(self, spares: Option<Spares>) -> LlamaDecoder<'w> {
        LlamaDecoder { spares, ..self }
    }

    /// Drops the checkpoints that are gone or beyond `length`.
    fn forget(&mut self, sequence: usize, length: usize) {
        self.sequences[sequence].marks.retain(|(at, mark)| *at <= length && mark.is_there());
    }

    fn clear(&mut self, sequence: usize) -> usize {
        // Removing an entire sequence cannot fail.
        self.context.remove(sequence, 0);
        self.sequences[sequence] = Sequence::default();
        0
    }

    /// Cuts a sequence to `length`. llama.cpp may report success without removing cells, so the
    /// length is checked.
    fn cut(&mut self, sequence: usize, length: usize) -> bool {
        let held = &mut self.sequences[sequence];
        held.forget_places(length);
        let (position, told) = (held.position(length), held.told(length));
        self.context.remove(sequence, position) && self.context.length(sequence) == told
    }

    /// Undoes rows that need no checkpoint: rows of the last call, for which recurrent layers keep
    /// states, and rows since a window was settled. `None` if that is not possible.
    fn undo(&mut self, sequence: usize, wanted: usize) -> Option<usize> {
        let Sequence { length, fresh, torn, settled, .. } = self.sequences[sequence];
        let rows = length - wanted;
        let is_kept = !self.recurs || (!torn && rows < fresh && rows <= self.limits.undo);
        if !is_kept || wanted < settled || !self.cut(sequence, wanted) {
            return None;
        }
        self.forget(sequence, wanted);
        Some(wanted)
    }

    /// Restores the latest checkpoint at or before `wanted` and cuts the attention layers to the
    /// same length. `None` if that is not possible.
    fn rewind(&mut self, sequence: usize, wanted: usize) -> Option<usize> {
        self.forget(sequence, wanted);
        let (length, mark) = self.sequences[sequence].marks.last().cloned()?;
        let state = mark.state()?;
        let restored = self.context.set_state(sequence, &state, Part::Uncuttable) && self.cut(sequence, length);
        self.sequences[sequence].settled = self.settled_at(length);
        restored.then_some(length)
    }

    fn has_checkpoints(&self) -> bool {
        self.recurs || self.window.is_some()
    }

    /// [`Sequence::settled`] of a sequence whose window was restored at `length`; a window that is
    /// not full has nothing outside it.
    fn settled_at(&self, length: usize) -> usize {
        self.window.map_or(0, |window| if length > window.tokens { length } else { 0 })
    }

    /// Cells that a sequence occupies outside its window.
    fn outside(&self, sequence: usize) -> usize {
        let Sequence { length, settled, .. } = self.sequences[sequence];
        let Some(window) = self.window else { return 0 };
        if settled == 0 { length.saturating_sub(window.tokens) } else { length - settled }
    }

    /// Settles a sequence if a call of `rows` rows would otherwise have no room, or if enough has
    /// been generated. False if llama.cpp fails.
    fn make_room(&mut self, sequence: usize, rows: usize) -> bool {
        let (Some(window), outside) = (self.window, self.outside(sequence)) else { return true };
        if outside < window.generated && window.tokens + outside + rows <= window.cells {
            return true;
        }
        self.context.state_into(sequence, Part::Uncuttable, &mut self.scratch) && self.settle(sequence)
    }

    /// Replaces the window with its copy in `scratch`, if there are cells outside it. False if
    /// llama.cpp fails; the sequence is then empty.
    fn settle(&mut self, sequence: usize) -> bool {
        if self.outside(sequence) == 0 {
            return true;
        }
        let length = self.sequences[sequence].length;
        let restored = self.context.set_state(sequence, &self.scratch, Part::Uncuttable);
        if !restored || self.context.length(sequence) != self.sequences[sequence].told(length) {
            self.clear(sequence);
            return false;
        }
        self.sequences[sequence].settled = length;
        true
    }
}

impl LlamaDecoder<'_> {
    /// Evaluates the vectors of a picture part in calls of the maximum size; returns the index of
    /// the last row in the last call.
    fn read_vectors(
        &mut self,
        sequence: usize,
        shown: &Shown,
        seen: &Seen,
        wanted: bool,
        stop: Stop<'_>,
    ) -> Result<usize, DecodeError> {
        let begin = self.sequences[sequence].position(shown.from);
        let mut last = 0;
        for from in (0..shown.rows).step_by(self.limits.chunk) {
            let rows = if seen.whole { shown.rows } else { self.limits.chunk.min(shown.rows - from) };
            if !self.make_room(sequence, rows) {
                let reason = "the window of a sequence could not be restored".to_owned();
                return Err(DecodeError::Failed { rows, reason });
            }
            let place = |row: usize, block: usize| match &seen.grid {
                Some(grid) => int(begin) + grid[row][block],
                None => int(begin + row),
            };
            let blocks = if seen.grid.is_some() { GRID_BLOCKS } else { 1 };
            let mut positions: Vec<i32> = (0..blocks)
                .flat_map(|block| (from..from + rows).map(move |row| (row, block)))
                .map(|(row, block)| place(row, block))
                .collect();
            let vectors = &seen.vectors[from * seen.width..(from + rows) * seen.width];
            let wanted = wanted && from + rows == shown.rows;
            self.context.decode_vectors(sequence, vectors, &mut positions, rows, wanted, stop)?;
            self.sequences[sequence].length = shown.from + from + rows;
            last = rows - 1;
            if seen.whole {
                break;
            }
        }
        Ok(last)
    }
}

impl Decoder for LlamaDecoder<'_> {
    fn limits(&self) -> Limits {
        self.limits
    }

    fn decode(&mut self, rows: &[Row], stop: Stop<'_>) -> Result<(), DecodeError> {
        for of_one in rows.chunk_by(|one, next| one.sequence == next.sequence) {
            if !self.make_room(of_one[0].sequence, of_one.len()) {
                let reason = "the window of a sequence could not be restored".to_owned();
                return Err(DecodeError::Failed { rows: rows.len(), reason });
            }
        }
        let placed: Vec<Row>;
        let placed = match self.sequences.iter().all(|sequence| sequence.places.is_empty()) {
            true => rows,
            false => {
                let place = |row: &Row| Row { position: self.sequences[row.sequence].position(row.position), ..*row };
                placed = rows.iter().map(place).collect();
                placed.as_slice()
            }
        };
        if let Err(error) = self.context.decode(placed, stop) {
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

    fn see(&mut self, sequence: usize, shown: &Shown, wanted: bool, stop: Stop<'_>) -> Result<usize, DecodeError> {
        let failed = |reason: String| DecodeError::Failed { rows: shown.rows, reason };
        if stop() {
            return Err(DecodeError::Stopped);
        }
        let eye = self.weights.eye().ok_or_else(|| failed("it has no projector in memory".to_owned()))?;
        let seen = eye.see(shown)?;
        let most = self.context.rows_max();
        if seen.whole && shown.rows > most {
            let name = shown.picture.name();
            return Err(failed(format!("{name} must be read in one call, of at most {most} rows")));
        }
        // Even a stopped call may have left cells behind.
        self.sequences[sequence].torn = true;
        self.context.set_causal(!seen.whole);
        let read = self.read_vectors(sequence, shown, &seen, wanted, stop);
        self.context.set_causal(true);
        let row = read?;
        let held = &mut self.sequences[sequence];
        (held.length, held.fresh, held.torn) = (shown.end(), 0, false);
        if seen.grid.is_some() {
            held.places.push(Place { from: shown.from, rows: shown.rows, positions: seen.positions });
        }
        Ok(row)
    }

    fn logits(&self, row: usize) -> &[f32] {
        self.context.logits(row)
    }

    fn mark(&mut self, sequence: usize) {
        if !self.has_checkpoints() || !self.context.state_into(sequence, Part::Uncuttable, &mut self.scratch) {
            return;
        }
        let length = self.sequences[sequence].length;
        self.forget(sequence, length.saturating_sub(1));
        let marks = &mut self.sequences[sequence].marks;
        spare_the_older(marks, self.own_marks.saturating_sub(1), self.spares.as_ref());
        marks.push((length, Mark::Own(self.scratch.as_slice().into())));
        thin(marks);
        // If it fails, the sequence is empty, and the next call fails because its rows do not continue it.
        self.settle(sequence);
    }

    fn copies_exactly(&self, sequence: usize) -> bool {
        let outside = self.outside(sequence);
        // The next call would settle it, as copying and restoring do.
        outside == 0 || self.window.is_some_and(|window| outside >= window.generated)
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
        let kept = if self.has_checkpoints() {
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
        let mut state = Vec::new();
        if !self.context.state_into(sequence, Part::Whole, &mut state) {
            return None;
        }
        // Spare checkpoints are not copied, so that a copy takes no more than a slot's share.
        let own = self.sequences[sequence].marks.iter().filter_map(|(length, mark)| match mark {
            Mark::Own(state) => Some((*length, state.clone())),
            Mark::Spare(_) => None,
        });
        let places = self.sequences[sequence].places.clone();
        Some(Saved { length, state: state.into(), marks: own.collect(), places })
    }

    fn restore(&mut self, sequence: usize, saved: &Saved) -> bool {
        self.clear(sequence);
        let taken = self.context.set_state(sequence, &saved.state, Part::Whole);
        let places = saved.places.clone();
        let told = Sequence { places: places.clone(), ..Sequence::default() }.told(saved.length);
        if !taken || self.context.length(sequence) != told {
            self.clear(sequence);
            return false;
        }
        let marks = saved.marks.iter().map(|(length, state)| (*length, Mark::Own(state.clone()))).collect();
        let (length, settled) = (saved.length, self.settled_at(saved.length));
        self.sequences[sequence] = Sequence { length, marks, settled, places, ..Sequence::default() };
        true
    }
}
