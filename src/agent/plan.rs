//! The plan of a turn: its steps, and the questions to answer at the end.

use crate::base::StepId;
use crate::language::clauses::{Part, PartKind};
use crate::protocol::{PlanStatus, PlanStep, PlanView};
use crate::request::Step;

use super::toolkit::{Toolkit, TurnError};
use super::{Host, guide};

/// Tokens that a step usually takes: a whole task takes 6,000 to 8,000 in a handful of steps.
const TOKENS_A_STEP: usize = 1_500;

/// The steps and questions of a turn.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    pub steps: Vec<Step>,
    /// The user's questions that no step answers.
    pub questions: Vec<Question>,
    /// The planner was measured to be able to write, and carries the steps out; else code does.
    pub by_model: bool,
}

/// A clause that only asks, and the steps that find its answer.
#[derive(Clone, Debug)]
pub struct Question {
    pub text: String,
    pub about: Vec<StepId>,
}

impl Plan {
    /// The plan as the user sees it before anything is done.
    pub fn view(&self) -> PlanView {
        let steps: Vec<PlanStep> = self.steps.iter().map(view).collect();
        PlanView { total_estimated_tokens: TOKENS_A_STEP * steps.len(), steps, status: PlanStatus::Pending }
    }
}

fn view(step: &Step) -> PlanStep {
    let mut name: String = step.part.text.split_whitespace().take(6).collect::<Vec<_>>().join(" ");
    name.truncate(name.trim_end_matches(['.', ',', ';', ':']).len());
    PlanStep {
        id: step.id,
        name,
        description: step.text.clone(),
        files_affected: step.part.paths.clone(),
        dependencies: step.needs.clone(),
        estimated_complexity: step.part.paths.len().clamp(1, 5) as u8,
        status: PlanStatus::Pending,
    }
}

/// The plan of a request with these clauses: made by rules or by the planner if it was measured to write, else by [`floor`].
pub async fn make(toolkit: &Toolkit, request: &str, parts: &[Part], host: &dyn Host) -> Result<Plan, TurnError> {
    let has_project = toolkit.context.is_some() && toolkit.index.is_some();
    if has_project { of(toolkit, request, parts, host).await } else { Ok(floor(parts)) }
}

/// The same plan for any tools, with or without a project.
pub async fn of(toolkit: &Toolkit, request: &str, parts: &[Part], host: &dyn Host) -> Result<Plan, TurnError> {
    if !guide::is_for(toolkit, parts, host).await? {
        return Ok(floor(parts));
    }
    Ok(Plan { steps: guide::read::steps(toolkit, request, host).await?, by_model: true, ..Plan::default() })
}

/// The plan that code makes without a model: one step for each clause. If any clause is an act, clauses that only ask become
/// questions and clauses that only state facts are left out.
pub fn floor(parts: &[Part]) -> Plan {
    let mut plan = Plan::default();
    let mut places = vec![None; parts.len()];
    let acts = parts.iter().any(|part| part.kind == PartKind::Act);
    for (place, part) in parts.iter().enumerate() {
        let needs = part.depends_on.iter().filter_map(|&earlier| places.get(earlier).copied()?).collect();
        match part.kind {
            PartKind::Answer if acts => plan.questions.push(Question { text: part.text.clone(), about: needs }),
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
    use crate::language::clauses;

    #[test]
    fn a_clause_that_only_asks_is_a_question_unless_it_is_the_only_one() {
        let check = |request: &str, expected: (usize, usize)| {
            let plan = floor(&clauses::parts(request));
            assert_eq!((plan.steps.len(), plan.questions.len()), expected, "{request}");
        };
        check("Read src/a.rs and tell me what the default is", (1, 1));
        check("Tell me how the scheduler works", (1, 0));
    }
}
