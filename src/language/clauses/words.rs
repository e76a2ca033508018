//! The closed classes of English words for the clause rules.

use crate::language::lexicon::{Class, Language, listed};

/// Turns each row into a function that says whether a lower-case English word has the class.
macro_rules! classes {
    ($($(#[$about:meta])* $name:ident = $class:ident;)*) => {
        $($(#[$about])* pub fn $name(low: &str) -> bool { Language::English.is(low, Class::$class) })*
    };
}

classes! {
    is_determiner = Determiner;
    is_object_pronoun = Object;
    is_preposition = Preposition;
    opens_phrase = OpensPhrase;
    is_subordinator = Subordinator;
    is_condition = Condition;
    is_auxiliary = Auxiliary;
    is_subject = Subject;
    is_question_word = Question;
    is_connective = Connective;
    is_outcome = Outcome;
    points_back = Refers;
    only_looks = Looks;
    only_tells = Tells;
    makes_thing = MakesThing;
    is_matter = Matter;
    shows = Shows;
    means_any_work = Does;
    announces = Following;
}

/// Whether a word before the verb of a request does not affect its meaning, in any language.
pub fn is_polite(low: &str) -> bool {
    listed(Class::Polite, low)
}

/// Finite verb forms: the word before one is a subject, not an object.
pub fn is_finite(low: &str) -> bool {
    is_auxiliary(low) && !matches!(low, "do" | "have") || Language::English.is(low, Class::Finite)
}

/// Adverbs that may be between a connective and its verb.
pub fn is_adverb(low: &str) -> bool {
    let english = |class: Class| Language::English.is(low, class);
    english(Class::Adverb) || low.len() > 4 && low.ends_with("ly") && !english(Class::NotAdverb)
}
