//! Splits an English sentence into clauses, each one thing to do or to answer.

use super::head::{Head, Line, Mode, head};
use super::lookahead::{is_deed, is_path, low, opens_question, polite_end, skip_adverbs, strong_joint, verb_at};
use super::scan::Kind;
use super::verbs::{self, Class};
use super::words::*;

/// A clause of a sentence: tokens `from..to`, without connectives.
#[derive(Clone, Debug)]
pub(super) struct Clause {
    pub from: usize,
    pub to: usize,
    pub head: Head,
    /// Verb of the clause before, if this one has none: `run the linter, then the tests`.
    pub borrowed_verb: Option<usize>,
    /// Object (token range) of the clause after, if this one has none: `build and test the project`.
    pub borrowed_object: Option<(usize, usize)>,
}

/// A place where one clause ends and the next begins.
struct Joint {
    end: usize,
    next: usize,
    /// Made by a word like `then`, not only by a comma or `and`.
    strong: bool,
}

/// The clauses of `line`, in order; at least one unless the line is empty. With `whole` only words like `then` split it.
pub(super) fn cut(line: &Line, whole: bool) -> Vec<Clause> {
    let mut clauses: Vec<Clause> = Vec::new();
    let asks = line.last().is_some_and(|token| token.kind == Kind::Question);
    let mut opening = head(line, 0);
    let mut from = opening.start;
    let mut strong = false;
    let mut depth = 0usize;
    let mut at = opening.verb.unwrap_or(from) + 1;
    while at < line.len() {
        match line[at].kind {
            Kind::Open => depth += 1,
            Kind::Close => depth = depth.saturating_sub(1),
            _ => {}
        }
        let found = if depth == 0 { joint(line, from, at, &opening, asks) } else { None };
        if let Some(joint) = found.filter(|joint| joint.strong || !whole) {
            finish(line, &mut clauses, from, joint.end, opening, strong);
            opening = head(line, joint.next);
            from = opening.start;
            strong = joint.strong;
            at = opening.verb.unwrap_or(from).max(joint.next);
        }
        at += 1;
    }
    finish(line, &mut clauses, from, line.len(), opening, strong);
    lend_objects(line, &mut clauses);
    clauses
}

/// Adds the clause `from..to` without final punctuation. After a strong joint, a clause without a verb takes the one before.
pub(super) fn finish(line: &Line, clauses: &mut Vec<Clause>, from: usize, to: usize, head: Head, strong: bool) {
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
    let borrows = strong && head.mode == Mode::Statement && !is_subordinator(low(line, from));
    let borrowed_verb = clauses.last().filter(|_| borrows).and_then(|before| before.head.verb);
    let head = if borrowed_verb.is_some() { Head { mode: Mode::Request, ..head } } else { head };
    clauses.push(Clause { from, to, head, borrowed_verb, borrowed_object: None });
}

/// Gives a bare verb the object of the next clause that has one: `Build, test and deploy the app`.
fn lend_objects(line: &Line, clauses: &mut [Clause]) {
    let mut lent: Option<(usize, usize)> = None;
    for clause in clauses.iter_mut().rev() {
        let Some(verb) = clause.head.verb.filter(|_| clause.head.mode == Mode::Request) else {
            lent = None;
            continue;
        };
        if verb + 1 < clause.to {
            lent = (!is_preposition(low(line, verb + 1))).then_some((verb + 1, clause.to));
        } else {
            clause.borrowed_object = lent;
        }
    }
}

/// The joint at token `at`, if the sentence splits there.
fn joint(line: &Line, from: usize, at: usize, left: &Head, asks: bool) -> Option<Joint> {
    if at <= from {
        return None;
    }
    let comma = matches!(line[at].kind, Kind::Comma | Kind::Dash);
    let word = low(line, at);
    let and = matches!(word, "and" | "&" | "plus");
    let may_be_strong = comma
        || matches!(
            word,
            "and" | "then" | "also" | "plus" | "after" | "before" | "afterwards" | "finally" | "followed" | "but"
        );
    let strong = strong_joint(line, at).filter(|&next| may_be_strong && joins(line, from, at, next, comma));
    if let Some(next) = strong {
        return Some(Joint { end: at, next, strong: true });
    }
    if !comma && !and {
        return None;
    }
    let next = at + 1;
    let joined = matches!(low(line, next), "and" | "&" | "plus" | "so");
    let next = if comma && joined { next + 1 } else { next };
    let cuts = next < line.len() && opens_clause(line, from, at, next, comma, left, asks);
    cuts.then_some(Joint { end: at, next, strong: false })
}

/// Whether the strong connective `at..next` really joins two actions.
fn joins(line: &Line, from: usize, at: usize, next: usize, comma: bool) -> bool {
    let words: Vec<&str> = (at..next).map(|i| low(line, i)).filter(|w| !w.is_empty()).collect();
    let opens = verb_at(line, next).is_some()
        || opens_question(line, next)
        || polite_end(line, next) > next
        || matches!(head(line, next).mode, Mode::Request | Mode::Question);
    let first = words.first().copied().unwrap_or("");
    if words == ["then"]
        && !comma
        && matches!(low(line, at - 1), "since" | "until" | "by" | "back" | "from" | "than" | "and")
    {
        return false;
    }
    // `If it fails, then fix it`: the word belongs to the condition.
    if first == "then"
        && (from..at).any(|i| is_condition(low(line, i)))
        && !(from..at).any(|i| verb_at(line, i).is_some() && i > from)
    {
        return false;
    }
    if matches!(first, "after" | "before") && !words.iter().any(|w| matches!(*w, "that" | "this")) {
        return false;
    }
    let thing = low(line, next);
    let elided = words.contains(&"then")
        && (is_path(line, next)
            || is_determiner(thing)
            || !thing.is_empty() && !is_subject(thing) && !is_adverb(thing) && thing != "some")
        && !(next..line.len()).any(|i| is_finite(low(line, i)));
    opens || elided
}

/// Whether the words at `next`, after a comma or `and`, begin a clause of their own.
fn opens_clause(line: &Line, from: usize, at: usize, next: usize, comma: bool, left: &Head, asks: bool) -> bool {
    if left.conditional && left.mode == Mode::Request {
        return false;
    }
    if opens_question(line, next) {
        if comma && is_place(line, from, at) {
            return false;
        }
        return question_joins(line, from, at, next, comma, left);
    }
    let polite = polite_end(line, next);
    if polite > next && verb_at(line, polite).is_some() && !matches!(low(line, next), "so" | "now" | "just" | "well") {
        return left.mode != Mode::Statement || comma;
    }
    if is_condition(low(line, next)) {
        let inner = head(line, next);
        return inner.mode == Mode::Request
            && inner.conditional
            && left.mode == Mode::Request
            && (comma || low(line, at) == "and");
    }
    // `, in src/a.rs change the title`: a place, then what is to be done there.
    let placed = comma && matches!(low(line, next), "in" | "inside" | "within") && is_path(line, next + 1);
    let Some(verb) = verb_at(line, if placed { next + 2 } else { next }) else { return false };
    match left.mode {
        Mode::Statement | Mode::Constraint => {
            comma && points_at_object(line, verb) && verbs::class(low(line, verb)) != Some(Class::Rarely)
        }
        Mode::Question if asks || left.infinitive && !comma => false,
        Mode::Question => comma && request_joins(line, from, at, verb, comma, left) || points_at_object(line, verb),
        Mode::Request => request_joins(line, from, at, verb, comma, left),
    }
}

/// Whether `from..at` only says where the next clause is answered from: `in src/a.rs`, `according to the README.md`.
fn is_place(line: &Line, from: usize, at: usize) -> bool {
    let leads =
        matches!(low(line, from), "in" | "inside" | "within" | "for" | "from" | "at" | "of" | "according" | "with");
    let between = |i: usize| is_determiner(low(line, i)) || matches!(low(line, i), "to" | "file" | "module" | "script");
    leads && at > from + 1 && is_path(line, at - 1) && (from + 1..at - 1).all(between)
}

fn points_at_object(line: &Line, verb: usize) -> bool {
    let next = low(line, verb + 1);
    is_determiner(next) || is_object_pronoun(next) || is_path(line, verb + 1)
}

fn request_joins(line: &Line, from: usize, at: usize, verb: usize, comma: bool, left: &Head) -> bool {
    let Some(left_verb) = left.verb else { return comma };
    let object = points_at_object(line, verb);
    let before = low(line, at.saturating_sub(1));
    let bare = at == left_verb + 1;
    if bare {
        let deeds = is_deed(low(line, left_verb)) && is_deed(low(line, verb));
        return !verbs::is_pair(low(line, left_verb), low(line, verb))
            && (object || !ends_here(line, verb) || comma || deeds);
    }
    // `the search and rescue team`, `drag and drop`: two verbs side by side inside a noun phrase.
    if !comma && !object && verbs::class(before).is_some_and(|class| class != Class::Rarely) {
        return false;
    }
    if !comma && pairs_nouns(line, from, at) {
        return false;
    }
    if in_purpose(line, left_verb, at, comma) && !changes_subject(line, verb) {
        return false;
    }
    match verbs::class(low(line, verb)) {
        Some(Class::Sure) if !is_describing(low(line, verb)) => true,
        Some(Class::Sure | Class::Either) => {
            object
                || noun_object(line, verb, comma)
                || ends_here(line, verb) && is_deed(low(line, verb))
                || matches!(low(line, verb + 1), "up" | "out" | "in" | "off") && ends_here(line, verb + 1)
        }
        _ => {
            matches!(low(line, verb + 1), "up" | "down" | "out" | "off" | "away")
                || object && !matches!(low(line, verb + 1), "no" | "each" | "all")
                || line.get(verb + 1).is_some_and(|t| t.is_capitalised()) && comma
        }
    }
}

fn ends_here(line: &Line, verb: usize) -> bool {
    line.get(verb + 1).is_none_or(|token| token.kind != Kind::Word && token.kind != Kind::Opaque)
}

/// Whether a noun phrase or a preposition follows a verb that could itself be a noun.
fn noun_object(line: &Line, verb: usize, comma: bool) -> bool {
    let mut count = 0;
    let mut plural = false;
    for i in verb + 1..line.len().min(verb + 8) {
        let word = low(line, i);
        if word.is_empty() || matches!(word, "and" | "or" | "then") {
            break;
        }
        plural |= count < 3 && word.len() > 3 && word.ends_with('s') && !word.ends_with("ss")
            || matches!(word, "data" | "metadata");
        count += 1;
    }
    let next = low(line, verb + 1);
    let led = is_preposition(next) && !matches!(next, "of" | "in" | "as")
        || line.get(verb + 1).is_some_and(|t| t.is_capitalised());
    let numbered = next.bytes().next().is_some_and(|b| b.is_ascii_digit());
    led && count > 1 || numbered || plural || count >= 2 && comma || count >= 3
}

/// Whether the `and` at `at` joins two nouns: `between a and b`, `both a and b`.
fn pairs_nouns(line: &Line, from: usize, at: usize) -> bool {
    let window = at.saturating_sub(8).max(from);
    (window..at).rev().take_while(|&i| low(line, i) != "and").any(|i| matches!(low(line, i), "between" | "both"))
}

/// Whether the words before `at` describe the purpose of a thing to be made, which the verb after `at` may continue: `a script to
/// read … and print …`.
fn in_purpose(line: &Line, left_verb: usize, at: usize, comma: bool) -> bool {
    if !makes_thing(low(line, left_verb)) {
        return false;
    }
    let thing = (left_verb + 1..at).find(|&i| is_made_thing(low(line, i)));
    let purpose = |i: usize| {
        low(line, i) == "to" && verb_at(line, i + 1).is_some()
            || matches!(low(line, i), "that" | "which" | "who" | "should" | "will" | "can" | "must")
    };
    match thing {
        Some(thing) => (thing + 1..at).any(purpose),
        None => !comma && (left_verb + 1..at).any(purpose),
    }
}

/// Whether the verb acts on the project itself, so that it is no part of a new thing's purpose.
fn changes_subject(line: &Line, verb: usize) -> bool {
    let object: Vec<&str> = (verb + 1..line.len().min(verb + 4)).map(|i| low(line, i)).collect();
    let is_about = |words: &[&str]| object.iter().any(|word| words.iter().any(|begin| word.starts_with(begin)));
    let is_pointed = object.first().is_some_and(|word| matches!(*word, "it" | "them"));
    match low(line, verb) {
        "commit" | "push" | "tell" | "explain" | "show" => true,
        "run" | "rerun" | "execute" => is_pointed || is_about(&["test", "suite"]) || is_path(line, verb + 1),
        "add" | "write" | "update" | "create" => is_about(&["test", "doc", "readme.md", "changelog"]),
        "call" | "use" | "export" | "test" | "document" | "wire" | "register" | "name" | "save" | "put" => is_pointed,
        _ => false,
    }
}

/// Whether a question after a comma or `and` is a clause of its own, not part of a `tell me what …` before it.
fn question_joins(line: &Line, from: usize, at: usize, next: usize, comma: bool, left: &Head) -> bool {
    let word = low(line, next);
    let second = low(line, next + 1);
    let inverted = is_auxiliary(word) || is_auxiliary(second);
    let embedded = left.verb.is_some_and(|verb| {
        (verb + 1..at.min(verb + 8)).any(|i| is_question_word(low(line, i)) || matches!(low(line, i), "if" | "whether"))
    });
    if embedded && (!inverted || left.verb.is_some_and(|v| only_tells(low(line, v))) || !comma) {
        return false;
    }
    // `what tests are and whether they pass`, `the file, where`: only clear questions go on.
    match word {
        "who" | "whose" | "whom" => (comma || low(line, at) == "and") && !line[at - 1].is_capitalised(),
        "which" => {
            comma && low(line, at + 1) == "and"
                || left.mode == Mode::Question
                || !matches!(second, "is" | "are" | "was")
        }
        "have" | "do" | "had" => left.mode == Mode::Question || comma,
        _ if left.mode == Mode::Statement => {
            inverted && comma || line.last().is_some_and(|token| token.kind == Kind::Question)
        }
        _ if left.infinitive && !comma => inverted && !is_auxiliary(word),
        _ => at > from && skip_adverbs(line, next) < line.len(),
    }
}
