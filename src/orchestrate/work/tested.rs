//! Runs the project's own tests on a change and compares their result with the result before the change.

use std::collections::HashMap;

use crate::edit::failures::Report;
use crate::orchestrate::evidence::Evidence;
use crate::orchestrate::toolkit::TurnError;

use super::files::Files;
use super::verify::{self, Ran};
use super::{Job, copy};
use crate::request::Step;

/// Most cases of a new test; without a limit a model goes on and on with further numbers.
pub const CASES_MAX: usize = 5;

/// Reports of commands on the files before the change; `None` for a command that passed or could not be run.
pub type Before = HashMap<String, Option<Report>>;

/// Whether a change is accepted.
pub enum Verdict {
    /// It is: text for the user, and notes on what is wrong nevertheless.
    Counts { said: String, notes: Vec<String> },
    /// It is not: the reason, for the model.
    Fails(String),
}

impl Verdict {
    /// Accepted, with notes.
    pub fn noted(notes: Vec<String>) -> Verdict {
        Verdict::Counts { said: String::new(), notes }
    }
}

/// Runs the tests that cover the change. It is accepted if they pass, if no more fails than before, or if a check only expects the old behaviour
/// that the request changes.
pub async fn change(
    job: Job<'_>,
    step: &Step,
    files: &mut Files,
    asked: &str,
    before: &mut Before,
    evidence: &mut Evidence,
) -> Result<Verdict, TurnError> {
    let mut ran = verify::failing(job, step, &files.changed(), &files.names(), evidence).await?;
    for _ in 0..CASES_MAX {
        // A new test of unchanged code has to expect what the code gives.
        let trouble = ran.as_ref().filter(|_| job.touched.is_empty()).and_then(Ran::trouble);
        if !trouble.is_some_and(|trouble| files.expect_what_is(&trouble)) {
            break;
        }
        if let Some(notes) = files.write(job, step, evidence).await? {
            return Ok(Verdict::noted(notes));
        }
        ran = verify::failing(job, step, &files.changed(), &files.names(), evidence).await?;
    }
    let Some((ran, trouble)) = ran.and_then(|ran| ran.trouble().map(|trouble| (ran, trouble))) else {
        return Ok(Verdict::noted(Vec::new()));
    };
    if !before.contains_key(&ran.line) {
        let failed = copy::failing_before(job, &ran.line, verify::LIMIT, files.as_they_were()).await?;
        before.insert(ran.line.clone(), failed);
    }
    if before[&ran.line].as_ref().is_some_and(|before| ran.report.is_no_worse_than(before)) {
        return Ok(Verdict::Counts { said: format!("`{}` fails as it did before.\n", ran.line), notes: Vec::new() });
    }
    if files.is_wanted(asked, &trouble) {
        let first = trouble.lines().take(2).collect::<Vec<_>>().join(" ");
        return Ok(Verdict::noted(vec![format!("changed; a check expects what was before: {first}")]));
    }
    Ok(Verdict::Fails(trouble))
}
