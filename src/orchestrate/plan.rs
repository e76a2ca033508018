//! Makes the plan of a turn: code says how many steps there are at least, the planner words them.

use crate::base::StepId;
use crate::engine::slot::Reuse;
use crate::engine::{Grammar, Request};
use crate::models::Role;
use crate::models::dialect::Message;
use crate::protocol::{PlanStatus, PlanStep, PlanView};

use super::Host;
use super::conversation;
use super::decompose::{self, Part, PartKind};
use super::learn;
use super::toolkit::{Toolkit, TurnError};
use super::words;

const PROMPT: &str = include_str!("prompts/plan.md");
/// Longest wording of one step, in tokens.
const STEP_TOKENS: usize = 60;
/// Steps a capable planner may add to the floor.
const EXTRA_STEPS_MAX: usize = 3;
/// Steps beyond which the floor is used as it stands: the wording alone would fill a slot.
const WORDED_STEPS_MAX: usize = 12;
/// Tokens a step usually takes (seed 002: a task takes 6 to 8 thousand in a handful of steps).
const TOKENS_A_STEP: usize = 1_500;

/// One step, with the clause of the request it comes from.
#[derive(Clone, Debug)]
pub struct Step {
    pub id: StepId,
    pub part: Part,
    /// Understandable without the others; the clause itself when the planner had nothing better.
    pub description: String,
    pub needs: Vec<StepId>,
}

impl Step {
    /// What routing and arguments go by: all that the user said for this step.
    pub fn text(&self) -> String {
        self.part.full_text()
    }
}

/// What a turn is going to do.
#[derive(Clone, Debug)]
pub struct Plan {
    pub steps: Vec<Step>,
    /// What the user wants to be told, beyond what the steps do.
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

impl Step {
    fn view(&self, status: PlanStatus) -> PlanStep {
        let mut name: String = self.part.text.split_whitespace().take(6).collect::<Vec<_>>().join(" ");
        name.truncate(name.trim_end_matches(['.', ',', ';', ':']).len());
        PlanStep {
            id: self.id,
            name,
            description: self.description.clone(),
            files_affected: self.part.paths.clone(),
            dependencies: self.needs.clone(),
            estimated_complexity: (1
                + self.part.paths.len().saturating_sub(1)
                + usize::from(self.part.for_each.is_some()))
            .min(5) as u8,
            status,
        }
    }
}

/// Who makes a plan: both, unless it is measured what each of them earns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Makers {
    #[default]
    Both,
    /// Clauses as they stand.
    Floor,
    /// The planner divides the request as it sees fit.
    Planner,
}

/// The plan that code can make alone: one step a clause that is not only to be told.
pub fn floor(parts: &[Part]) -> Plan {
    let mut steps: Vec<Step> = Vec::new();
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
        steps.push(Step { id, part: part.clone(), description: part.full_text(), needs });
    }
    Plan { steps, questions }
}

/// A request taken as one step, whatever parts it has; `None` when it has no word.
pub fn whole(parts: &[Part], request: &str) -> Option<Step> {
    let mut part = parts.iter().find(|part| part.kind == PartKind::Act).or(parts.first())?.clone();
    if parts.len() > 1 {
        part.paths = parts.iter().flat_map(|part| part.paths.clone()).collect();
        part.quoted = parts.iter().flat_map(|part| part.quoted.clone()).collect();
        part.text = request.trim().to_owned();
        part.context.clear();
    }
    Some(Step { id: StepId(1), description: part.full_text(), part, needs: Vec::new() })
}

/// The plan for a request. With several clauses the planner is asked to word them; whatever it writes that loses or
/// invents a path, a number or a quotation is replaced by the clause itself.
pub async fn make(
    toolkit: &Toolkit,
    parts: &[Part],
    request: &str,
    makers: Makers,
    host: &dyn Host,
) -> Result<Plan, TurnError> {
    if makers == Makers::Planner {
        return planned(toolkit, parts, request, host).await;
    }
    let mut plan = floor(parts);
    let count = plan.steps.len();
    if makers == Makers::Floor || !(2..=WORDED_STEPS_MAX).contains(&count) {
        return Ok(plan);
    }
    let wordings = match learn::wordings(toolkit, &plan, host).await {
        Some(known) => known,
        None => worded(toolkit, &plan, request, host).await?,
    };
    for (place, wording) in wordings.into_iter().enumerate() {
        if let Some(step) = plan.steps.get(place) {
            let (so_far, later) = plan.steps.split_at(place + 1);
            if covers(&wording, &step.text(), request) && !runs_ahead(&wording, so_far, later) {
                plan.steps[place].description = wording;
            }
        } else if is_new(&wording, &plan, request)
            && let Some(part) = decompose::parts(&wording).into_iter().next()
        {
            let id = StepId(plan.steps.len() + 1);
            plan.steps.push(Step { id, part, description: wording, needs: vec![StepId(id.0 - 1)] });
        }
    }
    Ok(plan)
}

/// The plan of the planner alone: its steps are what it wrote, as many as it wrote.
async fn planned(toolkit: &Toolkit, parts: &[Part], request: &str, host: &dyn Host) -> Result<Plan, TurnError> {
    let mut plan = Plan { steps: whole(parts, request).into_iter().collect(), questions: Vec::new() };
    let wordings = worded(toolkit, &plan, request, host).await?;
    let steps = wordings.iter().filter_map(|wording| whole(&decompose::parts(wording), wording)).enumerate();
    let steps: Vec<Step> = steps.map(|(place, step)| Step { id: StepId(place + 1), ..step }).collect();
    if !steps.is_empty() {
        plan.steps = steps;
    }
    Ok(plan)
}

/// What the planner calls each step, in order; fewer or more than there are clauses, or nothing.
async fn worded(toolkit: &Toolkit, plan: &Plan, request: &str, host: &dyn Host) -> Result<Vec<String>, TurnError> {
    let planner = toolkit.model(Role::Planner, host).await?;
    let parts: Vec<String> =
        plan.steps.iter().enumerate().map(|(n, step)| format!("{}. {}", n + 1, step.part.text)).collect();
    let mut messages = vec![Message::system(PROMPT.replace("{capabilities}", &toolkit.catalog.capabilities()))];
    messages.extend(conversation::messages(&toolkit.earlier, &planner.engine));
    let request = words::shorten(request, 4_000);
    let count = plan.steps.len();
    messages.push(Message::user(match count {
        1 => format!("Request: {request}"),
        _ => format!("Request: {request}\nParts:\n{}", parts.join("\n")),
    }));
    let most = match () {
        () if count == 1 => WORDED_STEPS_MAX,
        () if planner.capability.supports_complex_reasoning => count + EXTRA_STEPS_MAX,
        () => count,
    };
    let request = Request {
        grammar: Some(Grammar::Lark(grammar(count, most))),
        reuse: Reuse::Exact,
        ..planner.engine.request(&planner.dialect.render(&messages), most * STEP_TOKENS)
    };
    match toolkit.generate(&planner, request, "planning", host).await {
        Ok(output) => Ok(descriptions(&output.text)),
        Err(TurnError::Cancelled) => Err(TurnError::Cancelled),
        Err(error) => {
            host.notice(&format!("the planner could not word the plan ({error}); its clauses are used as they stand"));
            Ok(Vec::new())
        }
    }
}

/// Between `least` and `most` lines of `[plan.add_step(description="…")]`.
fn grammar(least: usize, most: usize) -> String {
    format!(
        "start: step{{{least},{most}}}\nstep: \"[plan.add_step(description=\\\"\" WORDS \"\\\")]\\n\"\nWORDS: /[^\"\\\\\\n]{{3,240}}/\n"
    )
}

fn descriptions(text: &str) -> Vec<String> {
    let description = |line: &str| {
        let words = line.trim().strip_prefix("[plan.add_step(description=\"")?.strip_suffix("\")]")?;
        Some(words.trim().to_owned())
    };
    text.lines().filter_map(description).collect()
}

/// Whether `wording` says everything `clause` says and names nothing that the request does not.
fn covers(wording: &str, clause: &str, request: &str) -> bool {
    let said = words::content(wording);
    let wanted = words::content(clause);
    let kept = wanted.iter().filter(|word| said.contains(*word)).count();
    kept * 10 >= wanted.len() * 7
        && words::marks(clause).iter().all(|mark| wording.contains(mark.as_str()))
        && words::marks(wording).iter().all(|mark| request.contains(mark.as_str()))
}

/// Whether `wording` names what only a later clause speaks of: it would do that one's work too.
fn runs_ahead(wording: &str, so_far: &[Step], later: &[Step]) -> bool {
    let said = |steps: &[Step], mark: &str| steps.iter().any(|step| step.text().contains(mark));
    words::marks(wording).iter().any(|mark| said(later, mark) && !said(so_far, mark))
}

/// Whether a step that the planner added speaks of the request and of nothing planned already.
fn is_new(wording: &str, plan: &Plan, request: &str) -> bool {
    let said = words::content(wording);
    let asked = words::content(request);
    let shared = said.iter().filter(|word| asked.contains(*word)).count();
    let planned = plan.steps.iter().any(|step| {
        let clause = words::content(&step.text());
        said.iter().filter(|word| clause.contains(*word)).count() * 2 > said.len()
    });
    !planned && shared * 2 >= said.len() && words::marks(wording).iter().all(|mark| request.contains(mark.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_only_told_is_a_question_not_a_step() {
        let plan = floor(&decompose::parts("Read src/a.rs and tell me what the default is"));
        assert_eq!(plan.steps.len(), 1);
        assert_eq!(plan.questions.len(), 1);
    }

    #[test]
    fn a_lone_question_is_a_step() {
        assert_eq!(floor(&decompose::parts("Tell me how the scheduler works")).steps.len(), 1);
    }

    #[test]
    fn wording_that_loses_or_invents_a_name_is_not_taken() {
        let request = "Read src/a.rs, then rename foo to bar in it";
        assert!(covers("Read the file src/a.rs", "Read src/a.rs", request));
        assert!(!covers("Read the file", "Read src/a.rs", request));
        assert!(!covers("Read src/a.rs and src/b.rs", "Read src/a.rs", request));
    }

    #[test]
    fn wording_that_does_the_next_steps_work_is_not_taken() {
        let steps = floor(&decompose::parts("Read src/a.rs, then write it to src/b.rs")).steps;
        assert!(runs_ahead("Read src/a.rs and write it to src/b.rs", &steps[..1], &steps[1..]));
        assert!(!runs_ahead("Write src/a.rs to src/b.rs", &steps, &[]));
    }

    #[test]
    fn planner_lines_are_read_back() {
        let text = "[plan.add_step(description=\"Read a.rs\")]\n[plan.add_step(description=\"Run the tests\")]\n";
        assert_eq!(descriptions(text), ["Read a.rs", "Run the tests"]);
    }
}
