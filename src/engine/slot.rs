//! What one sequence of a model holds, and how much of it a new prompt can use.

use super::decoder::Token;

/// The tokens that lie in one sequence of the decoder, position by position.
#[derive(Debug, Default)]
pub struct Slot {
    pub tokens: Vec<Token>,
    /// How many tokens at the start were computed in whole prefill chunks, one after another from position 0. What
    /// follows them came in a shorter chunk or one by one, and may differ from a cold run in its last bits.
    pub whole_chunks: usize,
    /// Whether its job generated text: worth a copy when it is overwritten, which a scored prompt is not.
    pub generated: bool,
    /// When this slot was last given work; the smallest is the longest unused.
    pub used: u64,
}

impl Slot {
    /// How many tokens at the start of `prompt` this slot holds already.
    pub fn shared(&self, prompt: &[Token]) -> usize {
        shared(&self.tokens, prompt)
    }

    /// Shortens to `length` tokens.
    pub fn truncate(&mut self, length: usize) {
        self.tokens.truncate(length);
        self.whole_chunks = self.whole_chunks.min(length);
    }

    /// Takes in tokens that were evaluated in one prefill call.
    pub fn extend(&mut self, tokens: impl ExactSizeIterator<Item = Token>, chunk: usize) {
        if self.whole_chunks == self.tokens.len() && tokens.len() == chunk {
            self.whole_chunks += chunk;
        }
        self.tokens.extend(tokens);
    }
}

/// Tokens that two texts begin with.
pub fn shared(a: &[Token], b: &[Token]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
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

/// The number of tokens to keep of `shared` matching ones, `whole_chunks` of them computed as a cold run would, for a
/// prompt of `prompt` tokens and prefill chunks of `chunk`. The last token of a prompt is always evaluated again: its
/// logits are needed.
pub fn reusable(shared: usize, whole_chunks: usize, prompt: usize, chunk: usize, reuse: Reuse) -> usize {
    let most = shared.min(prompt.saturating_sub(1));
    match reuse {
        Reuse::Exact => most.min(whole_chunks) / chunk * chunk,
        Reuse::Continue => most,
    }
}

/// The end of the prefill chunk that begins at `from`: the next multiple of `chunk`, or the end of the prompt.
pub fn chunk_end(from: usize, prompt: usize, chunk: usize) -> usize {
    ((from / chunk + 1) * chunk).min(prompt)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tokens(values: &[i32]) -> Vec<Token> {
        values.iter().copied().map(Token).collect()
    }

    #[test]
    fn what_was_not_computed_in_whole_chunks_is_known() {
        let mut slot = Slot::default();
        slot.extend(tokens(&[1, 2, 3, 4]).into_iter(), 4);
        slot.extend(tokens(&[5, 6]).into_iter(), 4);
        slot.extend(tokens(&[7, 8, 9, 10]).into_iter(), 4);
        assert_eq!((slot.tokens.len(), slot.whole_chunks), (10, 4));
        assert_eq!(reusable(10, slot.whole_chunks, 20, 4, Reuse::Exact), 4);
        assert_eq!(reusable(10, slot.whole_chunks, 20, 4, Reuse::Continue), 10);
        slot.truncate(3);
        assert_eq!(slot.whole_chunks, 3);
    }

    #[test]
    fn the_last_token_is_always_evaluated() {
        assert_eq!(reusable(10, 10, 10, 4, Reuse::Continue), 9);
        assert_eq!(reusable(10, 10, 10, 4, Reuse::Exact), 8);
        assert_eq!(reusable(0, 0, 0, 4, Reuse::Exact), 0);
    }

    proptest! {
        #[test]
        fn exact_reuse_leaves_the_chunks_of_a_cold_run(shared in 0usize..500, prompt in 1usize..500, chunk in 1usize..70) {
            let cold: Vec<usize> = std::iter::successors(Some(0), |&at| Some(chunk_end(at, prompt, chunk)))
                .take_while(|&at| at < prompt).collect();
            let kept = reusable(shared.min(prompt), shared, prompt, chunk, Reuse::Exact);
            prop_assert!(cold.contains(&kept));
        }
    }
}
