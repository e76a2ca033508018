//! The single-model loop: one model calls tools until it answers. The plain mode, and what takes over when a phase of
//! the orchestrated path cannot go on; then it inherits plan and evidence and repeats nothing.

mod offer;
mod prompt;
mod watch;

use serde_json::Value;

use crate::budget::permit::Priority;
use crate::engine::pool::Leased;
use crate::engine::slot::Reuse;
use crate::engine::{Finish, Output, Piece, Request, Sampling};
use crate::models::Role;
use crate::models::dialect::{Message, RawCall};
use crate::protocol::{Event, Remedy, Stall, StepStatus};
use crate::tools::call::{self, Tier, check};
use crate::tools::{Context, ToolSpec};

use super::Host;
use super::evidence::Evidence;
use super::execute::StepEnd;
use super::plan::{Plan, Step};
use super::toolkit::{Toolkit, TurnError};
use super::{classify, decompose, execute, synthesize, words};
use offer::Shelf;
use watch::{Batch, Noticed, Open, Silence, Verdict, Watch};

const CHAT: &str = include_str!("../prompts/chat.md");
/// Longest reply of one iteration of a capable and of a small model, in tokens; a call needs fewer, a new file more.
const REPLY_TOKENS: usize = 1_500;
const SMALL_REPLY_TOKENS: usize = 100;
/// Longest reply to small talk.
const CHAT_TOKENS: usize = 160;
/// Part of a result that the model reads, in characters; the evidence keeps all of it.
const RESULT_CHARS: usize = 3_000;

/// Runs the loop and answers from the evidence. `trouble` is why the orchestrated path stopped, empty in plain mode.
pub async fn run(
    toolkit: &Toolkit,
    context: &Context,
    request: &str,
    plan: &Plan,
    evidence: &mut Evidence,
    trouble: &str,
    host: &dyn Host,
) -> Result<String, TurnError> {
    let model = toolkit.model(Role::Planner, host).await?;
    let vector = toolkit.vector(&toolkit.prefilter.without_values(request)).await;
    let kind = classify::kind(&decompose::parts(request));
    let changes = matches!(kind, classify::RequestKind::Change | classify::RequestKind::Command);
    let mut opening = prompt::opening(request, plan, evidence, trouble);
    if let Some(known) = prompt::background(toolkit, &model.engine, request, vector.as_deref()) {
        opening.push_str(&format!("\n\nFrom the project:\n{known}"));
    }
    let mut this = Loop {
        toolkit,
        context,
        host,
        plan,
        evidence,
        shelf: Shelf::of(toolkit, request, vector.as_deref(), changes),
        model,
        changes,
        watch: Watch::default(),
        messages: vec![Message::system(String::new()), Message::user(opening)],
    };
    let (ended, last_words) = this.turn().await?;
    if let Some(stall) = ended {
        this.end_well(stall, request, trouble.is_empty()).await?;
    }
    synthesize::answer(toolkit, request, plan, evidence, last_words.as_deref(), host).await
}

/// One run of the loop.
struct Loop<'a> {
    toolkit: &'a Toolkit,
    context: &'a Context,
    host: &'a dyn Host,
    plan: &'a Plan,
    evidence: &'a mut Evidence,
    shelf: Shelf,
    model: Leased,
    /// The request wants something to be different afterwards.
    changes: bool,
    watch: Watch,
    messages: Vec<Message>,
}

impl Loop<'_> {
    /// Iterates until the model has said its last word, which is given back, or goes nowhere.
    async fn turn(&mut self) -> Result<(Option<Stall>, Option<String>), TurnError> {
        for iteration in 1..=self.model.capability.recommended_max_iterations {
            self.watch.iteration = iteration;
            let offered = self.shelf.offered(self.toolkit, &self.watch.offer);
            let reply = self.reply(&offered).await?;
            let reading = call::read(&reply.text, Some(&*self.model.dialect), self.toolkit.catalog.specs());
            self.messages.push(Message::assistant(reply.text.clone()));
            let silent = reading.calls.is_empty();
            let verdict = if silent {
                let silence = Silence {
                    text: &reply.text,
                    patterns: call::textual_patterns(&reply.text),
                    circles: reply.finish == Finish::Repetition,
                };
                let open = offer::open(self.plan, self.evidence);
                self.watch.silent(silence, still_open(self.toolkit, &open))
            } else {
                let textual = if reading.tier == Some(Tier::Strict) { 0 } else { reading.calls.len() };
                let batch = Batch { textual, ..self.calls(reading.calls).await? };
                let open = offer::open(self.plan, self.evidence);
                self.watch.called(&batch, still_open(self.toolkit, &open))
            };
            self.report();
            match verdict {
                Verdict::Go => {}
                Verdict::Done => return Ok((None, last_words(reply))),
                Verdict::End(stall) => return Ok((Some(stall), last_words(reply).filter(|_| silent))),
                Verdict::Say(stall, remedy) => {
                    let example = prompt::example(&*self.model.dialect, &offer::texts(&offered));
                    let open = offer::open(self.plan, self.evidence);
                    let text = prompt::correction(stall, remedy, self.changes, &open, &example);
                    self.messages.push(Message::user(text));
                }
            }
        }
        Ok((Some(self.watch.exhausted()), None))
    }

    async fn reply(&mut self, offered: &[&ToolSpec]) -> Result<Output, TurnError> {
        let (model, capability) = (&self.model, self.model.capability);
        let system = prompt::system(self.changes, &*model.dialect, &offer::texts(offered));
        self.messages[0] = Message::system(system);
        let reply = if capability.supports_complex_reasoning { REPLY_TOKENS } else { SMALL_REPLY_TOKENS };
        let context = model.engine.limits().context.min(capability.max_context_tokens);
        let count = |messages: &[Message]| model.engine.tokenize(&model.dialect.render(messages)).len();
        prompt::make_room(&mut self.messages, context, reply, &count);
        let request = Request {
            sampling: Sampling::prose(),
            reuse: Reuse::Continue,
            ..model.engine.request(&model.dialect.render(&self.messages), reply)
        };
        self.toolkit.generate(model, request, "thinking", self.host).await
    }

    /// Deals with the calls of one reply, and tells the model what came of each.
    async fn calls(&mut self, calls: Vec<RawCall>) -> Result<Batch, TurnError> {
        let mut batch = Batch { calls: calls.len(), ..Batch::default() };
        for raw in calls {
            let mut told = match check::check(&raw, self.toolkit.catalog.specs()) {
                Err(problem) => problem.to_string(),
                Ok(checked) => {
                    let spec = self.toolkit.catalog.get(&checked.call.tool);
                    match spec.filter(|spec| self.shelf.allows(spec, &self.watch.offer)) {
                        None => format!("`{}` is not offered now; use one of the listed tools", checked.call.tool),
                        Some(spec) => self.call(checked, spec, &mut batch).await?,
                    }
                }
            };
            if self.changes && batch.executed == 0 && self.watch.reading_calls + batch.usable >= watch::NUDGE_AFTER {
                told.push_str(&format!("\n{}", prompt::HINT));
            }
            self.messages.push(Message::tool(told));
        }
        Ok(batch)
    }

    /// Runs one call, unless the evidence has its result.
    async fn call(&mut self, checked: check::Checked, spec: &ToolSpec, batch: &mut Batch) -> Result<String, TurnError> {
        for repair in &checked.repairs {
            self.host.notice(&format!("{}: {repair}", spec.name));
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
        let open = offer::open(self.plan, self.evidence);
        let step = prompt::step_of(&Value::Object(arguments.clone()).to_string(), &open, self.plan);
        self.host.emit(Event::StepExecuting { step, description: tool.clone() });
        let (toolkit, context, host) = (self.toolkit, self.context, self.host);
        let status = execute::perform(toolkit, context, step, call, spec, self.evidence, host).await?;
        batch.repeated += usize::from(known);
        batch.executed += usize::from(spec.mutates && !known);
        let text = self.evidence.repeated(&tool, &arguments).or(self.evidence.entries().last());
        let text = text.map_or(String::new(), |entry| words::shorten(&entry.outcome.text, RESULT_CHARS));
        Ok(match status {
            StepStatus::Succeeded if known => format!("The same as before:\n{text}"),
            StepStatus::Succeeded => text,
            StepStatus::Rejected => "The user said no to this call.".to_owned(),
            StepStatus::Failed | StepStatus::Skipped => format!("Failed: {text}"),
        })
    }

    /// What a loop that goes nowhere leaves open is carried out by code, where code has not tried yet.
    async fn end_well(&mut self, stall: Stall, request: &str, untried: bool) -> Result<(), TurnError> {
        // What the user said no to is not asked again.
        let refused = |step: &&Step| self.evidence.of(step.id).any(|entry| entry.status == StepStatus::Rejected);
        let open: Vec<&Step> = offer::open(self.plan, self.evidence).into_iter().filter(|step| !refused(step)).collect();
        if !untried || open.is_empty() {
            self.watch.detected(stall, Remedy::Synthesis);
            self.report();
            return Ok(());
        }
        self.watch.detected(stall, Remedy::CodeOwnedSteps);
        self.report();
        for step in open {
            self.host.emit(Event::StepExecuting { step: step.id, description: step.description.clone() });
            let (toolkit, context, host) = (self.toolkit, self.context, self.host);
            if let StepEnd::Stuck(reason) = execute::step(toolkit, context, step, request, self.evidence, host).await? {
                self.host.notice(&format!("{}: {reason}", step.id));
            }
        }
        Ok(())
    }

    /// Sends out what was counted and noticed.
    fn report(&mut self) {
        let (miss, repeat) = self.watch.counts();
        self.host.emit(Event::ToolMiss(miss));
        self.host.emit(Event::Repeat(repeat));
        for noticed in std::mem::take(&mut self.watch.events) {
            self.host.emit(match noticed {
                Noticed::Detection(detection) => Event::Detection(detection),
                Noticed::Recovery(recovery) => Event::Recovery(recovery),
            });
        }
    }
}

/// What was said to its end; what the token limit cut off is not.
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

/// Answers small talk and what needs no tool.
pub async fn reply(toolkit: &Toolkit, request: &str, host: &dyn Host) -> Result<String, TurnError> {
    let model = toolkit.model(Role::Planner, host).await?;
    let messages = [Message::system(CHAT.trim()), Message::user(words::shorten(request, 8_000))];
    let request = Request {
        priority: Priority::User,
        sampling: Sampling::prose(),
        ..model.engine.request(&model.dialect.render(&messages), CHAT_TOKENS)
    };
    let mut answer = String::new();
    toolkit
        .stream(&model, request, "answering", host, |piece| {
            if let Piece::Answer(text) = piece {
                host.emit(Event::Token { text: text.clone() });
                answer.push_str(text);
            }
        })
        .await?;
    Ok(answer)
}
