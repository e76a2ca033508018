//! The values of arguments: converts text to a value of the type that the tool's schema specifies.

use serde_json::{Map, Value};

use super::super::literal;
use crate::models::dialect::ToolText;

/// The schema of a tool's parameter.
pub fn schema<'a>(tools: &'a [ToolText], tool: &str, key: &str) -> Option<&'a Value> {
    tools.iter().find(|one| one.name == tool)?.parameters.get("properties")?.get(key)
}

/// The types that a schema allows; empty if it does not state any.
pub fn types(schema: &Value) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    match schema.get("type") {
        Some(Value::String(one)) => found.push(one),
        Some(Value::Array(all)) => found.extend(all.iter().filter_map(Value::as_str)),
        _ => {}
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        for choice in schema.get(key).and_then(Value::as_array).into_iter().flatten() {
            found.extend(types(choice));
        }
    }
    if found.is_empty() {
        let choices = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
        for choice in choices.chain(schema.get("const")) {
            found.push(kind(choice));
        }
    }
    found
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() || number.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The value that a text represents. A parameter that may be a string takes the text unchanged,
/// unless another of its types fits.
pub fn typed(text: &str, schema: Option<&Value>) -> Value {
    let types = schema.map(types).unwrap_or_default();
    let raw = || Value::String(text.to_owned());
    if types == ["string"] {
        return raw();
    }
    let Some(value) = plain(text) else { return raw() };
    let fits = |wanted: &&str| *wanted == kind(&value) || *wanted == "number" && value.is_number();
    // Quoted text keeps its quotes only if the schema allows a string.
    let is_text = types.contains(&"string");
    if is_text && (value.is_string() || !types.iter().any(fits)) { raw() } else { value }
}

/// A value in JSON, or else in Python's notation.
pub fn plain(text: &str) -> Option<Value> {
    let text = text.trim();
    serde_json::from_str(text).ok().or_else(|| {
        let mut reader = literal::Reader::new(text);
        reader.value().filter(|value| reader.rest().is_empty() && !value.is_number())
    })
}

/// The arguments in a value, which is an object or an object written as text.
pub fn arguments(value: &Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(fields) => Some(fields.clone()),
        Value::String(text) => serde_json::from_str(text).ok(),
        Value::Null => Some(Map::new()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_value_has_the_type_that_the_schema_asks_for() {
        let check = |text: &str, schema: Value, expected: Value| {
            assert_eq!(typed(text, Some(&schema)), expected, "{text} {schema}");
        };
        check("0042", json!({ "type": "string" }), json!("0042"));
        check("{\"a\": 1}", json!({ "type": "string" }), json!("{\"a\": 1}"));
        check("42", json!({ "type": "integer" }), json!(42));
        check("True", json!({ "type": "boolean" }), json!(true));
        check("soon", json!({ "type": "boolean" }), json!("soon"));
        check("3", json!({ "type": ["string", "integer"] }), json!(3));
        check("3 days", json!({ "type": ["string", "integer"] }), json!("3 days"));
        check("\"3\"", json!({ "type": ["string", "integer"] }), json!("\"3\""));
        check("null", json!({ "type": ["string", "null"] }), json!(null));
        check("[1]", json!({ "anyOf": [{ "type": "array" }, { "type": "string" }] }), json!([1]));
        check("b", json!({ "enum": ["a", "b"] }), json!("b"));
        assert_eq!(typed("0042", None), json!("0042"));
        assert_eq!(typed("[1, 2]", None), json!([1, 2]));
    }
}
