//! Writes conversations as a model's family expects them (chat markers, tool lists, calls, results) and reads its calls.

mod chatml;
mod detect;
mod families;
mod format;
mod json;
mod lfm2;
mod list;
pub(crate) mod literal;
mod marked;
pub mod notation;
pub mod python_json;
mod pythonic;
pub mod template;

use serde_json::{Map, Value};

pub use detect::{DIALECTS, by_name, choose, is_said};

/// Text for a model, in pieces. Only [`Piece::Special`] may become control tokens; a user's or a tool's text that
/// happens to contain `<|im_end|>` stays ordinary text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prompt {
    pub pieces: Vec<Piece>,
    /// Number of pieces at the start that are the same in every prompt of this kind: the system message.
    fixed: usize,
}

/// A piece of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// May become control tokens.
    Special(String),
    /// Never becomes control tokens.
    Text(String),
}

impl Prompt {
    pub fn special(mut self, text: impl Into<String>) -> Prompt {
        self.pieces.push(Piece::Special(text.into()));
        self
    }

    pub fn text(mut self, text: impl Into<String>) -> Prompt {
        self.pieces.push(Piece::Text(text.into()));
        self
    }

    /// Marks all pieces so far as the same in every prompt of this kind.
    pub fn fixed_so_far(mut self) -> Prompt {
        self.fixed = self.pieces.len();
        self
    }

    /// The part of the prompt that is the same in every prompt of its kind.
    pub fn fixed_part(&self) -> Prompt {
        Prompt { pieces: self.pieces[..self.fixed].to_vec(), fixed: self.fixed }
    }

    /// The whole prompt as one text, for logs and scripted models; never tokenised.
    pub fn flat(&self) -> String {
        self.pieces
            .iter()
            .map(|piece| match piece {
                Piece::Special(text) | Piece::Text(text) => text.as_str(),
            })
            .collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    System,
    User,
    Assistant,
    Tool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    pub speaker: Speaker,
    pub content: String,
}

impl Message {
    pub fn system(content: impl Into<String>) -> Message {
        Message { speaker: Speaker::System, content: content.into() }
    }

    pub fn user(content: impl Into<String>) -> Message {
        Message { speaker: Speaker::User, content: content.into() }
    }

    pub fn assistant(content: impl Into<String>) -> Message {
        Message { speaker: Speaker::Assistant, content: content.into() }
    }

    pub fn tool(content: impl Into<String>) -> Message {
        Message { speaker: Speaker::Tool, content: content.into() }
    }
}

/// A tool as described to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolText {
    pub name: String,
    pub description: String,
    /// A JSON schema of type `object`.
    pub parameters: Value,
}

/// A call as a model wrote it, before it is checked against any schema.
#[derive(Clone, Debug, PartialEq)]
pub struct RawCall {
    pub name: String,
    pub arguments: Map<String, Value>,
}

/// The chat format of a model family, with its tool list and calls.
pub trait Dialect: Send + Sync {
    /// `lfm2`, `lfm2.5`, `chatml`, …: the name used in `models.toml`.
    fn name(&self) -> &'static str;

    /// The whole conversation, ending where the assistant has to continue. Adds the begin-of-text marker if the model has one.
    fn render(&self, messages: &[Message]) -> Prompt;

    /// The tool list, as text inside the system message.
    fn tool_list(&self, tools: &[ToolText]) -> String;

    /// The tool list without instructions on how to write a call.
    fn bare_list(&self, tools: &[ToolText]) -> String {
        self.tool_list(tools)
    }

    /// Marks before a reply that is not a call: GPT-OSS names the channel.
    fn words_mark(&self) -> &'static str {
        ""
    }

    /// Text before and after a call; brackets for families without a notation of their own.
    fn call_marks(&self) -> (&'static str, &'static str) {
        ("[", "]")
    }

    /// A call as this family writes it, without the marks: `name(a="x", n=1)` or `{"name": …}`.
    fn write_call(&self, name: &str, arguments: &Map<String, Value>) -> String {
        pythonic::write(name, arguments)
    }

    /// Every call in `text` in the exact notation of this family, in order.
    fn read_calls(&self, text: &str) -> Vec<RawCall> {
        pythonic::scan(text)
    }
}
