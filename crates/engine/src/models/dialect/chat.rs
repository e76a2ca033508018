//! A conversation as input for a dialect: messages, calls and their results, and the available tools.

use serde_json::{Map, Value, json};

use crate::models::Picture;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    System,
    User,
    Assistant,
    Tool,
}

/// Marks the place of a picture in a message's content (OBJECT REPLACEMENT CHARACTER).
pub const SHOWN: char = '\u{fffc}';

/// A part of a message's content.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part<'a> {
    Text(&'a str),
    Picture(&'a Picture),
}

/// `text` without characters that would represent a picture.
fn plain(text: &str) -> String {
    text.replace(SHOWN, "\u{fffd}")
}

/// A message. The results of its calls follow it, in the order of the calls.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    pub speaker: Speaker,
    pub content: String,
    /// The pictures for the first [`SHOWN`] characters in the content, in order; further ones are
    /// text.
    pub pictures: Vec<Picture>,
    /// The assistant's thoughts before its text.
    pub thinking: String,
    /// The assistant's calls, in addition to its text.
    pub calls: Vec<RawCall>,
}

impl Message {
    fn of(speaker: Speaker, content: impl Into<String>) -> Message {
        let (content, thinking) = (content.into(), String::new());
        Message { speaker, content, pictures: Vec::new(), thinking, calls: Vec::new() }
    }

    /// The same message with a picture after its current text.
    pub fn and_picture(mut self, picture: Picture) -> Message {
        if self.pictures.is_empty() {
            self.content = plain(&self.content);
        }
        self.content.push(SHOWN);
        self.pictures.push(picture);
        self
    }

    /// The same message with text appended.
    pub fn and_text(mut self, text: &str) -> Message {
        self.content += &if self.pictures.is_empty() { text.to_owned() } else { plain(text) };
        self
    }

    /// Its content in order. Pictures without a place in the text are omitted.
    pub fn parts(&self) -> Vec<Part<'_>> {
        let (mut parts, mut pictures) = (Vec::new(), self.pictures.iter());
        for text in self.content.split_inclusive(SHOWN) {
            let shown = text.strip_suffix(SHOWN).and_then(|before| Some((before, pictures.next()?)));
            let (text, picture) = shown.map_or((text, None), |(before, picture)| (before, Some(picture)));
            parts.extend((!text.is_empty()).then_some(Part::Text(text)));
            parts.extend(picture.map(Part::Picture));
        }
        parts
    }

    pub fn system(content: impl Into<String>) -> Message {
        Message::of(Speaker::System, content)
    }

    pub fn user(content: impl Into<String>) -> Message {
        Message::of(Speaker::User, content)
    }

    pub fn assistant(content: impl Into<String>) -> Message {
        Message::of(Speaker::Assistant, content)
    }

    /// The assistant's text, which may be empty, and its calls.
    pub fn calling(content: impl Into<String>, calls: Vec<RawCall>) -> Message {
        Message { calls, ..Message::assistant(content) }
    }

    /// The result of a call.
    pub fn tool(content: impl Into<String>) -> Message {
        Message::of(Speaker::Tool, content)
    }
}

/// A call as written by a model, not yet checked against a schema.
#[derive(Clone, Debug, PartialEq)]
pub struct RawCall {
    pub name: String,
    pub arguments: Map<String, Value>,
}

/// A tool as described to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolText {
    pub name: String,
    pub description: String,
    /// A JSON schema of type `object`.
    pub parameters: Value,
}

impl ToolText {
    /// The tool in OpenAI's format. A tool without parameters has a schema without properties,
    /// because templates access them.
    pub fn json(&self) -> Value {
        let mut parameters = self.parameters.clone();
        match &mut parameters {
            Value::Object(fields) => {
                fields.entry("type").or_insert_with(|| json!("object"));
                fields.entry("properties").or_insert_with(|| json!({}));
            }
            other => *other = json!({ "type": "object", "properties": {} }),
        }
        let function = json!({ "name": self.name, "description": self.description, "parameters": parameters });
        json!({ "type": "function", "function": function })
    }
}

/// The parts of a prompt.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chat<'a> {
    pub messages: &'a [Message],
    pub tools: &'a [ToolText],
    /// Whether the model may think before it answers; `None` leaves it to the template.
    pub thinks: Option<bool>,
    /// The beginning of the answer, which the model continues.
    pub begun: Option<&'a str>,
}

impl<'a, M: AsRef<[Message]> + ?Sized> From<&'a M> for Chat<'a> {
    /// These messages, without tools.
    fn from(messages: &'a M) -> Chat<'a> {
        Chat { messages: messages.as_ref(), ..Chat::default() }
    }
}
