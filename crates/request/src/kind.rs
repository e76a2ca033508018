//! Decides from word lists what kind of step a text asks for.

pub(super) mod lists;
mod words_added;

use std::sync::LazyLock;

use regex::Regex;

use crate::base::is_listed;
use crate::base::pattern::pattern;
use crate::language::clauses::{Part, PartKind};
use crate::language::shape::is_coined_word;
use crate::language::words;

use super::small_talk;
use super::wish::{asks_politely, gives_to_something, is_wish};
pub(super) use lists::COMMANDS;
use lists::{CHANGING, LOOKS, MENDING, OPENING_ORDERS, ORDERS, REPORTS, RUNNING};
pub(super) use lists::{KNOW, POLITE, QUESTIONS};
pub(super) use words_added::adds_words;

/// The kind of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Answers the user.
    Ask,
    /// Changes files.
    Edit,
    /// Gives a symbol another name everywhere.
    Rename,
    /// Moves a file or a definition.
    Move,
    /// Runs a command.
    Run,
    /// Makes failing tests pass.
    Fix,
}

const NAMES: [(Kind, &str); 6] = [
    (Kind::Ask, "ask"),
    (Kind::Edit, "edit"),
    (Kind::Rename, "rename"),
    (Kind::Move, "move"),
    (Kind::Run, "run"),
    (Kind::Fix, "fix"),
];

impl Kind {
    /// The word for it in plans and grammars.
    pub fn name(self) -> &'static str {
        NAMES[self as usize].1
    }

    /// The kind with this [`Kind::name`].
    pub fn by_name(name: &str) -> Option<Kind> {
        NAMES.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
    }

    /// The kind of step that the words of a single clause ask for.
    pub fn of_clause(part: &Part) -> Kind {
        match Kind::of(std::slice::from_ref(part)) {
            Kind::Ask if is_order(&part.text) => ordered(&part.text),
            kind => kind,
        }
    }

    /// The kind of several clauses together: an edit if one of them changes something, else a run
    /// if one runs something, else an answer.
    pub fn of(parts: &[Part]) -> Kind {
        let has = |list: &str| {
            let acts = parts.iter().filter(|part| part.kind == PartKind::Act);
            let mut verbs = acts.filter_map(|part| part.verb.as_deref());
            verbs.any(|verb| is_listed(list, verb.strip_suffix("те").unwrap_or(verb)))
        };
        if small_talk::is_all(parts) {
            Kind::Ask
        } else if has(CHANGING) {
            Kind::Edit
        } else if has(RUNNING) {
            Kind::Run
        } else {
            Kind::Ask
        }
    }
}

/// A question word counts only among the first words, up to this number (`in which case`,
/// `from how many on`); also the minimum number of words in a sentence.
const OPENING_WORDS: usize = 3;
const SENTENCE_WORDS: usize = 4;

/// Whether any word of `text` is in a space-separated list.
pub(super) fn has_word(text: &str, list: &str) -> bool {
    words::split(text).iter().any(|word| is_listed(list, word))
}

pub(super) fn has_order(text: &str) -> bool {
    has_word(text, ORDERS)
}

fn first_word(text: &str) -> String {
    words::split(text).into_iter().next().unwrap_or_default()
}

fn is_polite(text: &str) -> bool {
    let low = text.to_lowercase();
    POLITE.split('|').any(|words| low.contains(words))
}

/// Whether a text that a model read as a question asks for a change: it contains no question and
/// gives an order, reports a problem or states something about code; or it expresses a wish, even
/// as a question.
pub(super) fn is_order(text: &str) -> bool {
    if asks_politely(text) && !orders_later(text) {
        return false;
    }
    let (asks, polite) = (has_question(text), is_polite(text));
    let is_sentence = text.split_whitespace().nth(SENTENCE_WORDS - 1).is_some();
    let tells = || has_word(text, REPORTS) || is_sentence && text.split_whitespace().any(is_coined_word);
    let orders = has_order(text) || begins_with_order(text);
    let hands = gives_to_something(text);
    let looks = has_word(text, LOOKS) && !hands;
    hands || is_wish(text) || orders && (polite || !asks) || polite && text.contains('(') || !asks && !looks && tells()
}

/// Whether an order follows `and`, `then` or the like: `where is x and remove it?`.
fn orders_later(text: &str) -> bool {
    let joins = |word: &str| is_listed("and then und et y и please bitte", word);
    let all = words::split(text);
    all.windows(2).any(|pair| joins(&pair[0]) && (is_listed(ORDERS, &pair[1]) || is_listed(OPENING_ORDERS, &pair[1])))
}

/// Whether a text begins with an imperative: `Treat tabs as spaces`, but not `support for tabs`.
fn begins_with_order(text: &str) -> bool {
    let all = words::split(text);
    let mut all = all.iter().map(String::as_str).skip_while(|word| matches!(*word, "please" | "bitte"));
    all.next().is_some_and(|word| is_listed(OPENING_ORDERS, word))
        && !matches!(all.next(), Some("for" | "of" | "me" | "us"))
}

/// Whether a text contains a question outside quotation marks, or mentions that somebody wants to
/// know something.
fn has_question(text: &str) -> bool {
    let sentences = text.split_inclusive([';', '!', '\n']).flat_map(|part| part.split(". "));
    let begins = |(at, sentence): (usize, &str)| {
        let opening = if at == 0 { OPENING_WORDS } else { 1 };
        words::split(sentence).iter().take(opening).any(|word| is_listed(QUESTIONS, word))
    };
    let has_mark = text.split('"').step_by(2).any(|unquoted| unquoted.contains('?'));
    has_mark || has_word(text, KNOW) || sentences.enumerate().any(begins)
}

/// Whether a complete request asks a question, and neither gives orders nor reports anything.
pub(super) fn is_question(request: &str) -> bool {
    let orders = is_order(request) || orders_later(request);
    has_question(request) && first_word(request) != "when" && !orders && !has_word(request, REPORTS)
}

/// Whether a text begins with a question word and gives no order: `which error comes then`.
pub(super) fn begins_with_question(text: &str) -> bool {
    let first = first_word(text);
    let asks = is_listed(QUESTIONS, &first) && !is_listed("when show tell explain describe", &first);
    asks && !has_order(text)
}

/// Whether a request is one sentence that begins and ends as a question and gives no order in
/// between: `how do I set X, and where?`.
pub(super) fn only_asks(request: &str) -> bool {
    let text = request.trim();
    let is_inside = |mark: &str| text.trim_end_matches('?').contains(mark);
    let is_one = text.ends_with('?') && !["?", "\n", ";", ". ", "! "].into_iter().any(is_inside);
    let all = words::split(text);
    let begins = all.iter().take(OPENING_WORDS).any(|word| is_listed(QUESTIONS, word));
    is_one && begins && !orders_later(text) && !is_wish(text) && (!is_polite(text) || asks_politely(text))
}

/// Whether a lower-case word can begin an order, a question or a command.
pub(crate) fn begins_something(word: &str) -> bool {
    [ORDERS, QUESTIONS, LOOKS, COMMANDS].iter().any(|list| is_listed(list, word))
}

/// Whether a clause begins with a word that determines the form of an answer: `list all of them`.
pub(super) fn says_how(text: &str) -> bool {
    is_listed(LOOKS, &first_word(text))
}

/// Whether a text begins with a word that asks to look at or report something, and gives no order:
/// `read a.ts`, `show me the callers`.
pub(super) fn asks_to_tell(text: &str) -> bool {
    let first = first_word(text);
    let tells =
        is_listed(LOOKS, &first) || is_listed("tell explain show describe summarise summarize open check see", &first);
    tells && !gives_to_something(text) && !has_order(text) && !has_word(text, CHANGING)
}

/// Whether a text asks for information: it contains a question, or asks to look at or report
/// something.
pub(super) fn asks_something(text: &str) -> bool {
    has_question(text) || says_how(text) && !gives_to_something(text)
}

/// Whether a text only forbids changes: `do not touch the tests`, `and remove nothing`.
pub(super) fn only_forbids(text: &str) -> bool {
    static FORBIDS: LazyLock<Regex> = LazyLock::new(|| {
        let begins = r"(?:do not|don't|don’t|never|without|leave|keep|nothing|but not|not)\b";
        pattern(format!(r"^(?:and |but |please |also )*(?:{begins}|\w+ nothing\b)"))
    });
    let low = text.trim().to_lowercase();
    FORBIDS.is_match(&low) && !low.contains(" but ")
}

/// Whether a text only asks for a repair: `make them green again`, `find the cause and fix it`.
pub(super) fn only_mends(text: &str) -> bool {
    let orders =
        |word: &String| is_listed(ORDERS, word) || is_listed(CHANGING, word) || is_listed(OPENING_ORDERS, word);
    only_forbids(text) || !words::split(text).iter().any(|word| orders(word) && !is_listed(MENDING, word))
}

/// The kind of an order: a fix if it is about failing tests or a failing quoted command, else an
/// edit.
pub(super) fn ordered(text: &str) -> Kind {
    if is_red(text) && (text.contains('`') || speaks_of_tests(text)) { Kind::Fix } else { Kind::Edit }
}

/// Whether a request only asks to make failing tests pass. False if it asks for something new: a
/// new test may be meant to fail.
pub(super) fn is_about_red_tests(text: &str) -> bool {
    let passes = has_word(text, "pass green fix repair mend work");
    is_red(text) && passes && has_word(text, "test tests") && !has_word(text, "add write create new")
}

/// Whether a word of a text is about tests: `tests`, `testing`, `unittest`, but not `latest`.
pub(super) fn speaks_of_tests(text: &str) -> bool {
    let is_it = |word: &String| {
        word.starts_with("test") || word.ends_with("tests") || is_listed("unittest pytest doctest", word)
    };
    words::split(text).iter().any(is_it)
}

/// Whether a text is about documentation.
pub(super) fn speaks_of_docs(text: &str) -> bool {
    has_word(
        text,
        "readme changelog docs doc documentation docstring documented document mention describe handbook doku",
    )
}

/// Whether a text reports a failure.
pub(super) fn is_red(text: &str) -> bool {
    words::split(text).iter().any(|word| word.starts_with("fail") || is_listed("red rot schlägt", word))
}

/// The command in backticks in a text, or else the command reported to fail:
/// `node --test a.test.js is red today`. A single word in backticks is not a command.
pub(super) fn quoted_command(text: &str) -> Option<String> {
    static FAILS: LazyLock<Regex> = LazyLock::new(|| {
        let program = r"(?:[A-Z_]+=\S+ )*(?:node|python3?|cargo|go|npm|npx|pnpm|yarn|pytest|bash|sh)";
        let first = r"(?:[^`,;\s]*[-./][^`,;\s]*|test|run|check|build|vet)";
        let fails = r"(?:is|fails?|failed|breaks?|doesn't|schlägt|échoue|falla)";
        pattern(format!(r"(?:^|[\s:])({program} {first}(?: [^`,;\s]+)*?) {fails}\b"))
    });
    match text.split('`').nth(1).map(str::trim) {
        Some(inside) => inside.contains(' ').then(|| inside.to_owned()),
        None => FAILS.captures(text).map(|found| found[1].to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::clauses::parts;

    #[test]
    fn clauses_are_sorted_into_questions_changes_and_commands() {
        let check = |request: &str, expected: Kind| assert_eq!(Kind::of(&parts(request)), expected, "{request}");
        check("Where is the oven door defined?", Kind::Ask);
        check("Read a.rs and tell me what it does", Kind::Ask);
        check("Read a.rs and fix the typo", Kind::Edit);
        check("In a.rs change 5 to 3 and run the tests", Kind::Edit);
        check("Hi! Rename c.txt to d.txt", Kind::Edit);
        check("Thanks. Now run the tests", Kind::Run);
        check("Прочитай a.rs и исправь опечатку", Kind::Edit);
        check("write me a poem", Kind::Ask);
    }

    #[test]
    fn looking_changes_nothing() {
        for text in ["read src/limits.ts", "Show me the callers of load", "List what is in src", "Count the tests"] {
            assert!(asks_to_tell(text), "{text}");
        }
        for text in
            ["Show the version and set it to 5", "Give Queue a method", "Check the key before it is used: add a test"]
        {
            assert!(!asks_to_tell(text), "{text}");
        }
    }

    #[test]
    fn failing_tests_are_to_be_fixed_and_other_failures_are_edits() {
        let check = |text: &str, expected: Kind| assert_eq!(ordered(text), expected, "{text}");
        check("test_a.py fails", Kind::Fix);
        check("the unit tests fail, fix them", Kind::Fix);
        check("latest.py fails for an empty list", Kind::Edit);
    }

    #[test]
    fn a_command_that_fails_is_named_with_or_without_quotes() {
        let check =
            |text: &str, expected: Option<&str>| assert_eq!(quoted_command(text).as_deref(), expected, "{text}");
        check("`make check` fails", Some("make check"));
        check("node --test test/oven.test.js is red, find the cause", Some("node --test test/oven.test.js"));
        check("PYTHONPATH=lib python3 -m pytest fails", Some("PYTHONPATH=lib python3 -m pytest"));
        check("cargo test is red today", Some("cargo test"));
        check("the node that fails is wrong", None);
        check("two tests fail", None);
    }
}
