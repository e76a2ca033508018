//! Asks a model a question in the middle of a turn; a grammar can constrain its answer.

use crate::engine::pool::Leased;
use crate::engine::{Grammar, Output, Request};
use crate::models::dialect::{Chat, Message};

use super::Host;
use super::toolkit::{Toolkit, TurnError};

/// The model that is asked, and the turn that asks.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    pub toolkit: &'a Toolkit,
    pub model: &'a Leased,
    pub host: &'a dyn Host,
    /// Name of this phase in events and in the cost report.
    pub phase: &'static str,
}

/// The Lark grammar of an answer, and its longest length in tokens.
#[derive(Clone, Copy)]
pub struct Form {
    pub grammar: &'static str,
    pub tokens_max: usize,
}

impl Question<'_> {
    /// The model's answer to `user`, in that form.
    pub async fn text(&self, system: &str, user: &str, form: Form) -> Result<String, TurnError> {
        Ok(self.in_form(system, user, form).await?.text)
    }

    /// The same with how the answer ended.
    pub async fn in_form(&self, system: &str, user: &str, form: Form) -> Result<Output, TurnError> {
        let messages = [Message::system(system), Message::user(user)];
        self.output(&messages, form.tokens_max, Some(Grammar::Lark(form.grammar.to_owned()))).await
    }

    /// The model's answer to `chat`, with at most `tokens_max` tokens; without a grammar in any form.
    pub async fn output(
        &self,
        chat: impl Into<Chat<'_>>,
        tokens_max: usize,
        grammar: Option<Grammar>,
    ) -> Result<Output, TurnError> {
        let request = self.model.engine.request(&self.model.dialect.render(chat), tokens_max);
        self.toolkit.generate(self.model, Request { grammar, ..request }, self.phase, self.host).await
    }
}
