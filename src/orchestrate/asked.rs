//! A model that is asked something in a turn: for a text in a form, or for how likely texts are.

use std::time::{Duration, Instant};

use crate::budget::permit::Priority;
use crate::engine::pool::Leased;
use crate::engine::{Grammar, Request, Token};
use crate::models::dialect::{Message, Prompt};
use crate::protocol::Event;

use super::Host;
use super::toolkit::{Toolkit, TurnError, cancelled};

/// A silent model is reported after this time, and every time it passes again.
const BEAT: Duration = Duration::from_secs(1);

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

    pub fn tokens(&self, text: &str) -> Vec<Token> {
        self.model.engine.tokenize(&Prompt::default().text(text))
    }

    /// The log-probability of each of `after` behind `prompt`.
    pub async fn score(&self, prompt: Vec<Token>, after: &[Vec<Token>]) -> Result<Vec<f64>, TurnError> {
        let from = Instant::now();
        let scoring = self.model.engine.score(prompt, after.to_vec(), Priority::Step);
        tokio::pin!(scoring);
        let scores = loop {
            tokio::select! {
                scores = &mut scoring => break scores?,
                () = cancelled(&self.toolkit.cancel) => return Err(TurnError::Cancelled),
                () = tokio::time::sleep(BEAT) => {
                    let waited_ms = from.elapsed().as_millis() as u64;
                    self.host.emit(Event::Pulse { phase: self.phase.to_owned(), waited_ms });
                }
            }
        };
        self.toolkit.meter.add(self.model, self.phase, &scores.tally);
        Ok(scores.sums)
    }
}
