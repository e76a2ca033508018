//! Implements the LFM2.5 dialect: like LFM2, but with tool list and results as plain text.

use serde_json::{Map, Value};

use super::{Dialect, Message, Prompt, RawCall, Speaker, ToolText, lfm2, list, pythonic};

#[derive(Clone, Copy, Debug, Default)]
pub struct Lfm25;

impl Dialect for Lfm25 {
    fn name(&self) -> &'static str {
        "lfm2.5"
    }

    fn render(&self, messages: &[Message]) -> Prompt {
        lfm2::turns(messages, |prompt, message| match message.speaker {
            Speaker::Assistant => lfm2::mark_calls(prompt, &message.content),
            _ => prompt.text(message.content.as_str()),
        })
    }

    /// Omits today's date, which the vendor's template puts before the list: it would invalidate the prefix cache every day.
    fn tool_list(&self, tools: &[ToolText]) -> String {
        format!("List of tools:\n{}", list::numbered(tools))
    }

    fn call_marks(&self) -> (&'static str, &'static str) {
        lfm2::call_marks()
    }

    fn write_call(&self, name: &str, arguments: &Map<String, Value>) -> String {
        pythonic::write(name, arguments)
    }

    fn read_calls(&self, text: &str) -> Vec<RawCall> {
        lfm2::read_calls(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_no_markers() {
        let messages =
            [Message::user("Time?"), Message::assistant("<|tool_call_start|>[now()]"), Message::tool("12:00")];
        insta::assert_snapshot!(Lfm25.render(&messages).flat(), @r"
        <|startoftext|><|im_start|>user
        Time?<|im_end|>
        <|im_start|>assistant
        <|tool_call_start|>[now()]<|im_end|>
        <|im_start|>tool
        12:00<|im_end|>
        <|im_start|>assistant
        ");
    }
}
