//! Makes failing tests pass: runs them, reads the failure, shows the model the code it points to, runs them again.

use crate::edit::suspects::suspects;
use crate::orchestrate::evidence::Evidence;
use crate::orchestrate::toolkit::TurnError;

use super::context::Purpose;
use super::read::Step;
use super::{Done, Job, Touched, code, command, verify};

/// Failures whose tests are shown.
const TESTS_SHOWN: usize = 2;

/// Runs the tests that `step` speaks of, else all of them, and has the code changed until they pass. What does not help is taken back.
pub async fn fix(job: Job<'_>, step: &Step, evidence: &mut Evidence) -> Result<Done, TurnError> {
    let said = command::quoted(&step.text).or_else(|| command::quoted(job.scene.request));
    let Some(line) = said.or_else(|| verify::suite(job)) else {
        let note = "not done: nothing says how this project is tested; name the command, in backticks".to_owned();
        return Ok(Done { notes: vec![note], ..Done::default() });
    };
    let Some(ran) = verify::run(job, step, &line, evidence).await? else {
        return Ok(Done { notes: vec![format!("not done: `{line}` may not be run")], ..Done::default() });
    };
    let Some(trouble) = ran.trouble() else { return Ok(Done::default()) };
    let lost = |error: crate::index::IndexError| TurnError::Lost(error.to_string());
    let graph = job.index.graph().map_err(lost)?;
    let mut places: Vec<Touched> = suspects(&ran.report, &graph)
        .into_iter()
        .map(|one| Touched { path: one.path, name: one.name, lines: (one.start_line, one.end_line) })
        .collect();
    let report = ran.report.clone().located(&graph.files());
    for failure in report.errors.iter().take(TESTS_SHOWN) {
        if let (Some(path), Some(at)) = (&failure.file, failure.line) {
            places.push(Touched { path: path.clone(), name: String::new(), lines: (at, at) });
        }
    }
    let job = Job { touched: &places, ..job };
    let (pack, mentions) = super::pack(job, &format!("{} {trouble}", step.text), Purpose::Change).await?;
    let task = format!(
        "{trouble}\n\nThe developer asked: {}\nFind the mistake in the code and write the corrected definition. The tests are right.",
        job.scene.request
    );
    let order = code::Order { pack: &pack, mentions: &mentions, task, command: Some(&line) };
    code::code(job, step, order, evidence).await
}
