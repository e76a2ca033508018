//! Writes an answer as server-sent events, piece by piece, in the shape of one protocol.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
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
/// Longest time that the head of a response waits for the answer to start. A request that cannot be answered mostly shows that by
/// then, and more clients understand a status than an error in a stream.
const STATUS_TIME: Duration = Duration::from_secs(1);

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

    /// The last events of an answer that fails, midway or before its first piece.
    fn failed(&mut self, problem: &Problem) -> Vec<Frame>;

    /// Whether clients act on this problem only if they read of it in a stream, and not by a status.
    fn tells(&self, _problem: &Problem) -> bool {
        false
    }
}

/// What the pieces of an answer come from.
enum Source {
    /// It waits for its turn, or for a model that is being loaded.
    Start(Start),
    Reply(Reply),
    Over,
}

type Start = Pin<Box<dyn Future<Output = Result<Reply, Problem>> + Send>>;

impl Source {
    /// The next piece; `None` after the last. Nothing is lost when the wait for it ends early.
    async fn next(&mut self) -> Result<Option<Delta>, Problem> {
        loop {
            match self {
                Source::Start(start) => {
                    let reply = start.await?;
                    *self = Source::Reply(reply);
                }
                Source::Reply(reply) => return reply.next().await,
                Source::Over => return Ok(None),
            }
        }
    }
}

/// The answer as a response of server-sent events. It ends with the client: a dropped body drops the reply, or the wait for it.
/// A problem that shows within [`STATUS_TIME`] is returned; a later one ends the stream.
pub async fn streamed(
    start: impl Future<Output = Result<Reply, Problem>> + Send + 'static,
    wire: impl Wire,
) -> Result<Response, Problem> {
    let mut start: Start = Box::pin(start);
    let begun = tokio::time::timeout(STATUS_TIME, &mut start).await;
    let source = match begun {
        Ok(Ok(reply)) => Source::Reply(reply),
        Ok(Err(problem)) if wire.tells(&problem) => {
            Source::Start(Box::pin(std::future::ready::<Result<Reply, Problem>>(Err(problem))))
        }
        Ok(Err(problem)) => return Err(problem),
        Err(_) => Source::Start(start),
    };
    Ok(written(source, wire))
}

fn written(source: Source, mut wire: impl Wire) -> Response {
    // The beginning is sent at once, so that the client sees that it is served.
    let frames: VecDeque<Frame> = wire.begin().into();
    let state = (source, wire, frames, Instant::now());
    let body = stream::unfold(state, |(mut source, mut wire, mut frames, mut sent)| async move {
        while frames.is_empty() {
            if matches!(source, Source::Over) {
                return None;
            }
            let next = tokio::time::timeout(HEARTBEAT.saturating_sub(sent.elapsed()), source.next()).await;
            match next.unwrap_or(Ok(Some(Delta::Alive))) {
                Ok(Some(Delta::Alive)) if sent.elapsed() < HEARTBEAT => {}
                Ok(Some(delta)) => frames.extend(wire.delta(delta)),
                Ok(None) => source = Source::Over,
                Err(problem) => {
                    frames.extend(wire.failed(&problem));
                    source = Source::Over;
                }
            }
        }
        sent = Instant::now();
        let text: String = frames.drain(..).map(|frame| frame.written()).collect();
        Some((Ok::<_, Infallible>(Bytes::from(text)), (source, wire, frames, sent)))
    });
    ([(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-cache")], Body::from_stream(body)).into_response()
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt as _;

    use super::*;
    use crate::serve::problem::Kind;

    /// A protocol of words.
    struct Words;

    impl Wire for Words {
        fn begin(&mut self) -> Vec<Frame> {
            vec![Frame { event: None, data: "begin".to_owned() }]
        }

        fn delta(&mut self, delta: Delta) -> Vec<Frame> {
            vec![Frame { event: None, data: format!("{delta:?}") }]
        }

        fn failed(&mut self, problem: &Problem) -> Vec<Frame> {
            vec![Frame { event: Some("error"), data: problem.message.clone() }]
        }

        fn tells(&self, problem: &Problem) -> bool {
            problem.kind == Kind::Busy
        }
    }

    /// All that a client reads whose answer fails after `wait`; `Err` if it reads a status instead.
    async fn read(kind: Kind, wait: Duration) -> Result<String, Problem> {
        let start = async move {
            tokio::time::sleep(wait).await;
            Err(Problem::new(kind, "no memory"))
        };
        let mut body = streamed(start, Words).await?.into_body().into_data_stream();
        let mut text = String::new();
        while let Some(piece) = body.next().await {
            text.push_str(std::str::from_utf8(&piece.expect("a body does not break off")).expect("text"));
        }
        Ok(text)
    }

    #[tokio::test]
    async fn who_waits_for_a_model_to_load_gets_the_head_and_signs_of_life() {
        let wait = STATUS_TIME + HEARTBEAT + Duration::from_millis(500);
        let expected = "data: begin\n\ndata: Alive\n\nevent: error\ndata: no memory\n\n";
        assert_eq!(read(Kind::Unavailable, wait).await.as_deref(), Ok(expected));
    }

    #[tokio::test]
    async fn a_request_that_fails_at_once_is_refused_by_its_status() {
        let refused = read(Kind::Unavailable, Duration::ZERO).await.expect_err("a status");
        assert_eq!(refused.kind, Kind::Unavailable);
        let told = read(Kind::Busy, Duration::ZERO).await;
        assert_eq!(told.as_deref(), Ok("data: begin\n\nevent: error\ndata: no memory\n\n"));
    }
}
