//! What a request and a failed check say of values: numbers, quoted texts, and how what came out differs from what was expected.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

/// Most values of one sort.
const VALUES_MAX: usize = 6;
/// Most quoted texts of a failure that are compared with each other.
const PAIRS_MAX: usize = 8;

/// Values that are spoken of.
#[derive(Clone, Debug, Default)]
pub struct Clues {
    numbers: Vec<String>,
    texts: Vec<String>,
    /// A character that came out and was not expected, with one that was expected and did not come out.
    swaps: Vec<(char, char)>,
    words: HashSet<String>,
}

impl Clues {
    pub fn of(request: &str, failure: &str) -> Clues {
        static NUMBER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b\d{1,6}").expect("a pattern"));
        static QUOTED: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r#""([^"\n]{1,80})"|'([^'\n]{1,80})'|`([^`\n]{1,80})`"#).expect("a pattern"));
        let quoted = |text: &str| -> Vec<String> {
            let found = QUOTED.captures_iter(text).filter_map(|one| one.iter().skip(1).flatten().next());
            found.map(|one| one.as_str().to_owned()).collect()
        };
        let mut numbers: Vec<String> = Vec::new();
        for number in NUMBER.find_iter(request).map(|one| one.as_str().to_owned()) {
            if !numbers.contains(&number) && numbers.len() < VALUES_MAX {
                numbers.push(number);
            }
        }
        let mut texts = quoted(request);
        texts.truncate(VALUES_MAX);
        let mut swaps = Vec::new();
        let values: Vec<String> = quoted(failure).into_iter().chain(texts.iter().cloned()).take(PAIRS_MAX).collect();
        for pair in values.windows(2) {
            let only =
                |one: &str, other: &str| -> Vec<char> { one.chars().filter(|c| !other.contains(*c)).take(2).collect() };
            let (left, right) = (only(&pair[0], &pair[1]), only(&pair[1], &pair[0]));
            // Runners differ in which of the two they print first.
            if let ([one], [other]) = (left.as_slice(), right.as_slice()) {
                swaps.extend([(*one, *other), (*other, *one)]);
            }
        }
        let words = words(&format!("{request} {failure}")).collect();
        Clues { numbers, texts, swaps, words }
    }

    pub(super) fn numbers(&self) -> Vec<String> {
        self.numbers.clone()
    }

    /// Words that a line shares with what is said.
    pub fn shared(&self, line: &str) -> usize {
        words(line).filter(|word| self.words.contains(word)).count()
    }

    /// What may have to stand instead of a literal of text.
    pub(super) fn instead_of(&self, literal: &str) -> Vec<String> {
        let Some((open, inner, close)) = opened(literal) else { return Vec::new() };
        let swapped = self.swaps.iter().filter(|(old, _)| inner.contains(*old));
        let swapped = swapped.map(|(old, new)| inner.replace(*old, &new.to_string()));
        let is_character = literal.starts_with('\'') && inner.chars().count() == 1;
        let said = self.texts.iter().filter(|text| !is_character || text.chars().count() == 1).cloned();
        swapped.chain(said).map(|new| format!("{open}{new}{close}")).collect()
    }

    /// Elements that may be missing from a list that ends with `last`.
    pub(super) fn more_like(&self, last: &str) -> Vec<String> {
        if last.parse::<i64>().is_ok() {
            return self.numbers.clone();
        }
        let Some((open, inner, close)) = opened(last) else { return Vec::new() };
        let of_characters = inner.chars().count() == 1;
        let new = |text: &String| match of_characters {
            true => text.trim().chars().next().filter(|_| text.trim().chars().count() == 1).map(String::from),
            false => Some(text.clone()),
        };
        self.texts.iter().filter_map(new).map(|new| format!("{open}{new}{close}")).collect()
    }
}

/// A literal as its opening mark, its inside and its closing mark.
fn opened(literal: &str) -> Option<(&str, &str, &str)> {
    let start = literal.find(['"', '\'', '`'])?;
    let mark = &literal[start..=start];
    let inner = literal[start + 1..].strip_suffix(mark).filter(|inner| !inner.contains(mark))?;
    Some((&literal[..=start], inner, mark))
}

/// Runs of letters and runs of digits: `12nd` speaks of `nd`.
fn words(text: &str) -> impl Iterator<Item = String> {
    let sort = |c: char| (c.is_alphabetic(), c.is_numeric());
    let runs = text.split(|c: char| !c.is_alphanumeric()).flat_map(move |word| {
        let chars: Vec<char> = word.chars().collect();
        let runs: Vec<String> = chars.chunk_by(|a, b| sort(*a) == sort(*b)).map(|run| run.iter().collect()).collect();
        runs
    });
    runs.filter(|word| word.len() > 1).map(|word| word.to_lowercase())
}
