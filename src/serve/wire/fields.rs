//! Reads the fields that several protocols have, each in its own shape: sampling, tools, calls, choice and form of the answer.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use crate::engine::Sampling;
use crate::serve::ask::{Call, Choice, Format};
use crate::serve::problem::Problem;
use crate::tools::ToolSpec;
use crate::tools::spec::standardize;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Given {
    temperature: Option<f32>,
    top_p: Option<f32>,
    #[serde(deserialize_with = "limit")]
    top_k: Option<usize>,
    min_p: Option<f32>,
    frequency_penalty: Option<f32>,
    presence_penalty: Option<f32>,
    repetition_penalty: Option<f32>,
    seed: Option<i64>,
}

impl Given {
    /// Without a temperature the likeliest token is taken: small models do best so. With one, llama.cpp's truncations hold.
    pub fn sampling(&self) -> Sampling {
        let plain = Sampling::prose();
        Sampling {
            temperature: self.temperature.unwrap_or(plain.temperature),
            top_k: self.top_k.unwrap_or(40),
            top_p: self.top_p.unwrap_or(0.95),
            min_p: self.min_p.unwrap_or(0.05),
            frequency_penalty: self.frequency_penalty.unwrap_or(plain.frequency_penalty),
            presence_penalty: self.presence_penalty.unwrap_or(plain.presence_penalty),
            repetition_penalty: self.repetition_penalty.unwrap_or(plain.repetition_penalty),
            seed: self.seed.map_or_else(|| fastrand::u64(..), |seed| seed as u64),
            ..plain
        }
    }
}

/// A field that may be `null`, which stands for its default.
pub fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(field: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(field)?.unwrap_or_default())
}

/// A number that may be negative, which stands for "no limit".
pub fn limit<'de, D: Deserializer<'de>>(field: D) -> Result<Option<usize>, D::Error> {
    let number: Option<i64> = Option::deserialize(field)?;
    Ok(number.and_then(|number| usize::try_from(number).ok()))
}

#[derive(Deserialize)]
#[serde(untagged)]
pub enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl From<OneOrMore> for Vec<String> {
    fn from(texts: OneOrMore) -> Vec<String> {
        match texts {
            OneOrMore::One(text) => vec![text],
            OneOrMore::More(texts) => texts,
        }
    }
}

/// A tool of a client with the name and description that `described` has. `parameters` is a JSON schema; without one the
/// tool takes nothing.
pub fn tool(described: &Value, parameters: &Value) -> Result<ToolSpec, Problem> {
    let text = |key: &str| described[key].as_str().unwrap_or_default().to_owned();
    let name = text("name");
    if name.is_empty() {
        return Err(Problem::invalid("tools", "a tool has no name"));
    }
    let nothing = || json!({ "type": "object", "properties": {} });
    let mut parameters = Some(parameters).filter(|schema| schema.is_object()).cloned().unwrap_or_else(nothing);
    standardize(&mut parameters);
    let (description, server) = (text("description"), String::new());
    Ok(ToolSpec { name, description, server, mutates: true, destructive: true, parameters })
}

/// A call that a client sends back. Arguments are a JSON object, or its text.
pub fn call(id: &Value, name: &Value, arguments: &Value) -> Call {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let arguments = match arguments {
        Value::Object(given) => given.clone(),
        Value::String(text) => match serde_json::from_str(text) {
            Ok(Value::Object(given)) => given,
            _ if text.trim().is_empty() => Map::new(),
            // What cannot be read is still shown to the model.
            _ => Map::from_iter([("arguments".to_owned(), arguments.clone())]),
        },
        _ => Map::new(),
    };
    Call { id: text(id), name: text(name), arguments }
}

/// `tool_choice`: a word, or an object whose `type` is that word or which has the name of a tool.
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

/// The form of the answer, of type `text`, `json_object` or `json_schema`; `field` is the name of what has it.
pub fn format(field: &'static str, given: Option<&Value>) -> Result<Format, Problem> {
    let Some(given) = given.filter(|given| !given.is_null()) else { return Ok(Format::Text) };
    let schema = given.pointer("/json_schema/schema").or_else(|| given.get("schema")).filter(|it| it.is_object());
    match (given["type"].as_str(), schema) {
        (None | Some("text"), _) => Ok(Format::Text),
        (Some("json_object" | "json_schema"), Some(schema)) => Ok(Format::Schema(schema.clone())),
        (Some("json_object"), None) => Ok(Format::Schema(json!({ "type": "object" }))),
        (Some("json_schema"), None) => Err(Problem::invalid(field, "a format of type json_schema needs a `schema`")),
        (Some(kind), _) => {
            let text = format!("the format `{kind}` is unknown; it must be text, json_object or json_schema");
            Err(Problem::invalid(field, text))
        }
    }
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
