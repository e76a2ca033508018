//! Tracks the contents of one sequence of a model, and computes how much of it a new prompt can reuse.

use std::ops::Range;
use std::sync::Arc;

use super::decoder::Token;

/// A shorter fixed prefix gets no separate calls: recomputing it takes no noticeable time.
pub const FIXED_MIN: usize = 64;

/// A prefill call may be split if its first part is a multiple of this many rows, its second part
/// is at least as long, and splitting was found to change no bits (see `worker/split.rs`). Kernels
/// process rows in groups (ggml 4, AMX tiles 32) and the remaining rows one by one, and use
/// different kernels for calls of few rows (up to 8, measured).
pub const SPLIT: usize = 32;

/// The tokens in one sequence of the decoder, position by position.
#[derive(Clone, Debug, Default)]
pub struct Slot {
    pub tokens: Vec<Token>,
    /// Lengths after each of the prefill calls that computed the start, consecutive from position
    /// 0. Later tokens were computed one by one, or in a call that began elsewhere, and may differ
    /// from a cold run in the last bits.
    pub cuts: Vec<usize>,
    /// Number of tokens at the start that were computed as in a cold run: up to the last of `cuts`,
    /// plus the finished parts of an unfinished call.
    pub exact: usize,
    /// Whether its job generated text. Only then is the slot copied before it is overwritten;
    /// scored prompts are not.
    pub generated: bool,
    /// The worker's clock when this slot last got a job; the smallest value is the least recently
    /// used.
    pub used: u64,
}

impl Slot {
    /// The slot of a sequence restored from a copy.
    pub fn of(tokens: Vec<Token>, cuts: Vec<usize>) -> Slot {
        Slot { exact: cuts.last().copied().unwrap_or(0), tokens, cuts, ..Slot::default() }
    }

    /// Number of tokens at the start of `prompt` that this slot already holds.
    pub fn shared(&self, prompt: &[Token]) -> usize {
        shared(&self.tokens, prompt)
    }

    /// Shortens the slot to `length` tokens. If that is inside a call, only the calls before it
    /// count as exact.
    pub fn truncate(&mut self, length: usize) {
        if length >= self.tokens.len() {
            return;
        }
        self.tokens.truncate(length);
        self.cuts.retain(|cut| *cut <= length);
        self.exact = self.last_cut();
    }

    /// Adds a generated token.
    pub fn push(&mut self, token: Token) {
        self.tokens.push(token);
    }

    /// Adds tokens that were evaluated in one prefill call. `ends` is false for the first part of a
    /// call.
    pub fn extend(&mut self, tokens: impl Iterator<Item = Token>, ends: bool) {
        let from = self.tokens.len();
        self.tokens.extend(tokens);
        let is_whole = from == self.last_cut() || self.tokens.len() - from >= SPLIT;
        if self.exact == from && is_whole {
            self.exact = self.tokens.len();
            if ends {
                self.cuts.push(self.exact);
            }
        }
    }

    /// Whether all its tokens were computed in prefill calls starting at position 0.
    pub fn is_exact(&self) -> bool {
        self.exact == self.tokens.len()
    }

    /// The part that was computed as in a cold run.
    pub fn held(&self) -> Held<'_> {
        Held { cuts: &self.cuts, exact: self.exact }
    }

    fn last_cut(&self) -> usize {
        self.cuts.last().copied().unwrap_or(0)
    }
}

/// Tokens computed in prefill calls starting at position 0: where the calls ended, and the number
/// of tokens, including those of an incomplete call.
#[derive(Clone, Copy, Debug)]
pub struct Held<'a> {
    pub cuts: &'a [usize],
    pub exact: usize,
}

impl Held<'_> {
    /// The end of the last call at or before `most`.
    pub fn last_cut(&self, most: usize) -> usize {
        self.cuts.iter().copied().filter(|cut| *cut <= most).max().unwrap_or(0)
    }
}

/// `rows` rounded down to a multiple of [`SPLIT`].
fn round_down(rows: usize) -> usize {
    rows / SPLIT * SPLIT
}

/// Length of the common prefix of `a` and `b`.
pub fn shared(a: &[Token], b: &[Token]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// How much of a slot's contents a new prompt may reuse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reuse {
    /// Only whole prefill calls from position 0, and part of the next one if calls may be split.
    /// The rest is computed in the same calls as in a cold run, so the generated tokens are the
    /// same.
    #[default]
    Exact,
    /// Everything that matches, including generated tokens: for the next turn of the same
    /// conversation, or if bits may change. Generated tokens were computed one by one instead of in
    /// chunks, so the last bits of the logits may differ from a cold run.
    Continue,
}

/// The calls in which a prompt is evaluated: first its fixed prefix, then the rest, both in chunks,
/// the last of which may be shorter. So in every run a call ends where the fixed prefix ends, and
/// every prompt with that prefix can reuse all of it. A part of a picture is a separate call of any
/// length, and is kept completely or not at all. Does not depend on earlier runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefill {
    /// Number of tokens in the whole prompt.
    prompt: usize,
    /// Tokens of the fixed prefix; 0 if there is none or it is too short for a call.
    fixed: usize,
    /// Maximum number of rows in a call.
    chunk: usize,
    /// Positions of the picture parts, in order.
    pictures: Arc<[Range<usize>]>,
}

impl Prefill {
    pub fn new(prompt: usize, fixed: usize, chunk: usize) -> Prefill {
        let fixed = if fixed < FIXED_MIN { 0 } else { fixed.min(prompt) };
        Prefill { prompt, fixed, chunk: chunk.max(1), pictures: Arc::default() }
    }

    /// The same for a prompt with pictures, all of which come after the fixed prefix.
    pub fn with_pictures(self, pictures: Arc<[Range<usize>]>) -> Prefill {
        let first = pictures.first().map_or(self.prompt, |first| first.start);
        let fixed = if self.fixed > first { 0 } else { self.fixed };
        Prefill { fixed, pictures, ..self }
    }

    /// Tokens of the fixed prefix; 0 if there is none or it is too short for a call.
    pub fn fixed(&self) -> usize {
        self.fixed
    }

    /// The end of the call that begins at `from`, if all earlier calls followed this plan.
    fn cold_end(&self, from: usize) -> usize {
        let (base, end) = if from < self.fixed { (0, self.fixed) } else { (self.fixed, self.prompt) };
        let (base, end) = match self.around(from) {
            Around::In(picture) => return picture.end,
            Around::Between(after, before) => (base.max(after), end.min(before)),
        };
        (base + ((from - base) / self.chunk + 1) * self.chunk).min(end)
    }

    /// The picture at a position, or else the bounds of the text around it.
    fn around(&self, position: usize) -> Around {
        let next = self.pictures.partition_point(|picture| picture.end <= position);
        let after = next.checked_sub(1).map_or(0, |last| self.pictures[last].end);
        match self.pictures.get(next) {
            Some(picture) if picture.start <= position => Around::In(picture.clone()),
            Some(picture) => Around::Between(after, picture.start),
            None => Around::Between(after, self.prompt),
        }
    }

    /// The end of the call that continues `slot`. If the slot is not exact, the result differs from
    /// a cold run anyway, and full chunks need the fewest calls.
    pub fn end(&self, slot: &Slot) -> usize {
        let from = slot.tokens.len();
        match self.around(from) {
            _ if slot.is_exact() => self.cold_end(from),
            Around::In(picture) => picture.end,
            Around::Between(_, end) => (from + self.chunk).min(end),
        }
    }

    /// Where to split the call from `from` to `end` so that its first part has about `rows` rows;
    /// `end` if it cannot be split.
    pub fn part_of(from: usize, end: usize, rows: usize) -> usize {
        let part = from + round_down(rows).max(SPLIT);
        if part + SPLIT <= end { part } else { end }
    }

    /// The ends of the calls of a cold run; the last is the end of the prompt.
    pub fn cuts(&self) -> impl Iterator<Item = usize> {
        let next = move |from: usize| (from < self.prompt).then(|| self.cold_end(from));
        std::iter::successors(next(0), move |&from| next(from))
    }

    /// How many of the `shared` matching tokens to keep. The last token of a prompt is always
    /// evaluated again, because its logits are needed. `splits(end)` returns whether the call that
    /// ends at `end` may be split.
    pub fn reusable(&self, shared: usize, held: Held<'_>, reuse: Reuse, splits: impl Fn(usize) -> bool) -> usize {
        let most = match self.around(shared.min(self.prompt.saturating_sub(1))) {
            Around::In(picture) => picture.start,
            Around::Between(..) => shared.min(self.prompt.saturating_sub(1)),
        };
        if reuse == Reuse::Continue {
            return most;
        }
        let alike = self.cuts().zip(held.cuts).take_while(|(cold, held)| cold == *held && *cold <= most).count();
        let begun = if alike > 0 { held.cuts[alike - 1] } else { 0 };
        // Both the cold run and the slot begin a call here.
        let (here, there) = (self.cold_end(begun), held.cuts.get(alike).copied().unwrap_or(held.exact));
        let part = most.min(there).min(here.saturating_sub(SPLIT)).saturating_sub(begun);
        let is_text = matches!(self.around(begun), Around::Between(..));
        if is_text && splits(here) { begun + round_down(part) } else { begun }
    }
}

/// The location of a prompt position.
enum Around {
    In(Range<usize>),
    /// In text, with the bounds of that text.
    Between(usize, usize),
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tokens(values: std::ops::Range<i32>) -> impl Iterator<Item = Token> {
        values.map(Token)
    }

    fn check(prompt: usize, fixed: usize, chunk: usize, expected: &[usize]) {
        let cuts: Vec<usize> = Prefill::new(prompt, fixed, chunk).cuts().collect();
        assert_eq!(cuts, expected, "{prompt} tokens, {fixed} fixed, chunks of {chunk}");
    }

    #[test]
    fn a_prompt_is_cut_at_the_end_of_its_fixed_beginning_and_every_chunk_from_there() {
        check(700, 0, 256, &[256, 512, 700]);
        check(700, 300, 256, &[256, 300, 556, 700]);
        check(700, 100, 256, &[100, 356, 612, 700]);
        check(700, 512, 256, &[256, 512, 700]);
        check(700, 700, 256, &[256, 512, 700]);
        check(700, 900, 256, &[256, 512, 700]);
        check(700, FIXED_MIN - 1, 256, &[256, 512, 700]);
        check(1, 0, 256, &[1]);
        check(0, 0, 256, &[]);
    }

    fn reusable(prefill: &Prefill, shared: usize, cuts: &[usize], reuse: Reuse, splits: bool) -> usize {
        prefill.reusable(shared, Held { cuts, exact: cuts.last().copied().unwrap_or(0) }, reuse, |_| splits)
    }

    fn check_reuse(prompt: usize, fixed: usize, shared: usize, cuts: &[usize], exact: usize, split: usize) {
        let prefill = Prefill::new(prompt, fixed, 256);
        let what = format!("{shared} of {prompt} tokens, {fixed} fixed, after {cuts:?}");
        assert_eq!(reusable(&prefill, shared, cuts, Reuse::Exact, false), exact, "{what}");
        assert_eq!(reusable(&prefill, shared, cuts, Reuse::Exact, true), split, "{what}, calls may be split");
        assert_eq!(reusable(&prefill, shared, cuts, Reuse::Continue, false), shared.min(prompt.saturating_sub(1)));
    }

    #[test]
    fn exact_reuse_keeps_the_calls_that_a_cold_run_would_make() {
        check_reuse(700, 300, 650, &[256, 300, 556, 650], 556, 556 + 64);
        check_reuse(700, 300, 310, &[256, 300, 556], 300, 300);
        check_reuse(700, 300, 400, &[256, 300, 556], 300, 300 + 96);
        check_reuse(700, 0, 650, &[256, 300, 556], 256, 256 + 32);
        check_reuse(700, 300, 650, &[256, 512, 650], 256, 256);
        check_reuse(700, 300, 290, &[300], 0, 224);
        check_reuse(0, 0, 0, &[], 0, 0);
    }

    #[test]
    fn an_image_is_a_call_of_its_own_and_is_kept_whole() {
        let prefill = Prefill::new(700, 100, 256).with_pictures([120..440, 440..460].into());
        assert_eq!(prefill.cuts().collect::<Vec<_>>(), [100, 120, 440, 460, 700]);
        let cuts = [100, 120, 440, 460, 700];
        for (shared, exact, continued) in
            [(110, 100, 110), (120, 120, 120), (300, 120, 120), (440, 440, 440), (459, 440, 440), (650, 460, 650)]
        {
            assert_eq!(reusable(&prefill, shared, &cuts, Reuse::Exact, false), exact, "{shared}");
            assert_eq!(reusable(&prefill, shared, &cuts, Reuse::Continue, false), continued, "{shared}");
        }
        assert_eq!(reusable(&prefill, 300, &cuts, Reuse::Exact, true), 120, "no part of a picture");
        let mut slot = Slot::default();
        slot.extend(tokens(0..110), true);
        slot.push(Token(7));
        slot.tokens.truncate(110);
        slot.exact = 0;
        assert_eq!(prefill.end(&slot), 120, "text ends where the picture begins");
        slot.tokens.extend(tokens(110..120));
        assert_eq!(prefill.end(&slot), 440);
        let early = Prefill::new(700, 100, 256).with_pictures(std::iter::once(30..60).collect());
        assert_eq!(early.cuts().collect::<Vec<_>>(), [30, 60, 316, 572, 700]);
    }

    #[test]
    fn the_last_token_is_always_evaluated_in_a_call_of_some_length() {
        check_reuse(512, 0, 512, &[256, 512], 256, 480);
        check_reuse(513, 0, 513, &[256, 512, 513], 512, 512);
        check_reuse(520, 0, 515, &[256, 512, 515], 512, 512);
    }

    #[test]
    fn generated_tokens_make_a_slot_inexact_until_they_are_cut() {
        let mut slot = Slot::default();
        slot.extend(tokens(0..256), true);
        slot.extend(tokens(256..300), true);
        slot.push(Token(300));
        assert!(!slot.is_exact());
        let prefill = Prefill::new(900, 300, 256);
        assert_eq!(prefill.end(&slot), 557);
        slot.extend(tokens(301..557), true);
        assert_eq!((slot.tokens.len(), slot.exact, slot.cuts.as_slice()), (557, 300, &[256, 300][..]));
        slot.truncate(300);
        assert!(slot.is_exact());
        assert_eq!(prefill.end(&slot), 556);
        slot.truncate(299);
        assert_eq!((slot.cuts.as_slice(), slot.exact), (&[256][..], 256));
    }

    #[test]
    fn a_call_made_in_two_parts_counts_as_one_call() {
        let (mut slot, prefill) = (Slot::default(), Prefill::new(300, 0, 256));
        assert_eq!((Prefill::part_of(0, 256, 64), Prefill::part_of(192, 256, 64)), (64, 256));
        assert_eq!((Prefill::part_of(192, 256, 1), Prefill::part_of(0, 20, 64)), (224, 20));
        slot.extend(tokens(0..64), false);
        assert_eq!((slot.is_exact(), prefill.end(&slot), slot.cuts.len()), (true, 256, 0));
        slot.extend(tokens(64..256), true);
        assert_eq!((slot.is_exact(), slot.cuts.as_slice()), (true, &[256][..]));
        slot.truncate(96);
        assert_eq!((slot.exact, slot.is_exact()), (0, false));
        // Four rows are too few to count as part of a longer call.
        slot.exact = 96;
        slot.extend(tokens(96..100), true);
        assert_eq!((slot.exact, slot.cuts.len()), (96, 0));
    }

    proptest! {
        #[test]
        fn exact_reuse_leaves_the_calls_of_a_cold_run(
            first in (1usize..500, 0usize..500),
            second in (1usize..500, 0usize..500),
            shared in 0usize..500,
            chunk in 1usize..180,
            splits: bool,
        ) {
            let (before, now) = (Prefill::new(first.0, first.1, chunk), Prefill::new(second.0, second.1, chunk));
            let held: Vec<usize> = before.cuts().collect();
            let cold: Vec<usize> = now.cuts().collect();
            prop_assert_eq!(cold.last(), Some(&second.0));
            prop_assert!(cold.iter().zip([&0].into_iter().chain(&cold)).all(|(end, from)| end > from && end - from <= chunk));
            let kept = reusable(&now, shared.min(first.0).min(second.0), &held, Reuse::Exact, splits);
            prop_assert!(kept < second.0 && kept <= shared);
            let calls = cold.iter().take_while(|cut| **cut <= kept).count();
            prop_assert_eq!(&held[..calls], &cold[..calls]);
            let begun = if calls > 0 { cold[calls - 1] } else { 0 };
            prop_assert!(kept == begun || splits && (kept - begun).is_multiple_of(SPLIT) && kept + SPLIT <= cold[calls]);
            // Kept tokens do not end within the leftover rows at the end of a call.
            prop_assert!(kept == begun || kept - begun <= (held[calls] - begun) / SPLIT * SPLIT);
        }
    }
}
