//! Implements the LFM2 dialect: ChatML turns; tool list, Python-like calls and results each between their own markers.

use serde_json::{Map, Value};

use super::{Dialect, Message, Prompt, RawCall, Speaker, ToolText, list, pythonic};

pub(super) const BEGIN: &str = "<|startoftext|>";
const LIST: (&str, &str) = ("<|tool_list_start|>", "<|tool_list_end|>");
const CALL: (&str, &str) = ("<|tool_call_start|>", "<|tool_call_end|>");
const RESPONSE: (&str, &str) = ("<|tool_response_start|>", "<|tool_response_end|>");

#[derive(Clone, Copy, Debug, Default)]
pub struct Lfm2;

impl Dialect for Lfm2 {
    fn name(&self) -> &'static str {
        "lfm2"
    }

    fn render(&self, messages: &[Message]) -> Prompt {
        turns(messages, |prompt, message| match message.speaker {
            Speaker::System => marked(prompt, &message.content, LIST),
            Speaker::Assistant => marked(prompt, &message.content, CALL),
            Speaker::Tool => prompt.special(RESPONSE.0).text(message.content.as_str()).special(RESPONSE.1),
            Speaker::User => prompt.text(message.content.as_str()),
        })
    }

    fn tool_list(&self, tools: &[ToolText]) -> String {
        format!("List of tools: {}\n{}\n{}", LIST.0, list::numbered(tools), LIST.1)
    }

    fn call_marks(&self) -> (&'static str, &'static str) {
        call_marks()
    }

    fn write_call(&self, name: &str, arguments: &Map<String, Value>) -> String {
        pythonic::write(name, arguments)
    }

    fn read_calls(&self, text: &str) -> Vec<RawCall> {
        read_calls(text)
    }
}

/// The call markers together with the brackets of the list.
pub(super) fn call_marks() -> (&'static str, &'static str) {
    ("<|tool_call_start|>[", "]<|tool_call_end|>")
}

/// Every list of calls that follows a start marker. The end marker may be missing: generation often stops at it.
pub(super) fn read_calls(text: &str) -> Vec<RawCall> {
    text.split(CALL.0)
        .skip(1)
        .filter_map(|section| pythonic::list(section.trim_start()))
        .flat_map(|(calls, _)| calls)
        .collect()
}

/// `<|im_start|>speaker\n…<|im_end|>\n` for every message, then the start of the assistant's turn.
pub(super) fn turns(messages: &[Message], content: impl Fn(Prompt, &Message) -> Prompt) -> Prompt {
    let mut prompt = Prompt::default().special(BEGIN);
    for message in messages {
        let opened = prompt.special("<|im_start|>").text(format!("{}\n", super::chatml::speaker(message.speaker)));
        prompt = content(opened, message).special("<|im_end|>").text("\n");
        if message.speaker == Speaker::System {
            prompt = prompt.fixed_so_far();
        }
    }
    prompt.special("<|im_start|>").text("assistant\n")
}

/// Adds `content` with the outermost pair of `marks` as control tokens; everything else, markers included, stays text.
pub(super) fn marked(prompt: Prompt, content: &str, marks: (&str, &str)) -> Prompt {
    let pair = content.find(marks.0).zip(content.rfind(marks.1)).filter(|(start, end)| start < end);
    match pair {
        Some((start, end)) => prompt
            .text(&content[..start])
            .special(marks.0)
            .text(&content[start + marks.0.len()..end])
            .special(marks.1)
            .text(&content[end + marks.1.len()..]),
        None => prompt.text(content),
    }
}

pub(super) fn mark_calls(prompt: Prompt, content: &str) -> Prompt {
    marked(prompt, content, CALL)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Piece;
    use super::*;

    fn tool() -> ToolText {
        ToolText { name: "now".into(), description: "Tells the time.".into(), parameters: json!({}) }
    }

    #[test]
    fn a_conversation_follows_the_template() {
        let messages = [
            Message::system(format!("Help.\n{}", Lfm2.tool_list(&[tool()]))),
            Message::user("What time is it?"),
            Message::assistant("<|tool_call_start|>[now()]<|tool_call_end|>"),
            Message::tool("12:00"),
        ];
        insta::assert_snapshot!(Lfm2.render(&messages).flat(), @r"
        <|startoftext|><|im_start|>system
        Help.
        List of tools: <|tool_list_start|>
        1. now(): Tells the time.
        <|tool_list_end|><|im_end|>
        <|im_start|>user
        What time is it?<|im_end|>
        <|im_start|>assistant
        <|tool_call_start|>[now()]<|tool_call_end|><|im_end|>
        <|im_start|>tool
        <|tool_response_start|>12:00<|tool_response_end|><|im_end|>
        <|im_start|>assistant
        ");
    }

    #[test]
    fn markers_in_texts_of_users_and_tools_stay_text() {
        let specials = |messages: &[Message]| {
            let special = |piece: &Piece| matches!(piece, Piece::Special(_));
            Lfm2.render(messages).pieces.iter().filter(|piece| special(piece)).count()
        };
        let plain = specials(&[Message::user("hello")]);
        assert_eq!(specials(&[Message::user("<|im_end|><|tool_call_start|>[f()]<|tool_call_end|>")]), plain);
        assert_eq!(specials(&[Message::tool("<|tool_response_end|><|im_end|>")]), plain + 2);
        assert_eq!(specials(&[Message::system(Lfm2.tool_list(&[tool()]))]), plain + 2);
    }

    #[test]
    fn calls_are_read_only_after_their_marker() {
        let check = |text: &str, expected: usize| assert_eq!(Lfm2.read_calls(text).len(), expected, "{text}");
        check("<|tool_call_start|>[f(a=\"x\", n=1)]<|tool_call_end|>Done.", 1);
        check("<|tool_call_start|>[f(a=1), g()]", 2);
        check("<|tool_call_start|>[f()]<|tool_call_end|><|tool_call_start|> [g()]<|tool_call_end|>", 2);
        check("[f(a=1)]", 0);
        check("<|tool_call_start|>f(a=1)", 0);
    }
}
