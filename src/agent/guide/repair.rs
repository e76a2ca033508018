//! Repairs failing tests and reported bugs: runs the tests, tries small changes to the code that a
//! failure points to, and, if none helps, has the model rewrite it.

mod fill;
mod mutate;
mod suspects;
mod trial;

use std::collections::HashSet;
use std::time::Duration;

use crate::agent::evidence::{Check, Evidence};
use crate::agent::toolkit::TurnError;
use crate::context::Purpose;
use crate::edit::failures::{Kind, Report};
use crate::edit::has_grammar;
use crate::edit::testing::{self, is_test_file};
use crate::index::parts::{self, Sort};
use crate::index::{Graph, Node};
use crate::request::Text;
use crate::request::mentions::Mentions;

use super::files::Files;
use super::{Done, Job, Stretch, code, verify};
use suspects::suspects;

/// Maximum number of failed tests whose code is shown to the model.
const TESTS_SHOWN: usize = 2;
/// Maximum number of definitions with the same name, and of files with failures, searched for the
/// mistake.
const NODES_MAX: usize = 2;
const FILES_MAX: usize = 3;

/// Runs the command that the step or the request quotes, else the test suite, and repairs the code
/// until the run passes. Changes that do not help are reverted.
pub async fn fix(job: Job<'_>, evidence: &mut Evidence) -> Result<Done, TurnError> {
    let said = job.step.text.command().or_else(|| job.scene.request.command());
    let Some(line) = said.map(str::to_owned).or_else(|| verify::suite(job)) else {
        let missing = verify::why_untested(job);
        let why = missing.as_deref().unwrap_or("it is unclear how this project is tested");
        return Ok(Done::note(format!("not done: {why}; name the command, in backticks")));
    };
    let Some(ran) = verify::run(job, &line, Check::Asked, evidence).await? else {
        return Ok(Done::note(format!("not done: `{line}` may not be run")));
    };
    if ran.trouble().is_none() {
        return Ok(Done::default());
    }
    let named = job.mentions(&job.step.text)?;
    repaired(job, ran, None, &named, evidence).await
}

/// Repairs a reported bug if the tests that cover the code, or examples in the request, fail.
/// `None` if nothing is reported or nothing fails.
pub async fn reported(job: Job<'_>, evidence: &mut Evidence) -> Result<Option<Done>, TurnError> {
    if !job.step.text.is_report() && !job.scene.request.is_report() {
        return Ok(None);
    }
    let (pack, mentions) = super::pack(job, &job.step.text, Purpose::Change).await?;
    if mentions.adds || !mentions.new_names.is_empty() || !mentions.new_paths.is_empty() {
        return Ok(None);
    }
    let nodes = mentions.symbols.iter().flat_map(|symbol| symbol.nodes.iter().take(1));
    let named: Vec<String> = nodes.map(|node| node.path.clone()).chain(mentions.paths.iter().cloned()).collect();
    let found = pack.files.iter().take(1).map(|file| file.path.clone());
    let mut paths: Vec<String> = if named.is_empty() { found.collect() } else { named };
    paths.retain(|path| has_grammar(path) && !testing::is_test(path));
    let names: Vec<String> = mentions.symbols.iter().map(|symbol| symbol.name.clone()).collect();
    let ran = verify::tests_of(job, &paths, &names, evidence).await?;
    let files = Files::of(job, &pack, &mentions);
    let wrong = verify::examples(job, &files, evidence).await?;
    match (ran, wrong) {
        (Some(ran), wrong) if matches!(ran.report.kind, Kind::Failed | Kind::Broken) => {
            Ok(Some(repaired(job, ran, wrong, &mentions, evidence).await?))
        }
        (ran, Some(wrong)) => {
            // Tests that pass now must also pass after the change.
            let passed = ran.filter(|ran| ran.report.kind == Kind::Passed).map(|ran| ran.line);
            examples(job, &wrong, passed.as_deref(), job.limits().repair_time, evidence).await
        }
        (_, None) => Ok(None),
    }
}

/// Tries small changes to the functions that the examples call, until the examples and the command
/// `passed` succeed. `None` if no change helps.
pub async fn examples(
    job: Job<'_>,
    wrong: &verify::Wrong,
    passed: Option<&str>,
    time: Duration,
    evidence: &mut Evidence,
) -> Result<Option<Done>, TurnError> {
    let line = passed.map_or(wrong.line.clone(), |passed| format!("{} && {passed}", wrong.line));
    let check = trial::Check { line: &line, said: &wrong.said, took: wrong.took, may_fail: None, time };
    let graph = job.index.graph()?;
    let Some(text) = job.text(&wrong.path) else { return Ok(None) };
    let named = parts::definitions(&wrong.path, &text).into_iter().filter(|one| wrong.names.contains(&one.name));
    let stretch = |one: parts::Span| Stretch { path: wrong.path.clone(), name: one.name, lines: one.lines };
    let places = with_what_they_name(job, named.map(stretch).collect(), &graph);
    match trial::mend(job, check, &places).await? {
        Some(mended) => Ok(Some(trial::keep(job, mended, (&wrong.line, Check::Examples), evidence).await?)),
        None => Ok(None),
    }
}

/// Definitions that may contain the mistake, most likely first: functions that the request names,
/// suspects of the failure, functions in the files with failures, types that the request names, and
/// functions that all of these use.
fn may_be_wrong(job: Job<'_>, named: &Mentions, suspects: &[Stretch], report: &Report, graph: &Graph) -> Vec<Stretch> {
    let nodes = named.symbols.iter().flat_map(|symbol| symbol.nodes.iter().take(NODES_MAX));
    let (functions, types): (Vec<&Node>, Vec<&Node>) = nodes.partition(|node| is_function(node));
    let mut found: Vec<Stretch> = functions.into_iter().map(Stretch::of).collect();
    found.extend(suspects.iter().cloned());
    let files = report.errors.iter().filter_map(|failure| failure.file.as_deref());
    for path in files.filter(|path| !is_test_file(path) || path.ends_with(".rs")).take(FILES_MAX) {
        let Some(text) = job.text(path) else { continue };
        let all = parts::definitions(path, &text).into_iter();
        let own = all.filter(|one| one.sort == Sort::Function && !one.container.iter().any(|name| name == "tests"));
        found.extend(own.map(|one| Stretch { path: path.to_owned(), name: one.name, lines: one.lines }));
    }
    found.extend(types.into_iter().map(Stretch::of));
    with_what_they_name(job, found, graph)
}

/// `places`, followed by the project functions that their code uses.
fn with_what_they_name(job: Job<'_>, mut places: Vec<Stretch>, graph: &Graph) -> Vec<Stretch> {
    let mut inner: Vec<Stretch> = Vec::new();
    for place in places.iter().filter(|place| !testing::is_test(&place.path)) {
        let Some(text) = job.text(&place.path) else { continue };
        let lines = text.lines().skip(place.lines.0.saturating_sub(1)).take(place.lines.1 + 1 - place.lines.0);
        let names = lines.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'));
        for name in names.filter(|name| name.len() > 2) {
            let nodes = graph.named(name).into_iter().filter(|node| is_function(node) && !testing::is_test(&node.path));
            inner.extend(nodes.take(NODES_MAX).map(Stretch::of));
        }
    }
    places.extend(inner);
    let mut seen = HashSet::new();
    places.retain(|one| seen.insert((one.path.clone(), one.lines.0)));
    places
}

fn is_function(node: &Node) -> bool {
    matches!(node.kind.as_str(), "function" | "method")
}

/// Repairs the code until the failed command `ran` passes, by small changes, or else by the model.
/// If examples are `wrong`, they must pass, and no more tests may fail than now.
async fn repaired(
    job: Job<'_>,
    ran: verify::Ran,
    wrong: Option<verify::Wrong>,
    named: &Mentions,
    evidence: &mut Evidence,
) -> Result<Done, TurnError> {
    let Some(trouble) = ran.trouble() else { return Ok(Done::default()) };
    let graph = job.index.graph()?;
    let lacking = verify::lacking(&ran.report, job.root());
    let mut report = ran.report.clone();
    report.errors.retain(|error| !lacking.errors.contains(error));
    let mut places: Vec<Stretch> = suspects(&report, &graph)
        .into_iter()
        .map(|one| Stretch { path: one.path, name: one.name, lines: (one.start_line, one.end_line) })
        .collect();
    let report = report.located(&graph.files());
    let check = match &wrong {
        Some(wrong) => trial::Check {
            line: &format!("{} && {}", wrong.line, ran.line),
            said: &format!("{}\n{trouble}", wrong.said),
            took: wrong.took + ran.took,
            may_fail: Some(&ran.report),
            time: job.limits().repair_time,
        },
        None => {
            let may_fail = Some(&lacking).filter(|lacking| lacking.failed > 0);
            trial::Check { line: &ran.line, said: &trouble, took: ran.took, may_fail, time: job.limits().repair_time }
        }
    };
    let may_be_wrong = may_be_wrong(job, named, &places, &report, &graph);
    tracing::debug!(places = ?may_be_wrong.iter().map(|one| &one.name).collect::<Vec<_>>(), "may be wrong");
    if let Some(mended) = trial::mend(job, check, &may_be_wrong).await? {
        let check = match &wrong {
            Some(wrong) => (wrong.line.as_str(), Check::Examples),
            None => (ran.line.as_str(), Check::Asked),
        };
        return trial::keep(job, mended, check, evidence).await;
    }
    if !job.writes {
        return Ok(Done::note(format!(
            "not done: no small change makes `{}` pass; a model that can write code may find another",
            ran.line
        )));
    }
    for failure in report.errors.iter().take(TESTS_SHOWN) {
        if let (Some(path), Some(at)) = (&failure.file, failure.line) {
            places.push(Stretch { path: path.clone(), name: String::new(), lines: (at, at) });
        }
    }
    rewritten(job, &ran.line, &trouble, &places, evidence).await
}

/// Has the model rewrite the mistake in one of `places` until the failed command `line` passes.
async fn rewritten(
    job: Job<'_>,
    line: &str,
    trouble: &str,
    places: &[Stretch],
    evidence: &mut Evidence,
) -> Result<Done, TurnError> {
    let job = Job { touched: places, ..job };
    let (pack, mentions) = super::pack(job, &Text::of(format!("{} {trouble}", job.step.text)), Purpose::Change).await?;
    let is_code = |path: &str| has_grammar(path) && !testing::is_test(path);
    if !job.scene.request.doubts_tests() && !pack.files.iter().any(|file| is_code(&file.path)) {
        return Ok(Done::note(format!(
            "not done: `{line}` fails, but the failure points only to tests; name the file or function that is wrong"
        )));
    }
    let task = format!(
        "{trouble}\n\nThe developer asked: {}\nFind the mistake in the code and write the corrected definition. The tests are right.",
        job.scene.request
    );
    let order = code::Order { pack: &pack, mentions: &mentions, task, command: Some(line) };
    code::code(job, order, evidence).await
}
