//! Offers the tools of a request to `/v1/responses` to the model, and converts its calls back for the client.
//!
//! codex sends the tools of an MCP server in one namespace:
//! `{"type": "namespace", "name": "mcp__docs", "tools": [{"type": "function", "name": "find", …}]}`.
//! The model uses the tool as `mcp__docs__find`. codex accepts the call only with separate
//! `namespace` and `name` (openai/codex#23186).

use serde_json::{Map, Value, json};

use crate::serve::ask::{Call, Choice, TOOLS_MAX};
use crate::serve::problem::Problem;
use crate::serve::wire::fields;
use crate::tools::ToolSpec;

/// The argument of a custom tool, which takes a single text.
pub const INPUT: &str = "input";

/// codex puts its own tools in this namespace, and treats calls without a namespace as calls of
/// those.
const OWN: &str = "functions";

/// The name of a tool in the model's prompt.
pub fn flat(namespace: Option<&str>, name: &str) -> String {
    match namespace {
        None | Some("" | OWN) => name.to_owned(),
        Some(namespace) if namespace.ends_with("__") => format!("{namespace}{name}"),
        Some(namespace) => format!("{namespace}__{name}"),
    }
}

/// The client's tools, in the client's order, which is also used in the prompt.
#[derive(Debug, Default)]
pub struct Tools {
    tools: Vec<Tool>,
}

#[derive(Debug)]
struct Tool {
    /// As written in the model's prompt.
    spec: ToolSpec,
    name: String,
    namespace: Option<String>,
    custom: bool,
}

impl Tools {
    /// Adds a tool of any kind. Tools that run at OpenAI, such as `web_search`, are omitted.
    pub fn add(&mut self, namespace: Option<&str>, tool: &Value) -> Result<(), Problem> {
        match tool["type"].as_str() {
            Some("function") => self.insert(namespace, tool, &tool["parameters"], false),
            Some("custom") => self.insert(namespace, tool, &custom_parameters(&tool["format"]), true),
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
        parameters: &Value,
        custom: bool,
    ) -> Result<(), Problem> {
        let mut spec = fields::tool(tool, parameters)?;
        let name = std::mem::take(&mut spec.name);
        spec.name = flat(namespace, &name);
        // codex may send a tool both in `tools` and in the input. One tool above the limit is kept,
        // so that the request is refused.
        let known = self.tools.iter().position(|known| known.spec.name == spec.name);
        let tool = Tool { spec, name, namespace: namespace.map(str::to_owned), custom };
        match known {
            Some(at) => self.tools[at] = tool,
            None if self.tools.len() <= TOOLS_MAX => self.tools.push(tool),
            None => {}
        }
        Ok(())
    }

    pub fn specs(&self) -> Vec<ToolSpec> {
        self.tools.iter().map(|tool| tool.spec.clone()).collect()
    }

    /// Reads `tool_choice`. `allowed_tools` removes all others.
    pub fn choice(&mut self, choice: Option<&Value>) -> Result<Choice, Problem> {
        let Some(choice) = choice else { return Ok(Choice::Auto) };
        let named = |choice: &Value, name: &str| flat(choice["namespace"].as_str(), name);
        if choice["type"] == "allowed_tools" {
            let all = choice["tools"].as_array().into_iter().flatten();
            let allowed: Vec<String> = all.filter_map(|one| Some(named(one, one["name"].as_str()?))).collect();
            self.tools.retain(|tool| allowed.contains(&tool.spec.name));
            return fields::choice(choice.get("mode"));
        }
        Ok(match fields::choice(Some(choice))? {
            Choice::Named(name) => Choice::Named(named(choice, &name)),
            word => word,
        })
    }

    /// The client's tool that the model called.
    fn called(&self, call: &Call) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.spec.name == call.name)
    }

    /// The item for a call. An item that has only just begun has an empty input, to which events
    /// add.
    pub fn item(&self, id: &str, call: &Call, status: &str, begun: bool) -> Value {
        let tool = self.called(call);
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
        self.called(call).is_some_and(|tool| tool.custom)
    }

    /// The arguments as the client reads them: JSON, or the single text of a custom tool.
    pub fn input(&self, call: &Call) -> String {
        match call.arguments.get(INPUT) {
            Some(Value::String(input)) if self.is_custom(call) => input.clone(),
            _ => json!(call.arguments).to_string(),
        }
    }
}

/// The schema of a custom tool. The grammar for its input is added to its description as text.
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
        fields::call(&json!("call_1"), &json!(name), &json!({ key: value }))
    }

    #[test]
    fn tools_of_a_namespace_are_offered_and_called_back() {
        assert_eq!(
            (flat(Some("mcp__docs__"), "find"), flat(Some(OWN), "shell")),
            ("mcp__docs__find".into(), "shell".into())
        );
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
    fn a_choice_names_a_tool_by_its_namespace_or_takes_others_away() {
        let find = json!({ "type": "function", "namespace": "mcp__docs", "name": "find" });
        assert_eq!(codex().choice(Some(&find)), Ok(Choice::Named("mcp__docs__find".to_owned())));
        let mut tools = codex();
        let allowed = json!({ "type": "allowed_tools", "mode": "auto", "tools": [find] });
        assert_eq!(tools.choice(Some(&allowed)), Ok(Choice::Auto));
        assert_eq!(tools.specs().len(), 1);
    }
}
