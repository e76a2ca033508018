//! Reads a thought up to the mark, the text or the call that ends it.

use super::cursor::{Cursor, Stop};
use super::parse::{self, Opener};
use super::reader::{Piece, Reader, State, Step, half};
use crate::base::OrBug;

impl Reader<'_> {
    /// Drops the word after the mark that opens a thought.
    pub(super) fn label(&mut self, last: bool) -> Step {
        let thoughts = self.notation.thoughts.as_ref().or_bug("only a notation with thoughts gets here");
        let mut cursor = Cursor::new(&self.held, 0, last);
        // Even if the prompt has opened the thought, models of such a family may repeat the mark.
        let may_come_again = !thoughts.label.is_empty() || !self.notation.words.open.trim().is_empty();
        let again = if !may_come_again { Ok(false) } else { cursor.eat(&thoughts.open) };
        match again.and_then(|_| cursor.eat(&thoughts.label)) {
            Err(Stop::More) => return Step::Wait,
            _ => drop(self.held.drain(..cursor.at)),
        }
        self.state = State::Thinking;
        self.has_thought = true;
        Step::Go
    }

    pub(super) fn thinking(&mut self, last: bool) -> Step {
        let thoughts = self.notation.thoughts.as_ref().or_bug("only a notation with thoughts gets here");
        let words = self.notation.words.open.trim();
        let ends = [thoughts.close.as_str(), words];
        let ends = if words.is_empty() { &ends[..1] } else { &ends[..] };
        let cursor = Cursor::new(&self.held, 0, last);
        match cursor.find(ends) {
            Ok((at, number)) => {
                self.give(at, Piece::Thinking);
                if number == 0 {
                    let mut cursor = Cursor::new(&self.held, 0, last);
                    let eaten = cursor.eat(&thoughts.close);
                    debug_assert_eq!(eaten, Ok(true));
                    self.held.drain(..cursor.at);
                }
                self.state = State::Words;
                return Step::Go;
            }
            Err(Stop::More | Stop::Not) => {}
        }
        // A call ends a thought, unless the thought continues and is closed later.
        let own = self.openers.iter().filter(|(_, opener)| matches!(opener, Opener::Own | Opener::Inner));
        let marks: Vec<&str> = own.map(|(mark, _)| mark.as_str()).collect();
        match cursor.find(&marks) {
            Ok((at, number)) if last => {
                let opener =
                    self.openers.iter().find(|(mark, _)| mark == marks[number]).map(|(_, opener)| opener.clone());
                let mut probe = Cursor { at, ..cursor };
                let opener = opener.or_bug("the mark is that of an opener");
                match parse::begin(&mut probe, &self.notation.calls, &opener, self.tools, false) {
                    Ok(_) => {
                        self.give(at, Piece::Thinking);
                        self.state = State::Words;
                        Step::Go
                    }
                    Err(_) => {
                        let first = self.held[at..].chars().next().map_or(0, char::len_utf8);
                        self.give(at + first, Piece::Thinking);
                        Step::Go
                    }
                }
            }
            Ok((at, _)) => {
                self.give(at, Piece::Thinking);
                Step::Wait
            }
            Err(_) if last => {
                self.give(self.held.len(), Piece::Thinking);
                Step::Wait
            }
            Err(_) => {
                let all = || ends.iter().chain(&marks);
                let half = all().map(|mark| half(&self.held, mark)).max().unwrap_or(0);
                // A mark of several words may have begun earlier.
                let begun = all().filter_map(|mark| cursor.begun(mark)).min();
                self.give(begun.unwrap_or(usize::MAX).min(self.held.len() - half), Piece::Thinking);
                Step::Wait
            }
        }
    }
}
