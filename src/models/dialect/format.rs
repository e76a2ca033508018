//! Wraps a dialect so that calls are written and read in the notation of the setting `tool_call_format`.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Dialect, Message, Prompt, RawCall, ToolText, json, lfm2, pythonic};

/// A notation for calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallFormat {
    /// `<tool_call>{"name": …, "arguments": {…}}</tool_call>`
    NativeJson,
    /// `<|tool_call_start|>[f(a=1)]<|tool_call_end|>`
    Pythonic,
    /// `[server.tool(a=1)]`
    Bracket,
}

impl CallFormat {
    pub fn by_name(name: &str) -> Option<CallFormat> {
        match name {
            "native_json" => Some(CallFormat::NativeJson),
            "pythonic" => Some(CallFormat::Pythonic),
            "bracket" => Some(CallFormat::Bracket),
            _ => None,
        }
    }
}

pub struct Formatted {
    pub family: Arc<dyn Dialect>,
    pub format: CallFormat,
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
        match self.format {
            CallFormat::NativeJson => ("<tool_call>", "</tool_call>"),
            CallFormat::Pythonic => lfm2::call_marks(),
            CallFormat::Bracket => ("[", "]"),
        }
    }

    fn write_call(&self, name: &str, arguments: &Map<String, Value>) -> String {
        match self.format {
            CallFormat::NativeJson => json::write(name, arguments),
            CallFormat::Pythonic | CallFormat::Bracket => pythonic::write(name, arguments),
        }
    }

    fn read_calls(&self, text: &str) -> Vec<RawCall> {
        match self.format {
            CallFormat::NativeJson => json::scan(text),
            CallFormat::Pythonic => lfm2::read_calls(text),
            CallFormat::Bracket => pythonic::scan(text),
        }
    }
}
