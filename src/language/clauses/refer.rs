//! Finds how a clause refers to earlier parts: pronouns, things that an earlier part makes, results to be shown.

use super::tongue::Piece;
use super::words::{self, is_russian_pronoun};

/// Whether a clause refers to something before it, by a pronoun or a phrase like `the result`.
pub(super) fn refers_back(piece: &Piece) -> bool {
    let words = &piece.words;
    words.iter().enumerate().any(|(i, word)| {
        let next = words.get(i + 1).map_or("", String::as_str);
        match word.as_str() {
            "it" | "them" | "they" | "its" | "their" | "ones" | "same" => true,
            "one" => i > 0 && matches!(words[i - 1].as_str(), "each" | "this" | "that" | "every" | "the"),
            "each" => true,
            "this" | "these" | "those" => {
                next.is_empty() || words::is_outcome(next) || words::is_preposition(next) || words::is_connective(next)
            }
            "that" => i > 0 && (next.is_empty() || words::is_outcome(next)),
            "the" => matches!(next, "result" | "results" | "output" | "findings" | "outcome"),
            _ => is_russian_pronoun(word),
        }
    })
}

/// Whether a capitalised word is a proper noun, not an identifier of code.
pub(super) fn is_proper(name: &str) -> bool {
    name.chars().all(char::is_alphabetic) && name.chars().skip(1).all(char::is_lowercase) && name.chars().count() > 1
}

/// Whether the clause only asks to show what was found: `show me the result`, `print it`, `give me the total`.
pub(super) fn shows_outcome(words: &[String]) -> bool {
    let rest: Vec<&str> = words
        .iter()
        .skip(1)
        .map(String::as_str)
        .filter(|word| {
            !words::is_determiner(word) && !matches!(*word, "me" | "us" | "back" | "of" | "to" | "a" | "here" | "мне")
        })
        .collect();
    match rest.as_slice() {
        [] => words.len() > 1,
        [only] => words::is_outcome(only) || words::points_back(only) || is_russian_pronoun(only),
        [first, ..] => {
            matches!(*first, "what" | "result" | "results" | "findings")
                && rest.iter().any(|w| matches!(*w, "you" | "found" | "find" | "result" | "results"))
        }
    }
}

/// Whether `earlier` makes `a report` or looks for `duplicate files`, and `later` mentions `the report` or `the duplicates`.
pub(super) fn produces(earlier: &[String], later: &[String]) -> bool {
    let made = earlier
        .windows(3)
        .filter(|three| matches!(three[0].as_str(), "a" | "an" | "new"))
        .flat_map(|three| [three[1].as_str(), three[2].as_str()])
        .chain(earlier.windows(2).filter(|two| matches!(two[0].as_str(), "a" | "an")).map(|two| two[1].as_str()))
        .filter(|word| word.len() > 3 && !words::is_preposition(word));
    let bare = earlier.windows(2).filter(|two| !words::is_determiner(&two[0])).map(|two| two[1].as_str());
    let one = |word: &str| word.trim_end_matches('s').to_owned();
    let used: Vec<&str> = later
        .windows(2)
        .filter(|two| matches!(two[0].as_str(), "the" | "that" | "this"))
        .map(|two| two[1].as_str())
        .collect();
    let many = |word: &&str| word.len() > 4 && word.ends_with('s') && !word.ends_with("ss");
    made.into_iter().any(|word| used.contains(&word))
        || bare.into_iter().any(|word| used.iter().filter(|word| many(word)).any(|used| one(used) == one(word)))
}
