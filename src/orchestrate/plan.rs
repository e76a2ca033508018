//! The plan of a turn: its steps, which are clauses of the request, and the questions to answer at the end.

use crate::base::StepId;
use crate::protocol::{PlanStatus, PlanStep, PlanView};

use crate::language::clauses::{Part, PartKind};

/// Tokens that a step usually takes: a whole task takes 6,000 to 8,000 in a handful of steps.
const TOKENS_A_STEP: usize = 1_500;

/// One step, with the clause of the request it comes from.
#[derive(Clone, Debug)]
pub struct PlannedStep {
    pub id: StepId,
    pub part: Part,
    /// Steps that have to succeed before this one.
    pub needs: Vec<StepId>,
}

impl PlannedStep {
    /// Everything the user wrote about this step, understandable without the other steps; the tool and its arguments are chosen from it.
    pub fn text(&self) -> String {
        self.part.full_text()
    }
}

/// What a turn is going to do.
#[derive(Clone, Debug)]
pub struct Plan {
    pub steps: Vec<PlannedStep>,
    /// What the user wants to know, beyond what the steps do.
    pub questions: Vec<Question>,
}

/// A clause that only asks, and the steps that find its answer.
#[derive(Clone, Debug)]
pub struct Question {
    pub text: String,
    pub about: Vec<StepId>,
}

impl Plan {
    pub fn view(&self, status: PlanStatus) -> PlanView {
        let steps: Vec<PlanStep> = self.steps.iter().map(|step| step.view(status)).collect();
        PlanView { total_estimated_tokens: TOKENS_A_STEP * steps.len(), steps, status }
    }
}

impl PlannedStep {
    fn view(&self, status: PlanStatus) -> PlanStep {
        let mut name: String = self.part.text.split_whitespace().take(6).collect::<Vec<_>>().join(" ");
        name.truncate(name.trim_end_matches(['.', ',', ';', ':']).len());
        PlanStep {
            id: self.id,
            name,
            description: self.text(),
            files_affected: self.part.paths.clone(),
            dependencies: self.needs.clone(),
            estimated_complexity: self.part.paths.len().clamp(1, 5) as u8,
            status,
        }
    }
}

/// The plan that code makes without a model: one step for each clause. If any clause is an act, clauses that only ask become
/// questions and clauses that only state facts are left out.
pub fn floor(parts: &[Part]) -> Plan {
    let mut steps: Vec<PlannedStep> = Vec::new();
    let mut places = vec![None; parts.len()];
    let mut questions = Vec::new();
    let acts = parts.iter().any(|part| part.kind == PartKind::Act);
    for (place, part) in parts.iter().enumerate() {
        let mut needs: Vec<StepId> =
            part.depends_on.iter().filter_map(|&earlier| places.get(earlier).copied()?).collect();
        if part.kind == PartKind::Answer && acts {
            questions.push(Question { text: part.text.clone(), about: needs });
            continue;
        }
        if part.kind == PartKind::Given && acts {
            continue;
        }
        let id = StepId(steps.len() + 1);
        places[place] = Some(id);
        needs.retain(|need| *need < id);
        steps.push(PlannedStep { id, part: part.clone(), needs });
    }
    Plan { steps, questions }
}

/// The whole request as one step, whatever parts it has; `None` if it has none.
pub fn whole(parts: &[Part], request: &str) -> Option<PlannedStep> {
    let mut part = parts.iter().find(|part| part.kind == PartKind::Act).or(parts.first())?.clone();
    if parts.len() > 1 {
        part.paths = parts.iter().flat_map(|part| part.paths.clone()).collect();
        part.quoted = parts.iter().flat_map(|part| part.quoted.clone()).collect();
        part.text = request.trim().to_owned();
        part.context.clear();
    }
    Some(PlannedStep { id: StepId(1), part, needs: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::clauses;

    #[test]
    fn a_clause_that_only_asks_is_a_question_not_a_step() {
        let plan = floor(&clauses::parts("Read src/a.rs and tell me what the default is"));
        assert_eq!(plan.steps.len(), 1);
        assert_eq!(plan.questions.len(), 1);
    }

    #[test]
    fn a_lone_question_is_a_step() {
        assert_eq!(floor(&clauses::parts("Tell me how the scheduler works")).steps.len(), 1);
    }
}
