//! Reads a chat request, leniently: what is not known is left alone, what cannot be done is refused by name.

use serde::Deserialize;
use serde_json::Value;

use crate::engine::Sampling;
use crate::serve::ask::{Ask, Call, Choice, Format, Model, Turn, arguments, tool};
use crate::serve::problem::Problem;
use crate::serve::wire::conversation::{self, Conversation};
use crate::serve::wire::{limit, or_default, planner};

/// Most of the likeliest tokens that are given beside each token.
const TOP_LOGPROBS_MAX: usize = 20;

#[derive(Deserialize)]
pub struct Request {
    #[serde(default = "planner")]
    pub model: String,
    messages: Vec<Message>,
    #[serde(default)]
    tools: Option<Vec<Tool>>,
    tool_choice: Option<Value>,
    response_format: Option<Value>,
    #[serde(default, deserialize_with = "limit")]
    max_tokens: Option<usize>,
    #[serde(default, deserialize_with = "limit")]
    max_completion_tokens: Option<usize>,
    stop: Option<OneOrMore>,
    temperature: Option<f32>,
    top_p: Option<f32>,
    #[serde(default, deserialize_with = "limit")]
    top_k: Option<usize>,
    min_p: Option<f32>,
    frequency_penalty: Option<f32>,
    presence_penalty: Option<f32>,
    repetition_penalty: Option<f32>,
    seed: Option<i64>,
    n: Option<usize>,
    #[serde(default)]
    logprobs: Option<bool>,
    top_logprobs: Option<usize>,
    reasoning_effort: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub stream: bool,
    stream_options: Option<StreamOptions>,
}

#[derive(Deserialize)]
struct StreamOptions {
    #[serde(default, deserialize_with = "or_default")]
    include_usage: bool,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    #[serde(default)]
    content: Value,
    #[serde(default, deserialize_with = "or_default")]
    tool_call_id: String,
    tool_calls: Option<Vec<ToolCall>>,
}

#[derive(Deserialize)]
struct ToolCall {
    #[serde(default)]
    id: String,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    #[serde(default)]
    arguments: Value,
}

#[derive(Deserialize)]
struct Tool {
    function: Option<Described>,
}

#[derive(Deserialize)]
struct Described {
    name: String,
    description: Option<String>,
    parameters: Option<Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl From<OneOrMore> for Vec<String> {
    fn from(texts: OneOrMore) -> Vec<String> {
        match texts {
            OneOrMore::One(text) => vec![text],
            OneOrMore::More(texts) => texts,
        }
    }
}

impl Request {
    /// Whether the last event of a stream is to say what the answer took.
    pub fn wants_usage(&self) -> bool {
        self.stream_options.as_ref().is_some_and(|options| options.include_usage)
    }

    pub fn ask(self, model: impl Fn(&str) -> Result<Model, Problem>) -> Result<Ask, Problem> {
        if self.n.is_some_and(|n| n != 1) {
            return Err(Problem::invalid("n", "one answer is given to a request; send it again for more"));
        }
        let sampling = Given {
            temperature: self.temperature,
            top_p: self.top_p,
            top_k: self.top_k,
            min_p: self.min_p,
            frequency_penalty: self.frequency_penalty,
            presence_penalty: self.presence_penalty,
            repetition_penalty: self.repetition_penalty,
            seed: self.seed,
        };
        let described = self.tools.unwrap_or_default().into_iter().filter_map(|tool| tool.function);
        let tools = described.map(|tool_| tool(tool_.name, tool_.description, tool_.parameters));
        let top = self.top_logprobs.unwrap_or(0);
        if top > TOP_LOGPROBS_MAX {
            let text = format!("{top} tokens are too many; at most {TOP_LOGPROBS_MAX} are given beside each");
            return Err(Problem::invalid("top_logprobs", text));
        }
        Ok(Ask {
            tools: tools.collect::<Result<_, _>>()?,
            choice: choice(self.tool_choice.as_ref())?,
            format: format(self.response_format.as_ref())?,
            max_tokens: self.max_completion_tokens.or(self.max_tokens),
            stop: self.stop.map(Into::into).unwrap_or_default(),
            sampling: sampling.sampling(),
            thinks: self.reasoning_effort.as_deref() != Some("none"),
            logprobs: (self.logprobs == Some(true)).then_some(top),
            ..Ask::new(model(&self.model)?, turns(self.messages)?)
        })
    }
}

/// The sampling options that a request gives.
#[derive(Default)]
pub struct Given {
    pub temperature: Option<f32>,
    pub top_p: Option<f32>,
    pub top_k: Option<usize>,
    pub min_p: Option<f32>,
    pub frequency_penalty: Option<f32>,
    pub presence_penalty: Option<f32>,
    pub repetition_penalty: Option<f32>,
    pub seed: Option<i64>,
}

impl Given {
    /// Without a temperature the likeliest token is taken: small models do best so. With one, llama.cpp's truncations hold.
    pub fn sampling(self) -> Sampling {
        let plain = Sampling::prose();
        Sampling {
            temperature: self.temperature.unwrap_or(plain.temperature),
            top_k: self.top_k.unwrap_or(40),
            top_p: self.top_p.unwrap_or(0.95),
            min_p: self.min_p.unwrap_or(0.05),
            frequency_penalty: self.frequency_penalty.unwrap_or(plain.frequency_penalty),
            presence_penalty: self.presence_penalty.unwrap_or(plain.presence_penalty),
            repetition_penalty: self.repetition_penalty.unwrap_or(plain.repetition_penalty),
            seed: self.seed.map_or_else(|| fastrand::u64(..), |seed| seed as u64),
            ..plain
        }
    }
}

fn turns(messages: Vec<Message>) -> Result<Vec<Turn>, Problem> {
    let mut conversation = Conversation::default();
    for message in messages {
        let is_result = matches!(message.role.as_str(), "tool" | "function");
        let refuse = |kind: &str| Err(conversation::refused("messages", kind));
        let text =
            conversation::text(
                &message.content,
                |kind| if is_result { conversation::noted(kind) } else { refuse(kind) },
            )?;
        match message.role.as_str() {
            "system" | "developer" => conversation.system(&text),
            "user" => conversation.user(&text),
            "tool" | "function" => conversation.result(&message.tool_call_id, text),
            "assistant" => {
                conversation.assistant(&text);
                message.tool_calls.unwrap_or_default().into_iter().for_each(|call| conversation.call(call.read()));
            }
            other => {
                let text = format!("`{other}` is no role; a message is of system, developer, user, assistant or tool");
                return Err(Problem::invalid("messages", text));
            }
        }
    }
    Ok(conversation.turns())
}

impl ToolCall {
    fn read(self) -> Call {
        let arguments = match self.function.arguments {
            Value::String(text) => arguments(&text),
            Value::Object(given) => given,
            _ => serde_json::Map::new(),
        };
        Call { id: self.id, name: self.function.name, arguments }
    }
}

/// `"auto"`, `"none"`, `"required"`, or an object with the function's name.
fn choice(given: Option<&Value>) -> Result<Choice, Problem> {
    let Some(given) = given else { return Ok(Choice::Auto) };
    match (given.as_str(), given.pointer("/function/name").and_then(Value::as_str)) {
        (_, Some(name)) => Ok(Choice::Named(name.to_owned())),
        (Some("auto"), _) => Ok(Choice::Auto),
        (Some("none"), _) => Ok(Choice::None),
        (Some("required" | "any"), _) => Ok(Choice::Required),
        _ if given.is_null() => Ok(Choice::Auto),
        _ => Err(Problem::invalid("tool_choice", format!("{given} is none of auto, none, required or a function"))),
    }
}

/// The form of a `response_format`: `text`, `json_object`, or `json_schema` with a schema.
fn format(given: Option<&Value>) -> Result<Format, Problem> {
    let Some(given) = given.filter(|given| !given.is_null()) else { return Ok(Format::Text) };
    match given.get("type").and_then(Value::as_str) {
        Some("text") => Ok(Format::Text),
        Some("json_object") => {
            Ok(given.get("schema").map_or_else(Format::object, |schema| Format::Schema(schema.clone())))
        }
        Some("json_schema") => {
            let schema = given.pointer("/json_schema/schema").or_else(|| given.get("schema"));
            let schema =
                schema.ok_or_else(|| Problem::invalid("response_format", "json_schema comes without a schema"))?;
            Ok(Format::Schema(schema.clone()))
        }
        _ => Err(Problem::invalid("response_format", "its type is none of text, json_object, json_schema")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(request: Value) -> Result<Ask, Problem> {
        let request: Request = serde_json::from_value(request).unwrap();
        request.ask(|_| Ok(Model::Planner))
    }

    #[test]
    fn a_conversation_with_calls_and_results_is_read_in_order() {
        let ask = read(json!({ "model": "planner", "unknown": 1, "messages": [
            { "role": "developer", "content": "Be brief." },
            { "role": "user", "content": [{ "type": "text", "text": "List" }, { "type": "text", "text": "it." }] },
            { "role": "assistant", "content": null, "tool_calls": [
                { "id": "c1", "type": "function", "function": { "name": "ls", "arguments": "{\"path\": \".\"}" } }] },
            { "role": "tool", "tool_call_id": "c1", "content": "a.rs" },
        ]}));
        let call = Call { id: "c1".into(), name: "ls".into(), arguments: arguments("{\"path\": \".\"}") };
        let expected = [
            Turn::System("Be brief.".into()),
            Turn::User("List\nit.".into()),
            Turn::Assistant { text: String::new(), calls: vec![call] },
            Turn::Tool("a.rs".into()),
        ];
        assert_eq!(ask.unwrap().turns, expected);
    }

    #[test]
    fn what_cannot_be_done_is_refused_by_the_field() {
        let with = |name: &str, value: Value| {
            let mut request = json!({ "messages": [{ "role": "user", "content": "Hi" }] });
            request[name] = value;
            read(request).and_then(Ask::checked).err().and_then(|problem| problem.field)
        };
        assert_eq!(with("n", json!(2)), Some("n"));
        assert_eq!(with("top_logprobs", json!(21)), Some("top_logprobs"));
        assert_eq!(with("tool_choice", json!("required")), Some("tool_choice"));
        assert_eq!(with("response_format", json!({ "type": "xml" })), Some("response_format"));
        assert_eq!(with("temperature", json!(-1)), Some("temperature"));
        assert_eq!(with("messages", json!([])), Some("messages"));
        let image = json!([{ "role": "user", "content": [{ "type": "image_url", "image_url": { "url": "x" } }] }]);
        assert_eq!(with("messages", image), Some("messages"));
        assert_eq!(with("max_tokens", json!(5)), None);
        assert_eq!(with("max_tokens", json!(-1)), None, "no limit");
        assert_eq!(with("stream", json!(null)), None);
    }

    #[test]
    fn the_forms_of_tool_choice_and_answer_are_read() {
        let named = json!({ "type": "function", "function": { "name": "ls" } });
        assert_eq!(choice(Some(&named)), Ok(Choice::Named("ls".into())));
        assert_eq!(choice(Some(&json!("none"))), Ok(Choice::None));
        let schema = json!({ "type": "json_schema", "json_schema": { "name": "x", "schema": { "type": "string" } } });
        assert_eq!(format(Some(&schema)), Ok(Format::Schema(json!({ "type": "string" }))));
        assert_eq!(format(Some(&json!({ "type": "json_object" }))), Ok(Format::object()));
    }
}
