//! A model that plays a role in a turn: its name, its abilities, and the size of its context.
//!
//! Callers use local models and models on servers in the same way; only this folder distinguishes
//! them.

mod away;
mod gbnf;
mod local;
mod query;
mod remotes;
mod seen;

use std::sync::Arc;

pub use away::{Away, wish};
pub use query::{Form, Output, Query};
pub use remotes::Remotes;

use serde_json::{Map, Value, json};

use super::Host;
use super::toolkit::{Toolkit, TurnError};
use crate::config::Think;
use crate::engine::pool::Leased;
use crate::engine::{EngineError, Manner, Request, Sampling};
use crate::models::dialect::Chat;
use crate::models::{Measured, ModelCapability, Role};

/// A model that plays a role. Hold it for a single call only, because a model on loan is never
/// unloaded.
#[derive(Clone)]
pub struct Player {
    role: Role,
    seat: Seat,
}

#[derive(Clone)]
enum Seat {
    Here(Leased),
    Away(Arc<Away>),
}

impl From<Leased> for Player {
    fn from(model: Leased) -> Player {
        Player { role: model.role, seat: Seat::Here(model) }
    }
}

impl Player {
    fn away(role: Role, model: Arc<Away>) -> Player {
        Player { role, seat: Seat::Away(model) }
    }

    pub fn role(&self) -> Role {
        self.role
    }

    /// The name shown to the user, including the address of the server, if any.
    pub fn name(&self) -> &str {
        match &self.seat {
            Seat::Here(model) => model.engine.model(),
            Seat::Away(model) => &model.name,
        }
    }

    /// The model, if it runs in this process: only then can it return tokens, score given texts and
    /// fill in text.
    pub fn here(&self) -> Option<&Leased> {
        match &self.seat {
            Seat::Here(model) => Some(model),
            Seat::Away(_) => None,
        }
    }

    /// Maximum number of tokens of a prompt and its answer together.
    pub fn context(&self) -> usize {
        match &self.seat {
            Seat::Here(model) => model.engine.limits().context,
            Seat::Away(model) => model.remote.abilities().context,
        }
    }

    pub fn capability(&self) -> ModelCapability {
        match &self.seat {
            Seat::Here(model) => model.capability,
            Seat::Away(model) => model.capability,
        }
    }

    /// Whether the user declared the capability, which overrides the measured one.
    pub fn is_declared(&self) -> bool {
        match &self.seat {
            Seat::Here(model) => model.said,
            Seat::Away(model) => model.is_declared,
        }
    }

    /// The results of the probe, if it ran before this session.
    pub fn measured(&self) -> Option<&Measured> {
        match &self.seat {
            Seat::Here(model) => model.measured.as_ref(),
            Seat::Away(model) => model.measured.as_ref(),
        }
    }

    /// The sampling for free text and the amount of thinking, according to the settings.
    pub fn manner(&self) -> (Manner, Think) {
        match &self.seat {
            Seat::Here(model) => (model.manner, model.think),
            Seat::Away(model) => (model.manner, model.think),
        }
    }

    /// The number of the model's weights; for a model on a server it is unknown and treated as the
    /// largest possible.
    pub fn parameters(&self) -> u64 {
        match &self.seat {
            Seat::Here(model) => model.parameters,
            Seat::Away(_) => u64::MAX / 2,
        }
    }

    /// The number of tokens in a text; estimated for a model on a server.
    pub fn count(&self, text: &str) -> usize {
        match &self.seat {
            Seat::Here(model) => model.engine.count(text),
            Seat::Away(model) => model.remote.tokens(text),
        }
    }

    /// The number of tokens in a complete conversation.
    pub fn count_chat(&self, chat: Chat<'_>) -> usize {
        match &self.seat {
            Seat::Here(model) => model.engine.tokenize(&model.dialect.render(chat)).len(),
            Seat::Away(model) => model.count(chat.messages, chat.tools.iter().map(|tool| tool.json().to_string())),
        }
    }

    /// A call in the model's notation.
    pub fn written(&self, name: &str, arguments: &Map<String, Value>) -> String {
        match &self.seat {
            Seat::Here(model) => model.dialect.notation().calls.write(name, arguments),
            Seat::Away(_) => json!({ "name": name, "arguments": arguments }).to_string(),
        }
    }
}

impl Toolkit {
    /// Asks a model and waits for the complete answer; the host gets a pulse if no text arrives for
    /// a while.
    pub async fn ask(
        &self,
        player: &Player,
        query: Query<'_>,
        phase: &str,
        host: &dyn Host,
    ) -> Result<Output, TurnError> {
        self.stream(player, query, phase, host, |_| ()).await
    }

    /// Asks greedily for an answer in the form of the query. If the engine cannot enforce the form,
    /// asks for free text with the query's own sampling. Also returns whether the form was
    /// enforced.
    pub async fn ask_inside(
        &self,
        player: &Player,
        query: Query<'_>,
        phase: &str,
        host: &dyn Host,
    ) -> Result<(Output, bool), TurnError> {
        let inside = Query { sampling: Sampling::greedy(), ..query.clone() };
        match self.ask(player, inside, phase, host).await {
            Err(TurnError::Engine(EngineError::Grammar(_))) => {
                let free = Query { form: Form::Free, ..query };
                Ok((self.ask(player, free, phase, host).await?, false))
            }
            output => Ok((output?, true)),
        }
    }

    /// Asks a model and passes its text to `take` as it arrives; thinking and waiting are reported
    /// to the host.
    #[tracing::instrument(name = "model", skip_all, fields(phase))]
    pub async fn stream(
        &self,
        player: &Player,
        query: Query<'_>,
        phase: &str,
        host: &dyn Host,
        mut take: impl FnMut(&str),
    ) -> Result<Output, TurnError> {
        let away = match &player.seat {
            Seat::Here(model) => {
                let request = self.limited(model, local::request(model, &query));
                return local::stream(self, model, request, phase, host, take).await;
            }
            Seat::Away(away) => away,
        };
        let mut said = String::new();
        let told = |part: &str| {
            said.push_str(part);
            take(part);
        };
        let why = match away::stream(self, (player.role, away), &query, phase, host, told).await {
            Err(why) if !query.hands_over => why,
            output => return output,
        };
        let model = self.stand_in(player.role, why, host).await?;
        // Free text can continue after the words that the user has read; any other form must start
        // over.
        let goes_on = query.form == Form::Free && query.chat.tools.is_empty() && !said.is_empty();
        if !goes_on && !said.trim().is_empty() {
            host.notice("the interrupted answer is started again");
        }
        let begun = goes_on.then(|| query.chat.begun.unwrap_or_default().to_owned() + &said);
        let chat = Chat { begun: begun.as_deref().or(query.chat.begun), ..query.chat };
        let request = self.limited(&model, local::request(&model, &Query { chat, ..query }));
        let output = local::stream(self, &model, request, phase, host, take).await?;
        Ok(if goes_on { Output { text: said + &output.text, ..output } } else { output })
    }

    /// Has a local model continue a raw prompt.
    pub async fn complete(
        &self,
        model: &Leased,
        request: Request,
        phase: &str,
        host: &dyn Host,
    ) -> Result<Output, TurnError> {
        local::stream(self, model, self.limited(model, request), phase, host, |_| ()).await
    }
}
