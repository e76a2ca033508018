//! The languages whose sentences `by_table` splits: the forms of their verbs, and their phrases by
//! the first word.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::scan::{Kind, Token};
use crate::language::lexicon::{Class, Grammar, Language, Lexicon};
use crate::language::shape;

/// The words of a language with the forms of its verbs.
pub(super) struct Table {
    pub grammar: &'static Grammar,
    lexicon: &'static Lexicon,
    /// Each imperative with its infinitive, or with itself if the file of words has no infinitive
    /// for it.
    imperatives: HashMap<String, &'static str>,
    /// Every word of a closed class.
    closed: HashSet<&'static str>,
    /// Every phrase by its first word, with its class.
    phrases: HashMap<&'static str, Vec<(Class, &'static str)>>,
}

/// Classes of phrases, whose single words belong to closed classes.
const OF_PHRASES: [Class; 10] = [
    Class::Joins,
    Class::Sequence,
    Class::Addition,
    Class::Lead,
    Class::Wants,
    Class::Wish,
    Class::Subordinator,
    Class::Condition,
    Class::Purpose,
    Class::Question,
];
/// Closed classes of single words.
const CLOSED: [Class; 8] = [
    Class::Negation,
    Class::Determiner,
    Class::Preposition,
    Class::Subject,
    Class::Object,
    Class::BeforeInfinitive,
    Class::Finite,
    Class::NotVerb,
];

static TABLES: LazyLock<[Table; 4]> = LazyLock::new(|| {
    [Language::German, Language::French, Language::Spanish, Language::Russian].map(|one| Table::of(one.lexicon()))
});

/// Minimum number of letters in a word whose ending marks it as a verb: always, and if an object
/// follows.
const ENDING_LETTERS_MIN: usize = 5;
const OBJECT_ENDING_LETTERS_MIN: usize = 4;
/// Maximum number of prefixes, or of clitics, of a verb: `wieder-her-stellen`, `envía-me-lo`.
const AFFIXES_MAX: usize = 2;

impl Table {
    fn of(lexicon: &'static Lexicon) -> Table {
        let grammar = &lexicon.grammar;
        let mut imperatives: HashMap<String, &str> = HashMap::new();
        for verb in lexicon.members(Class::Verb) {
            let found = grammar.endings.iter().find_map(|(ending, own)| Some((verb.strip_suffix(ending)?, own)));
            let Some((stem, endings)) = found else { continue };
            imperatives.extend(endings.iter().map(|ending| (format!("{stem}{ending}"), verb.as_str())));
        }
        imperatives.extend(lexicon.members(Class::Imperative).iter().map(|form| (form.clone(), form.as_str())));
        let mut phrases: HashMap<&str, Vec<(Class, &str)>> = HashMap::new();
        for class in OF_PHRASES {
            for phrase in lexicon.members(class) {
                phrases.entry(phrase.split(' ').next().unwrap_or_default()).or_default().push((class, phrase));
            }
        }
        let closed = OF_PHRASES.iter().chain(&CLOSED).flat_map(|class| lexicon.members(*class));
        let closed = closed.map(String::as_str).filter(|entry| !entry.contains(' ')).collect();
        Table { grammar, lexicon, imperatives, closed, phrases }
    }

    /// Whether a lower-case word or phrase has the class in this language.
    pub fn is(&self, low: &str, class: Class) -> bool {
        self.lexicon.is(low, class)
    }

    /// The verb whose imperative is `low`, with its prefixes; `None` if the table has none.
    pub fn imperative(&self, low: &str) -> Option<String> {
        if self.closed.contains(low) {
            return None;
        }
        let polite = self.grammar.polite_endings.iter().filter_map(|ending| low.strip_suffix(ending.as_str()));
        let forms = std::iter::once(low).chain(polite);
        let known = |stem: &str| self.imperatives.get(stem).copied();
        let found =
            forms.flat_map(|form| self.bare(form)).find_map(|form| self.with_prefixes(&form, AFFIXES_MAX, &known));
        found.or_else(|| self.accented(low))
    }

    /// The verb of an imperative that has an accent only because a clitic follows: `envuélvelo`.
    fn accented(&self, low: &str) -> Option<String> {
        let mut forms = self.bare(low).into_iter().skip(1);
        let is_accented = |form: &String| {
            unaccented(form) != *form && ends_in(form, &self.grammar.object_endings, OBJECT_ENDING_LETTERS_MIN)
        };
        forms.find(is_accented)
    }

    /// Whether the ending of `low` marks an imperative.
    pub fn has_imperative_ending(&self, low: &str) -> bool {
        !self.closed.contains(low) && ends_in(low, &self.grammar.imperative_endings, ENDING_LETTERS_MIN)
    }

    /// Whether `low` is an imperative provided that an object follows.
    pub fn may_be_imperative(&self, low: &str) -> bool {
        !self.closed.contains(low) && ends_in(low, &self.grammar.object_endings, OBJECT_ENDING_LETTERS_MIN)
    }

    /// Whether `low` is an infinitive, with or without clitics.
    pub fn is_infinitive(&self, low: &str) -> bool {
        self.bare(low).iter().any(|form| self.is_bare_infinitive(form))
    }

    /// Whether `low` is an infinitive in the table, or has the ending of one.
    fn is_bare_infinitive(&self, low: &str) -> bool {
        let is_noun = || self.grammar.noun_endings.iter().any(|ending| low.ends_with(ending));
        let has_ending = || ends_in(low, &self.grammar.infinitive_endings, ENDING_LETTERS_MIN) && !is_noun();
        !self.closed.contains(low) && (self.is_known_infinitive(low) || has_ending())
    }

    /// Whether `low` is an infinitive provided that it ends an order.
    pub fn may_be_last(&self, low: &str) -> bool {
        !self.closed.contains(low) && ends_in(low, &self.grammar.last_endings, ENDING_LETTERS_MIN)
    }

    fn is_known_infinitive(&self, low: &str) -> bool {
        let known = |stem: &str| self.lexicon.member(stem, Class::Verb);
        self.with_prefixes(low, AFFIXES_MAX, &known).is_some()
    }

    /// Whether `low` is the verb of a wish.
    pub fn is_wished(&self, low: &str) -> bool {
        let mut forms = self.grammar.wish_endings.iter().filter_map(|ending| low.strip_suffix(ending.as_str()));
        forms.any(|form| self.imperative(form).is_some() || self.is_known_infinitive(form))
    }

    /// Whether `low` is a verb in the form that says what the reader does.
    pub fn is_told(&self, low: &str) -> bool {
        !self.closed.contains(low)
            && !self.is(low, Class::Meets)
            && (self.is_wished(low) || ends_in(low, &self.grammar.told_endings, ENDING_LETTERS_MIN))
    }

    /// Whether the verb `low` includes its object.
    pub fn has_clitic(&self, low: &str) -> bool {
        self.bare(low)
            .iter()
            .skip(1)
            .any(|form| self.imperatives.contains_key(form.as_str()) || self.is_infinitive(form))
    }

    /// `low`, and the forms left after removing its trailing clitics one by one, with and without
    /// the accents that clitics cause.
    fn bare(&self, low: &str) -> Vec<String> {
        let mut forms = vec![low.to_owned()];
        let mut rest = low;
        for _ in 0..AFFIXES_MAX {
            let shorter = self.grammar.clitics.iter().filter_map(|clitic| rest.strip_suffix(clitic.as_str()));
            let Some(shorter) = shorter.filter(|rest| rest.chars().count() > 1).min_by_key(|rest| rest.len()) else {
                break;
            };
            rest = shorter;
            forms.extend([rest.to_owned(), unaccented(rest)]);
        }
        forms
    }

    /// The verb that `known` finds for `low` or, after removing at most `prefixes_max` prefixes,
    /// for the rest; the prefixes are then restored.
    fn with_prefixes(
        &self,
        low: &str,
        prefixes_max: usize,
        known: &dyn Fn(&str) -> Option<&'static str>,
    ) -> Option<String> {
        if let Some(verb) = known(low) {
            return Some(verb.to_owned());
        }
        let prefixes = self.grammar.prefixes.iter().filter(|_| prefixes_max > 0);
        let mut split = prefixes.filter_map(|prefix| Some((prefix, low.strip_prefix(prefix.as_str())?)));
        split.find_map(|(prefix, rest)| {
            self.with_prefixes(rest, prefixes_max - 1, known).map(|verb| format!("{prefix}{verb}"))
        })
    }

    /// Whether `verb`, as written, is a form of a verb of the class.
    pub fn is_one_of(&self, class: Class, verb: &str) -> bool {
        self.imperative(verb).is_some_and(|lemma| self.is(&lemma, class))
            || self.bare(verb).iter().any(|form| self.is(form, class))
    }

    /// The phrases of a class that begin with `low`.
    pub fn phrases(&self, class: Class, low: &str) -> impl Iterator<Item = &'static str> {
        let all = self.phrases.get(low).into_iter().flatten();
        all.filter(move |(own, _)| *own == class).map(|(_, phrase)| *phrase)
    }

    /// Whether `low` is a word of a closed class.
    pub fn is_closed(&self, low: &str) -> bool {
        self.closed.contains(low)
    }

    /// Whether `low` indicates this language: a word of a closed class or a verb.
    pub fn has(&self, low: &str) -> bool {
        self.closed.contains(low)
            || elided(low).is_some_and(|(article, _)| self.closed.contains(article))
            || self.imperative(low).is_some()
            || self.is_known_infinitive(low)
    }
}

/// Whether `low` has at least `letters_min` letters and one of `endings`.
fn ends_in(low: &str, endings: &[String], letters_min: usize) -> bool {
    low.chars().count() >= letters_min && endings.iter().any(|ending| low.ends_with(ending))
}

/// `word` without Spanish accents on vowels.
fn unaccented(word: &str) -> String {
    let plain = |letter| match letter {
        'á' => 'a',
        'é' => 'e',
        'í' => 'i',
        'ó' => 'o',
        'ú' => 'u',
        _ => letter,
    };
    word.chars().map(plain).collect()
}

/// The elided word with its apostrophe, and the word after it: `l'` and `envoyer`.
pub(super) fn elided(low: &str) -> Option<(&str, &str)> {
    let at = low.find('\'').filter(|at| *at <= 2)?;
    Some(low.split_at(at + 1))
}

/// Minimum share, or number, of a text's words that must be in a table for the text to be in its
/// language.
const SHARE_MIN: f64 = 0.25;
const WORDS_MIN: usize = 2;

/// The table with the most words of a text, if there are more of them than `english` words. A text
/// that is mainly Cyrillic, or contains a Russian imperative, is Russian.
pub(super) fn choose(text: &str, tokens: &[Token], english: usize) -> Option<&'static Table> {
    let [.., russian] = &*TABLES;
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let cyrillic = text.chars().filter(|c| ('\u{0400}'..='\u{04FF}').contains(c)).count();
    let orders = |token: &Token| token.kind == Kind::Word && russian.imperative(&token.low).is_some();
    if cyrillic * 2 > letters || cyrillic > 0 && tokens.iter().any(orders) {
        return Some(russian);
    }
    let mut words: HashMap<&str, usize> = HashMap::new();
    // A single letter, or a name in code (`GiB`), does not indicate a language.
    let is_word = |token: &&Token| {
        let is_name = || shape::is_path(token.text) || token.text.chars().skip(1).any(char::is_uppercase);
        token.kind == Kind::Word && token.text.chars().nth(1).is_some() && !is_name()
    };
    for token in tokens.iter().filter(is_word) {
        *words.entry(&token.low).or_default() += 1;
    }
    let sum =
        |has: &dyn Fn(&str) -> bool| words.iter().filter(|(low, _)| has(low)).map(|(_, count)| count).sum::<usize>();
    let count = |table: &Table| sum(&|low| table.has(low));
    // Ties go to the first.
    let (table, count) = TABLES.iter().map(|table| (table, count(table))).rev().max_by_key(|(_, count)| *count)?;
    let foreign = sum(&|low| Language::English.is(low, Class::Foreign));
    let is_enough = count >= WORDS_MIN || count as f64 >= SHARE_MIN * sum(&|_| true) as f64;
    (count > english && is_enough && count > 2 * foreign).then_some(table)
}
