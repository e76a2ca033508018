//! Checks a change: its text by syntax and names, then the project by its tests and the examples in
//! the request.

use std::cell::LazyCell;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::agent::budget::Guided;
use crate::agent::evidence::{Check, Evidence};
use crate::agent::toolkit::TurnError;
use crate::edit::examples::{self, Example};
use crate::edit::failures::{self, Failure, Kind, Report};
use crate::edit::testing::{self, Checks, Task};
use crate::request::mentions::Mentions;

use super::files::Files;
use super::{Job, command};

/// Maximum number of characters in a summary of failures.
const SUMMARY_CHARS: usize = 700;
/// Maximum number of test files run for one change.
const TESTS_MAX: usize = 4;
/// Errors of Python and Node.js for a missing module.
const NOT_FOUND: &[&str] = &["ModuleNotFoundError", "ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND", "Cannot find module"];

/// The result of a command that checks the project.
pub struct Ran {
    pub line: String,
    pub report: Report,
    /// Whether the command runs new tests.
    pub of_new: bool,
    pub took: Duration,
}

impl Ran {
    /// A summary of the failures for a prompt; `None` if there are none.
    pub fn trouble(&self) -> Option<String> {
        if self.of_new && self.report.kind == Kind::NoTests {
            return Some(format!("`{}` finds no test in what was written.", self.line));
        }
        let failed = matches!(self.report.kind, Kind::Failed | Kind::Broken | Kind::Hung);
        failed.then(|| format!("`{}` fails:\n{}", self.line, failures::summary(&self.report, SUMMARY_CHARS)))
    }
}

/// The commands that check the project: tests, builds and the like.
pub fn checks_of(job: Job<'_>) -> Checks {
    testing::of(job.root())
}

/// Runs the test files that cover the files in `changed`, preferring those that mention `names`
/// most often. `None` if there are none, or if the user does not consent.
pub async fn tests_of(
    job: Job<'_>,
    changed: &[String],
    names: &[String],
    evidence: &mut Evidence,
) -> Result<Option<Ran>, TurnError> {
    let graph = job.index.graph().ok();
    let root = job.root();
    let all = crate::index::files_of(root);
    let mut tests: Vec<String> = Vec::new();
    for test in changed.iter().flat_map(|path| testing::tests_of(path, &all, graph.as_deref())) {
        if !tests.contains(&test) {
            tests.push(test);
        }
    }
    let by_mentions = |test: &String| {
        let text = job.text(test).unwrap_or_default();
        let count = |name: &String| if name.len() > 3 { text.matches(name.as_str()).count() } else { 0 };
        std::cmp::Reverse(names.iter().map(count).sum::<usize>())
    };
    tests.sort_by_cached_key(by_mentions);
    tests.truncate(TESTS_MAX);
    let Some(line) = checks_of(job).covering(&tests) else { return Ok(None) };
    let checks: Vec<Check> = tests.iter().map(|test| check_by(test, evidence)).collect();
    let has = |check: Check| checks.contains(&check);
    let check = [Check::NewTests, Check::ChangedTests].into_iter().find(|check| has(*check));
    run(job, &line, check.unwrap_or(Check::OldTests), evidence).await
}

/// The part of a file's text from its first test on: all of it in a test file, the unit tests of Rust
/// in other files.
fn tests_in<'t>(path: &str, text: &'t Option<Arc<str>>) -> &'t str {
    let text = text.as_deref().unwrap_or_default();
    let inline = || ["#[cfg(test)]", "#[test]"].iter().filter_map(|mark| text.find(mark)).min();
    match testing::is_test_file(path) {
        true => text,
        false => inline().map_or("", |at| &text[at..]),
    }
}

/// The kind of check that the test file `path` provides, depending on this turn's changes to it.
fn check_by(path: &str, evidence: &Evidence) -> Check {
    let changes = || evidence.entries().iter().flat_map(|entry| &entry.outcome.changes).filter(|one| one.path == path);
    let (Some(first), Some(last)) = (changes().next(), changes().next_back()) else { return Check::OldTests };
    let count = |text: &Option<Arc<str>>| text.as_deref().map_or(0, |text| testing::count(path, text));
    if count(&last.new) > count(&first.old) {
        Check::NewTests
    } else if tests_in(path, &first.old) != tests_in(path, &last.new) {
        Check::ChangedTests
    } else {
        Check::OldTests
    }
}

/// Adds the test file that covers the named code to the named paths, if the paths contain no test
/// file.
pub fn add_test_file(job: Job<'_>, mentions: &mut Mentions) {
    if mentions.paths.iter().chain(&mentions.new_paths).any(|path| testing::is_test(path)) {
        return;
    }
    let graph = job.index.graph().ok();
    let all = crate::index::files_of(job.root());
    let symbols = mentions.symbols.iter().chain(&mentions.likely).flat_map(|symbol| symbol.nodes.iter().take(1));
    let code = job.touched.iter().map(|one| &one.path).chain(&mentions.paths).chain(symbols.map(|node| &node.path));
    let tests = code.flat_map(|path| testing::tests_of(path, &all, graph.as_deref())).next();
    mentions.paths.extend(tests);
}

/// The command that runs the complete test suite.
pub fn suite(job: Job<'_>) -> Option<String> {
    checks_of(job).command(Task::Test)
}

/// The reason why the project's tests cannot be run, if something that they need is missing.
pub fn why_untested(job: Job<'_>) -> Option<String> {
    Some(checks_of(job).notes.join("; ")).filter(|why| !why.is_empty())
}

/// Runs a check and parses its output; `None` if the user does not consent. Failures caused only by
/// a missing package do not count: the run then counts as passed, or as missing if no test passed.
pub async fn run(job: Job<'_>, line: &str, check: Check, evidence: &mut Evidence) -> Result<Option<Ran>, TurnError> {
    let entry = command::perform(job, line, Some(Guided::CHECK_TIME), evidence).await?;
    if entry.status.is_refused() {
        return Ok(None);
    }
    let (id, text, succeeded) = (entry.id, entry.outcome.text.clone(), entry.succeeded());
    let took = Duration::from_millis(entry.wall_ms);
    let mut report = failures::read(&text, job.root(), succeeded);
    if report.kind != Kind::NoTests {
        evidence.note_check(id, check);
    }
    let root = job.root();
    let is_red = matches!(report.kind, Kind::Failed | Kind::Broken);
    let stopped = report.passed == 0 && lacks_package(root)(&text);
    if is_red && (stopped || !report.errors.is_empty() && lacking(&report, root).errors.len() == report.errors.len()) {
        report.kind = if report.passed > 0 { Kind::Passed } else { Kind::Missing };
    }
    Ok(Some(Ran { line: line.to_owned(), report, of_new: check == Check::NewTests, took }))
}

/// The failures caused by a package that is not installed; they prove nothing about the code.
pub fn lacking(report: &Report, root: &Path) -> Report {
    let lacks = lacks_package(root);
    let errors: Vec<Failure> = report.errors.iter().filter(|error| lacks(&error.message)).cloned().collect();
    Report { failed: errors.len(), errors, passed: report.passed, kind: report.kind }
}

/// Returns a function that tests whether an output reports a missing package that is not a module
/// of the project.
fn lacks_package(root: &Path) -> impl Fn(&str) -> bool {
    let files = LazyCell::new(|| crate::index::files_of(root));
    move |text| {
        let is_ours = |name: &str| {
            let name = name.split(['.', '/']).next().unwrap_or(name);
            files.iter().any(|path| path.split(['/', '.']).any(|part| part == name))
        };
        failures::missing_package(text, &is_ours).is_some()
    }
}

/// Failing examples of a request.
pub struct Wrong {
    /// The command that runs the examples.
    pub line: String,
    /// The failures, one line per example.
    pub said: String,
    /// The file that defines the called functions.
    pub path: String,
    pub names: Vec<String>,
    pub took: Duration,
    /// Whether the request does not state the right result.
    pub is_vague: bool,
}

/// Runs the examples of the request on the current code. `None` if there are none, if they pass, or
/// if they cannot be run.
pub async fn examples(job: Job<'_>, files: &Files, evidence: &mut Evidence) -> Result<Option<Wrong>, TurnError> {
    let all = job.scene.request.examples(&files.new_names, &|name| !files.had(name));
    run_examples(job, files, &all, Check::Examples, evidence).await
}

/// Like `examples`. If the request has calls without expected results, a call counts as wrong as
/// long as its result is the same as in the first run.
pub async fn examples_or_calls(
    job: Job<'_>,
    files: &mut Files,
    evidence: &mut Evidence,
) -> Result<Option<Wrong>, TurnError> {
    let is_new = |name: &str| !files.had(name);
    if files.only_tests || !job.scene.request.examples(&files.new_names, &is_new).is_empty() {
        return examples(job, files, evidence).await;
    }
    let calls = job.scene.request.calls(&is_new);
    let Some(now) = run_examples(job, files, &calls, Check::Looks, evidence).await? else { return Ok(None) };
    let given = examples::given(&now.said);
    let said: Vec<String> = match &files.given {
        Some(before) => given.into_iter().filter(|line| before.contains(line)).collect(),
        None => {
            files.given = Some(given.clone());
            given
        }
    };
    Ok((!said.is_empty()).then(|| Wrong { said: said.join("\n"), is_vague: true, ..now }))
}

/// Runs the examples in `all` that call a function in the file of the first one; `None` if there
/// are none, if they pass, or if they cannot be run.
async fn run_examples(
    job: Job<'_>,
    files: &Files,
    all: &[Example],
    check: Check,
    evidence: &mut Evidence,
) -> Result<Option<Wrong>, TurnError> {
    let Some(path) = all.first().and_then(|one| files.place_of(&one.name)) else { return Ok(None) };
    let here: Vec<Example> =
        all.iter().filter(|one| files.place_of(&one.name).as_ref() == Some(&path)).cloned().collect();
    let Some(line) = examples::command(&path, &here) else { return Ok(None) };
    let entry = command::perform(job, &line, Some(Guided::CHECK_TIME), evidence).await?;
    let (id, is_over) = (entry.id, entry.status.is_refused() || entry.succeeded());
    let names = here.iter().map(|one| one.name.clone()).collect();
    let took = Duration::from_millis(entry.wall_ms);
    let said = if is_over { None } else { examples::wrong(&entry.outcome.text, &here) };
    evidence.note_check(id, check);
    Ok(said.map(|said| Wrong { line, said, path, names, took, is_vague: false }))
}

/// The run of the tests that cover `changed`, if it fails. If no test can run, compiled code must
/// compile, and other modules must load.
pub async fn failing(
    job: Job<'_>,
    changed: &[String],
    names: &[String],
    evidence: &mut Evidence,
) -> Result<Option<Ran>, TurnError> {
    let fails = |ran: &Ran| ran.trouble().is_some();
    let ran = tests_of(job, changed, names, evidence).await?;
    if let Some(ran) = ran.filter(|ran| ran.report.kind != Kind::Missing) {
        return Ok(Some(ran).filter(fails));
    }
    let is_compiled = |path: &String| [".rs", ".go", ".ts", ".tsx"].iter().any(|ending| path.ends_with(ending));
    if changed.iter().any(is_compiled) {
        let line = checks_of(job).command(Task::Compile);
        return match line {
            Some(line) => Ok(run(job, &line, Check::Compiles, evidence).await?.filter(fails)),
            None => Ok(None),
        };
    }
    let graph = job.index.graph().ok();
    let is_imported = |path: &str| graph.as_ref().is_some_and(|graph| !graph.dependents(path).is_empty());
    let text = |path: &str| job.text(path).unwrap_or_default();
    let modules = changed.iter().filter(|path| !testing::is_test(path));
    let lines: Vec<String> =
        modules.filter_map(|path| testing::loading(path, &text(path), is_imported(path))).collect();
    if lines.is_empty() {
        return Ok(None);
    }
    // A missing module may only mean that another working directory is needed; `problems` finds
    // invented names.
    let is_of_place = |ran: &Ran| ran.trouble().is_some_and(|said| NOT_FOUND.iter().any(|words| said.contains(words)));
    Ok(run(job, &lines.join(" && "), Check::Loads, evidence).await?.filter(|ran| fails(ran) && !is_of_place(ran)))
}

/// Runs a command and summarises its failures; `None` if it passes or may not be run.
pub async fn trouble_of(
    job: Job<'_>,
    line: &str,
    check: Check,
    evidence: &mut Evidence,
) -> Result<Option<String>, TurnError> {
    Ok(run(job, line, check, evidence).await?.and_then(|ran| ran.trouble()))
}

/// Whether a failure reports a missing name or module.
pub fn misses_something(trouble: &str) -> bool {
    const SIGNS: &[&str] = &[
        "ImportError",
        "ModuleNotFoundError",
        "AttributeError",
        "NameError",
        "ReferenceError",
        "is not defined",
        "is not a function",
        "cannot find",
        "undefined",
        "has no ",
        "no method",
        "unresolved",
        "not found",
    ];
    SIGNS.iter().any(|sign| trouble.contains(sign))
}
