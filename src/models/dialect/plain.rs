//! Implements a dialect without markers, a written dialogue, for base models and unknown families.

use serde_json::{Map, Value};

use super::{Dialect, Message, Prompt, RawCall, Speaker, ToolText, list, pythonic};
use crate::models::gguf::Header;

#[derive(Clone, Debug, Default)]
pub struct Plain {
    begin: Option<String>,
}

impl Plain {
    pub fn of(header: &Header) -> Plain {
        Plain { begin: header.begin.clone() }
    }
}

impl Dialect for Plain {
    fn name(&self) -> &'static str {
        "plain"
    }

    fn render(&self, messages: &[Message]) -> Prompt {
        let start = self.begin.iter().fold(Prompt::default(), |prompt, token| prompt.special(token.as_str()));
        let turn = |message: &Message| match message.speaker {
            Speaker::System => format!("{}\n\n", message.content),
            Speaker::User => format!("User: {}\n", message.content),
            Speaker::Assistant => format!("Assistant: {}\n", message.content),
            Speaker::Tool => format!("Result: {}\n", message.content),
        };
        start.text(messages.iter().map(turn).collect::<String>() + "Assistant:")
    }

    fn tool_list(&self, tools: &[ToolText]) -> String {
        format!("Tools:\n{}", list::numbered(tools))
    }

    fn call_marks(&self) -> (&'static str, &'static str) {
        ("[", "]")
    }

    fn write_call(&self, name: &str, arguments: &Map<String, Value>) -> String {
        pythonic::write(name, arguments)
    }

    fn read_calls(&self, text: &str) -> Vec<RawCall> {
        pythonic::scan(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_reads_as_a_dialogue() {
        let dialect = Plain { begin: Some("<bos>".into()) };
        let messages = [Message::system("Help."), Message::user("Time?"), Message::tool("12:00")];
        assert_eq!(dialect.render(&messages).flat(), "<bos>Help.\n\nUser: Time?\nResult: 12:00\nAssistant:");
    }
}
