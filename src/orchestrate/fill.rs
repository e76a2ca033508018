//! Asks the router for the arguments that code could not find: its words are cut from the task, not made up.

use serde_json::{Map, Value, json};

use crate::engine::{Grammar, Request, Sampling};
use crate::models::Role;
use crate::models::dialect::Message;
use crate::tools::ToolSpec;
use crate::tools::spec::Parameter;

use super::Host;
use super::notation;
use super::toolkit::{Toolkit, TurnError};

const PROMPT: &str = include_str!("prompts/fill.md");
/// Longest call in tokens when its texts are copied.
const COPIED_TOKENS_MAX: usize = 120;
/// Longest call in tokens when the model writes a text of its own.
const WRITTEN_TOKENS_MAX: usize = 700;
/// Longest task whose words may be copied; longer ones would make the grammar slow.
const TASK_CHARS: usize = 2_000;

/// Values for the parameters in `missing`, as the router reads them out of `task`. Texts are word for word parts of the
/// task, except where a parameter asks for content, which has to be written. A small router is asked for content only:
/// what code does not find in a task, it does not find either (read through on a development suite, nearly
/// all of the 135M's values were wrong; not counted).
pub async fn missing(
    toolkit: &Toolkit,
    tool: &ToolSpec,
    task: &str,
    missing: &[String],
    host: &dyn Host,
) -> Result<Map<String, Value>, TurnError> {
    let router = toolkit.model(Role::Router, host).await?;
    let wanted: Vec<Parameter<'_>> =
        tool.parameters().into_iter().filter(|parameter| missing.iter().any(|name| name == parameter.name)).collect();
    let wanted: Vec<Parameter<'_>> = match router.capability.supports_complex_reasoning {
        true => wanted,
        // What such a model would put into a file is no content.
        false if toolkit.catalog.executor(&tool.name).is_some() => Vec::new(),
        false => wanted.into_iter().filter(is_content).collect(),
    };
    if wanted.is_empty() {
        return Ok(Map::new());
    }
    let names: Vec<&str> = wanted.iter().map(|parameter| parameter.name).collect();
    let task = super::words::shorten(task, TASK_CHARS);
    let text = notation::shown(tool, notation::WHOLE);
    let messages = [
        Message::system(format!("{}\n{}", PROMPT.trim(), router.dialect.tool_list(&[text]))),
        Message::user(format!("Task: {task}\nArguments: {}", names.join(", "))),
    ];
    let writes = wanted.iter().any(|parameter| is_content(parameter));
    let request = Request {
        grammar: Some(Grammar::Lark(grammar(&wanted, &task))),
        sampling: Sampling::prose(),
        ..router
            .engine
            .request(&router.dialect.render(&messages), if writes { WRITTEN_TOKENS_MAX } else { COPIED_TOKENS_MAX })
    };
    let output = toolkit.generate(&router, request, "filling in arguments", host).await?;
    let mut values = read(&output.text, &wanted);
    values.retain(|name, value| {
        let repeats = value.as_str().is_some_and(|text| repeats(text, &task));
        !repeats || !wanted.iter().any(|parameter| parameter.name == name && is_content(parameter))
    });
    Ok(values)
}

/// Whether a text says the task again and nothing of its own: what should have been written is not known then.
fn repeats(text: &str, task: &str) -> bool {
    let (text, task) = (super::words::split(text), super::words::split(task));
    !text.is_empty() && task.windows(text.len()).any(|said| said == text)
}

/// One line a parameter, `name: value`; copied texts are parts of the task.
fn grammar(wanted: &[Parameter<'_>], task: &str) -> String {
    let mut start = String::from("start:");
    let mut rules = String::new();
    for (number, parameter) in wanted.iter().enumerate() {
        start.push_str(&format!(" \"{}: \" v{number} \"\\n\"", parameter.name));
        let rule = match (parameter.choices(), parameter.kind()) {
            (Some(choices), _) => {
                choices.iter().map(|choice| notation::quoted(&plain(choice))).collect::<Vec<_>>().join(" | ")
            }
            (None, "boolean") => "\"true\" | \"false\"".to_owned(),
            (None, "integer") => "/-?[0-9]{1,12}/".to_owned(),
            (None, "number") => "/-?[0-9]{1,12}(\\.[0-9]{1,6})?/".to_owned(),
            (None, _) if is_content(parameter) => "/[^\\n]{1,400}/".to_owned(),
            (None, _) => format!("%regex {}", json!({ "substring_words": task })),
        };
        let name = if rule.starts_with("%regex") { format!("V{number}") } else { format!("v{number}") };
        if name.starts_with('V') {
            rules.push_str(&format!("v{number}: {name}\n"));
        }
        rules.push_str(&format!("{name}: {rule}\n"));
    }
    format!("{start}\n{rules}")
}

/// A parameter that asks for a text to be written rather than for something the task names.
fn is_content(parameter: &Parameter<'_>) -> bool {
    matches!(parameter.name, "content" | "body" | "text" | "message" | "new" | "code")
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn read(text: &str, wanted: &[Parameter<'_>]) -> Map<String, Value> {
    let mut values = Map::new();
    for parameter in wanted {
        let prefix = format!("{}: ", parameter.name);
        let Some(written) = text.lines().find_map(|line| line.strip_prefix(&prefix)) else { continue };
        let written = written.trim();
        let value = match parameter.kind() {
            "integer" | "number" | "boolean" => serde_json::from_str(written).ok(),
            "array" => Some(json!([written])),
            _ => Some(json!(written)),
        };
        if let Some(value) = value.filter(|_| !written.is_empty()) {
            values.insert(parameter.name.to_owned(), value);
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool() -> ToolSpec {
        ToolSpec {
            name: "notify".into(),
            description: "Tell somebody".into(),
            server: String::new(),
            server_description: String::new(),
            mutates: true,
            destructive: false,
            parameters: json!({"type": "object", "properties": {
                "person": {"type": "string"}, "times": {"type": "integer"}, "how": {"enum": ["mail", "bell"]}},
                "required": ["person"]}),
        }
    }

    #[test]
    fn values_are_read_with_their_types() {
        let tool = tool();
        let values = read("person: Ann\ntimes: 3\nhow: bell\n", &tool.parameters());
        assert_eq!(Value::Object(values), json!({"person": "Ann", "times": 3, "how": "bell"}));
    }

    #[test]
    fn a_content_that_says_the_task_again_is_none() {
        let task = "Create src/entry-server.tsx and tell Ann";
        for said in ["create src/entry-server.tsx", "Tell Ann.", "Create src/entry-server.tsx and tell Ann"] {
            assert!(repeats(said, task), "{said}");
        }
        for own in ["export {}", "Dear Ann", "", "Create src/entry-server.tsx and more"] {
            assert!(!repeats(own, task), "{own}");
        }
    }

    #[test]
    fn a_grammar_has_a_rule_for_every_parameter() {
        let tool = tool();
        let grammar = grammar(&tool.parameters(), "tell \"Ann\" three times");
        for rule in ["V0: %regex", "v1: /-?[0-9]", "v2: \"mail\" | \"bell\""] {
            assert!(grammar.contains(rule), "{grammar}");
        }
    }
}
