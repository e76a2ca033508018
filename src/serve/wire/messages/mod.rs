//! Anthropic's `/v1/messages` and `/v1/messages/count_tokens`, which Claude Code uses.

mod events;
mod request;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use self::events::Events;
use super::body::Fields;
use super::stream::answered;
use crate::serve::Server;
use crate::serve::problem::{Kind, Problem};

pub async fn create(State(server): State<Server>, body: Bytes) -> Response {
    let answer = async {
        let mut fields = Fields::read(&body)?;
        let model = fields.take::<String>("model")?.unwrap_or_default();
        let streams = fields.take("stream")?.unwrap_or(false);
        let (ask, ignored) = request::read(fields, server.model(&model)?)?;
        let (events, server) = (Events::new(model, ask.stop.clone()), server.clone());
        answered(streams, async move { server.reply(ask).await }, events).await.map(|response| ignored.told(response))
    };
    answer.await.unwrap_or_else(|problem| refused(&problem))
}

pub async fn count_tokens(State(server): State<Server>, body: Bytes) -> Response {
    let count = async {
        let mut fields = Fields::read(&body)?;
        let model = fields.take::<String>("model")?.unwrap_or_default();
        fields.take::<bool>("stream")?;
        server.count(&request::read(fields, server.model(&model)?)?.0).await
    };
    match count.await {
        Ok(tokens) => Json(json!({ "input_tokens": tokens })).into_response(),
        Err(problem) => refused(&problem),
    }
}

pub fn refused(problem: &Problem) -> Response {
    super::refused(problem, error(problem))
}

/// A problem in the form that Anthropic's clients expect:
/// `{"type": "error", "error": {type, message}}`.
fn error(problem: &Problem) -> Value {
    let kind = match problem.kind {
        Kind::Invalid | Kind::TooLong { .. } => "invalid_request_error",
        Kind::Unauthorized => "authentication_error",
        Kind::Forbidden => "permission_error",
        Kind::NotFound => "not_found_error",
        Kind::Busy => "rate_limit_error",
        Kind::Unavailable => "overloaded_error",
        Kind::Failed => "api_error",
    };
    let message = match problem.kind {
        // Clients recognise the overflow, and how much to compact, by these words and numbers.
        Kind::TooLong { prompt, context } => format!("prompt is too long: {prompt} tokens > {context} maximum"),
        _ => problem.message.clone(),
    };
    json!({ "type": "error", "error": { "type": kind, "message": message } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overflow_has_the_words_by_which_clients_compact() {
        let long = Problem::new(Kind::TooLong { prompt: 9000, context: 8192 }, "9000 are more than 8192");
        let expected =
            json!({ "type": "invalid_request_error", "message": "prompt is too long: 9000 tokens > 8192 maximum" });
        assert_eq!(error(&long), json!({ "type": "error", "error": expected }));
    }
}
