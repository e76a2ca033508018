//! Arguments that are words of the step: contents and commands.

use std::ops::Range;

use super::said::Said;
use crate::orchestrate::decompose::names;
use crate::orchestrate::decompose::scan::Kind;
use crate::orchestrate::decompose::words;
use crate::orchestrate::decompose::words::listed;

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
