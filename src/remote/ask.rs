//! One request to a model behind a URL: the conversation, its tools, and the form that the answer should have.

use serde_json::Value;

use crate::config::SamplingWish;
use crate::models::dialect::{Message, ToolText};

/// A request for one reply.
#[derive(Clone, Debug)]
pub struct Ask {
    pub messages: Vec<Message>,
    /// The tools that the reply may call.
    pub tools: Vec<ToolText>,
    /// The beginning of the answer, which the reply goes on; empty for none. For a server that takes none, the prompt says how to begin,
    /// and the beginning is cut off the reply, so the text of the pieces always is what follows it.
    pub begun: String,
    pub form: Form,
    /// Tokens of the answer, thoughts included.
    pub max_tokens: usize,
    /// How tokens are drawn. Without a temperature 0 is sent, because each server has a default of its own.
    pub sampling: SamplingWish,
    /// Whether the model may think first; `None` leaves it to the server.
    pub thinks: Option<bool>,
    /// Tokens that a thought may have, where the server can limit it.
    pub thought_tokens: Option<usize>,
}

impl Ask {
    /// A request for free text, drawn greedily.
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

/// The wish for the form of an answer. It is kept as far as the server can; whoever asks checks the reply.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Form {
    /// Words, and calls if there are tools.
    #[default]
    Free,
    /// JSON of this schema.
    Schema(Value),
    /// Lines of `kind: words`, each of one of these kinds. Only for servers that take a schema
    /// ([`Abilities::schema`](super::Abilities::schema)).
    Lines(Vec<String>),
    /// One of these texts: the text of the reply is exactly one of them, or else what the model wrote.
    Choice(Vec<String>),
    /// A call of one of the tools.
    Call,
    /// A text of this grammar in GBNF. Only for servers that take one ([`Abilities::grammar`](super::Abilities::grammar)).
    Grammar(String),
}
