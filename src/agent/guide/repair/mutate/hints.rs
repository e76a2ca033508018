//! Collects values from a request and a failed check: numbers, quoted texts, differences from an
//! expected text.

use std::collections::HashSet;

use crate::language::{quotations, words};
use crate::request::Text;

/// Maximum number of numbers, and of texts, kept from the request.
const VALUES_MAX: usize = 6;
/// Maximum number of quoted texts that are compared with the next one.
const PAIRS_MAX: usize = 8;

/// Values and words from a request and a failed check.
#[derive(Clone, Debug, Default)]
pub struct RepairHints {
    pub(super) numbers: Vec<String>,
    texts: Vec<String>,
    /// Pairs of a character that occurs only in the actual text and one that occurs only in the
    /// expected text, in both orders.
    swaps: Vec<(char, char)>,
    words: HashSet<String>,
}

impl RepairHints {
    /// Reads the hints from a request and from the output of a failed check.
    pub fn of(request: &Text, failure: &str) -> RepairHints {
        let mut seen = HashSet::new();
        let numbers = request.digits().filter(|one| seen.insert(*one));
        let numbers: Vec<String> = numbers.take(VALUES_MAX).map(str::to_owned).collect();
        let mut texts = request.marked();
        texts.truncate(VALUES_MAX);
        let mut swaps = Vec::new();
        let values: Vec<String> =
            quotations::marked(failure).into_iter().chain(texts.iter().cloned()).take(PAIRS_MAX).collect();
        for pair in values.windows(2) {
            let only =
                |one: &str, other: &str| -> Vec<char> { one.chars().filter(|c| !other.contains(*c)).take(2).collect() };
            let (left, right) = (only(&pair[0], &pair[1]), only(&pair[1], &pair[0]));
            // Test runners differ in which of the two they print first.
            if let ([one], [other]) = (left.as_slice(), right.as_slice()) {
                swaps.extend([(*one, *other), (*other, *one)]);
            }
        }
        let words = request.runs().into_iter().chain(words::runs(failure)).collect();
        RepairHints { numbers, texts, swaps, words }
    }

    /// The number of words in a line that also occur in the request or the failed check.
    pub fn shared(&self, line: &str) -> usize {
        words::runs(line).filter(|word| self.words.contains(word)).count()
    }

    /// Literals that may have been meant instead of a string literal.
    pub(super) fn instead_of(&self, literal: &str) -> Vec<String> {
        let Some((open, inner, close)) = opened(literal) else { return Vec::new() };
        let swapped = self.swaps.iter().filter(|(old, _)| inner.contains(*old));
        let swapped = swapped.map(|(old, new)| inner.replace(*old, &new.to_string()));
        let is_character = literal.starts_with('\'') && inner.chars().count() == 1;
        let quoted = self.texts.iter().filter(|text| !is_character || text.chars().count() == 1).cloned();
        swapped.chain(quoted).map(|new| format!("{open}{new}{close}")).collect()
    }

    /// Elements that may be missing from a list that ends with `last`.
    pub(super) fn more_like(&self, last: &str) -> Vec<String> {
        if last.parse::<i64>().is_ok() {
            return self.numbers.clone();
        }
        let Some((open, inner, close)) = opened(last) else { return Vec::new() };
        let of_characters = inner.chars().count() == 1;
        let new = |text: &String| {
            if of_characters {
                text.trim().chars().next().filter(|_| text.trim().chars().count() == 1).map(String::from)
            } else {
                Some(text.clone())
            }
        };
        self.texts.iter().filter_map(new).map(|new| format!("{open}{new}{close}")).collect()
    }
}

/// Splits a literal into its prefix with the opening mark, its content, and its closing mark.
fn opened(literal: &str) -> Option<(&str, &str, &str)> {
    let start = literal.find(['"', '\'', '`'])?;
    let mark = &literal[start..=start];
    let inner = literal[start + 1..].strip_suffix(mark).filter(|inner| !inner.contains(mark))?;
    Some((&literal[..=start], inner, mark))
}
