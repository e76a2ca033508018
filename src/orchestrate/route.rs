//! Picks the tool for one step: retrieval first, the router's opinion where retrieval is not sure.
//!
//! Measured on a development suite of 83 tools with the small default: retrieval alone puts the right tool first in
//! 79 of 100 cases; the 135M router's scores alone in 46, added to retrieval in 82. So the model is asked only where
//! the two best candidates lie close together, and its answer is weighed, not obeyed.

use std::time::{Duration, Instant};

use crate::budget::permit::Priority;
use crate::engine::pool::Leased;
use crate::engine::{Engine, Token};
use crate::models::Role;
use crate::models::dialect::{Message, Prompt, ToolText};
use crate::protocol::Event;
use crate::tools::{Ranked, ToolSpec, features};

use super::Host;
use super::notation;
use super::toolkit::{Toolkit, TurnError};

const PROMPT: &str = include_str!("prompts/route.md");
/// Candidates a model is asked about; the right tool is seldom further down.
const CANDIDATES: usize = 5;
/// Two best candidates further apart than this, in standard deviations of retrieval, need no model.
const SURE_MARGIN: f32 = 0.6;
/// Weight of a model's log-probability beside a standard deviation of retrieval; 0.8 was best on a development suite.
const OPINION_WEIGHT: f64 = 0.8;
/// Below this margin after the router's opinion the planner is asked too, where it is another model.
const CLOSE_MARGIN: f64 = 0.5;
/// Candidates that lie so close to the best after every opinion are as good as it: the user says which is meant.
const UNCLEAR_MARGIN: f64 = 0.15;
/// Rivals the user is shown.
const RIVALS_MAX: usize = 3;
/// A silent model is reported after this time, and every time it passes again.
const BEAT: Duration = Duration::from_secs(1);
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
    // A model judges names: of names that say nothing its opinion is noise (on a development suite it cost 6 of 100).
    if !is_sure(ranked) && tools.iter().all(|tool| features::name_tells(tool)) {
        let router = toolkit.model(Role::Router, host).await?;
        add(&mut scores, &opinion(toolkit, &router, step, &tools, host).await?);
        scored = true;
        if gap(&scores) < CLOSE_MARGIN {
            let planner = toolkit.model(Role::Planner, host).await?;
            if planner.engine.model() != router.engine.model() {
                add(&mut scores, &opinion(toolkit, &planner, step, &tools, host).await?);
            }
        }
    }
    let mut order: Vec<usize> = (0..ranked.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
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
        *score += OPINION_WEIGHT * opinion;
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

/// How much likelier each tool's name becomes through the step, in nats a token: its log-probability with the step
/// minus that without one, so that names the model likes anyway gain nothing.
async fn opinion(
    toolkit: &Toolkit,
    model: &Leased,
    step: &str,
    tools: &[&ToolSpec],
    host: &dyn Host,
) -> Result<Vec<f64>, TurnError> {
    let names: Vec<Vec<Token>> = tools.iter().map(|tool| name_tokens(&model.engine, &tool.name)).collect();
    let with = score(toolkit, model, prompt(model, step, tools), &names, host).await?;
    let without = score(toolkit, model, prompt(model, "", tools), &names, host).await?;
    Ok(with.iter().zip(&without).map(|(with, without)| with - without).collect())
}

/// What the host is told while names are scored.
const CHOOSING: &str = "choosing a tool";

fn name_tokens(engine: &Engine, name: &str) -> Vec<Token> {
    engine.tokenize(&Prompt::default().text(name))
}

async fn score(
    toolkit: &Toolkit,
    model: &Leased,
    prompt: Vec<Token>,
    names: &[Vec<Token>],
    host: &dyn Host,
) -> Result<Vec<f64>, TurnError> {
    let from = Instant::now();
    let scoring = model.engine.score(prompt, names.to_vec(), Priority::Step);
    tokio::pin!(scoring);
    let scores = loop {
        tokio::select! {
            scores = &mut scoring => break scores?,
            () = super::toolkit::cancelled(&toolkit.cancel) => return Err(TurnError::Cancelled),
            () = tokio::time::sleep(BEAT) => {
                let waited_ms = from.elapsed().as_millis() as u64;
                host.emit(Event::Pulse { phase: CHOOSING.to_owned(), waited_ms });
            }
        }
    };
    toolkit.meter.add(model, CHOOSING, &scores.tally);
    Ok(scores.sums)
}

/// Everything up to where a tool's name would come next.
fn prompt(model: &Leased, step: &str, tools: &[&ToolSpec]) -> Vec<Token> {
    let texts: Vec<ToolText> = tools.iter().map(|tool| notation::shown(tool, DESCRIPTION_CHARS)).collect();
    let mut prompt = model.dialect.render(&messages(model, &texts, step));
    if is_taught_tools(model) {
        prompt = prompt.special(model.dialect.call_marks().0);
    }
    model.engine.tokenize(&prompt)
}

/// Whether the family was taught to call tools in a form of its own.
fn is_taught_tools(model: &Leased) -> bool {
    model.dialect.name().starts_with("lfm")
}

/// A clean prompt for one step: no history, the tools as text. Families with a place for tools get them in the system
/// message; the others in the user's message, after two worked examples.
fn messages(model: &Leased, tools: &[ToolText], step: &str) -> Vec<Message> {
    let step = super::words::shorten(step, STEP_CHARS);
    if is_taught_tools(model) {
        let system = format!("{PROMPT}\n{}", model.dialect.tool_list(tools));
        return vec![Message::system(system), Message::user(step)];
    }
    let mut messages = vec![Message::system(PROMPT.trim())];
    for (list, task, name) in EXAMPLES {
        messages.push(Message::user(format!("Tools:\n{list}\nTask: {task}")));
        messages.push(Message::assistant(*name));
    }
    messages.push(Message::user(format!("Tools:\n{}\nTask: {step}", list(tools))));
    messages
}

/// Two examples that have nothing to do with any catalogue: a kitchen and a garden.
const EXAMPLES: &[(&str, &str, &str)] = &[
    (
        "1. boil_water: Heat water in the kettle\n2. set_oven: Set the oven to a temperature\n3. read_recipe: Read a recipe aloud",
        "How do I make pancakes?",
        "read_recipe",
    ),
    (
        "1. water_plants: Water the plants in a bed\n2. list_beds: List the beds of the garden\n3. plant_seed: Put a seed into a bed",
        "Which beds do I have?",
        "list_beds",
    ),
];

fn list(tools: &[ToolText]) -> String {
    let lines: Vec<String> =
        tools.iter().enumerate().map(|(n, tool)| format!("{}. {}: {}", n + 1, tool.name, tool.description)).collect();
    lines.join("\n")
}
