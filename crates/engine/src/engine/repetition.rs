//! Detects when generated text repeats itself in a loop.

use super::decoder::Token;

/// Maximum length of a detected loop, in tokens: a paragraph of about forty words.
const PERIOD_MAX: usize = 64;
/// Minimum number of rounds that count as a loop.
const ROUNDS: usize = 4;
/// Minimum number of tokens over all rounds of a loop, so that a table row or a few equal numbers
/// are not reported.
const TOKENS_MIN: usize = 32;

/// Watches one generation. Each token costs [`PERIOD_MAX`] comparisons.
#[derive(Clone, Debug)]
pub struct Repetition {
    /// At index `period - 1`: how many consecutive tokens at the end equal the token `period`
    /// positions before them.
    agreeing: Vec<usize>,
}

impl Default for Repetition {
    fn default() -> Repetition {
        Repetition { agreeing: vec![0; PERIOD_MAX] }
    }
}

impl Repetition {
    /// Examines the last token of `generated`; call it once for each new token. True if the text
    /// ends with at least [`ROUNDS`] rounds of the same tokens that contain at least [`TOKENS_MIN`]
    /// tokens in total.
    pub fn push(&mut self, generated: &[Token]) -> bool {
        let Some((last, before)) = generated.split_last() else { return false };
        let mut looping = false;
        for (period, agreeing) in (1..).zip(&mut self.agreeing) {
            let same = before.len().checked_sub(period).is_some_and(|at| before[at] == *last);
            *agreeing = if same { *agreeing + 1 } else { 0 };
            // The first round has no earlier round to match, so its tokens are added here.
            looping |= *agreeing + period >= TOKENS_MIN.max(ROUNDS * period);
        }
        looping
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Checks after how many tokens of `text` (one byte each) the detector reports a loop.
    fn check(text: &str, expected: Option<usize>) {
        assert_eq!(reported_after(text.as_bytes()), expected, "{text}");
    }

    fn reported_after(text: &[u8]) -> Option<usize> {
        let tokens: Vec<Token> = text.iter().map(|&byte| Token(i32::from(byte))).collect();
        let mut repetition = Repetition::default();
        (1..=tokens.len()).find(|&length| repetition.push(&tokens[..length]))
    }

    #[test]
    fn four_repeats_of_at_least_32_tokens_are_reported() {
        check(&"the cat sat on the mat. ".repeat(5), Some(4 * 24));
        check(&format!("Once upon a time {}", "there was a dog. ".repeat(5)), Some(16 + 4 * 17));
        check(&"-".repeat(31), None);
        check(&"-".repeat(40), Some(32));
        check(&"ab".repeat(20), Some(32));
        check("| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |\n| 4 | 5 | 6 |\n| 7 | 8 | 9 |\n", None);
        check(&(0..60).map(|n| format!("entry {n} is blue. ")).collect::<String>(), None);
        check(&"three times the same sentence. ".repeat(3), None);
        let longer: String = (' '..).take(PERIOD_MAX + 1).collect();
        check(&longer.repeat(8), None);
    }

    proptest! {
        #[test]
        fn a_loop_is_reported_exactly_when_the_text_ends_in_one(
            before in "[a-c]{0,30}", round in "[a-c]{1,64}", rounds in 1usize..40
        ) {
            let text = format!("{before}{}", round.repeat(rounds));
            let ends_in_loop = |text: &[u8]| (1..=PERIOD_MAX).any(|period| {
                let length = TOKENS_MIN.max(ROUNDS * period);
                text.len() >= length && text[text.len() - length..].windows(period + 1).all(|w| w[0] == w[period])
            });
            let expected = (1..=text.len()).find(|&length| ends_in_loop(&text.as_bytes()[..length]));
            prop_assert_eq!(reported_after(text.as_bytes()), expected);
        }
    }
}
