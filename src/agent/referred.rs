//! Inserts the result of an earlier step where a step refers to it: in `find the file that defines X, then read it`, the second step reads that file.

use super::evidence::{ANSWER, Entry, Evidence};
use super::plan::Plan;
use crate::request::{Kind, Step};

/// The step with the file that it refers to, added to its text and paths: the only file found by
/// the steps that it needs, or by the previous step. Unchanged if the step refers to nothing, or if
/// not exactly one file was found.
pub fn with_results(step: &Step, plan: &Plan, evidence: &Evidence) -> Step {
    let before = plan.steps.iter().take_while(|other| other.id != step.id);
    let needed = before.filter(|other| step.needs.is_empty() || step.needs.contains(&other.id)).last();
    let Some(needed) = needed.filter(|needed| step.refers_to_result() && needed.kind == Kind::Ask) else {
        return step.clone();
    };
    let Some(path) = only_file(evidence.of(needed.id)) else { return step.clone() };
    step.with_file(path)
}

/// The only file that these calls found or read; for an answer in words, its first source.
fn only_file<'e>(calls: impl Iterator<Item = &'e Entry>) -> Option<String> {
    let mut found: Vec<String> = Vec::new();
    for call in calls.filter(|call| call.succeeded()) {
        match call.outcome.text.strip_prefix("answered from ").filter(|_| call.tool == ANSWER) {
            Some(places) => found.extend(places.split_once(':').map(|(path, _)| path.to_owned())),
            None => found.extend(call.outcome.findings.iter().map(|finding| finding.path.clone())),
        }
    }
    found.dedup();
    if found.len() == 1 { found.pop() } else { None }
}
