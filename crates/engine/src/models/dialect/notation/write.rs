//! Writes a call as the model would.

use serde_json::{Map, Value};

use super::super::python_json::{self, Style};
use super::{Calls, Form, Tagged, python};

impl Calls {
    /// Whether calls have their own marks, which never occur in text.
    pub fn is_marked(&self) -> bool {
        !self.mark().is_empty()
    }

    /// The mark that separates calls from text; empty if there is none.
    pub fn mark(&self) -> &str {
        let own = [&self.section.open, &self.call.open].into_iter().map(|mark| mark.trim());
        match self.form {
            Form::Channels => "<|channel|>commentary to=",
            _ => own.into_iter().find(|mark| !mark.is_empty()).unwrap_or_default(),
        }
    }

    /// The text around a single call: up to its name, and after its arguments.
    pub fn around(&self) -> (String, String) {
        let (first, last) = match &self.form {
            Form::Json { list: true, .. } | Form::Python { list: true } => ("[", "]"),
            Form::Channels => ("<|channel|>commentary to=functions.", "<|call|>"),
            Form::Named(named) => (named.prefix.as_str(), ""),
            _ => ("", ""),
        };
        let (section, call) = (&self.section, &self.call);
        (format!("{}{}{first}", section.open, call.open), format!("{last}{}{}", call.close, section.close))
    }

    /// A complete call with all its marks.
    pub fn write(&self, name: &str, arguments: &Map<String, Value>) -> String {
        let (open, close) = self.around();
        let (head, tail) = self.named(name);
        let inner = match &self.form {
            Form::Tagged(tags) => arguments.iter().map(|(key, value)| parameter(tags, key, value)).collect(),
            Form::Python { .. } => python::written(arguments),
            Form::Braces { quote } => {
                let fields = arguments.iter().map(|(key, value)| format!("{key}:{}", braces(value, quote)));
                fields.collect::<Vec<_>>().join(",")
            }
            Form::Json { .. } | Form::Named(_) | Form::Channels => {
                python_json::write(&Value::Object(arguments.clone()), &Style::default())
            }
        };
        format!("{open}{head}{inner}{tail}{close}")
    }

    /// The text between [`Calls::around`] and the arguments, for a call with this name.
    pub fn named(&self, name: &str) -> (String, &'static str) {
        let quoted = |text: &str| Value::from(text).to_string();
        match &self.form {
            Form::Json { keys: Some(keys), .. } => {
                (format!("{{{}: {}, {}: ", quoted(&keys.name), quoted(name), quoted(&keys.arguments)), "}")
            }
            Form::Json { keys: None, .. } => (format!("{{{}: ", quoted(name)), "}"),
            Form::Named(named) => (format!("{name}{}{}", named.suffix, named.mark), ""),
            Form::Tagged(tags) => (format!("{name}{}", tags.name_end.replace('\u{2}', "1")), ""),
            Form::Python { .. } => (format!("{name}("), ")"),
            Form::Braces { .. } => (format!("{name}{{"), "}"),
            Form::Channels => (format!("{name} <|constrain|>json<|message|>"), ""),
        }
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
