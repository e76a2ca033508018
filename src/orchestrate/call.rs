//! Has a model that was measured to be able to choose a tool and write its call: over those that fit best, held to their schemas.

use serde_json::Value;

use crate::engine::{EngineError, Request, Sampling};
use crate::models::dialect::{Message, ToolText};
use crate::models::{Role, Tier};
use crate::tools::call::{self, check};
use crate::tools::{Ranked, ToolCall};

use super::Host;
use super::notation::{self, Reply};
use super::probe;
use super::toolkit::{Toolkit, TurnError};
use super::words;

const PROMPT: &str = include_str!("prompts/call.md");
/// Tools that a model chooses among; retrieval seldom puts the right one further down.
pub const OFFERED: usize = 5;
/// Longest call, in tokens.
const CALL_TOKENS: usize = 220;
/// Longest description of a tool and of one of its parameters, in characters.
const DESCRIPTION_CHARS: usize = 240;
const PARAMETER_CHARS: usize = 100;
/// Longest request that is shown, in characters.
const REQUEST_CHARS: usize = 4_000;

/// Whether the planner was measured to be able to.
pub async fn is_trusted(toolkit: &Toolkit, host: &dyn Host) -> Result<bool, TurnError> {
    Ok(probe::tier(toolkit, host).await? >= Tier::Writes)
}

/// The call of the best of `ranked` that `text` asks for; `None` where the model has written none that fits its schema. Whether any tool is
/// asked for is not its to say: measured on the 1.5B, it then always says that none is.
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
    // In one order whatever the request, so that requests share their beginning.
    let mut texts: Vec<ToolText> = offered.iter().map(|tool| notation::shown(tool, DESCRIPTION_CHARS)).collect();
    texts.sort_by(|a, b| a.name.cmp(&b.name));
    texts.iter_mut().for_each(|tool| shorten(&mut tool.parameters, true));
    let system = format!("{}\n\n{}", PROMPT.trim(), model.dialect.tool_list(&texts));
    let messages = [Message::system(system), Message::user(words::shorten(text, REQUEST_CHARS))];
    let free =
        Request { sampling: Sampling::greedy(), ..model.engine.request(&model.dialect.render(&messages), CALL_TOKENS) };
    let held = Request { grammar: Some(notation::grammar(&*model.dialect, &texts, Reply::Call)), ..free.clone() };
    let output = match toolkit.generate(&model, held, "choosing a tool", host).await {
        // Marks of the family that are no tokens of this file, or a schema that no grammar can say.
        Err(TurnError::Engine(EngineError::Grammar(_))) => {
            toolkit.generate(&model, free, "choosing a tool", host).await?
        }
        output => output?,
    };
    let reading = call::read(&output.text, Some(&*model.dialect), &offered, call::Tier::Prose);
    tracing::debug!(answer = output.text, "called");
    let Some(raw) = reading.calls.first() else { return Ok(None) };
    match check::check(raw, &offered) {
        Ok(checked) => Ok(Some(checked.call)),
        Err(problem) => {
            tracing::debug!(%problem, "no call after all");
            Ok(None)
        }
    }
}

/// Cuts the descriptions of a schema, which are most of its text, and takes out what tells a model nothing.
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

/// The share of the arguments whose value the request does not say: who asks for another thing gives few of them.
pub fn unsaid(call: &ToolCall, text: &str) -> f32 {
    let said: Vec<String> = words::split(text).iter().map(|word| word.to_lowercase()).collect();
    let is_said = |value: &&Value| match value {
        Value::String(value) => {
            let words: Vec<String> = words::split(value).iter().map(|word| word.to_lowercase()).collect();
            words.iter().any(|word| said.contains(word))
        }
        Value::Number(number) => text.contains(&number.to_string()),
        _ => true,
    };
    let said = call.arguments.values().filter(is_said).count();
    (call.arguments.len() - said) as f32 / call.arguments.len().max(1) as f32
}
