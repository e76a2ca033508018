//! Arguments that are words of the step: contents, search terms, titles, names, commands.

use std::ops::Range;

use super::said::Said;
use crate::orchestrate::decompose::names;
use crate::orchestrate::decompose::scan::Kind;
use crate::orchestrate::decompose::words::listed;
use crate::orchestrate::decompose::{verbs, words};

const CONTENT_LEADS: &str = "\
    with the following content, with the content, with the contents, with content, with contents, \
    with the text, with text, with the message, with message, with the body, with body, that says, which says, \
    that reads, saying, containing, with the words, telling, reading";

/// Text to write, send or copy: what follows `with the content`, a colon at the end, a quotation, or `write X to FILE`.
pub(super) fn content<'a>(said: &Said<'a>, required: bool) -> Option<&'a str> {
    if let Some(at) = said.after(words::entries(CONTENT_LEADS)) {
        let at = if said.tokens[at].kind == Kind::Colon { at + 1 } else { at };
        return piece(said, at, |said, i| stops_content(said, i));
    }
    if !required {
        return None;
    }
    let colon = said
        .tokens
        .iter()
        .position(|token| token.kind == Kind::Colon)
        .filter(|&at| at + 1 < said.tokens.len() && at > 0);
    if let Some(at) = colon {
        return piece(said, at + 1, |_, _| false);
    }
    let free: Vec<(usize, &str)> = said.quotes().filter(|(_, text)| !names::is_path(text)).collect();
    if let [(_, only)] = free.as_slice() {
        return Some(only);
    }
    let writes =
        matches!(said.low(0), "write" | "save" | "append" | "put" | "add" | "insert" | "store" | "copy" | "paste");
    let target = said.paths.iter().find(|path| matches!(path.lead.as_str(), "to" | "into" | "in" | "onto"))?;
    let end = (1..target.at).rev().find(|&i| matches!(said.low(i), "to" | "into" | "in" | "onto"))?;
    let general = words::is_determiner(said.low(1))
        || words::is_object_pronoun(said.low(1))
        || said.paths.iter().any(|path| path.at < end);
    said.span(1, end).filter(|_| writes && !general && end > 1)
}

fn stops_content(said: &Said, at: usize) -> bool {
    matches!(said.low(at), "to" | "in" | "into") && said.paths.iter().any(|path| path.at > at && path.at <= at + 2)
}

/// The quotation at `at`, or the words from there until `stops`, without the full stop at the end.
fn piece<'a>(said: &Said<'a>, at: usize, stops: impl Fn(&Said<'a>, usize) -> bool) -> Option<&'a str> {
    let first = said.tokens.get(at)?;
    if first.kind == Kind::Opaque {
        return Some(names::unquoted(first));
    }
    let mut end = (at..said.tokens.len()).find(|&i| stops(said, i)).unwrap_or(said.tokens.len());
    while end > at + 1 && matches!(said.tokens[end - 1].kind, Kind::Stop | Kind::Comma) {
        end -= 1;
    }
    said.span(at, end)
}

const QUERY_LEADS: &str = "\
    that mention, that mentions, mentioning, that contain, that contains, containing, matching, \
    for information about, for information on, for anything about, for anything related to, for references to, \
    for mentions of, for occurrences of, for all, for every, for any, for the word, for the phrase, \
    for the term, for the string, for, about, related to, regarding, mention, contain, on the topic of, \
    references to, usages of, uses of, callers of, calls to, definition of, occurrences of, mentions of, \
    called, named";

/// What to look for: a quotation, or what follows `for`, `about`, `callers of`, up to where or when.
pub(super) fn query<'a>(said: &Said<'a>) -> Option<&'a str> {
    let free: Vec<&str> = said.quotes().map(|(_, text)| text).filter(|text| !names::is_path(text)).collect();
    if let [only] = free.as_slice() {
        return Some(only);
    }
    let scoped = |said: &Said<'a>, i: usize| {
        let low = said.low(i);
        let scope = matches!(low, "in" | "within" | "under" | "across" | "inside" | "throughout" | "from");
        let path = said.paths.iter().any(|path| path.at > i && path.at <= i + 3);
        let near = matches!(said.low(i + 1), "my" | "the" | "this" | "our" | "all" | "these") && scope && low != "from";
        said.tokens[i].kind == Kind::Stop
            || scope && path
            || near
            || said.dated(i)
            || matches!(low, "and" | "then") && verbs::class(said.low(i + 1)).is_some()
    };
    if let Some(at) = said.after(words::entries(QUERY_LEADS)) {
        if matches!(said.low(at), "this" | "that" | "these" | "those" | "it" | "them") {
            return None;
        }
        // `for messages about the barn`: what they are about.
        let narrowed = (at..said.tokens.len().min(at + 3))
            .find(|&i| matches!(said.low(i), "about" | "regarding" | "mentioning"))
            .filter(|&i| is_general(said.low(i - 1)) && i + 1 < said.tokens.len());
        let at = narrowed.map_or(at, |i| i + 1);
        let at = if words::is_determiner(said.low(at)) && at + 1 < said.tokens.len() { at + 1 } else { at };
        return piece(said, at, scoped);
    }
    let looks = matches!(said.low(0), "find" | "search" | "locate" | "grep" | "lookup");
    let start = 1 + usize::from(words::is_determiner(said.low(1)));
    piece(said, start, scoped).filter(|_| looks && said.tokens.len() > start)
}

fn is_general(low: &str) -> bool {
    matches!(
        low,
        "messages"
            | "message"
            | "information"
            | "info"
            | "anything"
            | "everything"
            | "something"
            | "emails"
            | "files"
            | "documents"
            | "notes"
            | "entries"
            | "articles"
            | "news"
            | "pages"
            | "details"
    )
}

const TITLE_LEADS: &[&str] = &[
    "called",
    "named",
    "titled",
    "entitled",
    "with the title",
    "with title",
    "with the subject",
    "with subject",
    "with the name",
];

/// The name a new thing gets: after `called`, a quotation, after a colon; else what it is for, or about, or to do.
pub(super) fn title<'a>(said: &Said<'a>) -> Option<&'a str> {
    let ends = |said: &Said<'a>, i: usize| {
        said.dated(i)
            || words::is_preposition(said.low(i)) && said.dated(i + 1)
            || matches!(said.tokens[i].kind, Kind::Comma | Kind::Stop)
            || matches!(said.low(i), "by" | "due" | "on" | "at") && (said.dated(i + 2) || said.dated(i + 1))
            || matches!(said.low(i), "in" | "to") && said.paths.iter().any(|path| path.at == i + 1)
    };
    if let Some(at) = said.after(TITLE_LEADS.iter().copied()) {
        return piece(said, at, ends);
    }
    if let Some((_, text)) = said.quotes().find(|(_, text)| !names::is_path(text)) {
        return Some(text);
    }
    if let Some(at) = said.tokens.iter().position(|token| token.kind == Kind::Colon) {
        return piece(said, at + 1, ends);
    }
    if let Some(at) = said
        .after([
            "about",
            "regarding",
            "to remember to",
            "task to",
            "reminder to",
            "todo to",
            "reminder for",
            "me to",
            "for",
        ])
        .filter(|&at| !said.dated(at))
    {
        let at = at + usize::from(words::is_determiner(said.low(at)));
        return piece(said, at, ends).filter(|text| names::number(text.split(' ').next().unwrap_or("")).is_none());
    }
    let start = 1 + usize::from(words::is_determiner(said.low(1)));
    piece(said, start, ends).filter(|_| verbs::class(said.low(0)).is_some() && said.tokens.len() > start)
}

/// Programs that people have run by name.
const PROGRAMS: &str = "\
    cargo, npm, npx, pnpm, yarn, bun, deno, node, make, cmake, ninja, just, pytest, python, python3, pip, uv, tox, ruff, \
    mypy, go, git, docker, gradle, mvn, dotnet, swift, ruby, rake, bundle, php, composer, eslint, prettier, tsc, jest, \
    vitest, bash, sh";
/// What `git` has to show, by the name of its subcommand.
const GIT_SHOWS: &str = "log, status, diff, blame, shortlog";
const SHOWING: &str = "show, print, display, give, get, see, view, check, list, what, what's";

/// Programs whose names are words that stand behind `with` for themselves: `with just one thread`.
const ORDINARY: &str = "just, go, make";
/// May stand between a verb that shows and `git`: with any other word `git log` is only spoken of (`show where git log is parsed`).
const BEFORE_GIT: &str = "me, us, the, is, of, what, output, a, current, latest, recent";

/// The command that `show me the git log` names, as tokens: with flags, paths and revisions, and nothing behind it that would make it a
/// part of something else.
pub(super) fn shown(said: &Said) -> Option<Range<usize>> {
    let is_git = |at: usize| said.low(at) == "git" && listed(GIT_SHOWS, said.low(at + 1));
    let at = (1..said.tokens.len()).take_while(|&at| is_git(at) || listed(BEFORE_GIT, said.low(at)));
    let at = at.last().filter(|&at| is_git(at) && listed(SHOWING, said.low(0)))?;
    let end = (at + 2..said.tokens.len()).find(|&i| !is_git_argument(said, i)).unwrap_or(said.tokens.len());
    let ends = said.tokens.get(end).is_none_or(|next| {
        next.kind != Kind::Word
            || words::is_preposition(&next.low)
            || words::is_connective(&next.low)
            || words::is_adverb(&next.low)
            || next.low == "output"
    });
    ends.then_some(at..end)
}

/// `--stat`, `src/a.rs`, `HEAD~2`, `main..topic`, `9b3baee`.
fn is_git_argument(said: &Said, at: usize) -> bool {
    let token = &said.tokens[at];
    let text = token.text;
    let hash = (7..=40).contains(&text.len()) && text.chars().all(|c| c.is_ascii_hexdigit());
    let revision = hash && text.contains(|c: char| c.is_ascii_digit())
        || text.starts_with("HEAD")
        || text.contains("..")
        || text.contains(['~', '^', '@']);
    let path = said.paths.iter().any(|path| path.at == at);
    matches!(token.kind, Kind::Word | Kind::Opaque) && (text.starts_with('-') || revision || path)
}

/// What `run`, `execute` run, when it is written out: in backticks, or the words behind the verb that begin with a program;
/// else `with cargo test`; `the git log`.
pub(super) fn command<'a>(said: &Said<'a>) -> Option<&'a str> {
    if let Some((_, text)) = said.quotes().next() {
        return Some(text);
    }
    if let Some(shown) = shown(said) {
        return said.span(shown.start, shown.end);
    }
    let program = |at: usize| {
        let low = said.low(at);
        low.starts_with("./") || listed(PROGRAMS, low) && !listed(ORDINARY, low)
    };
    let by = |at: usize| matches!(said.low(at), "with" | "using" | "via") && program(at + 1);
    let stops = |said: &Said<'a>, i: usize| {
        said.low(i) == "please"
            || by(i)
            || matches!(said.low(i), "and" | "then" | "in" | "for" | "of" | "to") && i + 1 < said.tokens.len()
    };
    let written_out = |at: usize| {
        let low = said.low(at);
        let general =
            words::is_determiner(low) || words::is_object_pronoun(low) || names::number(low).is_some() || by(at);
        let noun = matches!(low, "tests" | "test" | "benchmarks" | "linter" | "everything" | "all");
        let lower = |text: &str| text.starts_with(|c: char| c.is_lowercase() || matches!(c, '.' | '/'));
        said.tokens[at].kind == Kind::Word && lower(said.tokens[at].text) && !general && !noun
    };
    let behind = |at: usize| piece(said, at, stops).map(|text| text.trim_end_matches(['?', '!']));
    let run = said.after(["run the command", "execute the command", "run", "execute"]).filter(|&at| written_out(at));
    run.and_then(behind).or_else(|| (0..said.tokens.len()).find(|&at| by(at)).and_then(|at| behind(at + 1)))
}

/// A name of an existing thing: in quotes, as an identifier, as `the X app`, or with capitals.
pub(super) fn name<'a>(said: &Said<'a>, kinds: &[String]) -> Option<&'a str> {
    if let Some((_, text)) = said.quotes().find(|(_, text)| !names::is_path(text) && text.len() < 200) {
        return Some(text);
    }
    if let Some(at) = said.after(["called", "named"]) {
        return piece(said, at, |said, i| {
            words::is_preposition(said.low(i))
                || matches!(said.tokens[i].kind, Kind::Comma | Kind::Stop)
                || said.low(i) == "and"
        });
    }
    let coined = |text: &str| {
        text.contains('_')
            || text.ends_with("()")
            || text.contains("::")
            || text.chars().skip(1).any(char::is_uppercase) && text.chars().nth(1).is_some_and(char::is_lowercase)
    };
    let is_kind = |low: &str| {
        kinds.iter().any(|kind| kind == low.trim_end_matches('s') || kind.len() > 2 && low.starts_with(kind.as_str()))
    };
    // `the Calculator app`, `function parse`.
    for at in 1..said.tokens.len() {
        if is_kind(said.low(at)) && said.tokens[at].kind == Kind::Word {
            let before = &said.tokens[at - 1];
            if before.kind == Kind::Word
                && !words::is_determiner(&before.low)
                && verbs::class(&before.low).is_none()
                && !words::is_preposition(&before.low)
            {
                let start = (1..at).rev().take_while(|&i| said.tokens[i].is_capitalised()).last().unwrap_or(at - 1);
                return said.span(start, at);
            }
            if said.tokens.get(at + 1).is_some_and(|next| {
                next.kind == Kind::Word && !words::is_preposition(&next.low) && !names::is_path(next.text)
            }) {
                return said.run(at + 1, false).or_else(|| said.span(at + 1, at + 2));
            }
        }
    }
    if let Some(token) =
        said.tokens.iter().find(|token| token.kind == Kind::Word && coined(token.text) && !names::is_path(token.text))
    {
        return Some(token.text.trim_end_matches("()"));
    }
    let proper = kinds.is_empty()
        || kinds.iter().any(|kind| {
            matches!(
                kind.as_str(),
                "app"
                    | "application"
                    | "browser"
                    | "process"
                    | "proces"
                    | "device"
                    | "artist"
                    | "song"
                    | "company"
                    | "program"
            )
        });
    (1..said.tokens.len())
        .filter(|_| proper)
        .find(|&at| said.tokens[at].is_capitalised() && !said.dated(at) && !names::is_path(said.tokens[at].text))
        .and_then(|at| said.run(at, false))
}
