//! Extracts the parts of a text that planning and checking compare: content words, and marks
//! (paths, numbers, identifiers).

use std::collections::HashSet;

use super::shape::is_camel;

/// Words too common to show what a sentence is about.
const COMMON: &[&str] = &[
    "a", "about", "after", "all", "also", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can",
    "could", "did", "do", "does", "each", "file", "files", "for", "from", "get", "gets", "has", "have", "how", "i",
    "if", "in", "into", "is", "it", "its", "let", "many", "me", "much", "my", "of", "on", "or", "our", "out", "please",
    "should", "so", "some", "tell", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this",
    "those", "to", "up", "use", "used", "uses", "was", "we", "what", "when", "where", "which", "who", "why", "will",
    "with", "would", "you", "your",
];

/// The meaningful words of a text and of its identifiers, in lower case and stemmed.
pub fn content(text: &str) -> HashSet<String> {
    split(text).into_iter().filter(|word| !COMMON.contains(&word.as_str())).map(|word| stem(&word)).collect()
}

/// Every word and number of a text in lower case; identifiers are split at case changes and
/// underscores.
pub fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before = ' ';
    for letter in text.chars() {
        let starts_new = letter.is_uppercase() && before.is_lowercase();
        if (!letter.is_alphanumeric() || starts_new) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
        before = letter;
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Runs of letters and runs of digits of at least two bytes, in lower case: `12nd` has `12` and
/// `nd`.
pub fn runs(text: &str) -> impl Iterator<Item = String> {
    let sort = |c: char| (c.is_alphabetic(), c.is_numeric());
    let runs = text.split(|c: char| !c.is_alphanumeric()).flat_map(move |word| {
        let chars: Vec<char> = word.chars().collect();
        let runs: Vec<String> = chars.chunk_by(|a, b| sort(*a) == sort(*b)).map(|run| run.iter().collect()).collect();
        runs
    });
    runs.filter(|word| word.len() > 1).map(|word| word.to_lowercase())
}

/// A light stemmer: removes plurals and some verb endings, so that `downloads` matches `download`
/// and `retries` matches `retry`.
pub(crate) fn stem(word: &str) -> String {
    let cut = |ending: &str| word.strip_suffix(ending).filter(|rest| rest.len() >= 3);
    if let Some(rest) = cut("ies") {
        return format!("{rest}y");
    }
    for ending in ["ing", "ed", "es", "s"] {
        match cut(ending) {
            Some(rest) if ending != "s" || !word.ends_with("ss") => return rest.trim_end_matches('e').to_owned(),
            _ => {}
        }
    }
    word.trim_end_matches('e').to_owned()
}

/// The paths, file names, numbers and identifiers in a text, which a rewording must neither lose
/// nor invent.
pub fn marks(text: &str) -> Vec<String> {
    let mut marks = Vec::new();
    for raw in text.split_whitespace() {
        // The sentence may end after a closing quotation mark, as in `name`.
        let raw = raw.trim_end_matches(['.', '?', '!', ',', ';', ':']);
        let word =
            raw.trim_matches(|letter: char| !letter.is_alphanumeric() && !matches!(letter, '/' | '_' | '~' | '.'));
        let word = word.trim_end_matches(['.', '?', '!']);
        if is_mark(word) {
            marks.push(word.to_owned());
        }
    }
    marks
}

/// Abbreviations that look like a path or file name.
const ABBREVIATIONS: &[&str] = &["e.g", "i.e", "and/or", "z.B", "d.h", "p.ej", "true/false", "yes/no"];

fn is_mark(word: &str) -> bool {
    let has = |test: fn(char) -> bool| word.chars().any(test);
    let inside = |letter: char| word.len() > 2 && word[1..word.len() - 1].contains(letter);
    !word.is_empty()
        && !ABBREVIATIONS.contains(&word)
        && (has(|c| c.is_ascii_digit())
            || word.starts_with('/')
            || (word.is_ascii() && (inside('/') || inside('.') || inside('_')))
            || is_camel(word)
            || (word.len() > 3 && word.chars().all(|c| c.is_ascii_uppercase() || c == '_')))
}

/// `text`, or if it exceeds `bytes_max`, its beginning and end with `[…]` in between. The limit is
/// in bytes because a token has three to four bytes in any script.
pub fn shorten(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(bytes_max * 2 / 3);
    let tail = text.ceil_char_boundary(text.len() - bytes_max / 3);
    format!("{} […] {}", &text[..head], &text[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_match_plain_words() {
        assert!(content("ATTEMPTS_DEFAULT").contains(&stem("attempt")));
        assert!(content("maxRetries").contains(&stem("retry")));
        assert_eq!(stem("class"), "class");
    }

    #[test]
    fn a_long_text_loses_its_middle() {
        let check = |text: &str, bytes_max: usize, expected: &str| assert_eq!(shorten(text, bytes_max), expected);
        check("abcdefghij", 10, "abcdefghij");
        check("abcdefghij", 6, "abcd […] ij");
        check("абвгдежзик", 20, "абвгдежзик");
        check("абвгдежзик", 12, "абвг […] ик");
        check("абвгдежзик", 13, "абвг […] ик");
    }

    #[test]
    fn marks_are_paths_numbers_and_identifiers() {
        assert_eq!(marks("In src/a.rs change `maxRetries` from 5 to 3."), ["src/a.rs", "maxRetries", "5", "3"]);
        assert_eq!(marks("It raises `ParseError`."), ["ParseError"]);
        assert!(marks("Read the file, please.").is_empty());
    }
}
