//! The single-model loop: one model calls tools until it answers. The plain mode, and what takes over when a phase of
//! the orchestrated path cannot go on; then it inherits plan and evidence and repeats nothing.

use crate::base::StepId;
use crate::budget::permit::Priority;
use crate::engine::slot::Reuse;
use crate::engine::{Engine, Piece, Request, Sampling};
use crate::models::Role;
use crate::models::dialect::{Message, ToolText};
use crate::protocol::{Event, Repeat, StepStatus, ToolMiss};
use crate::retrieve;
use crate::tools::Context;
use crate::tools::call::{self, check};

use super::Host;
use super::evidence::Evidence;
use super::plan::Plan;
use super::toolkit::{Toolkit, TurnError};
use super::{execute, synthesize, words};

const PROMPT: &str = include_str!("prompts/solo.md");
const CHAT: &str = include_str!("prompts/chat.md");
/// Longest reply of one iteration of a capable and of a small model, in tokens; a call needs fewer.
const REPLY_TOKENS: usize = 400;
const SMALL_REPLY_TOKENS: usize = 100;
/// Longest reply to small talk.
const CHAT_TOKENS: usize = 160;
/// Part of a result that the model reads, in characters; the evidence keeps all of it.
const RESULT_CHARS: usize = 3_000;
/// Hits packed as background, and the part of a slot they may take (seed 002: 4 to 6 thousand tokens of context).
const BACKGROUND_HITS: usize = 8;
const BACKGROUND_SHARE: usize = 16;
const BACKGROUND_TOKENS_MAX: usize = 4_000;
/// Read-only iterations in a row after which the model is nudged, and after which only executing tools are offered
/// (seed 004).
const NUDGE_AFTER: usize = 2;
const EXECUTE_AFTER: usize = 3;

/// What the loop counts, for telemetry (seed 004).
#[derive(Default)]
struct Counts {
    miss: ToolMiss,
    repeat: Repeat,
    reading: usize,
    said: Vec<String>,
}

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
    let selection = toolkit.prefilter.select(request, vector.as_deref(), None, toolkit.tools_offered);
    let changes = super::classify::kind(&super::decompose::parts(request)) != super::classify::RequestKind::Question;
    let mut counts = Counts::default();
    let mut opening = opening(request, plan, evidence, trouble);
    if let Some(known) = background(toolkit, &model.engine, request, vector.as_deref()) {
        opening.push_str(&format!("\n\nFrom the project:\n{known}"));
    }
    let mut messages = vec![Message::system(String::new()), Message::user(opening)];
    let step = plan.steps.iter().map(|step| step.id).find(|id| evidence.of(*id).next().is_none()).unwrap_or(StepId(1));
    for _ in 0..toolkit.iterations_max.unwrap_or(model.capability.recommended_max_iterations) {
        let only_executing = changes && counts.reading >= EXECUTE_AFTER;
        let offered: Vec<ToolText> = selection
            .ranked
            .iter()
            .filter_map(|ranked| toolkit.catalog.specs().get(ranked.index))
            .filter(|spec| spec.mutates || !only_executing)
            .map(|spec| ToolText {
                name: spec.name.clone(),
                description: words::shorten(&spec.description, 200),
                parameters: spec.parameters.clone(),
            })
            .collect();
        messages[0] = Message::system(format!("{}\n\n{}", PROMPT.trim(), model.dialect.tool_list(&offered)));
        let reply = reply_to(toolkit, &model, &messages, host).await?;
        let calls = call::read(&reply, Some(&*model.dialect), toolkit.catalog.specs()).calls;
        counts.note(&reply, calls.len());
        if calls.is_empty() {
            break;
        }
        messages.push(Message::assistant(reply));
        let mut reading = true;
        for raw in calls {
            let result = match check::check(&raw, toolkit.catalog.specs()) {
                Err(problem) => problem.to_string(),
                Ok(checked) if !offered.iter().any(|tool| tool.name == checked.call.tool) => {
                    format!("`{}` is not offered now; use one of the listed tools", checked.call.tool)
                }
                Ok(checked) => {
                    let Some(spec) = toolkit.catalog.get(&checked.call.tool).cloned() else { continue };
                    reading &= !spec.mutates;
                    counts.repeat.total_tool_calls += 1;
                    if evidence.repeated(&checked.call.tool, &checked.call.arguments).is_some() {
                        counts.repeat.deduplicated_tool_calls += 1;
                    }
                    host.emit(Event::StepExecuting { step, description: checked.call.tool.clone() });
                    let (tool, arguments) = (checked.call.tool.clone(), checked.call.arguments.clone());
                    let status = execute::perform(toolkit, context, step, checked.call, &spec, evidence, host).await?;
                    result_text(evidence, &tool, &arguments, status)
                }
            };
            messages.push(Message::tool(result));
        }
        counts.reading = if reading { counts.reading + 1 } else { 0 };
        if counts.reading >= NUDGE_AFTER && changes {
            messages.push(Message::user(
                "Context gathering complete. Now proceed with execution using write_file or replace_in_file.",
            ));
        }
        counts.emit(host);
    }
    counts.emit(host);
    synthesize::answer(toolkit, request, plan, evidence, host).await
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

/// The request, with what was planned, done and missed so far.
fn opening(request: &str, plan: &Plan, evidence: &Evidence, trouble: &str) -> String {
    let mut text = words::shorten(request, 4_000);
    if !plan.steps.is_empty() && !trouble.is_empty() {
        text.push_str("\n\nPlan:");
        for step in &plan.steps {
            let done = evidence.of(step.id).any(|entry| entry.succeeded());
            text.push_str(&format!("\n{}. {}{}", step.id, step.description, if done { " (done)" } else { "" }));
        }
        text.push_str(&format!("\nStill open: {}", words::shorten(trouble, 600)));
    }
    for entry in evidence.entries() {
        text.push_str(&format!("\n[{}] {}: {}", entry.id, entry.tool, entry.summary()));
    }
    text
}

/// The code that the request seems to be about, packed into what a slot can spare.
fn background(toolkit: &Toolkit, engine: &Engine, request: &str, vector: Option<&[f32]>) -> Option<String> {
    let index = toolkit.index.as_ref()?;
    let found = retrieve::search(index, request, vector, BACKGROUND_HITS).ok()?;
    let budget = (engine.limits().context / BACKGROUND_SHARE).min(BACKGROUND_TOKENS_MAX);
    let pack = retrieve::pack(&found.hits, budget, &|text| engine.count(text));
    (!pack.items.is_empty()).then(|| pack.text())
}

async fn reply_to(
    toolkit: &Toolkit,
    model: &crate::engine::pool::Leased,
    messages: &[Message],
    host: &dyn Host,
) -> Result<String, TurnError> {
    let request = Request {
        sampling: Sampling::prose(),
        reuse: Reuse::Continue,
        ..model.engine.request(
            &model.dialect.render(messages),
            if model.capability.supports_complex_reasoning { REPLY_TOKENS } else { SMALL_REPLY_TOKENS },
        )
    };
    Ok(toolkit.generate(model, request, "thinking", host).await?.text)
}

fn result_text(
    evidence: &Evidence,
    tool: &str,
    arguments: &serde_json::Map<String, serde_json::Value>,
    status: StepStatus,
) -> String {
    let text = evidence
        .repeated(tool, arguments)
        .or(evidence.entries().last())
        .map_or(String::new(), |entry| words::shorten(&entry.outcome.text, RESULT_CHARS));
    match status {
        StepStatus::Succeeded => text,
        StepStatus::Rejected => "The user said no to this call.".to_owned(),
        StepStatus::Failed | StepStatus::Skipped => format!("Failed: {text}"),
    }
}

impl Counts {
    fn note(&mut self, reply: &str, calls: usize) {
        self.miss.total_responses += 1;
        if calls > 0 {
            self.miss.responses_with_tool_calls += 1;
        } else {
            self.miss.responses_without_tool_calls += 1;
            self.miss.textual_tool_call_patterns += call::textual_patterns(reply);
            if self.said.iter().any(|said| said == reply) {
                self.repeat.repeated_content += 1;
            }
            self.said.push(reply.to_owned());
        }
        self.miss.miss_rate = self.miss.responses_without_tool_calls as f64 / self.miss.total_responses as f64;
    }

    fn emit(&mut self, host: &dyn Host) {
        let repeats = self.repeat.deduplicated_tool_calls + self.repeat.repeated_batches;
        self.repeat.repeat_rate = repeats as f64 / self.repeat.total_tool_calls.max(1) as f64;
        host.emit(Event::ToolMiss(self.miss));
        host.emit(Event::Repeat(self.repeat));
    }
}
