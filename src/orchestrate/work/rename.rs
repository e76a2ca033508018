//! Renames a symbol with all its uses, by code: the whole plan is worked out before anything is written.

use serde_json::json;

use crate::edit::rename::{self, Plan, Target};
use crate::orchestrate::evidence::Evidence;
use crate::orchestrate::toolkit::TurnError;
use crate::protocol::StepStatus;
use crate::tools::builtin::Builtin;

use super::context::text_of;
use super::mentions;
use super::read::Step;
use super::{Done, Job, change};

/// Mentions and doubtful places that are told.
const TOLD_MAX: usize = 8;

/// Gives the symbol that `step` names its new name; refuses, with the reason, where that is not sure.
pub async fn rename(job: Job<'_>, step: &Step, evidence: &mut Evidence) -> Result<Done, TurnError> {
    let refused = |why: String| Done { notes: vec![format!("not done: {why}")], ..Done::default() };
    let Some((from, to)) = names(job, step) else {
        return Ok(refused(format!("`{}` does not say which name becomes which", step.text)));
    };
    let said = mentions::of(job.scene.request, job.index).map_err(|error| TurnError::Lost(error.to_string()))?;
    let (container, name) = match from.rsplit_once(['.', ':']) {
        Some((container, name)) => (Some(container.trim_end_matches(':').to_owned()), name.to_owned()),
        None => (None, from.clone()),
    };
    let file = said.paths.first().filter(|_| said.paths.len() == 1).cloned();
    let read = |path: &str| {
        text_of(job.scene.context, path).ok_or_else(|| std::io::Error::other("it is no text of at most 1 MiB"))
    };
    let plan = |file: Option<String>| {
        let target = Target { name: name.clone(), file, container: container.clone() };
        rename::plan(job.index, &read, &target, &to)
    };
    // A file that is named need not be the one of the definition.
    match plan(file.clone()).or_else(|error| if file.is_some() { plan(None) } else { Err(error) }) {
        Ok(plan) => write(job, step, &plan, evidence).await,
        Err(error) => Ok(refused(error.to_string())),
    }
}

/// The two names of a step: words that are names, the first of them one that the project has.
fn names(job: Job<'_>, step: &Step) -> Option<(String, String)> {
    let (left, right) = step.text.split_once(" -> ")?;
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | ':');
    let words = |text: &str| -> Vec<String> {
        let all = text.split(|c| !is_name(c)).map(|word| word.trim_matches(['.', ':']).to_owned());
        all.filter(|word| !word.is_empty()).collect()
    };
    let graph = job.index.graph().ok()?;
    let known = |name: &String| !graph.named(name).is_empty();
    let from = words(left).into_iter().rfind(known).or_else(|| words(left).pop())?;
    let to = words(right).into_iter().find(|word| *word != from)?;
    Some((from, to.rsplit(['.', ':']).next().unwrap_or(&to).to_owned()))
}

async fn write(job: Job<'_>, step: &Step, plan: &Plan, evidence: &mut Evidence) -> Result<Done, TurnError> {
    for edit in &plan.edits {
        let arguments = json!({ "path": edit.path, "content": edit.text_after });
        if change::perform(job.scene, step, Builtin::WriteFile, arguments, evidence).await? != StepStatus::Succeeded {
            return Ok(Done::default());
        }
    }
    let mut done = Done::default();
    let doubtful =
        plan.doubtful.iter().take(TOLD_MAX).map(|one| format!("not changed, not sure: {}:{}", one.path, one.line));
    let mentions = plan.mentions.iter().take(TOLD_MAX);
    let mentions =
        mentions.map(|one| format!("mentioned, not changed: {}:{}: {}", one.path, one.line, one.text.trim()));
    done.said = doubtful.chain(mentions).map(|line| format!("- {line}\n")).collect();
    Ok(done)
}
