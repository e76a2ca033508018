//! English verbs that can begin a request, by how certainly the bare word is a verb.

use crate::language::lexicon::{self, Language};

/// How certainly a bare word is a verb, and which words must follow it in an imperative if that is
/// uncertain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Almost never a noun: `extract`, `delete`.
    Sure,
    /// A noun just as often: `report`, `test`. Must be followed by an object or a preposition.
    Either,
    /// Mostly a noun or adjective: `name`, `clean`. Must be followed by a determiner, a pronoun or
    /// a name.
    Rarely,
}

/// The class of a lower-case word; `None` if it is no verb that begins requests. A verb with a prefix
/// such as `re-`, and a word that only verbs end like, are sure.
pub fn class(low: &str) -> Option<Class> {
    let grammar = &Language::English.lexicon().grammar;
    let is_again = || {
        let mut rests = grammar.prefixes.iter().filter_map(|prefix| low.strip_prefix(prefix.as_str()));
        rests.any(|rest| matches!(listed(rest), Some(Class::Sure | Class::Either)))
    };
    let has_ending = || {
        low.len() >= ENDING_BYTES_MIN && grammar.infinitive_endings.iter().any(|ending| low.ends_with(ending.as_str()))
    };
    listed(low).or_else(|| (has_ending() || is_again()).then_some(Class::Sure))
}

/// Minimum length of a word whose ending marks it as a verb, in bytes: `verify`, but not `size`.
const ENDING_BYTES_MIN: usize = 6;

/// The class that the file of words gives a word.
fn listed(low: &str) -> Option<Class> {
    let classes = [
        (lexicon::Class::NounOrVerb, Class::Rarely),
        (lexicon::Class::VerbOrNoun, Class::Either),
        (lexicon::Class::Verb, Class::Sure),
    ];
    classes.into_iter().find_map(|(of, class)| Language::English.is(low, of).then_some(class))
}

/// Whether a word is a verb at least as often as a noun.
pub fn is_likely(low: &str) -> bool {
    matches!(class(low), Some(Class::Sure | Class::Either))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_are_listed_or_formed_by_rule() {
        let check = |low: &str, expected: Option<Class>| assert_eq!(class(low), expected, "{low}");
        check("fetch", Some(Class::Sure));
        check("refetch", Some(Class::Sure));
        check("re-sort", Some(Class::Sure));
        check("sort", Some(Class::Either));
        check("colour", Some(Class::Rarely));
        check("normalise", Some(Class::Sure));
        check("organise", Some(Class::Sure));
        check("clarify", Some(Class::Sure));
        check("prize", None);
        check("reason", Some(Class::Rarely));
        check("teapot", None);
    }
}
