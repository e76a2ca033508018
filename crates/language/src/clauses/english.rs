//! Splits an English sentence into clauses, each asking for one action or answer.

use super::clause::{Clause, finish, lend_objects};
use super::head::{Head, Line, Mode, head};
use super::lookahead::{
    has_object, is_deed, is_path, kind, low, opens_question, polite_end, strong_joint, told, verb_at,
};
use super::scan::Kind;
use super::verbs::{self, Class};
use super::words::*;

/// A place where one clause ends and the next begins.
struct Joint {
    end: usize,
    next: usize,
    /// Whether it contains a word like `then`, not just a comma or `and`.
    strong: bool,
}

/// The clauses of `line`, in order; at least one unless the line is empty. If `whole`, only words
/// like `then` split it.
pub(super) fn cut(line: &Line, whole: bool) -> Vec<Clause> {
    let mut clauses: Vec<Clause> = Vec::new();
    let mut opening = head(line, 0);
    let mut from = opening.start;
    let mut strong = false;
    // After a word like `then`, a clause without a verb borrows the previous one.
    let borrows = |strong: bool, from: usize| strong && !is_subordinator(low(line, from));
    let mut at = opening.verb.unwrap_or(from) + 1;
    while at < line.len() {
        let found = joint(line, from, at, &opening);
        if let Some(joint) = found.filter(|joint| joint.strong || !whole) {
            finish(line, &mut clauses, from, joint.end, opening, borrows(strong, from));
            opening = head(line, joint.next);
            from = opening.start;
            strong = joint.strong;
            at = opening.verb.unwrap_or(from).max(joint.next);
        }
        at += 1;
    }
    finish(line, &mut clauses, from, line.len(), opening, borrows(strong, from));
    lend_objects(&mut clauses, |_| false, |at| is_preposition(low(line, at)));
    clauses
}

/// The joint at token `at`, if the sentence splits there.
fn joint(line: &Line, from: usize, at: usize, left: &Head) -> Option<Joint> {
    if at <= from {
        return None;
    }
    let comma = matches!(line[at].kind, Kind::Comma | Kind::Dash);
    let word = low(line, at);
    let may_be_strong = comma
        || matches!(
            word,
            "and" | "then" | "also" | "plus" | "after" | "before" | "afterwards" | "finally" | "followed" | "but"
        );
    let strong = strong_joint(line, at).filter(|&next| may_be_strong && joins(line, at, next));
    if let Some(next) = strong {
        let next = told(line, next).unwrap_or(next);
        return Some(Joint { end: at, next, strong: true });
    }
    if !comma && !matches!(word, "and" | "&" | "plus") {
        return None;
    }
    let joined = comma && matches!(low(line, at + 1), "and" | "&" | "plus" | "so");
    let next = at + 1 + usize::from(joined);
    let cuts = next < line.len() && opens_clause(line, at, next, comma, left);
    cuts.then_some(Joint { end: at, next, strong: false })
}

/// Whether the strong connective `at..next` really joins two actions.
fn joins(line: &Line, at: usize, next: usize) -> bool {
    let thing = low(line, next);
    // `Run the linter, then the tests`
    let elided = (at..next).any(|i| low(line, i) == "then")
        && !thing.is_empty()
        && (is_determiner(thing) || !is_subject(thing))
        && !is_adverb(thing)
        && !(next..line.len()).any(|i| is_finite(low(line, i)));
    elided
        || verb_at(line, next).is_some()
        || told(line, next).is_some()
        || opens_question(line, next)
        || polite_end(line, next) > next
}

/// Whether the words at `next`, after a comma or `and` at `at`, begin a separate clause.
fn opens_clause(line: &Line, at: usize, next: usize, comma: bool, left: &Head) -> bool {
    if left.conditional && left.mode == Mode::Request {
        return false;
    }
    if opens_question(line, next) {
        // `In src/a.rs, what …`: a place, then the question.
        if comma && left.mode == Mode::Question && is_path(line, at - 1) && !opens_question(line, left.start) {
            return false;
        }
        // Excludes `tell me what …, why … and how …`.
        let asks = |i: usize| is_question_word(low(line, i)) || matches!(low(line, i), "if" | "whether");
        return !left.verb.is_some_and(|verb| (verb + 1..at.min(verb + 8)).any(asks));
    }
    // `, in src/a.rs change the title`: a place, then an action there.
    let placed = comma && matches!(low(line, next), "in" | "inside" | "within") && is_path(line, next + 1);
    let Some(verb) = verb_at(line, if placed { next + 2 } else { next }) else { return false };
    let object = has_object(line, verb);
    match left.mode {
        Mode::Request => request_joins(line, at, verb, comma, left.verb),
        Mode::Statement => comma && object && verbs::class(low(line, verb)) != Some(Class::Rarely),
        Mode::Question => comma || object && !left.infinitive,
    }
}

fn request_joins(line: &Line, at: usize, verb: usize, comma: bool, left: Option<usize>) -> bool {
    let Some(left) = left else { return comma };
    let object = has_object(line, verb);
    let next = low(line, verb + 1);
    if at == left + 1 {
        let is_pair =
            matches!((low(line, left), low(line, verb)), ("search" | "find", "replace") | ("copy" | "cut", "paste"));
        let goes_on = matches!(kind(line, verb + 1), Some(Kind::Word | Kind::Opaque));
        return !is_pair && (object || goes_on || comma || is_deed(low(line, verb)));
    }
    // `read and write access`: two coordinated verbs inside a noun phrase.
    let before = verbs::class(low(line, at - 1));
    if !comma && !object && before.is_some_and(|class| class != Class::Rarely) {
        return false;
    }
    // `a script to read …, parse … and print …`: the clauses state the purpose of something to be
    // made. The subject of a task or an email ends at a comma.
    let purpose =
        |i: usize| low(line, i) == "to" && verb_at(line, i + 1).is_some() || matches!(low(line, i), "that" | "which");
    let is_matter = || (left + 1..at).take_while(|&i| !purpose(i)).any(|i| is_matter(low(line, i)));
    if makes_thing(low(line, left)) && (left + 2..at).any(purpose) && !(comma && is_matter()) {
        return false;
    }
    // A comma is not used between just two items: `list the invoices, and block time for them`.
    let is_lone = || !(left..at).any(|i| kind(line, i) == Some(Kind::Comma));
    let opens = comma && verb > at + 1 && kind(line, verb + 1) == Some(Kind::Word) && is_lone();
    let plural = |i: usize| low(line, i).len() > 3 && low(line, i).ends_with('s') && !low(line, i).ends_with("ss");
    match verbs::class(low(line, verb)) {
        _ if object => true,
        Some(Class::Sure) => true,
        Some(Class::Either) => {
            is_preposition(next) && !matches!(next, "of" | "in" | "as")
                || opens
                || line.get(verb + 1).is_some_and(|token| token.is_capitalised())
                || (verb + 1..verb + 4).any(plural)
                || next.is_empty() && is_deed(low(line, verb))
        }
        _ => false,
    }
}
