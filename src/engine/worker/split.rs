//! Finds out, by comparing logits, whether a prefill call may be made in two parts without changing a bit.
//!
//! Where it may, a prompt that begins like an earlier one is computed from the place where they part and not from the
//! last whole call before it, and a call need not be long while somebody waits. Whether it may depends on kernels: it
//! holds for dense models where a row's sums do not depend on the rows beside it, and not for experts, which get other
//! rows. So nothing is taken on trust, as with slots that share calls: see `sharing`.

use super::decode::same_bits;
use super::{DecodeError, Decoder, Worker};
use crate::engine::decoder::Sharing;
use crate::engine::sharing::{Regime, Verdict};
use crate::engine::slot::SPLIT;

impl<D: Decoder> Worker<'_, D> {
    /// Whether the prefill call that ends at position `end` may be made in two parts (see [`SPLIT`]).
    pub(super) fn may_split(&self, end: usize) -> bool {
        self.limits.sharing == Sharing::Always
            || self.limits.cuts_anywhere && self.splits.on(regime(end)) == Verdict::Proved
    }

    /// Where the call of slot `index` that ends at `end` should be split to find out; `None` if that is known, or if
    /// such a call would tell nothing.
    pub(super) fn proof_of_splits(&self, index: usize, end: usize) -> Option<usize> {
        let slot = &self.slots[index].slot;
        let from = slot.tokens.len();
        let is_whole = slot.is_exact() && slot.cuts.last().copied().unwrap_or(0) == from;
        let is_open = self.limits.sharing != Sharing::Always && self.splits.on(regime(end)) == Verdict::Open;
        // The shortest second part is the one most likely to differ.
        let part = from + end.saturating_sub(from + SPLIT) / SPLIT * SPLIT;
        (self.limits.cuts_anywhere && is_open && is_whole && part > from).then_some(part)
    }

    /// Computes positions from `part` to `end` again, in a call of their own. Whether the logits are those of the whole
    /// call, which was the last one; if not, or if the call was stopped, the sequence is to be cut back to its beginning.
    pub(super) fn prove_split(
        &mut self,
        index: usize,
        from: usize,
        part: usize,
        end: usize,
    ) -> Result<bool, DecodeError> {
        let whole = self.decoder.logits(end - from - 1).to_vec();
        if self.decoder.keep(index, part) != part {
            let reason = format!("its sequence could not be cut back to {part} positions");
            return Err(DecodeError::Failed { rows: end - part, reason });
        }
        match self.evaluate(index, part..end, true) {
            Ok(()) => {}
            Err(DecodeError::Stopped) => return Ok(false),
            Err(error) => return Err(error),
        }
        let equal = same_bits(&whole, self.decoder.logits(end - part - 1));
        self.splits.found(regime(end), equal);
        Ok(equal)
    }
}

/// Kernels are chosen by the rows of a call and by the length of what they look back on.
fn regime(end: usize) -> Regime {
    Regime { rows: SPLIT, ..Regime::of(&[end]) }
}
