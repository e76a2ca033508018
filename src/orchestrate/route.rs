//! Picks the tool for one step: retrieval first, the router's opinion where retrieval is not sure.
//!
//! A family that was taught to call tools is asked how likely each tool's name is after the step. Any other is asked the other way round:
//! how likely the step is as a request for that tool. Among six candidates with names that say nothing the 135M router alone found the
//! right one in 16 of 33 cases the first way, in 23 the second. Small models know little about tools, so one is asked only where the two
//! best candidates lie close together, and its answer is weighed, not obeyed. BENCHMARKS.md has the figures.

use crate::engine::Token;
use crate::engine::pool::Leased;
use crate::models::Role;
use crate::models::dialect::{Message, ToolText};
use crate::tools::{Ranked, ToolSpec, features};

use super::Host;
use super::asked::Asked;
use super::notation;
use super::toolkit::{Toolkit, TurnError};

const PROMPT: &str = include_str!("prompts/route.md");
/// Nats that a tool loses for having made what the step goes on from.
const MADE_IT: f32 = 3.0;
/// Candidates a model is asked about; the right tool is seldom further down.
const CANDIDATES: usize = 5;
/// Two best candidates further apart than this, in nats of retrieval, need no model.
const SURE_MARGIN: f32 = 0.6;
/// Weight of a name's log-probability beside a nat of retrieval; 0.8 was best on a development suite.
const NAME_WEIGHT: f64 = 0.8;
/// Weight of a step's. A step has many words, of which few tell tools apart; 0.15 to 0.4 were about equal on six suites.
const STEP_WEIGHT: f64 = 0.25;
/// Below this margin after the router's opinion the planner is asked too, where it is another model.
const CLOSE_MARGIN: f64 = 0.5;
/// Candidates that lie so close to the best after every opinion are as good as it: the user says which is meant.
const UNCLEAR_MARGIN: f64 = 0.15;
/// Rivals the user is shown.
const RIVALS_MAX: usize = 3;
/// Longest tool description a router is shown, in characters.
const DESCRIPTION_CHARS: usize = 160;
/// Longest step a router is shown, in characters.
const STEP_CHARS: usize = 1_200;

/// The tool a step goes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Place in the catalogue.
    pub tool: usize,
    /// Distance to the second best, squashed to 0–1.
    pub confidence: f64,
    /// The logarithm of the odds that the step needs this tool, as [`Ranked::fits`].
    pub fits: f32,
    /// Whether a model was asked.
    pub scored: bool,
    /// Candidates, best first, after every opinion.
    pub order: Vec<usize>,
    /// So many behind the best are as good as it.
    pub rivals: usize,
}

/// Whether retrieval alone decides: no model need be asked.
pub fn is_sure(ranked: &[Ranked]) -> bool {
    ranked.get(1).is_none_or(|second| ranked[0].score - second.score >= SURE_MARGIN)
}

/// The choice of a tool that worked for a step like this one, if it is among those a model would be asked about.
pub fn known(ranked: &[Ranked], is: impl Fn(usize) -> bool, confidence: f64) -> Option<Choice> {
    let place = ranked.iter().take(CANDIDATES).position(|one| is(one.index))?;
    let mut order: Vec<usize> = ranked.iter().map(|one| one.index).collect();
    order[..=place].rotate_right(1);
    Some(Choice { tool: ranked[place].index, fits: f32::INFINITY, confidence, scored: false, order, rivals: 0 })
}

/// Sets back the tools that made what a step goes on from: with a result one seldom does once more what gave it.
pub fn set_back(ranked: &mut [Ranked], made_it: impl Fn(usize) -> bool) {
    for one in ranked.iter_mut().filter(|one| made_it(one.index)) {
        one.score -= MADE_IT;
    }
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
}

/// Chooses among `ranked` (best first); `None` when there is nothing to choose from.
pub async fn choose(
    toolkit: &Toolkit,
    step: &str,
    ranked: &[Ranked],
    host: &dyn Host,
) -> Result<Option<Choice>, TurnError> {
    if ranked.is_empty() {
        return Ok(None);
    }
    let mut scores: Vec<f64> = ranked.iter().map(|one| f64::from(one.score)).collect();
    let mut scored = false;
    let tools: Vec<&ToolSpec> =
        ranked.iter().take(CANDIDATES).filter_map(|one| toolkit.catalog.specs().get(one.index)).collect();
    if !is_sure(ranked) {
        let router = toolkit.model(Role::Router, host).await?;
        let asked = Asked { toolkit, model: &router, host, phase: CHOOSING };
        // The others stay behind those a model was asked about.
        scores.truncate(tools.len());
        add(&mut scores, &opinion(asked, step, &tools).await?);
        scored = true;
        if gap(&scores) < CLOSE_MARGIN {
            let planner = toolkit.model(Role::Planner, host).await?;
            if planner.engine.model() != router.engine.model() {
                add(&mut scores, &opinion(Asked { model: &planner, ..asked }, step, &tools).await?);
            }
        }
    }
    let mut order: Vec<usize> = (0..ranked.len()).collect();
    order[..scores.len()].sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    let distance = gap(&scores);
    let close = |place: &&usize| scores[order[0]] - scores[**place] < UNCLEAR_MARGIN;
    let rivals = order.iter().skip(1).take(RIVALS_MAX).take_while(close).count();
    Ok(Some(Choice {
        tool: ranked[order[0]].index,
        fits: ranked[order[0]].fits,
        confidence: 1.0 - (-distance).exp(),
        scored,
        rivals,
        order: order.into_iter().map(|place| ranked[place].index).collect(),
    }))
}

fn add(scores: &mut [f64], opinion: &[f64]) {
    for (score, opinion) in scores.iter_mut().zip(opinion) {
        *score += opinion;
    }
}

/// Distance between the best and the second best.
fn gap(scores: &[f64]) -> f64 {
    let mut sorted = scores.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    match sorted.as_slice() {
        [first, second, ..] => first - second,
        _ => f64::INFINITY,
    }
}

/// What speaks for each tool in a model's eyes, weighed against the scores of retrieval.
async fn opinion(asked: Asked<'_>, step: &str, tools: &[&ToolSpec]) -> Result<Vec<f64>, TurnError> {
    let step = super::words::shorten(step, STEP_CHARS);
    // Of names that say nothing an opinion is noise (on a development suite it cost 6 of 100).
    if is_taught_tools(asked.model) && tools.iter().all(|tool| features::name_tells(tool)) {
        names_after(asked, &step, tools).await
    } else {
        step_after(asked, &step, tools).await
    }
}

/// How much likelier each tool's name becomes through the step: its log-probability with the step minus that without one,
/// so that names the model likes anyway gain nothing.
async fn names_after(asked: Asked<'_>, step: &str, tools: &[&ToolSpec]) -> Result<Vec<f64>, TurnError> {
    let names: Vec<Vec<Token>> = tools.iter().map(|tool| asked.tokens(&tool.name)).collect();
    let with = asked.score(prompt(asked.model, step, tools), &names).await?;
    let without = asked.score(prompt(asked.model, "", tools), &names).await?;
    Ok(with.iter().zip(&without).map(|(with, without)| NAME_WEIGHT * (with - without)).collect())
}

/// How likely the step is as a request for each tool.
async fn step_after(asked: Asked<'_>, step: &str, tools: &[&ToolSpec]) -> Result<Vec<f64>, TurnError> {
    let shown = |title: &str, about: &str| format!("Tool: {title}. {about}\nRequest:");
    let examples = REQUESTS.map(|(title, about, request)| format!("{} {request}\n\n", shown(title, about))).concat();
    let step = asked.tokens(&format!(" {step}\n"));
    let mut opinion = Vec::new();
    for tool in tools {
        let about = super::words::shorten(&tool.description, DESCRIPTION_CHARS);
        let before = format!("{REQUESTS_HEAD}{examples}{}", shown(&features::title(tool).join(" "), &about));
        let sums = asked.score(asked.tokens(&before), std::slice::from_ref(&step)).await?;
        opinion.extend(sums.iter().map(|sum| STEP_WEIGHT * sum));
    }
    Ok(opinion)
}

const REQUESTS_HEAD: &str = "Each request needs its tool.\n\n";

/// Tools with a request each that have nothing to do with any catalogue: a kitchen and a garden.
const REQUESTS: [(&str, &str, &str); 4] = [
    ("boil water", "Heat water in the kettle", "Make me some hot water for tea"),
    ("list beds", "List the beds of the garden", "Which beds do I have?"),
    ("set oven", "Set the oven to a temperature", "I want to bake at 200 degrees"),
    ("plant seed", "Put a seed into a bed", "Put tomatoes into the bed at the wall"),
];

/// What the host is told while tools are scored.
const CHOOSING: &str = "choosing a tool";

/// Everything up to where a tool's name would come next: no history, the tools where the family looks for them.
fn prompt(model: &Leased, step: &str, tools: &[&ToolSpec]) -> Vec<Token> {
    let texts: Vec<ToolText> = tools.iter().map(|tool| notation::shown(tool, DESCRIPTION_CHARS)).collect();
    let system = format!("{PROMPT}\n{}", model.dialect.tool_list(&texts));
    let prompt = model.dialect.render(&[Message::system(system), Message::user(step)]);
    model.engine.tokenize(&prompt.special(model.dialect.call_marks().0))
}

/// Whether the family was taught to call tools in a form of its own.
fn is_taught_tools(model: &Leased) -> bool {
    !matches!(model.dialect.name(), "chatml" | "plain")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_made_a_result_gives_way_to_a_near_rival_and_not_to_a_far_one() {
        let ranked = |scores: [f32; 3]| -> Vec<Ranked> {
            let one = |(index, score)| Ranked { index, score, dense: 0.0, fits: 0.0 };
            scores.into_iter().enumerate().map(one).collect()
        };
        let check = |scores, made_it: usize, expected: [usize; 3]| {
            let mut ranked = ranked(scores);
            set_back(&mut ranked, |index| index == made_it);
            assert_eq!(ranked.iter().map(|one| one.index).collect::<Vec<_>>(), expected, "{scores:?}");
        };
        check([6.0, 5.5, 1.0], 0, [1, 0, 2]);
        check([9.0, 2.0, 1.0], 0, [0, 1, 2]);
        check([6.0, 5.5, 1.0], 7, [0, 1, 2]);
    }
}
