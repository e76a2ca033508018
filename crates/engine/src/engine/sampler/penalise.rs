//! Lowers the logits of tokens that would repeat recent text.

use std::collections::HashMap;

use super::{Dry, Sampling};
use crate::engine::decoder::Token;
use crate::engine::slot;

/// Number of latest tokens that are penalised and searched for repetitions (llama.cpp's default).
const WINDOW: usize = 64;
/// Maximum DRY penalty: finite, so that a token becomes the last choice but is never forbidden.
const DRY_MOST: f32 = 1e30;

/// Applies all penalties of `sampling` to `logits`. `generated` are the tokens since the prompt,
/// oldest first.
pub fn apply(sampling: &Sampling, logits: &mut [f32], generated: &[Token]) {
    let window = &generated[generated.len().saturating_sub(WINDOW)..];
    if sampling.penalises_tokens() {
        for (token, count) in counts(window) {
            if let Some(logit) = logits.get_mut(token.0 as usize) {
                let penalty = sampling.repetition_penalty;
                *logit = if *logit > 0.0 { *logit / penalty } else { *logit * penalty };
                *logit -= count as f32 * sampling.frequency_penalty + sampling.presence_penalty;
            }
        }
    }
    if let Some(dry) = sampling.active_dry() {
        for (token, length) in repetitions(window, dry.allowed_length) {
            if let Some(logit) = logits.get_mut(token.0 as usize) {
                *logit -= penalty(&dry, length);
            }
        }
    }
}

fn counts(window: &[Token]) -> HashMap<Token, usize> {
    let mut counts = HashMap::new();
    for token in window {
        *counts.entry(*token).or_insert(0) += 1;
    }
    counts
}

fn penalty(dry: &Dry, length: usize) -> f32 {
    // The window is short, so the difference fits into an i32.
    let excess = (length - dry.allowed_length) as i32;
    (dry.multiplier * dry.base.powi(excess)).min(DRY_MOST)
}

/// Tokens that followed an earlier copy of the window's end, each with the length of its longest
/// such copy, which is at least `shortest` and at least 1.
fn repetitions(window: &[Token], shortest: usize) -> HashMap<Token, usize> {
    let backwards: Vec<Token> = window.iter().rev().copied().collect();
    let mut longest = HashMap::new();
    for start in 1..backwards.len() {
        let length = slot::shared(&backwards[start..], &backwards);
        if length >= shortest.max(1) {
            // Read backwards, the token that followed the copy precedes it.
            let known = longest.entry(backwards[start - 1]).or_insert(0);
            *known = length.max(*known);
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token> {
        text.bytes().map(|byte| Token(i32::from(byte))).collect()
    }

    fn check(window: &str, shortest: usize, expected: &[(char, usize)]) {
        let mut found: Vec<(char, usize)> = repetitions(&tokens(window), shortest)
            .into_iter()
            .map(|(token, length)| (char::from(token.0 as u8), length))
            .collect();
        found.sort_unstable();
        assert_eq!(found, expected, "{window}");
    }

    #[test]
    fn dry_finds_the_tokens_that_would_continue_a_repetition() {
        check("abccbcyabc", 1, &[('b', 1), ('c', 3), ('y', 2)]);
        check("abccbcyabc", 2, &[('c', 3), ('y', 2)]);
        check("abcd", 1, &[]);
        check("xxxx", 2, &[('x', 3)]);
        check("", 1, &[]);
    }

    #[test]
    fn counted_penalties_follow_their_formulas() {
        let sampling =
            Sampling { repetition_penalty: 2.0, frequency_penalty: 0.5, presence_penalty: 0.25, ..Sampling::greedy() };
        let mut logits = vec![4.0, -1.0, 3.0];
        apply(&sampling, &mut logits, &[Token(0), Token(1), Token(0)]);
        assert_eq!(logits, [2.0 - 1.25, -2.0 - 0.75, 3.0]);
    }

    #[test]
    fn dry_grows_with_the_repetition_and_stays_finite() {
        let lost = |text: &str| {
            let mut logits = vec![0.0; 128];
            apply(&Sampling { dry: Some(Dry::new(0.8)), ..Sampling::greedy() }, &mut logits, &tokens(text));
            -logits[usize::from(b'a')]
        };
        assert_eq!(lost("abab"), 0.8);
        assert_eq!(lost("ababab"), 0.8 * 1.75 * 1.75);
        assert_eq!(lost("xayb"), 0.0);
        let steep = Dry { base: 10.0, ..Dry::new(10.0) };
        let mut logits = vec![f32::NEG_INFINITY; 128];
        logits[usize::from(b'a')] = 5.0;
        apply(&Sampling { dry: Some(steep), ..Sampling::greedy() }, &mut logits, &tokens(&"a".repeat(WINDOW)));
        assert!(logits[usize::from(b'a')].is_finite());
    }
}
