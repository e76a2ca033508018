//! Recognises an imperative verb, an object, a question, a connective or a polite phrase at a
//! token.

use super::head::Line;
use super::scan::Kind;
use super::verbs::{self, Class};
use super::words::*;
use crate::shape::is_marked;

/// The word at `at` in lower case; empty if the token is not a word.
pub(super) fn low<'t>(line: &'t Line, at: usize) -> &'t str {
    line.get(at).filter(|token| token.kind == Kind::Word).map_or("", |token| token.low.as_str())
}

pub(super) fn kind(line: &Line, at: usize) -> Option<Kind> {
    line.get(at).map(|token| token.kind)
}

/// Whether the token is a path, a file name, an identifier or a quotation, which can only be an
/// object.
pub(super) fn is_path(line: &Line, at: usize) -> bool {
    line.get(at).is_some_and(|token| match token.kind {
        Kind::Opaque => true,
        Kind::Word => is_marked(token.text),
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
    let next = low(line, verb + 1);
    let is_verb = !is_finite(next)
        && (has_object(line, verb)
            || match class {
                Class::Sure => true,
                // `Build times are up`: part of the subject.
                Class::Either if !next.is_empty() => !is_finite(low(line, verb + 2)),
                Class::Either => verb + 1 >= line.len() && is_deed(low(line, verb)),
                Class::Rarely => next.starts_with(|c: char| c.is_ascii_digit()),
            });
    is_verb.then_some(verb)
}

/// Whether a verb that refers to a project needs no object.
pub(super) fn is_deed(low: &str) -> bool {
    matches!(low, "commit" | "push" | "build" | "deploy" | "test" | "merge" | "stop" | "exit" | "quit")
}

/// Whether a determiner, a pronoun or a path follows, directly or after a particle
/// (`lock down this file`), which shows that the word is a verb.
pub(super) fn has_object(line: &Line, verb: usize) -> bool {
    let particle = usize::from(matches!(low(line, verb + 1), "up" | "down" | "off" | "out" | "away"));
    let next = low(line, verb + 1 + particle);
    is_determiner(next) || is_object_pronoun(next) || is_path(line, verb + 1 + particle)
}

/// Whether a question begins at `at`: `what is`, `how many`, `is my`, `who said`.
pub(super) fn opens_question(line: &Line, at: usize) -> bool {
    let (word, next) = (low(line, at), low(line, at + 1));
    match word {
        "why" | "when" | "where" => is_auxiliary(next),
        "which" => !next.is_empty() && !is_auxiliary(next) && !is_object_pronoun(next),
        "have" | "do" => matches!(next, "i" | "we" | "you" | "they" | "there" | "any" | "my" | "our"),
        _ if is_question_word(word) => !next.is_empty(),
        _ => is_auxiliary(word) && (is_subject(next) || is_path(line, at + 1)),
    }
}

/// Index of the token after `phrase`, if the line has it at `at`.
pub(super) fn starts(line: &Line, at: usize, phrase: &str) -> Option<usize> {
    let mut place = at;
    for word in phrase.split(' ') {
        if low(line, place) != word {
            return None;
        }
        place += 1;
    }
    Some(place)
}

/// Polite phrases before a request; a verb follows them.
pub(super) const LEADS: &str = "\
    can you, could you, would you, will you, can we, could we, i want you to, i need you to, i'd like you to, \
    i would like you to, i want to, i need to, i'd like to, i would like to, we need to, we want to, we should, \
    we must, we have to, i must, i have to, you should, you must, you need to, you can, let's, let us, \
    go ahead and, help me to, help me, help us, try to, make sure to, be sure to, remember to, don't forget to, \
    do not forget to, feel free to, proceed to, continue to, your task is to, the task is to, the goal is to, \
    please, kindly, just, i'm trying to, i am trying to, are you able to, is it possible to, \
    it would be great to, quickly, carefully, hey, hi, hello, ok, okay, sure, great, thanks, alright, claude, \
    well, so, now";

/// Skips `and`, `then`, `after that`, `first`, …, and the commas after them, but never past the
/// last token.
pub(super) fn skip_connectives(line: &Line, from: usize) -> usize {
    let mut at = from;
    for _ in 0..6 {
        let Some(next) = connective_end(line, at) else { break };
        if next >= line.len() {
            break;
        }
        at = next;
    }
    at
}

/// Connectives that always join.
pub(super) const JOINING: &str = "\
    and then, after that, after this, before that, before this, and, then, afterwards, afterward, subsequently, \
    once done, once that's done, once that is done, once this is done, once you're done, when done, \
    when that's done, when you're done, when you are done, when finished, once finished, as a last step, \
    as a final step, as a next step, as the last step, in addition, on top of that, last but not least, &, \
    plus, additionally, furthermore, moreover, meanwhile, to begin with, to start, at the end, in the end, \
    in the meantime, from there, while you're at it, while you are at it, followed by";

/// Words that only join if a comma, verb, question or polite phrase follows.
pub(super) const ORDERING: &str = "\
    first of all, first, firstly, second, secondly, third, thirdly, fourth, fifth, next, finally, lastly, last, \
    also, now, later, so, but, or, then also, to finish, start by, begin by";

/// Index of the token after one connective or punctuation mark at `at`.
pub(super) fn connective_end(line: &Line, at: usize) -> Option<usize> {
    if matches!(kind(line, at), Some(Kind::Comma | Kind::Dash | Kind::Colon)) {
        return Some(at + 1);
    }
    let after = |table: &str| entries(table).filter_map(|phrase| starts(line, at, phrase)).max();
    let past_comma = |end: usize| if kind(line, end) == Some(Kind::Comma) { end + 1 } else { end };
    if let Some(end) = after(JOINING) {
        return Some(past_comma(end));
    }
    let end = after(ORDERING)?;
    let opens = kind(line, end) == Some(Kind::Comma)
        || verb_at(line, end).is_some()
        || opens_question(line, end)
        || polite_end(line, end) > end
        || told(line, end).is_some()
        || matches!(low(line, end), "then" | "and" | "also" | "please");
    opens.then(|| past_comma(end))
}

/// Index after the connectives at `at`, if one of them (`then`, `next`, `finally`) separates two actions.
pub(super) fn strong_joint(line: &Line, at: usize) -> Option<usize> {
    let end = skip_connectives(line, at);
    let strong = (at..end).any(|i| {
        listed(
            "then, that, this, finally, next, lastly, afterwards, afterward, subsequently, also, done, \
            finished, step, later, first, second, third, additionally, meanwhile, there, plus, last, \
            followed, end, so",
            low(line, i),
        )
    });
    (strong && end > at && end < line.len()).then_some(end)
}

/// Index of the verb, after a word like `first`, for an action of the reader
/// (`you open the report`), but not for something the reader will encounter (`you get an error`).
pub(super) fn told(line: &Line, at: usize) -> Option<usize> {
    let meets = matches!(low(line, at + 1), "get" | "obtain" | "receive" | "find" | "end" | "land" | "reach" | "need");
    (low(line, at) == "you" && !meets).then(|| verb_at(line, at + 1)).flatten()
}

/// Skips `please`, `can you`, `I want you to`, …
pub(super) fn polite_end(line: &Line, from: usize) -> usize {
    let mut at = from;
    for _ in 0..5 {
        let Some(end) = entries(LEADS).filter_map(|lead| starts(line, at, lead)).max() else { break };
        let end = if kind(line, end) == Some(Kind::Comma) { end + 1 } else { end };
        if end >= line.len() {
            break;
        }
        at = end;
    }
    at
}
