//! Determines whether a text states a value in any form: `23:00` as `11 pm`, `0.05` as `5%`, `Los Angeles` as `LA`.

use std::collections::HashSet;

use serde_json::Value;

use super::words;

/// Words that do not identify a value by themselves.
const COMMON: &[&str] = &[
    "a", "an", "and", "are", "at", "be", "by", "for", "i", "in", "is", "it", "me", "my", "of", "on", "or", "the", "to",
    "with", "you",
];
/// Number words; each also counts alone.
const NUMBERS: [(&str, f64); 42] = [
    ("zero", 0.0),
    ("one", 1.0),
    ("two", 2.0),
    ("three", 3.0),
    ("four", 4.0),
    ("five", 5.0),
    ("six", 6.0),
    ("seven", 7.0),
    ("eight", 8.0),
    ("nine", 9.0),
    ("ten", 10.0),
    ("eleven", 11.0),
    ("twelve", 12.0),
    ("thirteen", 13.0),
    ("fourteen", 14.0),
    ("fifteen", 15.0),
    ("sixteen", 16.0),
    ("seventeen", 17.0),
    ("eighteen", 18.0),
    ("nineteen", 19.0),
    ("twenty", 20.0),
    ("thirty", 30.0),
    ("forty", 40.0),
    ("fifty", 50.0),
    ("sixty", 60.0),
    ("seventy", 70.0),
    ("eighty", 80.0),
    ("ninety", 90.0),
    ("hundred", 100.0),
    ("thousand", 1e3),
    ("million", 1e6),
    ("billion", 1e9),
    ("half", 0.5),
    ("single", 1.0),
    ("once", 1.0),
    ("first", 1.0),
    ("second", 2.0),
    ("third", 3.0),
    ("couple", 2.0),
    ("twice", 2.0),
    ("dozen", 12.0),
    ("noon", 12.0),
];

/// A text prepared for looking up values.
#[derive(Debug)]
pub struct Said {
    low: String,
    numbers: Vec<f64>,
    /// Its words in lower case, and their stems.
    words: HashSet<String>,
    /// Whether it contains letters of a non-Latin script, in which names are written differently.
    is_foreign: bool,
}

impl Said {
    /// Collects the numbers of `text`, also those in words, and its words with their stems.
    pub fn of(text: &str) -> Said {
        let plain = words::split(text);
        let is_foreign = text.chars().any(|c| c.is_alphabetic() && !is_latin(c));
        let stems = plain.iter().map(|word| words::stem(word)).collect::<Vec<_>>();
        Said {
            low: text.to_lowercase(),
            numbers: numbers(text),
            words: plain.into_iter().chain(stems).collect(),
            is_foreign,
        }
    }

    /// Whether the text states the value, or one part of a composite value. Flags and empty values
    /// need not be stated.
    pub fn has(&self, value: &Value) -> bool {
        match value {
            Value::Null | Value::Bool(_) => true,
            Value::Number(number) => number.as_f64().is_some_and(|number| self.has_number(number)),
            Value::String(text) => self.has_text(text),
            Value::Array(all) => all.is_empty() || all.iter().any(|one| self.has(one)),
            Value::Object(fields) => fields.is_empty() || fields.values().any(|one| self.has(one)),
        }
    }

    fn has_number(&self, number: f64) -> bool {
        self.numbers.iter().any(|said| (said - number).abs() <= 1e-9 * number.abs().max(1.0))
    }

    fn has_text(&self, text: &str) -> bool {
        let all: Vec<String> = words::split(text).into_iter().filter(|word| !COMMON.contains(&word.as_str())).collect();
        let initials: String = all.iter().filter_map(|word| word.chars().next()).collect();
        let is_short_for = |word: &String| {
            initials.len() > 1 && word.len() <= initials.len() + 1 && initials.starts_with(word.as_str())
        };
        all.is_empty()
            || self.is_foreign && text.chars().all(|c| !c.is_alphabetic() || is_latin(c))
            || all.iter().any(|word| self.has_word(word))
            || self.words.iter().any(|word| word.len() > 1 && is_short_for(word))
    }

    fn has_word(&self, word: &str) -> bool {
        let digits = word.len() - word.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits > 0 && (digits == word.len() || word.len() - digits <= 2) {
            return word[..digits].parse().is_ok_and(|number| self.has_number(number));
        }
        // `EUR` matches euros, `schedule` matches scheduled; case endings in other languages match
        // too.
        let is_begun = |said: &String| {
            let (said_letters, letters) = (said.chars().count(), word.chars().count());
            let common = said.chars().zip(word.chars()).take_while(|(a, b)| a == b).count();
            letters >= 3 && common == letters || common >= 4 && common + 3 >= said_letters.max(letters)
        };
        self.words.contains(&words::stem(word))
            || self.words.contains(word)
            || !word.is_ascii() && self.low.contains(word)
            || self.words.iter().any(is_begun)
    }
}

fn is_latin(letter: char) -> bool {
    letter < '\u{250}'
}

/// The numbers in a text, each with all its possible meanings: `5%` is 5 and 0.05, `8 pm` is 8 and
/// 20, `12,000` and `12k` are 12000.
fn numbers(text: &str) -> Vec<f64> {
    let mut found: Vec<f64> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        rest = &rest[at..];
        let (digits, length) = digits(rest);
        rest = &rest[length..];
        let Ok(number) = digits.parse::<f64>() else { continue };
        let behind = rest.strip_prefix(":").map_or(rest, |rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
        let unit = behind.trim_start().chars().take(8).filter(|c| *c != '.').collect::<String>().to_lowercase();
        found.push(number);
        let is_after = |word: &str| unit.starts_with(word);
        found.extend(is_after("pm").then_some(number + 12.0));
        found.extend((is_after("%") || is_after("percent")).then_some(number / 100.0));
        found.extend(behind.starts_with(['k', 'K']).then_some(number * 1e3));
        let scale = NUMBERS.iter().find(|(word, scale)| *scale >= 100.0 && is_after(word));
        found.extend(scale.map(|(_, scale)| number * scale));
    }
    let words = words::split(text);
    let named = |word: &String| NUMBERS.iter().find(|(name, _)| name == word).map(|(_, number)| *number);
    for (at, word) in words.iter().enumerate() {
        let Some(number) = named(word) else { continue };
        found.push(number);
        // `twenty five`, `three hundred`
        let next = words.get(at + 1).and_then(named);
        found.extend(next.map(|next| if next >= 100.0 { number * next } else { number + next }));
    }
    found
}

/// The number at the beginning of a text, without commas between groups of three digits, and the
/// byte length that it has in the text.
fn digits(text: &str) -> (String, usize) {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let (mut digits, mut at) = (String::new(), 0);
    let mut has_point = false;
    loop {
        let groups = |at: usize| (1..=3).all(|next| is_digit(at + next)) && !is_digit(at + 4);
        match bytes.get(at) {
            Some(byte) if byte.is_ascii_digit() => digits.push(char::from(*byte)),
            Some(b',') if !has_point && groups(at) => {}
            Some(b'.') if !has_point && is_digit(at + 1) => {
                has_point = true;
                digits.push('.');
            }
            _ => return (digits, at),
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(text: &str, value: Value, expected: bool) {
        assert_eq!(Said::of(text).has(&value), expected, "{text}: {value}");
    }

    #[test]
    fn a_number_is_said_in_digits_or_words() {
        check("wait 15 seconds", json!(15), true);
        check("wait 15 seconds", json!(5), false);
        check("a loan of $12,000 at 5% for ten years", json!(12_000), true);
        check("a loan of $12,000 at 5% for ten years", json!(0.05), true);
        check("a loan of $12,000 at 5% for ten years", json!(10), true);
        check("a loan of $12,000 at 5% for ten years", json!(0), false);
        check("Version 1.10, not 2", json!(1.1), true);
        check("a crowd of 1.5 million, or twenty five", json!([1_500_000.0]), true);
        check("a crowd of 1.5 million, or twenty five", json!(25), true);
        check("one, 2, 3", json!(123), false);
    }

    #[test]
    fn times_and_dates_are_said_by_their_numbers() {
        check("wake me at 11 p.m.", json!("23:00"), true);
        check("on March 15th", json!("2024-03-15"), true);
        check("on March 15th", json!("2024-04-16"), false);
    }

    #[test]
    fn a_text_is_said_by_one_of_its_words() {
        check("Clear the cache", json!("The cache"), true);
        check("Clear the cache", json!("the memory"), false);
        check("How much are 5 euros?", json!("EUR"), true);
        check("A flight from LA", json!("Los Angeles"), true);
        check("A flight home", json!("Los Angeles"), false);
        check("Что с погодой в Осло?", json!("Oslo"), true);
        check("Что с погодой?", json!("погода"), true);
        check("Что с погодой?", json!("город"), false);
        check("天气北京", json!("北京"), true);
        check("Play something", json!({ "title": "Blue Moon", "loud": 4 }), false);
        check("Play Blue Moon", json!({ "title": "Blue Moon", "loud": 4 }), true);
        check("Play", json!([]), true);
    }
}
