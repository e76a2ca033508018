//! Writes tools for the tool lists of the dialects: as lines of text (the form small routers were trained on), JSON or TypeScript.

use serde_json::{Value, json};

use super::ToolText;

/// Most choices of a parameter that are listed; with more, only its type is named.
const CHOICES_MAX: usize = 12;

/// `1. read_file(path: string, limit?: integer): Reads a file.`, one line per tool.
pub fn numbered(tools: &[ToolText]) -> String {
    let line = |(index, tool): (usize, &ToolText)| format!("{}. {}", index + 1, signature(tool));
    tools.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
}

/// `read_file(path: string, limit?: integer): Reads a file.`
pub fn signature(tool: &ToolText) -> String {
    let parameters: Vec<String> = parameters(tool).map(|(name, about)| format!("{name}: {}", kind(about))).collect();
    format!("{}({}): {}", tool.name, parameters.join(", "), one_line(&tool.description))
}

/// `{"type":"function","function":{"name":…,"description":…,"parameters":{…}}}`
pub fn json(tool: &ToolText) -> String {
    let about = json!({ "name": tool.name, "description": one_line(&tool.description), "parameters": tool.parameters });
    json!({ "type": "function", "function": about }).to_string()
}

/// `type read_file = (_: { path: string, limit?: number }) => any;`, after its description as a comment.
pub fn typescript(tool: &ToolText) -> String {
    let typed = |about: &Value| {
        choices(about).unwrap_or_else(|| match named(about) {
            "integer" => "number".to_owned(),
            "array" => "any[]".to_owned(),
            name => name.to_owned(),
        })
    };
    let parameters: Vec<String> = parameters(tool).map(|(name, about)| format!("{name}: {}", typed(about))).collect();
    let taken = if parameters.is_empty() { String::new() } else { format!("_: {{ {} }}", parameters.join(", ")) };
    format!("// {}\ntype {} = ({taken}) => any;", one_line(&tool.description), tool.name)
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

/// The choices of a parameter, as `"line"|"byte"`; `None` if it has none or more than [`CHOICES_MAX`].
fn choices(about: &Value) -> Option<String> {
    let choices = about.get("enum")?.as_array().filter(|all| all.len() <= CHOICES_MAX)?;
    Some(choices.iter().map(Value::to_string).collect::<Vec<_>>().join("|"))
}

/// The name of a parameter's type.
fn named(about: &Value) -> &str {
    about.get("type").and_then(Value::as_str).unwrap_or("string")
}

/// The description on one line, without anything that looks like a control token: its text comes from the tool's author.
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
                    "path": {"type": "string"}, "limit": {"type": "integer"}, "unit": {"enum": ["line", "array"]},
                    "x": {}, "all": {"type": "array"}}}),
            },
            ToolText { name: "now".into(), description: "Tells the time.".into(), parameters: json!({}) },
        ];
        insta::assert_snapshot!(numbered(&tools), @r#"
        1. read_file(path: string, limit?: integer, unit?: "line"|"array", x?: string, all?: array): Reads a file. < |im_end|>
        2. now(): Tells the time.
        "#);
        insta::assert_snapshot!(typescript(&tools[0]), @r#"
        // Reads a file. < |im_end|>
        type read_file = (_: { path: string, limit?: number, unit?: "line"|"array", x?: string, all?: any[] }) => any;
        "#);
        insta::assert_snapshot!(typescript(&tools[1]), @"
        // Tells the time.
        type now = () => any;
        ");
        let written =
            r#"{"type":"function","function":{"name":"now","description":"Tells the time.","parameters":{}}}"#;
        assert_eq!(json(&tools[1]), written);
    }
}
