//! The web page: a conversation about the project in a local browser, with the consent that the APIs cannot give.
//!
//! ```text
//! browser ── GET / ─────────────────► files     static, in the program
//!         ── POST /api/turns ───────► talk      runs one at a time; `turns` and `log` keep what is said
//!         ◄─ GET …/{id}/events ─────  talk      from any number on: a reloaded page misses nothing
//!         ── POST …/{id}/decide ────► talk      yes, no or always for an open question
//!         ── GET /api/memory, … ────► look, past
//! ```
//! `guard` admits only the user's own browser here. Session, index and checkpoints do the work.

mod files;
mod log;
mod look;
mod past;
mod talk;
mod turns;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use tokio::sync::OnceCell;

use self::turns::Turns;
use super::Server;
use super::agent::Agent;
use super::problem::Problem;
use crate::base::ConversationId;
use crate::session::Session;

/// The state behind the page: one conversation, shared by all its viewers.
pub struct Page {
    conversation: ConversationId,
    /// Created on the first request.
    session: OnceCell<Arc<Session>>,
    turns: Turns,
}

impl Default for Page {
    fn default() -> Page {
        let conversation = ConversationId::fresh();
        Page { conversation, session: OnceCell::new(), turns: Turns::default() }
    }
}

impl Page {
    /// The page's conversation; creating it loads the embedder.
    async fn session(&self, agent: &Agent) -> Result<Arc<Session>, Problem> {
        let make = || async {
            let session = agent.session().await?.of("monobloc serve");
            session.converse(&self.conversation).map_err(Problem::failed)?;
            Ok(Arc::new(session))
        };
        self.session.get_or_try_init(make).await.cloned()
    }
}

pub fn router() -> Router<Server> {
    Router::new()
        .route("/", get(files::index))
        .route("/page/{name}", get(files::file))
        .route("/api/status", get(look::status))
        .route("/api/memory", get(look::memory))
        .route("/api/index", get(look::index))
        .route("/api/search", get(look::search))
        .route("/api/graph", get(look::graph))
        .route("/api/turns", post(talk::create))
        .route("/api/turns/{id}/events", get(talk::events))
        .route("/api/turns/{id}/decide", post(talk::decide))
        .route("/api/turns/{id}/cancel", post(talk::cancel))
        .route("/api/history", get(past::history))
        .route("/api/checkpoints", get(past::checkpoints))
        .route("/api/undo", post(past::undo))
        .route("/api/rewind", post(past::rewind))
}

/// Runs work that may wait for a disk or lock on a separate thread.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> anyhow::Result<T> + Send + 'static) -> anyhow::Result<T> {
    tokio::task::spawn_blocking(work).await?
}
