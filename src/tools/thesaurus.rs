//! A small English thesaurus for work with computers: adds to a request the synonyms that a tool
//! may use instead.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::index::words;

/// Weight of a synonym; the word itself has weight 1.
const SYNONYM_WEIGHT: f32 = 0.5;

/// Groups of synonyms, one a line; a word may be in several groups.
const GROUPS: &str = include_str!("thesaurus.txt");

/// The stems of a text's words, without words that say nothing about a tool.
pub fn terms(text: &str) -> Vec<String> {
    let tells = |word: &String| !words::is_stop_word(word) && !words::is_polite(word);
    words::parts(text).into_iter().filter(tells).map(|word| words::root(&word)).collect()
}

/// The terms of a step with weight 1, and their synonyms with [`SYNONYM_WEIGHT`].
pub fn expand(step: &str) -> HashMap<String, f32> {
    let mut query = HashMap::new();
    let mut add = |term: String, weight: f32| {
        let best = query.entry(term).or_insert(0.0f32);
        *best = best.max(weight);
    };
    for term in terms(step) {
        synonyms(&term).iter().for_each(|synonym| add(synonym.clone(), SYNONYM_WEIGHT));
        add(term, 1.0);
    }
    query
}

fn synonyms(term: &str) -> &'static [String] {
    static BY_TERM: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(|| {
        let mut all: HashMap<String, Vec<String>> = HashMap::new();
        for group in GROUPS.lines().filter(|line| !line.starts_with('#')) {
            let stems: Vec<String> = group.split_whitespace().map(words::root).collect();
            for term in &stems {
                all.entry(term.clone()).or_default().extend(stems.iter().filter(|other| *other != term).cloned());
            }
        }
        all
    });
    BY_TERM.get(term).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_counts_in_full_and_a_synonym_in_part() {
        for (step, term, expected) in [
            ("show it", "show", 1.0),
            ("showing it", "list", SYNONYM_WEIGHT),
            ("show it", "email", 0.0),
            ("", "list", 0.0),
        ] {
            assert_eq!(expand(step).get(&words::root(term)).copied().unwrap_or(0.0), expected, "{step}: {term}");
        }
    }
}
