//! Carries out read-only steps at the same time, in the model's slots, and reports them in the
//! order of the plan.

use std::pin::Pin;
use std::sync::Mutex;

use futures_util::{Stream, StreamExt, stream};
use tokio::sync::Notify;

use crate::base::{CallId, StepId, lock};
use crate::protocol::{Event, Proposal};
use crate::request::{Kind, Step};
use crate::tools::policy::Policy;

use super::evidence::Evidence;
use super::execute::Scene;
use super::guide::{self, Done, Job};
use super::plan::Plan;
use super::player::Player;
use super::spelled;
use super::toolkit::TurnError;
use super::{Deciding, Host};

/// Maximum number of concurrent steps, regardless of the number of slots.
const AT_ONCE_MAX: usize = 4;

/// The result of a step, with its own copy of the turn's evidence.
type Ended = (Result<Done, TurnError>, Evidence);

/// The longest run at the start of `steps` that the model can answer concurrently: the steps only
/// read, and none of them needs or builds on another one or on an undone step. At least one step.
pub fn group<'p>(scene: Scene<'_>, plan: &Plan, steps: &'p [Step], undone: &[&Step]) -> &'p [Step] {
    let toolkit = scene.toolkit;
    let has_servers = toolkit.catalog.specs().iter().any(|spec| !toolkit.catalog.is_builtin(&spec.name));
    let reads = |step: &Step| {
        let reads = step.kind == Kind::Ask && toolkit.tool_for(&step.part).is_none_or(|tool| !tool.mutates());
        // A step that code carries out needs no slot.
        reads && !step.refers_to_result() && !spelled::is_by_code(toolkit, step)
    };
    let is_apart = |at: usize| {
        let step = &steps[at];
        let mut before = steps[..at].iter().chain(undone.iter().copied());
        reads(step) && step.needs.is_empty() && before.all(|other| !step.builds_on(other))
    };
    let is_free = plan.by_model && !has_servers && !scene.host.inspects();
    let count = if is_free { (0..steps.len()).take_while(|at| is_apart(*at)).count() } else { 1 };
    &steps[..count.clamp(1, steps.len().max(1))]
}

/// Number of requests that a model can answer concurrently.
pub fn places(model: &Player) -> usize {
    // A server queues requests itself.
    model.here().map_or(AT_ONCE_MAX, |here| here.engine.limits().sequences).min(AT_ONCE_MAX)
}

/// Runs the steps concurrently and yields their results in the order of `jobs`. Each starts with
/// the calls in `known`.
pub fn run<'a>(jobs: Vec<Job<'a>>, known: &Evidence, at_once: usize) -> Pin<Box<dyn Stream<Item = Ended> + Send + 'a>> {
    let running: Vec<_> = jobs.into_iter().map(|job| ended(job, known.clone())).collect();
    Box::pin(stream::iter(running).buffered(at_once.max(1)))
}

fn ended<'a>(job: Job<'a>, mut evidence: Evidence) -> Pin<Box<dyn Future<Output = Ended> + Send + 'a>> {
    Box::pin(async move {
        let done = guide::carry_out(job, &mut evidence).await;
        (done, evidence)
    })
}

/// The hosts of concurrent steps. A step's events are held back until the previous steps have
/// ended; then they are passed on at once, and later ones as they come.
pub struct Lanes<'a> {
    host: &'a dyn Host,
    state: Mutex<State>,
    opened: Notify,
}

struct State {
    /// The step whose events are passed on at once; `None` before the first.
    open: Option<usize>,
    /// Number of calls that the previous steps added to the evidence.
    shift: usize,
    waiting: Vec<Vec<Event>>,
}

impl<'a> Lanes<'a> {
    pub fn of(host: &'a dyn Host, count: usize) -> Lanes<'a> {
        let state = State { open: None, shift: 0, waiting: vec![Vec::new(); count] };
        Lanes { host, state: Mutex::new(state), opened: Notify::new() }
    }

    /// Passes on the held-back events of step number `at`, and its new events from now on.
    pub fn open(&self, at: usize, shift: usize) {
        let mut state = lock(&self.state);
        (state.open, state.shift) = (Some(at), shift);
        let waiting = std::mem::take(&mut state.waiting[at]);
        waiting.into_iter().for_each(|event| self.host.emit(shifted(event, shift)));
        drop(state);
        self.opened.notify_waiters();
    }

    fn is_open(&self, at: usize) -> bool {
        lock(&self.state).open == Some(at)
    }
}

/// The host of one of the steps.
pub struct Lane<'l> {
    pub lanes: &'l Lanes<'l>,
    pub at: usize,
}

impl Host for Lane<'_> {
    fn emit(&self, event: Event) {
        let mut state = lock(&self.lanes.state);
        if state.open == Some(self.at) {
            let shift = state.shift;
            self.lanes.host.emit(shifted(event, shift));
        } else {
            state.waiting[self.at].push(event);
        }
    }

    /// Waits until the events of this step are passed on, then asks.
    fn approve<'a>(&'a self, step: StepId, proposal: &'a Proposal) -> Deciding<'a> {
        Box::pin(async move {
            loop {
                let opened = self.lanes.opened.notified();
                tokio::pin!(opened);
                opened.as_mut().enable();
                if self.lanes.is_open(self.at) {
                    return self.lanes.host.approve(step, proposal).await;
                }
                opened.await;
            }
        })
    }

    fn policy(&self) -> &Policy {
        self.lanes.host.policy()
    }
}

/// The event with its call renumbered to match the turn's evidence.
fn shifted(event: Event, shift: usize) -> Event {
    match event {
        Event::StepCompleted(mut report) => {
            report.call = report.call.map(|call| CallId(call.0 + shift));
            Event::StepCompleted(report)
        }
        event => event,
    }
}
