//! Ranks texts by how well the letters of a query are found in them, in order, with gaps.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

/// Places of the best `most` texts, best first; equally good ones in their order. An empty query takes the first ones.
pub fn ranked<'a>(query: &str, texts: impl Iterator<Item = &'a str>, most: usize) -> Vec<usize> {
    let pattern = Pattern::parse(query, CaseMatching::Smart, Normalization::Smart);
    let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
    let mut letters = Vec::new();
    let score = |(place, text): (usize, &str)| {
        let score = pattern.score(Utf32Str::new(text, &mut letters), &mut matcher)?;
        Some((score, place))
    };
    let mut found: Vec<(u32, usize)> = texts.enumerate().filter_map(score).collect();
    found.sort_by_key(|(score, place)| (std::cmp::Reverse(*score), *place));
    found.into_iter().take(most).map(|(_, place)| place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: &str, expected: &[usize]) {
        let texts = ["src/retry.ts", "src/store.ts", "README.md"];
        assert_eq!(ranked(query, texts.into_iter(), 2), expected, "{query}");
    }

    #[test]
    fn letters_in_order_find_a_path() {
        check("", &[0, 1]);
        check("sto", &[1]);
        check("readme", &[2]);
        check("xyz", &[]);
    }
}
