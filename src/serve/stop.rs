//! Cuts a stream of text, with its tokens, before the first of some stop texts, which may come in pieces.

use std::collections::VecDeque;

use super::reply::TokenLogprobs;
use crate::base::half_of;

/// The stop texts of one answer, and the end of its text that may be the beginning of one.
pub struct Stops {
    texts: Vec<String>,
    held: String,
}

impl Stops {
    pub fn new(texts: Vec<String>) -> Stops {
        Stops { texts, held: String::new() }
    }

    /// The text that can no longer be part of a stop text, and the number of the stop text if one has come.
    pub fn push(&mut self, text: &str) -> (String, Option<usize>) {
        self.held.push_str(text);
        let texts = self.texts.iter().enumerate().filter(|(_, stop)| !stop.is_empty());
        let found = texts.filter_map(|(number, stop)| Some((self.held.find(stop.as_str())?, number)));
        if let Some((at, number)) = found.min() {
            self.held.truncate(at);
            return (std::mem::take(&mut self.held), Some(number));
        }
        let kept = self.texts.iter().map(|stop| half_of(&self.held, stop)).max().unwrap_or(0);
        let rest = self.held.split_off(self.held.len() - kept);
        (std::mem::replace(&mut self.held, rest), None)
    }

    pub fn flush(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

/// The tokens of an answer that wait for their text to be passed on, each with the byte of the text at which it begins.
#[derive(Default)]
pub struct Waiting {
    tokens: VecDeque<(usize, TokenLogprobs)>,
    /// Bytes of text that were added, and those of them that were passed on.
    added: usize,
    passed: usize,
}

impl Waiting {
    /// Adds `text` with its tokens. The bytes of these are not always those of the text: marks of thoughts are left out of it.
    pub fn add(&mut self, tokens: Vec<TokenLogprobs>, text: &str) {
        let (mut at, end) = (self.added, self.added + text.len());
        for token in tokens {
            let from = at.min(end);
            at += token.bytes.len();
            self.tokens.push_back((from, token));
        }
        self.added = end;
    }

    /// The tokens that begin in the next `bytes` bytes of the text.
    pub fn pass(&mut self, bytes: usize) -> Vec<TokenLogprobs> {
        self.passed += bytes;
        let begun = self.tokens.iter().take_while(|(from, _)| *from < self.passed).count();
        self.tokens.drain(..begun).map(|(_, token)| token).collect()
    }

    /// All others, at the end of an answer that no stop text has cut.
    pub fn rest(&mut self) -> Vec<TokenLogprobs> {
        self.tokens.drain(..).map(|(_, token)| token).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text that is passed on and its tokens, when each of these pieces comes as one token, and the number of the stop text.
    fn cut(stops: &[&str], pieces: &[&str]) -> (String, String, Option<usize>) {
        let mut state = Stops::new(stops.iter().map(|&stop| stop.to_owned()).collect());
        let (mut waiting, mut all, mut tokens, mut found) = (Waiting::default(), String::new(), Vec::new(), None);
        for piece in pieces {
            let token = TokenLogprobs { bytes: piece.as_bytes().to_vec(), logprob: 0.0, top: Vec::new() };
            waiting.add(vec![token], piece);
            let (text, stopped) = state.push(piece);
            tokens.extend(waiting.pass(text.len()));
            all.push_str(&text);
            found = stopped;
            if found.is_some() {
                break;
            }
        }
        if found.is_none() {
            all.push_str(&state.flush());
            tokens.extend(waiting.rest());
        }
        let words: Vec<_> = tokens.iter().map(|token| String::from_utf8_lossy(&token.bytes)).collect();
        (all, words.join("|"), found)
    }

    #[test]
    fn text_and_tokens_end_before_a_stop_text_that_may_come_in_pieces() {
        for (stops, pieces, text, tokens, found) in [
            (&["\n\n", "END"][..], &["one E", "N", "D two"][..], "one ", "one E", Some(1)),
            (&["END"], &["E", "NE", "ND"], "EN", "E|NE", Some(0)),
            (&["END"], &["one", " ", "E", "N", "D", " two"], "one ", "one| ", Some(0)),
            // Half of the token is in the answer.
            (&["END"], &["one", " E", "ND"], "one ", "one| E", Some(0)),
            (&["END"], &["END"], "", "", Some(0)),
            (&["END", ""], &["an EN", "ough E"], "an ENough E", "an EN|ough E", None),
            // The empty one at the end comes too.
            (&["END"], &["an", " EN", ""], "an EN", "an| EN|", None),
            (&[], &["ü", "ber"], "über", "ü|ber", None),
        ] {
            assert_eq!(cut(stops, pieces), (text.to_owned(), tokens.to_owned(), found), "{stops:?} {pieces:?}");
        }
    }
}
