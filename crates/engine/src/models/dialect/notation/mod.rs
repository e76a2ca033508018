//! How a model writes calls, thoughts and text: one description, derived from the chat template, for reading and
//! writing.

mod braces;
mod channels;
mod cursor;
mod derive;
mod json;
pub(super) mod named;
mod parse;
mod python;
mod reader;
mod shape;
mod tagged;
#[cfg(test)]
mod tests;
mod thought;
mod values;
mod write;

pub use reader::{Piece, Reader};
pub use values::types;

/// Text before and after something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    pub open: String,
    pub close: String,
}

impl Marks {
    pub fn new(open: impl Into<String>, close: impl Into<String>) -> Marks {
        Marks { open: open.into(), close: close.into() }
    }
}

/// The marks around a model's thoughts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thoughts {
    /// The mark that begins a thought, such as `<think>`.
    pub open: String,
    /// The mark that ends it, such as `</think>`.
    pub close: String,
    /// A word after the opening mark that is not part of the thought, such as `thought` in Gemma 4.
    pub label: String,
    /// Whether the generation prompt opens a thought unless thinking is switched off.
    pub opened_by_prompt: bool,
    /// The text that the generation prompt adds if thinking is switched off, such as
    /// `<think>\n\n</think>\n\n`; `None` if the template has no such switch.
    pub off: Option<String>,
}

impl Thoughts {
    /// Whether thoughts are opened by a mark rather than a sentence such as
    /// `Here are my reasoning steps:`.
    pub fn is_marked(&self) -> bool {
        self.open.contains(['<', '[', '|', '>'])
    }
}

/// How calls are written.
#[derive(Clone, Debug, PartialEq)]
pub struct Calls {
    /// Around all calls of a reply, or around each one: whatever is outside a call's own marks.
    pub section: Marks,
    /// Around one call, inside the section.
    pub call: Marks,
    pub form: Form,
}

/// The inside of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// `{"name": NAME, "arguments": {…}}` with the keys of the family, or `{NAME: {…}}` if it has none.
    Json { keys: Option<Keys>, list: bool },
    /// The name, a mark and the arguments as JSON.
    Named(Named),
    /// The name, and a pair of marks around each key and each value.
    Tagged(Tagged),
    /// `NAME(KEY=VALUE, …)`.
    Python { list: bool },
    /// `call:NAME{KEY:VALUE, …}` with a special mark around strings.
    Braces { quote: String },
    /// Messages whose header names the channel and recipient.
    Channels,
}

/// The keys of a call as JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    pub name: String,
    pub arguments: String,
}

/// The name followed by arguments in JSON: `PREFIX NAME SUFFIX MARK {…}`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// Words before the name that belong to the notation, such as `functions.`; optional when
    /// reading.
    pub prefix: String,
    /// Text after the name that ends with a number, such as `:0`.
    pub suffix: String,
    /// The mark before an id, such as `[CALL_ID]`; optional when reading.
    pub id: String,
    pub mark: String,
}

/// A call in tags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tagged {
    /// Ends the name.
    pub name_end: String,
    /// Before a key.
    pub key: String,
    /// Between key and value, for strings and for other values.
    pub text: String,
    pub other: String,
    /// Ends a value; `\u{1}` is a placeholder for its key.
    pub close: String,
    /// Around a string that contains marks.
    pub raw: Option<Marks>,
}

/// How a model writes everything except the turns around its replies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notation {
    pub thoughts: Option<Thoughts>,
    pub calls: Calls,
    /// Around the text of a reply.
    pub words: Marks,
    /// The end of the turn, which may follow a reply.
    pub ends: Vec<String>,
    /// The part of a reply's opening marks that the generation prompt has already written, such as
    /// `>>>`.
    pub begun: String,
    /// The headers after `begun` in a family whose calls have a separate notation, such as Muse.
    pub headers: Option<Headers>,
    /// The marks around a tool's result if they cannot be part of an answer; models write them when
    /// they make up results.
    pub results: Marks,
}

/// Message headers, such as ` to=NAME<|message|>`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    /// Around the name of the called tool.
    pub call: Marks,
    /// Before words.
    pub words: String,
}

impl Notation {
    /// Derives the notation from the template whose source is `source`; `render` renders it with
    /// any input.
    pub fn derive(source: &str, render: &dyn Fn(&serde_json::Value) -> Option<String>) -> Notation {
        derive::derive(source, render)
    }

    /// The notation of most models, for replies whose template is unknown:
    /// `<tool_call>{"name": …, "arguments": …}</tool_call>`, and thoughts in `<think>`. The reader
    /// also accepts the other usual marks.
    pub fn usual() -> Notation {
        let thoughts = Thoughts { open: "<think>".to_owned(), close: "</think>".to_owned(), ..Thoughts::default() };
        Notation { thoughts: Some(thoughts), calls: named::hermes(), ..Notation::default() }
    }

    /// Whether every reply begins inside a thought: the prompt opens one, and either the answer has
    /// its own mark or unmarked text opens the thought.
    pub fn begins_in_thought(&self) -> bool {
        self.thoughts.as_ref().is_some_and(|thoughts| {
            let always = thoughts.off.is_none() && !thoughts.is_marked();
            thoughts.opened_by_prompt && (always || !self.words.open.trim().is_empty())
        })
    }

    /// Whether the control token with this name is part of a call mark or a channel mark.
    pub fn is_of_calls(&self, name: &str) -> bool {
        let calls = self.calls.marks().chain(parse::usual());
        let channels = channels::MARKS.into_iter().filter(|_| self.has_channels());
        !name.is_empty() && calls.chain(channels).any(|mark| mark.contains(name))
    }
}

/// Calls in brackets, for models whose template does not support calls.
impl Default for Calls {
    fn default() -> Calls {
        Calls { section: Marks::default(), call: Marks::default(), form: Form::Python { list: true } }
    }
}

impl Calls {
    /// Every mark of a call.
    pub fn marks(&self) -> impl Iterator<Item = &str> {
        let form: Vec<&String> = match &self.form {
            Form::Named(named) => vec![&named.prefix, &named.id, &named.mark],
            Form::Tagged(tags) => vec![&tags.name_end, &tags.key, &tags.text, &tags.other, &tags.close],
            Form::Braces { quote } => vec![quote],
            _ => Vec::new(),
        };
        let around = [&self.section, &self.call].into_iter().flat_map(|marks| [&marks.open, &marks.close]);
        around.chain(form).map(String::as_str)
    }
}
