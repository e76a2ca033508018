//! Writes a turn's events as server-sent events, from any number on.

use std::convert::Infallible;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_util::stream;

use super::log::{Batch, Own, Said};
use super::turns::Turn;

/// After so long without an event an empty one is sent, so that a dead connection is noticed on both sides.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// It has no number: a browser that comes back names the last event that has one.
const ALIVE: &str = "data: {\"type\":\"alive\"}\n\n";
/// How long a browser waits before it comes back, in milliseconds.
const RETRY: &str = "retry: 1000\n\n";

/// The events after number `after`, then those to come. The turn goes on when the reader leaves.
pub fn streamed(turn: Arc<Turn>, after: u64) -> Response {
    if turn.log.is_read(after) {
        // The one answer after which a browser does not come back.
        return StatusCode::NO_CONTENT.into_response();
    }
    let state = Some((turn, after, RETRY.to_owned()));
    let body = stream::unfold(state, |state| async move {
        let (turn, after, mut text) = state?;
        let batch = tokio::time::timeout(HEARTBEAT, turn.log.after(after)).await;
        let next = match batch {
            Ok(batch) => {
                let read = batch.events.last().map_or(after, |(number, _)| *number);
                write(&mut text, &batch);
                (!batch.over).then(|| (turn, read, String::new()))
            }
            Err(_) => {
                text.push_str(ALIVE);
                Some((turn, after, String::new()))
            }
        };
        Some((Ok::<_, Infallible>(Bytes::from(text)), next))
    });
    ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(body)).into_response()
}

/// What is left of a turn that is not kept any more: that it is gone.
pub fn gone() -> Response {
    let said = [Said::Own(Own::Gone { until: 1 }), Said::Own(Own::Ended)];
    let events = said.iter().zip(1..).map(|(said, number)| (number, super::log::written(said))).collect();
    let mut text = String::new();
    write(&mut text, &Batch { events, over: true });
    ([(CONTENT_TYPE, "text/event-stream")], text).into_response()
}

fn write(text: &mut String, batch: &Batch) {
    for (number, event) in &batch.events {
        // A string takes whatever is written.
        let _ = write!(text, "id: {number}\ndata: {event}\n\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_a_number_and_one_line_whatever_its_text() {
        let said =
            Said::Own(Own::Asked { text: "a\nid: 7\r\n\ndata: x</script>".to_owned(), mode: Default::default() });
        let mut text = String::new();
        write(&mut text, &Batch { events: vec![(3, super::super::log::written(&said))], over: false });
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.starts_with("id: 3\ndata: {\"type\":\"asked\",") && text.ends_with("}\n\n"), "{text}");
    }
}
