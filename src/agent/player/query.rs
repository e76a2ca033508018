//! A question to a model in any notation: a conversation, the form of the answer, its maximum
//! length and its priority.

use std::sync::Arc;

use serde_json::Value;

use crate::agent::notation;
use crate::agent::sure::Weighed;
use crate::budget::permit::Priority;
use crate::engine::slot::Reuse;
use crate::engine::{Finish, Sampling, Tally};
use crate::models::dialect::{Chat, Dialect, Message, RawCall, Speaker};
use crate::tools::ToolSpec;
use crate::tools::call::{self, Reading, Tier};

/// One question to a model.
#[derive(Clone, Debug)]
pub struct Query<'a> {
    pub chat: Chat<'a>,
    pub form: Form,
    /// Maximum length of the answer, in tokens.
    pub tokens_max: usize,
    pub sampling: Sampling,
    pub priority: Priority,
    /// How much of an earlier prompt may be reused, if the model keeps it.
    pub reuse: Reuse,
    /// Whether the answer repeats much of the prompt.
    pub repeats: bool,
    /// Whether an unavailable server is an error, so that the caller decides which model continues;
    /// otherwise, a local model answers.
    pub hands_over: bool,
    /// Whether the answer includes its tokens, which show how certain the model was of each.
    pub weighed: bool,
}

/// The form of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    Free,
    /// llguidance's Lark dialect, without control tokens.
    Lark(String),
    /// Lines that begin with one of these kinds and `: `; the Lark grammar defines the rest.
    Lines(&'static [&'static str], String),
    /// One of these texts.
    Choice(Vec<String>),
    /// JSON that conforms to this schema.
    Schema(Value),
    /// A call of a tool of the conversation, or words if `Either`.
    Call(notation::Reply),
}

impl<'a> Query<'a> {
    /// A greedy answer in free form, with the priority of a step.
    pub fn of(chat: impl Into<Chat<'a>>, tokens_max: usize) -> Query<'a> {
        Query {
            chat: chat.into(),
            form: Form::Free,
            tokens_max,
            sampling: Sampling::greedy(),
            priority: Priority::Step,
            reuse: Reuse::Exact,
            repeats: false,
            hands_over: false,
            weighed: false,
        }
    }
}

/// A whole answer.
#[derive(Clone, Debug)]
pub struct Output {
    pub text: String,
    /// The thoughts before the text, without their marks.
    pub thinking: String,
    /// Calls received separately from the text, and whether each is certain. A local model writes
    /// its calls into the text.
    pub calls: Vec<(RawCall, bool)>,
    /// The tokens of the text, if the query asks for them and the model is local.
    pub tokens: Vec<Weighed>,
    /// The model's notation for calls, if the model is local.
    pub dialect: Option<Arc<Dialect>>,
    pub finish: Finish,
    pub tally: Tally,
}

impl Output {
    /// The calls in the answer, from the first tier that finds any; tiers after `until` are not
    /// tried.
    pub fn read(&self, specs: &[ToolSpec], until: Tier) -> Reading {
        if self.calls.is_empty() {
            return call::read(&self.text, self.dialect.as_deref(), specs, until);
        }
        let is_certain = self.calls.iter().all(|(_, is_certain)| *is_certain);
        let tier = if is_certain { Tier::Strict } else { Tier::Lenient };
        let calls = self.calls.iter().take(call::CALLS_MAX).map(|(call, _)| call.clone());
        if tier > until {
            Reading { calls: Vec::new(), tier: None }
        } else {
            Reading { calls: calls.collect(), tier: Some(tier) }
        }
    }

    /// The conversation message that contains the answer with these calls.
    pub fn replied(&self, reading: &Reading) -> Message {
        let said = match &self.dialect {
            Some(dialect) => dialect.replied(&self.text, &reading.calls, reading.is_certain()),
            None if reading.is_certain() => Message::calling(self.text.trim_end(), reading.calls.clone()),
            None => Message::assistant(self.text.as_str()),
        };
        // Templates keep thoughts between the calls of a turn.
        Message { thinking: self.thinking.trim().to_owned(), ..said }
    }
}

/// Asks in words for an answer that follows a grammar, for a model on which the grammar cannot be
/// enforced.
pub fn in_the_form_of(lark: &str, messages: &mut Vec<Message>) {
    let words = format!("Answer in exactly the form of this Lark grammar, and write nothing else:\n{lark}");
    match messages.last_mut().filter(|last| last.speaker == Speaker::User) {
        Some(last) => last.content.push_str(&format!("\n\n{words}")),
        None => messages.push(Message::user(words)),
    }
}
