//! Determines, by comparing logits, whether a prefill call may be made in two parts without
//! changing any bits.
//!
//! If so, a prompt that shares a prefix with an earlier one is computed from where they differ,
//! instead of from the last complete call before that, and calls can be short while another job
//! waits. This depends on the kernels: it works for dense models, where a row's sums do not depend
//! on the other rows, but not for mixtures of experts, whose experts then get different rows.
//! Therefore it is measured, as for slots that share calls (see `sharing`).

use super::decode::same_bits;
use super::prompt::Part;
use super::{DecodeError, Decoder, Worker};
use crate::engine::decoder::Sharing;
use crate::engine::sharing::{Regime, Verdict};
use crate::engine::slot::SPLIT;

impl<D: Decoder> Worker<'_, D> {
    /// Whether the prefill call that ends at position `end` may be made in two parts (see
    /// [`SPLIT`]); always true if bits may change.
    pub(super) fn may_split(&self, end: usize) -> bool {
        let allowed = || self.limits.sharing == Sharing::Wanted || self.splits.on(regime(end)) == Verdict::Proved;
        self.limits.sharing == Sharing::Always || self.limits.cuts_anywhere && allowed()
    }

    /// Where to split the call of slot `index` that ends at `end` for a test; `None` if the result
    /// is known or this call cannot show it.
    pub(super) fn proof_of_splits(&self, index: usize, end: usize) -> Option<usize> {
        let slot = &self.slots[index].slot;
        let from = slot.tokens.len();
        let is_whole = slot.is_exact() && slot.cuts.last().copied().unwrap_or(0) == from;
        let is_open = !self.may_split(end) && self.splits.on(regime(end)) == Verdict::Open;
        // The shortest second part is the most likely to differ.
        let part = from + end.saturating_sub(from + SPLIT) / SPLIT * SPLIT;
        (self.limits.cuts_anywhere && is_open && is_whole && part > from).then_some(part)
    }

    /// Recomputes positions `part` to `end` in a separate call, and returns whether the logits
    /// equal those of the complete call, which must be the latest one. If they do not, or if
    /// stopped, the caller must cut back to `from`.
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
        match self.evaluate(&[Part { index, positions: part..end }], true) {
            Ok(()) => {}
            Err(DecodeError::Stopped) => return Ok(false),
            Err(error) => return Err(error),
        }
        let equal = same_bits(&whole, self.decoder.logits(end - part - 1));
        self.splits.found(regime(end), equal);
        Ok(equal)
    }
}

/// Kernels are chosen by a call's number of rows and by the context length.
fn regime(end: usize) -> Regime {
    Regime { rows: SPLIT, ..Regime::of(&[end]) }
}
