//! `/api/turns`: starts turns in the background, streams their events, takes answers to their questions, cancels them.

use std::convert::Infallible;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

use super::log::{Batch, Said};
use super::turns::{Decision, Turn};
use crate::models::{Picture, picture::PictureError};
use crate::protocol::{Ask, Event, GIVEN_MAX, Mode, REQUEST_BYTES_MAX, Record};
use crate::serve::Server;
use crate::serve::problem::Problem;
use crate::serve::wire::read;
use crate::session::Message;

/// Time limit for an open question. The turn holds the project's lock all that time, so other
/// processes wait.
const QUESTION_TIME: Duration = Duration::from_secs(30 * 60);
/// Time without events after which an empty one is sent, so that both sides notice a dead
/// connection.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// This has no number: a browser that reconnects sends the number of the last numbered event.
const ALIVE: &str = "data: {\"type\":\"alive\"}\n\n";
/// Time that a browser waits before reconnecting, in milliseconds.
const RETRY: &str = "retry: 1000\n\n";

#[derive(Deserialize)]
struct Request {
    text: String,
    #[serde(default)]
    mode: Mode,
    #[serde(default)]
    pictures: Vec<File>,
}

/// A picture file in base64.
#[derive(Deserialize)]
struct File {
    name: String,
    data: String,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(flatten)]
    decision: Decision,
    /// The event number of the question.
    number: u64,
}

/// Begins a turn: `{text, mode, pictures: [{name, data}]}` returns `{id}`.
pub async fn create(State(server): State<Server>, body: Bytes) -> Result<Json<Value>, Problem> {
    let Request { text, mode, pictures } = read(&body)?;
    if text.trim().is_empty() {
        return Err(Problem::invalid("text", "the request is empty; say what to do"));
    }
    if text.len() > REQUEST_BYTES_MAX {
        let text = format!("the request is longer than {REQUEST_BYTES_MAX} bytes; name a file instead");
        return Err(Problem::invalid("text", text));
    }
    if pictures.len() > GIVEN_MAX {
        let count = pictures.len();
        let text = format!("{count} pictures; at most {GIVEN_MAX} are accepted; ask in several requests");
        return Err(Problem::invalid("pictures", text));
    }
    server.inner.page.turns.is_free()?;
    let read = move || pictures.into_iter().map(|File { name, data }| Picture::of_base64(name, &data)).collect();
    let read = tokio::task::spawn_blocking(read).await;
    let pictures: Result<Vec<Picture>, PictureError> = read.map_err(Problem::failed)?;
    let pictures = pictures.map_err(|why| Problem::invalid("pictures", why.to_string()))?;
    let turn = server.inner.page.turns.begin(&text, mode)?;
    let id = turn.id;
    tokio::spawn(run(server, turn, Ask { text, mode, pictures, ..Ask::default() }));
    Ok(Json(json!({ "id": id })))
}

/// The events of a turn, starting after `Last-Event-ID`.
pub async fn events(
    State(server): State<Server>,
    Path(id): Path<u64>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let last = headers.get("last-event-id").and_then(|number| number.to_str().ok()?.parse().ok());
    Ok(streamed(server.inner.page.turns.get(id)?, last.unwrap_or(0)))
}

/// Answers a question: `{decision, number}`, with `arguments` for `modify`.
pub async fn decide(State(server): State<Server>, Path(id): Path<u64>, body: Bytes) -> Result<Json<Value>, Problem> {
    let answer: Answer = read(&body)?;
    server.inner.page.turns.get(id)?.decide(answer.number, answer.decision)?;
    Ok(Json(json!({ "decided": answer.number })))
}

/// Cancels a turn; its changes so far stay, and can be undone.
pub async fn cancel(State(server): State<Server>, Path(id): Path<u64>) -> Result<Json<Value>, Problem> {
    server.inner.page.turns.get(id)?.stop();
    Ok(Json(json!({ "cancelled": id })))
}

/// Ends the turn when dropped, so that every turn ends: until then no other turn can begin.
struct Ends(Arc<Turn>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Runs the turn to its end, whether or not anyone is watching.
async fn run(server: Server, turn: Arc<Turn>, ask: Ask) {
    let _ends = Ends(turn.clone());
    let inner = &server.inner;
    let failed = |error: String| {
        let record = Record::now(&inner.page.conversation, Event::TurnFailed { error });
        turn.log.add(&Said::Record(Box::new(record)));
    };
    match inner.page.session(&inner.agent).await {
        Ok(session) => follow(&turn, inner.app.ask(&session, ask, turn.cancel.clone()), failed).await,
        Err(problem) => failed(problem.message),
    }
}

/// Passes a turn's events to its log, and its questions to the user.
async fn follow(turn: &Turn, mut messages: UnboundedReceiver<Message>, failed: impl Fn(String)) {
    loop {
        match tokio::time::timeout(QUESTION_TIME, messages.recv()).await {
            Ok(Some(Message::Record(record))) => {
                turn.log.add(&Said::Record(Box::new(record)));
            }
            // Nobody would answer it now.
            Ok(Some(Message::Approve { reply, .. })) if turn.cancel.is_cancelled() => drop(reply),
            Ok(Some(Message::Approve { proposal, reply })) => turn.ask(proposal, reply),
            Ok(Some(Message::Failed(_))) if turn.cancel.is_cancelled() => failed("cancelled".to_owned()),
            Ok(Some(Message::Failed(error))) => failed(error.to_string()),
            Ok(None) => return,
            // Work in progress sends signs of life, so only an open question can cause such a long
            // silence.
            Err(_) => turn.close("nobody answered"),
        }
    }
}

/// The events after number `after`, then future ones, as server-sent events. The turn continues if
/// the reader leaves.
fn streamed(turn: Arc<Turn>, after: u64) -> Response {
    if turn.log.is_read(after) {
        // The only response after which a browser does not reconnect.
        return StatusCode::NO_CONTENT.into_response();
    }
    let body = stream::unfold(Some((turn, after, RETRY)), |state| async move {
        let (turn, after, begin) = state?;
        let (text, next) = match tokio::time::timeout(HEARTBEAT, turn.log.after(after)).await {
            Ok(batch) => {
                let read = batch.events.last().map_or(after, |(number, _)| *number);
                (sent(&batch), (!batch.over).then_some((turn, read, "")))
            }
            Err(_) => (ALIVE.to_owned(), Some((turn, after, ""))),
        };
        Some((Ok::<_, Infallible>(Bytes::from(begin.to_owned() + &text)), next))
    });
    ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(body)).into_response()
}

/// The events as sent: a number and a single line for each, whatever its text.
fn sent(batch: &Batch) -> String {
    batch.events.iter().fold(String::new(), |mut text, (number, event)| {
        // Writing to a string cannot fail.
        let _ = write!(text, "id: {number}\ndata: {event}\n\n");
        text
    })
}
