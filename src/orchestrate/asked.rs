//! A model that is asked for a text in a form in the middle of a turn.

use crate::engine::pool::Leased;
use crate::engine::{Grammar, Request};
use crate::models::dialect::Message;

use super::Host;
use super::toolkit::{Toolkit, TurnError};

/// Who is asked, and for whom.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    pub toolkit: &'a Toolkit,
    pub model: &'a Leased,
    pub host: &'a dyn Host,
    /// What the host is told meanwhile.
    pub phase: &'static str,
}

/// The form of a text, and its most tokens.
#[derive(Clone, Copy)]
pub struct Form {
    pub grammar: &'static str,
    pub tokens_max: usize,
}

impl Asked<'_> {
    /// What the model says to `user`, in that form.
    pub async fn text(&self, system: &str, user: &str, form: Form) -> Result<String, TurnError> {
        let messages = [Message::system(system), Message::user(user)];
        let request = Request {
            grammar: Some(Grammar::Lark(form.grammar.to_owned())),
            ..self.model.engine.request(&self.model.dialect.render(&messages), form.tokens_max)
        };
        Ok(self.toolkit.generate(self.model, request, self.phase, self.host).await?.text)
    }
}
