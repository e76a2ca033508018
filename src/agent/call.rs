//! Lets a model choose one of the best-ranked tools and write its call, checked against the tool's schema.

use serde_json::Value;

use crate::models::dialect::{Chat, Message, ToolText};
use crate::models::{Role, Tier};
use crate::tools::call::{self, check};
use crate::tools::{Ranked, ToolCall};

use super::evidence::Evidence;
use super::execute::{self, Scene};
use super::notation::{self, Reply};
use super::player::{Form, Query};
use super::toolkit::{Toolkit, TurnError};
use super::{Host, probe, whole};
use crate::language::words;
use crate::request::Step;

const PROMPT: &str = include_str!("prompts/call.md");
/// Tools that the model chooses among; retrieval seldom ranks the right one lower.
pub const OFFERED: usize = 5;
/// Longest call, in tokens.
const CALL_TOKENS: usize = 220;
/// Longest description of a tool and of one of its parameters, in characters.
const DESCRIPTION_CHARS: usize = 240;
const PARAMETER_CHARS: usize = 100;
/// Longest request that is shown, in characters.
const REQUEST_CHARS: usize = 4_000;

/// Whether the planner may write calls: it was measured at tier `Writes` or above.
pub async fn is_trusted(toolkit: &Toolkit, host: &dyn Host) -> Result<bool, TurnError> {
    Ok(probe::tier(toolkit, host).await? >= Tier::Writes)
}

/// Has the planner call a tool of an MCP server for `step`; false if none is meant, so that built-in tools carry out the step.
pub async fn of_server(scene: Scene<'_>, step: &Step, evidence: &mut Evidence) -> Result<bool, TurnError> {
    let toolkit = scene.toolkit;
    let ranked = toolkit.server_tools(&step.text).await;
    let Some(called) = called(toolkit, &step.text, &ranked, scene.host).await? else { return Ok(false) };
    let Some(spec) = toolkit.catalog.get(&called.tool) else { return Ok(false) };
    execute::perform(scene, step.id, called, spec, evidence).await?;
    Ok(true)
}

/// The planner's call of one of the best `ranked` tools for `text`; `None` if its reply holds no call that fits a schema.
/// It is not asked whether a tool is needed at all: measured on the 1.5B, it would then always answer that none is.
pub async fn called(
    toolkit: &Toolkit,
    text: &str,
    ranked: &[Ranked],
    host: &dyn Host,
) -> Result<Option<ToolCall>, TurnError> {
    let specs = toolkit.catalog.specs();
    let offered: Vec<_> = ranked.iter().take(OFFERED).filter_map(|one| specs.get(one.index)).cloned().collect();
    if offered.is_empty() {
        return Ok(None);
    }
    let model = toolkit.model(Role::Planner, host).await?;
    // Sorted by name, so that requests share a prompt prefix.
    let mut texts: Vec<ToolText> = offered.iter().map(|tool| notation::shown(tool, DESCRIPTION_CHARS)).collect();
    texts.sort_by(|a, b| a.name.cmp(&b.name));
    texts.iter_mut().for_each(|tool| shorten(&mut tool.parameters, true));
    let messages = [Message::system(PROMPT.trim()), Message::user(words::shorten(text, REQUEST_CHARS))];
    let chat = Chat { tools: &texts, ..Chat::from(&messages) };
    let query = Query { form: Form::Call(Reply::Call), ..Query::of(chat, CALL_TOKENS) };
    let (output, _) = toolkit.ask_inside(&model, query, "choosing a tool", host).await?;
    // A tool of a server may change anything, so only a call that is whole counts.
    let reading = output.read(&offered, call::Tier::Strict);
    tracing::debug!(answer = output.text, "called");
    if let Some(why) = whole::why_cut(&output) {
        host.notice(&format!("no tool of a server was called: the model's call did not come to its end, {why}"));
        return Ok(None);
    }
    let Some(raw) = reading.calls.first() else { return Ok(None) };
    match check::check(raw, &offered) {
        Ok(checked) => Ok(Some(checked.call)),
        Err(problem) => {
            tracing::debug!(%problem, "no call after all");
            Ok(None)
        }
    }
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
