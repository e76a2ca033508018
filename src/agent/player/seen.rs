//! Describes for people the servers that play roles: name, address, availability and cost.

use std::time::Instant;

use super::away::Away;
use super::remotes::{Remotes, State};
use crate::engine::pool::Pool;
use crate::models::{Endpoint, Role};
use crate::protocol::ServerRow;

impl Remotes {
    /// The servers that play roles, with the cost of text roles in this process.
    pub fn rows(&self, pool: &Pool) -> Vec<ServerRow> {
        let roles = Role::ALL.into_iter();
        roles.filter_map(|role| Some(self.row(role, &pool.endpoint(role).ok()??))).collect()
    }

    fn row(&self, role: Role, endpoint: &Endpoint) -> ServerRow {
        let without = |state: &str| ServerRow {
            roles: vec![role.to_string()],
            model: endpoint.model.clone(),
            host: endpoint.host(),
            state: state.to_owned(),
            ..ServerRow::default()
        };
        match self.state(role, endpoint) {
            _ if role == Role::Embedder => without("makes vectors"),
            Some(State::Open(_, away)) => open(&away, without("answers")),
            Some(State::Resting(_, until)) if Instant::now() < until => without("away"),
            Some(State::Refused(_)) => without("refused"),
            Some(State::Resting(..)) | None => without("not asked yet"),
        }
    }
}

fn open(away: &Away, row: ServerRow) -> ServerRow {
    let (can, spent) = (away.remote.abilities(), away.remote.spent());
    ServerRow {
        model: Some(can.model.clone()),
        context: Some(can.context),
        calls: spent.calls,
        prompt_tokens: spent.prompt_tokens,
        generated_tokens: spent.generated_tokens,
        first_ms: spent.first_ms,
        ..row
    }
}
