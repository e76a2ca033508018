//! A client's request to a model, in the same form for all protocols.

use serde_json::{Map, Value};

use super::problem::Problem;
use crate::config::SamplingWish;
use crate::models::Picture;
use crate::tools::ToolSpec;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    Planner,
    Router,
    /// A complete turn in the project: plan, tools, answer.
    Agent,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Turn {
    System(String),
    User(String),
    /// The model's text and its tool calls.
    Assistant {
        text: String,
        calls: Vec<Call>,
        /// The thoughts that precede it, if the client sends them back.
        thinking: String,
    },
    /// The result of a tool.
    Tool(String),
}

/// A tool call, made by the model or sent back by the client.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub id: String,
    pub name: String,
    pub arguments: Map<String, Value>,
}

/// Whether the model may call tools.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Choice {
    /// It decides.
    #[default]
    Auto,
    /// It answers with text.
    None,
    /// It must call some tool.
    Required,
    /// It must call this tool.
    Named(String),
}

/// The form of the answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Format {
    #[default]
    Text,
    /// JSON that is valid under this schema.
    Schema(Value),
}

/// How much the model thinks before answering.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Thoughts {
    /// According to its settings.
    #[default]
    Own,
    Off,
    /// At most this many tokens.
    Tokens(usize),
    /// At most this percentage of the answer's tokens.
    Share(usize),
    /// Without a limit: after a raw prompt, thoughts are text.
    Free,
}

impl Thoughts {
    /// The effective setting if a client gives two: the first one that is not `Own`; `Off` always
    /// wins.
    pub fn or(self, other: Thoughts) -> Thoughts {
        if self == Thoughts::Own || other == Thoughts::Off { other } else { self }
    }
}

/// The common form of requests in every protocol.
#[derive(Clone, Debug)]
pub struct Ask {
    pub model: Model,
    /// Oldest first.
    pub turns: Vec<Turn>,
    /// The pictures that the `SHOWN` characters in the user's turns stand for, in order.
    pub pictures: Vec<Picture>,
    pub tools: Vec<ToolSpec>,
    pub choice: Choice,
    /// Whether an answer contains at most one call.
    pub one_call: bool,
    pub format: Format,
    /// Maximum number of tokens in the answer; `None` for as many as the context allows.
    pub max_tokens: Option<usize>,
    /// The answer ends before the first of these texts.
    pub stop: Vec<String>,
    /// The client's sampling values; the rest are the model maker's.
    pub sampling: SamplingWish,
    /// How much the model thinks before answering, if it can.
    pub thoughts: Thoughts,
    /// With each token of text, return its log-probability and those of this many alternatives.
    pub logprobs: Option<usize>,
}

impl Ask {
    /// A request with the defaults: text of any length, sampled as the model's maker recommends.
    pub fn new(model: Model, turns: Vec<Turn>) -> Ask {
        Ask {
            model,
            turns,
            pictures: Vec::new(),
            tools: Vec::new(),
            choice: Choice::Auto,
            one_call: false,
            format: Format::Text,
            max_tokens: None,
            stop: Vec::new(),
            sampling: SamplingWish::default(),
            thoughts: Thoughts::Own,
            logprobs: None,
        }
    }

    /// The request if it is valid; else the problem to return.
    pub fn checked(self) -> Result<Ask, Problem> {
        if self.turns.is_empty() {
            return Err(Problem::invalid("messages", "the conversation is empty; send a message"));
        }
        if self.stop.len() > STOPS_MAX {
            let text = format!("too many stop texts ({}); at most {STOPS_MAX} are accepted", self.stop.len());
            return Err(Problem::invalid("stop", text));
        }
        if self.tools.len() > TOOLS_MAX {
            let text = format!("too many tools ({}); at most {TOOLS_MAX} are accepted", self.tools.len());
            return Err(Problem::invalid("tools", text));
        }
        match &self.choice {
            Choice::Required if self.tools.is_empty() => {
                return Err(Problem::invalid("tool_choice", "a tool is required, but none is given in `tools`"));
            }
            Choice::Named(name) if !self.tools.iter().any(|tool| tool.name == *name) => {
                return Err(Problem::invalid("tool_choice", format!("there is no tool `{name}` in `tools`")));
            }
            _ => {}
        }
        if self.max_tokens == Some(0) {
            return Err(Problem::invalid("max_tokens", "0 tokens leave no room for an answer; ask for 1 or more"));
        }
        Ok(self)
    }

    /// Whether the answer must be a tool call.
    pub fn forces_a_call(&self) -> bool {
        matches!(self.choice, Choice::Required | Choice::Named(_))
    }

    /// The assistant's text at the end of the conversation, to be continued by the answer. An
    /// answer in a fixed form starts over.
    pub fn begun(&self) -> Option<&str> {
        match self.turns.last() {
            Some(Turn::Assistant { text, calls, .. }) if calls.is_empty() && !text.is_empty() => {
                Some(text.as_str()).filter(|_| self.format == Format::Text && !self.forces_a_call())
            }
            _ => None,
        }
    }
}

const STOPS_MAX: usize = 16;
/// Maximum number of tools in a request.
pub const TOOLS_MAX: usize = 512;

/// A fresh identifier: `call_` or another prefix, followed by 24 letters and digits.
pub fn fresh_id(prefix: &str) -> String {
    std::iter::repeat_with(fastrand::alphanumeric)
        .take(24)
        .fold(prefix.to_owned(), |id, letter| id + letter.encode_utf8(&mut [0; 4]))
}
