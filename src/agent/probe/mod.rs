//! Measures how well a model calls tools and plans, with thirty short prompts, once per model file.
//!
//! Before a free loop only as many are asked as it takes to decide whether the model may run one.

mod cases;
mod choosing;
mod tier;

use std::time::{Duration, Instant};

use crate::budget::permit::Priority;
use crate::engine::EngineError;
use crate::models::capability::Measured;
use crate::models::dialect::{Chat, Message};
use crate::models::{ModelCapability, Role};
use crate::tools::ToolSpec;
use crate::tools::call::{self, Tier};

use super::Host;
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
/// A measurement waits for every step and request of others.
const PRIORITY: Priority = Priority::Background;
/// Longest call and plan, in tokens.
const CALL_TOKENS: usize = 64;
const PLAN_TOKENS: usize = 160;
/// Time limits of a probe: on the way to an answer, and when the user asked for the probe.
const GATE_TIME: Duration = Duration::from_secs(20);
const WHOLE_TIME: Duration = Duration::from_secs(300);

/// How many prompts are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// As many as it takes to decide whether the model may run a free loop.
    Gate,
    Whole,
}

/// The capability of a free loop's model, with its measurements: what the user set, else what was measured earlier for its file, else
/// what a short probe measures now.
pub async fn capability(
    toolkit: &Toolkit,
    model: &Player,
    host: &dyn Host,
) -> Result<(ModelCapability, Option<Measured>), TurnError> {
    if model.is_declared() || model.measured().is_some() {
        return Ok((model.capability(), model.measured().cloned()));
    }
    let remembered = remembered(toolkit, model.role());
    let measured = match remembered {
        Some(measured) if !measured.undecided => measured,
        _ => measure(toolkit, model, Depth::Gate, host).await?,
    };
    let capability = match measured.capable() {
        Some(true) => ModelCapability::capable(model.context()),
        Some(false) => ModelCapability::weak(),
        None => model.capability(),
    };
    Ok((capability, Some(measured)))
}

/// All that a model of this role is measured by, each part as its first use measures it; what is known already is asked again only if `again`.
pub async fn whole(toolkit: &Toolkit, role: Role, again: bool, host: &dyn Host) -> Result<Measured, TurnError> {
    let model = toolkit.model(role, host).await?;
    let known = remembered(toolkit, role).or_else(|| model.measured().cloned());
    let mut all = known.filter(|_| !again).unwrap_or_default();
    if !all.complete {
        let calls = measure(toolkit, &model, Depth::Whole, host).await?;
        all = Measured { choosing: all.choosing, reading: all.reading, writing: all.writing, ..calls };
    }
    if !all.choosing.is_known() {
        all.choosing = choosing::measure(toolkit, &model, host).await?;
    }
    // These roles carry requests out.
    if matches!(role, Role::Planner | Role::Quick | Role::Thinker) && all.tier().is_none() {
        let found = tier::measure(toolkit, &model, host).await?;
        (all.reading, all.writing) = (found.reading, found.writing);
    }
    Ok(all)
}

/// Asks the prompts and keeps the result for the model file. A gate that ran out of time before goes on where it ended.
pub async fn measure(toolkit: &Toolkit, model: &Player, depth: Depth, host: &dyn Host) -> Result<Measured, TurnError> {
    let started = Instant::now();
    let time = if depth == Depth::Gate { GATE_TIME } else { WHOLE_TIME };
    let before = remembered(toolkit, model.role()).filter(|before| before.undecided && depth == Depth::Gate);
    let found = before.unwrap_or_default();
    let (known, spent) = (found.prompts, found.wall_ms);
    let mut probe = Probe { toolkit, model, host, depth, until: started + time, known, found };
    let complete = probe.run().await?;
    let mut found = probe.found;
    (found.complete, found.wall_ms) = (complete && depth == Depth::Whole, spent + started.elapsed().as_millis() as u64);
    let is_undecided = found.undecided && depth == Depth::Gate;
    if is_undecided {
        host.notice(&format!(
            "{} is slow, or the machine is busy: {} prompts measured it so far, and the next turn goes on",
            model.name(),
            found.prompts
        ));
    }
    let cut = found.capable().is_none() && !is_undecided;
    Ok(keep(toolkit, model, host, cut, |all| {
        *all = Measured { choosing: all.choosing, reading: all.reading, writing: all.writing, ..found }
    }))
}

/// Returns the earlier results for the model file of a role: those of this run, though time cut them, else the stored ones.
fn remembered(toolkit: &Toolkit, role: Role) -> Option<Measured> {
    let fingerprint = toolkit.fingerprint(role)?;
    toolkit.pool.unfinished(&fingerprint).or_else(|| stored(toolkit, &fingerprint))
}

fn stored(toolkit: &Toolkit, fingerprint: &str) -> Option<Measured> {
    Measured::remembered(toolkit.pool.capabilities()?, fingerprint)
}

/// Puts a new result beside what other probes measured, and returns all. A result that time `cut` says as much of the machine as of the
/// model: it counts until the program ends, and the user gets a notice. Any other is stored.
fn keep(toolkit: &Toolkit, model: &Player, host: &dyn Host, cut: bool, put: impl FnOnce(&mut Measured)) -> Measured {
    let fingerprint = toolkit.fingerprint(model.role());
    let name = fingerprint.as_deref();
    let before = if cut { remembered(toolkit, model.role()) } else { name.and_then(|name| stored(toolkit, name)) };
    let mut all = before.unwrap_or_default();
    put(&mut all);
    if cut {
        host.notice(&format!(
            "{} was too slow to be measured to the end, or the machine is busy: what was found counts for this run, and the next one \
             measures again",
            model.name()
        ));
    }
    let Some(name) = name else { return all };
    toolkit.pool.set_unfinished(name, cut.then(|| all.clone()));
    if let Some(folder) = toolkit.pool.capabilities().filter(|_| !cut)
        && let Err(error) = all.remember(folder, name)
    {
        tracing::warn!(%error, "what was measured is not remembered");
    }
    all
}

struct Probe<'a> {
    toolkit: &'a Toolkit,
    model: &'a Player,
    host: &'a dyn Host,
    depth: Depth,
    until: Instant,
    /// Prompts of an earlier gate, whose answers are in `found`: they are passed over.
    known: usize,
    found: Measured,
}

impl Probe<'_> {
    /// Asks everything. False if it ended early, because time was up or the decision was clear.
    async fn run(&mut self) -> Result<bool, TurnError> {
        let mut left: usize = TASKS.iter().map(|(_, tasks)| tasks.len()).sum();
        for (count, tasks) in &TASKS {
            let tools = tools(*count);
            for task in tasks {
                if self.is_known() {
                    left -= 1;
                    continue;
                }
                if self.is_over(left) {
                    return Ok(false);
                }
                let right = self.task(task, &tools).await?;
                self.found.selection.entry(*count).or_default().add(right);
                left -= 1;
                if self.depth == Depth::Whole && *count < TASKS[2].0 {
                    self.found.free.add(right);
                    let right = match self.call(task.task, &tools, true).await {
                        Ok((output, _)) => self.is_right(&output, task, &tools),
                        // The call marks may be no tokens of this model file; then no grammar is possible.
                        Err(TurnError::Engine(EngineError::Grammar(_))) => false,
                        Err(error) => return Err(error),
                    };
                    self.found.grammar.add(right);
                }
            }
        }
        let tools = tools(TASKS[0].0);
        for talk in TALK {
            if self.is_known() {
                continue;
            }
            if self.is_over(0) {
                return Ok(false);
            }
            let (output, _) = self.call(talk, &tools, false).await?;
            let called = !output.read(&tools, Tier::Lenient).calls.is_empty();
            self.found.restraint.add(!called && !output.text.trim().is_empty());
        }
        for (count, requests) in &PLANS {
            for request in requests {
                if self.is_known() {
                    continue;
                }
                if self.is_over(0) {
                    return Ok(false);
                }
                let messages = [Message::system(PLAN_PROMPT), Message::user(*request)];
                let text = self.ask(&messages, PLAN_TOKENS, Form::Free).await?.text;
                let steps = text.lines().filter(|line| line.trim_start().starts_with("[plan.add_step(")).count();
                self.found.plans.entry(*count).or_default().add(steps == *count);
            }
            // A model that plans four steps also plans one, so the gate does not ask the shorter ones.
            if self.depth == Depth::Gate {
                break;
            }
        }
        Ok(true)
    }

    /// Whether the next prompt was answered in an earlier gate, which asks one prompt a task.
    fn is_known(&mut self) -> bool {
        let is_known = self.known > 0;
        self.known = self.known.saturating_sub(1);
        is_known
    }

    /// Whether time is up, or the gate's decision is clear whatever the `left` tasks bring. If time ends it before that, the slow
    /// model is not called weak: its tier stays undecided.
    fn is_over(&mut self, left: usize) -> bool {
        let (late, lost) = (Instant::now() >= self.until, self.found.is_lost(left));
        self.found.undecided = late && !lost;
        late || (self.depth == Depth::Gate && lost)
    }

    async fn task(&mut self, task: &Task, tools: &[ToolSpec]) -> Result<bool, TurnError> {
        let (output, strict) = self.call(task.task, tools, false).await?;
        self.found.format.add(strict);
        Ok(self.is_right(&output, task, tools))
    }

    fn is_right(&self, output: &Output, task: &Task, tools: &[ToolSpec]) -> bool {
        let calls = output.read(tools, Tier::Lenient).calls;
        let checked = calls.first().and_then(|raw| call::check(raw, tools).ok());
        checked.is_some_and(|checked| task.is_done_by(&checked.call))
    }

    /// The reply to a task, and whether it is a valid call in the notation of the model's family.
    async fn call(&mut self, task: &str, tools: &[ToolSpec], grammar: bool) -> Result<(Output, bool), TurnError> {
        let texts: Vec<_> = tools.iter().map(|tool| notation::shown(tool, notation::WHOLE)).collect();
        let messages = [Message::system(CALL_PROMPT), Message::user(task)];
        let chat = Chat { tools: &texts, ..Chat::from(&messages) };
        let form = if grammar { Form::Call(Reply::Either) } else { Form::Free };
        let output = self.ask(chat, CALL_TOKENS, form).await?;
        let reading = output.read(tools, Tier::Lenient);
        let known = reading.calls.first().is_some_and(|raw| call::check(raw, tools).is_ok());
        Ok((output, known && reading.tier == Some(Tier::Strict)))
    }

    async fn ask(&mut self, chat: impl Into<Chat<'_>>, tokens: usize, form: Form) -> Result<Output, TurnError> {
        self.found.prompts += 1;
        let (toolkit, model, host) = (self.toolkit, self.model, self.host);
        let question = Question { toolkit, model, host, phase: PHASE, priority: PRIORITY };
        question.output(chat, tokens, form).await
    }
}
