//! Cuts a stream of text and its tokens before the first of several stop texts, which may arrive in pieces.

use std::collections::VecDeque;

use super::reply::TokenLogprobs;
use crate::base::half_of;

/// The stop texts of an answer, and the part of the answer that has not been passed on yet.
pub struct Stops {
    texts: Vec<String>,
    /// The end of the text, held back because a stop text may begin there.
    held: String,
    /// Tokens, each with the byte offset in the text where it begins.
    tokens: VecDeque<(usize, TokenLogprobs)>,
    /// Number of bytes of text added, and number passed on.
    added: usize,
    passed: usize,
}

impl Stops {
    pub fn new(texts: Vec<String>) -> Stops {
        Stops { texts, held: String::new(), tokens: VecDeque::new(), added: 0, passed: 0 }
    }

    /// The text that can no longer be part of a stop text, the tokens that begin in it, and the
    /// index of the stop text if one has arrived.
    pub fn push(&mut self, text: &str, tokens: Vec<TokenLogprobs>) -> (String, Vec<TokenLogprobs>, Option<usize>) {
        let mut at = self.added;
        self.added += text.len();
        for token in tokens {
            // The text omits marks of thoughts, so the tokens may have more bytes.
            let from = at.min(self.added);
            at += token.bytes.len();
            self.tokens.push_back((from, token));
        }
        self.held.push_str(text);
        let texts = self.texts.iter().enumerate().filter(|(_, stop)| !stop.is_empty());
        let found = texts.filter_map(|(number, stop)| Some((self.held.find(stop.as_str())?, number))).min();
        let kept = match found {
            Some((at, _)) => {
                self.held.truncate(at);
                0
            }
            None => self.texts.iter().map(|stop| half_of(&self.held, stop)).max().unwrap_or(0),
        };
        let rest = self.held.split_off(self.held.len() - kept);
        let text = std::mem::replace(&mut self.held, rest);
        self.passed += text.len();
        let begun = self.tokens.iter().take_while(|(from, _)| *from < self.passed).count();
        let tokens = self.tokens.drain(..begun).map(|(_, token)| token).collect();
        (text, tokens, found.map(|(_, number)| number))
    }

    /// The held-back text, at the end of an answer that no stop text has cut.
    pub fn flush(&mut self) -> (String, Vec<TokenLogprobs>) {
        (std::mem::take(&mut self.held), self.tokens.drain(..).map(|(_, token)| token).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text and tokens passed on when each piece arrives as one token, and the index of the
    /// stop text.
    fn cut(stops: &[&str], pieces: &[&str]) -> (String, String, Option<usize>) {
        let mut state = Stops::new(stops.iter().map(|&stop| stop.to_owned()).collect());
        let (mut all, mut tokens, mut found) = (String::new(), Vec::new(), None);
        for piece in pieces {
            let token = TokenLogprobs { bytes: piece.as_bytes().to_vec(), logprob: 0.0, top: Vec::new() };
            let (text, begun, stopped) = state.push(piece, vec![token]);
            tokens.extend(begun);
            all.push_str(&text);
            found = stopped;
            if found.is_some() {
                break;
            }
        }
        if found.is_none() {
            let (text, rest) = state.flush();
            tokens.extend(rest);
            all.push_str(&text);
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
            // The empty token at the end is passed on too.
            (&["END"], &["an", " EN", ""], "an EN", "an| EN|", None),
            (&[], &["ü", "ber"], "über", "ü|ber", None),
        ] {
            assert_eq!(cut(stops, pieces), (text.to_owned(), tokens.to_owned(), found), "{stops:?} {pieces:?}");
        }
    }
}
