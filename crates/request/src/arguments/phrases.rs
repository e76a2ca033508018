//! Finds the command that a clause asks to run, or whose output it asks for.

use std::sync::LazyLock;

use regex::Regex;

use crate::base::pattern::{pattern, static_regex};
use crate::language::clauses::names;
use crate::language::clauses::scan::{Kind, scan_line};
use crate::language::clauses::words::{self, listed};

/// Programs that people run by name, except those that are also ordinary words:
/// `with just one thread`.
const PROGRAMS: &str = "cargo|npm|npx|pnpm|yarn|bun|deno|node|cmake|ninja|pytest|python3?|pip|uv|tox|ruff|mypy|git|docker|gradle|\
    mvn|dotnet|swift|ruby|rake|bundle|php|composer|eslint|prettier|tsc|jest|vitest|bash|sh";
/// Nouns that may follow `run` but are not programs.
const NOUNS: &str = "tests, test, benchmarks, linter, everything, all";

/// Whether `text` asks for the output of a command, as in `show the git log`.
pub fn shows_command(text: &str) -> bool {
    shown(text).is_some()
}

/// The git command in `show me the git log`, with its flags, paths and revisions. `None` if a noun follows, as in `show the git log parser`.
fn shown(text: &str) -> Option<&str> {
    // After any other word, `git` is only mentioned: `show where git log is parsed`.
    static SHOWN: LazyLock<Regex> = LazyLock::new(|| {
        let asks = r"(?:show|print|display|give|get|see|view|check|list|what(?:['’]s)?)";
        let between = r"(?:\s+(?:me|us|the|is|of|what|output|a|current|latest|recent))*";
        let argument = r"(?:-[^\s,;?!]+|HEAD[^\s,;?!]*|[^\s,;?!]*[~^@/.][^\s,;?!]*\w|[0-9a-f]{7,40}\b)";
        let git = r"git\s+(?:log|status|diff|blame|shortlog)\b";
        pattern(format!(r"^(?i:{asks}{between})\s+((?i:{git})(?:\s+{argument})*)(.*)"))
    });
    let found = SHOWN.captures(text.trim_start())?;
    let next = found[2].split_whitespace().next().unwrap_or_default().to_lowercase();
    let ends = !next.starts_with(char::is_alphanumeric)
        || words::is_preposition(&next)
        || words::is_connective(&next)
        || words::is_adverb(&next)
        || next == "output";
    found.get(1).filter(|_| ends).map(|shown| shown.as_str())
}

/// The command given in `text`: quoted, after `run` or `execute`, after `with` (`with cargo test`),
/// or as `the git log`.
pub fn command(text: &str) -> Option<&str> {
    let quoted = scan_line(text).iter().find(|token| token.kind == Kind::Opaque).map(names::unquoted);
    quoted.or_else(|| named(text))
}

/// Whether `text` names a command outside quotation marks.
pub fn names_command(text: &str) -> bool {
    named(text).is_some()
}

fn named(text: &str) -> Option<&str> {
    static_regex!(RUN = r"(?i)\b(?:run|execute)\s+(?:the\s+command\s+)?");
    static_regex!(BY = format!(r"(?i)(?:^|\s)(?:with|using|via)\s+((?:\./\S|(?:{PROGRAMS})(?:\s|$)).*)"));
    static STOP: LazyLock<Regex> = LazyLock::new(|| {
        let by = format!(r"(?:with|using|via)\s+(?:\./|(?:{PROGRAMS})\b)");
        pattern(format!(r"(?i)\s(?:please\b|{by}|(?:and|then|in|for|of|to)\s)"))
    });
    if let Some(shown) = shown(text) {
        return Some(shown);
    }
    let is_written_out = |rest: &str| {
        let word = rest.split([' ', ',']).next().unwrap_or_default();
        word.starts_with(|c: char| c.is_lowercase() || matches!(c, '.' | '/'))
            && !(words::is_determiner(word) || words::is_object_pronoun(word) || listed(NOUNS, word))
            && !listed("with, using, via, in, for, of, to, and, then, please", word)
    };
    let run = RUN.find(text).map(|run| &text[run.end()..]).filter(|rest| is_written_out(rest));
    let rest = run.or_else(|| BY.captures(text).and_then(|by| by.get(1)).map(|by| by.as_str()))?;
    let end = STOP.find(rest).map_or(rest.len(), |stop| stop.start());
    Some(rest[..end].trim_end_matches(['.', ',', '?', '!', ' '])).filter(|command| !command.is_empty())
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
        check("Check how long the tests run in CI", None);
        check("Check whether both workers run for the same job", None);
    }
}
