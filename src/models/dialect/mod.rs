//! How a model wants to be spoken to: chat markers, tool lists, calls and results, one file a dialect.

mod chatml;
mod detect;
mod families;
mod format;
mod json;
mod lfm2;
mod lfm25;
mod list;
pub mod literal;
mod marked;
mod plain;
mod pythonic;

use serde_json::{Map, Value};

pub use detect::{CALL_FORMATS, DIALECTS, by_name, choose, is_said};

/// Text for a model, in pieces. Only [`Piece::Special`] may become control tokens; a user's or a tool's text that
/// happens to contain `<|im_end|>` stays ordinary text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prompt {
    pub pieces: Vec<Piece>,
    /// Pieces at the start that are the same in every prompt of their kind: the system message.
    fixed: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    Special(String),
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

    /// What stands here so far is the same in every prompt of this kind.
    pub fn fixed_so_far(mut self) -> Prompt {
        self.fixed = self.pieces.len();
        self
    }

    /// The part of the prompt that is the same in every prompt of its kind.
    pub fn fixed_part(&self) -> Prompt {
        Prompt { pieces: self.pieces[..self.fixed].to_vec(), fixed: self.fixed }
    }

    /// The whole prompt as a reader sees it; for logs and scripted models, never for tokenising.
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

/// A tool as a model is told about it.
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

/// One family's way of chatting and calling tools.
pub trait Dialect: Send + Sync {
    /// `lfm2`, `lfm2.5`, `chatml`, …: the name used in `models.toml`.
    fn name(&self) -> &'static str;

    /// The whole conversation, ending where the assistant has to go on. Adds the begin-of-text marker if the family has one.
    fn render(&self, messages: &[Message]) -> Prompt;

    /// How tools are listed inside the system message.
    fn tool_list(&self, tools: &[ToolText]) -> String;

    /// The same without a word on how to write a call.
    fn bare_list(&self, tools: &[ToolText]) -> String {
        self.tool_list(tools)
    }

    /// Marks before words that are no call: GPT-OSS names the channel.
    fn words_mark(&self) -> &'static str {
        ""
    }

    /// Text that stands before and after a call, `("[", "]")` say.
    fn call_marks(&self) -> (&'static str, &'static str);

    /// A call as this family writes it, without the marks: `name(a="x", n=1)` or `{"name": …}`.
    fn write_call(&self, name: &str, arguments: &Map<String, Value>) -> String;

    /// Every call in `text` that is written strictly as this family writes calls, in order.
    fn read_calls(&self, text: &str) -> Vec<RawCall>;
}
