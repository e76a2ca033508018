//! Rates how hard a request is, and sorts it into question, change, command or chat.

use crate::language::clauses::words::{entries, listed};
use crate::language::clauses::{Part, PartKind, names};

/// Size of the model that a request needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    Small,
    Medium,
    Large,
}

/// How hard a request is: `0.3·tokens (thousands) + 0.2·files + 0.5·reasoning steps`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    pub value: f32,
    pub tier: Tier,
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// Something is to be answered.
    Question,
    /// Something is to be changed.
    Change,
    /// Something is to be run.
    Command,
    /// A greeting, thanks, small talk: no tool may be called.
    Chat,
}

/// Bytes per token in ordinary prose. Exact counting needs a tokenizer and changes the score by hundredths.
const TOKEN_BYTES: f32 = 4.0;
const MEDIUM_FROM: f32 = 3.0;
const LARGE_FROM: f32 = 6.0;

/// The score of `ask` with `files` files in its context and `parts` parts. Each part is a reasoning step, and so is each word that asks
/// for reasoning (`why`, `design`, `refactor`, …).
pub fn complexity(ask: &str, files: usize, parts: usize) -> Score {
    let thousands = ask.len() as f32 / TOKEN_BYTES / 1000.0;
    let low = ask.to_lowercase();
    let reasons = entries(REASONING).filter(|word| words(&low).any(|one| one == *word)).count();
    let value = 0.3 * thousands + 0.2 * files as f32 + 0.5 * (parts + reasons) as f32;
    let tier = if value < MEDIUM_FROM {
        Tier::Small
    } else if value < LARGE_FROM {
        Tier::Medium
    } else {
        Tier::Large
    };
    Score { value, tier }
}

const REASONING: &str = "\
    why, design, architecture, refactor, optimize, optimise, debug, prove, compare, trade-offs, tradeoffs, \
    investigate, diagnose, redesign, migrate, concurrency, deadlock, race";

const CHANGING: &str = "\
    add, change, set, replace, rename, fix, write, create, delete, remove, update, edit, move, insert, bump, \
    refactor, rewrite, implement, append, convert, make, increase, decrease, reduce, upgrade, downgrade, copy, \
    correct, modify, format, save, generate, extract, split, merge, migrate, revert, drop, introduce, simplify, \
    document, translate, enable, disable, clean, reset, apply, extend, improve, optimize, optimise, port, \
    raise, lower, swap, wrap, inline, draft, put, store, fill, schedule, book, send, добавь, измени, замени, \
    переименуй, исправь, удали, создай, обнови, напиши, перемести, скопируй, сохрани, поменяй, перепиши, убери";

const RUNNING: &str = "\
    run, execute, build, compile, test, deploy, start, stop, restart, launch, install, lint, benchmark, commit, \
    push, pull, rebuild, rerun, kill, open, play, запусти, выполни, останови, установи, перезапусти, собери";

/// What the parts ask for together: a change if one of them changes something, else a command if one runs something, else a question.
/// Chat only if all of them are.
pub fn kind(parts: &[Part]) -> RequestKind {
    if parts.iter().all(is_chat) {
        return RequestKind::Chat;
    }
    let with = |list: &str| {
        let opens = |part: &Part| {
            let verb = part.verb.as_deref().map(|verb| verb.strip_suffix("те").unwrap_or(verb).to_owned());
            part.kind == PartKind::Act && verb.is_some_and(|verb| listed(list, &verb))
        };
        parts.iter().any(opens)
    };
    if with(CHANGING) {
        RequestKind::Change
    } else if with(RUNNING) {
        RequestKind::Command
    } else {
        RequestKind::Question
    }
}

/// Greetings and other small talk.
const GREETINGS: &str = "\
    hi, hello, hey, hiya, yo, howdy, greetings, good morning, good afternoon, good evening, good night, thanks, \
    thank you, thx, ty, cheers, bye, goodbye, see you, ok, okay, cool, nice, great, awesome, perfect, lol, \
    how are you, how are you doing, how is it going, how's it going, what's up, who are you, what are you, \
    what can you do, what is your name, what's your name, nice to meet you, sorry, never mind, nevermind, \
    well done, good job, you're welcome, no problem, sounds good, got it, i see, yes, no, sure, please, \
    tell me a joke, tell me a story, sing me a song, write me a poem, are you there, can you help me, help me, \
    help, i love you, do you like music, are you a robot, привет, здравствуй, здравствуйте, спасибо, пока, \
    как дела, кто ты, доброе утро, добрый день, добрый вечер, ок";

/// Words that may follow a greeting without making it a request.
const FILLERS: &str = "\
    there, again, so, much, a, lot, very, for, the, your, help, today, everyone, all, friend, assistant, you, \
    that, it, was, is, works, great, really, just, and, to, now, my, buddy, doing, this, morning, man, later, \
    большое, вам, тебе, всем";

fn is_chat(part: &Part) -> bool {
    if !part.paths.is_empty() || !part.quoted.is_empty() {
        return false;
    }
    let low = part.full_text().to_lowercase().replace('’', "'");
    let all: Vec<&str> = words(&low).collect();
    is_greeting(&all) || is_sum(&low) || is_common_knowledge(part, &all)
}

/// Whether the words are greetings one after another, with nothing but fillers between them.
fn is_greeting(words: &[&str]) -> bool {
    let mut at = 0;
    let mut greeted = words.is_empty();
    while at < words.len() {
        let length = entries(GREETINGS).filter_map(|greeting| {
            let wanted: Vec<&str> = greeting.split(' ').collect();
            words[at..].starts_with(&wanted).then_some(wanted.len())
        });
        match length.max() {
            Some(length) => (greeted, at) = (true, at + length),
            None if greeted && listed(FILLERS, words[at]) => at += 1,
            None => return false,
        }
    }
    greeted
}

/// Whether the text is an arithmetic question: `2+2`, `what is 7 * 6`.
fn is_sum(low: &str) -> bool {
    let rest =
        ["what is", "what's", "how much is", "calculate"].iter().find_map(|lead| low.strip_prefix(lead)).unwrap_or(low);
    let digits = rest.chars().filter(char::is_ascii_digit).count();
    digits >= 2
        && rest.chars().any(|c| "+-*/×^".contains(c))
        && rest.chars().all(|c| c.is_ascii_digit() || " +-*/×^().,?=".contains(c))
}

/// Whether a short question is about the world in general: no `my`, `this` or `file`, and nothing that looks like code or a path.
fn is_common_knowledge(part: &Part, all: &[&str]) -> bool {
    let asks = matches!(
        all,
        ["what", "is" | "are", ..]
            | ["who", "is" | "was" | "invented" | "wrote" | "discovered", ..]
            | ["define", ..]
            | ["why", "is" | "are" | "do", ..]
            | ["what", "does", _, "mean"]
            | ["how", "do" | "does", ..]
    );
    let near = all.iter().skip(1).any(|word| listed(NEAR, word));
    let coded = part.text.split_whitespace().any(|word| {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        word.contains("()")
            || bare.contains('_')
            || bare.contains("::")
            || names::is_path(bare)
            || bare.chars().skip(1).any(char::is_uppercase)
    });
    let general = all.iter().any(|word| listed(GENERAL, word));
    asks && !near && !coded && general && all.len() <= 9
}

/// Words that refer to this user, machine, project or moment.
const NEAR: &str = "\
    my, our, this, these, here, file, files, folder, project, repo, repository, code, function, class, module, \
    test, tests, build, config, current, currently, now, today, tomorrow, latest, running, open, left, new, i, \
    we, disk, memory, cpu, clipboard, calendar, email, emails, meeting, task, tasks, weather, price, time, \
    status, default, version, server, error, bug, log, logs, it, them, score, news, stock, rate";

/// Words of questions about the world in general.
const GENERAL: &str = "\
    capital, meaning, mean, president, invented, discovered, wrote, planet, planets, ocean, continent, country, \
    sky, universe, life, philosophy, gravity, photosynthesis, recursion, love, sun, moon, earth, largest, \
    tallest, president, population, atom, evolution, color, colour, blue, birds, define, history";

fn words(low: &str) -> impl Iterator<Item = &str> {
    low.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '-').filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::clauses::parts;

    fn check(request: &str, expected: RequestKind) {
        assert_eq!(kind(&parts(request)), expected, "{request}");
    }

    #[test]
    fn small_talk_needs_no_tool() {
        for request in [
            "Hello",
            "Hi there!",
            "thanks a lot",
            "Thank you so much for your help!",
            "Good morning, how are you?",
            "What can you do?",
            "ok cool",
            "What is the capital of France?",
            "Why is the sky blue?",
            "what is 7 * 6",
            "Привет",
            "Спасибо большое!",
            "Who are you?",
            "Tell me a joke",
            "",
        ] {
            check(request, RequestKind::Chat);
        }
    }

    #[test]
    fn a_request_behind_a_greeting_is_a_request() {
        check("Hi! Rename a.txt to b.txt", RequestKind::Change);
        check("Hello, what does parse() do?", RequestKind::Question);
        check("Thanks. Now run the tests", RequestKind::Command);
        check("Hi, my disk is full", RequestKind::Question);
    }

    #[test]
    fn requests_are_sorted_into_questions_changes_and_commands() {
        check("Where is the retry limit defined?", RequestKind::Question);
        check("What is the default port?", RequestKind::Question);
        check("Read a.rs and tell me what it does", RequestKind::Question);
        check("Read a.rs and fix the typo", RequestKind::Change);
        check("In a.rs change 5 to 3 and run the tests", RequestKind::Change);
        check("run the tests", RequestKind::Command);
        check("Прочитай a.rs и исправь опечатку", RequestKind::Change);
        check("How do I build it?", RequestKind::Question);
    }

    #[test]
    fn the_score_is_the_formula() {
        let close = |score: Score, expected: f32| assert!((score.value - expected).abs() < 1e-3, "{score:?}");
        close(complexity(&"x".repeat(4000), 2, 3), 0.3 + 0.4 + 1.5);
        close(complexity("why is it slow", 0, 1), 0.3 * 14.0 / 4000.0 + 1.0);
        assert_eq!(complexity("read a.rs", 1, 1).tier, Tier::Small);
        assert_eq!(complexity("do it", 5, 5).tier, Tier::Medium);
        assert_eq!(complexity(&"x".repeat(40_000), 10, 4).tier, Tier::Large);
    }
}
