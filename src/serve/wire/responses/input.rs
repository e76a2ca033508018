//! Reads the `input` of a request to `/v1/responses`, a text or a list of items, into turns.

use serde_json::{Map, Value};

use super::tools;
use crate::serve::ask::{self, Call, Turn};
use crate::serve::problem::Problem;
use crate::serve::wire::conversation::{self, Conversation};

pub fn turns(instructions: Option<&str>, input: &Value) -> Result<Vec<Turn>, Problem> {
    let mut conversation = Conversation::default();
    conversation.system(instructions.unwrap_or_default());
    match input {
        Value::Null => {}
        Value::String(text) => conversation.user(text),
        Value::Array(items) => {
            for item in items {
                read_item(&mut conversation, item)?;
            }
        }
        _ => return Err(Problem::invalid("input", "`input` must be a text or a list of items")),
    }
    Ok(conversation.turns())
}

/// Tools that codex sends as an item of the input, beside those in `tools`.
pub fn additional_tools(input: &Value) -> impl Iterator<Item = &Value> {
    let items = input.as_array().into_iter().flatten();
    items.filter(|item| item["type"] == "additional_tools").filter_map(|item| item["tools"].as_array()).flatten()
}

fn read_item(conversation: &mut Conversation, item: &Value) -> Result<(), Problem> {
    // The short form of a message has no type.
    let kind = item["type"].as_str().unwrap_or(if item.get("role").is_some() { "message" } else { "" });
    match kind {
        "message" => read_message(conversation, item)?,
        "function_call" => conversation.call(call(item, arguments(&item["arguments"]))),
        "custom_tool_call" => {
            let input = Map::from_iter([(tools::INPUT.to_owned(), item["input"].clone())]);
            conversation.call(call(item, input));
        }
        // Such a call can only come from another server; the model sees what was run.
        "local_shell_call" => {
            let name = kind.trim_end_matches("_call").to_owned();
            let arguments = item["action"].as_object().cloned().unwrap_or_default();
            conversation.call(Call { name, ..call(item, arguments) });
        }
        "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
            let text = conversation::text(&item["output"], conversation::noted)?;
            conversation.result(call_id(item), text);
        }
        "item_reference" => {
            let text = "answers are not kept, so no item can be referred to; send the item itself";
            return Err(Problem::invalid("input", text));
        }
        // Reasoning, calls of OpenAI's own tools and what only OpenAI can decrypt.
        _ => {}
    }
    Ok(())
}

fn read_message(conversation: &mut Conversation, item: &Value) -> Result<(), Problem> {
    let text = conversation::text(&item["content"], |kind| Err(conversation::refused("input", kind)))?;
    match item["role"].as_str().unwrap_or_default() {
        "user" => conversation.user(&text),
        "assistant" => conversation.assistant(&text),
        "system" | "developer" => conversation.system(&text),
        role => {
            let text = format!("a message has the role `{role}`; it must be user, assistant, system or developer");
            return Err(Problem::invalid("input", text));
        }
    }
    Ok(())
}

fn call(item: &Value, arguments: Map<String, Value>) -> Call {
    let name = tools::flat(item["namespace"].as_str(), item["name"].as_str().unwrap_or_default());
    Call { id: call_id(item).to_owned(), name, arguments }
}

fn call_id(item: &Value) -> &str {
    item["call_id"].as_str().or_else(|| item["id"].as_str()).unwrap_or_default()
}

/// Arguments are the text of a JSON object; some clients send the object.
fn arguments(arguments: &Value) -> Map<String, Value> {
    match arguments {
        Value::Object(arguments) => arguments.clone(),
        arguments => ask::arguments(arguments.as_str().unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(input: Value, expected: &[Turn]) {
        assert_eq!(turns(None, &input).unwrap(), expected);
    }

    fn user(text: &str) -> Turn {
        Turn::User(text.to_owned())
    }

    fn call(id: &str, name: &str, key: &str, value: &str) -> Call {
        let arguments = Map::from_iter([(key.to_owned(), json!(value))]);
        Call { id: id.to_owned(), name: name.to_owned(), arguments }
    }

    #[test]
    fn a_text_is_a_message_of_the_user() {
        check(json!("hey"), &[user("hey")]);
        check(json!([{ "role": "user", "content": "hey" }]), &[user("hey")]);
        check(json!([{ "role": "developer", "content": "Be short." }]), &[Turn::System("Be short.".to_owned())]);
    }

    #[test]
    fn calls_and_their_outputs_become_turns() {
        let input = json!([
            { "role": "user", "content": [{ "type": "input_text", "text": "Fix it." }] },
            { "type": "reasoning", "summary": [], "encrypted_content": null },
            { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "I fix." }] },
            { "type": "function_call", "call_id": "1", "namespace": "mcp__docs", "name": "find",
              "arguments": "{\"query\":\"a\"}" },
            { "type": "custom_tool_call", "call_id": "2", "name": "apply_patch", "input": "*** Begin Patch" },
            { "type": "custom_tool_call_output", "call_id": "2", "output": "Done." },
            { "type": "function_call_output", "call_id": "1",
              "output": [{ "type": "input_text", "text": "found" }, { "type": "input_image", "image_url": "data:" }] },
        ]);
        let calls =
            vec![call("1", "mcp__docs__find", "query", "a"), call("2", "apply_patch", "input", "*** Begin Patch")];
        let expected = [
            user("Fix it."),
            Turn::Assistant { text: "I fix.".to_owned(), calls },
            Turn::Tool("found\n[a part of kind `input_image` is left out: only text can be read]".to_owned()),
            Turn::Tool("Done.".to_owned()),
        ];
        check(input, &expected);
    }

    #[test]
    fn an_image_of_the_user_is_refused() {
        let input = json!([{ "role": "user", "content": [{ "type": "input_image", "image_url": "data:" }] }]);
        assert_eq!(turns(None, &input).unwrap_err().field, Some("input"));
    }
}
