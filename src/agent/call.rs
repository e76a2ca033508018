//! Lets a model choose one of the top-ranked tools and write its call, which is checked against the tool's schema.

use serde_json::{Map, Value};

use crate::base::StepId;
use crate::budget::permit::Priority;
use crate::models::Role;
use crate::models::dialect::{Chat, Message, RawCall, ToolText};
use crate::protocol::{Asks, Decision, Event, Proposal, StepState, StepStatus, Sure, ToolChoice};
use crate::tools::call::{self, check};
use crate::tools::mcp::REFUSED_ARGUMENTS;
use crate::tools::{Ranked, ToolCall, ToolSpec};

use super::budget::ANSWER_TIME;
use super::evidence::Evidence;
use super::execute::{self, Scene};
use super::guide::Done;
use super::notation::Reply;
use super::player::{Form, Query};
use super::question::Question;
use super::toolkit::{Toolkit, TurnError};
use super::{Host, offered, probe, sure, whole};
use crate::language::words;
use crate::request::{Step, Text};

const PROMPT: &str = include_str!("prompts/call.md");
/// Name of this phase in events and in the cost report.
const PHASE: &str = "choosing a tool";
/// Subtracted from a tool's log-odds, in nats, if the step continues from that tool's own result:
/// in `zip the folder and mail it`, mailing needs a different tool.
const AGAIN: f32 = 1.5;
/// Maximum length of a call, in tokens.
const CALL_TOKENS: usize = 220;
/// Maximum length of an error shown to the model, in characters.
const WHY_CHARS: usize = 400;
/// How often the user is asked for missing arguments before the call is abandoned; the second time
/// is for an answer that did not fit.
const ANSWERS_MAX: usize = 2;
/// Maximum length of the request in the prompt, in characters.
const REQUEST_CHARS: usize = 4_000;

/// Has a model call one of the `ranked` MCP tools for `step`; `None` if none is suitable, so that
/// built-in tools carry out the step. A call that failed because of its arguments, without any
/// effect, is written a second time.
pub async fn of_server(
    scene: Scene<'_>,
    step: &Step,
    ranked: &[Ranked],
    evidence: &mut Evidence,
) -> Result<Option<Done>, TurnError> {
    let toolkit = scene.toolkit;
    let made = evidence.entries().iter().filter(|entry| step.needs.contains(&entry.step));
    let made: Vec<&str> = made.map(|entry| entry.tool.as_str()).collect();
    let ranked = going_on(ranked.to_vec(), toolkit.catalog.specs(), &made);
    let Some(called) = called(toolkit, step.id, &step.text, &ranked, scene.host).await? else { return Ok(None) };
    let Some(spec) = toolkit.catalog.get(&called.tool) else { return Ok(None) };
    let entry = execute::perform(scene, step.id, called.clone(), spec, evidence).await?;
    let done = |succeeded: bool| Ok(Some(Done { failed: !succeeded, ..Done::default() }));
    let had_no_effect = !spec.mutates || entry.outcome.text.contains(REFUSED_ARGUMENTS);
    if entry.status != StepStatus::Failed || !had_no_effect {
        return done(entry.succeeded());
    }
    let (first, why) = (entry.id, words::shorten(&entry.outcome.text, WHY_CHARS));
    let Some(other) = corrected(scene, step, &called, spec, &why).await? else { return done(false) };
    scene.host.notice(&format!("`{}` failed; it is called once more with other arguments", spec.name));
    let succeeded = execute::perform(scene, step.id, other, spec, evidence).await?.succeeded();
    if succeeded {
        evidence.set_aside(first);
    }
    done(succeeded)
}

/// Has the model that chooses tools rewrite the failed call with other arguments, given the error.
/// Argument values may also come from the error.
async fn corrected(
    Scene { toolkit, host, .. }: Scene<'_>,
    step: &Step,
    failed: &ToolCall,
    spec: &ToolSpec,
    why: &str,
) -> Result<Option<ToolCall>, TurnError> {
    let Some(role) = probe::chooser(toolkit, host).await? else { return Ok(None) };
    let arguments = Value::Object(failed.arguments.clone());
    let text =
        format!("{}\n\n`{}` with {arguments} failed: {why}\nCall it with other arguments.", step.text, spec.name);
    let Some(call) = by(toolkit, role, &text, std::slice::from_ref(spec), host).await?.call else { return Ok(None) };
    let known = [why.to_lowercase()];
    let call = match grounded(call, spec, |value| step.text.said().has(value) || is_in(value, &known)) {
        Ok(call) => Some(call),
        Err(lacking) => given(lacking, step.id, spec, toolkit, host).await?,
    };
    Ok(call.filter(|call| call.arguments != failed.arguments))
}

/// Lowers the score of the tools in `made_by`, which produced the results that a step continues
/// from, and sorts `ranked` again.
pub fn going_on(mut ranked: Vec<Ranked>, specs: &[ToolSpec], made_by: &[&str]) -> Vec<Ranked> {
    let has_made = |one: &Ranked| specs.get(one.index).is_some_and(|spec| made_by.contains(&spec.name.as_str()));
    for one in ranked.iter_mut().filter(|one| has_made(one)) {
        one.score -= AGAIN;
    }
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
    ranked
}

/// A model's call of one of the best `ranked` tools for `text`, the text of `step`. `None` if no
/// tool is likely to fit, if no model chooses tools well, if its reply contains no call that fits a
/// schema, or if neither the request nor the user gives a required argument.
pub async fn called(
    toolkit: &Toolkit,
    step: StepId,
    text: &Text,
    ranked: &[Ranked],
    host: &dyn Host,
) -> Result<Option<ToolCall>, TurnError> {
    let likely = offered::likely(ranked, toolkit.catalog.specs(), text);
    if likely.is_empty() {
        return Ok(None);
    }
    let Some(role) = probe::chooser(toolkit, host).await? else { return Ok(None) };
    let choices = probe::choosing(toolkit, role, host).await?.better();
    let offered = offered::best(toolkit, &toolkit.model(role, host).await?, choices, &likely);
    let mut chosen = by(toolkit, role, text.shown(), &offered, host).await?;
    let is_unsure = chosen.call.is_none() || chosen.sure.is_some_and(|sure| choices.is_unsure(sure.margin));
    let hands_on = role == Role::Router && is_unsure && probe::chooses_well(toolkit, Role::Planner, host).await?;
    let told = |role: Role, chosen: &Chosen, handed_on: bool| {
        let tool = chosen.call.as_ref().map(|call| call.tool.clone());
        let (role, offered, sure) = (role.to_string(), offered.len(), chosen.sure);
        host.emit(Event::ToolChosen(ToolChoice { step, role, offered, tool, sure, handed_on }));
    };
    told(role, &chosen, hands_on);
    if hands_on {
        chosen = by(toolkit, Role::Planner, text.shown(), &offered, host).await?;
        told(Role::Planner, &chosen, false);
    }
    let Some(call) = chosen.call else { return Ok(None) };
    let Some(spec) = offered.iter().find(|spec| spec.name == call.tool) else { return Ok(None) };
    match grounded(call, spec, |value| text.said().has(value)) {
        Ok(call) => Ok(Some(call)),
        Err(lacking) => given(lacking, step, spec, toolkit, host).await,
    }
}

/// A call with its known arguments, and the names of the required arguments that are missing.
#[derive(Debug, PartialEq)]
struct Lacking {
    call: ToolCall,
    names: Vec<String>,
}

/// Asks the user for the missing arguments and returns the complete call; `None`, after a notice,
/// if no answer fits the tool. While waiting, the turn holds no project lock unless it has changed
/// something.
async fn given(
    lacking: Lacking,
    step: StepId,
    spec: &ToolSpec,
    toolkit: &Toolkit,
    host: &dyn Host,
) -> Result<Option<ToolCall>, TurnError> {
    let Lacking { call, names } = lacking;
    let parameters = spec.parameters();
    let about = parameters.iter().filter(|one| names.iter().any(|name| name == one.name));
    let about =
        about.map(|one| format!("{}: {}\n", one.name, words::shorten(one.description(), offered::PARAMETER_CHARS)));
    let known = Value::Object(call.arguments.clone());
    let mut proposal = Proposal {
        preview: format!("{} {known}\n{}", call.tool, about.collect::<String>()),
        tool: call.tool,
        arguments: call.arguments,
        asks: Asks::Values(names),
        ..Proposal::default()
    };
    let needs = format!("{} of {} needs {}, but no value was given", spec.name, spec.server, proposal.need());
    proposal.reason = needs.clone();
    for _ in 0..ANSWERS_MAX {
        host.emit(Event::StepState { step, state: StepState::AwaitingApproval });
        host.emit(Event::ApprovalRequested { step, proposal: proposal.clone() });
        let answer = tokio::time::timeout(ANSWER_TIME, host.approve(step, &proposal)).await;
        if toolkit.cancel.is_cancelled() {
            return Err(TurnError::Cancelled);
        }
        let Ok(Decision::Modify(arguments)) = answer else { break };
        let raw = RawCall { name: spec.name.clone(), arguments };
        match check::check(&raw, std::slice::from_ref(spec)) {
            Ok(checked) => return Ok(Some(checked.call)),
            Err(problem) => proposal.reason = format!("{needs}: {problem}"),
        }
    }
    host.notice(&format!(
        "`{}` was not called: no value was given for {}; ask again with it",
        spec.name,
        proposal.need()
    ));
    Ok(None)
}

/// The call without arguments that the model made up. The arguments of an MCP tool must come from
/// the request, the conversation, a text handed over by the user, an earlier result or the schema.
/// If a required argument does not, the user is asked for it; without an answer, the inner error
/// goes to the model.
pub async fn from_sources(
    Scene { toolkit, request, host, .. }: Scene<'_>,
    step: StepId,
    evidence: &mut Evidence,
    call: ToolCall,
    spec: &ToolSpec,
) -> Result<Result<ToolCall, String>, TurnError> {
    if toolkit.catalog.is_builtin(&spec.name) {
        return Ok(Ok(call));
    }
    let earlier = toolkit.earlier.iter().flat_map(|turn| [turn.request.as_str(), turn.answer.as_str()]);
    let entries = evidence.entries();
    let results = entries.iter().map(|entry| entry.outcome.text.as_str());
    // Arguments of earlier MCP calls were already checked here, or came from the user.
    let passed = entries.iter().filter(|entry| !toolkit.catalog.is_builtin(&entry.tool));
    let passed = passed.map(|entry| Value::Object(entry.arguments.clone()).to_string().to_lowercase());
    let known: Vec<String> = earlier.chain(results).map(str::to_lowercase).chain(passed).collect();
    let lacking = match grounded(call, spec, |value| request.said().has(value) || is_in(value, &known)) {
        Ok(call) => return Ok(Ok(call)),
        Err(lacking) => lacking,
    };
    let names = lacking.names.join(", ");
    if !evidence.was_not_given(&spec.name, &names) {
        if let Some(call) = given(lacking, step, spec, toolkit, host).await? {
            return Ok(Ok(call));
        }
        evidence.not_given(&spec.name, &names);
    }
    Ok(Err(format!(
        "`{}` was not run: nothing says {names}. Use what the request or a result says, or ask the user for it.",
        spec.name
    )))
}

/// Whether a value, or one of its parts, occurs in one of these lower-case texts.
fn is_in(value: &Value, texts: &[String]) -> bool {
    let has = |text: &str| !text.trim().is_empty() && texts.iter().any(|known| known.contains(&text.to_lowercase()));
    match value {
        Value::Null | Value::Bool(_) => true,
        Value::Number(number) => has(&number.to_string()),
        Value::String(text) => has(text.trim()),
        Value::Array(all) => all.iter().any(|one| is_in(one, texts)),
        Value::Object(fields) => fields.values().any(|one| is_in(one, texts)),
    }
}

/// The call without arguments that have no source. Flags, values listed in the schema and defaults
/// may be inferred. The error names the missing required arguments.
fn grounded(call: ToolCall, spec: &ToolSpec, is_said: impl Fn(&Value) -> bool) -> Result<ToolCall, Lacking> {
    let parameters = spec.parameters();
    let is_inferred = |name: &str, value: &Value| {
        let schema = parameters.iter().find(|one| one.name == name).map(|one| one.schema);
        let is_listed = |schema: &Map<String, Value>| {
            schema.contains_key("enum") || schema.get("items").is_some_and(|items| items.get("enum").is_some())
        };
        schema.is_some_and(|schema| is_listed(schema) || schema.get("default") == Some(value))
    };
    let (known, unsaid): (Map<String, Value>, Map<String, Value>) =
        call.arguments.into_iter().partition(|(name, value)| is_said(value) || is_inferred(name, value));
    let needed = parameters.iter().filter(|one| one.required && unsaid.contains_key(one.name));
    let names: Vec<String> = needed.map(|one| one.name.to_owned()).collect();
    let call = ToolCall { tool: call.tool, arguments: known };
    if !names.is_empty() {
        return Err(Lacking { call, names });
    }
    if !unsaid.is_empty() {
        tracing::debug!(tool = call.tool, ?unsaid, "arguments left out");
    }
    Ok(call)
}

/// A model's choice: a call or none, and how sure it was of the tool.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    pub call: Option<ToolCall>,
    pub sure: Option<Sure>,
}

/// The choice of the model of `role`; if its call was cut off, the user gets a notice with the
/// reason.
async fn by(
    toolkit: &Toolkit,
    role: Role,
    text: &str,
    offered: &[ToolSpec],
    host: &dyn Host,
) -> Result<Chosen, TurnError> {
    let constrained = probe::choosing(toolkit, role, host).await?.constrained();
    let model = toolkit.model(role, host).await?;
    let asked = Question { toolkit, model: &model, host, phase: PHASE, priority: Priority::Step };
    let chosen = chosen(asked, text, offered, constrained).await?;
    Ok(chosen.unwrap_or_else(|why| {
        host.notice(&format!("no server tool was called: the model's call is incomplete, {why}"));
        Chosen::default()
    }))
}

/// Has a model write a call of one of the `offered` tools for `text` alone, inside a grammar if
/// `constrained`; an error states where its reply was cut off. The prompt does not ask whether a
/// tool is needed at all: in measurements, the 1.5B model then always answered that none is.
pub async fn chosen(
    asked: Question<'_>,
    text: &str,
    offered: &[ToolSpec],
    constrained: bool,
) -> Result<Result<Chosen, String>, TurnError> {
    // Sorted by name so that requests share a prompt prefix.
    let mut texts: Vec<ToolText> = offered.iter().map(offered::text).collect();
    texts.sort_by(|a, b| a.name.cmp(&b.name));
    let messages = [Message::system(PROMPT.trim()), Message::user(words::shorten(text, REQUEST_CHARS))];
    let chat = Chat { tools: &texts, ..Chat::from(&messages) };
    let form = if constrained { Form::Call(Reply::Call) } else { Form::Free };
    let query = Query { form, priority: asked.priority, weighed: true, ..Query::of(chat, CALL_TOKENS) };
    let (output, _) = asked.toolkit.ask_inside(asked.model, query, asked.phase, asked.host).await?;
    tracing::debug!(answer = output.text, "called");
    if let Some(why) = whole::why_cut(&output) {
        return Ok(Err(why));
    }
    // An MCP tool may change anything, so only calls in the model's own notation count.
    let reading = output.read(offered, call::Tier::Strict);
    let Some(raw) = reading.calls.first() else { return Ok(Ok(Chosen::default())) };
    Ok(Ok(match check::check(raw, offered) {
        Ok(checked) => Chosen { sure: sure::of(&output.tokens, &raw.name), call: Some(checked.call) },
        Err(problem) => {
            tracing::debug!(%problem, "no call after all");
            Chosen::default()
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(arguments: Value, text: &str, expected: Result<Value, Lacking>) {
        let parameters = json!({ "type": "object", "required": ["value"], "properties": {
            "value": {}, "note": { "type": "string" },
            "unit": { "enum": ["s", "ms"] }, "limit": { "type": "integer", "default": 10 },
        } });
        let spec = ToolSpec { name: "wait".into(), parameters, ..ToolSpec::default() };
        let Value::Object(arguments) = arguments else { panic!("{arguments}") };
        let said = Text::of(text);
        let made = grounded(ToolCall { tool: "wait".into(), arguments }, &spec, |value| said.said().has(value));
        assert_eq!(made.map(|call| Value::Object(call.arguments)), expected, "{text}");
    }

    #[test]
    fn a_call_needs_what_the_request_says_and_loses_what_it_does_not() {
        let text = "wait 15 seconds for the cache";
        let call = || ToolCall { tool: "wait".into(), arguments: Map::new() };
        let unsaid = || Err(Lacking { call: call(), names: vec!["value".to_owned()] });
        check(json!({ "value": 15 }), text, Ok(json!({ "value": 15 })));
        check(json!({ "value": 5 }), text, unsaid());
        check(json!({ "value": ["memory"] }), text, unsaid());
        check(json!({ "value": "The cache", "note": "urgent" }), text, Ok(json!({ "value": "The cache" })));
        let inferred = json!({ "value": true, "unit": "ms", "limit": 10 });
        check(inferred.clone(), text, Ok(inferred));
    }
}
