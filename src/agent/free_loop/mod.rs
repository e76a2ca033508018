//! The single-model loop: one model calls tools until it answers.
//!
//! This loop is the plain mode, and it takes over if a phase of the orchestrated path cannot
//! continue. It then works on that path's plan with its evidence, and repeats no call.

mod ending;
pub mod offer;
mod prompt;
mod watch;

use serde_json::{Map, Value};

use crate::base::StepId;
use crate::engine::Finish;
use crate::engine::slot::Reuse;
use crate::language::words;
use crate::models::dialect::{Chat, Message, RawCall};
use crate::models::{self, ModelCapability};
use crate::protocol::{Event, Mode, Stall, StepState, StepStatus};
use crate::request::{Kind, Step};
use crate::tools::ToolSpec;
use crate::tools::call::check::{self, Repair};
use crate::tools::call::{self, Tier};

use super::budget::{Pace, Weak};
use super::call::from_sources;
use super::evidence::Evidence;
use super::execute::{self, Scene};
use super::graph::Transitions;
use super::lessons::Memory;
use super::notation::Reply;
use super::plan::Plan;
use super::player::{Form, Output, Player, Query};
use super::toolkit::{Toolkit, TurnError};
use super::{conversation, probe, whole};
use offer::{LoopRights, RankedTools};
use watch::{Open, ReplyCalls, ReplyWithoutCall, Verdict, Watch};

/// The input of a loop.
pub struct Task<'a> {
    pub model: Player,
    /// Whether calls are generated under a grammar because that was measured to help.
    pub constrained: bool,
    pub plan: &'a Plan,
    pub evidence: &'a mut Evidence,
    /// Number of earlier results, before those that the opening shows in full.
    pub known: usize,
    /// The reason why the orchestrated path stopped; empty in plain mode.
    pub trouble: &'a str,
    /// Each iteration consumes one.
    pub transitions: &'a mut Transitions,
}

/// Runs the loop. Returns the model's last reply if it was not cut off.
pub async fn run(scene: Scene<'_>, task: Task<'_>) -> Result<Option<String>, TurnError> {
    let Task { model, constrained, plan, evidence, known, trouble, transitions } = task;
    let capability = transitions.capability;
    let Scene { toolkit, request, host, .. } = scene;
    let capable = capability.supports_advanced_orchestration;
    // A model that was not measured as able to write changes may not change files in a loop.
    let reads = capable && probe::tier(toolkit, host).await? < models::Tier::Writes;
    let rights = offer::rights(capable, if reads { Mode::Chat } else { toolkit.mode });
    let vector = toolkit.vector(&toolkit.prefilter.without_values(request.shown())).await;
    let acts = Kind::of(&request.parts()) != Kind::Ask;
    let changes = acts && rights.mode == Mode::Agent;
    if acts && !changes {
        host.notice(&ending::why_not(toolkit.mode, &model, probe::known_tier(toolkit), trouble));
    }
    let limits = Weak::of(Pace::of(toolkit, &model));
    let mut opening = prompt::opening(request.shown(), plan, (evidence, known), trouble, &limits);
    if let Some(known) = prompt::background(toolkit, &model, request.shown(), vector.as_deref(), &limits) {
        opening.push_str(&format!("\n\nFrom the project:\n{known}"));
    }
    let shelf = RankedTools::of(toolkit, request.shown(), vector.as_deref(), changes, rights);
    let memory = Memory::of(toolkit, plan, evidence).await;
    let allows = |spec: &ToolSpec| shelf.allows(spec, &watch::Offer::All);
    let lessons_text = memory.as_ref().and_then(|memory| memory.told(allows, toolkit, host));
    opening.push_str(&lessons_text.unwrap_or_default());
    let mut this = Loop {
        scene,
        plan,
        evidence,
        transitions,
        shelf,
        model,
        capability,
        limits,
        constrained,
        rights,
        changes,
        watch: Watch::default(),
        messages: vec![Message::system(String::new())],
        request_at: 1,
    };
    let conversation = conversation::messages(&toolkit.earlier, &this.model);
    this.messages.extend(conversation);
    this.request_at = this.messages.len();
    this.messages.push(Message::user(opening));
    let (ended, last_words) = this.turn().await?;
    // Chat mode records no lessons: a loop that may only read makes other calls than one that may
    // act.
    if let Some(memory) = memory.filter(|_| rights.mode == Mode::Agent) {
        memory.learn(toolkit, this.evidence, |_| true).await;
    }
    if let Some(stall) = ended {
        this.end_well(stall, trouble.is_empty()).await?;
    }
    Ok(last_words)
}

/// The reason why it is uncertain whether the model meant a call.
enum Doubt {
    /// The reply was cut off; the text states where.
    Cut(String),
    /// The call is in a notation that the model's family does not use.
    Notation,
}

/// One run of the loop.
struct Loop<'a> {
    scene: Scene<'a>,
    plan: &'a Plan,
    evidence: &'a mut Evidence,
    transitions: &'a mut Transitions,
    shelf: RankedTools,
    model: Player,
    capability: ModelCapability,
    limits: Weak,
    /// Whether calls are generated under a grammar because that was measured to help.
    constrained: bool,
    rights: LoopRights,
    /// Whether the request asks for a change or a command that the loop may carry out.
    changes: bool,
    watch: Watch,
    messages: Vec<Message>,
    /// Index of the request in `messages`, after earlier turns.
    request_at: usize,
}

impl<'a> Loop<'a> {
    /// Iterates until the model gives its last reply or stalls. Returns the stall, if any, and the
    /// reply, if it is complete.
    async fn turn(&mut self) -> Result<(Option<Stall>, Option<String>), TurnError> {
        let most = self.scene.toolkit.iterations_max.unwrap_or(self.capability.recommended_max_iterations);
        for iteration in 1..=most {
            if !self.transitions.spend() {
                break;
            }
            self.watch.iteration = iteration;
            let offered = self.shelf.offered(self.scene.toolkit, &self.watch.offer);
            let reply = self.reply(&offered).await?;
            let toolkit = self.scene.toolkit;
            let until = if toolkit.cognitive.fallback_parsing { Tier::Lenient } else { Tier::Strict };
            let reading = reply.read(toolkit.catalog.specs(), until);
            self.messages.push(reply.replied(&reading));
            let silent = reading.calls.is_empty();
            let cut = whole::why_cut(&reply);
            if let Some(why) = cut.as_ref().filter(|_| silent && self.changes) {
                self.scene.host.notice(&format!("the model's reply was incomplete, {why}: none of it was carried out"));
            }
            let verdict = if silent {
                let silence = ReplyWithoutCall {
                    text: &reply.text,
                    patterns: call::textual_patterns(&reply.text),
                    circles: reply.finish == Finish::Repetition,
                };
                let open = self.open();
                self.watch.silent(silence, still_open(self.scene.toolkit, &open))
            } else {
                let textual = if reading.is_certain() { 0 } else { reading.calls.len() };
                let doubt = cut.clone().map(Doubt::Cut).or((!reading.is_certain()).then_some(Doubt::Notation));
                let batch = ReplyCalls { textual, ..self.calls(reading.calls, doubt).await? };
                let open = self.open();
                self.watch.called(&batch, still_open(self.scene.toolkit, &open))
            };
            self.report();
            match verdict {
                Verdict::Go => {}
                Verdict::Done => return Ok((None, last_words(reply))),
                Verdict::End(stall) => return Ok((Some(stall), last_words(reply).filter(|_| silent))),
                Verdict::Say(stall, remedy) => {
                    let example = prompt::example(&self.model, &offer::texts(&offered));
                    let open = self.open();
                    let text = prompt::correction(stall, remedy, self.changes, &open, &example, self.limits.open);
                    let cut = cut.filter(|_| silent).map(|why| prompt::cut_short(&why)).unwrap_or_default();
                    self.messages.push(Message::user(format!("{cut}{text}")));
                }
            }
        }
        Ok((Some(self.watch.exhausted()), None))
    }

    /// Steps that are not done and that this loop may carry out.
    fn open(&self) -> Vec<&'a Step> {
        let mut open = offer::open(self.plan, self.evidence);
        open.retain(|step| self.rights.mode == Mode::Agent || !offer::executes(step));
        open
    }

    /// Generates one reply, under a grammar if that helps this model.
    async fn reply(&mut self, offered: &[&ToolSpec]) -> Result<Output, TurnError> {
        let (model, capability, tools) = (&self.model, self.capability, offer::texts(offered));
        self.messages[0] = Message::system(prompt::system(self.changes, self.rights.short));
        let reply = if capability.supports_complex_reasoning { self.limits.reply } else { self.limits.small_reply };
        let context = self.scene.toolkit.context_of(model).min(capability.max_context_tokens);
        let thinks = self.scene.toolkit.switch(model);
        let count =
            |messages: &[Message]| model.count_chat(Chat { messages, tools: &tools, thinks, ..Chat::default() });
        prompt::make_room(&mut self.messages, &mut self.request_at, context, reply, &count);
        let chat = Chat { tools: &tools, thinks, ..Chat::from(&self.messages) };
        let free = Query {
            sampling: self.scene.toolkit.manner(model),
            reuse: Reuse::Continue,
            repeats: true,
            ..Query::of(chat, reply)
        };
        let Scene { toolkit, host, .. } = self.scene;
        let mut output = if self.constrained {
            let query = Query { form: Form::Call(Reply::Either), ..free };
            // A grammar that does not compile is not tried again in this loop.
            let (output, held) = toolkit.ask_inside(model, query, "thinking", host).await?;
            self.constrained = held;
            output
        } else {
            toolkit.ask(model, free, "thinking", host).await?
        };
        output.text = prompt::without_reasoning(&output.text, |thought| {
            host.emit(Event::Thinking { text: thought.to_owned() });
        });
        Ok(output)
    }

    /// Runs the calls of one reply and adds a message with the result of each. If there is a
    /// `doubt`, only calls that change nothing run.
    async fn calls(&mut self, calls: Vec<RawCall>, doubt: Option<Doubt>) -> Result<ReplyCalls, TurnError> {
        let mut batch = ReplyCalls { calls: calls.len(), ..ReplyCalls::default() };
        for raw in calls {
            let mut result = match check::check(&raw, self.scene.toolkit.catalog.specs()) {
                Err(problem) => problem.to_string(),
                Ok(checked) => {
                    let spec = self.scene.toolkit.catalog.get(&checked.call.tool);
                    match spec.filter(|spec| self.shelf.allows(spec, &self.watch.offer)) {
                        None => format!("`{}` is not offered now; use one of the listed tools", checked.call.tool),
                        Some(spec) => match self.refusal(&checked, spec, doubt.as_ref()) {
                            Some(why) => why,
                            None => self.grounded(checked, spec, &mut batch).await?,
                        },
                    }
                }
            };
            if self.changes && batch.executed == 0 && self.watch.reading_calls + batch.usable >= watch::NUDGE_AFTER {
                result.push_str(&format!("\n{}", prompt::HINT));
            }
            self.messages.push(Message::tool(result));
        }
        Ok(batch)
    }

    /// The message to the model if a call that may change something is not run; the user also gets
    /// a notice. A call that is incomplete, or that has arguments unknown to the tool, could change
    /// something unintended.
    fn refusal(&self, checked: &check::Checked, spec: &ToolSpec, doubt: Option<&Doubt>) -> Option<String> {
        let is_harmless = !spec.mutates && self.scene.toolkit.catalog.is_builtin(&spec.name);
        if is_harmless {
            return None;
        }
        let tool = &spec.name;
        let dropped = checked.repairs.iter().find(|repair| matches!(repair, Repair::Dropped { .. }));
        let (why, advice) = match (doubt, dropped) {
            (Some(Doubt::Cut(why)), _) => (format!("in the model's reply, {why}"), prompt::IN_PARTS.to_owned()),
            (Some(Doubt::Notation), _) => {
                let offered = offer::texts(&[spec]);
                let example = prompt::example(&self.model, &offered);
                ("it is not written as a call".to_owned(), format!("Write it exactly like this: {example}"))
            }
            (None, Some(dropped)) => (dropped.to_string(), "Call it with its own arguments alone.".to_owned()),
            (None, None) => return None,
        };
        self.scene.host.notice(&format!("`{tool}` was not run: {why}"));
        Some(format!("`{tool}` was not run: {why}. {advice}"))
    }

    /// Runs one call whose arguments occur in the request or in a result.
    async fn grounded(
        &mut self,
        checked: check::Checked,
        spec: &ToolSpec,
        batch: &mut ReplyCalls,
    ) -> Result<String, TurnError> {
        let step = self.step_of(&checked.call.arguments);
        Ok(match from_sources(self.scene, step, self.evidence, checked.call, spec).await? {
            Ok(call) => self.call(check::Checked { call, repairs: checked.repairs }, spec, batch).await?,
            Err(why) => why,
        })
    }

    /// The open step that a call with these arguments carries out.
    fn step_of(&self, arguments: &Map<String, Value>) -> StepId {
        prompt::step_of(&Value::Object(arguments.clone()).to_string(), &self.open())
    }

    /// Runs one call, unless the evidence already contains its result. Returns the text for the
    /// model.
    async fn call(
        &mut self,
        checked: check::Checked,
        spec: &ToolSpec,
        batch: &mut ReplyCalls,
    ) -> Result<String, TurnError> {
        for repair in &checked.repairs {
            self.scene.host.notice(&format!("{}: {repair}", spec.name));
        }
        let call = checked.call;
        let (tool, arguments) = (call.tool.clone(), call.arguments.clone());
        batch.usable += 1;
        batch.servers.insert(spec.server.clone());
        batch.signature.push_str(&self.evidence.signature(&tool, &arguments));
        if let Some(entry) = self.evidence.just_done(&tool, &arguments) {
            batch.repeated += 1;
            return Ok(format!("Already done: {}", entry.summary()));
        }
        let known = self.evidence.repeated(&tool, &arguments).is_some();
        let step = self.step_of(&arguments);
        self.scene.host.emit(Event::StepExecuting { step, description: tool.clone() });
        self.scene.host.emit(Event::StepState { step, state: StepState::Deciding });
        let entry = execute::perform(self.scene, step, call, spec, self.evidence).await?;
        let text = words::shorten(&entry.outcome.text, self.limits.result_bytes);
        batch.repeated += usize::from(known);
        batch.executed += usize::from(spec.mutates && !known);
        Ok(match entry.status {
            StepStatus::Succeeded if known => format!("The same as before:\n{text}"),
            StepStatus::Succeeded => text,
            StepStatus::Rejected => "The user said no to this call.".to_owned(),
            StepStatus::Failed | StepStatus::Skipped => format!("Failed: {text}"),
            StepStatus::Cancelled | StepStatus::NotAsked | StepStatus::Denied => format!("Not done: {text}"),
        })
    }

    /// Emits the counters, and the events noticed since the last report.
    fn report(&mut self) {
        let (miss, repeat) = self.watch.counts();
        self.scene.host.emit(Event::ToolMiss(miss));
        self.scene.host.emit(Event::Repeat(repeat));
        for event in std::mem::take(&mut self.watch.events) {
            self.scene.host.emit(event);
        }
    }
}

/// The text of a complete reply; `None` if it was cut off.
fn last_words(reply: Output) -> Option<String> {
    (reply.finish == Finish::End).then_some(reply.text)
}

fn still_open<'a>(toolkit: &'a Toolkit, open: &[&Step]) -> Open<'a> {
    Open {
        any: !open.is_empty(),
        executing: open.iter().any(|step| offer::executes(step)),
        elsewhere: open.first().and_then(|step| offer::server_for(toolkit, step)),
    }
}
