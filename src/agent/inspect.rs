//! Pauses a turn after each stage if the user inspects it: shows the stage's result and asks
//! whether to continue.

use crate::base::StepId;
use crate::language::clauses::Part;
use crate::protocol::{Asks, Decision, Event, PlanStep, PlanView, Proposal, StepReport};
use crate::request::Step;

use super::Host;
use super::toolkit::{Toolkit, TurnError};

/// A stage that has ended.
pub struct Stage<'a> {
    /// The step that this stage belongs to; 0 for a stage of the whole turn.
    pub step: StepId,
    pub name: &'static str,
    /// The part of the turn that a skip leaves out, in words; `None` if nothing can be skipped
    /// here.
    pub skips: Option<&'a str>,
}

/// A stage of the whole turn; nothing can be skipped after it.
pub fn of_turn(name: &'static str) -> Stage<'static> {
    Stage { step: StepId(0), name, skips: None }
}

/// Shows the stage's result and returns once the user continues. [`TurnError::Skipped`] if the user
/// skips the stage's subject, [`TurnError::Cancelled`] if the user stops the turn. Returns at once
/// if nobody inspects the turn.
pub async fn stage(
    toolkit: &Toolkit,
    host: &dyn Host,
    stage: Stage<'_>,
    shown: impl FnOnce() -> String,
) -> Result<(), TurnError> {
    if !host.inspects() {
        return Ok(());
    }
    let Stage { step, name, skips } = stage;
    let proposal = Proposal {
        tool: name.to_owned(),
        reason: format!("{name}: go on?"),
        preview: format!("{name}\n{}", shown()),
        asks: Asks::Stage { skips: skips.map(str::to_owned) },
        ..Proposal::default()
    };
    host.emit(Event::ApprovalRequested { step, proposal: proposal.clone() });
    match host.approve(step, &proposal).await {
        Decision::Approve | Decision::Always | Decision::Modify(_) => Ok(()),
        Decision::Reject if skips.is_some() => Err(TurnError::Skipped),
        Decision::Reject | Decision::Cancel | Decision::NotAsked(_) => {
            toolkit.cancel.cancel();
            Err(TurnError::Cancelled)
        }
    }
}

/// How a request was understood: its parts, and who carries it out.
pub fn reading(parts: &[Part], way: &str) -> String {
    let part = |(at, part): (usize, &Part)| {
        let needs: Vec<String> = part.depends_on.iter().map(|earlier| (earlier + 1).to_string()).collect();
        let needs = listed("needs", &needs);
        format!("part {} ({:?}): {}{}{needs}\n", at + 1, part.kind, part.text, listed("files", &part.paths))
    };
    parts.iter().enumerate().map(part).collect::<String>() + way
}

/// A plan with the files and cost estimate of each step.
pub fn plan(plan: &PlanView) -> String {
    let step = |step: &PlanStep| {
        let needs: Vec<String> = step.dependencies.iter().map(ToString::to_string).collect();
        let (files, needs) = (listed("files", &step.files_affected), listed("needs", &needs));
        format!("{} {}{files}{needs}; about {} tokens\n", step.id, step.description, step.estimated_tokens)
    };
    plan.steps.iter().map(step).collect()
}

/// A step that is about to begin.
pub fn step(step: &Step) -> String {
    format!("{} ({}): {}{}", step.id, step.kind.name(), step.text, listed("files", &step.part.paths))
}

/// The calls that an answer is based on.
pub fn calls<'a>(reports: impl Iterator<Item = &'a StepReport>) -> String {
    let line = |report: &StepReport| format!("{} {:?}: {}\n", report.tool, report.status, report.summary);
    let lines: String = reports.map(line).collect();
    if lines.is_empty() { "it rests on no call".to_owned() } else { format!("it rests on\n{lines}") }
}

fn listed(what: &str, names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!("; {what}: {}", names.join(", ")) }
}
