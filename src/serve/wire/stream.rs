//! Writes an answer in the form of one protocol: complete, or in pieces as server-sent events.

use std::convert::Infallible;
use std::pin::Pin;
use std::time::{Duration, Instant};

use axum::Json;
use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::Value;

use crate::serve::problem::Problem;
use crate::serve::reply::{Delta, Reply, Whole};

/// Time without a piece after which an empty one is sent: clients treat silence as a dead
/// connection, and comments as silence.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// Maximum time for which the head of a response waits for the answer to start. A request that
/// cannot be answered usually fails by then, and more clients understand a status than an error in
/// a stream.
const STATUS_TIME: Duration = Duration::from_secs(1);

/// A server-sent event without a name.
pub fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// A server-sent event named after its data's `type`.
pub fn named(data: &Value) -> String {
    format!("event: {}\n{}", data["type"].as_str().unwrap_or_default(), event(data))
}

/// The way a protocol writes an answer, as JSON or as server-sent events.
pub trait Wire: Send + 'static {
    /// The whole answer.
    fn whole(self, whole: &Whole) -> Value;

    /// The events before the first piece.
    fn begin(&mut self) -> Vec<String>;

    /// The events for a piece: for [`Delta::Alive`] a real but empty event, for [`Delta::Finished`]
    /// all events that end the stream.
    fn delta(&mut self, delta: Delta) -> Vec<String>;

    /// The last events of an answer that fails, either midway or before its first piece.
    fn failed(&mut self, problem: &Problem) -> Vec<String>;

    /// Whether clients only act on this problem if it arrives in a stream, not as a status.
    fn tells(&self, _problem: &Problem) -> bool {
        false
    }
}

/// The source of an answer's pieces.
enum Source {
    /// Waiting for its turn, or for a model that is being loaded.
    Start(Start),
    Reply(Reply),
    Over,
}

type Start = Pin<Box<dyn Future<Output = Result<Reply, Problem>> + Send>>;

impl Source {
    /// The next piece; `None` after the last. Cancelling the wait for it loses nothing.
    async fn next(&mut self) -> Result<Option<Delta>, Problem> {
        if let Source::Start(start) = self {
            *self = Source::Reply(start.await?);
        }
        match self {
            Source::Reply(reply) => reply.next().await,
            _ => Ok(None),
        }
    }
}

/// The answer as a response, which ends with the client: dropping the body drops the reply, or the
/// wait for it. A problem in a stream that occurs within [`STATUS_TIME`] is returned; a later one
/// ends the stream.
pub async fn answered(
    streams: bool,
    start: impl Future<Output = Result<Reply, Problem>> + Send + 'static,
    wire: impl Wire,
) -> Result<Response, Problem> {
    if !streams {
        return Ok(Json(wire.whole(&start.await?.whole().await?)).into_response());
    }
    let mut start: Start = Box::pin(start);
    let source = match tokio::time::timeout(STATUS_TIME, &mut start).await {
        Ok(Ok(reply)) => Source::Reply(reply),
        Ok(Err(problem)) if wire.tells(&problem) => Source::Start(Box::pin(std::future::ready(Err(problem)))),
        Ok(Err(problem)) => return Err(problem),
        Err(_) => Source::Start(start),
    };
    Ok(streamed(source, wire))
}

fn streamed(source: Source, mut wire: impl Wire) -> Response {
    // The beginning is sent immediately, so that the client does not time out.
    let events = wire.begin();
    let state = (source, wire, events, Instant::now());
    let body = stream::unfold(state, |(mut source, mut wire, mut events, mut sent)| async move {
        while events.is_empty() {
            if matches!(source, Source::Over) {
                return None;
            }
            let next = tokio::time::timeout(HEARTBEAT.saturating_sub(sent.elapsed()), source.next()).await;
            match next.unwrap_or(Ok(Some(Delta::Alive))) {
                Ok(Some(Delta::Alive)) if sent.elapsed() < HEARTBEAT => {}
                Ok(Some(delta)) => events = wire.delta(delta),
                Ok(None) => source = Source::Over,
                Err(problem) => {
                    events = wire.failed(&problem);
                    source = Source::Over;
                }
            }
        }
        sent = Instant::now();
        Some((Ok::<_, Infallible>(Bytes::from(events.concat())), (source, wire, Vec::new(), sent)))
    });
    ([(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-cache")], Body::from_stream(body)).into_response()
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt as _;

    use super::*;
    use crate::serve::problem::Kind;

    struct Words;

    impl Wire for Words {
        fn whole(self, _: &Whole) -> Value {
            Value::Null
        }

        fn begin(&mut self) -> Vec<String> {
            vec!["begin ".to_owned()]
        }

        fn delta(&mut self, delta: Delta) -> Vec<String> {
            vec![format!("{delta:?} ")]
        }

        fn failed(&mut self, problem: &Problem) -> Vec<String> {
            vec![problem.message.clone()]
        }

        fn tells(&self, problem: &Problem) -> bool {
            problem.kind == Kind::Busy
        }
    }

    /// The complete stream that a client receives if its answer fails after `wait`; `Err` if it
    /// receives a status instead.
    async fn read(kind: Kind, wait: Duration) -> Result<String, Problem> {
        let start = async move {
            tokio::time::sleep(wait).await;
            Err(Problem::new(kind, "no memory"))
        };
        let mut body = answered(true, start, Words).await?.into_body().into_data_stream();
        let mut text = String::new();
        while let Some(piece) = body.next().await {
            text.push_str(std::str::from_utf8(&piece.expect("a body does not break off")).expect("text"));
        }
        Ok(text)
    }

    #[tokio::test]
    async fn who_waits_for_a_model_to_load_gets_the_head_and_signs_of_life() {
        let wait = STATUS_TIME + HEARTBEAT + Duration::from_millis(500);
        assert_eq!(read(Kind::Unavailable, wait).await.as_deref(), Ok("begin Alive no memory"));
    }

    #[tokio::test]
    async fn a_request_that_fails_at_once_is_refused_by_its_status() {
        let refused = read(Kind::Unavailable, Duration::ZERO).await.expect_err("a status");
        assert_eq!(refused.kind, Kind::Unavailable);
        assert_eq!(read(Kind::Busy, Duration::ZERO).await.as_deref(), Ok("begin no memory"));
    }
}
