//! Notices when generated text goes round in a circle.

use super::decoder::Token;

/// Longest circle looked for, in tokens: a paragraph of some forty words.
const PERIOD_MAX: usize = 64;
/// A circle is one when it has been gone round this often …
const ROUNDS: usize = 4;
/// … and is at least this long in all: a row of a table or a few equal numbers are not yet one.
const TOKENS_MIN: usize = 32;

/// Watches one generation. Each token costs [`PERIOD_MAX`] comparisons.
#[derive(Clone, Debug)]
pub struct Repetition {
    /// At `period - 1`: how many tokens in a row, up to now, were equal to the one `period` before them.
    agreeing: Vec<usize>,
}

impl Default for Repetition {
    fn default() -> Repetition {
        Repetition { agreeing: vec![0; PERIOD_MAX] }
    }
}

impl Repetition {
    /// Looks at the last of `generated`, which must be called with one token more each time. True when the text ends in
    /// at least [`ROUNDS`] rounds of the same tokens that are [`TOKENS_MIN`] together.
    pub fn push(&mut self, generated: &[Token]) -> bool {
        let Some((last, before)) = generated.split_last() else { return false };
        let mut circle = false;
        for (period, agreeing) in (1..).zip(&mut self.agreeing) {
            let same = before.len().checked_sub(period).is_some_and(|at| before[at] == *last);
            *agreeing = if same { *agreeing + 1 } else { 0 };
            // The first round agrees with nothing before it.
            circle |= *agreeing + period >= TOKENS_MIN.max(ROUNDS * period);
        }
        circle
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// After how many tokens of `text` (a byte each) the detector speaks up.
    fn check(text: &str, expected: Option<usize>) {
        assert_eq!(noticed(text.as_bytes()), expected, "{text}");
    }

    fn noticed(text: &[u8]) -> Option<usize> {
        let tokens: Vec<Token> = text.iter().map(|&byte| Token(i32::from(byte))).collect();
        let mut repetition = Repetition::default();
        (1..=tokens.len()).find(|&length| repetition.push(&tokens[..length]))
    }

    #[test]
    fn four_rounds_of_a_sentence_are_a_circle() {
        check(&"the cat sat on the mat. ".repeat(5), Some(4 * 24));
        check(&format!("Once upon a time {}", "there was a dog. ".repeat(5)), Some(16 + 4 * 17));
    }

    #[test]
    fn short_rounds_must_be_many() {
        check(&"-".repeat(31), None);
        check(&"-".repeat(40), Some(32));
        check(&"ab".repeat(20), Some(32));
    }

    #[test]
    fn text_that_goes_on_is_no_circle() {
        check("| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |\n| 4 | 5 | 6 |\n| 7 | 8 | 9 |\n", None);
        check(&(0..60).map(|n| format!("entry {n} is blue. ")).collect::<String>(), None);
        check(&"three times the same sentence. ".repeat(3), None);
        let longer: String = (' '..).take(PERIOD_MAX + 1).collect();
        check(&longer.repeat(8), None);
    }

    proptest! {
        #[test]
        fn what_is_noticed_is_a_circle_and_every_circle_is_noticed(
            before in "[a-c]{0,30}", round in "[a-c]{1,64}", rounds in 1usize..40
        ) {
            let text = format!("{before}{}", round.repeat(rounds));
            let ends_in_circle = |text: &[u8]| (1..=PERIOD_MAX).any(|period| {
                let length = TOKENS_MIN.max(ROUNDS * period);
                text.len() >= length && text[text.len() - length..].windows(period + 1).all(|w| w[0] == w[period])
            });
            let expected = (1..=text.len()).find(|&length| ends_in_circle(&text.as_bytes()[..length]));
            prop_assert_eq!(noticed(text.as_bytes()), expected);
        }
    }
}
