//! What one sequence of a model holds, and how much of it a new prompt can use.

use super::decoder::Token;

/// The tokens that lie in one sequence of the decoder, position by position.
#[derive(Debug, Default)]
pub struct Slot {
    pub tokens: Vec<Token>,
    /// When this slot was last given work; the smallest is the longest unused.
    pub used: u64,
}

impl Slot {
    /// How many tokens at the start of `prompt` this slot holds already.
    pub fn shared(&self, prompt: &[Token]) -> usize {
        self.tokens.iter().zip(prompt).take_while(|(held, wanted)| held == wanted).count()
    }
}

/// How much of what a slot holds a new prompt may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reuse {
    /// Only whole prefill chunks, counted from position 0. The rest is computed in the same chunks as from cold, so
    /// the tokens that follow are those of a cold run.
    #[default]
    Exact,
    /// Everything that matches, generated tokens too: for the next turn of the same conversation. Generated tokens
    /// were computed one by one instead of in chunks, so the last bits of the logits may differ from a cold run.
    Continue,
}

/// The number of tokens to keep of `shared` matching ones, for a prompt of `prompt` tokens and prefill chunks of
/// `chunk`. The last token of a prompt is always evaluated again: its logits are needed.
pub fn reusable(shared: usize, prompt: usize, chunk: usize, reuse: Reuse) -> usize {
    let most = shared.min(prompt.saturating_sub(1));
    match reuse {
        Reuse::Exact => most / chunk * chunk,
        Reuse::Continue => most,
    }
}

/// The end of the prefill chunk that begins at `from`: the next multiple of `chunk`, or the end of the prompt.
pub fn chunk_end(from: usize, prompt: usize, chunk: usize) -> usize {
    ((from / chunk + 1) * chunk).min(prompt)
}

/// The idle slot to give a prompt to: the one that saves most, else the longest unused, so that a preamble that is
/// used again and again survives in its slot.
pub fn best<'a>(idle: impl Iterator<Item = (usize, &'a Slot)>, prompt: &[Token]) -> Option<usize> {
    idle.map(|(index, slot)| (index, slot.shared(prompt), slot.used))
        .max_by(|a, b| a.1.cmp(&b.1).then(b.2.cmp(&a.2)))
        .map(|(index, _, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tokens(values: &[i32]) -> Vec<Token> {
        values.iter().copied().map(Token).collect()
    }

    #[test]
    fn a_prompt_goes_where_its_beginning_lies() {
        let slots = [
            Slot { tokens: tokens(&[1, 2, 3]), used: 5 },
            Slot { tokens: tokens(&[1, 2, 9]), used: 1 },
            Slot { tokens: tokens(&[7]), used: 0 },
        ];
        assert_eq!(best(slots.iter().enumerate(), &tokens(&[1, 2, 3, 4])), Some(0));
        assert_eq!(best(slots.iter().enumerate(), &tokens(&[8])), Some(2));
        assert_eq!(best(std::iter::empty(), &tokens(&[8])), None);
    }

    #[test]
    fn the_last_token_is_always_evaluated() {
        assert_eq!(reusable(10, 10, 4, Reuse::Continue), 9);
        assert_eq!(reusable(10, 10, 4, Reuse::Exact), 8);
        assert_eq!(reusable(0, 0, 4, Reuse::Exact), 0);
    }

    proptest! {
        #[test]
        fn exact_reuse_leaves_the_chunks_of_a_cold_run(shared in 0usize..500, prompt in 1usize..500, chunk in 1usize..70) {
            let cold: Vec<usize> = std::iter::successors(Some(0), |&at| Some(chunk_end(at, prompt, chunk)))
                .take_while(|&at| at < prompt).collect();
            let kept = reusable(shared.min(prompt), prompt, chunk, Reuse::Exact);
            prop_assert!(cold.contains(&kept));
        }
    }
}
