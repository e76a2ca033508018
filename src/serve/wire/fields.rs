//! Reads fields that protocols write in different forms: tools, calls, tool choice, answer format, thoughts.

use serde_json::{Map, Value, json};

use crate::engine::expressible::{Expressible, expressible};
use crate::serve::ask::{Call, Choice, Format, Thoughts};
use crate::serve::problem::Problem;
use crate::tools::ToolSpec;
use crate::tools::schema::standalone;

/// A client's tool with the name and description in `described`. `parameters` is a JSON schema;
/// without one the tool takes no arguments.
pub fn tool(described: &Value, parameters: &Value) -> Result<ToolSpec, Problem> {
    let text = |key: &str| described[key].as_str().unwrap_or_default().to_owned();
    let name = text("name");
    if name.is_empty() {
        return Err(Problem::invalid("tools", "a tool has no name"));
    }
    let parameters = match parameters {
        Value::Object(_) => standalone(parameters.clone()),
        Value::Null => json!({ "type": "object", "properties": {} }),
        other => {
            // A badly described tool does not make the others unusable.
            tracing::warn!(tool = name, %other, "the parameters are not a JSON schema; the tool accepts any arguments");
            json!({ "type": "object" })
        }
    };
    let (description, server) = (text("description"), String::new());
    Ok(ToolSpec { name, description, server, mutates: true, destructive: true, parameters, ..ToolSpec::default() })
}

/// The thinking limit for the effort requested in `field`, as a share of the answer's tokens, a
/// quarter of which the engine reserves for text.
pub fn effort(field: &'static str, effort: Option<&str>) -> Result<Thoughts, Problem> {
    match effort {
        None => Ok(Thoughts::Own),
        Some("none" | "minimal") => Ok(Thoughts::Off),
        Some("low") => Ok(Thoughts::Share(20)),
        Some("medium") => Ok(Thoughts::Share(50)),
        Some("high" | "xhigh" | "max") => Ok(Thoughts::Share(75)),
        Some(other) => {
            let text = format!("`{other}` is not an effort; send none, minimal, low, medium, high, xhigh or max");
            Err(Problem::invalid(field, text))
        }
    }
}

/// Anthropic's `thinking`, which clients also send to other servers:
/// `{"type": "enabled", "budget_tokens": N}`, `disabled` or `adaptive`.
pub fn thinking(given: Option<&Map<String, Value>>) -> Result<Thoughts, Problem> {
    let Some(given) = given else { return Ok(Thoughts::Own) };
    let budget = given.get("budget_tokens").filter(|budget| !budget.is_null());
    match (given.get("type").and_then(Value::as_str), budget) {
        (Some("disabled"), _) => Ok(Thoughts::Off),
        (Some("enabled" | "adaptive") | None, None) => Ok(Thoughts::Own),
        (Some("enabled" | "adaptive") | None, Some(budget)) => tokens("thinking", budget),
        (Some(other), _) => Err(Problem::invalid(
            "thinking",
            format!("the type `{other}` is not known; send enabled, disabled or adaptive"),
        )),
    }
}

/// A number of tokens for thoughts; if it is negative, only the engine's limit applies.
pub fn tokens(field: &'static str, given: &Value) -> Result<Thoughts, Problem> {
    let wrong = || {
        Problem::invalid(
            field,
            format!("a budget must be a number of tokens, not {given}; send 0 or, for example, 1024"),
        )
    };
    match given.as_i64().ok_or_else(wrong)? {
        0 => Ok(Thoughts::Off),
        negative if negative < 0 => Ok(Thoughts::Share(100)),
        tokens => Ok(Thoughts::Tokens(usize::try_from(tokens).unwrap_or(usize::MAX))),
    }
}

/// A call sent back by a client. Its arguments are a JSON object, or the text of one.
pub fn call(id: &Value, name: &Value, arguments: &Value) -> Call {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let arguments = match arguments {
        Value::Object(given) => given.clone(),
        Value::String(text) => match serde_json::from_str(text) {
            Ok(Value::Object(given)) => given,
            _ if text.trim().is_empty() => Map::new(),
            // A text that cannot be parsed is still shown to the model.
            _ => Map::from_iter([("arguments".to_owned(), arguments.clone())]),
        },
        _ => Map::new(),
    };
    Call { id: text(id), name: text(name), arguments }
}

/// `tool_choice`: a word, or an object that names a tool or has that word as its `type`.
pub fn choice(given: Option<&Value>) -> Result<Choice, Problem> {
    let Some(given) = given.filter(|given| !given.is_null()) else { return Ok(Choice::Auto) };
    let name = given.pointer("/function/name").unwrap_or(&given["name"]).as_str();
    match (given.as_str().or_else(|| given["type"].as_str()), name) {
        (None | Some("function" | "tool" | "custom"), Some(name)) => Ok(Choice::Named(name.to_owned())),
        (Some("auto"), _) => Ok(Choice::Auto),
        (Some("none"), _) => Ok(Choice::None),
        (Some("required" | "any"), _) => Ok(Choice::Required),
        _ => {
            let text = format!("`tool_choice` cannot be {given}; it must be auto, none, required (any) or name a tool");
            Err(Problem::invalid("tool_choice", text))
        }
    }
}

/// The form of the answer, of type `text`, `json_object` or `json_schema`; `field` is the name of
/// the request field.
pub fn format(field: &'static str, given: Option<&Value>) -> Result<Format, Problem> {
    let Some(given) = given.filter(|given| !given.is_null()) else { return Ok(Format::Text) };
    let schema =
        given.pointer("/json_schema/schema").or_else(|| given.get("schema")).filter(|schema| !schema.is_null());
    match (given["type"].as_str(), schema) {
        (Some("text"), _) => Ok(Format::Text),
        (Some("json_object"), None) => Ok(Format::Schema(json!({ "type": "object" }))),
        (Some("json_object" | "json_schema"), Some(schema @ Value::Object(_))) => {
            kept(field, schema).map(Format::Schema)
        }
        (Some("json_object" | "json_schema"), _) => Err(Problem::invalid(
            field,
            "the `schema` of a format must be a JSON object; the type json_schema requires one",
        )),
        (kind, _) => {
            let kind = kind.map_or_else(|| given.to_string(), str::to_owned);
            let text =
                format!("the format `{kind}` is unknown; it must have the type text, json_object or json_schema");
            Err(Problem::invalid(field, text))
        }
    }
}

/// The part of a schema that is enforced; the log lists the rest.
fn kept(field: &'static str, schema: &Value) -> Result<Value, Problem> {
    let Expressible { schema, notes } =
        expressible(&standalone(schema.clone())).map_err(|why| Problem::invalid(field, why))?;
    for note in notes {
        tracing::warn!(field, note, "a schema is only partly enforced");
    }
    Ok(schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_choice_is_read_in_the_shape_of_every_protocol() {
        let check = |given: Value, expected: Option<Choice>| assert_eq!(choice(Some(&given)).ok(), expected, "{given}");
        let named = || Some(Choice::Named("ls".to_owned()));
        check(json!({ "type": "function", "function": { "name": "ls" } }), named());
        check(json!({ "type": "function", "name": "ls" }), named());
        check(json!({ "type": "tool", "name": "ls" }), named());
        check(json!({ "type": "tool" }), None);
        check(json!({ "type": "web_search" }), None);
        check(json!({ "type": "any" }), Some(Choice::Required));
        check(json!("required"), Some(Choice::Required));
        check(json!("none"), Some(Choice::None));
        check(json!("some"), None);
        check(Value::Null, Some(Choice::Auto));
    }

    #[test]
    fn thoughts_are_read_in_the_shape_of_every_protocol() {
        let check = |given: Value, expected: Option<Thoughts>| {
            assert_eq!(thinking(given.as_object()).ok(), expected, "{given}");
        };
        check(json!({ "type": "enabled", "budget_tokens": 1024 }), Some(Thoughts::Tokens(1024)));
        check(json!({ "type": "disabled", "budget_tokens": 1024 }), Some(Thoughts::Off));
        check(json!({ "type": "adaptive" }), Some(Thoughts::Own));
        check(json!({ "budget_tokens": 7 }), Some(Thoughts::Tokens(7)));
        check(json!({ "type": "enabled", "budget_tokens": "much" }), None);
        check(json!({ "type": "deep" }), None);
        check(Value::Null, Some(Thoughts::Own));
        assert_eq!(effort("reasoning", Some("low")).ok(), Some(Thoughts::Share(20)));
        assert_eq!(effort("reasoning", Some("none")).ok(), Some(Thoughts::Off));
        assert_eq!(tokens("thinking_budget", &json!(-1)).ok(), Some(Thoughts::Share(100)));
        assert!(effort("reasoning", Some("huge")).is_err());
        assert_eq!(Thoughts::Tokens(5).or(Thoughts::Off), Thoughts::Off);
        assert_eq!(Thoughts::Own.or(Thoughts::Share(20)), Thoughts::Share(20));
    }

    #[test]
    fn a_tool_may_have_the_type_names_of_python() {
        let schema = json!({ "type": "dict", "properties": { "a": { "type": "list", "items": { "type": "str" } } } });
        let tool = tool(&json!({ "name": "ls" }), &schema).ok().unwrap();
        let expected =
            json!({ "type": "object", "properties": { "a": { "type": "array", "items": { "type": "string" } } } });
        assert_eq!(tool.parameters, expected);
    }

    #[test]
    fn the_form_of_an_answer_is_read_in_the_shape_of_every_protocol() {
        let schema = json!({ "type": "object", "properties": { "a": { "type": "integer" } } });
        let check = |given: Value, expected: Option<Format>| assert_eq!(format("x", Some(&given)).ok(), expected);
        check(
            json!({ "type": "json_schema", "json_schema": { "schema": schema } }),
            Some(Format::Schema(schema.clone())),
        );
        check(json!({ "type": "json_schema", "schema": schema }), Some(Format::Schema(schema.clone())));
        check(json!({ "type": "json_object" }), Some(Format::Schema(json!({ "type": "object" }))));
        check(json!({ "type": "text" }), Some(Format::Text));
        check(json!({ "type": "json_schema" }), None);
        check(json!({ "type": "xml" }), None);
        check(json!("json"), None);
        check(json!({}), None);
        check(json!({ "type": "json_schema", "schema": "integer" }), None);
        check(
            json!({ "type": "json_schema", "schema": { "allOf": [{ "type": "string" }, { "type": "null" }] } }),
            None,
        );
        let referring = json!({ "$ref": "#/$defs/N", "$defs": { "N": { "type": "integer", "format": "int32" } } });
        check(
            json!({ "type": "json_schema", "schema": referring }),
            Some(Format::Schema(json!({ "type": "integer" }))),
        );
    }

    #[test]
    fn a_tool_whose_schema_is_none_may_be_called_with_anything() {
        let tool = tool(&json!({ "name": "ls" }), &json!("path: string")).ok().unwrap();
        assert_eq!(tool.parameters, json!({ "type": "object" }));
    }

    #[test]
    fn arguments_of_a_call_are_an_object_or_its_text() {
        let check = |given: Value, expected: Value| {
            assert_eq!(Value::Object(call(&json!("1"), &json!("ls"), &given).arguments), expected);
        };
        check(json!({ "path": "." }), json!({ "path": "." }));
        check(json!("{\"path\": \".\"}"), json!({ "path": "." }));
        check(json!(" "), json!({}));
        check(Value::Null, json!({}));
        check(json!("path"), json!({ "arguments": "path" }));
    }
}
