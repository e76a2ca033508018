//! The description of a tool, the same for built-in tools, MCP servers and evaluation suites.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One tool. `parameters` is a JSON schema of type `object`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// The group of tools this one belongs to.
    #[serde(default)]
    pub server: String,
    #[serde(default)]
    pub server_description: String,
    /// It may change something; other tools only read.
    #[serde(default)]
    pub mutates: bool,
    /// Its server says, or does not deny, that it can destroy something. `false` never spares the user a question.
    #[serde(default)]
    pub destructive: bool,
    pub parameters: Value,
}

/// One parameter of a [`ToolSpec`], read out of its schema.
#[derive(Clone, Copy, Debug)]
pub struct Parameter<'a> {
    pub name: &'a str,
    pub schema: &'a Map<String, Value>,
    pub required: bool,
}

/// A tool's name without the server before it: `read_file` of `files.read_file`.
pub fn without_server(name: &str) -> &str {
    name.rsplit(['.', '/', ':']).next().unwrap_or(name)
}

impl ToolSpec {
    /// The parameters in the order of the schema; empty when the schema has none.
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
}

impl<'a> Parameter<'a> {
    pub fn description(&self) -> &'a str {
        self.schema.get("description").and_then(Value::as_str).unwrap_or("")
    }

    /// `string`, `number`, `integer`, `boolean`, `array`, `object`; `string` when the schema does not say.
    pub fn kind(&self) -> &'a str {
        self.schema.get("type").and_then(Value::as_str).unwrap_or("string")
    }

    pub fn default(&self) -> Option<&'a Value> {
        self.schema.get("default")
    }
}
