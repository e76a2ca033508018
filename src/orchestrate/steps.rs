//! Carries out the steps of a plan: those that only read and need nothing of each other side by side, the others in order.
//!
//! A step made side by side with others works on a fork of the evidence and speaks to a buffer. Both are taken in in the
//! order of the steps, so that a turn is the same as if its steps had been made one after the other. A step that turns
//! out to change something, to need consent or to want more than its fork knows is put off until its turn.

use std::sync::{Mutex, PoisonError};

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::base::StepId;
use crate::engine::fan_out::{PARALLEL_MAX, fan_out};
use crate::protocol::{Decision, Event, Proposal, StepState, StepStatus};
use crate::tools::policy::Policy;

use super::classify;
use super::evidence::{Entry, Evidence};
use super::execute::{self, Scene, StepEnd};
use super::learn::{self, Attempt, Recollection};
use super::plan::{Plan, Step};
use super::toolkit::{Meter, Toolkit, TurnError};
use super::{Deciding, Host, recover, referent};

/// Steps that were made before their turn.
#[derive(Default)]
pub struct Ahead(Vec<Made>);

/// A step that was made on a fork of the evidence.
struct Made {
    step: StepId,
    attempt: Attempt,
    fork: Evidence,
    /// Calls that the evidence had when it was forked.
    known: usize,
    meter: Meter,
    events: Vec<Event>,
}

impl Ahead {
    /// Makes, side by side, the steps among `steps` whose turn need not be waited for.
    pub async fn of(scene: Scene<'_>, steps: &[Step], evidence: &Evidence) -> Result<Ahead, TurnError> {
        let (live, mut signs_of_life) = unbounded_channel();
        let known = |step: &Step| referent::found(scene.toolkit, step, steps, evidence).ok();
        let tasks = ready(steps, evidence).into_iter().filter_map(known).map(|step| {
            let toolkit = Toolkit { meter: Meter::start(), ..scene.toolkit.clone() };
            let (context, request) = (scene.context.clone(), scene.request.to_owned());
            let host = Buffer { events: Mutex::default(), live: live.clone(), policy: scene.host.policy().clone() };
            let (mut fork, known) = (evidence.fork(), evidence.entries().len());
            async move {
                let scene = Scene { toolkit: &toolkit, context: &context, request: &request, host: &host, ahead: true };
                let attempt = make(scene, &step, &mut fork, None).await?;
                let events = host.events.into_inner().unwrap_or_else(PoisonError::into_inner);
                Ok(Made { step: step.id, attempt, fork, known, meter: toolkit.meter, events })
            }
        });
        let mut making = std::pin::pin!(fan_out(tasks.collect::<Vec<_>>(), PARALLEL_MAX));
        drop(live);
        let made = loop {
            tokio::select! {
                made = &mut making => break made,
                Some(event) = signs_of_life.recv() => scene.host.emit(event),
            }
        };
        let made = made.map_err(|error| TurnError::Lost(format!("steps side by side: {error}")))?;
        Ok(Ahead(made.into_iter().collect::<Result<_, TurnError>>()?))
    }

    fn take(&mut self, step: StepId) -> Option<Made> {
        let place = self.0.iter().position(|made| made.step == step)?;
        Some(self.0.swap_remove(place))
    }
}

/// Steps that may be made now, in any order: they only ask, what they need is there, and no step that changes something
/// comes before them.
fn ready<'p>(steps: &'p [Step], evidence: &Evidence) -> Vec<&'p Step> {
    let asks =
        |step: &&Step| matches!(classify::kind(std::slice::from_ref(&step.part)), classify::RequestKind::Question);
    let met = |step: &&Step| step.needs.iter().all(|need| succeeded(evidence, *need));
    steps.iter().take_while(asks).filter(met).collect()
}

/// Makes every step whose needs are met, in order. Gives what could not be made, and why.
pub async fn run(
    scene: Scene<'_>,
    plan: &Plan,
    evidence: &mut Evidence,
    mut ahead: Ahead,
) -> Result<Vec<String>, TurnError> {
    let mut stuck = Vec::new();
    for (place, step) in plan.steps.iter().enumerate() {
        if !step.needs.iter().all(|need| succeeded(evidence, *need)) {
            stuck.push(format!("{}: a step it needs did not succeed", step.description));
            continue;
        }
        let known = referent::found(scene.toolkit, step, &plan.steps, evidence);
        let step = known.as_ref().unwrap_or(step);
        scene.host.emit(Event::StepExecuting { step: step.id, description: step.description.clone() });
        if let Err(reason) = &known {
            for state in [StepState::Thinking, StepState::FailedToThink] {
                scene.host.emit(Event::StepState { step: step.id, state });
            }
            stuck.push(put_down(scene, step, reason));
            continue;
        }
        if ahead.0.is_empty() && ready(&plan.steps[place..], evidence).len() > 1 {
            ahead = Ahead::of(scene, &plan.steps[place..], evidence).await?;
        }
        let made = ahead.take(step.id);
        let end = match made {
            Some(made) if made.holds(evidence) => made.take_in(scene, step, evidence).await,
            made => {
                let memory = made.map(|made| made.given_up(scene));
                let attempt = make(scene, step, evidence, memory).await?;
                learn::note(scene, step, &attempt, evidence.entries()).await;
                attempt.end
            }
        };
        if let StepEnd::Stuck(reason) = end {
            stuck.push(put_down(scene, step, &reason));
        }
    }
    Ok(stuck)
}

/// Says why a step could not be made, to the host and to who goes on.
fn put_down(scene: Scene<'_>, step: &Step, reason: &str) -> String {
    scene.host.notice(&format!("{}: {reason}", step.id));
    format!("{}: {reason}", step.description)
}

impl Made {
    /// Whether the step would come out the same if it were made now: what it stands on besides its own words is as it was.
    fn holds(&self, evidence: &Evidence) -> bool {
        let calls = &self.fork.entries()[self.known..];
        let nothing_new = evidence.entries().len() == self.known;
        match self.attempt.end {
            StepEnd::PutOff => false,
            StepEnd::Stuck(_) => nothing_new,
            StepEnd::Done | StepEnd::Failed => {
                (nothing_new || !self.attempt.memory.leans())
                    && evidence.version() == self.fork.version()
                    && calls.iter().all(|call| evidence.repeated(&call.tool, &call.arguments).is_none())
            }
        }
    }

    /// Its turn has come: what it has seen and said becomes the turn's.
    async fn take_in(self, scene: Scene<'_>, step: &Step, evidence: &mut Evidence) -> StepEnd {
        scene.toolkit.meter.absorb(&self.meter);
        let shift = evidence.absorb(&self.fork, self.known);
        for mut event in self.events {
            if let Event::StepCompleted(report) = &mut event
                && let Some(call) = &mut report.call
                && call.0 > self.known
            {
                call.0 += shift;
            }
            scene.host.emit(event);
        }
        learn::note(scene, step, &self.attempt, self.fork.entries()).await;
        self.attempt.end
    }

    /// It has to be made again; what it took is counted, and what was remembered, chosen, thought and noticed for it stays.
    fn given_up(self, scene: Scene<'_>) -> Recollection {
        scene.toolkit.meter.absorb(&self.meter);
        for event in self.events {
            if matches!(event, Event::LessonsUsed { .. } | Event::Notice { .. } | Event::Thinking { .. }) {
                scene.host.emit(event);
            }
        }
        self.attempt.memory
    }
}

/// Makes one step; another way if it failed and code knows one.
async fn make(
    scene: Scene<'_>,
    step: &Step,
    evidence: &mut Evidence,
    memory: Option<Recollection>,
) -> Result<Attempt, TurnError> {
    let state = |state| scene.host.emit(Event::StepState { step: step.id, state });
    state(StepState::Thinking);
    let mut attempt = learn::attempt(scene, step, evidence, memory).await?;
    match &attempt.end {
        // Another way may need consent: it is looked for when the step has its turn.
        StepEnd::Failed if scene.ahead => attempt.end = StepEnd::PutOff,
        StepEnd::Done => state(StepState::Complete),
        StepEnd::PutOff => {}
        StepEnd::Stuck(_) => state(StepState::FailedToThink),
        StepEnd::Failed => {
            state(StepState::FailedToExecute);
            if again(scene, step, evidence).await? {
                state(StepState::Complete);
            }
        }
    }
    Ok(attempt)
}

/// Calls that failed are made another way, where code knows some. True if every one of them was mended.
async fn again(scene: Scene<'_>, step: &Step, evidence: &mut Evidence) -> Result<bool, TurnError> {
    let Scene { toolkit, context, host, .. } = scene;
    let state = |state| host.emit(Event::StepState { step: step.id, state });
    // What the user said no to is not asked in another way.
    let failed = |entry: &&Entry| entry.status == StepStatus::Failed;
    let failed: Vec<Entry> = evidence.of(step.id).filter(failed).cloned().collect();
    for entry in &failed {
        for (call, why) in recover::other_ways(entry, step, toolkit, context) {
            let Some(spec) = toolkit.catalog.get(&call.tool) else { continue };
            state(StepState::Thinking);
            host.notice(&format!("{}: {why}", step.id));
            state(StepState::Deciding);
            if execute::perform(scene, step.id, call, spec, evidence).await? == StepStatus::Succeeded {
                evidence.mended(entry.id);
                break;
            }
            state(StepState::FailedToExecute);
        }
    }
    Ok(succeeded(evidence, step.id))
}

/// Whether every call of a step succeeded, itself or in another way. A step without evidence was stuck.
fn succeeded(evidence: &Evidence, step: StepId) -> bool {
    let mut calls = evidence.of(step).peekable();
    calls.peek().is_some() && calls.all(|entry| entry.succeeded() || evidence.is_mended(entry.id))
}

/// Keeps what a step says until its turn; signs of life go out at once.
struct Buffer {
    events: Mutex<Vec<Event>>,
    live: UnboundedSender<Event>,
    policy: Policy,
}

impl Host for Buffer {
    fn emit(&self, event: Event) {
        if event.is_sign_of_life() {
            // A turn that is over needs none.
            let _ = self.live.send(event);
        } else {
            self.events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
        }
    }

    /// Never reached: what needs consent is put off.
    fn approve<'a>(&'a self, _: StepId, _: &'a Proposal) -> Deciding<'a> {
        Box::pin(std::future::ready(Decision::Reject))
    }

    fn policy(&self) -> &Policy {
        &self.policy
    }
}

#[cfg(test)]
mod tests {
    use super::super::{decompose, plan};
    use super::*;

    fn check(request: &str, expected: &[usize]) {
        let steps = plan::floor(&decompose::parts(request)).steps;
        let ready: Vec<usize> = ready(&steps, &Evidence::default()).iter().map(|step| step.id.0).collect();
        assert_eq!(ready, expected, "{request}");
    }

    #[test]
    fn what_only_asks_and_needs_nothing_may_be_made_before_its_turn() {
        check("Read a.ts, read b.ts, then list the files in src", &[1, 2, 3]);
        check("Read a.ts, then find who calls it, then read b.ts", &[1, 3]);
        check("Read a.ts, then change 5 to 3 in b.ts, then read b.ts", &[1]);
        check("Run the tests, then read a.ts", &[]);
    }
}
