//! OpenAI's `/v1/responses`, the only protocol that codex speaks.

mod events;
mod input;
mod tools;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use serde_json::Value;

use self::events::Events;
use self::tools::Tools;
use super::fields::{self, Given};
use super::read;
use super::stream::answered;
use crate::serve::Server;
use crate::serve::ask::{Ask, Model};
use crate::serve::problem::Problem;

pub async fn create(State(server): State<Server>, body: Bytes) -> Result<Response, Problem> {
    let request: Request = read(&body)?;
    let (model, streams) = (request.model.clone(), request.stream.unwrap_or(false));
    let (ask, tools) = request.ask(server.model(&model)?)?;
    let events = Events::new(model, &ask, tools);
    answered(streams, async move { server.reply(ask).await }, events).await
}

/// The fields that mean something here.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Request {
    model: String,
    input: Value,
    instructions: Option<String>,
    tools: Option<Vec<Value>>,
    tool_choice: Option<Value>,
    text: Option<Value>,
    reasoning: Option<Value>,
    max_output_tokens: Option<usize>,
    stream: Option<bool>,
    background: Option<bool>,
    previous_response_id: Option<String>,
    conversation: Option<Value>,
    #[serde(flatten)]
    given: Given,
}

impl Request {
    /// What is asked, with the client's tools.
    fn ask(self, model: Model) -> Result<(Ask, Tools), Problem> {
        // What needs a server that keeps answers.
        for (is_asked, field, text) in [
            (self.previous_response_id.is_some(), "previous_response_id", "send the whole conversation in `input`"),
            (self.conversation.is_some(), "conversation", "send the whole conversation in `input`"),
            (self.background == Some(true), "background", "use `stream` to see the answer grow"),
        ] {
            if is_asked {
                return Err(Problem::invalid(field, format!("answers and conversations are not kept; {text}")));
            }
        }
        let mut tools = Tools::default();
        for tool in self.tools.iter().flatten().chain(input::additional_tools(&self.input)) {
            tools.add(None, tool)?;
        }
        let effort = self.reasoning.as_ref().and_then(|reasoning| reasoning["effort"].as_str());
        let ask = Ask {
            choice: tools.choice(self.tool_choice.as_ref())?,
            tools: tools.specs(),
            format: fields::format("text", self.text.as_ref().and_then(|text| text.get("format")))?,
            max_tokens: self.max_output_tokens,
            sampling: self.given.sampling(),
            thinks: !matches!(effort, Some("none" | "minimal")),
            ..Ask::new(model, input::turns(self.instructions.as_deref(), &self.input)?)
        };
        Ok((ask, tools))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::serve::ask::{Choice, Format, Turn};

    fn read(request: Value) -> Result<Ask, Problem> {
        serde_json::from_value::<Request>(request).unwrap().ask(Model::Planner).map(|(ask, _)| ask)
    }

    #[test]
    fn a_request_of_codex_is_read() {
        let ask = read(json!({
            "model": "planner",
            "instructions": "You are a coder.",
            "input": [
                { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Fix it." }] },
                { "type": "reasoning", "summary": [], "encrypted_content": null },
                { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "I fix." }] },
                { "type": "function_call", "call_id": "1", "namespace": "mcp__docs", "name": "find",
                  "arguments": "{\"query\":\"a\"}" },
                { "type": "custom_tool_call", "call_id": "2", "name": "apply_patch", "input": "*** Begin Patch" },
                { "type": "custom_tool_call_output", "call_id": "2", "output": "Done." },
                { "type": "function_call_output", "call_id": "1", "output": [
                    { "type": "input_text", "text": "found" }, { "type": "input_image", "image_url": "data:" }] },
                { "type": "additional_tools", "tools": [{ "type": "function", "name": "look" }] },
            ],
            "tools": [
                { "type": "function", "name": "shell", "description": "Runs.", "strict": false,
                  "parameters": { "type": "object" } },
                { "type": "web_search" },
            ],
            "tool_choice": "auto", "parallel_tool_calls": false, "store": false, "stream": true, "include": [],
            "reasoning": { "effort": "medium", "summary": "auto" }, "prompt_cache_key": "1",
        }))
        .unwrap();
        let calls = vec![
            fields::call(&json!("1"), &json!("mcp__docs__find"), &json!({ "query": "a" })),
            fields::call(&json!("2"), &json!("apply_patch"), &json!({ "input": "*** Begin Patch" })),
        ];
        let expected = [
            Turn::System("You are a coder.".to_owned()),
            Turn::User("Fix it.".to_owned()),
            Turn::Assistant { text: "I fix.".to_owned(), calls },
            Turn::Tool("found\n[a part of kind `input_image` is left out: only text can be read]".to_owned()),
            Turn::Tool("Done.".to_owned()),
        ];
        assert_eq!(ask.turns, expected);
        assert_eq!(ask.tools.iter().map(|tool| &tool.name).collect::<Vec<_>>(), ["shell", "look"]);
        assert_eq!((ask.choice, ask.format, ask.thinks), (Choice::Auto, Format::Text, true));
    }

    #[test]
    fn the_input_may_be_a_text_or_messages_in_short() {
        let check = |input: Value, turn: Turn| {
            let ask = read(json!({ "input": input })).unwrap();
            assert_eq!(ask.turns, [turn]);
        };
        check(json!("hey"), Turn::User("hey".to_owned()));
        check(json!([{ "role": "user", "content": "hey" }]), Turn::User("hey".to_owned()));
        check(json!([{ "role": "developer", "content": "Be short." }]), Turn::System("Be short.".to_owned()));
    }

    #[test]
    fn what_needs_a_memory_is_refused() {
        let check = |request: Value, field| assert_eq!(read(request).unwrap_err().field, Some(field));
        check(json!({ "input": "hey", "previous_response_id": "resp_1" }), "previous_response_id");
        check(json!({ "input": "hey", "conversation": "conv_1" }), "conversation");
        check(json!({ "input": "hey", "background": true }), "background");
        check(json!({ "input": [{ "type": "item_reference", "id": "msg_1" }] }), "input");
    }
}
