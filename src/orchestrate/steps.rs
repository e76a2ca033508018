//! Carries out the steps of a plan in their order: the model does if it was measured to write, else code.

use crate::base::StepId;
use crate::context::Stretch;
use crate::language::words;
use crate::protocol::{Event, StepState};
use crate::request::{Kind, Step};
use crate::tools::builtin::Builtin;

use super::evidence::{Entry, Evidence};
use super::execute::{self, Scene};
use super::plan::Plan;
use super::synthesize;
use super::toolkit::TurnError;
use super::work::{self, Done, Job};

/// Characters that the user is shown of a command that checked a change.
const COMMAND_CHARS: usize = 90;

/// What came of the steps.
#[derive(Default)]
pub struct Ran {
    /// What the user was told of each step that the model carried out.
    pub said: String,
    /// The steps that code could not carry out, each with the reason.
    pub stuck: Vec<String>,
    /// The steps that were understood and cannot be made, each with the reason.
    pub refused: Vec<(StepId, String)>,
}

/// Carries out every step whose needed steps succeeded.
pub async fn run(scene: Scene<'_>, plan: &Plan, evidence: &mut Evidence) -> Result<Ran, TurnError> {
    let (mut ran, mut touched) = (Ran::default(), Vec::<Stretch>::new());
    for step in &plan.steps {
        if !step.needs.iter().all(|need| succeeded(evidence, *need)) {
            ran.stuck.push(format!("{}: a step it needs did not succeed", step.text));
            continue;
        }
        let state = |state| scene.host.emit(Event::StepState { step: step.id, state });
        scene.host.emit(Event::StepExecuting { step: step.id, description: step.text.clone() });
        state(StepState::Thinking);
        let before = evidence.entries().len();
        let carried_out = match scene.toolkit.index.as_deref().filter(|_| plan.by_model) {
            Some(index) => {
                let of_several = plan.steps.len() > 1;
                let job = Job { scene, index, step, of_several, touched: &touched, writes: true };
                work::carry_out(job, evidence)
            }
            None => execute::step(scene, step, evidence),
        };
        let done = carried_out.await?;
        state(if done.notes.is_empty() && !done.failed {
            StepState::Complete
        } else if plan.by_model || done.notes.is_empty() {
            StepState::FailedToExecute
        } else {
            StepState::FailedToThink
        });
        if plan.by_model {
            ran.tell(scene, step, &done, &evidence.entries()[before..]);
        } else if !done.notes.is_empty() {
            let reason = done.notes.join("; ");
            scene.host.notice(&format!("{}: {reason}", step.id));
            if done.is_refused {
                ran.refused.push((step.id, reason));
            } else {
                ran.stuck.push(format!("{}: {reason}", step.text));
            }
        }
        touched.extend(done.touched);
    }
    Ok(ran)
}

impl Ran {
    /// Tells the user what a step did, after what it said itself.
    fn tell(&mut self, scene: Scene<'_>, step: &Step, done: &Done, calls: &[Entry]) {
        let mut facts = facts_of(step, calls);
        facts.extend(done.notes.iter().map(|note| format!("- {note}")));
        let gap = if self.said.is_empty() { "" } else { "\n" };
        self.said.push_str(&format!("{gap}{}", done.said));
        if !facts.is_empty() {
            let gap = if done.said.is_empty() || done.said.ends_with('\n') { "" } else { "\n" };
            let facts = format!("{gap}{}\n", facts.join("\n"));
            scene.host.emit(Event::Token { text: facts.clone() });
            self.said.push_str(&facts);
        }
    }
}

/// Whether every call of a step succeeded. A step without evidence was stuck.
fn succeeded(evidence: &Evidence, step: StepId) -> bool {
    let mut calls = evidence.of(step).peekable();
    calls.peek().is_some() && calls.all(Entry::succeeded)
}

/// Lines that tell the user what the calls did. A command that only checked a change is one line; its failures are in the step's notes.
fn facts_of(step: &Step, calls: &[Entry]) -> Vec<String> {
    let mut facts = Vec::new();
    for call in calls {
        let is_check = !matches!(step.kind, Kind::Run | Kind::Ask) && call.tool == Builtin::RunCommand.name();
        if !is_check || call.status.is_refused() {
            facts.extend(synthesize::told(call));
            continue;
        }
        let line = call.arguments.get("command").and_then(serde_json::Value::as_str).unwrap_or_default();
        let line = words::shorten(&line.split_whitespace().collect::<Vec<_>>().join(" "), COMMAND_CHARS);
        let ended = if call.succeeded() { "passed" } else { "failed" };
        facts.push(format!("- $ {line}: {ended} [{}]", call.id));
    }
    facts
}
