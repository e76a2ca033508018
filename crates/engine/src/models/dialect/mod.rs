//! Writes conversations in a model's chat template, and reads the calls in its replies.
//!
//! The template comes from the model file. One-time test renderings reveal which inputs it does not
//! accept; these are converted to a form that it does.

pub mod chat;
mod detect;
mod form;
mod input;
mod list;
pub mod literal;
mod marks;
pub mod notation;
pub mod prompt;
pub mod python_json;
pub mod template;

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value};

pub use chat::{Chat, Message, RawCall, SHOWN, Speaker, ToolText};
pub use detect::{DIALECTS, by_name, choose, in_notation_of, with_calls, with_headers};
pub use prompt::{Piece, Prompt};

use crate::base::OrBug;
use form::{Form, Wanted};
use marks::Marks;
use notation::{Calls, Notation, Piece as Part};
use template::Template;

/// The call notations that a setting can select instead of the template's.
pub const FORMATS: [&str; 3] = ["native_json", "pythonic", "bracket"];

/// A model's chat format, including its tool list and calls.
#[derive(Debug)]
pub struct Dialect {
    form: Form,
    /// The variant of the template for conversations with tools, if the file has one.
    with_tools: Option<Form>,
    marks: Marks,
    notation: Notation,
    refused: Notice,
}

impl Dialect {
    /// The complete conversation, ending where the assistant must continue.
    pub fn render<'a>(&self, chat: impl Into<Chat<'a>>) -> Prompt {
        let chat = chat.into();
        let mut pictures = Vec::new();
        let guarded = chat.messages.iter().map(|message| self.marks.message(message, &mut pictures));
        let mut messages: Vec<Message> = guarded.collect();
        if let Some(user) = messages.iter_mut().find(|message| message.speaker == Speaker::User) {
            user.content = marks::first(&user.content);
        }
        let tools: Vec<ToolText> = chat.tools.iter().map(|tool| self.marks.tool(tool)).collect();
        let text = match chat.begun {
            Some(begun) => self.text_begun(messages, &tools, chat.thinks, begun),
            None => self.text(&messages, &tools, Wanted { thinks: chat.thinks, opened: true }),
        };
        self.marks.prompt(&text, &pictures)
    }

    /// The text up to the end of the assistant's last message, which begins with the given text.
    fn text_begun(&self, mut messages: Vec<Message>, tools: &[ToolText], thinks: Option<bool>, begun: &str) -> String {
        let begun = self.marks.guarded(begun);
        let opened = |messages: &[Message]| self.text(messages, tools, Wanted { thinks, opened: true }) + &begun;
        messages.push(Message::assistant(format!("{begun}{}", marks::END)));
        let mut text = self.text(&messages, tools, Wanted { thinks, opened: false });
        match text.rfind(marks::END) {
            Some(end) => {
                text.truncate(end);
                text
            }
            None => opened(&messages[..messages.len() - 1]),
        }
    }

    fn text(&self, messages: &[Message], tools: &[ToolText], wanted: Wanted) -> String {
        static LAST_RESORT: LazyLock<Form> = LazyLock::new(|| {
            let template = Template::compile(include_str!("builtin/chatml.jinja"));
            let template = template.or_bug("a built-in template compiles");
            Form::of(template, "", "", &Calls::default(), false).or_bug("ChatML shows every message")
        });
        let has_calls = messages.iter().any(|message| message.speaker == Speaker::Tool || !message.calls.is_empty());
        let form = self.with_tools.as_ref().filter(|_| has_calls || !tools.is_empty()).unwrap_or(&self.form);
        form.text(messages, tools, wanted, &self.notation.calls).unwrap_or_else(|| {
            self.refused
                .say("the model's chat template refuses this conversation in every order; ChatML is used instead");
            let text = LAST_RESORT.text(messages, tools, wanted, &self.notation.calls);
            text.or_bug("ChatML takes every conversation")
        })
    }

    /// How the model writes calls, thoughts and text.
    pub fn notation(&self) -> &Notation {
        &self.notation
    }

    /// The calls in the text of a reply, and whether each is certain.
    pub fn read(&self, text: &str, tools: &[ToolText]) -> Vec<(RawCall, bool)> {
        let mut reader = self.notation.reader(tools, false);
        let mut parts = reader.push(text);
        parts.extend(reader.finish());
        let call = |part| match part {
            Part::Call { call, is_certain } => Some((call, is_certain)),
            Part::Content(_) | Part::Thinking(_) => None,
        };
        parts.into_iter().filter_map(call).collect()
    }

    /// The message for a reply that contains these calls: its text and the calls, or the entire
    /// text if the calls are not `certain`.
    pub fn replied(&self, text: &str, calls: &[RawCall], certain: bool) -> Message {
        let mark = self.notation.calls.mark().lines().next().unwrap_or_default();
        let begun = text.find(mark).filter(|_| certain && !calls.is_empty() && !mark.is_empty());
        match begun {
            Some(at) => Message::calling(text[..at].trim_end(), calls.to_vec()),
            None => Message::assistant(text),
        }
    }
}

/// `messages` and `tools` in a form that all kinds of servers accept over an OpenAI-compatible API:
/// one system message, then alternating speakers. If there are no `fields` for calls, tools are
/// described and calls are written out in the messages. Thoughts are omitted unless `thoughts` is
/// set.
pub fn for_api(messages: &[Message], tools: &[ToolText], fields: bool, thoughts: bool) -> Map<String, Value> {
    use input::{ALTERNATING, ARGUMENTS_AS_TEXT, CALLS_IN_WORDS, NO_EMPTY_CONTENT, NO_THOUGHTS};
    use input::{RESULTS_BY_USER, SYSTEM_FIRST, TOOLS_IN_SYSTEM};
    let always = [ARGUMENTS_AS_TEXT, NO_EMPTY_CONTENT, SYSTEM_FIRST, ALTERNATING];
    let in_words = [TOOLS_IN_SYSTEM, CALLS_IN_WORDS, RESULTS_BY_USER].into_iter().filter(|_| !fields);
    let silent = [NO_THOUGHTS].into_iter().filter(|_| !thoughts);
    let ways = always.into_iter().chain(in_words).chain(silent).fold(input::Ways::default(), input::Ways::and);
    input::input(messages.to_vec(), tools, ways, &Notation::usual().calls, true)
}

/// A warning that is logged once.
#[derive(Debug, Default)]
struct Notice(AtomicBool);

impl Notice {
    fn say(&self, text: &str) {
        if !self.0.swap(true, Ordering::Relaxed) {
            tracing::warn!("{text}");
        }
    }
}

#[cfg(test)]
mod tests;
