//! A model that plays a role in a turn: what it is called, what it can do, how much it can read.
//!
//! Nothing above knows how a model is asked. What differs between models of this process and others is in this folder alone.

mod local;
mod query;

pub use query::{Form, Output, Query};

use serde_json::{Map, Value};

use super::Host;
use super::toolkit::{Toolkit, TurnError};
use crate::base::config::Think;
use crate::engine::pool::Leased;
use crate::engine::{EngineError, Manner, Request, Sampling};
use crate::models::dialect::{Chat, Message};
use crate::models::{Measured, ModelCapability, Role};
use crate::tools::ToolSpec;
use crate::tools::call::{self, Reading, Tier};

/// A model that plays a role. Hold it for one call only, because a model on loan is never unloaded.
#[derive(Clone)]
pub struct Player {
    model: Leased,
}

impl From<Leased> for Player {
    fn from(model: Leased) -> Player {
        Player { model }
    }
}

impl Player {
    pub fn role(&self) -> Role {
        self.model.role
    }

    /// Its name for the user.
    pub fn name(&self) -> &str {
        self.model.engine.model()
    }

    /// The model, if it runs in this process: only then are there tokens, scores of given texts and texts to fill in.
    pub fn here(&self) -> Option<&Leased> {
        Some(&self.model)
    }

    /// Tokens that a prompt and its answer may have together.
    pub fn context(&self) -> usize {
        self.model.engine.limits().context
    }

    pub fn capability(&self) -> ModelCapability {
        self.model.capability
    }

    /// Whether the user declared the capability, which then overrides the measured one.
    pub fn is_declared(&self) -> bool {
        self.model.said
    }

    /// What the probe found, if it was probed before this run.
    pub fn measured(&self) -> Option<&Measured> {
        self.model.measured.as_ref()
    }

    /// How its free texts are drawn, and how far it thinks, by its settings.
    pub fn manner(&self) -> (Manner, Think) {
        (self.model.manner, self.model.think)
    }

    /// Number of its weights; 0 if it is not known.
    pub fn parameters(&self) -> u64 {
        self.model.parameters
    }

    /// How many tokens a text has.
    pub fn count(&self, text: &str) -> usize {
        self.model.engine.count(text)
    }

    /// How many tokens a whole conversation has.
    pub fn count_chat(&self, chat: Chat<'_>) -> usize {
        self.model.engine.tokenize(&self.model.dialect.render(chat)).len()
    }

    /// The calls of an answer, by the first tier that finds any; no tier after `until` is tried.
    pub fn calls(&self, output: &Output, specs: &[ToolSpec], until: Tier) -> Reading {
        call::read(&output.text, Some(&*self.model.dialect), specs, until)
    }

    /// The message of an answer in which these calls were read.
    pub fn replied(&self, output: &Output, reading: &Reading) -> Message {
        self.model.dialect.replied(&output.text, &reading.calls, reading.is_certain())
    }

    /// A call as the model writes it.
    pub fn written(&self, name: &str, arguments: &Map<String, Value>) -> String {
        self.model.dialect.written(name, arguments)
    }
}

impl Toolkit {
    /// Asks a model and waits for the whole answer; the host gets a pulse when no text comes for a while.
    pub async fn ask(
        &self,
        player: &Player,
        query: Query<'_>,
        phase: &str,
        host: &dyn Host,
    ) -> Result<Output, TurnError> {
        self.stream(player, query, phase, host, |_| ()).await
    }

    /// Asks greedily for an answer in the form of the query; without it and as `free` says, if the model has no marks for it or a schema in it
    /// cannot be written. Also returns whether the form held.
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

    /// Asks a model and passes its text to `take` as it comes; thinking and waiting go to the host.
    #[tracing::instrument(name = "model", skip_all, fields(phase))]
    pub async fn stream(
        &self,
        player: &Player,
        query: Query<'_>,
        phase: &str,
        host: &dyn Host,
        take: impl FnMut(&str),
    ) -> Result<Output, TurnError> {
        let request = self.limited(&player.model, local::request(&player.model, &query));
        local::stream(self, &player.model, request, phase, host, take).await
    }

    /// Has a model of this process go on from a raw prompt.
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
