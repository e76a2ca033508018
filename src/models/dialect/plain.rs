//! Implements a dialect without markers, a written dialogue, for base models and unknown families.

use super::{Dialect, Message, Prompt, Speaker, ToolText, list};
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
