//! A request to a model at a URL: the conversation, its tools and the requested form of the answer.

use serde_json::Value;

use crate::config::SamplingWish;
use crate::models::dialect::{Message, ToolText};

/// A request for one reply.
#[derive(Clone, Debug)]
pub struct Ask {
    pub messages: Vec<Message>,
    /// The tools that the reply may call.
    pub tools: Vec<ToolText>,
    /// The beginning of the answer, which the reply continues; may be empty. If the server does not
    /// accept one, the prompt asks for it and it is removed from the reply, so the text of the
    /// pieces is always the continuation.
    pub begun: String,
    pub form: Form,
    /// Maximum number of tokens in the answer, including thoughts.
    pub max_tokens: usize,
    /// How tokens are sampled. Without a temperature, 0 is sent, because server defaults differ.
    pub sampling: SamplingWish,
    /// Whether the model may think first; `None` leaves it to the server.
    pub thinks: Option<bool>,
    /// Maximum number of tokens in a thought, if the server can limit it.
    pub thought_tokens: Option<usize>,
}

impl Ask {
    /// A request for free text, sampled greedily.
    pub fn new(messages: Vec<Message>, max_tokens: usize) -> Ask {
        Ask {
            messages,
            tools: Vec::new(),
            begun: String::new(),
            form: Form::Free,
            max_tokens,
            sampling: SamplingWish::default(),
            thinks: None,
            thought_tokens: None,
        }
    }
}

/// The requested form of an answer. The server enforces it as far as it can; the caller checks the
/// reply.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Form {
    /// Text, and calls if there are tools.
    #[default]
    Free,
    /// JSON with this schema.
    Schema(Value),
    /// Lines of `kind: words`, each with one of these kinds. Only for servers that accept a schema
    /// ([`Abilities::schema`](super::Abilities::schema)).
    Lines(Vec<String>),
    /// One of these texts; if the model names none of them, the reply has the model's own text.
    Choice(Vec<String>),
    /// A call to one of the tools.
    Call,
    /// Text in this GBNF grammar. Only for servers that accept one
    /// ([`Abilities::grammar`](super::Abilities::grammar)).
    Grammar(String),
}
