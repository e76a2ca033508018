//! Decides what kind of English clause begins at a word: a request, a question, a statement or a constraint.

use super::lookahead::{
    helped, is_path, kind, low, opens_question, polite_end, skip_adverbs, skip_connectives, starts, verb_at,
};
use super::scan::{Kind, Token};
use super::verbs;
use super::words::*;

/// The tokens of one sentence, without line ends.
pub(super) type Line<'t, 'a> = [&'t Token<'a>];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Asks for something to be done.
    Request,
    /// Asks for an answer.
    Question,
    /// States a fact.
    Statement,
    /// Says what must or must not be so, with nothing to do of its own: `don't touch the API`.
    Constraint,
}

/// How a clause begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub mode: Mode,
    /// Index of the first word that is no connective.
    pub start: usize,
    /// Index of the imperative verb of a request.
    pub verb: Option<usize>,
    /// The verb comes after an `if`, `when` or `unless`.
    pub conditional: bool,
    /// A question whose verb is a bare infinitive: `how do I …`.
    pub infinitive: bool,
}

/// Longest phrase that may stand before a verb without a comma, in tokens: `In src/a.rs and src/b.rs rename …`.
const OPENING_MAX: usize = 16;

/// How the clause at `from` begins. `from` must lie in `line`.
pub(super) fn head(line: &Line, from: usize) -> Head {
    let start = skip_connectives(line, from);
    begin(line, start, 0).at(start)
}

impl Head {
    fn new(mode: Mode, verb: Option<usize>) -> Head {
        Head { mode, start: 0, verb, conditional: false, infinitive: false }
    }

    fn at(self, start: usize) -> Head {
        Head { start, ..self }
    }
}

/// Like [`head`], for a clause without connectives; `depth` counts the recursion.
fn begin(line: &Line, from: usize, depth: usize) -> Head {
    let statement = Head::new(Mode::Statement, None);
    if depth > 4 || from >= line.len() {
        return statement;
    }
    let at = polite_end(line, from);
    let polite = at > from;
    let word = low(line, at);
    if matches!(word, "don't" | "dont" | "never" | "avoid" | "without") || starts(line, at, "do not").is_some() {
        return Head::new(Mode::Constraint, None);
    }
    if opens_question(line, at) && !polite {
        return question(line, at);
    }
    if is_subordinator(word) {
        return subordinate(line, at, depth).unwrap_or(statement);
    }
    if let Some(verb) = verb_at(line, at) {
        return Head::new(Mode::Request, Some(verb));
    }
    if polite && matches!(word, "know" | "understand" | "see" | "hear" | "be" | "have") {
        return Head::new(Mode::Request, Some(at));
    }
    if polite {
        let skipped = skip_adverbs(line, at);
        if verbs::class(low(line, skipped)).is_some()
            || line.get(skipped).is_some_and(|t| t.kind == Kind::Word && low(line, skipped).len() > 2)
        {
            let inner =
                if is_subject(word) || opens_phrase(word) { begin(line, skipped, depth + 1) } else { statement };
            let verb = verbs::class(low(line, skipped)).map(|_| skipped).or(inner.verb);
            return if verb.is_some() { Head::new(Mode::Request, verb) } else { inner };
        }
    }
    if opens_phrase(word) || (word == "by" && low(line, at + 1) == "the") {
        return phrase(line, at, depth).unwrap_or(statement);
    }
    if matches!(starts(line, at, "i need").or(starts(line, at, "i want")).or(starts(line, at, "i'd like")), Some(end) if end < line.len() && !low(line, end).is_empty())
    {
        return Head::new(Mode::Request, Some(at + 1));
    }
    labelled(line, at, depth).unwrap_or(statement)
}

/// How a question begins: with a bare infinitive after `do`, `can` and the like.
fn question(line: &Line, at: usize) -> Head {
    let (word, second) = (low(line, at), low(line, at + 1));
    let infinitive = [word, second]
        .iter()
        .any(|w| matches!(*w, "do" | "does" | "did" | "can" | "could" | "should" | "would" | "will"))
        || second == "to";
    Head { infinitive, ..Head::new(Mode::Question, None) }
}

/// How `Task: read …` and `Alice, read …` begin: a label or a name before the verb.
fn labelled(line: &Line, at: usize, depth: usize) -> Option<Head> {
    for ahead in 1..=3 {
        match kind(line, at + ahead) {
            Some(Kind::Colon) => return Some(begin(line, at + ahead + 1, depth + 1)),
            Some(Kind::Comma) if ahead <= 2 => {
                return Some(begin(line, at + ahead + 1, depth + 1)).filter(|h| h.verb == Some(at + ahead + 1));
            }
            Some(Kind::Word) => {}
            _ => break,
        }
    }
    None
}

/// How `If …, VERB` and `After …, VERB` begin.
fn subordinate(line: &Line, at: usize, depth: usize) -> Option<Head> {
    let conditional = is_condition(low(line, at));
    let comma = (at + 1..line.len()).find(|&i| kind(line, i) == Some(Kind::Comma) || low(line, i) == "then");
    let main = match comma {
        Some(comma) => {
            let next = skip_connectives(line, comma);
            begin(line, next, depth + 1)
        }
        None => {
            let simple = matches!(low(line, at), "if" | "unless" | "once" | "after" | "before");
            let verb = (at + 2..line.len()).find(|&i| {
                simple
                    && verb_at(line, i).is_some()
                    && (is_determiner(low(line, i + 1)) || is_object_pronoun(low(line, i + 1)) || is_path(line, i + 1))
                    && !is_subject(low(line, i - 1))
                    && !is_auxiliary(low(line, i - 1))
                    && low(line, i - 1) != "to"
            })?;
            Head::new(Mode::Request, Some(verb))
        }
    };
    (main.mode != Mode::Statement).then_some(Head { conditional, ..main })
}

/// How `In src/a.rs, VERB` and `In src/a.rs VERB the …` begin.
fn phrase(line: &Line, at: usize, depth: usize) -> Option<Head> {
    let end = line.len().min(at + OPENING_MAX);
    for i in at + 1..end {
        if kind(line, i) == Some(Kind::Comma) {
            let main = begin(line, skip_connectives(line, i), depth + 1);
            if main.mode != Mode::Statement {
                return Some(main);
            }
        }
        let before = low(line, i - 1);
        let free = !is_determiner(before)
            && !is_preposition(before)
            && !opens_phrase(before)
            && !is_adverb(before)
            && before != "and";
        let behind_path = is_path(line, i - 1) && !low(line, i + 1).is_empty();
        if i > at + 1 && free && verb_at(line, i).is_some() && (helped(line, i) || behind_path) {
            return Some(Head::new(Mode::Request, Some(i)));
        }
        if i > at + 1 && free && opens_question(line, i) {
            return Some(Head::new(Mode::Question, None));
        }
    }
    None
}
