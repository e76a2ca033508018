//! Finds the command that a clause asks to run, or whose output it asks to see.

use std::ops::Range;

use crate::language::clauses::names;
use crate::language::clauses::scan::{Kind, Token, scan_line};
use crate::language::clauses::words::{self, listed};

/// A clause with its tokens.
struct Said<'a> {
    text: &'a str,
    tokens: Vec<Token<'a>>,
}

impl<'a> Said<'a> {
    fn read(text: &'a str) -> Said<'a> {
        Said { text, tokens: scan_line(text) }
    }

    /// The token at `at` in lower case; empty if it is no word.
    fn low(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.low.as_str())
    }

    /// The text of tokens `from..to`.
    fn span(&self, from: usize, to: usize) -> Option<&'a str> {
        (from < to && to <= self.tokens.len()).then(|| &self.text[self.tokens[from].start..self.tokens[to - 1].end])
    }

    /// Index of the token after the first `run` or `execute`, and after `the command` behind it.
    fn behind_run(&self) -> Option<usize> {
        let run = (0..self.tokens.len()).find(|&at| matches!(self.low(at), "run" | "execute"))?;
        let behind = if (self.low(run + 1), self.low(run + 2)) == ("the", "command") { run + 3 } else { run + 1 };
        (behind < self.tokens.len()).then_some(behind)
    }
}

/// The quotation at `at`, or the words from there to the first that `stops`, without a full stop or comma at the end.
fn piece<'a>(said: &Said<'a>, at: usize, stops: impl Fn(usize) -> bool) -> Option<&'a str> {
    let first = said.tokens.get(at)?;
    if first.kind == Kind::Opaque {
        return Some(names::unquoted(first));
    }
    let mut end = (at..said.tokens.len()).find(|&i| stops(i)).unwrap_or(said.tokens.len());
    while end > at + 1 && matches!(said.tokens[end - 1].kind, Kind::Stop | Kind::Comma) {
        end -= 1;
    }
    said.span(at, end)
}

/// Programs that people run by name.
const PROGRAMS: &str = "\
    cargo, npm, npx, pnpm, yarn, bun, deno, node, make, cmake, ninja, just, pytest, python, python3, pip, uv, tox, ruff, \
    mypy, go, git, docker, gradle, mvn, dotnet, swift, ruby, rake, bundle, php, composer, eslint, prettier, tsc, jest, \
    vitest, bash, sh";
/// Subcommands of `git` that show something.
const GIT_SHOWS: &str = "log, status, diff, blame, shortlog";
const SHOWING: &str = "show, print, display, give, get, see, view, check, list, what, what's";

/// Programs whose names are also ordinary words: `with just one thread`.
const ORDINARY: &str = "just, go, make";
/// Words that may stand between a showing verb and `git`. With any other word, git is only mentioned (`show where git log is parsed`).
const BEFORE_GIT: &str = "me, us, the, is, of, what, output, a, current, latest, recent";

/// Whether `text` asks to see the output of a command, as `show the git log` does.
pub fn shows_command(text: &str) -> bool {
    shown(&Said::read(text)).is_some()
}

/// The tokens of the git command in `show me the git log`, with its flags, paths and revisions. `None` if a noun follows, as in
/// `show the git log parser`.
fn shown(said: &Said) -> Option<Range<usize>> {
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

/// Whether the token is an argument of git: `--stat`, `src/a.rs`, `HEAD~2`, `main..topic`, `9b3baee`.
fn is_git_argument(said: &Said, at: usize) -> bool {
    let token = &said.tokens[at];
    let text = token.text;
    let hash = (7..=40).contains(&text.len()) && text.chars().all(|c| c.is_ascii_hexdigit());
    let revision = hash && text.contains(|c: char| c.is_ascii_digit())
        || text.starts_with("HEAD")
        || text.contains("..")
        || text.contains(['~', '^', '@']);
    let is_path = names::is_path(text.trim_matches(['`', '"', '\'']));
    matches!(token.kind, Kind::Word | Kind::Opaque) && (text.starts_with('-') || revision || is_path)
}

/// The command that `text` spells out: quoted, after `run` or `execute`, after `with` (`with cargo test`), or as `the git log`.
pub fn command(text: &str) -> Option<&str> {
    let said = &Said::read(text);
    let quoted = said.tokens.iter().find(|token| token.kind == Kind::Opaque).map(names::unquoted);
    quoted.or_else(|| named(said))
}

/// Whether `text` names a command outside quotation marks.
pub fn names_command(text: &str) -> bool {
    named(&Said::read(text)).is_some()
}

fn named<'a>(said: &Said<'a>) -> Option<&'a str> {
    if let Some(shown) = shown(said) {
        return said.span(shown.start, shown.end);
    }
    let program = |at: usize| {
        let low = said.low(at);
        low.starts_with("./") || listed(PROGRAMS, low) && !listed(ORDINARY, low)
    };
    let by = |at: usize| matches!(said.low(at), "with" | "using" | "via") && program(at + 1);
    let stops = |i: usize| {
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
    let run = said.behind_run().filter(|&at| written_out(at));
    run.and_then(behind).or_else(|| (0..said.tokens.len()).find(|&at| by(at)).and_then(|at| behind(at + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_after_run_or_with_and_in_questions_about_git() {
        let check = |step: &str, expected: Option<&str>| assert_eq!(command(step), expected, "{step}");
        check("Run cargo test --lib", Some("cargo test --lib"));
        check("Run `npm ci`", Some("npm ci"));
        check("Run the tests with cargo test", Some("cargo test"));
        check("Run the tests using npm run test:unit, please", Some("npm run test:unit"));
        check("Run the tests with great care", None);
        check("Run npm start with node 20", Some("npm start"));
        check("Run the tests with just one thread", None);
        check("Run the tests with make believe data", None);
        check("Execute ./deploy.sh using bash", Some("./deploy.sh"));
        check("Make a dry run with cargo publish --dry-run", Some("cargo publish --dry-run"));
        check("Show me the git log", Some("git log"));
        check("What is the git status?", Some("git status"));
        check("Show the git diff of src/a.rs", Some("git diff"));
        check("Show git log --oneline -5 src/a.rs", Some("git log --oneline -5 src/a.rs"));
        check("Check git diff HEAD~2, then run the tests", Some("git diff HEAD~2"));
        check("Show me where git status is parsed", None);
        check("Show the git log parser", None);
        check("Check that git status is clean", None);
    }
}
