//! What kind of English clause begins at a word: a request, a question, a statement, something said under a condition.

use super::scan::{Kind, Token};
use super::verbs::{self, Class};
use super::words::*;

/// The tokens of one sentence, without line ends.
pub(super) type Line<'t, 'a> = [&'t Token<'a>];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Asks for something to be done.
    Request,
    /// Asks for something to be known.
    Question,
    /// Says how things are.
    Statement,
    /// Says how things must not or must be, without anything to do of its own.
    Constraint,
}

/// How a clause begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub mode: Mode,
    /// The first word that is more than a connective.
    pub start: usize,
    /// The imperative verb of a request.
    pub verb: Option<usize>,
    /// An `if`, `when`, `unless` stands before the verb.
    pub conditional: bool,
    /// A question whose verb is a bare infinitive: `how do I …`.
    pub infinitive: bool,
}

/// Longest phrase that may stand before a verb without a comma, in tokens: `In src/a.rs and src/b.rs rename …`.
const OPENING_MAX: usize = 16;

/// What begins at `from`. `from` must lie in `line`.
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

pub(super) fn low<'t>(line: &'t Line, at: usize) -> &'t str {
    line.get(at).filter(|token| token.kind == Kind::Word).map_or("", |token| token.low.as_str())
}

fn kind(line: &Line, at: usize) -> Option<Kind> {
    line.get(at).map(|token| token.kind)
}

fn starts(line: &Line, at: usize, phrase: &str) -> Option<usize> {
    let mut place = at;
    for word in phrase.split(' ') {
        if low(line, place) != word {
            return None;
        }
        place += 1;
    }
    Some(place)
}

/// Phrases in front of a request that ask for it and say nothing else; the verb follows.
const LEADS: &[&str] = &[
    "can you",
    "could you",
    "would you",
    "will you",
    "can we",
    "could we",
    "i want you to",
    "i need you to",
    "i'd like you to",
    "i would like you to",
    "i want to",
    "i need to",
    "i'd like to",
    "i would like to",
    "we need to",
    "we want to",
    "we should",
    "we must",
    "we have to",
    "i must",
    "i have to",
    "you should",
    "you must",
    "you need to",
    "you can",
    "let's",
    "let us",
    "go ahead and",
    "help me to",
    "help me",
    "help us",
    "try to",
    "make sure to",
    "be sure to",
    "remember to",
    "don't forget to",
    "do not forget to",
    "feel free to",
    "proceed to",
    "continue to",
    "your task is to",
    "the task is to",
    "the goal is to",
    "please",
    "kindly",
    "just",
    "i'm trying to",
    "i am trying to",
    "are you able to",
    "is it possible to",
    "it would be great to",
    "quickly",
    "carefully",
    "hey",
    "hi",
    "hello",
    "ok",
    "okay",
    "sure",
    "great",
    "thanks",
    "alright",
    "claude",
    "well",
    "so",
    "now",
];

/// Skips `and`, `then`, `after that`, `first`, …, with the commas behind them. Never past the last token.
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

/// Connectives that always join; the others need a comma, a verb or a question behind them.
const JOINING: &[&str] = &[
    "and then",
    "after that",
    "after this",
    "before that",
    "before this",
    "and",
    "then",
    "afterwards",
    "afterward",
    "subsequently",
    "once done",
    "once that's done",
    "once that is done",
    "once this is done",
    "once you're done",
    "when done",
    "when that's done",
    "when you're done",
    "when you are done",
    "when finished",
    "once finished",
    "as a last step",
    "as a final step",
    "as a next step",
    "as the last step",
    "in addition",
    "on top of that",
    "last but not least",
    "&",
    "plus",
    "additionally",
    "furthermore",
    "moreover",
    "meanwhile",
    "to begin with",
    "to start",
    "at the end",
    "in the end",
    "in the meantime",
    "from there",
    "while you're at it",
    "while you are at it",
    "followed by",
];
const ORDERING: &[&str] = &[
    "first of all",
    "first",
    "firstly",
    "second",
    "secondly",
    "third",
    "thirdly",
    "fourth",
    "fifth",
    "next",
    "finally",
    "lastly",
    "last",
    "also",
    "now",
    "later",
    "so",
    "but",
    "or",
    "then also",
    "to finish",
    "start by",
    "begin by",
];

fn connective_end(line: &Line, at: usize) -> Option<usize> {
    if matches!(kind(line, at), Some(Kind::Comma | Kind::Dash | Kind::Colon)) {
        return Some(at + 1);
    }
    let after = |phrases: &[&str]| phrases.iter().filter_map(|phrase| starts(line, at, phrase)).max();
    let past_comma = |end: usize| if kind(line, end) == Some(Kind::Comma) { end + 1 } else { end };
    if let Some(end) = after(JOINING) {
        return Some(past_comma(end));
    }
    let end = after(ORDERING)?;
    let opens = kind(line, end) == Some(Kind::Comma)
        || verb_at(line, end).is_some()
        || opens_question(line, end)
        || polite_end(line, end) > end
        || connective_end_simple(line, end);
    opens.then(|| past_comma(end))
}

fn connective_end_simple(line: &Line, at: usize) -> bool {
    matches!(low(line, at), "then" | "and" | "also" | "please")
}

/// The end of the connectives at `at` when one of them says `then`, `next`, `finally`: a joint between two deeds.
pub(super) fn strong_joint(line: &Line, at: usize) -> Option<usize> {
    let end = skip_connectives(line, at);
    let strong = (at..end).any(|i| {
        matches!(
            low(line, i),
            "then"
                | "that"
                | "this"
                | "finally"
                | "next"
                | "lastly"
                | "afterwards"
                | "afterward"
                | "subsequently"
                | "also"
                | "done"
                | "finished"
                | "step"
                | "later"
                | "first"
                | "second"
                | "third"
                | "additionally"
                | "meanwhile"
                | "there"
                | "plus"
                | "last"
                | "followed"
                | "end"
                | "so"
        )
    });
    (strong && end > at && end < line.len()).then_some(end)
}

/// Skips `please`, `can you`, `I want you to`, …
pub(super) fn polite_end(line: &Line, from: usize) -> usize {
    let mut at = from;
    for _ in 0..5 {
        let Some(end) = LEADS.iter().filter_map(|lead| starts(line, at, lead)).max() else { break };
        let end = if kind(line, end) == Some(Kind::Comma) { end + 1 } else { end };
        if end >= line.len() {
            break;
        }
        at = end;
    }
    at
}

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
        let second = low(line, at + 1);
        let infinitive = [word, second]
            .iter()
            .any(|w| matches!(*w, "do" | "does" | "did" | "can" | "could" | "should" | "would" | "will"))
            || second == "to";
        return Head { infinitive, ..Head::new(Mode::Question, None) };
    }
    if is_subordinator(word) {
        return subordinate(line, at, depth).unwrap_or(statement);
    }
    if let Some(verb) = verb_at(line, at) {
        return Head::new(Mode::Request, Some(verb));
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
    // `Task: read …`, `Alice, read …`: a name or a label before the verb.
    for ahead in 1..=3 {
        match kind(line, at + ahead) {
            Some(Kind::Colon) => return begin(line, at + ahead + 1, depth + 1),
            Some(Kind::Comma) if ahead <= 2 => {
                return Some(begin(line, at + ahead + 1, depth + 1))
                    .filter(|h| h.verb == Some(at + ahead + 1))
                    .unwrap_or(statement);
            }
            Some(Kind::Word) => {}
            _ => break,
        }
    }
    statement
}

/// `If …, VERB` and `After …, VERB`.
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

/// `In src/a.rs, VERB` and `In src/a.rs VERB the …`.
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
        if i > at + 1 && free && verb_at(line, i).is_some() && helped(line, i) {
            return Some(Head::new(Mode::Request, Some(i)));
        }
        if i > at + 1 && free && opens_question(line, i) {
            return Some(Head::new(Mode::Question, None));
        }
    }
    None
}

/// The token is a path, a file name, an identifier or a quotation: an object that cannot be mistaken.
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

/// The imperative verb at `at`, or behind an adverb there.
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
        // `Build times are up` speaks about a thing.
        return (!subject_of_finite(line, verb) || is_determiner(next) || is_object_pronoun(next)).then_some(verb);
    }
    let alone = match next {
        "" => verb + 1 >= line.len() && is_deed(low(line, verb)),
        "and" => verbs::class(low(line, verb + 2)).is_some(),
        _ => !subject_of_finite(line, verb),
    };
    (helped(line, verb) || class == Class::Either && alone).then_some(verb)
}

/// Verbs that need no object to be a deed in a project.
pub(super) fn is_deed(low: &str) -> bool {
    matches!(low, "commit" | "push" | "build" | "deploy" | "test" | "merge" | "stop" | "exit" | "quit")
}

/// The verb has an object or a preposition behind it that a noun would not have.
pub(super) fn helped(line: &Line, verb: usize) -> bool {
    let next = low(line, verb + 1);
    let sure = verbs::class(low(line, verb)) == Some(Class::Sure) && !verbs::is_describing(low(line, verb));
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

/// A finite verb follows before anything that could end a noun phrase: the word is the start of a subject.
fn subject_of_finite(line: &Line, at: usize) -> bool {
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

/// A question begins at `at`: `what is`, `how many`, `is my`, `who said`.
pub(super) fn opens_question(line: &Line, at: usize) -> bool {
    let (word, next) = (low(line, at), low(line, at + 1));
    match word {
        "what" | "what's" | "where's" | "who's" | "how's" | "when's" | "why's" => !next.is_empty(),
        "which" => !next.is_empty() && !is_auxiliary(next) && !is_object_pronoun(next),
        "who" | "whose" | "whom" => !next.is_empty(),
        "how" => {
            is_auxiliary(next)
                || matches!(
                    next,
                    "many"
                        | "much"
                        | "big"
                        | "long"
                        | "often"
                        | "far"
                        | "large"
                        | "to"
                        | "old"
                        | "fast"
                        | "come"
                        | "about"
                )
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
