//! Carries out the steps of a plan in their order.

use crate::base::StepId;
use crate::protocol::{Event, StepState};

use super::evidence::{Entry, Evidence};
use super::execute::{self, Scene, StepEnd};
use super::plan::Plan;
use super::toolkit::TurnError;

/// Carries out every step whose needed steps succeeded. Returns the steps that got stuck, each with the reason.
pub async fn run(scene: Scene<'_>, plan: &Plan, evidence: &mut Evidence) -> Result<Vec<String>, TurnError> {
    let mut stuck = Vec::new();
    for step in &plan.steps {
        if !step.needs.iter().all(|need| succeeded(evidence, *need)) {
            stuck.push(format!("{}: a step it needs did not succeed", step.text()));
            continue;
        }
        let state = |state| scene.host.emit(Event::StepState { step: step.id, state });
        scene.host.emit(Event::StepExecuting { step: step.id, description: step.text() });
        state(StepState::Thinking);
        match execute::step(scene, step, evidence).await? {
            StepEnd::Done => state(StepState::Complete),
            StepEnd::Failed => state(StepState::FailedToExecute),
            StepEnd::Stuck(reason) => {
                state(StepState::FailedToThink);
                scene.host.notice(&format!("{}: {reason}", step.id));
                stuck.push(format!("{}: {reason}", step.text()));
            }
        }
    }
    Ok(stuck)
}

/// Whether every call of a step succeeded. A step without evidence was stuck.
fn succeeded(evidence: &Evidence, step: StepId) -> bool {
    let mut calls = evidence.of(step).peekable();
    calls.peek().is_some() && calls.all(Entry::succeeded)
}
