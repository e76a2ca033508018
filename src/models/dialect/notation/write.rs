//! Writes a call as the model would.

use serde_json::{Map, Value, json};

use super::super::pythonic;
use super::{Calls, Form, Tagged};

impl Calls {
    /// Whether calls stand in marks of their own, which no words contain.
    pub fn is_marked(&self) -> bool {
        self.form == Form::Channels || ![&self.section.open, &self.call.open].iter().all(|mark| mark.trim().is_empty())
    }

    /// One whole call with every mark.
    pub fn write(&self, name: &str, arguments: &Map<String, Value>) -> String {
        let inner = match &self.form {
            Form::Json { keys, list } => {
                let call = match keys {
                    Some(keys) => json!({ keys.name.as_str(): name, keys.arguments.as_str(): arguments }),
                    None => json!({ name: arguments }),
                };
                if *list { format!("[{call}]") } else { call.to_string() }
            }
            Form::Named(named) => {
                let object = Value::Object(arguments.clone());
                format!("{}{name}{}{}{object}", named.prefix, named.suffix, named.mark)
            }
            Form::Tagged(tags) => {
                let parts: String = arguments.iter().map(|(key, value)| parameter(tags, key, value)).collect();
                format!("{name}{}{parts}", tags.name_end.replace('\u{2}', "1"))
            }
            Form::Python { list } => {
                let call = format!("{name}({})", pythonic::arguments(arguments));
                if *list { format!("[{call}]") } else { call }
            }
            Form::Braces { quote } => format!("{name}{}", braces(&Value::Object(arguments.clone()), quote)),
            Form::Channels => {
                let object = Value::Object(arguments.clone());
                return format!(
                    "<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{object}<|call|>"
                );
            }
        };
        format!("{}{}{inner}{}{}", self.section.open, self.call.open, self.call.close, self.section.close)
    }
}

fn parameter(tags: &Tagged, key: &str, value: &Value) -> String {
    let close = tags.close.replace('\u{1}', key);
    match value {
        Value::String(text) => format!("{}{key}{}{text}{close}", tags.key, tags.text),
        other => format!("{}{key}{}{other}{close}", tags.key, tags.other),
    }
}

fn braces(value: &Value, quote: &str) -> String {
    match value {
        Value::String(text) => format!("{quote}{text}{quote}"),
        Value::Array(all) => format!("[{}]", all.iter().map(|one| braces(one, quote)).collect::<Vec<_>>().join(",")),
        Value::Object(all) => {
            let fields = all.iter().map(|(key, one)| format!("{key}:{}", braces(one, quote)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}
