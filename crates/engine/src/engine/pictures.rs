//! Gives picture vectors negative token numbers, so that prompts with pictures are compared like any others.
//!
//! The same part of the same picture, seen by the same projector, keeps its numbers as long as the
//! program runs, and no other part shares them. So a prefix is reused exactly as far as text and
//! pictures match, both in slots and in copies.

use std::collections::HashMap;
use std::sync::Mutex;

use super::decoder::{Laid, Shown, Token};
use crate::base::lock;
use crate::models::Picture;

/// Maximum number of parts whose numbers are remembered; beyond it, all are forgotten and later
/// prompts get new numbers.
const REMEMBERED_MAX: usize = 1 << 16;

/// A part of a picture, as a projector lays it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Tokens that the family writes around pictures and between their tiles.
    Text(Vec<Token>),
    /// Number of projector vectors.
    Vectors(usize),
}

/// Identifies a part: the projector's own name, the picture's hash, and the part's index.
type Name = (String, [u8; 32], usize);

#[derive(Default)]
struct Numbers {
    known: HashMap<Name, i32>,
    /// Count of numbers assigned so far.
    given: i32,
}

impl Numbers {
    /// The first of `rows` descending numbers; `None` if none are left.
    fn of(&mut self, name: Name, rows: i32) -> Option<i32> {
        if let Some(first) = self.known.get(&name) {
            return Some(*first);
        }
        let given = self.given.checked_add(rows)?;
        if self.known.len() == REMEMBERED_MAX {
            self.known.clear();
        }
        let first = -1 - self.given;
        self.given = given;
        self.known.insert(name, first);
        Some(first)
    }
}

impl Laid {
    /// Adds a picture that `projector` lays out as `parts`.
    pub fn push(&mut self, projector: &str, picture: &Picture, parts: &[Part]) -> Result<(), String> {
        static NUMBERS: Mutex<Option<Numbers>> = Mutex::new(None);
        let mut number = 0;
        for part in parts {
            match part {
                Part::Text(tokens) => self.tokens.extend(tokens),
                Part::Vectors(rows) => {
                    let name = (projector.to_owned(), *picture.hash(), number);
                    let count = i32::try_from(*rows).map_err(|_| format!("a picture of {rows} vectors is too long"))?;
                    let first = lock(&NUMBERS).get_or_insert_default().of(name, count);
                    let first = first.ok_or("no more pictures can be told apart; restart the program")?;
                    self.shown.push(Shown {
                        picture: picture.clone(),
                        part: number,
                        from: self.tokens.len(),
                        rows: *rows,
                    });
                    self.tokens.extend((0..count).map(|row| Token(first - row)));
                    number += 1;
                }
            }
        }
        Ok(())
    }

    /// Moves everything by one position to insert a token at the start.
    pub fn begin_with(&mut self, token: Token) {
        self.tokens.insert(0, token);
        self.shown.iter_mut().for_each(|shown| shown.from += 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::slot::shared;
    use crate::models::picture::tests::fading;

    fn laid(projector: &str, from: [u8; 3], rows: usize) -> Laid {
        let picture = Picture::read("p", fading(8, 8, from)).unwrap();
        let mut laid = Laid { tokens: vec![Token(5)], shown: Vec::new() };
        let parts = [Part::Text(vec![Token(9)]), Part::Vectors(rows), Part::Text(vec![Token(9)]), Part::Vectors(2)];
        laid.push(projector, &picture, &parts).unwrap();
        laid
    }

    #[test]
    fn the_same_image_has_the_same_numbers_and_another_one_none_of_them() {
        let first = laid("eyes", [1, 1, 1], 4);
        assert_eq!(first, laid("eyes", [1, 1, 1], 4));
        let places: Vec<_> = first.shown.iter().map(|shown| (shown.part, shown.from, shown.end())).collect();
        assert_eq!((places, first.tokens.len()), (vec![(0, 2, 6), (1, 7, 9)], 9));
        let pictured =
            |laid: &Laid| -> Vec<Token> { laid.tokens.iter().copied().filter(|token| token.0 < 0).collect() };
        for other in [laid("eyes", [2, 2, 2], 4), laid("other eyes", [1, 1, 1], 4)] {
            assert_eq!(shared(&first.tokens, &other.tokens), 2, "only the text before the picture");
            assert!(pictured(&first).iter().all(|token| !pictured(&other).contains(token)));
        }
    }

    #[test]
    fn numbers_of_images_run_out_instead_of_being_given_twice() {
        let mut numbers = Numbers { given: i32::MAX - 3, ..Numbers::default() };
        let name = |part| ("p".to_owned(), [0; 32], part);
        assert_eq!(numbers.of(name(0), 3), Some(-1 - (i32::MAX - 3)));
        assert_eq!((numbers.of(name(1), 1), numbers.of(name(0), 3)), (None, Some(2 - i32::MAX)));
    }
}
