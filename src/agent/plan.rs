//! The plan of a turn: its steps, and the questions to answer at the end.

use std::time::Duration;

use crate::base::StepId;
use crate::language::clauses::{Part, PartKind};
use crate::language::shape;
use crate::protocol::{Event, PlanStatus, PlanStep, PlanView};
use crate::request::named::{Found, Role};
use crate::request::{Kind, Step, Text, clause};

use super::forecast::{self, Cost};
use super::toolkit::{Toolkit, TurnError};
use super::{Host, guide, spelled};

/// The steps and questions of a turn.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    pub steps: Vec<Step>,
    /// The user's questions that no step answers.
    pub questions: Vec<Question>,
    /// Whether the planner was measured as able to write, and carries out the steps; else code
    /// does.
    pub by_model: bool,
}

/// A clause that only asks, and the steps that find its answer.
#[derive(Clone, Debug)]
pub struct Question {
    pub text: Text,
    pub about: Vec<StepId>,
}

impl Plan {
    /// The plan as shown to the user before anything is done, with cost estimates for its steps,
    /// and the total cost.
    fn estimated(&self, toolkit: &Toolkit) -> (PlanView, Cost) {
        let costs: Vec<Cost> = self.steps.iter().map(|step| forecast::of_step(toolkit, step, self.by_model)).collect();
        let steps: Vec<PlanStep> = self.steps.iter().zip(&costs).map(|(step, cost)| view(step, *cost)).collect();
        let add = |sum: Cost, one: Cost| Cost { read: sum.read + one.read, written: sum.written + one.written };
        let all = costs.into_iter().fold(Cost::default(), add);
        let estimated_seconds = forecast::time(toolkit, all).map(|time| time.as_secs());
        let total_estimated_tokens = all.tokens();
        (PlanView { steps, total_estimated_tokens, estimated_seconds, status: PlanStatus::Pending }, all)
    }

    /// Checks and shows the plan before its first step. Returns the plan's record and the announced
    /// time.
    pub fn show(&self, toolkit: &Toolkit, host: &dyn Host) -> (PlanView, Option<Duration>) {
        let (record, cost) = self.estimated(toolkit);
        host.emit(Event::PlanCreated { plan: record.clone() });
        missing(toolkit, &self.steps).iter().for_each(|what| host.notice(what));
        let time = forecast::time(toolkit, cost);
        let said = time.and_then(|time| forecast::announced(&forecast::steps(self.steps.len()), cost, time));
        let expected = time.filter(|_| said.is_some());
        said.into_iter().for_each(|said| host.notice(&said));
        (record, expected)
    }
}

/// A list of steps without estimates.
pub fn listed<'a>(steps: impl Iterator<Item = &'a Step>) -> PlanView {
    PlanView { steps: steps.map(|step| view(step, Cost::default())).collect(), ..PlanView::default() }
}

/// Messages about missing files that steps read or run and that no earlier step creates.
fn missing(toolkit: &Toolkit, steps: &[Step]) -> Vec<String> {
    let reads = |step: &Step| matches!(step.kind, Kind::Ask | Kind::Run);
    let mut all = Vec::new();
    for (at, step) in steps.iter().enumerate().filter(|(_, step)| reads(step) && toolkit.context.is_some()) {
        let is_made = |name: &str| steps[..at].iter().any(|earlier| !reads(earlier) && earlier.text.says(name));
        let named = super::names(toolkit, &step.text).all.into_iter();
        let gone = named.filter(|one| matches!(one.found, Found::Missing(_)) && shape::is_path(&one.said));
        let gone = gone.filter(|one| one.role != Role::Part && !is_made(&one.said));
        all.extend(gone.filter_map(|one| Some(format!("{}: {}", step.id, one.trouble()?))));
    }
    all
}

fn view(step: &Step, cost: Cost) -> PlanStep {
    let base = match step.kind {
        _ if cost == Cost::default() => 1,
        Kind::Ask | Kind::Run | Kind::Rename | Kind::Move => 2,
        Kind::Edit | Kind::Fix => 3,
    };
    PlanStep {
        id: step.id,
        name: clause::title(&step.part),
        description: step.text.to_string(),
        files_affected: step.part.paths.clone(),
        dependencies: step.needs.clone(),
        estimated_complexity: (base + step.part.paths.len().saturating_sub(1)).clamp(1, 5) as u8,
        estimated_tokens: cost.tokens(),
        status: PlanStatus::Pending,
    }
}

/// The plan of a request with these clauses: from [`of`] in an indexed project, else from
/// [`floor`].
pub async fn make(toolkit: &Toolkit, request: &Text, parts: &[Part], host: &dyn Host) -> Result<Plan, TurnError> {
    let has_project = toolkit.context.is_some() && toolkit.index.is_some();
    if has_project { of(toolkit, request, parts, host).await } else { Ok(floor(parts)) }
}

/// The plan made by rules, or by the planner if it was measured as able to write; works with any
/// tools, with or without a project.
pub async fn of(toolkit: &Toolkit, request: &Text, parts: &[Part], host: &dyn Host) -> Result<Plan, TurnError> {
    if !guide::is_for(toolkit, parts, host).await? {
        return Ok(floor(parts));
    }
    let mut plan = match spelled::plan(toolkit, request, parts).await {
        Some(plan) => plan,
        None => Plan { steps: guide::read::steps(toolkit, request, host).await?, ..Plan::default() },
    };
    plan.by_model = true;
    Ok(plan)
}

/// The plan that code makes without a model: one step for each clause. If any clause is an act,
/// clauses that only ask become questions, and clauses that only state facts are left out.
pub fn floor(parts: &[Part]) -> Plan {
    let mut plan = Plan::default();
    let mut places = vec![None; parts.len()];
    let acts = parts.iter().any(|part| part.kind == PartKind::Act);
    for (place, part) in parts.iter().enumerate() {
        let needs = part.depends_on.iter().filter_map(|&earlier| places.get(earlier).copied()?).collect();
        match part.kind {
            PartKind::Answer if acts => plan.questions.push(Question { text: Text::of(&part.text), about: needs }),
            PartKind::Given if acts => {}
            _ => {
                let step = Step::of_part(plan.steps.len() + 1, part.clone(), needs);
                places[place] = Some(step.id);
                plan.steps.push(step);
            }
        }
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clause_that_only_asks_is_a_question_unless_it_is_the_only_one() {
        let check = |request: &str, expected: (usize, usize)| {
            let plan = floor(&Text::of(request).parts());
            assert_eq!((plan.steps.len(), plan.questions.len()), expected, "{request}");
        };
        check("Read src/a.rs and tell me what the default is", (1, 1));
        check("Tell me how the scheduler works", (1, 0));
    }
}
