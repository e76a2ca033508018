//! Reads the typed arguments of a call. Each tool checks their types itself and does not rely on
//! its caller.

use serde_json::{Map, Value};

#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a>(pub &'a Map<String, Value>);

impl<'a> Arguments<'a> {
    pub fn text(&self, name: &str) -> Result<&'a str, String> {
        self.optional_text(name)?.ok_or_else(|| format!("argument `{name}` is missing; give a text"))
    }

    /// `None` if the argument is absent or null, like [`Arguments::optional_count`].
    pub fn optional_text(&self, name: &str) -> Result<Option<&'a str>, String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(format!("argument `{name}` is {other}, not a text")),
        }
    }

    pub fn optional_count(&self, name: &str) -> Result<Option<usize>, String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_u64().and_then(|n| usize::try_from(n).ok()) {
                Some(count) => Ok(Some(count)),
                None => Err(format!("argument `{name}` is {value}, not a non-negative whole number")),
            },
        }
    }

    /// False if the argument is absent or null.
    pub fn flag(&self, name: &str) -> Result<bool, String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(format!("argument `{name}` is {other}, not true or false")),
        }
    }
}
