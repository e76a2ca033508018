//! Runs the project's own tests on a change and compares their result with the result before the change.

use std::collections::HashMap;

use crate::edit::failures::Report;
use crate::orchestrate::evidence::Evidence;
use crate::orchestrate::toolkit::TurnError;

use super::files::Files;
use super::verify;
use super::{Job, copy};

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
    files: &Files,
    asked: &str,
    before: &mut Before,
    evidence: &mut Evidence,
) -> Result<Verdict, TurnError> {
    let ran = verify::failing(job, &files.changed(), &files.names(), evidence).await?;
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
