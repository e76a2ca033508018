//! OpenAI's `/v1/responses`, the only protocol that codex uses.

mod events;
mod input;
mod tools;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use serde_json::{Map, Value};

use self::events::Events;
use self::tools::Tools;
use super::body::{Fields, Ignored};
use super::fields;
use super::stream::answered;
use crate::serve::Server;
use crate::serve::ask::{Ask, Model};
use crate::serve::problem::Problem;

pub async fn create(State(server): State<Server>, body: Bytes) -> Result<Response, Problem> {
    let mut fields = Fields::read(&body)?;
    let model = fields.take::<String>("model")?.unwrap_or_default();
    let streams = fields.take("stream")?.unwrap_or(false);
    let (ask, tools, ignored) = read(fields, server.model(&model)?)?;
    let events = Events::new(model, &ask, tools);
    answered(streams, async move { server.reply(ask).await }, events).await.map(|response| ignored.told(response))
}

/// The request in `fields`, from which `model` and `stream` have already been removed, and the
/// client's tools.
fn read(mut fields: Fields, model: Model) -> Result<(Ask, Tools, Ignored), Problem> {
    needs_no_memory(&mut fields)?;
    // Events arrive unsplit, without padding to hide their length.
    fields.take::<Value>("stream_options")?;
    let input = fields.take::<Value>("input")?.unwrap_or_default();
    let mut tools = Tools::default();
    let given: Option<Vec<Value>> = fields.take("tools")?;
    for tool in given.iter().flatten().chain(input::additional_tools(&input)) {
        tools.add(None, tool)?;
    }
    let reasoning: Option<Map<String, Value>> = fields.take("reasoning")?;
    let effort = reasoning.as_ref().and_then(|reasoning| reasoning.get("effort")?.as_str());
    let text: Option<Map<String, Value>> = fields.take("text")?;
    let text = text.unwrap_or_default();
    if text.get("verbosity").is_some_and(|much| !much.is_null() && much != "medium") {
        return Err(Problem::invalid(
            "text",
            "`verbosity` is not supported; say in the input how long the answer should be",
        ));
    }
    let instructions: Option<String> = fields.take("instructions")?;
    let choice: Option<Value> = fields.take("tool_choice")?;
    let ask = Ask {
        choice: tools.choice(choice.as_ref())?,
        tools: tools.specs(),
        one_call: fields.take("parallel_tool_calls")? == Some(false),
        format: fields::format("text", text.get("format"))?,
        max_tokens: fields.take("max_output_tokens")?,
        sampling: fields.sampling()?,
        thoughts: fields::effort("reasoning", effort)?,
        ..input::conversation(instructions.as_deref(), &input)?.ask(model)
    };
    Ok((ask, tools, fields.rest()?))
}

/// Refuses fields that need a server with stored answers, or request parts of an answer that do not
/// exist here.
fn needs_no_memory(fields: &mut Fields) -> Result<(), Problem> {
    let asked: [(Option<Value>, &'static str, &str); 3] = [
        (fields.take("previous_response_id")?, "previous_response_id", "send the whole conversation in `input`"),
        (fields.take("conversation")?, "conversation", "send the whole conversation in `input`"),
        (fields.take("background")?, "background", "use `stream` to see the answer grow"),
    ];
    for (value, field, text) in asked {
        if value.is_some_and(|value| value != false) {
            return Err(Problem::invalid(field, format!("answers and conversations are not kept; {text}")));
        }
    }
    let include: Vec<String> = fields.take("include")?.unwrap_or_default();
    if include.iter().any(|part| part.contains("logprobs")) {
        return Err(Problem::invalid("include", "log-probabilities are given at /v1/chat/completions"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::serve::ask::{Choice, Format, Thoughts, Turn};

    fn read(request: Value) -> Result<Ask, Problem> {
        super::read(Fields::of(&request), Model::Planner).map(|(ask, ..)| ask)
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
            Turn::Assistant { text: "I fix.".to_owned(), calls, thinking: String::new() },
            Turn::Tool("found\n[a part of kind `input_image` is left out: only text can be read]".to_owned()),
            Turn::Tool("Done.".to_owned()),
        ];
        assert_eq!(ask.turns, expected);
        assert_eq!(ask.tools.iter().map(|tool| &tool.name).collect::<Vec<_>>(), ["shell", "look"]);
        assert_eq!((ask.choice, ask.format, ask.thoughts), (Choice::Auto, Format::Text, Thoughts::Share(50)));
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
    fn what_changes_an_answer_and_is_not_honoured_is_refused_by_the_field() {
        let check = |name: &str, value: Value, refused: Option<&str>| {
            let field = read(json!({ "input": "hey", name: value })).err().and_then(|why| why.field);
            assert_eq!(field, refused, "{name} {value}");
        };
        check("truncation", json!("auto"), Some("truncation"));
        check("prompt", json!({ "id": "p" }), Some("prompt"));
        check("include", json!(["message.output_text.logprobs"]), Some("include"));
        check("reasoning", json!({ "effort": "huge" }), Some("reasoning"));
        check("text", json!({ "verbosity": "low" }), Some("text"));
        check("text", json!("plain"), Some("text"));
        check("tools", json!({}), Some("tools"));
        check("background", json!(false), None);
        check("truncation", json!("disabled"), None);
        check("max_tool_calls", json!(4), None);
    }

    #[test]
    fn what_needs_a_memory_is_refused() {
        let check = |request: Value, field| assert_eq!(read(request).unwrap_err().field, Some(field));
        check(json!({ "input": "hey", "previous_response_id": "resp_1" }), "previous_response_id");
        check(json!({ "input": "hey", "conversation": "conv_1" }), "conversation");
        check(json!({ "input": "hey", "background": true }), "background");
        check(json!({ "input": "hey", "background": "yes" }), "background");
        check(json!({ "input": [{ "type": "item_reference", "id": "msg_1" }] }), "input");
        check(json!({ "input": "hey", "store": true }), "store");
    }
}
