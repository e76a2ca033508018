//! Writes an answer as server-sent events, piece by piece, in the shape of one protocol.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::Value;

use crate::serve::problem::Problem;
use crate::serve::reply::{Delta, Reply};

/// After so long without a piece an empty one is sent: clients take silence for a dead connection, and comments for silence.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// One server-sent event.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Its name, where the protocol has names.
    pub event: Option<&'static str>,
    pub data: String,
}

impl Frame {
    pub fn data(value: &Value) -> Frame {
        Frame { event: None, data: value.to_string() }
    }

    pub fn named(event: &'static str, value: &Value) -> Frame {
        Frame { event: Some(event), data: value.to_string() }
    }

    fn written(&self) -> String {
        let event = self.event.map_or(String::new(), |event| format!("event: {event}\n"));
        format!("{event}data: {}\n\n", self.data)
    }
}

/// How a protocol writes an answer as events.
pub trait Wire: Send + 'static {
    /// The events before the first piece.
    fn begin(&mut self) -> Vec<Frame>;

    /// The events of a piece; for [`Delta::Alive`] a real but empty one, for [`Delta::Finished`] all that end the stream.
    fn delta(&mut self, delta: Delta) -> Vec<Frame>;

    /// The last events of an answer that fails midway.
    fn failed(&mut self, problem: &Problem) -> Vec<Frame>;
}

/// The answer as a response of server-sent events. It ends with the client: a dropped body drops the reply.
pub fn streamed(reply: Reply, mut wire: impl Wire) -> Response {
    let mut frames: VecDeque<Frame> = wire.begin().into();
    // The beginning is sent at once, so that the client sees that it is served.
    let state = (Some(reply), wire, std::mem::take(&mut frames), Instant::now());
    let body = stream::unfold(state, |(mut reply, mut wire, mut frames, mut sent)| async move {
        while frames.is_empty() {
            // What is awaited is only a channel, so nothing is lost when the wait ends.
            let next = tokio::time::timeout(HEARTBEAT, reply.as_mut()?.next()).await;
            match next.unwrap_or(Ok(Some(Delta::Alive))) {
                Ok(Some(Delta::Alive)) if sent.elapsed() < HEARTBEAT => {}
                Ok(Some(delta)) => frames.extend(wire.delta(delta)),
                Ok(None) => reply = None,
                Err(problem) => {
                    frames.extend(wire.failed(&problem));
                    reply = None;
                }
            }
        }
        sent = Instant::now();
        let text: String = frames.drain(..).map(|frame| frame.written()).collect();
        Some((Ok::<_, Infallible>(Bytes::from(text)), (reply, wire, frames, sent)))
    });
    ([(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-cache")], Body::from_stream(body)).into_response()
}
