//! Writes tools as lines of text, for models whose template does not support tools.

use serde_json::Value;

use super::chat::ToolText;

/// Maximum number of choices to list for a parameter; if there are more, only its type is given.
const CHOICES_MAX: usize = 12;

/// `1. read_file(path: string, limit?: integer): Reads a file.`, one line per tool.
pub fn numbered(tools: &[ToolText]) -> String {
    let line = |(index, tool): (usize, &ToolText)| format!("{}. {}", index + 1, signature(tool));
    tools.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
}

/// `read_file(path: string, limit?: integer): Reads a file.`
fn signature(tool: &ToolText) -> String {
    let parameters: Vec<String> = parameters(tool).map(|(name, about)| format!("{name}: {}", kind(about))).collect();
    format!("{}({}): {}", tool.name, parameters.join(", "), one_line(&tool.description))
}

/// Name and schema of each parameter; names of optional ones end in a question mark.
fn parameters(tool: &ToolText) -> impl Iterator<Item = (String, &Value)> {
    let required = tool.parameters.get("required").and_then(Value::as_array);
    let is_required = move |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    let properties = tool.parameters.get("properties").and_then(Value::as_object).into_iter().flatten();
    properties.map(move |(name, about)| (format!("{name}{}", if is_required(name) { "" } else { "?" }), about))
}

fn kind(about: &Value) -> String {
    choices(about).unwrap_or_else(|| named(about).to_owned())
}

/// The choices of a parameter in the form `"line"|"byte"`; `None` if it has none or more than
/// [`CHOICES_MAX`].
fn choices(about: &Value) -> Option<String> {
    let choices = about.get("enum")?.as_array().filter(|all| all.len() <= CHOICES_MAX)?;
    Some(choices.iter().map(Value::to_string).collect::<Vec<_>>().join("|"))
}

/// The name of a parameter's type.
fn named(about: &Value) -> &str {
    about.get("type").and_then(Value::as_str).unwrap_or("string")
}

fn one_line(description: &str) -> String {
    description.split_whitespace().collect::<Vec<_>>().join(" ")
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
                description: "Reads a\n  file.".into(),
                parameters: json!({"type": "object", "required": ["path"], "properties": {
                    "path": {"type": "string"}, "limit": {"type": "integer"}, "unit": {"enum": ["line", "array"]},
                    "x": {}, "all": {"type": "array"}}}),
            },
            ToolText { name: "now".into(), description: "Tells the time.".into(), parameters: json!({}) },
        ];
        insta::assert_snapshot!(numbered(&tools), @r#"
        1. read_file(path: string, limit?: integer, unit?: "line"|"array", x?: string, all?: array): Reads a file.
        2. now(): Tells the time.
        "#);
    }
}
