//! Recognises what a word is in its place: an imperative verb, a certain object, the start of a question.

use super::head::Line;
use super::scan::Kind;
use super::verbs::{self, Class};
use super::words::*;

/// The word at `at` in lower case; empty if the token is no word.
pub(super) fn low<'t>(line: &'t Line, at: usize) -> &'t str {
    line.get(at).filter(|token| token.kind == Kind::Word).map_or("", |token| token.low.as_str())
}

pub(super) fn kind(line: &Line, at: usize) -> Option<Kind> {
    line.get(at).map(|token| token.kind)
}

/// Whether the token is a path, a file name, an identifier or a quotation, which can only be an object.
pub(super) fn is_path(line: &Line, at: usize) -> bool {
    line.get(at).is_some_and(|token| match token.kind {
        Kind::Opaque => true,
        Kind::Word => {
            token.text.contains(['/', '\\', '_', '~', '='])
                || token.text.contains('.') && !token.text.ends_with('.')
                || token.text.chars().skip(1).any(char::is_uppercase)
                || token.text.ends_with("()")
        }
        _ => false,
    })
}

pub(super) fn skip_adverbs(line: &Line, from: usize) -> usize {
    let mut at = from;
    while at < line.len() && at < from + 3 && (is_adverb(low(line, at)) || low(line, at) == "to" && at > from) {
        at += 1;
    }
    at
}

/// Index of the imperative verb at `at`, or after adverbs there.
pub(super) fn verb_at(line: &Line, at: usize) -> Option<usize> {
    let verb = skip_adverbs(line, at);
    let class = verbs::class(low(line, verb))?;
    if is_path(line, verb) || line[verb].text.len() > 1 && line[verb].text.chars().all(char::is_uppercase) {
        return None;
    }
    let next = low(line, verb + 1);
    if is_finite(next) || next == "'s" || next == "of" && class != Class::Sure {
        return None;
    }
    if class == Class::Sure {
        // In `Build times are up`, `build` is part of the subject.
        return (!subject_of_finite(line, verb) || is_determiner(next) || is_object_pronoun(next)).then_some(verb);
    }
    let alone = match next {
        "" => verb + 1 >= line.len() && is_deed(low(line, verb)),
        "and" => verbs::class(low(line, verb + 2)).is_some(),
        _ => !subject_of_finite(line, verb),
    };
    (helped(line, verb) || class == Class::Either && alone).then_some(verb)
}

/// Verbs that need no object in a project.
pub(super) fn is_deed(low: &str) -> bool {
    matches!(low, "commit" | "push" | "build" | "deploy" | "test" | "merge" | "stop" | "exit" | "quit")
}

/// Whether the words after a verb show that it is one: an object or preposition that would not follow a noun.
pub(super) fn helped(line: &Line, verb: usize) -> bool {
    let next = low(line, verb + 1);
    let sure = verbs::class(low(line, verb)) == Some(Class::Sure) && !is_describing(low(line, verb));
    is_determiner(next)
        || is_object_pronoun(next)
        || is_path(line, verb + 1)
        || matches!(next, "up" | "down" | "out" | "off" | "away") && verb + 2 < line.len()
        || next.bytes().next().is_some_and(|b| b.is_ascii_digit())
        || verbs::class(low(line, verb)) != Some(Class::Rarely)
            && (is_preposition(next) && !matches!(next, "of" | "in")
                || line.get(verb + 1).is_some_and(|t| t.is_capitalised()))
        || sure
}

/// Whether the word begins a subject: a finite verb follows before anything that ends a noun phrase.
pub(super) fn subject_of_finite(line: &Line, at: usize) -> bool {
    for i in at + 1..line.len().min(at + 5) {
        let word = low(line, i);
        if is_finite(word) {
            return true;
        }
        if word.is_empty()
            || is_determiner(word)
            || is_preposition(word)
            || is_question_word(word)
            || is_object_pronoun(word)
        {
            return false;
        }
    }
    false
}

/// Whether a question begins at `at`: `what is`, `how many`, `is my`, `who said`.
pub(super) fn opens_question(line: &Line, at: usize) -> bool {
    let (word, next) = (low(line, at), low(line, at + 1));
    match word {
        "what" | "what's" | "where's" | "who's" | "how's" | "when's" | "why's" => !next.is_empty(),
        "which" => !next.is_empty() && !is_auxiliary(next) && !is_object_pronoun(next),
        "who" | "whose" | "whom" => !next.is_empty(),
        "how" => {
            is_auxiliary(next) || listed("many, much, big, long, often, far, large, to, old, fast, come, about", next)
        }
        "why" => is_auxiliary(next) || next == "not",
        "when" | "where" => is_auxiliary(next),
        "have" | "do" => matches!(next, "i" | "we" | "you" | "they" | "there" | "any" | "my" | "our"),
        "may" | "might" | "must" | "had" => matches!(next, "i" | "we"),
        _ => {
            is_auxiliary(word) && is_subject(next)
                || is_auxiliary(word) && line.get(at + 1).is_some_and(|t| t.is_capitalised() || t.kind == Kind::Opaque)
                || is_auxiliary(word) && is_path(line, at + 1)
        }
    }
}
