//! Joins related steps: pieces of one change, one repair, one question.

use crate::kind::{self, Kind};
use crate::language::{clauses, grounding, shape, words};

use super::{GAP_WORDS, place_of};

/// The words of a request from the beginning of `earlier` to the end of `later`, if it contains
/// both in this order.
fn span(earlier: &str, later: &str, request: &str) -> String {
    match place_of(earlier, request).zip(place_of(later, request)) {
        Some((begin, end)) if begin.start < end.start => request[begin.start..end.end.max(begin.end)].to_owned(),
        _ => format!("{earlier} {later}"),
    }
}

/// Joins steps that ask for nothing by themselves to the neighbouring change: prohibitions, and
/// pieces of the change's sentence that were read as questions.
pub(super) fn join_fragments(steps: &mut Vec<(Kind, String)>, request: &str) {
    let is_change = |kind: Kind| matches!(kind, Kind::Edit | Kind::Fix);
    let mut at = 0;
    while at < steps.len() {
        let (kind, text) = &steps[at];
        let says_more = match kind {
            Kind::Ask => !kind::asks_something(text),
            Kind::Edit => kind::only_forbids(text),
            _ => false,
        };
        if !says_more {
            at += 1;
        } else if at > 0 && is_change(steps[at - 1].0) {
            steps[at - 1].1 = span(&steps[at - 1].1, text, request);
            steps.remove(at);
        } else if steps.get(at + 1).is_some_and(|(next, _)| is_change(*next)) {
            steps[at + 1].1 = span(text, &steps[at + 1].1, request);
            steps.remove(at);
        } else {
            at += 1;
        }
    }
}

/// Combines steps that report failing tests or a failing command, and steps that ask to fix them,
/// into one repair.
pub(super) fn join_repairs(steps: &mut Vec<(Kind, String)>, request: &str) {
    if !(kind::is_about_red_tests(request) || kind::is_red(request) && kind::quoted_command(request).is_some()) {
        return;
    }
    let quoted = kind::quoted_command(request);
    let belongs = |(kind, text): &(Kind, String)| {
        let is_command = *kind == Kind::Run
            && quoted.as_ref().is_some_and(|line| text.contains(line.as_str()) || line.contains(text.as_str()));
        is_command || matches!(kind, Kind::Ask | Kind::Edit | Kind::Fix) && kind::only_mends(text)
    };
    let Some(first) =
        steps.iter().position(|step| belongs(step) && kind::is_red(&step.1)).or_else(|| steps.iter().position(belongs))
    else {
        return;
    };
    let mut end = first + 1;
    while end < steps.len() && belongs(&steps[end]) {
        steps[first].1 = span(&steps[first].1, &steps[end].1.clone(), request);
        end += 1;
    }
    steps.drain(first + 1..end);
    if steps.len() == 1 || kind::is_red(&steps[first].1) {
        steps[first].0 = Kind::Fix;
    }
}

/// Joins a short question to the previous question in its sentence:
/// `What is the default and who uses it?`.
pub(super) fn join_questions_of_a_sentence(steps: &mut Vec<(Kind, String)>, request: &str) {
    steps.dedup_by(|(kind, text), (before, earlier)| {
        let joined = span(earlier, text, request);
        let is_one = grounding::sentences(joined.trim_end_matches(['?', '.'])).len() == 1 && request.contains(&joined);
        let is_short = words::content(text).len() < GAP_WORDS;
        let goes_on = *kind == Kind::Ask && *before == Kind::Ask && is_one && is_short;
        if goes_on {
            *earlier = joined;
        }
        goes_on
    });
}

/// Joins a command to the previous edit if it only states how to make that edit: `with node:test`.
pub(super) fn join_means(steps: &mut Vec<(Kind, String)>, request: &str) {
    steps.dedup_by(|(kind, text), (before, earlier)| {
        let is_with = || {
            let begin = request.find(text.as_str()).unwrap_or(0);
            let words = request[..begin].trim_end().rsplit(' ').next().map(str::to_lowercase);
            ["with", "using", "mit", "avec", "con"]
                .iter()
                .any(|word| words.as_deref() == Some(word) || text.to_lowercase().starts_with(&format!("{word} ")))
        };
        let goes_on = *kind == Kind::Run
            && *before == Kind::Edit
            && (is_with() || !kind::has_word(text, kind::COMMANDS) && !text.contains('`'));
        if goes_on {
            *earlier = span(earlier, text, request);
        }
        goes_on
    });
}

/// Joins the form of an answer to its question: `Who calls f? List all of them`.
pub(super) fn join_forms_of_answers(steps: &mut Vec<(Kind, String)>) {
    steps.dedup_by(|(kind, text), (before, earlier)| {
        let names = text.split_whitespace().any(shape::is_coined_word);
        let goes_on = *kind == Kind::Ask && *before == Kind::Ask && kind::says_how(text) && !names;
        if goes_on {
            *earlier = format!("{earlier} {text}");
        }
        goes_on
    });
}

/// Joins an edit to the previous edit if it has no verb or begins with a name from that edit:
/// `make f() take a path too. f('a') should be 'b'`.
pub(super) fn join_edits_without_verb(steps: &mut Vec<(Kind, String)>) {
    steps.dedup_by(|(kind, text), (before, earlier)| {
        let has_verb = || kind::has_order(text) || clauses::parts(text).iter().any(|part| part.verb.is_some());
        let is_inside = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '.' | '$');
        let end = text.find(|letter| !is_inside(letter)).unwrap_or(text.len());
        let (first, rest) = text.split_at(end);
        let is_name = (shape::is_coined_word(first) || rest.starts_with('(')) && !first.is_empty();
        let goes_on = is_name && grounding::is_backed(earlier, first);
        let joins = *kind == Kind::Edit && *before == Kind::Edit && (goes_on || !has_verb());
        if joins {
            *earlier = format!("{earlier} {text}");
        }
        joins
    });
}
