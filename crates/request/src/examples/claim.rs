//! Reads the statements of a request about the result of a call: its current result, the wanted
//! result, and whether the current one is wrong.

use super::{CONSTANTS, EXAMPLES_MAX, closed};

/// Words and signs before the result that a call returns.
const GIVES: &[&str] = &[
    "is", "gives", "give", "returns", "return", "yields", "becomes", "equals", "raises", "throws", "gibt", "ergibt",
    "wird", "ist", "donne", "devient", "renvoie", "devuelve", "da", "->", "=>", "==", "=", "→",
];
/// Words before the result that a call should return.
const SHOULD: &[&str] = &[
    "should", "must", "shall", "expect", "expected", "expects", "soll", "sollte", "muss", "doit", "debe", "debería",
    "has",
];
/// Words that make the following result an unwanted one: `should not return 5`, `not 4`.
const NOT: &[&str] = &["not", "never", "no", "nicht", "nie", "kein", "pas", "jamais", "nunca", "не"];
/// Words after a result that mark it as wrong.
const BUT: &[&str] = &[
    "but",
    "wrong",
    "wrongly",
    "bug",
    "fix",
    "although",
    "though",
    "however",
    "yet",
    "incorrect",
    "incorrectly",
    "unfortunately",
    "aber",
    "obwohl",
    "falsch",
    "leider",
    "mais",
    "pero",
    "aunque",
    "но",
];
/// Words after a result that mark it as right: `returns 3, that is fine`.
pub(super) const FINE: &[&str] =
    &["fine", "right", "correct", "ok", "okay", "good", "richtig", "gut", "correcto", "bien"];
/// Fillers between such a word and the result.
const FILLERS: &[&str] = &[
    "be", "return", "give", "yield", "become", "raise", "throw", "it", "to", "sein", "geben", "werden", "être", "ser",
    "devolver", "a", "an",
];

/// The statements about the result of a call, read from the text after the call.
#[derive(Debug, Default)]
pub(super) struct Claim {
    /// The result that the call returns, according to the text.
    pub stated: Option<String>,
    /// The result that the call should return.
    should: Option<String>,
    /// Results that several calls should return, listed in a later sentence.
    pub later: Vec<String>,
    /// Whether the text states that `stated` is wrong.
    pub is_wrong: bool,
}

impl Claim {
    /// The result that the call should return; for a new function, also the stated one.
    pub fn expected(&self, is_new: bool) -> Option<String> {
        self.should.clone().or(self.stated.clone().filter(|_| is_new && !self.is_wrong))
    }

    /// Reads the `text` after a call. `given` is the call's first string; a bare word that
    /// resembles it also counts as a result.
    pub fn of(text: &str, given: &str) -> Claim {
        let mut claim = Claim::default();
        let mut rest = text.trim_start_matches(['`', ' ']);
        let (mut first, mut before) = (true, String::new());
        while let Some((word, after)) = word_of(rest) {
            let low = word.to_lowercase();
            let refuses = ["shouldn't", "shouldn’t", "mustn't", "mustn’t"].contains(&low.as_str());
            // `has to return 5`, but not `has no parts`.
            let must = low != "has" || after.trim_start().starts_with("to ");
            let follows = if SHOULD.contains(&low.as_str()) && must || refuses {
                Some(true)
            } else {
                GIVES.contains(&low.as_str()).then_some(false)
            };
            let next = word_of(after).filter(|(next, _)| NOT.contains(&next.to_lowercase().as_str()));
            let instead = low == "instead" && after.trim_start().starts_with("of");
            rest = after;
            match follows {
                // `should not return 5`: 5 is wrong, and no right result is given.
                Some(true) if refuses || next.is_some() => {
                    let unwanted = values(next.map_or(after, |(_, rest)| rest), given).into_iter().next();
                    claim.is_wrong = true;
                    claim.stated = claim.stated.or(unwanted);
                    break;
                }
                Some(true) => {
                    let values = values(after, given);
                    match (values.as_slice(), first || claim.stated.is_some() && !ended(text, after)) {
                        ([one], true) => claim.should = Some(one.clone()),
                        (many, _) => claim.later = many.to_vec(),
                    }
                    break;
                }
                Some(false) if first => claim.stated = values(after, given).into_iter().next(),
                None if is_fine(&low, &before) && claim.stated.is_some() && !claim.is_wrong => {
                    claim.should = claim.stated.clone();
                    break;
                }
                None if BUT.contains(&low.as_str()) && claim.stated.is_some() => claim.is_wrong = true,
                // `gives a instead of b`: b is right. For `should give b instead of a` the loop has
                // already ended.
                None if instead => {
                    claim.should = values(&after.trim_start()[2..], given).into_iter().next();
                    break;
                }
                _ => {}
            }
            (first, before) = (false, low);
        }
        claim
    }
}

/// Whether a word states that a result is right; `before` is the previous word.
fn is_fine(word: &str, before: &str) -> bool {
    FINE.contains(&word.trim_end_matches(['.', '!'])) && !NOT.contains(&before)
}

/// Whether a sentence ends in `text` before `rest`, the last part of `text`.
fn ended(text: &str, rest: &str) -> bool {
    text[..text.len() - rest.len()].contains(". ")
}

/// The first word of a text and the rest.
fn word_of(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches([' ', ',', ';', '\n', '`', ':']);
    let end = text.find([' ', ',', ';', '\n']).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// The values at the beginning of a text, after filler words: `'a'`, `be 13th and 113th`.
fn values(text: &str, given: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '`', ':']);
        if let Some((word, after)) = word_of(rest).filter(|(word, _)| FILLERS.contains(&word.to_lowercase().as_str())) {
            debug_assert!(!word.is_empty());
            rest = after;
            continue;
        }
        let Some((value, after)) = value(rest, given) else { break };
        found.push(value);
        let after = after.trim_start_matches([' ', '`', ',']);
        match ["and ", "und ", "et ", "y "].iter().find_map(|word| after.strip_prefix(word)) {
            Some(more) if found.len() < EXAMPLES_MAX => rest = more,
            _ => break,
        }
    }
    found
}

/// A literal or a bare word at the beginning of `text`, and the rest.
fn value<'a>(text: &'a str, given: &str) -> Option<(String, &'a str)> {
    let first = text.chars().next()?;
    let end = match first {
        '\'' | '"' => text[1..].find(first)? + 2,
        '[' | '(' | '{' => closed(text, 0)?,
        _ => text.find([' ', ',', ';', '`', '\n']).unwrap_or(text.len()),
    };
    let value = text[..end].trim_end_matches(['.', '!', '?', ')']);
    let value = if matches!(first, '[' | '(' | '{') { &text[..end] } else { value };
    let is_word = value.chars().next().is_some_and(|c| c.is_ascii_digit() || c == '-')
        || is_known(value)
        || is_form(value, given);
    let is_text = matches!(first, '\'' | '"' | '[' | '(' | '{');
    (is_text || is_word).then(|| (value.to_owned(), &text[end..]))
}

/// Whether a word is an inflected form of `given`: counted from both ends, half of the letters
/// match, as in `geese` and `goose`.
fn is_form(value: &str, given: &str) -> bool {
    let same =
        |pairs: &mut dyn Iterator<Item = (char, char)>| pairs.take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count();
    let (begin, end) =
        (same(&mut value.chars().zip(given.chars())), same(&mut value.chars().rev().zip(given.chars().rev())));
    let is_word = value.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    is_word && begin > 0 && 2 * (begin + end) >= value.chars().count()
}

fn is_known(value: &str) -> bool {
    CONSTANTS.contains(&value) || value.ends_with("Error") && value.chars().all(char::is_alphanumeric)
}
