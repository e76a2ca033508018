//! `/api/turns`: a request begins a turn, its events are read, its questions answered, and it can be cancelled.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::turns::{Decision, Found};
use super::{run, stream};
use crate::app::REQUEST_BYTES_MAX;
use crate::protocol::{Ask, Mode};
use crate::serve::Server;
use crate::serve::problem::Problem;
use crate::serve::wire::read;

#[derive(Deserialize)]
struct Request {
    text: String,
    #[serde(default)]
    mode: Mode,
}

#[derive(Deserialize)]
struct Answer {
    decision: Decision,
    /// The number of the question's event.
    number: u64,
}

/// Begins a turn: `{text, mode}` gives `{id}`.
pub async fn create(State(server): State<Server>, body: Bytes) -> Result<Json<Value>, Problem> {
    let Request { text, mode } = read(&body)?;
    if text.trim().is_empty() {
        return Err(Problem::invalid("text", "the request is empty; say what to do"));
    }
    if text.len() > REQUEST_BYTES_MAX {
        let text =
            format!("the request is longer than the {REQUEST_BYTES_MAX} bytes that are taken; name a file instead");
        return Err(Problem::invalid("text", text));
    }
    let turn = server.inner.page.turns.begin(&text, mode)?;
    let id = turn.id;
    tokio::spawn(run::run(server, turn, Ask { text, mode, given: Vec::new() }));
    Ok(Json(json!({ "id": id })))
}

/// The events of a turn, from the one after `Last-Event-ID` on.
pub async fn events(
    State(server): State<Server>,
    Path(id): Path<u64>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let last = headers.get("last-event-id").and_then(|number| number.to_str().ok()?.parse().ok());
    Ok(match server.inner.page.turns.find(id)? {
        Found::Turn(turn) => stream::streamed(turn, last.unwrap_or(0)),
        Found::Gone => stream::gone(),
    })
}

/// Answers a question: `{decision, number}`.
pub async fn decide(State(server): State<Server>, Path(id): Path<u64>, body: Bytes) -> Result<Json<Value>, Problem> {
    let answer: Answer = read(&body)?;
    server.inner.page.turns.get(id)?.decide(answer.number, answer.decision)?;
    Ok(Json(json!({ "decided": answer.number })))
}

/// Cancels a turn; what it has changed by then stays, and can be undone.
pub async fn cancel(State(server): State<Server>, Path(id): Path<u64>) -> Result<Json<Value>, Problem> {
    server.inner.page.turns.get(id)?.stop();
    Ok(Json(json!({ "cancelled": id })))
}
