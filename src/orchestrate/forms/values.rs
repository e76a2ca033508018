//! What the form of a clause says for the arguments of the built-in tool that it asks for.

use std::path::Path;

use serde_json::{Map, Value};

use super::files::{KINDS_OF_FILES, TEXT};
use super::{Clause, bare};
use crate::edit::checks::{self, Task};
use crate::orchestrate::decompose::words::{is_determiner, is_preposition, listed};
use crate::orchestrate::decompose::{Part, names};

/// Lead what is looked for in files.
const LEADS_TEXT: &str =
    "for, mention, mentions, mentioning, with, containing, contain, contains, say, says, saying, grep, of";
/// Stand behind what is looked for.
const BEHIND_TEXT: &str =
    "occur, occurs, appear, appears, anywhere, somewhere, used, left, please, in, inside, within, under, below, across";
/// Nouns for places of a text that are no part of it.
const PLACES: &str = "blocks, block, comment, comments, calls, statements, keyword, strings, markers";

/// Replaces in `arguments` of `tool` what the form of the clause says better, and gives the names of what it has set.
pub fn put(
    arguments: &mut Map<String, Value>,
    tool: &str,
    part: &Part,
    symbol: Option<&str>,
    root: Option<&Path>,
) -> Vec<String> {
    let text = part.text.to_lowercase();
    let Some(clause) = Clause::of(&text, part, symbol) else { return Vec::new() };
    let text = |name: &str, value: Option<String>| value.map(|value| vec![(name.to_owned(), Value::String(value))]);
    let found = match tool {
        "index_callers" | "index_callees" | "index_impact" | "index_find_files" => {
            text("symbol", symbol.map(str::to_owned))
        }
        "search_text" => text("pattern", sought(&clause, part)),
        "find_files" => text("pattern", pattern(&clause, part)),
        "run_command" if !arguments.contains_key("command") => {
            text("command", root.and_then(|root| command(&clause, part, root)))
        }
        "read_file" => {
            // A number that is not said of lines is none of a line.
            arguments.retain(|name, _| !matches!(name.as_str(), "start_line" | "end_line"));
            lines(&clause)
                .map(|(from, to)| vec![("start_line".to_owned(), from.into()), ("end_line".to_owned(), to.into())])
        }
        _ => None,
    };
    let found = found.unwrap_or_default();
    // What is looked for is no place to look in.
    if found.iter().any(|(_, value)| arguments.get("path") == Some(value)) {
        arguments.remove("path");
    }
    let names = found.iter().map(|(name, _)| name.clone()).collect();
    arguments.extend(found);
    names
}

/// The lines that are to be read: `lines 10 to 20`, `lines 1-40`, `line 7`, `the first 3 lines`.
fn lines(clause: &Clause) -> Option<(u64, u64)> {
    let at = clause.place("line, lines")?;
    let word = |at: usize| clause.words.get(at).copied().unwrap_or_default();
    let number = |text: &str| text.parse::<u64>().ok().filter(|number| *number > 0);
    if let Some(count) = number(clause.before(at)).filter(|_| at > 1 && listed("first, top", word(at - 2))) {
        return Some((1, count));
    }
    let (from, to) = match (word(at + 1).split_once(['-', '–']), word(at + 2)) {
        (Some((from, to)), _) => (number(from)?, number(to)?),
        (None, "to" | "through" | "until" | "and") => (number(word(at + 1))?, number(word(at + 3))?),
        (None, _) => (number(word(at + 1))?, number(word(at + 1))?),
    };
    (from <= to).then_some((from, to))
}

/// The words of the clause as they were written; as many as in small letters.
fn written(part: &Part) -> Vec<&str> {
    part.text.split_whitespace().map(bare).filter(|word| !word.is_empty()).collect()
}

/// The text that is looked for: quoted, behind `the word`, a mark like TODO, or what stands behind `for` and its like.
fn sought(clause: &Clause, part: &Part) -> Option<String> {
    if let Some(quoted) = part.quoted.first() {
        return Some(quoted.clone());
    }
    let words = written(part);
    let word = |at: usize| clause.words.get(at).copied().unwrap_or_default();
    if let Some(at) = clause.place(TEXT).filter(|&at| !is_preposition(word(at + 1))) {
        return words.get(at + 1).map(|word| (*word).to_owned());
    }
    if let Some(at) = clause.place("todo, todos, fixme, fixmes") {
        return Some(if word(at).starts_with("todo") { "TODO" } else { "FIXME" }.to_owned());
    }
    let lead = (clause.lead..words.len()).find(|&at| listed(LEADS_TEXT, word(at)))?;
    let from = (lead + 1..words.len()).find(|&at| !is_determiner(word(at)) && word(at) != "for")?;
    let ends = |at: &usize| listed(BEHIND_TEXT, word(*at)) || names::is_path(word(*at));
    let to = (from + 1..words.len()).find(ends).unwrap_or(words.len());
    let to = if to > from + 1 && listed(PLACES, word(to - 1)) { to - 1 } else { to };
    Some(words[from..to].join(" "))
}

/// The name or wildcard that is looked for: quoted, behind `named`, the path that is written, or the ending that a kind of files has.
fn pattern(clause: &Clause, part: &Part) -> Option<String> {
    if let Some(quoted) = part.quoted.first() {
        return Some(quoted.clone());
    }
    let words = written(part);
    let behind = |at: usize| words.get(at + 1).map(|word| (*word).to_owned());
    if let Some(at) = clause.place("named, called") {
        return behind(at);
    }
    let is_ending =
        |word: &&&str| word.starts_with('.') && word.len() > 1 && word[1..].chars().all(char::is_alphanumeric);
    if let Some(ending) = words.iter().find(is_ending) {
        return Some(format!("*{ending}"));
    }
    if let Some(wildcard) = words.iter().find(|word| word.starts_with("*.")) {
        return Some((*wildcard).to_owned());
    }
    let is_kind = clause.place("files").is_some_and(|files| listed(KINDS_OF_FILES, clause.before(files)));
    match clause.path {
        Some(path) if !is_kind => words.get(path).map(|word| (*word).to_owned()),
        _ => None,
    }
}

/// A program with its arguments is a command as it stands.
fn is_command(clause: &Clause) -> bool {
    let verbs = match clause.verb() {
        "git" => {
            "status, log, diff, show, branch, add, commit, checkout, switch, stash, pull, push, fetch, blame, tag, remote"
        }
        "cargo" => "test, build, check, clippy, fmt, run, bench, doc, update, add, tree, clean",
        "npm" => "test, run, install, ci, start, ls, audit, outdated",
        _ => return false,
    };
    clause.lead == 0 && listed(verbs, clause.behind_verb(1))
}

/// Whether a program is run, or something is done with the project as a whole.
pub(super) fn runs(clause: &Clause) -> bool {
    is_command(clause) || task(clause).is_some()
}

/// What `run the tests`, `build the project` runs, by the manifest of the project.
fn command(clause: &Clause, part: &Part, root: &Path) -> Option<String> {
    if is_command(clause) {
        let words = part.text.split_whitespace().skip(1);
        let verb = clause.verb().to_owned();
        return Some(words.fold(verb, |line, word| format!("{line} {}", word.trim_end_matches(['?', '!', '.']))));
    }
    Some(checks::of(root).command(task(clause)?)?.line)
}

fn task(clause: &Clause) -> Option<Task> {
    let task = match clause.verb() {
        "run" | "rerun" | "execute" | "start" | "launch" => match () {
            () if clause.has("test, tests, testsuite, suite") => Task::Test,
            () if clause.has("linter, lint, lints, clippy") => Task::Lint,
            () if clause.has("formatter") => Task::Format,
            () if clause.has("build") => Task::Build,
            () => return None,
        },
        "test" => Task::Test,
        "build" | "compile" | "rebuild" => Task::Build,
        "lint" => Task::Lint,
        "format" => Task::Format,
        _ => return None,
    };
    let general = "the, this, it, project, code, all, whole, entire, everything, app, program, unit, my, our, please, again, test, tests, testsuite, \
        suite, linter, lint, lints, formatter, build, crate, package, on, source";
    // `run the tests of parser`: which ones would have to be known.
    let is_general = clause.words[clause.lead + 1..].iter().all(|word| listed(general, word));
    is_general.then_some(task)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::orchestrate::decompose::parts;

    fn check(tool: &str, step: &str, expected: &str) {
        let mut arguments = Map::new();
        put(&mut arguments, tool, &parts(step)[0], None, None);
        let value = arguments.values().next().and_then(Value::as_str).unwrap_or_default();
        assert_eq!(value, expected, "{step}");
    }

    #[test]
    fn what_is_looked_for_is_what_stands_behind_its_lead() {
        let check = |step, expected| check("search_text", step, expected);
        check("Which files contain the word Adapter?", "Adapter");
        check("Find all TODO comments", "TODO");
        check("Any FIXMEs left?", "FIXME");
        check("Show me all lines with MONOBLOC_", "MONOBLOC_");
        check("Does anything mention seccomp?", "seccomp");
        check("List all occurrences of unwrap_or_else in src/engine", "unwrap_or_else");
        check("Where do we use the string \"models.toml\"?", "models.toml");
        check("Search for unsafe blocks", "unsafe");
        check("Scan the project for hard-coded passwords", "hard-coded passwords");
        check("grep for fn main", "fn main");
    }

    #[test]
    fn numbers_of_lines_are_those_that_are_said_of_lines() {
        let check = |step: &str, expected: Option<(u64, u64)>| {
            let mut arguments = Map::from_iter([("start_line".to_owned(), Value::from(5))]);
            put(&mut arguments, "read_file", &parts(step)[0], None, None);
            let line = |name: &str| arguments.get(name).and_then(Value::as_u64);
            assert_eq!(line("start_line").zip(line("end_line")), expected, "{step}");
        };
        check("Read lines 10 to 20 of src/app.rs", Some((10, 20)));
        check("Display lines 1-40 of src/app.rs", Some((1, 40)));
        check("What's on line 12 of src/app.rs?", Some((12, 12)));
        check("Show the first 3 lines of src/app.rs", Some((1, 3)));
        check("Does src/app.rs try 5 times?", None);
        check("Read lines 9 to 4 of src/app.rs", None);
    }

    #[test]
    fn files_are_looked_for_by_what_is_written_of_them() {
        let check = |step, expected| check("find_files", step, expected);
        check("Is there a file called adapter.bin?", "adapter.bin");
        check("Where is the file features.rs?", "features.rs");
        check("Find every file ending in .toml", "*.toml");
        check("Which .rs files are in the project?", "*.rs");
        check("Locate mod.rs files", "mod.rs");
    }

    #[test]
    fn the_manifest_says_what_a_project_is_tested_and_built_with() {
        let dir = tempfile::tempdir().unwrap();
        let check = |step: &str, expected: Option<&str>| {
            let mut arguments = Map::new();
            put(&mut arguments, "run_command", &parts(step)[0], None, Some(dir.path()));
            assert_eq!(arguments.get("command").and_then(Value::as_str), expected, "{step}");
        };
        check("Run the tests", None);
        std::fs::write(dir.path().join("package.json"), r#"{"scripts": {"test": "vitest", "build": "vite build"}}"#)
            .unwrap();
        check("Run the tests", Some("npm test"));
        check("Build the project", Some("npm run build"));
        check("Run the linter", None);
        std::fs::write(dir.path().join("Cargo.toml"), "").unwrap();
        check("Please run the test suite", Some("cargo test --offline"));
        check("Run the tests of the parser", None);
        check("Git status", Some("git status"));
    }
}
