//! The words of each natural language with their classes, from one data file a language.
//!
//! A word, or a phrase, stands once in a file, with all of its classes. In a phrase, `|` separates
//! alternatives: `can|could you`. Code asks for a class, or for a union of classes ([`Words`]), and
//! contains no list of words itself.

mod class;

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use serde::Deserialize;
use serde::de::Error;

use crate::base::OrBug;

pub use class::Class;

/// A language with a file of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    English,
    German,
    French,
    Spanish,
    Russian,
}

/// The files, in the order of [`Language`].
const FILES: [&str; 5] = [
    include_str!("lexicon/english.toml"),
    include_str!("lexicon/german.toml"),
    include_str!("lexicon/french.toml"),
    include_str!("lexicon/spanish.toml"),
    include_str!("lexicon/russian.toml"),
];

static LEXICONS: LazyLock<[Lexicon; 5]> =
    LazyLock::new(|| FILES.map(|text| Lexicon::parse(text).or_bug("every file of words parses")));

/// The words of a language.
#[derive(Debug)]
pub struct Lexicon {
    pub grammar: Grammar,
    /// Words for numbers.
    numbers: BTreeMap<String, f64>,
    /// The classes of each word and phrase.
    classes: HashMap<String, Vec<Class>>,
    /// The words and phrases of each class, in alphabetical order.
    members: HashMap<Class, Vec<String>>,
}

/// The endings and prefixes of a language's words.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Grammar {
    /// Endings in another spelling, each with the spelling that the file has: `-ise`, `-ize`.
    pub spellings: Vec<(String, String)>,
    /// Endings of infinitives, each with the endings of the imperatives that replace it.
    pub endings: Vec<(String, Vec<String>)>,
    /// Prefixes of verbs that make another verb.
    pub prefixes: Vec<String>,
    /// Endings that always mark an imperative, and endings that mark one if an object follows.
    pub imperative_endings: Vec<String>,
    pub object_endings: Vec<String>,
    /// Endings that always mark an infinitive, exceptions to them, and endings that mark one at the
    /// end of a clause.
    pub infinitive_endings: Vec<String>,
    pub noun_endings: Vec<String>,
    pub last_endings: Vec<String>,
    /// Endings that turn an imperative or infinitive into the verb of a wish: `que tu ouvre-s`.
    pub wish_endings: Vec<String>,
    /// Endings that always mark what the reader does: `откро-ешь`.
    pub told_endings: Vec<String>,
    /// Pronouns and polite endings that are attached to an imperative or infinitive.
    pub clitics: Vec<String>,
    pub polite_endings: Vec<String>,
    /// A pronoun that turns the infinitive before it into an imperative: `öffnen Sie`.
    pub formal: String,
    /// Whether the infinitive of an order is its last word: `die Datei öffnen`.
    pub verb_last: bool,
    /// Whether a capitalised word is a noun, except at the start of a sentence.
    pub noun_capitals: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    grammar: Grammar,
    #[serde(default)]
    numbers: BTreeMap<String, f64>,
    words: BTreeMap<String, Vec<Class>>,
}

impl Lexicon {
    fn parse(text: &str) -> Result<Lexicon, toml::de::Error> {
        let File { grammar, numbers, words } = toml::from_str(text)?;
        let mut all: HashMap<String, Vec<Class>> = HashMap::new();
        let mut members: HashMap<Class, Vec<String>> = HashMap::new();
        for (key, classes) in words {
            for phrase in phrases(&key) {
                for class in &classes {
                    members.entry(*class).or_default().push(phrase.clone());
                }
                if all.insert(phrase, classes.clone()).is_some() {
                    return Err(toml::de::Error::custom(format!("`{key}` repeats another entry")));
                }
            }
        }
        Ok(Lexicon { grammar, numbers, classes: all, members })
    }

    /// Whether a lower-case word or phrase, in any spelling, has the class.
    pub fn is(&self, word: &str, class: Class) -> bool {
        let has = |word: &str| self.classes.get(word).is_some_and(|classes| classes.contains(&class));
        let mut stems = self.grammar.spellings.iter().filter_map(|(one, own)| Some((word.strip_suffix(one)?, own)));
        has(word) || stems.any(|(stem, own)| has(&format!("{stem}{own}")))
    }

    /// The word as this file has it, if it has the class.
    pub fn member(&'static self, word: &str, class: Class) -> Option<&'static str> {
        self.classes.get_key_value(word).filter(|(_, classes)| classes.contains(&class)).map(|(word, _)| word.as_str())
    }

    /// The words and phrases of a class.
    pub fn members(&self, class: Class) -> &[String] {
        self.members.get(&class).map_or(&[], Vec::as_slice)
    }
}

/// The phrases that a key of a file stands for: `can|could you` for `can you` and `could you`.
fn phrases(key: &str) -> Vec<String> {
    let begun = |begin: &str, word: &str| if begin.is_empty() { word.to_owned() } else { format!("{begin} {word}") };
    key.split(' ').fold(vec![String::new()], |begins, words| {
        let longer = |begin: &String| words.split('|').map(|word| begun(begin, word)).collect::<Vec<_>>();
        begins.iter().flat_map(longer).collect()
    })
}

impl Language {
    pub fn lexicon(self) -> &'static Lexicon {
        &LEXICONS[self as usize]
    }

    /// Whether a lower-case word or phrase of this language has the class.
    pub fn is(self, word: &str, class: Class) -> bool {
        self.lexicon().is(word, class)
    }
}

/// The words and phrases of a class in all languages.
pub fn members(class: Class) -> impl Iterator<Item = &'static str> {
    LEXICONS.iter().flat_map(move |lexicon| lexicon.members(class)).map(String::as_str)
}

/// The words for numbers in all languages.
pub fn numbers() -> impl Iterator<Item = (&'static str, f64)> {
    LEXICONS.iter().flat_map(|lexicon| &lexicon.numbers).map(|(word, number)| (word.as_str(), *number))
}

/// The words of a class in all languages, as alternatives of a regular expression: `note|remark`.
pub fn alternatives(class: Class) -> String {
    members(class).map(regex::escape).collect::<Vec<_>>().join("|")
}

/// A set of lower-case words in any language: a class, a few words in one text, separated by spaces
/// or by commas, or the union of several sets.
pub trait Words {
    fn has(&self, word: &str) -> bool;
}

impl Words for Class {
    fn has(&self, word: &str) -> bool {
        LEXICONS.iter().any(|lexicon| lexicon.is(word, *self))
    }
}

impl Words for str {
    fn has(&self, word: &str) -> bool {
        !word.is_empty() && self.split([' ', ',']).any(|one| one == word)
    }
}

impl<W: Words> Words for [W] {
    fn has(&self, word: &str) -> bool {
        self.iter().any(|set| set.has(word))
    }
}

impl<W: Words, const N: usize> Words for [W; N] {
    fn has(&self, word: &str) -> bool {
        self.as_slice().has(word)
    }
}

impl<A: Words, B: Words> Words for (A, B) {
    fn has(&self, word: &str) -> bool {
        self.0.has(word) || self.1.has(word)
    }
}

impl<W: Words + ?Sized> Words for &W {
    fn has(&self, word: &str) -> bool {
        (**self).has(word)
    }
}

/// The words of a set together with their English plurals and verb forms: `uses`, `used`, `using`.
#[derive(Clone, Copy)]
pub struct Forms<W>(pub W);

impl<W: Words> Words for Forms<W> {
    fn has(&self, word: &str) -> bool {
        self.0.has(word) || base_forms(word).iter().any(|base| self.0.has(base))
    }
}

/// The words of which `word` may be a regular English form: `copies` gives `copy`, `dropped` gives
/// `drop`.
fn base_forms(word: &str) -> Vec<String> {
    /// Minimum length of such a word, in bytes.
    const BYTES_MIN: usize = 3;
    let mut found = Vec::new();
    if let Some(rest) = word.strip_suffix("ies").or(word.strip_suffix("ied")) {
        found.push(format!("{rest}y"));
    }
    for ending in ["s", "es", "ed", "ing"] {
        let Some(rest) = word.strip_suffix(ending) else { continue };
        found.push(rest.to_owned());
        if ending == "ed" || ending == "ing" {
            found.push(format!("{rest}e"));
            let mut letters = rest.chars().rev();
            if let (Some(last), Some(before)) = (letters.next(), letters.next())
                && last == before
            {
                found.push(rest[..rest.len() - last.len_utf8()].to_owned());
            }
        }
    }
    found.retain(|base| base.len() >= BYTES_MIN);
    found
}

/// Whether a lower-case word is in a set.
pub fn listed(set: impl Words, word: &str) -> bool {
    set.has(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_parses_and_names_no_class_twice_for_a_word() {
        for text in FILES {
            let lexicon = Lexicon::parse(text).unwrap();
            for (word, classes) in &lexicon.classes {
                assert!(!word.trim().is_empty() && *word == word.to_lowercase(), "{word}");
                assert!(!classes.is_empty(), "{word} has no class");
                let is_twice = |at: usize| classes[..at].contains(&classes[at]);
                assert!(!(0..classes.len()).any(is_twice), "{word} names a class twice");
            }
        }
    }

    #[test]
    fn a_word_stands_once_in_a_file() {
        let twice = Lexicon::parse("[words]\nstir = [\"verb\"]\nstir = [\"shows\"]\n").unwrap_err().to_string();
        assert!(twice.contains("duplicate key"), "{twice}");
        let again =
            Lexicon::parse("[words]\n\"do|go on\" = [\"verb\"]\n\"go on\" = [\"verb\"]\n").unwrap_err().to_string();
        assert!(again.contains("`go on` repeats"), "{again}");
        let unknown = Lexicon::parse("[words]\nstir = [\"cooks\"]\n").unwrap_err().to_string();
        assert!(unknown.contains("cooks"), "{unknown}");
    }

    #[test]
    fn sets_of_words_are_classes_texts_and_unions() {
        assert!(listed(Class::Removes, "delete") && listed(Class::Removes, "удали") && !listed(Class::Removes, "bake"));
        assert!(Language::English.is("delete", Class::Removes) && !Language::German.is("delete", Class::Removes));
        assert!(listed("me, us", "us") && listed("me us", "me") && !listed("me, us", "") && !listed("me, us", "m"));
        assert!(listed(&[Class::Renames, Class::Removes], "rename") && listed((Class::Removes, "bake"), "bake"));
        assert!(members(Class::Removes).any(|word| word == "удали"));
        assert!(listed(Class::Verb, "analyse") && listed(Class::Verb, "analyze") && !listed(Class::Verb, "wise"));
    }

    #[test]
    fn a_key_may_stand_for_several_phrases() {
        assert_eq!(phrases("can|could you|we"), ["can you", "can we", "could you", "could we"]);
        assert_eq!(phrases("there is no "), ["there is no "]);
        assert_eq!(phrases("stir"), ["stir"]);
    }

    #[test]
    fn regular_forms_of_a_word_count_if_asked_for() {
        for word in ["use", "uses", "used", "using", "copies", "copied", "stopped", "boxes"] {
            assert!(listed(Forms("use copy stop box"), word), "{word}");
        }
        for word in ["us", "user", "stopper", "copying it", "s", "ing", "éed"] {
            assert!(!listed(Forms("use copy stop box"), word), "{word}");
        }
    }
}
