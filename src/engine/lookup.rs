//! Guesses how a text goes on from where its last tokens stood before: written code repeats most of what it replaces.
//!
//! A guess is verified by the model in one call, as in prompt lookup decoding (Saxena 2023). Pure, and a function of
//! prompt and answer alone, so that a request gives the same tokens in every run.

use std::collections::HashMap;

use super::decoder::Token;

/// Tokens at the end of the text that have to stand at a place for it to be looked at.
const KEY: usize = 3;
/// Places looked at for one guess, the latest first.
const PLACES_MAX: usize = 32;
/// Fewest tokens worth a call: one of 16 rows takes as long as four or five single tokens on a processor, one of 8
/// hardly less.
pub const GUESSED_MIN: usize = 8;
/// As many right ones as this and the guess has paid.
const PAID: usize = 5;
/// Tokens that are asked to match before any guess has paid.
const MATCH_FIRST: usize = 6;
/// Most tokens that are asked to match after guesses that did not pay.
const MATCH_MAX: usize = 24;

/// Prompt and answer so far, with every place where three tokens stand.
pub struct Lookup {
    tokens: Vec<Token>,
    places: HashMap<[Token; KEY], Vec<usize>>,
    /// Tokens before a place that must be those at the end of the text.
    asked: usize,
    /// Tokens that were guessed right.
    pub right: usize,
}

impl Lookup {
    pub fn new(prompt: &[Token]) -> Lookup {
        let mut lookup =
            Lookup { tokens: Vec::with_capacity(prompt.len()), places: HashMap::new(), asked: MATCH_FIRST, right: 0 };
        prompt.iter().for_each(|token| lookup.push(*token));
        lookup
    }

    /// Takes in the next token of the text.
    pub fn push(&mut self, token: Token) {
        self.tokens.push(token);
        if let Some(key) = self.tokens.last_chunk::<KEY>() {
            self.places.entry(*key).or_default().push(self.tokens.len());
        }
    }

    /// What followed the place that has most tokens before it in common with the end of the text, at most `most`
    /// tokens; nothing where too few match, or too few follow.
    pub fn guess(&self, most: usize) -> &[Token] {
        let end = self.tokens.len();
        let Some(places) = self.tokens.last_chunk::<KEY>().and_then(|key| self.places.get(key)) else { return &[] };
        let earlier = places.iter().rev().filter(|place| **place + GUESSED_MIN <= end).take(PLACES_MAX);
        // The latest of those that match alike: the first that is met.
        let best = earlier
            .map(|place| (self.matching(*place), *place))
            .reduce(|best, next| if next.0 > best.0 { next } else { best });
        match best {
            Some((matching, place)) if matching >= self.asked && most >= GUESSED_MIN => {
                &self.tokens[place..end.min(place + most)]
            }
            _ => &[],
        }
    }

    /// The last token of the text.
    pub fn last(&self) -> Option<Token> {
        self.tokens.last().copied()
    }

    /// Says how many tokens of a guess were right: after one that did not pay more have to match.
    pub fn settle(&mut self, right: usize) {
        self.asked = if right >= PAID { KEY } else { (self.asked * 2).min(MATCH_MAX) };
    }

    /// Tokens before `place` that are those at the end of the text, counted up to the most that are ever asked for.
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

    fn after(prompt: Vec<Token>) -> Lookup {
        Lookup::new(&prompt)
    }

    #[test]
    fn a_text_that_repeats_goes_on_as_it_did() {
        let lookup = after(tokens((0..40).chain(5..11)));
        assert_eq!(lookup.guess(15), tokens(11..26));
        assert_eq!(lookup.guess(10), tokens(11..21));
    }

    #[test]
    fn of_several_places_the_one_with_most_in_common_counts() {
        let first = (0..20).chain([100, 101, 102]).chain(20..40);
        let second = (50..70).chain([100, 101, 102]).chain(70..90);
        let lookup = after(tokens(first.chain(second).chain([16, 17, 18, 19, 100, 101, 102])));
        assert_eq!(lookup.guess(15), tokens(20..35));
    }

    #[test]
    fn new_text_and_places_near_the_end_give_nothing() {
        assert!(after(tokens(0..40)).guess(15).is_empty());
        assert!(after(tokens((0..7).chain(0..6))).guess(15).is_empty());
        assert!(after(Vec::new()).guess(15).is_empty());
        assert!(after(tokens((0..40).chain(5..11))).guess(7).is_empty());
    }

    #[test]
    fn more_has_to_match_after_wrong_guesses_than_after_right_ones() {
        let mut lookup = after(tokens((0..40).chain(5..11)));
        lookup.settle(1);
        assert!(lookup.guess(15).is_empty());
        (11..17).for_each(|token| lookup.push(Token(token)));
        assert_eq!(lookup.guess(15), tokens(17..32));
        lookup.settle(15);
        (100..110).chain(30..33).for_each(|token| lookup.push(Token(token)));
        assert_eq!(lookup.guess(15), tokens((33..40).chain(5..13)));
    }
}
