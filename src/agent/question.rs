//! Asks a model a question during a turn; a grammar can constrain the answer.

use crate::budget::permit::Priority;
use crate::models::dialect::{Chat, Message};

use super::Host;
use super::player::{self, Output, Player, Query};
use super::toolkit::{Toolkit, TurnError};

/// A model, and the turn in which it is asked.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    pub toolkit: &'a Toolkit,
    pub model: &'a Player,
    pub host: &'a dyn Host,
    /// Name of this phase in events and in the cost report.
    pub phase: &'static str,
    pub priority: Priority,
}

/// The Lark grammar of an answer, and its maximum length in tokens.
#[derive(Clone, Copy)]
pub struct Form {
    pub grammar: &'static str,
    pub tokens_max: usize,
}

impl Question<'_> {
    /// The model's answer to `user` in this form.
    pub async fn text(&self, system: &str, user: &str, form: Form) -> Result<String, TurnError> {
        let messages = [Message::system(system), Message::user(user)];
        Ok(self.output(&messages, form.tokens_max, player::Form::Lark(form.grammar.to_owned())).await?.text)
    }

    /// The model's answer to `chat` in this form, with at most `tokens_max` tokens, and how it
    /// ended.
    pub async fn output(
        &self,
        chat: impl Into<Chat<'_>>,
        tokens_max: usize,
        form: player::Form,
    ) -> Result<Output, TurnError> {
        let query = Query { form, priority: self.priority, ..Query::of(chat, tokens_max) };
        self.toolkit.ask(self.model, query, self.phase, self.host).await
    }
}
