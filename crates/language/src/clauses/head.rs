//! Decides which kind of English clause begins at a word: a request, a question or a statement.

use super::lookahead::{
    has_object, is_path, kind, low, opens_question, polite_end, skip_connectives, starts, strong_joint, told, verb_at,
};
use super::scan::{Kind, Token};
use super::verbs::{self, Class};
use super::words::*;

/// The tokens of one sentence, without line breaks.
pub(super) type Line<'t, 'a> = [&'t Token<'a>];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Asks for something to be done.
    Request,
    /// Asks for an answer.
    Question,
    /// States a fact, or a prohibition.
    Statement,
}

/// How a clause begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub mode: Mode,
    /// Index of the first word that is not a connective.
    pub start: usize,
    /// Index of the verb of a request.
    pub verb: Option<usize>,
    /// Whether the verb follows an `if`, `when` or `unless`.
    pub conditional: bool,
    /// Whether a question's verb is a bare infinitive (`how do I …`), or a request's verb is not an
    /// imperative (`die Datei öffnen`).
    pub infinitive: bool,
}

/// Maximum length of a phrase before a verb without a comma, in tokens:
/// `In src/a.rs and src/b.rs rename …`.
const OPENING_MAX: usize = 16;

/// The head of the clause at `from`, which must be within `line`.
pub(super) fn head(line: &Line, from: usize) -> Head {
    let start = skip_connectives(line, from);
    let told = told(line, start).filter(|_| strong_joint(line, from) == Some(start));
    let start = told.unwrap_or(start);
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
    let is_polite = at > from;
    let word = low(line, at);
    if matches!(word, "don't" | "dont" | "never" | "avoid" | "without") || starts(line, at, "do not").is_some() {
        return statement;
    }
    if opens_question(line, at) && !is_polite {
        return question(line, at);
    }
    if is_subordinator(word) {
        return subordinate(line, at, depth).unwrap_or(statement);
    }
    if let Some(verb) = verb_at(line, at) {
        return Head::new(Mode::Request, Some(verb));
    }
    if is_polite && matches!(word, "know" | "understand" | "see" | "hear" | "be" | "have") {
        return Head::new(Mode::Request, Some(at));
    }
    if opens_phrase(word) {
        return phrase(line, at, depth).unwrap_or(statement);
    }
    if ["i need", "i want", "i'd like"].iter().any(|wish| starts(line, at, wish).is_some()) {
        return Head::new(Mode::Request, Some(at + 1));
    }
    // `Task: read …`
    let colon = (at + 1..at + 4).find(|&i| kind(line, i) != Some(Kind::Word));
    let colon = colon.filter(|&i| kind(line, i) == Some(Kind::Colon));
    colon.map_or(statement, |colon| begin(line, colon + 1, depth + 1))
}

/// The head of a question: with a bare infinitive after `do`, `can` and the like.
fn question(line: &Line, at: usize) -> Head {
    let (word, second) = (low(line, at), low(line, at + 1));
    let infinitive = [word, second]
        .iter()
        .any(|w| matches!(*w, "do" | "does" | "did" | "can" | "could" | "should" | "would" | "will"))
        || second == "to";
    Head { infinitive, ..Head::new(Mode::Question, None) }
}

/// The head of `If …, VERB` or `After …, VERB`.
fn subordinate(line: &Line, at: usize, depth: usize) -> Option<Head> {
    let comma = (at + 1..line.len()).find(|&i| kind(line, i) == Some(Kind::Comma) || low(line, i) == "then")?;
    let main = begin(line, skip_connectives(line, comma), depth + 1);
    let conditional = is_condition(low(line, at));
    (main.mode != Mode::Statement).then_some(Head { conditional, ..main })
}

/// The head of `In src/a.rs, VERB` or `In src/a.rs VERB the …`.
fn phrase(line: &Line, at: usize, depth: usize) -> Option<Head> {
    for i in at + 1..line.len().min(at + OPENING_MAX) {
        if kind(line, i) == Some(Kind::Comma) {
            let main = begin(line, skip_connectives(line, i), depth + 1);
            if main.mode != Mode::Statement {
                return Some(main);
            }
        }
        let before = low(line, i - 1);
        let ends_phrase =
            !(is_determiner(before) || is_preposition(before) || opens_phrase(before) || is_adverb(before));
        if i == at + 1 || !ends_phrase {
            continue;
        }
        let is_sure = || verbs::class(low(line, i)) == Some(Class::Sure);
        if verb_at(line, i).is_some() && (has_object(line, i) || is_path(line, i - 1) || is_sure()) {
            return Some(Head::new(Mode::Request, Some(i)));
        }
        if opens_question(line, i) {
            return Some(Head::new(Mode::Question, None));
        }
    }
    None
}
