//! A clause of a sentence, and what it borrows from neighbouring clauses.

use super::head::{Head, Line, Mode};
use super::scan::Kind;

/// A clause of a sentence: tokens `from..to`, without connectives.
#[derive(Clone, Debug)]
pub(super) struct Clause {
    pub from: usize,
    pub to: usize,
    pub head: Head,
    /// Verb borrowed from the previous clause, if this one has none:
    /// `run the linter, then the tests`.
    pub borrowed_verb: Option<usize>,
    /// Object (token range) borrowed from the next clause, if this one has none:
    /// `build and test the project`.
    pub borrowed_object: Option<(usize, usize)>,
}

/// Adds the clause `from..to` without final punctuation. If `borrows`, a clause without a verb
/// borrows the previous one's.
pub(super) fn finish(line: &Line, clauses: &mut Vec<Clause>, from: usize, to: usize, head: Head, borrows: bool) {
    let mut to = to;
    while to > from
        && matches!(
            line[to - 1].kind,
            Kind::Comma | Kind::Stop | Kind::Semicolon | Kind::Dash | Kind::Colon | Kind::Bang
        )
    {
        to -= 1;
    }
    if from >= to {
        return;
    }
    let borrows = borrows && head.mode == Mode::Statement;
    let borrowed_verb = clauses.last().filter(|_| borrows).and_then(|before| before.head.verb.or(before.borrowed_verb));
    let head = if borrowed_verb.is_some() { Head { mode: Mode::Request, ..head } } else { head };
    clauses.push(Clause { from, to, head, borrowed_verb, borrowed_object: None });
}

/// Gives a verb without an object the object of the next clause that has one:
/// `Build, test and deploy the app`. `has_object` returns whether the verb at an index includes its
/// object; `is_preposition`, whether the word at an index is a preposition, so that no object is
/// there.
pub(super) fn lend_objects(
    clauses: &mut [Clause],
    has_object: impl Fn(usize) -> bool,
    is_preposition: impl Fn(usize) -> bool,
) {
    let mut lent: Option<(usize, usize)> = None;
    for clause in clauses.iter_mut().rev() {
        let is_bare_order = clause.head.mode == Mode::Request && !clause.head.infinitive;
        let Some(verb) = clause.head.verb.filter(|_| is_bare_order) else {
            lent = None;
            continue;
        };
        if has_object(verb) {
            lent = None;
        } else if verb + 1 < clause.to {
            lent = (!is_preposition(verb + 1)).then_some((verb + 1, clause.to));
        } else {
            clause.borrowed_object = lent;
        }
    }
}
