//! The description of a tool, in one form for built-in tools, MCP servers and evaluation suites.
//! Descriptions from outside are checked.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::schema::DATA;
use crate::base::is_listed;

// A tool whose description exceeds one of these limits is refused.
const NAME_MAX_BYTES: usize = 128;
const DESCRIPTION_MAX_BYTES: usize = 8 << 10;
const SCHEMA_MAX_BYTES: usize = 64 << 10;
pub(super) const SCHEMA_MAX_DEPTH: usize = 16;
const PARAMETERS_MAX: usize = 128;

/// Type names of JSON Schema, each with the names of programming languages for the same type.
const TYPE_NAMES: [(&str, &str); 7] = [
    ("object", "dict map hashmap"),
    ("number", "float double decimal"),
    ("integer", "int long short"),
    ("array", "list tuple set arraylist"),
    ("string", "str char any"),
    ("boolean", "bool"),
    ("null", "none"),
];

/// One tool. `parameters` is a JSON schema of type `object`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// The group of tools that this one belongs to.
    #[serde(default)]
    pub server: String,
    /// The server's own description.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub server_description: String,
    /// Whether it may change something; other tools only read.
    #[serde(default)]
    pub mutates: bool,
    /// Whether it may destroy something: its server states that, or does not deny it. `false` never
    /// spares the user a question.
    #[serde(default)]
    pub destructive: bool,
    pub parameters: Value,
}

/// One parameter of a [`ToolSpec`], read from its schema.
#[derive(Clone, Copy, Debug)]
pub struct Parameter<'a> {
    pub name: &'a str,
    pub schema: &'a Map<String, Value>,
    pub required: bool,
}

/// A tool's name without the server before it: `read_file` for `files.read_file`.
pub fn without_server(name: &str) -> &str {
    name.rsplit(['.', '/', ':']).next().unwrap_or(name)
}

impl ToolSpec {
    /// The parameters in the order of the schema; empty if it has none.
    pub fn parameters(&self) -> Vec<Parameter<'_>> {
        let required = self.parameters.get("required").and_then(Value::as_array);
        let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one.as_str() == Some(name)));
        self.parameters
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .filter_map(|(name, schema)| {
                Some(Parameter { name, schema: schema.as_object()?, required: is_required(name) })
            })
            .collect()
    }

    /// Whether a call may have arguments that [`ToolSpec::parameters`] does not list.
    pub fn takes_others(&self) -> bool {
        let says = |key: &str| self.parameters.get(key);
        let parts = ["anyOf", "oneOf", "allOf", "patternProperties"].iter().any(|key| says(key).is_some());
        parts || says("additionalProperties").is_some_and(|others| *others == true || others.is_object())
    }
}

impl<'a> Parameter<'a> {
    pub fn description(&self) -> &'a str {
        self.schema.get("description").and_then(Value::as_str).unwrap_or("")
    }

    /// `string`, `number`, `integer`, `boolean`, `array` or `object`; `string` if the schema names
    /// no type.
    pub fn kind(&self) -> &'a str {
        self.schema.get("type").and_then(Value::as_str).unwrap_or("string")
    }

    pub fn default(&self) -> Option<&'a Value> {
        self.schema.get("default")
    }
}

/// Replaces type names of programming languages with those of JSON Schema: `"type": "dict"` becomes
/// `"type": "object"`.
pub fn standardize(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for (key, value) in fields.iter_mut().filter(|(key, _)| !DATA.contains(&key.as_str())) {
                match value {
                    Value::String(_) | Value::Array(_) if key == "type" => standardize_type(value),
                    other => standardize(other),
                }
            }
        }
        Value::Array(all) => all.iter_mut().for_each(standardize),
        _ => {}
    }
}

/// Replaces the name of a type, or each name in a list.
fn standardize_type(kind: &mut Value) {
    match kind {
        Value::String(kind) => {
            let low = kind.to_lowercase();
            let is_name = |(standard, names): &&(&str, &str)| *standard == low || is_listed(names, &low);
            if let Some((standard, _)) = TYPE_NAMES.iter().find(is_name) {
                *kind = (*standard).to_owned();
            }
        }
        Value::Array(all) => all.iter_mut().for_each(standardize_type),
        _ => {}
    }
}

/// Checks a description. The error describes the fault in words that can follow the tool's name.
pub fn check(spec: &ToolSpec) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:".contains(c);
    if spec.name.is_empty() || spec.name.len() > NAME_MAX_BYTES || !spec.name.chars().all(plain) {
        return Err(format!("its name must be 1-{NAME_MAX_BYTES} letters, digits or any of _ - . / :"));
    }
    let texts = [
        ("description", &spec.description),
        ("server", &spec.server),
        ("server's description", &spec.server_description),
    ];
    for (what, text) in texts {
        if text.len() > DESCRIPTION_MAX_BYTES {
            return Err(format!("its {what} has {} bytes; at most {DESCRIPTION_MAX_BYTES} are allowed", text.len()));
        }
    }
    let bytes = spec.parameters.to_string().len();
    if bytes > SCHEMA_MAX_BYTES {
        return Err(format!("its schema has {bytes} bytes; at most {SCHEMA_MAX_BYTES} are allowed"));
    }
    if depth(&spec.parameters) > SCHEMA_MAX_DEPTH {
        return Err(format!("its schema is nested deeper than {SCHEMA_MAX_DEPTH} levels"));
    }
    check_parameters(&spec.parameters)
}

fn check_parameters(schema: &Value) -> Result<(), String> {
    let Some(fields) = schema.as_object() else { return Err("its schema is not a JSON object".to_owned()) };
    match fields.get("type") {
        None => {}
        Some(kind) if kind == "object" => {}
        Some(kind) => return Err(format!("its schema has type {kind}, not \"object\"")),
    }
    if let Some(properties) = fields.get("properties") {
        let Some(properties) = properties.as_object() else {
            return Err("its `properties` are not an object".to_owned());
        };
        if properties.len() > PARAMETERS_MAX {
            return Err(format!("it has {} parameters; at most {PARAMETERS_MAX} are allowed", properties.len()));
        }
        for (name, one) in properties {
            if !one.is_object() {
                return Err(format!("its parameter `{name}` has no schema object"));
            }
            if name.is_empty() || name.len() > NAME_MAX_BYTES || name.chars().any(char::is_control) {
                return Err(format!("the name of a parameter must have 1-{NAME_MAX_BYTES} bytes"));
            }
        }
    }
    if let Some(required) = fields.get("required") {
        let known = |name: &str| fields.get("properties").is_some_and(|all| all.get(name).is_some());
        let Some(required) = required.as_array() else { return Err("its `required` is not a list".to_owned()) };
        if let Some(unknown) = required.iter().find(|name| !name.as_str().is_some_and(known)) {
            return Err(format!("it requires {unknown}, which is not one of its parameters"));
        }
    }
    Ok(())
}

/// The nesting depth of a value. The recursion is bounded because serde_json refuses more than 128
/// levels.
pub(super) fn depth(value: &Value) -> usize {
    match value {
        Value::Array(all) => 1 + all.iter().map(depth).max().unwrap_or(0),
        Value::Object(all) => 1 + all.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(parameters: Value, expected: Result<(), &str>) {
        let got = super::check(&ToolSpec { name: "t".to_owned(), parameters, ..ToolSpec::default() });
        match expected {
            Ok(()) => assert_eq!(got, Ok(())),
            Err(part) => assert!(got.as_ref().is_err_and(|why| why.contains(part)), "{got:?}"),
        }
    }

    #[test]
    fn a_schema_must_be_of_the_right_shape_and_bounded() {
        check(json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] }), Ok(()));
        check(json!({}), Ok(()));
        check(json!([]), Err("not a JSON object"));
        check(json!({ "type": "string" }), Err("not \"object\""));
        check(json!({ "properties": { "a": 1 } }), Err("`a` has no schema"));
        check(json!({ "properties": {}, "required": ["a"] }), Err("requires \"a\""));
        check(json!({ "required": [7] }), Err("requires 7"));
        let deep = (0..20).fold(json!({}), |inner, _| json!({ "properties": { "a": inner } }));
        check(deep, Err("deeper than 16"));
        check(json!({ "description": "x".repeat(70_000) }), Err("at most 65536"));
        let many: serde_json::Map<String, Value> = (0..200).map(|n| (format!("p{n}"), json!({}))).collect();
        check(json!({ "properties": many }), Err("at most 128"));
    }

    #[test]
    fn type_names_of_programming_languages_are_replaced() {
        let mut schema = json!({ "type": "dict", "properties": {
            "a": { "type": "tuple", "items": { "type": "float" } }, "b": { "type": "String" },
            "type": { "type": "Vec3" },
        } });
        standardize(&mut schema);
        let expected = json!({ "type": "object", "properties": {
            "a": { "type": "array", "items": { "type": "number" } }, "b": { "type": "string" },
            "type": { "type": "Vec3" },
        } });
        assert_eq!(schema, expected);
    }
}
