//! Reads a request to `/v1/messages` into an `Ask`.

use serde::Deserialize;
use serde_json::Value;

use crate::serve::ask::{self, Ask, Call, Choice, Format, Model};
use crate::serve::problem::Problem;
use crate::serve::wire::chat::Given;
use crate::serve::wire::conversation::{self, Conversation};
use crate::tools::ToolSpec;

/// Claude Code puts this line at the front of the system text: `x-anthropic-billing-header: cc_version=…; cch=fa690;`.
/// Its `cch` is new in each request. The model has no use for the line, and with it no prompt would begin like the one
/// before, so that nothing of the cache could be used (ggml-org/llama.cpp#20623, anthropics/claude-code#68900).
const BILLING_LINE: &str = "x-anthropic-billing-header:";

/// The fields that mean something here.
#[derive(Debug, Deserialize)]
pub struct Request {
    #[serde(default)]
    pub model: String,
    #[serde(default)]
    messages: Vec<Message>,
    system: Option<Value>,
    tools: Option<Vec<Value>>,
    tool_choice: Option<ToolChoice>,
    max_tokens: Option<usize>,
    pub stop_sequences: Option<Vec<String>>,
    temperature: Option<f32>,
    top_p: Option<f32>,
    top_k: Option<usize>,
    thinking: Option<Value>,
    output_config: Option<Value>,
    pub stream: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct Message {
    role: String,
    #[serde(default)]
    content: Value,
}

#[derive(Debug, Deserialize)]
struct ToolChoice {
    #[serde(rename = "type")]
    kind: String,
    name: Option<String>,
}

impl Request {
    pub fn ask(self, model: Model) -> Result<Ask, Problem> {
        let mut conversation = Conversation::default();
        for text in system_texts(self.system.as_ref())? {
            conversation.system(&text);
        }
        for message in &self.messages {
            read_message(&mut conversation, message)?;
        }
        let mut ask = Ask::new(model, conversation.turns());
        ask.tools = tools(self.tools.as_deref().unwrap_or_default())?;
        ask.choice = choice(self.tool_choice)?;
        ask.format = format(self.output_config.as_ref())?;
        ask.max_tokens = self.max_tokens;
        ask.stop = self.stop_sequences.unwrap_or_default();
        let (temperature, top_p, top_k) = (self.temperature, self.top_p, self.top_k);
        ask.sampling = Given { temperature, top_p, top_k, ..Given::default() }.sampling();
        // Without the field Anthropic's models do not think, and simple clients take the first block for the text.
        ask.thinks = self.thinking.is_some_and(|thinking| thinking["type"] != "disabled");
        Ok(ask)
    }
}

/// The texts of `system`, a string or blocks, without the line that changes.
fn system_texts(system: Option<&Value>) -> Result<Vec<String>, Problem> {
    let blocks: &[Value] = match system {
        None => &[],
        Some(Value::Array(blocks)) => blocks.as_slice(),
        Some(text) => std::slice::from_ref(text),
    };
    let refuse = |kind: &str| Err(conversation::refused("system", kind));
    let read = |block: &Value| {
        let text = conversation::text(&Value::Array(vec![block.clone()]), refuse)?;
        Ok(without_billing_line(&text).to_owned())
    };
    blocks.iter().map(read).collect()
}

fn without_billing_line(text: &str) -> &str {
    match text.split_once('\n') {
        _ if !text.starts_with(BILLING_LINE) => text,
        Some((_, rest)) => rest,
        None => "",
    }
}

fn read_message(conversation: &mut Conversation, message: &Message) -> Result<(), Problem> {
    let refuse = |kind: &str| Err(conversation::refused("messages", kind));
    let Value::Array(blocks) = &message.content else {
        let text = conversation::text(&message.content, refuse)?;
        return say(conversation, &message.role, &text);
    };
    for block in blocks {
        match block["type"].as_str().unwrap_or_default() {
            "tool_use" => conversation.call(call(block)),
            "tool_result" => {
                let text = conversation::text(&block["content"], conversation::noted)?;
                let text = if block["is_error"] == true { format!("Error: {text}") } else { text };
                conversation.result(block["tool_use_id"].as_str().unwrap_or_default(), text);
            }
            // Thoughts of earlier turns are not read again, and this server has no tools of its own that it called.
            "thinking" | "redacted_thinking" | "server_tool_use" => {}
            kind if kind.ends_with("_tool_result") => {}
            _ => {
                let text = conversation::text(&Value::Array(vec![block.clone()]), refuse)?;
                say(conversation, &message.role, &text)?;
            }
        }
    }
    Ok(())
}

fn say(conversation: &mut Conversation, role: &str, text: &str) -> Result<(), Problem> {
    match role {
        "user" => conversation.user(text),
        "assistant" => conversation.assistant(text),
        // Claude Code adds such messages in the middle, with the tokens that are left.
        "system" => conversation.system(text),
        _ => {
            let text = format!("a message has the role `{role}`; it must be user, assistant or system");
            return Err(Problem::invalid("messages", text));
        }
    }
    Ok(())
}

fn call(block: &Value) -> Call {
    let text = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
    Call { id: text("id"), name: text("name"), arguments: block["input"].as_object().cloned().unwrap_or_default() }
}

/// The tools that the client runs. Those with a kind of their own, such as `web_search_20250305`, run at Anthropic or
/// have a schema that only its models know.
fn tools(tools: &[Value]) -> Result<Vec<ToolSpec>, Problem> {
    let text = |tool: &Value, key: &str| tool[key].as_str().map(str::to_owned);
    tools
        .iter()
        .filter(|tool| matches!(tool["type"].as_str(), None | Some("custom")))
        .map(|tool| {
            let name = text(tool, "name").unwrap_or_default();
            ask::tool(name, text(tool, "description"), tool.get("input_schema").cloned())
        })
        .collect()
}

fn choice(choice: Option<ToolChoice>) -> Result<Choice, Problem> {
    let Some(ToolChoice { kind, name }) = choice else { return Ok(Choice::Auto) };
    match (kind.as_str(), name) {
        ("auto", _) => Ok(Choice::Auto),
        ("none", _) => Ok(Choice::None),
        ("any", _) => Ok(Choice::Required),
        ("tool", Some(name)) => Ok(Choice::Named(name)),
        ("tool", None) => Err(Problem::invalid("tool_choice", "`tool_choice` is `tool` but has no `name`")),
        _ => {
            let text = format!("`tool_choice` is `{kind}`; it must be auto, any, tool or none");
            Err(Problem::invalid("tool_choice", text))
        }
    }
}

/// `output_config.format`, a JSON schema.
fn format(config: Option<&Value>) -> Result<Format, Problem> {
    let Some(format) = config.and_then(|config| config.get("format")).filter(|format| !format.is_null()) else {
        return Ok(Format::Text);
    };
    match (format["type"].as_str(), format.get("schema")) {
        (Some("json_schema"), Some(schema)) if schema.is_object() => Ok(Format::Schema(schema.clone())),
        _ => Err(Problem::invalid("output_config", "`format` must be of type json_schema with a `schema`")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;
    use crate::serve::ask::Turn;

    fn read(request: Value) -> Result<Ask, Problem> {
        serde_json::from_value::<Request>(request).unwrap().ask(Model::Planner)
    }

    fn user(text: &str) -> Turn {
        Turn::User(text.to_owned())
    }

    #[test]
    fn the_line_that_changes_with_each_request_is_dropped() {
        let ask = read(json!({
            "system": [
                { "type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.37.0d9; cch=fa690;" },
                { "type": "text", "text": "You are a coder.", "cache_control": { "type": "ephemeral" } },
            ],
            "messages": [{ "role": "user", "content": "hey" }],
        }));
        assert_eq!(ask.unwrap().turns, [Turn::System("You are a coder.".to_owned()), user("hey")]);
        assert_eq!(without_billing_line("x-anthropic-billing-header: cch=1;\nBe short."), "Be short.");
        assert_eq!(without_billing_line("Be short.\nBe right."), "Be short.\nBe right.");
    }

    #[test]
    fn tool_calls_and_results_become_turns() {
        let ask = read(json!({ "messages": [
            { "role": "user", "content": [{ "type": "text", "text": "Read it." }] },
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "hm", "signature": "" },
                { "type": "text", "text": "I read." },
                { "type": "tool_use", "id": "toolu_1", "name": "Read", "input": { "path": "a" } },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "toolu_1", "is_error": true,
                  "content": [{ "type": "text", "text": "no such file" }] },
                { "type": "text", "text": "Go on." },
            ] },
        ] }));
        let arguments = Map::from_iter([("path".to_owned(), json!("a"))]);
        let call = Call { id: "toolu_1".to_owned(), name: "Read".to_owned(), arguments };
        let expected = [
            user("Read it."),
            Turn::Assistant { text: "I read.".to_owned(), calls: vec![call] },
            Turn::Tool("Error: no such file".to_owned()),
            user("Go on."),
        ];
        assert_eq!(ask.unwrap().turns, expected);
    }

    #[test]
    fn only_tools_of_the_client_are_offered() {
        let ask = read(json!({
            "messages": [{ "role": "user", "content": "hey" }],
            "tools": [
                { "name": "Read", "description": "Reads.", "input_schema": { "type": "object" } },
                { "type": "web_search_20250305", "name": "web_search" },
            ],
            "tool_choice": { "type": "tool", "name": "Read" },
            "thinking": { "type": "enabled", "budget_tokens": 1024 },
        }))
        .unwrap();
        let names: Vec<_> = ask.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["Read"]);
        assert_eq!(ask.choice, Choice::Named("Read".to_owned()));
        assert!(ask.thinks);
    }

    #[test]
    fn a_plain_request_does_not_think() {
        assert!(!read(json!({ "messages": [{ "role": "user", "content": "hey" }] })).unwrap().thinks);
    }

    #[test]
    fn an_image_of_the_user_is_refused() {
        let content = json!([{ "type": "image", "source": { "type": "base64", "data": "" } }]);
        let problem = read(json!({ "messages": [{ "role": "user", "content": content }] })).unwrap_err();
        assert_eq!(problem.field, Some("messages"));
    }
}
