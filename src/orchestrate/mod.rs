//! A request becomes parts, steps, calls and an answer. Code owns the shape, models fill in the words.

pub mod arguments;
mod asked;
pub mod call;
pub mod check;
pub mod classify;
pub mod cognitive;
pub mod consent;
mod conversation;
pub mod decompose;
pub mod edit;
pub mod evidence;
pub mod excerpt;
pub mod execute;
pub mod fill;
mod folders;
pub mod forms;
pub mod gate;
mod graph;
pub mod learn;
pub mod names;
mod notation;
pub mod plan;
pub mod probe;
pub mod recall;
mod recover;
pub mod referent;
pub mod route;
pub mod solo;
mod steps;
pub mod synthesize;
mod technique;
pub mod toolkit;
pub mod words;
pub mod work;

use std::future::Future;
use std::pin::Pin;

use crate::base::StepId;
use crate::protocol::{Decision, Doubt, Event, PlanStatus, Proposal, TurnFinished};
use crate::tools::policy::Policy;

use decompose::Part;
use evidence::Evidence;
use plan::Plan;
pub use toolkit::{Meter, Toolkit, TurnError};

/// What the user decides, once they have.
pub type Deciding<'a> = Pin<Box<dyn Future<Output = Decision> + Send + 'a>>;

/// A place among the candidates of a [`Doubt`].
pub type Choosing<'a> = Pin<Box<dyn Future<Output = Option<usize>> + Send + 'a>>;

/// The only way up from a turn: what happens is emitted, what needs consent is asked.
pub trait Host: Send + Sync {
    fn emit(&self, event: Event);

    /// Asks the user; a host that cannot ask rejects.
    fn approve<'a>(&'a self, step: StepId, proposal: &'a Proposal) -> Deciding<'a>;

    /// Asks which of several tools is meant; a host that cannot ask leaves it to the program.
    fn choose<'a>(&'a self, _: &'a Doubt) -> Choosing<'a> {
        Box::pin(std::future::ready(None))
    }

    /// What the user consented to beforehand.
    fn policy(&self) -> &Policy;
}

impl dyn Host + '_ {
    pub fn notice(&self, text: &str) {
        self.emit(Event::Notice { text: text.to_owned() });
    }
}

/// The plan of a request, shown; nothing is run.
pub async fn plan_turn(toolkit: &Toolkit, parts: &[Part], request: &str, host: &dyn Host) -> Result<Plan, TurnError> {
    let plan = plan::make(toolkit, parts, request, plan::Makers::Both, host).await?;
    host.emit(Event::PlanCreated { plan: plan.view(PlanStatus::Pending) });
    Ok(plan)
}

/// Plan, execute, answer. What a phase cannot do goes to the single-model loop, which inherits plan and evidence.
pub async fn run_turn(toolkit: &Toolkit, request: &str, host: &dyn Host) -> Result<TurnFinished, TurnError> {
    let mut evidence = Evidence::default();
    for given in &toolkit.given {
        evidence.take_in(given);
    }
    let ended = graph::State::of(toolkit, request, evidence).run(toolkit, host).await?;
    let (evidence, answer) = (ended.evidence, ended.response.unwrap_or_default());
    let calls = evidence.entries().iter().filter(|entry| entry.tool != evidence::GIVEN);
    let steps = calls.map(evidence::Entry::report).collect();
    Ok(TurnFinished { request: request.to_owned(), answer, steps, usage: toolkit.meter.usage() })
}
