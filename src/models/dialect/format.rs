//! Wraps a dialect so that calls are written and read in the notation of the setting `tool_call_format`.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Dialect, Message, Prompt, RawCall, ToolText, json, lfm2, pythonic};

/// A notation for calls.
pub struct CallFormat {
    name: &'static str,
    /// Around a call.
    marks: (&'static str, &'static str),
    write: fn(&str, &Map<String, Value>) -> String,
    read: fn(&str) -> Vec<RawCall>,
}

/// `<tool_call>{"name": …, "arguments": {…}}</tool_call>`, `<|tool_call_start|>[f(a=1)]<|tool_call_end|>` and `[server.tool(a=1)]`.
static FORMATS: [CallFormat; 3] = [
    CallFormat { name: "native_json", marks: ("<tool_call>", "</tool_call>"), write: json::write, read: json::scan },
    CallFormat { name: "pythonic", marks: lfm2::CALL_MARKS, write: pythonic::write, read: lfm2::read_calls },
    CallFormat { name: "bracket", marks: ("[", "]"), write: pythonic::write, read: pythonic::scan },
];

impl CallFormat {
    pub fn by_name(name: &str) -> Option<&'static CallFormat> {
        FORMATS.iter().find(|format| format.name == name)
    }
}

pub struct Formatted {
    pub family: Arc<dyn Dialect>,
    pub format: &'static CallFormat,
}

impl Dialect for Formatted {
    fn name(&self) -> &'static str {
        self.family.name()
    }

    fn render(&self, messages: &[Message]) -> Prompt {
        self.family.render(messages)
    }

    fn tool_list(&self, tools: &[ToolText]) -> String {
        // The family's own instruction would ask for a notation that is not read here.
        let arguments = Map::from_iter([("ARGUMENT".to_owned(), Value::from("value"))]);
        let (before, after) = self.call_marks();
        let call = format!("{before}{}{after}", self.write_call("NAME", &arguments));
        format!("{}\n\nTo call a function, write {call}", self.family.bare_list(tools))
    }

    fn words_mark(&self) -> &'static str {
        self.family.words_mark()
    }

    fn call_marks(&self) -> (&'static str, &'static str) {
        self.format.marks
    }

    fn write_call(&self, name: &str, arguments: &Map<String, Value>) -> String {
        (self.format.write)(name, arguments)
    }

    fn read_calls(&self, text: &str) -> Vec<RawCall> {
        (self.format.read)(text)
    }
}
