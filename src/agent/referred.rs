//! Inserts the result of an earlier step where a step refers to it:
//! `find the file that defines X, then read it` reads that file.

use super::evidence::{ANSWER, Entry, Evidence};
use super::plan::Plan;
use crate::base::pattern::static_regex;
use crate::request::{Kind, Step};

/// Whether a step names no file and refers to the result of another step: `read it`,
/// `explain that file`.
pub fn refers(step: &Step) -> bool {
    let low = step.text.to_lowercase();
    let all: Vec<&str> = low.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '.' | '/')).collect();
    let is_file = |pair: &[&str]| matches!(pair[0], "that" | "this" | "the") && pair[1] == "file";
    let points = || all.iter().any(|word| matches!(*word, "it" | "its")) || all.windows(2).any(is_file);
    step.part.paths.is_empty() && matches!(step.kind, Kind::Ask | Kind::Edit) && (step.part.refers_back || points())
}

/// The step with the file it refers to, added to its text and paths: the only file found by the
/// steps it needs, or by the step before it. Unchanged if the step refers to nothing, or if not
/// exactly one file was found.
pub fn with_results(step: &Step, plan: &Plan, evidence: &Evidence) -> Step {
    let mut with = step.clone();
    let before = plan.steps.iter().take_while(|other| other.id != step.id);
    let needed = before.filter(|other| step.needs.is_empty() || step.needs.contains(&other.id)).last();
    let Some(needed) = needed.filter(|needed| refers(step) && needed.kind == Kind::Ask) else { return with };
    let Some(path) = only_file(evidence.of(needed.id)) else { return with };
    static_regex!(POINTER = r"(?i)\b(?:it|(?:that|this|the) file)\b");
    let named = |text: &str| match POINTER.find(text) {
        Some(found) => format!("{}{path}{}", &text[..found.start()], &text[found.end()..]),
        None => format!("{} ({path})", text.trim_end_matches(['.', '!', '?', ' '])),
    };
    (with.text, with.part.text) = (named(&step.text).into(), named(&step.part.text));
    with.part.paths.push(path);
    with
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
