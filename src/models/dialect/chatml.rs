//! Implements the dialects without marks for calls: ChatML of SmolLM and Qwen, and a written dialogue for base models and unknown families.

use super::{Dialect, Message, Prompt, Speaker, ToolText, list};
use crate::models::gguf::Header;

const OPEN: &str = "<|im_start|>";
const CLOSE: &str = "<|im_end|>";

#[derive(Clone, Debug, Default)]
pub struct ChatMl {
    begin: Option<String>,
    /// The system message of the model's own template, for conversations without one.
    default_system: Option<String>,
}

impl ChatMl {
    pub fn of(header: &Header) -> ChatMl {
        ChatMl {
            begin: header.begin.clone().filter(|token| token != OPEN),
            default_system: header.chat_template.as_deref().and_then(default_system),
        }
    }
}

impl Dialect for ChatMl {
    fn name(&self) -> &'static str {
        "chatml"
    }

    fn render(&self, messages: &[Message]) -> Prompt {
        let start = self.begin.iter().fold(Prompt::default(), |prompt, token| prompt.special(token.as_str()));
        let no_system = messages.first().is_none_or(|first| first.speaker != Speaker::System);
        let default = self.default_system.iter().filter(|_| no_system).map(|text| ("system", text.as_str()));
        let given = messages.iter().map(|message| (speaker(message.speaker), message.content.as_str()));
        let turn = |prompt: Prompt, (speaker, content): (&str, &str)| {
            let said = prompt.special(OPEN).text(format!("{speaker}\n{content}")).special(CLOSE).text("\n");
            if speaker == "system" { said.fixed_so_far() } else { said }
        };
        default.chain(given).fold(start, turn).special(OPEN).text("assistant\n")
    }

    fn tool_list(&self, tools: &[ToolText]) -> String {
        format!("Tools:\n{}", list::numbered(tools))
    }
}

/// A dialogue without markers.
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

pub(super) fn speaker(speaker: Speaker) -> &'static str {
    match speaker {
        Speaker::System => "system",
        Speaker::User => "user",
        Speaker::Assistant => "assistant",
        Speaker::Tool => "tool",
    }
}

/// The literal text between `<|im_start|>system` and `<|im_end|>` in a template; `None` if it is computed.
fn default_system(template: &str) -> Option<String> {
    let opening = [format!("{OPEN}system\n"), format!("{OPEN}system\\n")];
    let rest = opening.iter().find_map(|opening| template.split_once(opening.as_str())).map(|(_, rest)| rest)?;
    let (text, _) = rest.split_once(CLOSE)?;
    (!text.contains(['{', '}', '\'', '"', '+'])).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: &str =
        "{% if messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou are Smol<|im_end|>\n' }}";

    #[test]
    fn the_templates_system_message_replaces_a_missing_one() {
        let dialect = ChatMl { begin: None, default_system: default_system(TEMPLATE) };
        let asked = dialect.render(&[Message::user("Hi")]).flat();
        assert_eq!(
            asked,
            "<|im_start|>system\nYou are Smol<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
        );
        let told = dialect.render(&[Message::system("Be brief."), Message::user("Hi")]).flat();
        assert!(told.starts_with("<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n"), "{told}");
    }

    #[test]
    fn a_computed_system_message_is_not_taken_for_text() {
        assert_eq!(default_system("'<|im_start|>system\n' + system + '<|im_end|>'"), None);
        assert_eq!(default_system("no markers"), None);
        assert_eq!(default_system("'<|im_start|>system\\nBe kind.<|im_end|>'").as_deref(), Some("Be kind."));
    }

    #[test]
    fn a_begin_marker_is_added_once_if_the_file_wants_it() {
        let dialect = ChatMl { begin: Some("<s>".into()), default_system: None };
        assert!(dialect.render(&[Message::user("Hi")]).flat().starts_with("<s><|im_start|>user\nHi"));
    }

    #[test]
    fn bracket_calls_are_read_from_prose() {
        let calls = ChatMl::default().read_calls("I will call [fs.read(path=\"a.rs\")] now.");
        assert_eq!(calls[0].name, "fs.read");
    }

    #[test]
    fn a_conversation_reads_as_a_dialogue() {
        let dialect = Plain { begin: Some("<bos>".into()) };
        let messages = [Message::system("Help."), Message::user("Time?"), Message::tool("12:00")];
        assert_eq!(dialect.render(&messages).flat(), "<bos>Help.\n\nUser: Time?\nResult: 12:00\nAssistant:");
    }
}
