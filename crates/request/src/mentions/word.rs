//! Splits a text into words, each with its surroundings.

use crate::base::is_listed;
use crate::begins_something;
use crate::language::quotations;
use crate::language::shape::{is_capitalised, is_coined, is_dotted};

use super::Project;
use super::vocabulary::{ADDS, KINDS, OPTIONS, PRONOUNS, STOPS, TESTS, TYPES};

/// Number of words after a verb in `ADDS` that are searched for a word for tests:
/// `write a few more unit tests`.
const OBJECT_WORDS: usize = 5;

/// A word and its place in a text.
pub(super) struct Word<'t> {
    /// The word without surrounding punctuation.
    pub word: &'t str,
    /// The word in lower case.
    pub low: String,
    text: &'t str,
    /// All words of the text, and the index of this one.
    words: &'t [(usize, &'t str)],
    place: usize,
    /// The byte at which the word begins.
    pub at: usize,
    /// The previous word, in lower case; empty for the first one.
    before: String,
    /// The character after the word.
    after: Option<char>,
    pub is_quoted: bool,
    /// Whether an opening parenthesis follows the word.
    pub is_called: bool,
}

impl<'t> Word<'t> {
    /// The word at index `place` of a text's words.
    pub fn of(text: &'t str, words: &'t [(usize, &'t str)], place: usize) -> Word<'t> {
        let (at, raw) = words[place];
        let word = raw.trim_matches(['.', ':', '-', '/']);
        let after = text[at + raw.len()..].chars().next();
        let before = place.checked_sub(1).map(|before| words[before].1.to_lowercase()).unwrap_or_default();
        let is_quoted = text[..at].ends_with(['`', '"', '\'']) && matches!(after, Some('`' | '"' | '\'' | '('));
        let is_called = after == Some('(');
        Word { word, low: word.to_lowercase(), text, words, place, at, before, after, is_quoted, is_called }
    }

    /// Whether the word denotes a function, class or the like.
    pub fn is_kind(&self) -> bool {
        is_listed(KINDS, &self.low)
    }

    /// Whether the word follows a word for a function, class or the like. `type` before an ordinary
    /// word only describes it: `type hints`.
    pub fn is_after_kind(&self) -> bool {
        is_listed(KINDS, &self.before) && (self.before != "type" || self.is_quoted || is_coined(self.word))
    }

    /// Whether the word follows a word for an option, a parameter or the like.
    pub fn is_after_option(&self) -> bool {
        is_listed(OPTIONS, &self.before)
    }

    /// Whether a value follows the word: `units: false`, `depth=3`.
    pub fn is_given_a_value(&self) -> bool {
        matches!(self.after, Some(':' | '='))
    }

    /// Whether the word denotes tests.
    pub fn is_of_tests(&self) -> bool {
        TESTS.contains(&self.low.as_str())
    }

    /// Whether the word is a verb that asks for something new.
    pub fn adds(&self) -> bool {
        let next = self.words.get(self.place + 1).map(|next| next.1.to_lowercase()).unwrap_or_default();
        is_listed(ADDS, &self.low) && !PRONOUNS.contains(&next.as_str())
    }

    /// Whether the word is a verb that asks for new tests.
    pub fn adds_tests(&self) -> bool {
        is_listed(ADDS, &self.low) && names_tests(&self.words[self.place + 1..])
    }

    /// Whether the word is spelled like a name in code.
    pub fn is_coined(&self, project: &Project) -> bool {
        // The first word of a sentence is capitalised anyway.
        let above = self.text[..self.at].trim_end();
        let begins = above.is_empty() || above.ends_with(['.', '!', '?', ':']);
        let is_type = || {
            !begins_something(&self.low)
                && project.graph.named(self.word).iter().any(|node| TYPES.contains(&node.kind.as_str()))
        };
        if begins && is_capitalised(self.word) { is_type() } else { is_coined(self.word) }
    }

    /// Whether the word follows a colon, with at most a comma or full stop after the word:
    /// `another helper in a.py: tail, like head`.
    pub fn is_listed(&self) -> bool {
        self.text[..self.at].trim_end().ends_with(':')
            && self.after.is_none_or(|c| ",.".contains(c))
            && self.word.len() > 2
    }

    /// Whether the text states that something has this name.
    pub fn is_introduced(&self) -> bool {
        matches!(self.before.as_str(), "called" | "named" | "namens" | "nommée" | "llamada")
    }

    /// Whether `and` joins the word to the word `other`.
    pub fn is_joined_to(&self, other: Option<&&str>) -> bool {
        self.before == "and" && self.place >= 2 && other.is_some_and(|other| *other == self.words[self.place - 2].1)
    }

    /// Whether the word can name a definition: an identifier, not inside a value, and not an
    /// ordinary word after one of `KINDS`.
    pub fn can_be_name(&self) -> bool {
        !STOPS.contains(&self.low.as_str()) && is_dotted(self.word) && !is_inside_value(self.text, self.at)
    }

    /// Whether the word `back` places earlier is in `list`.
    pub fn is_behind(&self, back: usize, list: &[&str]) -> bool {
        self.place >= back && list.contains(&self.words[self.place - back].1.to_lowercase().as_str())
    }
}

/// The words of a text and the byte at which each begins; `is_inside` tests whether a character
/// belongs to a word.
pub(super) fn split(text: &str, is_inside: impl Fn(char) -> bool) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, letter) in text.char_indices().chain([(text.len(), ' ')]) {
        match (start, is_inside(letter)) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                words.push((from, &text[from..at]));
                start = None;
            }
            _ => {}
        }
    }
    words
}

/// Whether the words after a verb in `ADDS` have tests as their object; `one` alone also means a
/// test: `Write one in test_a.py`.
fn names_tests(behind: &[(usize, &str)]) -> bool {
    let low: Vec<String> =
        behind.iter().take(OBJECT_WORDS).map(|(_, word)| word.trim_matches(['.', ':']).to_lowercase()).collect();
    let until = low
        .iter()
        .position(|word| matches!(word.as_str(), "and" | "with" | "to" | "in" | "that" | "for"))
        .unwrap_or(low.len());
    let is_one = low.first().is_some_and(|word| word == "one") && until <= 1;
    is_one || low[..until].iter().any(|word| TESTS.contains(&word.as_str()))
}

/// Whether the byte `at` of a text is inside quotation marks or parentheses.
fn is_inside_value(text: &str, at: usize) -> bool {
    let all = quotations::of(text);
    all.iter().any(|one| one.range.contains(&at)) || quotations::depth(text, &all, at) > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_in_quotes_or_parentheses_is_no_new_name() {
        let text = "It's f(max_size), so f('a_b') is \"c_d\" and g_h";
        let inside = |word: &str| is_inside_value(text, text.find(word).unwrap());
        assert!(inside("max_size") && inside("a_b") && inside("c_d"));
        assert!(!inside("g_h") && !inside("f("));
    }

    #[test]
    fn a_word_after_type_is_a_name_only_if_spelled_like_one() {
        let check = |text: &str, expected: bool| {
            let words = split(text, |c| c.is_alphanumeric());
            assert_eq!(Word::of(text, &words, 2).is_after_kind(), expected, "{text}");
        };
        check("Add type annotations to a.py", false);
        check("Add type Shade to a.rs", true);
        check("Add function shade to a.py", true);
    }

    #[test]
    fn tests_are_asked_for_only_as_the_object_of_the_verb() {
        let check = |text: &str, expected: bool| {
            let words = split(text, |c| c.is_alphanumeric());
            assert_eq!(names_tests(&words[1..]), expected, "{text}");
        };
        check("write a few unit tests for it", true);
        check("Write one in test_a.py", true);
        check("Add a test for nought and one for ten", true);
        check("Add a method clear with a test", false);
        check("Add one function", false);
    }
}
