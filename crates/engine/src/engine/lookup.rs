//! Guesses the next tokens of a text from an earlier place that follows the same tokens.
//!
//! Rewritten code repeats most of the code it replaces. The model verifies a guess in one call, as
//! in prompt lookup decoding (Saxena 2023). Pure: a guess depends only on prompt and answer, so a
//! request gives the same tokens in every run.

use std::collections::HashMap;

use super::decoder::Token;

/// A place is considered if this many tokens before it match the end of the text.
const KEY: usize = 3;
/// Maximum number of places considered per guess, latest first.
const PLACES_MAX: usize = 32;
/// Minimum number of guessed tokens that is worth a call: on a CPU, a call of 16 rows takes as long
/// as four or five single tokens, and one of 8 rows almost as long.
pub const GUESSED_MIN: usize = 8;
/// Minimum number of correct tokens that makes a guess worth its call.
const RIGHT_MIN: usize = 5;
/// How many tokens must match until a guess has been worth its call.
const MATCH_FIRST: usize = 6;
/// Maximum number of tokens that must match after guesses that were not worth their calls.
const MATCH_MAX: usize = 24;

/// Prompt and answer so far, with the places that follow each run of [`KEY`] tokens.
pub struct Lookup {
    tokens: Vec<Token>,
    places: HashMap<[Token; KEY], Vec<usize>>,
    /// How many tokens before a place must currently match the end of the text.
    match_min: usize,
    /// Number of tokens guessed correctly.
    pub right: usize,
}

impl Lookup {
    pub fn new(prompt: &[Token]) -> Lookup {
        let mut lookup = Lookup {
            tokens: Vec::with_capacity(prompt.len()),
            places: HashMap::new(),
            match_min: MATCH_FIRST,
            right: 0,
        };
        prompt.iter().for_each(|token| lookup.push(*token));
        lookup
    }

    /// Adds the next token of the text.
    pub fn push(&mut self, token: Token) {
        self.tokens.push(token);
        if let Some(key) = self.tokens.last_chunk::<KEY>() {
            self.places.entry(*key).or_default().push(self.tokens.len());
        }
    }

    /// The tokens that followed the earlier place whose preceding tokens match the end of the text
    /// best, at most `most`. Empty if too few tokens match, or fewer than [`GUESSED_MIN`] follow or
    /// are allowed.
    pub fn guess(&self, most: usize) -> &[Token] {
        let end = self.tokens.len();
        let Some(places) = self.tokens.last_chunk::<KEY>().and_then(|key| self.places.get(key)) else { return &[] };
        let earlier = places.iter().rev().filter(|place| **place + GUESSED_MIN <= end).take(PLACES_MAX);
        // If several matches are equally long, use the first one found, which is the latest one in
        // the text.
        let best = earlier
            .map(|place| (self.matching(*place), *place))
            .reduce(|best, next| if next.0 > best.0 { next } else { best });
        match best {
            Some((matching, place)) if matching >= self.match_min && most >= GUESSED_MIN => {
                let guess = &self.tokens[place..end.min(place + most)];
                // A model cannot generate picture vectors.
                let words = guess.iter().take_while(|token| token.0 >= 0).count();
                if words >= GUESSED_MIN { &guess[..words] } else { &[] }
            }
            _ => &[],
        }
    }

    /// The last token of the text.
    pub fn last(&self) -> Option<Token> {
        self.tokens.last().copied()
    }

    /// Records how many tokens of a guess were right. If it was not worth its call, the next guess
    /// needs a longer match.
    pub fn settle(&mut self, right: usize) {
        self.match_min = if right >= RIGHT_MIN { KEY } else { (self.match_min * 2).min(MATCH_MAX) };
    }

    /// How many tokens before `place` match the end of the text, counted up to [`MATCH_MAX`].
    fn matching(&self, place: usize) -> usize {
        let backwards = |end: usize| self.tokens[..end].iter().rev();
        backwards(place).zip(backwards(self.tokens.len())).take(MATCH_MAX).take_while(|(a, b)| a == b).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(numbers: impl IntoIterator<Item = i32>) -> Vec<Token> {
        numbers.into_iter().map(Token).collect()
    }

    fn check(prompt: impl IntoIterator<Item = i32>, most: usize, expected: std::ops::Range<i32>) {
        assert_eq!(Lookup::new(&tokens(prompt)).guess(most), tokens(expected));
    }

    #[test]
    fn a_repeated_text_is_guessed_to_continue_as_before() {
        check((0..40).chain(5..11), 15, 11..26);
        check((0..40).chain(5..11), 10, 11..21);
        // Three cases: fewer tokens are allowed than a call is worth; nothing is repeated; the
        // repetition is too close to the end.
        check((0..40).chain(5..11), 7, 0..0);
        check(0..40, 15, 0..0);
        check((0..7).chain(0..6), 15, 0..0);
        check(0..0, 15, 0..0);
        // Of two places, the one with the longer match is used.
        let first = (0..20).chain([100, 101, 102]).chain(20..40);
        let second = (50..70).chain([100, 101, 102]).chain(70..90);
        check(first.chain(second).chain([16, 17, 18, 19, 100, 101, 102]), 15, 20..35);
    }

    #[test]
    fn more_has_to_match_after_wrong_guesses_than_after_right_ones() {
        let mut lookup = Lookup::new(&tokens((0..40).chain(5..11)));
        lookup.settle(1);
        assert!(lookup.guess(15).is_empty());
        (11..17).for_each(|token| lookup.push(Token(token)));
        assert_eq!(lookup.guess(15), tokens(17..32));
        lookup.settle(15);
        (100..110).chain(30..33).for_each(|token| lookup.push(Token(token)));
        assert_eq!(lookup.guess(15), tokens((33..40).chain(5..13)));
    }
}
