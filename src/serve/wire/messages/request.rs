//! Reads a request to `/v1/messages` into an `Ask`.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::serve::ask::{Ask, Model, Thoughts};
use crate::serve::problem::Problem;
use crate::serve::wire::body::{Fields, Ignored};
use crate::serve::wire::conversation::{self, Conversation};
use crate::serve::wire::fields;

/// Claude Code puts this line at the front of the system text:
/// `x-anthropic-billing-header: cc_version=…; cch=fa690;`. Its `cch` is new in each request. The
/// line is useless to the model, and would make every prompt begin differently, so that the cache
/// could not be used (ggml-org/llama.cpp#20623, anthropics/claude-code#68900).
const BILLING_LINE: &str = "x-anthropic-billing-header:";

#[derive(Debug, Deserialize)]
struct Message {
    role: String,
    #[serde(default)]
    content: Value,
}

/// The request in `fields`, from which `model` and `stream` have already been removed.
pub fn read(mut fields: Fields, model: Model) -> Result<(Ask, Ignored), Problem> {
    let mut conversation = Conversation::default();
    let system = fields.take::<Value>("system")?.unwrap_or_default();
    for block in blocks(&system) {
        let text = text(&mut conversation, "system", &system, block)?;
        conversation.say("system", "system", without_billing_line(&text))?;
    }
    for message in fields.take::<Vec<Message>>("messages")?.unwrap_or_default() {
        read_message(&mut conversation, &message)?;
    }
    let (tools, choice): (Option<Vec<Value>>, Option<Value>) = (fields.take("tools")?, fields.take("tool_choice")?);
    // Tools with a special type, such as `web_search_20250305`, run at Anthropic or have a special
    // schema.
    let tools = tools.iter().flatten().filter(|tool| matches!(tool["type"].as_str(), None | Some("custom")));
    let thinking: Option<Map<String, Value>> = fields.take("thinking")?;
    let output: Option<Map<String, Value>> = fields.take("output_config")?;
    let format = output.as_ref().and_then(|output| output.get("format"));
    let ask = Ask {
        tools: tools.map(|tool| fields::tool(tool, &tool["input_schema"])).collect::<Result<_, _>>()?,
        one_call: choice.as_ref().is_some_and(|choice| choice["disable_parallel_tool_use"] == true),
        choice: fields::choice(choice.as_ref())?,
        format: match fields.take::<Value>("output_format")? {
            None => fields::format("output_config", format)?,
            older => fields::format("output_format", older.as_ref())?,
        },
        max_tokens: fields.take("max_tokens")?,
        stop: fields.take("stop_sequences")?.unwrap_or_default(),
        sampling: fields.sampling()?,
        // Without the field, Anthropic's models do not think, and simple clients assume that the
        // first block is the text.
        thoughts: match &thinking {
            None => Thoughts::Off,
            given => fields::thinking(given.as_ref())?,
        },
        ..conversation.ask(model)
    };
    Ok((ask, fields.rest()?))
}

/// The blocks of a text; text without blocks is itself one block.
fn blocks(text: &Value) -> &[Value] {
    text.as_array().map_or(std::slice::from_ref(text), Vec::as_slice)
}

/// The text of a block of `content`, which may be the block itself.
fn text(
    conversation: &mut Conversation,
    field: &'static str,
    content: &Value,
    block: &Value,
) -> Result<String, Problem> {
    if content.is_array() { conversation.part(field, block) } else { conversation.text(field, block) }
}

fn without_billing_line(text: &str) -> &str {
    match text.split_once('\n') {
        _ if !text.starts_with(BILLING_LINE) => text,
        Some((_, rest)) => rest,
        None => "",
    }
}

fn read_message(conversation: &mut Conversation, message: &Message) -> Result<(), Problem> {
    for block in blocks(&message.content) {
        match block["type"].as_str().unwrap_or_default() {
            "tool_use" => conversation.call(fields::call(&block["id"], &block["name"], &block["input"])),
            "tool_result" => {
                let text = conversation::result_text(&block["content"])?;
                let text = if block["is_error"] == true { format!("Error: {text}") } else { text };
                conversation.result(block["tool_use_id"].as_str().unwrap_or_default(), text);
            }
            // The model does not reread thoughts from earlier turns, and this server has no tools
            // of its own to call.
            "thinking" | "redacted_thinking" | "server_tool_use" => {}
            kind if kind.ends_with("_tool_result") => {}
            // Claude Code inserts messages with the role `system` that state the remaining tokens.
            _ => {
                let text = text(conversation, "messages", &message.content, block)?;
                conversation.say("messages", &message.role, &text)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::serve::ask::{Choice, Turn};

    fn read(request: Value) -> Result<Ask, Problem> {
        super::read(Fields::of(&request), Model::Planner).map(|(ask, _)| ask)
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
        }))
        .unwrap();
        assert_eq!(ask.turns, [Turn::System("You are a coder.".to_owned()), user("hey")]);
        assert_eq!(ask.thoughts, Thoughts::Off, "a plain request");
        assert_eq!(without_billing_line("x-anthropic-billing-header: cch=1;\nBe short."), "Be short.");
        assert_eq!(without_billing_line("Be short.\nBe right."), "Be short.\nBe right.");
    }

    #[test]
    fn a_request_of_claude_code_is_read_with_calls_results_and_the_tools_of_the_client() {
        let ask = read(json!({
            "messages": [
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
            ],
            "tools": [
                { "name": "Read", "description": "Reads.", "input_schema": { "type": "object" } },
                { "type": "web_search_20250305", "name": "web_search" },
            ],
            "tool_choice": { "type": "tool", "name": "Read" },
            "thinking": { "type": "enabled", "budget_tokens": 1024 },
        }))
        .unwrap();
        let call = fields::call(&json!("toolu_1"), &json!("Read"), &json!({ "path": "a" }));
        let expected = [
            user("Read it."),
            Turn::Assistant { text: "I read.".to_owned(), calls: vec![call], thinking: String::new() },
            Turn::Tool("Error: no such file".to_owned()),
            user("Go on."),
        ];
        assert_eq!(ask.turns, expected);
        let names: Vec<_> = ask.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(
            (names, ask.choice, ask.thoughts),
            (vec!["Read"], Choice::Named("Read".to_owned()), Thoughts::Tokens(1024))
        );
    }

    #[test]
    fn what_changes_an_answer_and_is_not_honoured_is_refused_by_the_field() {
        let with = |name: &str, value: Value| {
            let mut request = json!({ "messages": [{ "role": "user", "content": "hey" }] });
            request[name] = value;
            read(request).err().and_then(|why| why.field)
        };
        for (field, value) in [
            ("mcp_servers", json!([{ "url": "https://a.example" }])),
            ("container", json!("c1")),
            ("stop_sequences", json!("END")),
            ("thinking", json!("much")),
            ("max_tokens", json!("all")),
            ("output_format", json!({ "type": "yaml" })),
        ] {
            assert_eq!(with(field, value), Some(field));
        }
        assert_eq!(with("mcp_servers", json!([])), None);
        assert_eq!(with("metadata", json!({ "user_id": "u" })), None);
    }

    #[test]
    fn a_block_without_a_type_is_refused() {
        let content = |content: Value| read(json!({ "messages": [{ "role": "user", "content": content }] }));
        assert!(content(json!([{ "a": 1 }])).unwrap_err().message.contains("`unknown`"));
        assert_eq!(content(json!({ "a": 1 })).unwrap().turns, [user("{\"a\":1}")]);
    }
}
