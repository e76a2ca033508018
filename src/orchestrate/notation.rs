//! Tools as models read and write them: how one is listed, and a grammar in which a reply is words or one call.

use serde_json::{Map, Value};

use crate::engine::Grammar;
use crate::models::dialect::{Dialect, ToolText};
use crate::tools::ToolSpec;

use super::words;

/// A whole description.
pub const WHOLE: usize = usize::MAX;
/// Longest arguments of a call, in characters.
const ARGUMENTS_CHARS: usize = 4_000;

/// A tool as models are shown it, its description cut to so many characters.
pub fn shown(tool: &ToolSpec, description_chars: usize) -> ToolText {
    ToolText {
        name: tool.name.clone(),
        description: words::shorten(&tool.description, description_chars),
        parameters: tool.parameters.clone(),
    }
}

pub fn grammar(dialect: &dyn Dialect, tools: &[ToolText]) -> Grammar {
    let (before, after) = dialect.call_marks();
    let call = |tool: &ToolText| {
        let written = dialect.write_call(&tool.name, &Map::new());
        match written.split_once("{}") {
            Some((head, tail)) => format!("{} %json {} {}", marks(head), tool.parameters, marks(tail)),
            None => {
                let (name, close) = written.split_once('(').unwrap_or((&written, ""));
                format!("{} \"(\" ARGUMENTS {}", quoted(name), quoted(close))
            }
        }
    };
    let calls: Vec<String> = tools.iter().map(call).collect();
    // Words do not begin like a call, so that the first token decides.
    Grammar::Lark(format!(
        "start: WORDS | {} tool {}\ntool: {}\nWORDS: /[A-Za-z0-9\"'(*#-](.|\\n)*/\nARGUMENTS: /[^\\n]{{0,{ARGUMENTS_CHARS}}}/\n",
        marks(before),
        marks(after),
        calls.join("\n  | ")
    ))
}

/// `<|tool_call_start|>[` as a control token and a text.
fn marks(text: &str) -> String {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((words, tail)) = rest.split_once("<|") {
        let Some((name, tail)) = tail.split_once("|>") else { break };
        parts.extend((!words.is_empty()).then(|| quoted(words)));
        parts.push(format!("<|{name}|>"));
        rest = tail;
    }
    parts.extend((!rest.is_empty()).then(|| quoted(rest)));
    if parts.is_empty() { "\"\"".to_owned() } else { parts.join(" ") }
}

pub fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::models::dialect;

    fn written(name: &str) -> String {
        let tool = ToolText { name: "read".into(), description: String::new(), parameters: json!({"type": "object"}) };
        let dialect = dialect::by_name(name).unwrap();
        let Grammar::Lark(text) = grammar(&*dialect, &[tool]) else { panic!("no Lark") };
        text
    }

    #[test]
    fn a_call_is_written_with_the_familys_marks() {
        assert!(written("chatml").starts_with("start: WORDS | \"[\" tool \"]\"\ntool: \"read\" \"(\" ARGUMENTS \")\""));
        assert!(written("hermes").starts_with(
            "start: WORDS | \"<tool_call>\\n{\\\"name\\\": \\\"\" tool \"}\\n</tool_call>\"\ntool: \"read\\\", \\\"arguments\\\": \" %json {\"type\":\"object\"} \"\"\n"
        ));
        assert!(written("harmony").contains("tool: \"read \" <|constrain|> \"json\" <|message|> %json"));
        assert!(written("lfm2").starts_with("start: WORDS | <|tool_call_start|> \"[\" tool \"]\" <|tool_call_end|>\n"));
    }
}
