//! Answers a question about the result of a command or of tests from the output: runs the command
//! if it has not yet run, and counts by code.

use crate::agent::evidence::{Check, Entry, Evidence};
use crate::agent::synthesize::tell;
use crate::agent::toolkit::TurnError;
use crate::edit::failures::{self, Kind, Report};
use crate::edit::testing;
use crate::language::words;
use crate::tools::builtin::Builtin;

use super::{Job, verify};

/// Maximum number of lines quoted from an output without counts.
const LINES_MAX: usize = 12;

/// The answer to a step that asks how a run ended; `None` if it asks for something else.
pub async fn answer(job: Job<'_>, evidence: &mut Evidence) -> Result<Option<String>, TurnError> {
    let text = &job.step.text;
    let of_tests = text.speaks_of_tests() && text.speaks_of_passing();
    let is_run = |entry: &&Entry| entry.tool == Builtin::RunCommand.name() && evidence.check(entry.id).is_none();
    let ran = evidence.entries().iter().rfind(is_run).filter(|_| text.asks_how_it_ended());
    if let Some(entry) = ran {
        return Ok(Some(tell(job.scene.host, &told(&line_of(entry), entry, job))));
    }
    if !of_tests && job.of_several && job.scene.request.speaks_of_tests() && text.speaks_of_passing() {
        return Ok(Some(tell(job.scene.host, "No command has run, so there is no result; ask to run the tests.\n")));
    }
    if !of_tests || !text.asks_for_now() {
        return Ok(None);
    }
    let named: Vec<String> = job.step.part.paths.iter().filter(|path| testing::is_test(path)).cloned().collect();
    let Some(line) = verify::checks_of(job).covering(&named).or_else(|| verify::suite(job)) else {
        let why = verify::why_untested(job).unwrap_or_else(|| "it is unclear how this project is tested".to_owned());
        return Ok(Some(tell(
            job.scene.host,
            &format!("The tests were not run: {why}. Name the command, in backticks.\n"),
        )));
    };
    if verify::run(job, &line, Check::Asked, evidence).await?.is_none() {
        return Ok(Some(tell(job.scene.host, &format!("The tests were not run: you said no to `{line}`.\n"))));
    }
    Ok(evidence.entries().last().map(|entry| tell(job.scene.host, &told(&line, entry, job))))
}

/// The output of a command in words: its counts, or its last lines if it has none.
fn told(line: &str, entry: &Entry, job: Job<'_>) -> String {
    let output = &entry.outcome.text;
    let line = words::shorten(line, 90);
    let report = failures::read(output, job.root(), entry.succeeded());
    // Without `-v` Go reports packages, not tests.
    let is_of_packages = line.contains("go test") && !line.contains(" -v");
    match counted(&report).filter(|_| !is_of_packages) {
        Some(counts) => format!("`{line}`: {counts}.\n"),
        None => {
            let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
            let last = lines[lines.len().saturating_sub(LINES_MAX)..].join("\n  ");
            format!("`{line}` printed:\n  {last}\n")
        }
    }
}

/// The numbers of passed and failed tests; `None` if the output does not contain them.
fn counted(report: &Report) -> Option<String> {
    let is_of_tests = report.passed > 0 || report.errors.iter().any(|failure| failure.test.is_some());
    let is_counted = matches!(report.kind, Kind::Passed | Kind::Failed) && is_of_tests;
    is_counted.then(|| format!("{} passed, {} failed", report.passed, report.failed))
}

fn line_of(entry: &Entry) -> String {
    entry.arguments.get("command").and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
}
