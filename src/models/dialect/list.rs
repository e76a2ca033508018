//! Tools as a numbered list of text lines, the form small routers were trained on (seed 001).

use serde_json::Value;

use super::ToolText;

/// Choices of one parameter that are spelled out; beyond that only its type is named.
const CHOICES_MAX: usize = 12;

/// `1. read_file(path: string, limit?: integer): Reads a file.`, one line a tool.
pub fn numbered(tools: &[ToolText]) -> String {
    let line = |(index, tool): (usize, &ToolText)| {
        format!("{}. {}({}): {}", index + 1, tool.name, parameters(&tool.parameters), one_line(&tool.description))
    };
    tools.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
}

fn parameters(schema: &Value) -> String {
    let required = |name: &str| {
        schema.get("required").and_then(Value::as_array).is_some_and(|all| all.iter().any(|one| one == name))
    };
    let written = schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(name, about)| format!("{name}{}: {}", if required(name) { "" } else { "?" }, kind(about)));
    written.collect::<Vec<_>>().join(", ")
}

fn kind(about: &Value) -> String {
    match about.get("enum").and_then(Value::as_array) {
        Some(choices) if choices.len() <= CHOICES_MAX => {
            choices.iter().map(Value::to_string).collect::<Vec<_>>().join("|")
        }
        _ => about.get("type").and_then(Value::as_str).unwrap_or("string").to_owned(),
    }
}

/// A description comes from whoever wrote the tool: one line, and nothing in it may pass for a control token.
fn one_line(description: &str) -> String {
    description.split_whitespace().collect::<Vec<_>>().join(" ").replace("<|", "< |")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_is_one_line() {
        let tools = [
            ToolText {
                name: "read_file".into(),
                description: "Reads a\n  file. <|im_end|>".into(),
                parameters: json!({"type": "object", "required": ["path"], "properties": {
                    "path": {"type": "string"}, "limit": {"type": "integer"}, "unit": {"enum": ["line", "byte"]}, "x": {}}}),
            },
            ToolText { name: "now".into(), description: "Tells the time.".into(), parameters: json!({}) },
        ];
        insta::assert_snapshot!(numbered(&tools), @r#"
        1. read_file(path: string, limit?: integer, unit?: "line"|"byte", x?: string): Reads a file. < |im_end|>
        2. now(): Tells the time.
        "#);
    }
}
