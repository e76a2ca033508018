//! Cuts a stream of text before the first of some stop texts, which may come in pieces.

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

    /// What was held back, at the end of the answer.
    pub fn flush(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(stops: &[&str], pieces: &[&str]) -> (String, Option<usize>) {
        let mut state = Stops::new(stops.iter().map(|&stop| stop.to_owned()).collect());
        let mut all = String::new();
        for piece in pieces {
            let (text, stopped) = state.push(piece);
            all.push_str(&text);
            if stopped.is_some() {
                return (all, stopped);
            }
        }
        (all + &state.flush(), None)
    }

    #[test]
    fn text_ends_before_a_stop_text_that_comes_in_pieces() {
        assert_eq!(cut(&["\n\n", "END"], &["one E", "N", "D two"]), ("one ".to_owned(), Some(1)));
        assert_eq!(cut(&["END"], &["E", "NE", "ND"]), ("EN".to_owned(), Some(0)));
    }

    #[test]
    fn text_without_a_stop_text_is_passed_whole() {
        assert_eq!(cut(&["END", ""], &["an EN", "ough E"]), ("an ENough E".to_owned(), None));
        assert_eq!(cut(&[], &["ü", "ber"]), ("über".to_owned(), None));
    }
}
