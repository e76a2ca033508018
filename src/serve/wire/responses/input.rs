//! Reads the `input` of a request to `/v1/responses`, which is text or a list of items, into turns.

use serde_json::{Value, json};

use super::tools;
use crate::serve::ask::Call;
use crate::serve::problem::Problem;
use crate::serve::wire::conversation::{self, Conversation};
use crate::serve::wire::fields;

pub fn conversation(instructions: Option<&str>, input: &Value) -> Result<Conversation, Problem> {
    let mut conversation = Conversation::default();
    conversation.say("instructions", "system", instructions.unwrap_or_default())?;
    match input {
        Value::Null => {}
        Value::String(text) => conversation.say("input", "user", text)?,
        Value::Array(items) => {
            for item in items {
                read_item(&mut conversation, item)?;
            }
        }
        _ => return Err(Problem::invalid("input", "`input` must be a string or a list of items")),
    }
    Ok(conversation)
}

/// Tools that codex sends as an input item, in addition to those in `tools`.
pub fn additional_tools(input: &Value) -> impl Iterator<Item = &Value> {
    let items = input.as_array().into_iter().flatten();
    items.filter(|item| item["type"] == "additional_tools").filter_map(|item| item["tools"].as_array()).flatten()
}

fn read_item(conversation: &mut Conversation, item: &Value) -> Result<(), Problem> {
    // The short form of a message has no type.
    let kind = item["type"].as_str().unwrap_or(if item.get("role").is_some() { "message" } else { "" });
    match kind {
        "message" => {
            let text = conversation.text("input", &item["content"])?;
            conversation.say("input", item["role"].as_str().unwrap_or_default(), &text)?;
        }
        "function_call" => conversation.call(call(item, &item["arguments"])),
        "custom_tool_call" => conversation.call(call(item, &json!({ tools::INPUT: item["input"] }))),
        "function_call_output" | "custom_tool_call_output" => {
            let text = conversation::result_text(&item["output"])?;
            conversation.result(item["call_id"].as_str().unwrap_or_default(), text);
        }
        "item_reference" => {
            let text = "answers are not stored, so items cannot be referenced; send the item itself";
            return Err(Problem::invalid("input", text));
        }
        // Reasoning, calls of OpenAI's own tools and items that only OpenAI can decrypt.
        _ => {}
    }
    Ok(())
}

fn call(item: &Value, arguments: &Value) -> Call {
    let name = tools::flat(item["namespace"].as_str(), item["name"].as_str().unwrap_or_default());
    fields::call(&item["call_id"], &name.into(), arguments)
}
