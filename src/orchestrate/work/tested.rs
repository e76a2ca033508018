//! Tests what was written with the project's own tests, and holds what they say against what they said before.

use std::collections::HashMap;

use crate::edit::failures::Report;
use crate::orchestrate::evidence::Evidence;
use crate::orchestrate::toolkit::TurnError;

use super::files::Files;
use super::read::Step;
use super::verify::{self, Ran};
use super::{Job, copy};

/// Cases of a new test: who may write more counts on for ever.
pub const CASES_MAX: usize = 5;

/// What commands said of the files as they were; `None` of those that passed, or could not be tried.
pub type Before = HashMap<String, Option<Report>>;

/// Whether a change counts.
pub enum Verdict {
    /// With what the user should know: said beside it, and what was not as it should be.
    Counts { said: String, notes: Vec<String> },
    /// Why it does not, for the model.
    Fails(String),
}

impl Verdict {
    pub fn noted(notes: Vec<String>) -> Verdict {
        Verdict::Counts { said: String::new(), notes }
    }
}

/// Runs the tests that cover the change. It counts where they pass, where no more fails than did, and where a check only expects what was before.
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
        // What code does now is what a test that is only added to it has to expect.
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
