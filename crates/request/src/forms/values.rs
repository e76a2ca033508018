//! Reads the arguments of a clause's built-in tool from its wording.

use std::path::Path;

use serde_json::{Map, Value};

use super::files::{KINDS_OF_FILES, TEXT};
use super::{Clause, bare};
use crate::arguments as spelled;
use crate::base::pattern::static_regex;
use crate::base::tool::Builtin;
use crate::clause;
use crate::edit::testing::{self, Task};
use crate::language::clauses::Part;
use crate::language::clauses::words::{is_determiner, is_preposition, listed};
use crate::language::shape;

/// Words before the text to search for.
const LEADS_TEXT: &str =
    "for, mention, mentions, mentioning, with, containing, contain, contains, say, says, saying, grep, of";
/// Words after the text to search for.
const BEHIND_TEXT: &str =
    "occur, occurs, appear, appears, anywhere, somewhere, used, left, please, in, inside, within, under, below, across";
/// Verbs for running something; the verb also names the thing to run.
const RUNS: &str = "run, rerun, execute, start, launch, check, test, build, compile, lint, format, install";
/// Nouns after the text that are not part of it: `unsafe blocks`.
const PLACES: &str = "blocks, block, comment, comments, calls, statements, keyword, strings, markers";

/// Maximum number of calls in one step; a step that names several files makes one call per file.
const CALLS_MAX: usize = 12;

type Arguments = Map<String, Value>;

/// The sources of values other than the clause's own words.
pub struct Known<'a> {
    /// The code symbol in the clause.
    pub symbol: Option<&'a str>,
    /// The project's folder.
    pub root: Option<&'a Path>,
    /// Finds the project's paths for a name.
    pub files: &'a dyn Fn(&str) -> Vec<String>,
}

/// The arguments of each call of `tool` that `part` spells out: one call, except for `read_file`
/// and `delete_file`, which have one per file.
///
/// # Errors
/// If something is missing; the error names it for the user.
pub fn arguments(tool: Builtin, part: &Part, known: &Known<'_>) -> Result<Vec<Arguments>, String> {
    let text = part.text.to_lowercase();
    let clause = Clause::of(&text, part, known.symbol).ok_or("the request has no word")?;
    let with = |values: &[(&str, Option<String>)]| -> Result<Arguments, String> {
        let value = |(name, value): &(&str, Option<String>)| match value {
            Some(value) => Ok(((*name).to_owned(), Value::String(value.clone()))),
            None => Err(format!("`{}` needs `{name}`, which the request does not give", tool.name())),
        };
        values.iter().map(value).collect()
    };
    let paths = paths(part);
    let path = |at: usize| paths.get(at).map(|path| meant(path, known.files));
    let arguments = match tool {
        Builtin::ReadFile if !paths.is_empty() => return Ok(read(&clause, &paths, known)),
        Builtin::ReadFile | Builtin::IndexReadFile | Builtin::IndexImports | Builtin::IndexDependents => {
            with(&[("path", path(0))])
        }
        Builtin::DeleteFile => {
            let deleted = known.root.and_then(|root| clause::only_deletes(part, root));
            let deleted = deleted.filter(|paths| paths.len() <= CALLS_MAX);
            let one = |path: String| Arguments::from_iter([("path".to_owned(), Value::String(path))]);
            let unclear =
                "it is not clear that complete files should be deleted, and which; name them alone: `delete a.txt`";
            return deleted.map(|paths| paths.into_iter().map(one).collect()).ok_or_else(|| unclear.to_owned());
        }
        Builtin::ListDir if paths.is_empty() => Ok(Arguments::new()),
        Builtin::ListDir => with(&[("path", path(0))]),
        Builtin::MoveFile => with(&[("source", path(0)), ("destination", paths.get(1).map(|to| (*to).to_owned()))]),
        Builtin::WriteFile => with(&written_file(part, &paths)?),
        Builtin::FindFiles => with(&[("pattern", pattern(&clause, part))]),
        Builtin::SearchText => {
            let sought = sought(&clause, part);
            // The path to search must differ from the text to search for.
            let place = paths.iter().find(|path| sought.as_deref() != Some(path)).map(|path| meant(path, known.files));
            let place = place.map(|place| ("path", Some(place)));
            with(&[("pattern", sought)].into_iter().chain(place).collect::<Vec<_>>())
        }
        Builtin::RunCommand => {
            let whole = part.full_text();
            let said = spelled::command(&whole).map(str::to_owned);
            with(&[("command", said.or_else(|| command(&clause, part, known.root?)))])
        }
        Builtin::IndexSearch => with(&[("question", Some(part.full_text().trim().to_owned()))]),
        Builtin::IndexCallers | Builtin::IndexCallees | Builtin::IndexImpact | Builtin::IndexFindFiles => {
            with(&[("symbol", known.symbol.map(str::to_owned).or_else(|| quoted(part)))])
        }
        Builtin::IndexListMemories => Ok(Arguments::new()),
        Builtin::ReplaceInFile
        | Builtin::IndexSearchText
        | Builtin::DescribeImage
        | Builtin::Outline
        | Builtin::Graph
        | Builtin::Edit
        | Builtin::Plan => Err(format!("no form covers `{}`", tool.name())),
    };
    Ok(vec![arguments?])
}

fn paths(part: &Part) -> Vec<&str> {
    part.paths.iter().map(String::as_str).filter(|path| !shape::is_url(&path.to_lowercase())).collect()
}

/// The path that `text` refers to: a bare file name refers to the project's only file of that name.
fn meant(text: &str, files: &dyn Fn(&str) -> Vec<String>) -> String {
    if text.contains('/') {
        return text.to_owned();
    }
    let found = files(text);
    let mut called = found.iter().filter(|path| path.rsplit('/').next() == Some(text));
    match (called.next(), called.next()) {
        (Some(only), None) => only.clone(),
        _ => text.to_owned(),
    }
}

/// The only quotation that is not a path; `None` if there are several or none.
fn quoted(part: &Part) -> Option<String> {
    let is_text = |text: &&String| text.contains(char::is_whitespace) || !shape::is_path(text);
    let mut free = part.quoted.iter().filter(is_text);
    free.next().filter(|_| free.next().is_none()).cloned()
}

/// One call per path, with the line numbers given in the clause.
fn read(clause: &Clause, paths: &[&str], known: &Known<'_>) -> Vec<Arguments> {
    let lines = lines(clause);
    let one = |path: &&str| {
        let mut one = Arguments::from_iter([("path".to_owned(), Value::String(meant(path, known.files)))]);
        if let Some((from, to)) = lines {
            one.extend([("start_line".to_owned(), from.into()), ("end_line".to_owned(), to.into())]);
        }
        one
    };
    paths.iter().take(CALLS_MAX).map(one).collect()
}

/// Path and content of a file to write; the request must quote the content.
fn written_file(part: &Part, paths: &[&str]) -> Result<Vec<(&'static str, Option<String>)>, String> {
    let content = quoted(part);
    let is_outside = |path: &&&str| content.as_deref().is_none_or(|content| !content.contains(**path));
    let path = paths.iter().find(is_outside).map(|path| (*path).to_owned());
    match (&path, &content) {
        (Some(path), None) => Err(format!(
            "the text for {path} is not quoted in the request; quote it, or use a planner that writes (scripts/fetch-models)"
        )),
        _ => Ok(vec![("path", path), ("content", content)]),
    }
}

/// First and last line to read: `lines 5 to 9`, `lines 1-40`, `line 7`, `the first 3 lines`.
fn lines(clause: &Clause) -> Option<(u64, u64)> {
    static_regex!(FIRST = r"\b(?:first|top) (\d+) lines?\b");
    static_regex!(RANGE = r"\blines? (\d+)(?:(?:[-–]| (?:to|through|until|and) )(\d+))?(?: |$)");
    let said = clause.words.join(" ");
    let number = |text: &str| text.parse::<u64>().ok().filter(|number| *number > 0);
    if let Some(found) = FIRST.captures(&said) {
        return Some((1, number(&found[1])?));
    }
    let found = RANGE.captures(&said)?;
    let from = number(&found[1])?;
    let to = found.get(2).map_or(Some(from), |to| number(to.as_str()))?;
    (from <= to).then_some((from, to))
}

/// The words of the clause as written, with the same indexes as in [`Clause`].
fn written(part: &Part) -> Vec<&str> {
    part.text.split_whitespace().map(bare).filter(|word| !word.is_empty()).collect()
}

/// The text to search for: a quotation, the word after `the word`, a tag like TODO, or the words
/// after `for` and the like.
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
    let ends = |at: &usize| listed(BEHIND_TEXT, word(*at)) || shape::is_path(word(*at));
    let to = (from + 1..words.len()).find(ends).unwrap_or(words.len());
    let to = if to > from + 1 && listed(PLACES, word(to - 1)) { to - 1 } else { to };
    Some(words[from..to].join(" "))
}

/// The file name or wildcard to find: a quotation, the word after `named`, an extension like
/// `.toml`, a wildcard, or the path.
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
        |word: &str| word.starts_with('.') && word.len() > 1 && word[1..].chars().all(char::is_alphanumeric);
    if let Some(word) = words.iter().find(|word| is_ending(word) || word.starts_with("*.")) {
        return Some(if word.starts_with('*') { (*word).to_owned() } else { format!("*{word}") });
    }
    let is_kind = clause.place("files").is_some_and(|files| listed(KINDS_OF_FILES, clause.before(files)));
    match clause.path {
        Some(path) if !is_kind => words.get(path).map(|word| (*word).to_owned()),
        _ => None,
    }
}

/// Whether the clause is itself a command line, such as `git status`.
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

/// Whether the clause asks to run a program, or to test, build, lint or format the whole project.
pub(super) fn runs(clause: &Clause, part: &Part) -> bool {
    let names_one = || {
        listed("run, rerun, execute", clause.verb()) && !part.quoted.is_empty()
            || listed(RUNS, clause.verb()) && spelled::names_command(&part.text)
    };
    is_command(clause) || task(clause).is_some() || names_one()
}

/// The command line in `part`, or else the one for its task from the project's manifest at `root`.
pub fn project_command(part: &Part, root: &Path) -> Option<String> {
    let text = part.text.to_lowercase();
    command(&Clause::of(&text, part, None)?, part, root)
}

/// Whether `part` asks to run all tests of a location or of the project, and nothing else.
pub fn runs_all_tests(part: &Part) -> bool {
    Clause::of(&part.text.to_lowercase(), part, None).is_some_and(|clause| task(&clause) == Some(Task::Test))
}

/// The command line in the clause or, for `run the tests` or `build the project`, the one from the
/// project's manifest.
fn command(clause: &Clause, part: &Part, root: &Path) -> Option<String> {
    if is_command(clause) {
        let words = part.text.split_whitespace().skip(1);
        let verb = clause.verb().to_owned();
        return Some(words.fold(verb, |line, word| format!("{line} {}", word.trim_end_matches(['?', '!', '.']))));
    }
    testing::of(root).command(task(clause)?)
}

/// The task that the clause asks for, if it is about the whole project.
fn task(clause: &Clause) -> Option<Task> {
    let task = match clause.verb() {
        "run" | "rerun" | "execute" | "start" | "launch" => {
            let of = [
                ("test, tests, testsuite, suite", Task::Test),
                ("linter, lint, lints, clippy", Task::Lint),
                ("formatter", Task::Format),
                ("build", Task::Build),
            ];
            of.into_iter().find(|(words, _)| clause.has(words))?.1
        }
        "test" => Task::Test,
        "build" | "compile" | "rebuild" => Task::Build,
        "lint" => Task::Lint,
        "format" => Task::Format,
        _ => return None,
    };
    let general = "the, this, it, project, code, all, whole, entire, everything, app, program, unit, my, our, please, again, test, tests, testsuite, \
        suite, linter, lint, lints, formatter, build, crate, package, on, source";
    // `run the tests of parser` names a part of the project, for which no command is known.
    let is_general = clause.words[clause.lead + 1..].iter().all(|word| listed(general, word));
    is_general.then_some(task)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::clauses::parts;

    /// The arguments of the first call; empty if something is missing.
    fn first_call(tool: Builtin, step: &str, root: Option<&Path>) -> Arguments {
        let known = Known { symbol: None, root, files: &|_| Vec::new() };
        arguments(tool, &parts(step)[0], &known).map(|all| all[0].clone()).unwrap_or_default()
    }

    fn check(tool: Builtin, step: &str, expected: &str) {
        let call = first_call(tool, step, None);
        assert_eq!(call.get("pattern").and_then(Value::as_str), Some(expected), "{step}");
    }

    #[test]
    fn the_text_to_search_is_read_from_the_clause() {
        let check = |step, expected| check(Builtin::SearchText, step, expected);
        check("Which files contain the phrase Boiler?", "Boiler");
        check("Find all TODO comments", "TODO");
        check("Any FIXMEs left?", "FIXME");
        check("Show all lines with OVEN_", "OVEN_");
        check("Does anything mention seccomp?", "seccomp");
        check("List all occurrences of preheat_or_wait in src/oven", "preheat_or_wait");
        check("Where do we print the string \"colours.toml\"?", "colours.toml");
        check("Search for unsafe blocks", "unsafe");
        check("Scan this folder for hard-coded addresses", "hard-coded addresses");
        check("grep for fn main", "fn main");
    }

    #[test]
    fn line_numbers_are_read_from_the_clause() {
        let check = |step: &str, expected: Option<(u64, u64)>| {
            let call = first_call(Builtin::ReadFile, step, None);
            let line = |name: &str| call.get(name).and_then(Value::as_u64);
            assert_eq!(line("start_line").zip(line("end_line")), expected, "{step}");
        };
        check("Read lines 10 to 19 of src/app.rs", Some((10, 19)));
        check("Display lines 2-30 of src/app.rs", Some((2, 30)));
        check("What's in line 12 of lib/app.rs?", Some((12, 12)));
        check("Show the first 3 lines of src/app.rs", Some((1, 3)));
        check("Does src/app.rs try 5 times?", None);
        check("Read lines 9 to 4 of src/app.rs", None);
    }

    #[test]
    fn the_file_pattern_is_read_from_the_clause() {
        let check = |step, expected| check(Builtin::FindFiles, step, expected);
        check("Is there any file called oven.bin?", "oven.bin");
        check("Where is the file door.rs?", "door.rs");
        check("Find all files ending in .yml", "*.yml");
        check("Which .rb files are in here?", "*.rb");
        check("Locate mod.rs files", "mod.rs");
    }

    #[test]
    fn test_and_build_commands_come_from_the_manifest() {
        let dir = tempfile::tempdir().unwrap();
        let check = |step: &str, expected: Option<&str>| {
            let call = first_call(Builtin::RunCommand, step, Some(dir.path()));
            assert_eq!(call.get("command").and_then(Value::as_str), expected, "{step}");
        };
        check("Run the tests", None);
        std::fs::write(dir.path().join("package.json"), r#"{"scripts": {"test": "vitest", "build": "vite build"}}"#)
            .unwrap();
        check("Run the tests", Some("npm test"));
        check("Build the project", Some("npm run build"));
        check("Run the linter", None);
        std::fs::write(dir.path().join("Cargo.toml"), "").unwrap();
        check("Please run the tests", Some("cargo test --offline"));
        check("Run the tests of the parser", None);
        check("Git status", Some("git status"));
    }

    #[test]
    fn a_file_is_written_only_with_quoted_content() {
        let check = |step: &str, expected: Option<(&str, &str)>| {
            let call = first_call(Builtin::WriteFile, step, None);
            let text = |name: &str| call.get(name).and_then(Value::as_str);
            assert_eq!(text("path").zip(text("content")), expected, "{step}");
        };
        check("Create list.md with the text \"see a.md\"", Some(("list.md", "see a.md")));
        check("Write \"x = 1; y = 2\" to b.py", Some(("b.py", "x = 1; y = 2")));
        check("Write hello to a.md", None);
        check("Create notes.md: one, two", None);
        check("Create notes.md with \"one\" and \"two\"", None);
    }

    #[test]
    fn a_bare_name_means_the_only_file_of_that_name() {
        let files = |name: &str| match name {
            "pull.rs" => vec!["src/pull.rs".to_owned(), "src/puller.rs".to_owned()],
            _ => vec!["a/mod.rs".to_owned(), "b/mod.rs".to_owned()],
        };
        let check = |step: &str, expected: &[&str]| {
            let known = Known { symbol: None, root: None, files: &files };
            let calls = arguments(Builtin::ReadFile, &parts(step)[0], &known).unwrap_or_default();
            let paths: Vec<&str> = calls.iter().filter_map(|call| call["path"].as_str()).collect();
            assert_eq!(paths, expected, "{step}");
        };
        check("Read pull.rs", &["src/pull.rs"]);
        check("Read mod.rs", &["mod.rs"]);
        check("Compare pull.rs and lib/x.rs", &["src/pull.rs", "lib/x.rs"]);
        check("Read it", &[]);
    }
}
