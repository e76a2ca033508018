//! A request becomes parts, steps, calls and an answer. Code owns the shape, models fill in the words.

pub mod arguments;
pub mod check;
pub mod classify;
pub mod decompose;
pub mod edit;
pub mod evidence;
pub mod excerpt;
pub mod execute;
pub mod fill;
pub mod plan;
pub mod relation;
pub mod route;
pub mod solo;
pub mod synthesize;
pub mod toolkit;
pub mod words;

use std::future::Future;
use std::pin::Pin;

use crate::base::StepId;
use crate::protocol::{Decision, Event, PlanStatus, Proposal, TurnFinished};
use crate::tools::policy::Policy;

use evidence::Evidence;
use execute::StepEnd;
use plan::Plan;
pub use toolkit::{Meter, Toolkit, TurnError};

/// The only way up from a turn: what happens is emitted, what needs consent is asked.
pub trait Host: Send + Sync {
    fn emit(&self, event: Event);

    /// Asks the user; a host that cannot ask rejects.
    fn approve<'a>(
        &'a self,
        step: StepId,
        proposal: &'a Proposal,
    ) -> Pin<Box<dyn Future<Output = Decision> + Send + 'a>>;

    /// What the user consented to beforehand.
    fn policy(&self) -> &Policy;
}

impl dyn Host + '_ {
    pub fn notice(&self, text: &str) {
        self.emit(Event::Notice { text: text.to_owned() });
    }
}

/// The plan of a request, shown; nothing is run.
pub async fn plan_turn(toolkit: &Toolkit, request: &str, host: &dyn Host) -> Result<Plan, TurnError> {
    let parts = decompose::parts(request);
    let plan = plan::make(toolkit, &parts, request, host).await?;
    host.emit(Event::PlanCreated { plan: plan.view(PlanStatus::Pending) });
    Ok(plan)
}

/// Plan, execute, answer. What a phase cannot do goes to the single-model loop, which inherits plan and evidence.
pub async fn run_turn(toolkit: &Toolkit, request: &str, host: &dyn Host) -> Result<TurnFinished, TurnError> {
    let mut evidence = Evidence::default();
    let answer = match &toolkit.context {
        Some(context) if toolkit.orchestrate => orchestrated(toolkit, context, request, &mut evidence, host).await?,
        Some(context) => {
            let plan = plan::floor(&decompose::parts(request));
            solo::run(toolkit, context, request, &plan, &mut evidence, "", host).await?
        }
        None => solo::reply(toolkit, request, host).await?,
    };
    let steps = evidence.entries().iter().map(evidence::Entry::report).collect();
    Ok(TurnFinished { request: request.to_owned(), answer, steps, usage: toolkit.meter.usage() })
}

async fn orchestrated(
    toolkit: &Toolkit,
    context: &crate::tools::Context,
    request: &str,
    evidence: &mut Evidence,
    host: &dyn Host,
) -> Result<String, TurnError> {
    if classify::kind(&decompose::parts(request)) == classify::RequestKind::Chat {
        return solo::reply(toolkit, request, host).await;
    }
    let plan = plan_turn(toolkit, request, host).await?;
    let mut stuck = Vec::new();
    for step in &plan.steps {
        // A step without evidence was stuck itself.
        let succeeded = |need: &StepId| {
            let mut calls = evidence.of(*need).peekable();
            calls.peek().is_some() && calls.all(evidence::Entry::succeeded)
        };
        if !step.needs.iter().all(succeeded) {
            stuck.push(format!("{}: a step it needs did not succeed", step.description));
            continue;
        }
        host.emit(Event::StepExecuting { step: step.id, description: step.description.clone() });
        if let StepEnd::Stuck(reason) = execute::step(toolkit, context, step, request, evidence, host).await? {
            host.notice(&format!("{}: {reason}", step.id));
            stuck.push(format!("{}: {reason}", step.description));
        }
    }
    if stuck.is_empty() {
        return synthesize::answer(toolkit, request, &plan, evidence, host).await;
    }
    let reason = stuck.join("; ");
    host.emit(Event::Fallback { from: "orchestrator".to_owned(), reason: reason.clone() });
    solo::run(toolkit, context, request, &plan, evidence, &reason, host).await
}
