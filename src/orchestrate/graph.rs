//! Runs a turn as a graph of nodes: each updates the state and names the next node, within a budget of transitions.

use crate::models::ModelCapability;
use crate::protocol::{Event, Mode, PlanStatus};

use super::evidence::Evidence;
use super::execute::Scene;
use super::plan::{self, Plan};
use super::steps;
use super::synthesize::{self, Draft};
use super::toolkit::{Toolkit, TurnError};
use super::{Host, cognitive, recall, work};
use crate::language::clauses::Part;
use crate::orchestrate::free_loop;
use crate::request::small_talk;
use crate::tools::Context;

/// Most transitions of one turn, for a capable and for a weak model. Each iteration of the free loop is one; all steps that
/// code carries out are one together, because they run on every model.
const TRANSITIONS_CAPABLE: usize = 64;
const TRANSITIONS_WEAK: usize = 8;

/// A stage of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// Classifies the request; every turn starts here.
    Sort,
    /// Answers small talk, or from the conversation alone.
    Talk,
    /// The model reads the request and writes; code checks.
    Work,
    Plan,
    Execute,
    /// The single-model loop.
    Free,
    Answer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transition {
    Next(Node),
    End,
}

/// What the nodes of a turn share.
pub struct State<'a> {
    pub request: &'a str,
    /// The request, split into parts.
    parts: Vec<Part>,
    pub plan: Plan,
    pub evidence: Evidence,
    /// The free loop's last reply, which may become the answer.
    pub draft: Option<String>,
    pub response: Option<String>,
    /// Why some steps could not be carried out; empty if all could.
    pub trouble: String,
    pub transition: Transition,
    pub transitions: Transitions,
}

/// Counts a turn's transitions against its limit.
#[derive(Clone, Copy, Debug)]
pub struct Transitions {
    spent: usize,
    most: usize,
}

impl Default for Transitions {
    fn default() -> Transitions {
        Transitions { spent: 0, most: TRANSITIONS_CAPABLE }
    }
}

impl Transitions {
    /// Takes one transition; false when none is left.
    pub fn spend(&mut self) -> bool {
        self.spent += 1;
        self.spent <= self.most
    }

    /// Sets the limit for a model of this capability.
    pub fn limit(&mut self, capability: &ModelCapability) {
        let weak = !capability.supports_advanced_orchestration;
        self.most = if weak { TRANSITIONS_WEAK } else { TRANSITIONS_CAPABLE };
    }
}

impl<'a> State<'a> {
    pub fn of(toolkit: &Toolkit, request: &'a str, evidence: Evidence) -> State<'a> {
        State {
            request,
            parts: super::parts(toolkit, request),
            plan: Plan { steps: Vec::new(), questions: Vec::new() },
            evidence,
            draft: None,
            response: None,
            trouble: String::new(),
            transition: Transition::Next(Node::Sort),
            transitions: Transitions::default(),
        }
    }

    /// Visits nodes until the turn ends. Once the budget is spent, the turn answers from what it has.
    pub async fn run(mut self, toolkit: &Toolkit, host: &dyn Host) -> Result<State<'a>, TurnError> {
        while let Transition::Next(node) = self.transition {
            let node = if self.transitions.spend() { node } else { Node::Answer };
            self.transition = self.visit(node, toolkit, host).await?;
        }
        Ok(self)
    }

    async fn visit(&mut self, node: Node, toolkit: &Toolkit, host: &dyn Host) -> Result<Transition, TurnError> {
        tracing::debug!(?node, spent = self.transitions.spent, "node");
        Ok(match (node, &toolkit.context) {
            (Node::Sort, Some(_)) if !small_talk::is_all(&self.parts) && !recall::asks(self.request) => {
                let plans = toolkit.orchestrate && toolkit.mode == Mode::Agent;
                Transition::Next(if !plans {
                    Node::Free
                } else if work::is_for(toolkit, &self.parts, host).await? {
                    Node::Work
                } else {
                    Node::Plan
                })
            }
            (Node::Work, Some(context)) => {
                let scene = Scene { toolkit, context, request: self.request, host };
                let (plan, answer) = work::run(scene, &mut self.evidence).await?;
                (self.plan, self.response) = (plan, Some(answer));
                Transition::End
            }
            (Node::Plan, Some(_)) => {
                self.plan = plan::floor(&self.parts);
                host.emit(Event::PlanCreated { plan: self.plan.view(PlanStatus::Pending) });
                Transition::Next(Node::Execute)
            }
            (Node::Execute, Some(context)) => {
                let scene = Scene { toolkit, context, request: self.request, host };
                self.trouble = steps::run(scene, &self.plan, &mut self.evidence).await?.join("; ");
                if self.trouble.is_empty() {
                    Transition::Next(Node::Answer)
                } else {
                    host.emit(Event::Fallback { from: "orchestrator".to_owned(), reason: self.trouble.clone() });
                    Transition::Next(Node::Free)
                }
            }
            (Node::Free, Some(context)) => {
                self.draft = self.loop_freely(toolkit, context, host).await?;
                Transition::Next(Node::Answer)
            }
            (Node::Answer, _) => {
                self.response = Some(self.answer(toolkit, host).await?);
                Transition::End
            }
            (Node::Sort, _) => Transition::Next(Node::Talk),
            // Without a project there are no tools, so a model can only talk.
            (Node::Talk | Node::Work | Node::Plan | Node::Execute | Node::Free, _) => {
                self.response = Some(self.talk(toolkit, host).await?);
                Transition::End
            }
        })
    }

    /// Runs the single-model loop with the plan; returns its last reply.
    async fn loop_freely(
        &mut self,
        toolkit: &Toolkit,
        context: &Context,
        host: &dyn Host,
    ) -> Result<Option<String>, TurnError> {
        if self.plan.steps.is_empty() {
            self.plan = plan::floor(&self.parts);
        }
        let (request, trouble, transitions) = (self.request, self.trouble.as_str(), &mut self.transitions);
        let task = free_loop::Task { request, plan: &self.plan, evidence: &mut self.evidence, trouble, transitions };
        free_loop::run(toolkit, context, task, host).await
    }

    /// The answer of a turn that looked something up or changed something.
    async fn answer(&self, toolkit: &Toolkit, host: &dyn Host) -> Result<String, TurnError> {
        let (request, plan, evidence, said) = (self.request, &self.plan, &self.evidence, self.draft.as_deref());
        let brief = cognitive::Brief { toolkit, request, parts: &self.parts, plan, evidence, host };
        if cognitive::applies(brief) {
            cognitive::answer(brief, said).await
        } else {
            let draft = Draft { said, ..Draft::default() };
            synthesize::answer(toolkit, request, plan, evidence, draft, host).await
        }
    }

    /// What was said earlier, if the request asks for it, else the model's reply.
    async fn talk(&self, toolkit: &Toolkit, host: &dyn Host) -> Result<String, TurnError> {
        match recall::answer(self.request, &toolkit.earlier) {
            Some(known) => {
                host.emit(Event::Token { text: known.clone() });
                Ok(known)
            }
            None => free_loop::reply(toolkit, self.request, host).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weak_model_has_eight_transitions_and_a_capable_one_sixty_four() {
        let count = |capability: ModelCapability| {
            let mut transitions = Transitions::default();
            transitions.limit(&capability);
            (0..).take_while(|_| transitions.spend()).count()
        };
        assert_eq!((count(ModelCapability::weak()), count(ModelCapability::capable(8_192))), (8, 64));
    }
}
