//! Runs a turn as a graph of nodes: each updates the state and names the next node, within a budget of transitions.

use std::time::Duration;

use crate::base::StepId;
use crate::models::{ModelCapability, Role};
use crate::protocol::{Event, Mode, PlanView};

use super::evidence::Evidence;
use super::execute::Scene;
use super::free_loop::offer;
use super::plan::{self, Plan};
use super::recovery::{self, Way};
use super::steps::{self, Ran};
use super::synthesize::{self, Brief, Draft, NOTHING, Told};
use super::toolkit::{Toolkit, TurnError};
use super::{Host, cognitive, forecast, free_loop, guide, inspect, lead, probe, spelled, talk};
use crate::language::clauses::Part;
use crate::request::{Text, small_talk};

/// Maximum number of transitions of one turn, for a capable and for a weak model: each node, each
/// round of a model that calls tools, and each step of a plan counts as one. A plan adds as many as
/// it has steps, because models of any capability carry out clear steps.
const TRANSITIONS_CAPABLE: usize = 64;
const TRANSITIONS_WEAK: usize = 8;

/// A stage of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// Classifies the request; every turn starts here.
    Sort,
    /// Answers small talk, or from the conversation alone.
    Talk,
    Plan,
    /// Carries out the steps of the plan.
    Execute,
    /// A model that was measured as able to act carries out the request.
    Lead,
    /// The single-model loop of weaker models.
    Free,
    Answer,
}

impl Node {
    /// The name of the phase in events.
    fn name(self) -> &'static str {
        match self {
            Node::Sort => "sorting",
            Node::Talk => "talk",
            Node::Plan => "planning",
            Node::Execute => "orchestrator",
            Node::Lead => "the leading model",
            Node::Free => "single-model loop",
            Node::Answer => "answer",
        }
    }
}

/// State that the nodes of a turn share.
pub struct State<'a> {
    pub request: &'a Text,
    /// The request, split into parts.
    pub parts: Vec<Part>,
    pub plan: Plan,
    /// The plan with the status of its steps.
    record: PlanView,
    /// The expected time, if it was announced.
    expected: Option<Duration>,
    pub evidence: Evidence,
    /// Number of results before the last node. The next node's model reads the results after them
    /// in full.
    known: usize,
    /// The text of the model that carried out the steps, else the free loop's last reply; either
    /// may become the answer.
    pub draft: Option<String>,
    pub response: Option<String>,
    /// The reason why some steps could not be carried out; empty if all could.
    pub trouble: String,
    /// Steps that were understood but cannot be carried out, each with the reason.
    refused: Vec<(StepId, String)>,
    /// The steps and evidence entries already reported to the user.
    told: Told,
    /// Whether the planner was measured as able to act; it then gets the parts of a plan that code
    /// cannot carry out.
    leads: bool,
    /// Text from a model that became unavailable or failed during the turn; the answer begins with
    /// it.
    said_before: String,
    pub transitions: Transitions,
}

/// Counts a turn's transitions against its limit.
#[derive(Clone, Copy, Debug)]
pub struct Transitions {
    /// Determines the limit: the capability of the turn's model, weak until a model is available.
    pub capability: ModelCapability,
    spent: usize,
    /// Total number of steps in all plans made in this turn.
    planned: usize,
    /// The user's limit.
    bound: Option<usize>,
}

impl Transitions {
    /// The user's limit, else the limit for the model's capability.
    pub fn within(bound: Option<usize>) -> Transitions {
        Transitions { capability: ModelCapability::weak(), spent: 0, planned: 0, bound }
    }

    /// Uses one transition; false if none is left.
    pub fn spend(&mut self) -> bool {
        let is_left = self.left() > 0;
        self.spent += usize::from(is_left);
        is_left
    }

    /// The number of transitions left.
    pub fn left(self) -> usize {
        let most = if self.capability.supports_advanced_orchestration { TRANSITIONS_CAPABLE } else { TRANSITIONS_WEAK };
        (self.bound.unwrap_or(most) + self.planned).saturating_sub(self.spent)
    }

    /// Adds transitions for the steps of a plan.
    fn plan(&mut self, plan: &Plan) {
        self.planned += plan.steps.len();
    }
}

impl<'a> State<'a> {
    pub fn of(toolkit: &Toolkit, request: &'a Text, evidence: Evidence) -> State<'a> {
        State {
            request,
            parts: super::parts(toolkit, request),
            plan: Plan::default(),
            record: PlanView::default(),
            expected: None,
            known: evidence.entries().len(),
            evidence,
            draft: None,
            response: None,
            trouble: String::new(),
            refused: Vec::new(),
            told: Told::default(),
            leads: false,
            said_before: String::new(),
            transitions: Transitions::within(toolkit.bounds.transitions),
        }
    }

    /// Visits nodes until the turn ends. Once the budget is spent, the turn answers from the
    /// results so far. After a model error, it continues in another way.
    pub async fn run(mut self, toolkit: &Toolkit, host: &dyn Host) -> Result<State<'a>, TurnError> {
        let mut toolkit = toolkit.clone();
        let mut next = Some(Node::Sort);
        while let Some(node) = next {
            let node = if self.transitions.spend() { node } else { Node::Answer };
            let known = self.evidence.entries().len();
            next = match self.visit(node, &toolkit, host).await {
                Ok(next) => next,
                Err(error) => self.after_error(node, error, &mut toolkit, host)?,
            };
            self.known = known;
        }
        if let Some(expected) = self.expected {
            let took = Duration::from_millis(toolkit.meter.usage().wall_ms);
            host.notice(&forecast::compared(expected, took));
        }
        if !self.said_before.is_empty() {
            let rest = self.response.take().unwrap_or_default();
            self.response = Some(format!("{}\n\n{rest}", self.said_before));
        }
        Ok(self)
    }

    /// Does the work of one node; returns the next one.
    async fn visit(&mut self, node: Node, toolkit: &Toolkit, host: &dyn Host) -> Result<Option<Node>, TurnError> {
        tracing::debug!(?node, spent = self.transitions.spent, "node");
        let request = self.request;
        let scene = toolkit.context.as_ref().map(|context| Scene { toolkit, context, request, host });
        Ok(match (node, scene) {
            (Node::Sort, Some(_)) if !small_talk::is_all(&self.parts) && request.recalls().is_none() => {
                let plans = toolkit.orchestrate && toolkit.mode == Mode::Agent;
                let is_by_code = plans && spelled::is_all(toolkit, request, &self.parts);
                // A list from the index needs no model, so no model is measured for it.
                self.leads = !(plans && guide::is_list(toolkit, &self.parts)) && probe::leads(toolkit, host).await?;
                self.transitions.capability = probe::capability_at_hand(toolkit);
                let next = match (self.leads, plans) {
                    (true, _) if !is_by_code => Node::Lead,
                    (_, true) => Node::Plan,
                    (_, false) => Node::Free,
                };
                let way = || inspect::reading(&self.parts, &format!("next: {}", next.name()));
                inspect::stage(toolkit, host, inspect::of_turn("reading"), way).await?;
                Some(next)
            }
            (Node::Plan, Some(_)) => {
                self.plan = match self.leads {
                    true => plan::floor(&self.parts),
                    false => plan::make(toolkit, request, &self.parts, host).await?,
                };
                self.transitions.plan(&self.plan);
                (self.record, self.expected) = self.plan.show(toolkit, host);
                inspect::stage(toolkit, host, inspect::of_turn("plan"), || inspect::plan(&self.record)).await?;
                Some(Node::Execute)
            }
            (Node::Execute, Some(scene)) => {
                let mut ran = Ran::of(std::mem::take(&mut self.record));
                let transitions = &mut self.transitions;
                let ended = steps::run(scene, &self.plan, &mut self.evidence, &mut ran, transitions).await;
                (self.draft, self.trouble, self.refused) = (Some(ran.said), ran.stuck.join("; "), ran.refused);
                if self.plan.by_model {
                    self.told = Told { steps: ran.ended, entries: self.evidence.entries().len() };
                }
                ended?;
                if self.leads && !(self.trouble.is_empty() && self.refused.is_empty()) {
                    let refused = self.refused.iter().map(|(_, why)| why.as_str());
                    let trouble = [self.trouble.as_str()].into_iter().filter(|trouble| !trouble.is_empty());
                    self.trouble = trouble.chain(refused).collect::<Vec<_>>().join("; ");
                    Some(Node::Lead)
                } else if self.trouble.is_empty() {
                    Some(Node::Answer)
                } else {
                    host.emit(Event::Fallback { from: node.name().to_owned(), reason: self.trouble.clone() });
                    Some(Node::Free)
                }
            }
            (Node::Lead, Some(scene)) => {
                let context = toolkit.model(Role::Planner, host).await?.context();
                self.transitions.capability = ModelCapability::capable(context);
                let (parts, with_checklist, trouble) = (&self.parts, toolkit.orchestrate, self.trouble.as_str());
                let (evidence, known, transitions) = (&mut self.evidence, self.known, &mut self.transitions);
                let task = lead::Task { parts, with_checklist, evidence, known, trouble, transitions };
                match lead::run(scene, task).await? {
                    lead::Ended::Answered(answer) => self.response = Some(answer),
                    lead::Ended::Left(left) => return self.taken_over(left, toolkit, host).await,
                }
                None
            }
            (Node::Free, Some(scene)) => {
                if self.plan.steps.is_empty() {
                    self.plan = plan::floor(&self.parts);
                }
                let model = toolkit.model(Role::Planner, host).await?;
                let (capability, measured) = probe::capability(toolkit, &model, host).await?;
                self.transitions.capability = capability;
                let (plan, trouble, known) = (&self.plan, self.trouble.as_str(), self.known);
                let (evidence, transitions) = (&mut self.evidence, &mut self.transitions);
                let constrained = measured.grammar_helps();
                let task = free_loop::Task { model, constrained, plan, evidence, known, trouble, transitions };
                self.draft = free_loop::run(scene, task).await?;
                Some(Node::Answer)
            }
            (Node::Answer, _) => {
                self.response = Some(self.answer(toolkit, host).await?);
                None
            }
            (Node::Sort, _) => Some(Node::Talk),
            // Without a project there are no tools: the model can only talk.
            (Node::Talk | Node::Plan | Node::Execute | Node::Lead | Node::Free, _) => {
                self.response = Some(talk::answer(toolkit, request, host).await?);
                None
            }
        })
    }

    /// The next node after an error: the single-model loop continues with the plan and results, in
    /// another way each time. If nothing can continue, returns the error, or, if something was
    /// already changed, run or said, an answer that names the open steps.
    fn after_error(
        &mut self,
        node: Node,
        error: TurnError,
        toolkit: &mut Toolkit,
        host: &dyn Host,
    ) -> Result<Option<Node>, TurnError> {
        if toolkit.cancel.is_cancelled() {
            return Err(error);
        }
        if self.plan.by_model {
            // This text was already sent to the host. The rest of the answer comes from the
            // evidence.
            self.said_before.push_str(self.draft.take().unwrap_or_default().trim_end());
            self.plan.by_model = false;
        }
        let Some(way) = toolkit.way.after(&error, recovery::has_other(toolkit)) else {
            let is_done = self.evidence.entries().iter().any(|entry| entry.executing && entry.succeeded());
            if matches!(error, TurnError::Cancelled) || !is_done && self.said_before.is_empty() {
                return Err(error);
            }
            self.response = Some(self.partial(&error, toolkit, host));
            return Ok(None);
        };
        toolkit.way = way;
        self.trouble = error.to_string();
        let reason = format!("{error}; {}", way.said());
        let next = match node {
            Node::Talk | Node::Answer => node,
            // A model that acts has its own loop.
            Node::Lead if way == Way::Shorter => Node::Lead,
            _ => Node::Free,
        };
        if next == Node::Free {
            host.emit(Event::Fallback { from: node.name().to_owned(), reason });
        } else {
            host.notice(&reason);
        }
        Ok(Some(next))
    }

    /// The answer of a turn that no model can finish: what was found and done, and what was not
    /// done and why.
    fn partial(&self, error: &TurnError, toolkit: &Toolkit, host: &dyn Host) -> String {
        let mut lines = synthesize::calls(self.brief(toolkit, host));
        let open = offer::open(&self.plan, &self.evidence).into_iter();
        let open = open.filter(|step| self.told.steps.iter().all(|told| *told != step.id));
        lines.push(recovery::left_undone(open, &self.refused, error));
        synthesize::tell(host, &lines.join("\n"))
    }

    /// The next node after the leading model became unavailable: the model that is now the planner
    /// continues as its measurements allow. Changes and runs are not repeated.
    async fn taken_over(
        &mut self,
        left: lead::Left,
        toolkit: &Toolkit,
        host: &dyn Host,
    ) -> Result<Option<Node>, TurnError> {
        const AWAY: &str = "the model working on this became unavailable";
        self.leads = probe::leads(toolkit, host).await?;
        self.transitions.capability = probe::capability_at_hand(toolkit);
        let plans = toolkit.orchestrate && toolkit.mode == Mode::Agent;
        let has_acted = !left.done.is_empty();
        self.trouble = if has_acted { AWAY.to_owned() } else { String::new() };
        if !left.said.is_empty() {
            synthesize::tell(host, "\n\n");
        }
        self.said_before = left.said;
        if self.leads {
            return Ok(Some(Node::Lead));
        }
        if !has_acted {
            return Ok(Some(if plans { Node::Plan } else { Node::Free }));
        }
        let facts = left.done.join("\n");
        synthesize::tell(host, &format!("{facts}\n\n"));
        self.said_before = format!("{}\n\n{facts}", self.said_before).trim().to_owned();
        if plans && !left.open.is_empty() {
            let by_model = guide::is_for(toolkit, &self.parts, host).await?;
            self.plan = Plan { steps: left.open, by_model, ..Plan::default() };
            self.transitions.plan(&self.plan);
            (self.record, self.expected) = self.plan.show(toolkit, host);
            return Ok(Some(Node::Execute));
        }
        let more = "- needs work, perhaps: the model became unavailable before it reported that it was done";
        self.response = Some(synthesize::tell(host, more));
        Ok(None)
    }

    /// The answer of a turn that looked something up or changed something.
    async fn answer(&mut self, toolkit: &Toolkit, host: &dyn Host) -> Result<String, TurnError> {
        let said = self.draft.as_deref().map(str::trim_end).filter(|said| !said.is_empty());
        let brief = self.brief(toolkit, host);
        if self.plan.by_model {
            // This text was already sent to the host.
            return Ok(match (said, self.plan.questions.is_empty()) {
                (Some(said), true) => said.to_owned(),
                (None, true) => synthesize::tell(host, NOTHING),
                (said, false) => {
                    let said = said.map(|said| said.to_owned() + &synthesize::tell(host, "\n\n")).unwrap_or_default();
                    said + &synthesize::answer(brief, Draft::default()).await?
                }
            });
        }
        if cognitive::applies(brief) {
            let mut evidence = self.evidence.clone();
            let answer = cognitive::answer(brief, said, &mut evidence).await?;
            self.evidence = evidence;
            Ok(answer)
        } else {
            synthesize::answer(brief, Draft { said, ..Draft::default() }).await
        }
    }

    fn brief<'b>(&'b self, toolkit: &'b Toolkit, host: &'b dyn Host) -> Brief<'b> {
        let (plan, evidence, refused, told) = (&self.plan, &self.evidence, self.refused.as_slice(), &self.told);
        Brief { toolkit, request: self.request, plan, evidence, refused, told, host }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Kind, Step};

    #[test]
    fn a_weak_model_has_eight_transitions_and_a_capable_one_sixty_four() {
        let count_within = |bound: Option<usize>, capability: ModelCapability| {
            let mut transitions = Transitions { capability, ..Transitions::within(bound) };
            (0..).take_while(|_| transitions.spend()).count()
        };
        let count = |capability| count_within(None, capability);
        assert_eq!((count(ModelCapability::weak()), count(ModelCapability::capable(8_192))), (8, 64));
        assert_eq!(count_within(Some(12), ModelCapability::weak()), 12);
    }

    #[test]
    fn a_plan_has_room_for_each_of_its_steps_and_for_no_more() {
        let steps = (1..=20).map(|id| Step::of(id, Kind::Ask, "Who calls it?".to_owned())).collect();
        let mut transitions = Transitions::within(None);
        assert!(transitions.spend() && transitions.spend());
        transitions.plan(&Plan { steps, ..Plan::default() });
        assert!((0..20).all(|_| transitions.spend()));
        assert_eq!(transitions.left(), 6);
        transitions.capability = ModelCapability::capable(8_192);
        assert_eq!(transitions.left(), 62);
    }
}
