//! Offers the tools of a request to `/v1/responses` to the model, and turns its calls back into the client's.
//!
//! codex sends the tools of an MCP server in one namespace:
//! `{"type": "namespace", "name": "mcp__docs", "tools": [{"type": "function", "name": "find", …}]}`. The model knows
//! the tool as `mcp__docs__find`. codex takes the call only with `namespace` and `name` apart (openai/codex#23186).

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::serve::ask::{self, Call, Choice};
use crate::serve::problem::Problem;
use crate::tools::ToolSpec;

/// The argument of a custom tool, which takes one text.
pub const INPUT: &str = "input";

/// codex gives tools that it has itself this namespace, and takes a call without one for theirs.
const OWN: &str = "functions";

/// The name by which the model knows a tool.
pub fn flat(namespace: Option<&str>, name: &str) -> String {
    match namespace {
        None | Some("" | OWN) => name.to_owned(),
        Some(namespace) if namespace.ends_with("__") => format!("{namespace}{name}"),
        Some(namespace) => format!("{namespace}__{name}"),
    }
}

/// The client's tools by the names that the model knows.
#[derive(Debug, Default)]
pub struct Tools {
    tools: BTreeMap<String, Tool>,
    /// The names in the client's order, in which the prompt lists them.
    order: Vec<String>,
}

#[derive(Debug)]
struct Tool {
    spec: ToolSpec,
    name: String,
    namespace: Option<String>,
    custom: bool,
}

impl Tools {
    /// Adds a tool of any kind. Those that run at OpenAI, such as `web_search`, are left out.
    pub fn add(&mut self, namespace: Option<&str>, tool: &Value) -> Result<(), Problem> {
        match tool["type"].as_str() {
            Some("function") => self.insert(namespace, tool, tool["parameters"].clone(), false),
            Some("custom") => self.insert(namespace, tool, custom_parameters(&tool["format"]), true),
            Some("namespace") => {
                let inner = tool["tools"].as_array().into_iter().flatten();
                for each in inner.filter(|each| each["type"] != "namespace") {
                    self.add(tool["name"].as_str(), each)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn insert(
        &mut self,
        namespace: Option<&str>,
        tool: &Value,
        parameters: Value,
        custom: bool,
    ) -> Result<(), Problem> {
        let name = tool["name"].as_str().unwrap_or_default();
        let description = tool["description"].as_str().map(str::to_owned);
        let mut spec = ask::tool(name.to_owned(), description, Some(parameters))?;
        spec.name = flat(namespace, name);
        let flat = spec.name.clone();
        let tool = Tool { spec, name: name.to_owned(), namespace: namespace.map(str::to_owned), custom };
        // codex may send a tool both in `tools` and in the input.
        if self.tools.insert(flat.clone(), tool).is_none() {
            self.order.push(flat);
        }
        Ok(())
    }

    pub fn specs(&self) -> Vec<ToolSpec> {
        self.order.iter().filter_map(|name| self.tools.get(name)).map(|tool| tool.spec.clone()).collect()
    }

    /// Reads `tool_choice`. `allowed_tools` takes all others away.
    pub fn choice(&mut self, choice: Option<&Value>) -> Result<Choice, Problem> {
        let Some(choice) = choice else { return Ok(Choice::Auto) };
        let unknown = || {
            let text =
                format!("`tool_choice` cannot be {choice}; it must be auto, none, required or a tool in `tools`");
            Problem::invalid("tool_choice", text)
        };
        let mode = |mode: Option<&str>| match mode {
            Some("auto") => Ok(Choice::Auto),
            Some("none") => Ok(Choice::None),
            Some("required") => Ok(Choice::Required),
            _ => Err(unknown()),
        };
        match choice["type"].as_str() {
            None => mode(choice.as_str()),
            Some("function" | "custom") => named(choice).map(Choice::Named).ok_or_else(unknown),
            Some("allowed_tools") => {
                let allowed: Vec<String> = choice["tools"].as_array().into_iter().flatten().filter_map(named).collect();
                self.order.retain(|name| allowed.contains(name));
                mode(choice["mode"].as_str())
            }
            Some(_) => Err(unknown()),
        }
    }

    /// The item of a call. An item that has only begun has an empty input, to which events add.
    pub fn item(&self, id: &str, call: &Call, status: &str, begun: bool) -> Value {
        let tool = self.tools.get(&call.name);
        let custom = tool.is_some_and(|tool| tool.custom);
        let input = if begun { String::new() } else { self.input(call) };
        let (kind, key) = if custom { ("custom_tool_call", "input") } else { ("function_call", "arguments") };
        let name = tool.map_or(&call.name, |tool| &tool.name);
        let mut item = json!({ "id": id, "type": kind, "status": status, "call_id": call.id, "name": name });
        if let Some(namespace) = tool.and_then(|tool| tool.namespace.as_deref()) {
            item["namespace"] = namespace.into();
        }
        item[key] = input.into();
        item
    }

    pub fn is_custom(&self, call: &Call) -> bool {
        self.tools.get(&call.name).is_some_and(|tool| tool.custom)
    }

    /// What the client reads of the arguments: JSON, or the one text of a custom tool.
    pub fn input(&self, call: &Call) -> String {
        match call.arguments.get(INPUT) {
            Some(Value::String(input)) if self.is_custom(call) => input.clone(),
            _ => json!(call.arguments).to_string(),
        }
    }
}

/// The name of the tool that a choice names.
fn named(choice: &Value) -> Option<String> {
    Some(flat(choice["namespace"].as_str(), choice["name"].as_str()?))
}

/// The schema of a custom tool. What its input must look like, a grammar as text, is told to the model.
fn custom_parameters(format: &Value) -> Value {
    let mut input = Map::from_iter([("type".to_owned(), json!("string"))]);
    if let Some(grammar) = format["definition"].as_str() {
        let syntax = format["syntax"].as_str().unwrap_or("a");
        input.insert("description".to_owned(), format!("Text in this {syntax} grammar:\n{grammar}").into());
    }
    json!({ "type": "object", "properties": { INPUT: input }, "required": [INPUT], "additionalProperties": false })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codex() -> Tools {
        let find = json!({ "type": "function", "name": "find", "description": "Finds.", "strict": false,
                           "parameters": { "type": "object", "properties": { "query": { "type": "string" } } } });
        let grammar = json!({ "type": "grammar", "syntax": "lark", "definition": "start: begin" });
        let mut tools = Tools::default();
        for tool in [
            json!({ "type": "namespace", "name": "mcp__docs", "description": "Docs.", "tools": [find] }),
            json!({ "type": "custom", "name": "apply_patch", "description": "Edits.", "format": grammar }),
            json!({ "type": "web_search" }),
        ] {
            tools.add(None, &tool).unwrap();
        }
        tools
    }

    fn call(name: &str, key: &str, value: &str) -> Call {
        let arguments = Map::from_iter([(key.to_owned(), json!(value))]);
        Call { id: "call_1".to_owned(), name: name.to_owned(), arguments }
    }

    #[test]
    fn tools_of_a_namespace_are_offered_and_called_back() {
        let names: Vec<String> = codex().specs().into_iter().map(|spec| spec.name).collect();
        assert_eq!(names, ["mcp__docs__find", "apply_patch"]);
        let expected = json!({ "id": "fc_1", "type": "function_call", "status": "completed", "call_id": "call_1",
                               "name": "find", "namespace": "mcp__docs", "arguments": "{\"query\":\"a\"}" });
        assert_eq!(codex().item("fc_1", &call("mcp__docs__find", "query", "a"), "completed", false), expected);
    }

    #[test]
    fn a_custom_tool_takes_its_text() {
        let expected = json!({ "id": "ctc_1", "type": "custom_tool_call", "status": "completed", "call_id": "call_1",
                               "name": "apply_patch", "input": "*** Begin Patch" });
        let call = call("apply_patch", INPUT, "*** Begin Patch");
        assert_eq!(codex().item("ctc_1", &call, "completed", false), expected);
        let specs = codex().specs();
        let described = &specs[1].parameters["properties"][INPUT]["description"];
        assert_eq!(described, "Text in this lark grammar:\nstart: begin");
    }

    #[test]
    fn names_are_joined_once() {
        assert_eq!(flat(Some("mcp__docs"), "find"), "mcp__docs__find");
        assert_eq!(flat(Some("mcp__docs__"), "find"), "mcp__docs__find");
        assert_eq!(flat(Some("functions"), "shell"), "shell");
        assert_eq!(flat(None, "shell"), "shell");
    }

    #[test]
    fn a_choice_is_a_word_or_names_a_tool() {
        let check = |choice: Value, expected| assert_eq!(codex().choice(Some(&choice)).ok(), expected);
        check(json!("required"), Some(Choice::Required));
        let find = json!({ "type": "function", "namespace": "mcp__docs", "name": "find" });
        check(find.clone(), Some(Choice::Named("mcp__docs__find".to_owned())));
        check(json!({ "type": "web_search" }), None);
        let mut tools = codex();
        let allowed = json!({ "type": "allowed_tools", "mode": "auto", "tools": [find] });
        assert_eq!(tools.choice(Some(&allowed)), Ok(Choice::Auto));
        assert_eq!(tools.specs().len(), 1);
    }
}
