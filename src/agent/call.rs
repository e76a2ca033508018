//! Lets a model choose one of the best-ranked tools and write its call, checked against the tool's schema.

use serde_json::{Map, Value};

use crate::models::Role;
use crate::models::dialect::{Chat, Message, ToolText};
use crate::tools::call::{self, check};
use crate::tools::{Ranked, ToolCall, ToolSpec};

use super::evidence::Evidence;
use super::execute::{self, Scene};
use super::notation::{self, Reply};
use super::player::{Form, Player, Query};
use super::toolkit::{Toolkit, TurnError};
use super::{Host, probe, whole};
use crate::language::{grounding, words};
use crate::request::Step;

const PROMPT: &str = include_str!("prompts/call.md");
/// Tools that the model chooses among; retrieval seldom ranks the right one lower.
pub const OFFERED: usize = 5;
/// The largest number of tools that the measurement of a chooser offers.
pub const OFFERED_MAX: usize = 15;
/// The router's choice stands unless another tool is this much likelier by retrieval, in nats: about seven times.
const MARGIN: f32 = 2.0;
/// Longest call, in tokens.
const CALL_TOKENS: usize = 220;
/// Longest description of a tool and of one of its parameters, in characters.
const DESCRIPTION_CHARS: usize = 240;
const PARAMETER_CHARS: usize = 100;
/// Longest request that is shown, in characters.
const REQUEST_CHARS: usize = 4_000;

/// Has a model call one of the `ranked` tools of MCP servers for `step`; false if none is meant, so that built-in tools carry out the step.
pub async fn of_server(
    scene: Scene<'_>,
    step: &Step,
    ranked: &[Ranked],
    evidence: &mut Evidence,
) -> Result<bool, TurnError> {
    let toolkit = scene.toolkit;
    let Some(called) = called(toolkit, &step.text, ranked, scene.host).await? else { return Ok(false) };
    let Some(spec) = toolkit.catalog.get(&called.tool) else { return Ok(false) };
    execute::perform(scene, step.id, called, spec, evidence).await?;
    Ok(true)
}

/// A model's call of one of the best `ranked` tools for `text`; `None` if no model chooses tools well, if its reply holds no call that fits a
/// schema, or if nothing in the request backs the call.
pub async fn called(
    toolkit: &Toolkit,
    text: &str,
    ranked: &[Ranked],
    host: &dyn Host,
) -> Result<Option<ToolCall>, TurnError> {
    let specs = toolkit.catalog.specs();
    let ranked = &ranked[..ranked.len().min(OFFERED)];
    let offered: Vec<_> = ranked.iter().filter_map(|one| specs.get(one.index)).cloned().collect();
    if offered.is_empty() {
        return Ok(None);
    }
    let Some(role) = probe::chooser(toolkit, host).await? else { return Ok(None) };
    let mut call = by(toolkit, role, text, &offered, host).await?;
    let place =
        |call: &ToolCall| ranked.iter().find(|one| specs.get(one.index).is_some_and(|spec| spec.name == call.tool));
    let is_doubtful = |call: &ToolCall| place(call).is_none_or(|one| one.score + MARGIN < ranked[0].score);
    if role == Role::Router && call.as_ref().is_none_or(is_doubtful) {
        call = by(toolkit, Role::Planner, text, &offered, host).await?;
    }
    let is_meant = |call: &ToolCall| {
        let spec = offered.iter().find(|spec| spec.name == call.tool);
        let fits = place(call).map_or(0.0, |one| one.fits);
        spec.is_some_and(|spec| backed(&call.arguments, spec, text).is_none_or(|share| share > 0.0 || fits > 0.0))
    };
    Ok(call.filter(is_meant))
}

/// The call that the model of `role` writes; why there is none goes to the user.
async fn by(
    toolkit: &Toolkit,
    role: Role,
    text: &str,
    offered: &[ToolSpec],
    host: &dyn Host,
) -> Result<Option<ToolCall>, TurnError> {
    let model = toolkit.model(role, host).await?;
    let chosen = chosen(toolkit, &model, text, offered, host).await?;
    Ok(chosen.unwrap_or_else(|why| {
        host.notice(&format!("no tool of a server was called: the model's call did not come to its end, {why}"));
        None
    }))
}

/// The call of one of the `offered` tools that a model writes for `text` alone; an error says where its reply was cut. It is not asked whether a
/// tool is needed at all: measured on the 1.5B, it would then always answer that none is.
pub async fn chosen(
    toolkit: &Toolkit,
    model: &Player,
    text: &str,
    offered: &[ToolSpec],
    host: &dyn Host,
) -> Result<Result<Option<ToolCall>, String>, TurnError> {
    // Sorted by name, so that requests share a prompt prefix.
    let mut texts: Vec<ToolText> = offered.iter().map(|tool| notation::shown(tool, DESCRIPTION_CHARS)).collect();
    texts.sort_by(|a, b| a.name.cmp(&b.name));
    texts.iter_mut().for_each(|tool| shorten(&mut tool.parameters, true));
    let messages = [Message::system(PROMPT.trim()), Message::user(words::shorten(text, REQUEST_CHARS))];
    let chat = Chat { tools: &texts, ..Chat::from(&messages) };
    let query = Query { form: Form::Call(Reply::Call), ..Query::of(chat, CALL_TOKENS) };
    let (output, _) = toolkit.ask_inside(model, query, "choosing a tool", host).await?;
    tracing::debug!(answer = output.text, "called");
    if let Some(why) = whole::why_cut(&output) {
        return Ok(Err(why));
    }
    // A tool of a server may change anything, so only a call in the model's own notation counts.
    let reading = output.read(offered, call::Tier::Strict);
    let checked = reading.calls.first().map(|raw| check::check(raw, offered));
    Ok(Ok(checked.and_then(|checked| {
        checked.inspect_err(|problem| tracing::debug!(%problem, "no call after all")).ok().map(|checked| checked.call)
    })))
}

/// The share of a call's arguments whose value the request `text` says; `None` if there are none that it would have to say. Flags and values that
/// the schema lists say nothing about the request.
fn backed(arguments: &Map<String, Value>, spec: &ToolSpec, text: &str) -> Option<f32> {
    let text_words = words::split(text);
    let schema = |name: &str| spec.parameters().into_iter().find(|one| one.name == name).map(|one| one.schema);
    let is_listed = |name: &str| schema(name).is_some_and(|schema| schema.contains_key("enum"));
    let is_default = |name: &str, value: &Value| schema(name).and_then(|schema| schema.get("default")) == Some(value);
    let says = |value: &Value| match value {
        Value::Number(number) => grounding::is_backed(text, &number.to_string()),
        other => words::split(&other.to_string()).iter().any(|word| text_words.contains(word)),
    };
    let free: Vec<_> = arguments
        .iter()
        .filter(|(name, value)| !(value.is_boolean() || value.is_null() || is_listed(name) || is_default(name, value)))
        .collect();
    let said = free.iter().filter(|(_, value)| says(value)).count();
    (!free.is_empty()).then(|| said as f32 / free.len() as f32)
}

/// Cuts the descriptions of a schema's parameters, which are most of its text.
fn shorten(schema: &mut Value, is_root: bool) {
    match schema {
        Value::Object(fields) => {
            if !is_root && let Some(Value::String(about)) = fields.get_mut("description") {
                *about = words::shorten(about, PARAMETER_CHARS);
            }
            fields.values_mut().for_each(|field| shorten(field, false));
        }
        Value::Array(all) => all.iter_mut().for_each(|one| shorten(one, false)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_argument_is_backed_if_the_request_says_a_word_of_it() {
        let parameters = json!({ "type": "object", "properties": {
            "value": {}, "unit": { "enum": ["s", "ms"] }, "limit": { "type": "integer", "default": 10 },
        } });
        let spec = ToolSpec { parameters, ..ToolSpec::default() };
        let check = |arguments: Value, expected: Option<f32>| {
            let Value::Object(arguments) = arguments else { panic!("{arguments}") };
            assert_eq!(backed(&arguments, &spec, "wait 15 seconds for the cache"), expected, "{arguments:?}");
        };
        check(json!({ "value": 15 }), Some(1.0));
        check(json!({ "value": 5 }), Some(0.0));
        check(json!({ "value": "The cache" }), Some(1.0));
        check(json!({ "value": ["memory"] }), Some(0.0));
        check(json!({ "value": "memory", "other": "cache", "limit": 10 }), Some(0.5));
        check(json!({ "value": true, "unit": "s", "limit": 10 }), None);
        check(json!({}), None);
    }
}
