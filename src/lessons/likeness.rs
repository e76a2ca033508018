//! Measures how similar two short texts are by their words, for lessons and queries without vectors.

use std::collections::HashSet;

/// Dice coefficient of the two sets of words: 0 for no shared word, 1 for all. Case is ignored, and so are words of fewer than
/// three letters, unless a text has no others.
pub fn overlap(a: &str, b: &str) -> f32 {
    let (a, b) = (words(a), words(b));
    let shared = a.intersection(&b).count();
    if shared == 0 { 0.0 } else { 2.0 * shared as f32 / (a.len() + b.len()) as f32 }
}

fn words(text: &str) -> HashSet<String> {
    let all: HashSet<String> =
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    let long: HashSet<String> = all.iter().filter(|word| word.chars().count() > 2).cloned().collect();
    if long.is_empty() { all } else { long }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(a: &str, b: &str, expected: f32) {
        assert!((overlap(a, b) - expected).abs() < 1e-6, "{a} / {b}: {}", overlap(a, b));
        assert_eq!(overlap(a, b), overlap(b, a));
    }

    #[test]
    fn shared_words_count_whatever_their_case_and_order() {
        check("retry failed requests", "Requests: retry, FAILED", 1.0);
        check("retry requests", "retry the download", 0.4);
        check("retry", "parse", 0.0);
        check("", "", 0.0);
        check("go", "go", 1.0);
        check("größe prüfen", "Größe", 2.0 / 3.0);
    }
}
