//! Writes the body of a request to a server; features that the server lacks are requested in words.

use serde_json::{Map, Value, json};

use super::abilities::{Abilities, Kind, Switch, Tools};
use super::ask::{Ask, Form};
use crate::config::SamplingWish;
use crate::models::dialect::{Message, Speaker, ToolText, for_api};

/// The object field that contains a choice: servers accept only object schemas.
pub const CHOICE: &str = "choice";
/// The fields that contain lines.
pub const LINES: &str = "lines";
pub const KIND: &str = "kind";
pub const WORDS: &str = "words";

/// The body of `POST chat/completions`.
pub fn body(ask: &Ask, can: &Abilities) -> Value {
    let mut messages = ask.messages.clone();
    let fields = can.tools != Tools::AsText;
    let offers = matches!(ask.form, Form::Free | Form::Call);
    let tools: &[ToolText] = if offers { &ask.tools } else { &[] };
    let goes_on = goes_on(ask, can);
    for words in in_words(ask, can) {
        say(&mut messages, &words);
    }
    if goes_on {
        messages.push(Message::assistant(ask.begun.as_str()));
    }
    let thoughts = can.kind.thought_field();
    let mut body = for_api(&messages, tools, fields, thoughts.is_some());
    for message in body["messages"].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        if let (Some(field), Some(thought)) = (thoughts, message.remove("reasoning_content")) {
            message.insert(field.to_owned(), thought);
        }
    }
    body.insert("model".to_owned(), can.model.as_str().into());
    body.insert("stream".to_owned(), true.into());
    if can.counts {
        body.insert("stream_options".to_owned(), json!({ "include_usage": true }));
    }
    body.insert("max_tokens".to_owned(), ask.max_tokens.into());
    if goes_on && matches!(can.kind, Kind::Vllm | Kind::Sglang) {
        body.insert("continue_final_message".to_owned(), true.into());
        body.insert("add_generation_prompt".to_owned(), false.into());
    }
    if fields && ask.form == Form::Call && can.must_call {
        body.insert("tool_choice".to_owned(), "required".into());
    }
    if let Some(schema) = schema(ask, can) {
        let format = json!({ "name": "answer", "strict": true, "schema": schema });
        body.insert("response_format".to_owned(), json!({ "type": "json_schema", "json_schema": format }));
    }
    if let Form::Grammar(grammar) = &ask.form {
        body.insert("grammar".to_owned(), grammar.as_str().into());
    }
    if can.progress {
        body.insert("return_progress".to_owned(), true.into());
    }
    think(&mut body, ask, can);
    sample(&mut body, ask.sampling, can.kind);
    Value::Object(body)
}

/// Whether the server itself continues the beginning of the answer. No server does so inside a
/// schema or before calls.
pub fn goes_on(ask: &Ask, can: &Abilities) -> bool {
    let is_plain = ask.form == Form::Free && ask.tools.is_empty() || matches!(ask.form, Form::Grammar(_));
    can.goes_on && !ask.begun.is_empty() && is_plain
}

/// The schema that the answer must have, if the server enforces schemas.
fn schema(ask: &Ask, can: &Abilities) -> Option<Value> {
    if !can.schema {
        return None;
    }
    match &ask.form {
        Form::Free | Form::Grammar(_) => None,
        Form::Schema(schema) => Some(schema.clone()),
        Form::Choice(choices) => Some(json!({
            "type": "object",
            "properties": { CHOICE: { "type": "string", "enum": choices } },
            "required": [CHOICE],
            "additionalProperties": false,
        })),
        Form::Lines(kinds) => Some(lines_schema(kinds)),
        // If calls arrive in fields, the server writes them itself.
        Form::Call if can.tools != Tools::AsText => None,
        Form::Call => Some(json!({ "anyOf": ask.tools.iter().map(call_schema).collect::<Vec<_>>() })),
    }
}

/// Lines as a list of objects: servers accept only object schemas.
fn lines_schema(kinds: &[String]) -> Value {
    let line = json!({
        "type": "object",
        "properties": { KIND: { "type": "string", "enum": kinds }, WORDS: { "type": "string" } },
        "required": [KIND, WORDS],
        "additionalProperties": false,
    });
    json!({
        "type": "object",
        "properties": { LINES: { "type": "array", "items": line } },
        "required": [LINES],
        "additionalProperties": false,
    })
}

/// A call to `tool` written as JSON.
fn call_schema(tool: &ToolText) -> Value {
    let arguments = tool.json()["function"]["parameters"].take();
    json!({
        "type": "object",
        "properties": { "name": { "type": "string", "enum": [tool.name] }, "arguments": arguments },
        "required": ["name", "arguments"],
        "additionalProperties": false,
    })
}

/// The requirements stated in the text because the request has no field for them.
fn in_words(ask: &Ask, can: &Abilities) -> Vec<String> {
    let mut all = Vec::new();
    match &ask.form {
        Form::Schema(schema) if !can.schema => {
            all.push(format!("Answer with nothing but one JSON value of this schema:\n{schema}"));
        }
        Form::Lines(_) => {
            all.push(format!(
                "Answer with a JSON object: `{LINES}` lists the lines, each with its `{KIND}` and its `{WORDS}`."
            ));
        }
        Form::Choice(choices) if !can.schema => {
            let list: String = choices.iter().map(|choice| format!("\n- {choice}")).collect();
            all.push(format!("Answer with exactly one of these and with nothing else:{list}"));
        }
        Form::Call if can.tools != Tools::AsText && !can.must_call => {
            all.push("Answer by calling one of the tools.".to_owned());
        }
        Form::Call if can.tools == Tools::AsText => {
            all.push("Answer with one call of a tool and nothing else.".to_owned())
        }
        _ => {}
    }
    if !ask.begun.is_empty() && !goes_on(ask, can) {
        all.push(format!("Begin your answer with exactly this text, and go on from its end:\n{}", ask.begun));
    }
    all
}

/// Appends a sentence to the last message if it is the user's; otherwise adds a separate message.
fn say(messages: &mut Vec<Message>, words: &str) {
    match messages.last_mut() {
        Some(last) if last.speaker == Speaker::User => last.content = format!("{}\n\n{words}", last.content),
        _ => messages.push(Message::user(words)),
    }
}

fn think(body: &mut Map<String, Value>, ask: &Ask, can: &Abilities) {
    match (can.thinking, ask.thinks) {
        (Switch::Template, Some(thinks)) => {
            body.insert("chat_template_kwargs".to_owned(), json!({ "enable_thinking": thinks }));
        }
        (Switch::Effort, Some(false)) => {
            body.insert("reasoning_effort".to_owned(), "none".into());
        }
        _ => {}
    }
    if can.kind == Kind::LlamaServer
        && ask.thinks != Some(false)
        && let Some(tokens) = ask.thought_tokens
    {
        body.insert("reasoning_budget_tokens".to_owned(), tokens.into());
    }
}

/// Sampling parameters beyond OpenAI's are sent only to servers that are known to support them.
fn sample(body: &mut Map<String, Value>, wish: SamplingWish, kind: Kind) {
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            body.insert(name.to_owned(), value);
        }
    };
    // As text, a 32-bit 0.7 is 0.7; as a 64-bit number it would be 0.699999988.
    let number = |value: f32| serde_json::from_str::<Value>(&value.to_string()).unwrap_or_default();
    put("temperature", Some(number(wish.temperature.unwrap_or(0.0))));
    put("top_p", wish.top_p.map(number));
    put("frequency_penalty", wish.frequency_penalty.map(number));
    put("presence_penalty", wish.presence_penalty.map(number));
    put("seed", wish.seed.map(Value::from));
    let repetition = match kind {
        Kind::LlamaServer | Kind::LmStudio => "repeat_penalty",
        Kind::Vllm | Kind::Sglang | Kind::Monobloc => "repetition_penalty",
        Kind::Ollama | Kind::Other => return,
    };
    put(repetition, wish.repetition_penalty.map(number));
    put("top_k", wish.top_k.map(Value::from));
    if kind != Kind::LmStudio {
        put("min_p", wish.min_p.map(number));
    }
}
