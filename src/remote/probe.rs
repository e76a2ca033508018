//! Determines the abilities of a server's model once, with small test requests, and stores the result by URL and model.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::abilities::{Abilities, Kind, Switch, Tools};
use super::ask::{Ask, Form};
use super::error::Why;
use super::piece::Whole;
use super::server::{self, Listed};
use super::{Remote, body};
use crate::base::{file, hex};
use crate::models::dialect::{Message, ToolText};

/// Changes when the probe changes, which invalidates older results.
const EDITION: u32 = 1;
/// Token limits for an answer that only has to begin, and for one that may think before a call.
const FEW: usize = 16;
const ENOUGH: usize = 256;

/// The stored abilities of the model, else those determined now.
pub async fn known(remote: &mut Remote, folder: &Path) -> Result<Abilities, Why> {
    let model = server::choose(remote, false).await?;
    let Some(kept) = file::read_json::<Abilities>(&place(remote, folder, &model.name)) else {
        return find(remote, folder, model).await;
    };
    // The list may give a different context than last time if the server was restarted.
    let said = remote.endpoint().context.map(|context| (context, "models.toml".to_owned()));
    let listed = model.context.map(|context| (context, "its list of models".to_owned()));
    let (context, context_from) = said.or(listed).unwrap_or((kept.context, kept.context_from.clone()));
    Ok(Abilities { context, context_from, ..kept })
}

/// The abilities determined now.
pub async fn anew(remote: &mut Remote, folder: &Path) -> Result<Abilities, Why> {
    let model = server::choose(remote, false).await?;
    find(remote, folder, model).await
}

fn place(remote: &Remote, folder: &Path, model: &str) -> PathBuf {
    let name = format!("{EDITION} {} {model}", remote.url());
    folder.join(format!("{}.json", hex(&Sha256::digest(name.as_bytes())[..16])))
}

async fn find(remote: &mut Remote, folder: &Path, model: Listed) -> Result<Abilities, Why> {
    let mut can = Abilities::unknown(&model.name);
    can.kind = model.kind;
    can.progress = model.kind == Kind::LlamaServer;
    can.goes_on = matches!(model.kind, Kind::LlamaServer | Kind::Vllm | Kind::Sglang);
    let first = talks(remote, &mut can).await?;
    can.counts = !first.usage.is_estimate;
    can.thinking = switch(remote, &can, !first.thinking.is_empty()).await?;
    can.tools = tools(remote, &can).await?;
    can.must_call = can.tools != Tools::AsText && demanded(remote, &can).await?;
    can.schema = schema(remote, &can).await?;
    can.grammar = can.kind == Kind::LlamaServer && grammar(remote, &can).await?;
    can.logprobs = logprobs(remote, &can).await?;
    (can.context, can.context_from) = server::context(remote, &model).await;
    if let Err(error) = file::replace_json(&place(remote, folder, &model.name), &can) {
        tracing::warn!(%error, "the server's capabilities cannot be stored and will be determined again next time");
    }
    Ok(can)
}

/// A plain answer; if the server refuses an optional field, asks again without these fields.
async fn talks(remote: &mut Remote, can: &mut Abilities) -> Result<Whole, Why> {
    let ask = || Ask::new(vec![Message::user("Say hello.")], FEW);
    match asked(remote, can, ask()).await {
        Err(Why::Status { status: 400 | 422, said }) => {
            tracing::debug!(said, "asked again without the fields that not every server accepts");
            (can.counts, can.progress) = (false, false);
            asked(remote, can, ask()).await
        }
        other => other,
    }
}

/// How thoughts are switched off, if there are any.
async fn switch(remote: &mut Remote, can: &Abilities, thinks: bool) -> Result<Switch, Why> {
    if !thinks {
        return Ok(Switch::NeverThinks);
    }
    for thinking in [Switch::Template, Switch::Effort] {
        let ask = Ask { thinks: Some(false), ..Ask::new(vec![Message::user("Say hello.")], FEW) };
        if tried(remote, &Abilities { thinking, ..can.clone() }, ask)
            .await?
            .is_some_and(|whole| whole.thinking.is_empty())
        {
            return Ok(thinking);
        }
    }
    Ok(Switch::Unknown)
}

fn adding() -> Ask {
    let number = json!({ "type": "integer" });
    let parameters = json!({ "type": "object", "properties": { "a": number, "b": number }, "required": ["a", "b"] });
    let tool = ToolText { name: "add".into(), description: "Adds two numbers.".into(), parameters };
    let messages = vec![Message::user("How much is 4711 and 1147? Use the tool `add`.")];
    Ask { tools: vec![tool], thinks: Some(false), ..Ask::new(messages, ENOUGH) }
}

/// Whether a tool may be passed in fields, and how the call arrives.
async fn tools(remote: &mut Remote, can: &Abilities) -> Result<Tools, Why> {
    let can = Abilities { tools: Tools::Structured, ..can.clone() };
    let Some(whole) = tried(remote, &can, adding()).await? else { return Ok(Tools::AsText) };
    Ok(match whole.calls.first() {
        Some(_) if whole.in_fields => Tools::Structured,
        Some(_) => Tools::Offered,
        // A model that makes no call reveals nothing about the server.
        None => Tools::Structured,
    })
}

async fn demanded(remote: &mut Remote, can: &Abilities) -> Result<bool, Why> {
    let can = Abilities { must_call: true, ..can.clone() };
    let whole = tried(remote, &can, Ask { form: Form::Call, ..adding() }).await?;
    Ok(whole.is_some_and(|whole| !whole.calls.is_empty()))
}

/// A name that no model would write by itself shows that the server enforces the schema.
async fn schema(remote: &mut Remote, can: &Abilities) -> Result<bool, Why> {
    let schema = json!({
        "type": "object", "properties": { "zq7": { "type": "integer" } }, "required": ["zq7"], "additionalProperties": false,
    });
    let messages = vec![Message::user("How many legs has a cat?")];
    let ask = Ask { form: Form::Schema(schema), thinks: Some(false), ..Ask::new(messages, ENOUGH) };
    let whole = tried(remote, &Abilities { schema: true, ..can.clone() }, ask).await?;
    let value = whole.and_then(|whole| serde_json::from_str::<Value>(&whole.text).ok()).unwrap_or_default();
    Ok(value["zq7"].is_i64())
}

async fn grammar(remote: &mut Remote, can: &Abilities) -> Result<bool, Why> {
    let form = Form::Grammar("root ::= \"zq\" [0-9]".to_owned());
    let ask = Ask { form, thinks: Some(false), ..Ask::new(vec![Message::user("Say hello.")], FEW) };
    Ok(tried(remote, can, ask).await?.is_some_and(|whole| whole.text.trim_start().starts_with("zq")))
}

/// Requested without a stream, because llama-server refuses log probabilities in some streams.
async fn logprobs(remote: &Remote, can: &Abilities) -> Result<bool, Why> {
    let mut body = body::body(&Ask::new(vec![Message::user("Say hello.")], 1), can);
    for (field, value) in [("stream", json!(false)), ("logprobs", json!(true)), ("top_logprobs", json!(2))] {
        body[field] = value;
    }
    if let Some(fields) = body.as_object_mut() {
        fields.remove("stream_options");
        fields.remove("return_progress");
    }
    match server::post(remote, "chat/completions", &body).await {
        Ok(value) => Ok(value["choices"][0]["logprobs"]["content"].as_array().is_some_and(|all| !all.is_empty())),
        Err(why) => refused(why).map(|()| false),
    }
}

/// The complete reply of a model with the abilities `can`; `None` if the server refuses the
/// request.
async fn tried(remote: &mut Remote, can: &Abilities, ask: Ask) -> Result<Option<Whole>, Why> {
    match asked(remote, can, ask).await {
        Ok(whole) => Ok(Some(whole)),
        Err(why) => refused(why).map(|()| None),
    }
}

async fn asked(remote: &mut Remote, can: &Abilities, ask: Ask) -> Result<Whole, Why> {
    remote.can = std::sync::Arc::new(can.clone());
    remote.chat(ask).collect().await.map_err(|error| error.why)
}

/// A refusal answers the probe; an unreachable server does not.
fn refused(why: Why) -> Result<(), Why> {
    match why {
        Why::Status { .. } | Why::InAnswer(_) | Why::BadCall(_) | Why::NoSuchPath { .. } | Why::Unreadable(_) => Ok(()),
        other => Err(other),
    }
}
