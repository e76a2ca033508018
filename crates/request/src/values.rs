//! Collects the values that a text gives: numbers, quoted texts, samples.

use std::collections::HashSet;

use crate::base::pattern::static_regex;
use crate::language::{quotations, words};

use super::Text;

impl Text {
    /// The words of the text that are numbers.
    pub fn numbers(&self) -> impl Iterator<Item = &str> {
        self.raw().split(|c: char| !c.is_alphanumeric()).filter(|word| word.parse::<f64>().is_ok())
    }

    /// The leading digits of the text's numbers, at most six each: `12` in `12nd`.
    pub fn digits(&self) -> impl Iterator<Item = &str> {
        static_regex!(NUMBER = r"\b\d{1,6}");
        NUMBER.find_iter(self.raw()).map(|one| one.as_str())
    }

    /// The texts in quotes or backticks, each on one line.
    pub fn marked(&self) -> Vec<String> {
        quotations::marked(self.raw())
    }

    /// The text's runs of letters and runs of digits, in lower case.
    pub fn runs(&self) -> HashSet<String> {
        words::runs(self.raw()).collect()
    }

    /// Whether the text gives a quotation as a sample: `like 'a b'`.
    pub fn is_sample(&self, quoted: &str) -> bool {
        let text = self.raw();
        let before = text[..text.find(quoted).unwrap_or(0)].trim_end_matches(['"', '\'', '“', '`', ' ']);
        ["like", "e.g.", "such as", "wie", "z.B.", "comme", "como"].iter().any(|word| before.ends_with(word))
    }

    /// Whether the text begins with these letters.
    pub fn begins_with(&self, words: &str) -> bool {
        self.raw().starts_with(words)
    }

    /// Whether the text has at most this many words, separated by spaces.
    pub fn has_at_most(&self, words: usize) -> bool {
        self.raw().split_whitespace().nth(words).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_collected() {
        let text = Text::of("plural(12) gives \"12nd\", like 'ox' with 3.5");
        assert_eq!(text.numbers().collect::<Vec<_>>(), ["12", "3", "5"]);
        assert_eq!(text.digits().collect::<Vec<_>>(), ["12", "12", "3", "5"]);
        assert_eq!(text.marked(), ["12nd", "ox"]);
        assert!(text.runs().contains("nd") && text.is_sample("ox") && !text.is_sample("12nd"));
        assert!(text.begins_with("plural(12)") && text.has_at_most(7) && !text.has_at_most(6));
    }
}
