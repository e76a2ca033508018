//! What a turn asks of a model, in no model's notation: a conversation, the form of the answer, how long and how urgent it is.

use serde_json::Value;

use crate::budget::permit::Priority;
use crate::engine::slot::Reuse;
use crate::engine::{Finish, Sampling, Tally};
use crate::models::dialect::{Chat, RawCall};
use crate::orchestrate::notation;

/// One question to a model.
#[derive(Clone, Debug)]
pub struct Query<'a> {
    pub chat: Chat<'a>,
    pub form: Form,
    /// Longest answer, in tokens.
    pub tokens_max: usize,
    pub sampling: Sampling,
    pub priority: Priority,
    /// How much of an earlier prompt may be reused, where the model keeps it.
    pub reuse: Reuse,
    /// The answer repeats much of the prompt.
    pub repeats: bool,
}

/// The form of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    Free,
    /// llguidance's Lark dialect, without control tokens.
    Lark(String),
    /// One of these texts.
    Choice(Vec<String>),
    /// JSON under this schema.
    Schema(Value),
    /// A call of one of the tools of the conversation, or words if `Either`.
    Call(notation::Reply),
}

impl<'a> Query<'a> {
    /// A greedy answer of any form with the priority of a step.
    pub fn of(chat: impl Into<Chat<'a>>, tokens_max: usize) -> Query<'a> {
        Query {
            chat: chat.into(),
            form: Form::Free,
            tokens_max,
            sampling: Sampling::greedy(),
            priority: Priority::Step,
            reuse: Reuse::Exact,
            repeats: false,
        }
    }
}

/// A whole answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    pub text: String,
    /// The calls that came beside the text; a model of this process writes them in it.
    pub calls: Vec<RawCall>,
    pub finish: Finish,
    pub tally: Tally,
}
