//! Measures how well a model calls tools and plans, once per model file, with at most thirty short
//! prompts.
//!
//! Each answer is stored as it comes, so that a later turn or another process can continue. The
//! verdict is final once no open answer can change it; a free loop then asks no further prompts.

mod cases;
mod choosing;
mod tier;

use std::time::{Duration, Instant};

use crate::budget::permit::Priority;
use crate::config::TurnTime;
use crate::engine::EngineError;
use crate::models::capability::{LONG_PLAN, Measured, TOOLS_MANY};
use crate::models::dialect::{Chat, Message};
use crate::models::{ModelCapability, Role};
use crate::tools::ToolSpec;
use crate::tools::call::{self, Tier};

use super::Host;
use super::budget::{self, Pace};
use super::notation::{self, Reply};
use super::player::{Form, Output, Player};
use super::question::Question;
use super::toolkit::{Toolkit, TurnError};

pub use cases::{PLANS, TALK, TASKS, Task, tools};
pub use choosing::{chooser, chooses_well, choosing};
pub use tier::{known as known_tier, leads, tier};

const CALL_PROMPT: &str =
    "Call the one tool that does what the user asks. If no tool is needed, answer in plain words.";
const PLAN_PROMPT: &str = "Split the request into steps, one tool call each. Write one line for each step, in order, as [plan.add_step(description=\"...\")].";
/// Name of this phase in events and in the cost report.
const PHASE: &str = "measuring the model";
/// A measurement waits for all other steps and requests.
const PRIORITY: Priority = Priority::Background;
/// Maximum length of a call and of a plan, in tokens.
const CALL_TOKENS: usize = 64;
const PLAN_TOKENS: usize = 160;

/// Number of prompts that the probe asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Enough to decide whether the model may run a free loop, within the turn's time for
    /// measurements.
    Gate,
    Whole,
}

/// The capability of a free loop's model, with its measurements: the user's setting, else the
/// stored measurement of its file, else a new short probe.
pub async fn capability(
    toolkit: &Toolkit,
    model: &Player,
    host: &dyn Host,
) -> Result<(ModelCapability, Measured), TurnError> {
    let known = known(toolkit, model);
    if model.is_declared() {
        return Ok((model.capability(), known));
    }
    let measured = measure(toolkit, model, Depth::Gate, known, host).await?;
    Ok((judged(model, &measured), measured))
}

/// The planner's capability without a probe; weak if the model is not available.
pub fn capability_at_hand(toolkit: &Toolkit) -> ModelCapability {
    let Some(model) = toolkit.at_hand(Role::Planner) else { return ModelCapability::weak() };
    if model.is_declared() { model.capability() } else { judged(&model, &known(toolkit, &model)) }
}

/// The capability from measurements, else from the model's size.
fn judged(model: &Player, measured: &Measured) -> ModelCapability {
    match measured.capable() {
        Some(true) => ModelCapability::capable(model.context()),
        Some(false) => ModelCapability::weak(),
        None => model.capability(),
    }
}

/// All measurements for a model of this role, each as its first use would make it; known answers
/// are asked for again only if `again`.
pub async fn whole(toolkit: &Toolkit, role: Role, again: bool, host: &dyn Host) -> Result<Measured, TurnError> {
    let model = toolkit.model(role, host).await?;
    let toolkit = &Toolkit { time: TurnTime::Unlimited, ..toolkit.clone() };
    let before = known(toolkit, &model);
    let measured = parts(toolkit, &model, if again { Measured::default() } else { before.clone() }, host).await;
    if again && measured.is_err() {
        // Answers were stored as they came, so restore the earlier measurement.
        keep(toolkit, &model, &before);
    }
    measured
}

/// All measurements that apply to the model's role.
async fn parts(toolkit: &Toolkit, model: &Player, found: Measured, host: &dyn Host) -> Result<Measured, TurnError> {
    let mut all = measure(toolkit, model, Depth::Whole, found, host).await?;
    all = choosing::measure(toolkit, model, all, host).await?;
    // These roles carry out requests.
    if matches!(model.role(), Role::Planner | Role::Quick | Role::Thinker) {
        all = tier::measure(toolkit, model, all, host).await?;
    }
    Ok(all)
}

/// Asks the prompts that are still open in `found`, one by one, and stores each answer for the
/// model file. A gate ends with the verdict, or when the turn's time for measurements is used up.
pub async fn measure(
    toolkit: &Toolkit,
    model: &Player,
    depth: Depth,
    mut found: Measured,
    host: &dyn Host,
) -> Result<Measured, TurnError> {
    let before = found.prompts;
    while let Some(prompt) = next(&found, depth) {
        if !has_time(toolkit, model) {
            // If no prompt was asked, the user has already been informed.
            if found.prompts > before {
                tell_undecided(model, host);
            }
            break;
        }
        let started = Instant::now();
        Asked { toolkit, model, host }.answer(prompt, &mut found).await?;
        found.prompts += 1;
        found.wall_ms += started.elapsed().as_millis() as u64;
        keep(toolkit, model, &found);
    }
    Ok(found)
}

/// One prompt of the probe.
enum Prompt {
    /// A task with this number of tools.
    Task(&'static Task, usize),
    Talk(&'static str),
    Plan(&'static str, usize),
    /// The same task inside a grammar.
    Grammar(&'static Task, usize),
}

/// The next prompt: the first unanswered one of the first undecided kind; `None` if nothing is
/// open. Each list of tools begins with the shorter list, so that prompts share a prefix.
fn next(found: &Measured, depth: Depth) -> Option<Prompt> {
    let is_whole = depth == Depth::Whole;
    if !is_whole && found.capable().is_some() {
        return None;
    }
    let tasks = |(count, tasks): &'static (usize, [Task; 4])| {
        let asked = found.selection.get(count).map_or(0, |share| share.of);
        tasks.get(asked).map(|task| Prompt::Task(task, *count))
    };
    let plans = |(count, requests): &(usize, [&'static str; 2])| {
        let asked = found.plans.get(count).map_or(0, |share| share.of);
        requests.get(asked).copied().map(|request| Prompt::Plan(request, *count))
    };
    let is_open = |verdict: Option<bool>| is_whole || verdict.is_none();
    let (few, all): (Vec<_>, Vec<_>) = TASKS.iter().partition(|(count, _)| *count <= TOOLS_MANY);
    let calls = |groups: Vec<_>| groups.into_iter().find_map(tasks).filter(|_| is_open(found.calls()));
    let talk = || TALK.get(found.restraint.of).copied().map(Prompt::Talk).filter(|_| is_open(found.restrains()));
    let long =
        || PLANS.iter().filter(|(count, _)| *count == LONG_PLAN).find_map(plans).filter(|_| is_open(found.plans()));
    let tried = || {
        let again = TASKS.iter().filter(|(count, _)| *count <= TOOLS_MANY);
        let mut again = again.flat_map(|(count, tasks)| tasks.iter().map(move |task| Prompt::Grammar(task, *count)));
        again.nth(found.grammar.of)
    };
    let gate = calls(few).or_else(talk).or_else(|| calls(all)).or_else(long);
    gate.or_else(|| is_whole.then(|| tried().or_else(|| PLANS.iter().find_map(plans))).flatten())
}

/// The stored results of a model, else the results that it was loaded with.
fn known(toolkit: &Toolkit, model: &Player) -> Measured {
    remembered(toolkit, model.role()).or_else(|| model.measured().cloned()).unwrap_or_default()
}

/// The stored results for the model file of a role.
fn remembered(toolkit: &Toolkit, role: Role) -> Option<Measured> {
    Measured::remembered(toolkit.pool.capabilities()?, &toolkit.fingerprint(role)?)
}

/// Stores the results so far for the model file.
fn keep(toolkit: &Toolkit, model: &Player, found: &Measured) {
    let Some((folder, name)) = toolkit.pool.capabilities().zip(toolkit.fingerprint(model.role())) else { return };
    if let Err(error) = found.remember(folder, &name) {
        tracing::warn!(%error, "the measurements could not be stored");
    }
}

/// Whether the turn has time for another prompt; there is always time for a first one.
fn has_time(toolkit: &Toolkit, model: &Player) -> bool {
    let calls = toolkit.meter.usage().calls;
    let of_probe = calls.iter().filter(|call| call.phase == PHASE && call.role == model.role().to_string());
    let spent = of_probe.map(|call| call.queue_ms + call.prompt_ms + call.decode_ms).sum();
    budget::measuring(Pace::of(toolkit, model)).is_none_or(|most| Duration::from_millis(spent) <= most)
}

fn tell_undecided(model: &Player, host: &dyn Host) {
    host.notice(&format!(
        "{} is slow, or the machine is busy: its measurement is unfinished; the next turn continues it",
        model.name()
    ));
}

/// The model to ask.
#[derive(Clone, Copy)]
struct Asked<'a> {
    toolkit: &'a Toolkit,
    model: &'a Player,
    host: &'a dyn Host,
}

impl Asked<'_> {
    /// Asks one prompt and adds to `found` whether the answer is correct.
    async fn answer(self, prompt: Prompt, found: &mut Measured) -> Result<(), TurnError> {
        match prompt {
            Prompt::Task(task, count) => {
                let tools = tools(count);
                let (output, is_strict) = self.call(task.task, &tools, false).await?;
                found.format.add(is_strict);
                found.selection.entry(count).or_default().add(is_right(&output, task, &tools));
            }
            Prompt::Grammar(task, count) => {
                let tools = tools(count);
                found.grammar.add(match self.call(task.task, &tools, true).await {
                    Ok((output, _)) => is_right(&output, task, &tools),
                    // The call marks may not be tokens of this model file, which makes a grammar
                    // impossible.
                    Err(TurnError::Engine(EngineError::Grammar(_))) => false,
                    Err(error) => return Err(error),
                });
            }
            Prompt::Talk(text) => {
                let tools = tools(TOOLS_MANY);
                let (output, _) = self.call(text, &tools, false).await?;
                let called = !output.read(&tools, Tier::Lenient).calls.is_empty();
                found.restraint.add(!called && !output.text.trim().is_empty());
            }
            Prompt::Plan(request, count) => {
                let messages = [Message::system(PLAN_PROMPT), Message::user(request)];
                let text = self.ask(&messages, PLAN_TOKENS, Form::Free).await?.text;
                let steps = text.lines().filter(|line| line.trim_start().starts_with("[plan.add_step(")).count();
                found.plans.entry(count).or_default().add(steps == count);
            }
        }
        Ok(())
    }

    /// The reply to a task, and whether it is a valid call in the notation of the model's family.
    async fn call(self, task: &str, tools: &[ToolSpec], grammar: bool) -> Result<(Output, bool), TurnError> {
        let texts: Vec<_> = tools.iter().map(|tool| notation::shown(tool, notation::WHOLE)).collect();
        let messages = [Message::system(CALL_PROMPT), Message::user(task)];
        let chat = Chat { tools: &texts, ..Chat::from(&messages) };
        let form = if grammar { Form::Call(Reply::Either) } else { Form::Free };
        let output = self.ask(chat, CALL_TOKENS, form).await?;
        let reading = output.read(tools, Tier::Lenient);
        let known = reading.calls.first().is_some_and(|raw| call::check(raw, tools).is_ok());
        Ok((output, known && reading.tier == Some(Tier::Strict)))
    }

    async fn ask(self, chat: impl Into<Chat<'_>>, tokens: usize, form: Form) -> Result<Output, TurnError> {
        let Asked { toolkit, model, host } = self;
        Question { toolkit, model, host, phase: PHASE, priority: PRIORITY }.output(chat, tokens, form).await
    }
}

fn is_right(output: &Output, task: &Task, tools: &[ToolSpec]) -> bool {
    let calls = output.read(tools, Tier::Lenient).calls;
    let checked = calls.first().and_then(|raw| call::check(raw, tools).ok());
    checked.is_some_and(|checked| task.is_done_by(&checked.call))
}
