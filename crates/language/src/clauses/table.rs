//! The words of each language whose sentences `by_table` splits; one table per language.

mod french;
mod german;
mod russian;
mod spanish;

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::scan::{Kind, Token};
use super::words::{entries, listed};
use crate::shape;

/// The data for a language. Phrases are separated by a comma and a space, words and endings by a
/// space.
pub(super) struct Words {
    /// Infinitives of verbs that begin orders.
    pub verbs: &'static str,
    /// Imperatives that cannot be derived from `verbs` by `endings`.
    pub imperatives: &'static str,
    /// Ending of an infinitive, and the endings of its imperatives; the first match is used.
    pub endings: &'static [(&'static str, &'static [&'static str])],
    /// Prefixes that turn a verb into another verb (`auf-`, `re-`, `пере-`).
    pub prefixes: &'static str,
    /// Endings that always mark an imperative, and endings that mark one if an object follows.
    pub imperative_endings: &'static str,
    pub object_endings: &'static str,
    /// Endings that always mark an infinitive, exceptions to them, and endings that mark one at the
    /// end of a clause.
    pub infinitive_endings: &'static str,
    pub noun_endings: &'static str,
    pub last_endings: &'static str,
    /// Endings that turn an imperative or infinitive into the verb of a wish: `que tu ouvre-s`.
    pub wish_endings: &'static [&'static str],
    /// Endings that always mark an action of the reader: `откро-ешь`.
    pub told_endings: &'static str,
    /// Verbs in that form for something the reader only encounters: `dann findest du …`.
    pub meets: &'static str,
    /// Pronouns and polite endings attached to an imperative or infinitive.
    pub clitics: &'static str,
    pub polite_endings: &'static str,
    /// A pronoun that turns the infinitive before it into an imperative: `öffnen Sie`.
    pub formal: &'static str,
    /// Whether the infinitive of an order is its last word: `die Datei öffnen`.
    pub verb_last: bool,
    /// Whether capitalised words are nouns, except at the start of a sentence.
    pub noun_capitals: bool,
    /// Words that have a verb's form but are not verbs.
    pub not_verbs: &'static str,

    /// Words that can join both clauses and nouns.
    pub joins: &'static str,
    /// Phrases that express sequence, and those that add something; a verb after one begins a
    /// clause.
    pub sequence: &'static str,
    pub additions: &'static str,
    /// Polite phrases before a request.
    pub leads: &'static str,
    /// Phrases of wishes, which are orders even if no verb follows.
    pub wants: &'static str,
    /// Phrases that join a wish to its verb: `je voudrais que tu`.
    pub wishes: &'static str,
    pub subordinators: &'static str,
    /// Conjunctions introducing a condition.
    pub conditions: &'static str,
    /// Phrases that introduce a purpose with an infinitive.
    pub purposes: &'static str,
    /// Things that act on their own: a relative clause about them is not an order.
    pub doers: &'static str,
    pub questions: &'static str,
    pub negations: &'static str,
    pub determiners: &'static str,
    pub prepositions: &'static str,
    /// Pronouns that are subjects of statements.
    pub subjects: &'static str,
    /// Pronouns that refer to the reader.
    pub addressees: &'static str,
    /// Pronouns that are objects or refer to something mentioned before.
    pub objects: &'static str,
    /// Words besides `objects` that may occur between a polite phrase or connective and an
    /// infinitive.
    pub before_infinitive: &'static str,
    /// Finite verbs of statements.
    pub finite: &'static str,

    /// Words that refer to a result, or to something that an earlier part mentions.
    pub back: &'static str,
    /// Four subsets of `verbs` and `imperatives`: verbs for only reporting something, for showing
    /// something, for looking something up, and for work in general.
    pub tells: &'static str,
    pub shows: &'static str,
    pub looks: &'static str,
    pub does: &'static str,
    /// Words that announce a list.
    pub following: &'static str,
}

/// The data for a language, with the forms of its verbs.
pub(super) struct Table {
    pub words: &'static Words,
    /// Each imperative with its infinitive, or with itself if the table lacks the infinitive.
    imperatives: HashMap<String, &'static str>,
    infinitives: HashSet<&'static str>,
    /// Every word of a closed class.
    closed: HashSet<&'static str>,
    /// Every phrase by its first word, with its list.
    phrases: HashMap<&'static str, Vec<(&'static str, &'static str)>>,
}

static TABLES: LazyLock<[Table; 4]> =
    LazyLock::new(|| [&german::WORDS, &french::WORDS, &spanish::WORDS, &russian::WORDS].map(Table::of));

/// Minimum number of letters in a word whose ending marks it as a verb: always, or if an object
/// follows.
const ENDING_LETTERS_MIN: usize = 5;
const OBJECT_ENDING_LETTERS_MIN: usize = 4;
/// Maximum number of prefixes, and of clitics, per verb: `wieder-her-stellen`, `envía-me-lo`.
const AFFIXES_MAX: usize = 2;

impl Table {
    fn of(words: &'static Words) -> Table {
        let infinitives: HashSet<&str> = words.verbs.split_whitespace().collect();
        let mut imperatives: HashMap<String, &str> = HashMap::new();
        for verb in words.verbs.split_whitespace() {
            let found = words.endings.iter().find_map(|(ending, own)| Some((verb.strip_suffix(ending)?, own)));
            let Some((stem, endings)) = found else { continue };
            imperatives.extend(endings.iter().map(|ending| (format!("{stem}{ending}"), verb)));
        }
        imperatives.extend(words.imperatives.split_whitespace().map(|form| (form.to_owned(), form)));
        let phrase_lists = [
            words.joins,
            words.sequence,
            words.additions,
            words.leads,
            words.wants,
            words.wishes,
            words.subordinators,
            words.conditions,
            words.purposes,
            words.questions,
        ];
        let mut phrases: HashMap<&str, Vec<(&str, &str)>> = HashMap::new();
        for list in phrase_lists {
            for phrase in entries(list) {
                phrases.entry(phrase.split(' ').next().unwrap_or_default()).or_default().push((list, phrase));
            }
        }
        let word_lists = [
            words.negations,
            words.determiners,
            words.prepositions,
            words.subjects,
            words.objects,
            words.before_infinitive,
            words.finite,
            words.not_verbs,
        ];
        let lists = phrase_lists.into_iter().chain(word_lists);
        let closed = lists.flat_map(entries).filter(|entry| !entry.contains(' ')).collect();
        Table { words, imperatives, infinitives, closed, phrases }
    }

    /// The verb whose imperative is `low`, with its prefixes; `None` if the table has none.
    pub fn imperative(&self, low: &str) -> Option<String> {
        if self.closed.contains(low) {
            return None;
        }
        let polite = self.words.polite_endings.split_whitespace().filter_map(|ending| low.strip_suffix(ending));
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
            unaccented(form) != *form && ends_in(form, self.words.object_endings, OBJECT_ENDING_LETTERS_MIN)
        };
        forms.find(is_accented)
    }

    /// Whether the ending of `low` marks an imperative.
    pub fn has_imperative_ending(&self, low: &str) -> bool {
        !self.closed.contains(low) && ends_in(low, self.words.imperative_endings, ENDING_LETTERS_MIN)
    }

    /// Whether `low` is an imperative if an object follows.
    pub fn may_be_imperative(&self, low: &str) -> bool {
        !self.closed.contains(low) && ends_in(low, self.words.object_endings, OBJECT_ENDING_LETTERS_MIN)
    }

    /// Whether `low` is an infinitive, with or without clitics.
    pub fn is_infinitive(&self, low: &str) -> bool {
        self.bare(low).iter().any(|form| self.is_bare_infinitive(form))
    }

    /// Whether `low` is an infinitive in the table, or has the ending of one.
    fn is_bare_infinitive(&self, low: &str) -> bool {
        let is_noun = || self.words.noun_endings.split_whitespace().any(|ending| low.ends_with(ending));
        let has_ending = || ends_in(low, self.words.infinitive_endings, ENDING_LETTERS_MIN) && !is_noun();
        !self.closed.contains(low) && (self.is_known_infinitive(low) || has_ending())
    }

    /// Whether `low` is an infinitive if it ends an order.
    pub fn may_be_last(&self, low: &str) -> bool {
        !self.closed.contains(low) && ends_in(low, self.words.last_endings, ENDING_LETTERS_MIN)
    }

    fn is_known_infinitive(&self, low: &str) -> bool {
        let known = |stem: &str| self.infinitives.get(stem).copied();
        self.with_prefixes(low, AFFIXES_MAX, &known).is_some()
    }

    /// Whether `low` is the verb of a wish.
    pub fn is_wished(&self, low: &str) -> bool {
        let mut forms = self.words.wish_endings.iter().filter_map(|ending| low.strip_suffix(ending));
        forms.any(|form| self.imperative(form).is_some() || self.is_known_infinitive(form))
    }

    /// Whether `low` is a verb in the form for the reader's actions.
    pub fn is_told(&self, low: &str) -> bool {
        !self.closed.contains(low)
            && !listed(self.words.meets, low)
            && (self.is_wished(low) || ends_in(low, self.words.told_endings, ENDING_LETTERS_MIN))
    }

    /// Whether the verb `low` includes its object.
    pub fn has_clitic(&self, low: &str) -> bool {
        self.bare(low)
            .iter()
            .skip(1)
            .any(|form| self.imperatives.contains_key(form.as_str()) || self.is_infinitive(form))
    }

    /// `low`, and the forms left after removing its trailing clitics one by one, with and without
    /// accents caused by clitics.
    fn bare(&self, low: &str) -> Vec<String> {
        let mut forms = vec![low.to_owned()];
        let mut rest = low;
        for _ in 0..AFFIXES_MAX {
            let shorter = self.words.clitics.split_whitespace().filter_map(|clitic| rest.strip_suffix(clitic));
            let Some(shorter) = shorter.filter(|rest| rest.chars().count() > 1).min_by_key(|rest| rest.len()) else {
                break;
            };
            rest = shorter;
            forms.extend([rest.to_owned(), unaccented(rest)]);
        }
        forms
    }

    /// The verb that `known` finds for `low` or, after removing at most `prefixes_max` prefixes,
    /// for the rest; the prefixes are then put back.
    fn with_prefixes(
        &self,
        low: &str,
        prefixes_max: usize,
        known: &dyn Fn(&str) -> Option<&'static str>,
    ) -> Option<String> {
        if let Some(verb) = known(low) {
            return Some(verb.to_owned());
        }
        let prefixes = self.words.prefixes.split_whitespace().filter(|_| prefixes_max > 0);
        let mut split = prefixes.filter_map(|prefix| Some((prefix, low.strip_prefix(prefix)?)));
        split.find_map(|(prefix, rest)| {
            self.with_prefixes(rest, prefixes_max - 1, known).map(|verb| format!("{prefix}{verb}"))
        })
    }

    /// Whether `verb`, as written, is a form of one of the verbs in `list`.
    pub fn is_one_of(&self, list: &str, verb: &str) -> bool {
        self.imperative(verb).is_some_and(|lemma| listed(list, &lemma))
            || self.bare(verb).iter().any(|form| listed(list, form))
    }

    /// The phrases of `list`, one of the fields of [`Words`], that begin with `low`.
    pub fn phrases(&self, list: &'static str, low: &str) -> impl Iterator<Item = &'static str> {
        let all = self.phrases.get(low).into_iter().flatten();
        all.filter(move |(own, _)| *own == list).map(|(_, phrase)| *phrase)
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
fn ends_in(low: &str, endings: &str, letters_min: usize) -> bool {
    low.chars().count() >= letters_min && endings.split_whitespace().any(|ending| low.ends_with(ending))
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

/// The elided word with its apostrophe, and the next word: `l'` and `envoyer`.
pub(super) fn elided(low: &str) -> Option<(&str, &str)> {
    let at = low.find('\'').filter(|at| *at <= 2)?;
    Some(low.split_at(at + 1))
}

/// Words of Italian, Portuguese and Dutch; texts in these languages would otherwise be mistaken for
/// one of the tables' languages.
const FOREIGN: &str = "\
    il, gli, di, che, per, nel, della, sono, un', o, os, um, uma, do, da, em, não, com, depois, \
    het, een, van, niet, naar, daarna";
/// Minimum share, or number, of words in a text that must be in a table for the text to be in its
/// language.
const SHARE_MIN: f64 = 0.25;
const WORDS_MIN: usize = 2;

/// The table that contains the most words of a text, if these outnumber its `english` words. A text
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
    let foreign = sum(&|low| listed(FOREIGN, low));
    let is_enough = count >= WORDS_MIN || count as f64 >= SHARE_MIN * sum(&|_| true) as f64;
    (count > english && is_enough && count > 2 * foreign).then_some(table)
}
