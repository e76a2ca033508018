//! Anthropic's `/v1/messages` and `/v1/messages/count_tokens`, which Claude Code speaks.

mod events;
mod request;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use self::events::{Draft, Events};
use self::request::Request;
use super::{read, streamed};
use crate::serve::Server;
use crate::serve::problem::{Kind, Problem};

/// `POST /v1/messages`
pub async fn create(State(server): State<Server>, body: Bytes) -> Response {
    answer(server, body).await.unwrap_or_else(|problem| refused(&problem))
}

/// `POST /v1/messages/count_tokens`
pub async fn count_tokens(State(server): State<Server>, body: Bytes) -> Response {
    count(server, body).await.unwrap_or_else(|problem| refused(&problem))
}

async fn answer(server: Server, body: Bytes) -> Result<Response, Problem> {
    let request: Request = read(&body)?;
    let model = server.model(&request.model)?;
    let streams = request.stream.unwrap_or(false);
    let draft = Draft::new(&request);
    let ask = request.ask(model)?;
    let reply = async move { server.reply(ask).await };
    if streams {
        return streamed(reply, Events::new(draft)).await;
    }
    let whole = reply.await?.whole().await?;
    Ok(Json(draft.message(&whole)).into_response())
}

async fn count(server: Server, body: Bytes) -> Result<Response, Problem> {
    let request: Request = read(&body)?;
    let model = server.model(&request.model)?;
    let tokens = server.count(&request.ask(model)?).await?;
    Ok(Json(json!({ "input_tokens": tokens })).into_response())
}

/// A problem as an answer with its status.
fn refused(problem: &Problem) -> Response {
    (problem.status(), Json(error(problem))).into_response()
}

/// A problem as Anthropic's clients read it: `{"type": "error", "error": {type, message}}`.
pub fn error(problem: &Problem) -> Value {
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
        // Clients find the overflow, and how far to compact, by these words and numbers.
        Kind::TooLong { prompt, context } => format!("prompt is too long: {prompt} tokens > {context} maximum"),
        _ => problem.message.clone(),
    };
    json!({ "type": "error", "error": { "type": kind, "message": message } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(problem: Problem, kind: &str, message: &str) {
        let expected = json!({ "type": "error", "error": { "type": kind, "message": message } });
        assert_eq!(error(&problem), expected);
    }

    #[test]
    fn problems_have_the_shape_of_anthropic() {
        let long = Problem::new(Kind::TooLong { prompt: 9000, context: 8192 }, "9000 are more than 8192");
        check(long, "invalid_request_error", "prompt is too long: 9000 tokens > 8192 maximum");
        check(Problem::invalid("stop", "too many"), "invalid_request_error", "too many");
        check(Problem::new(Kind::Busy, "the queue is full"), "rate_limit_error", "the queue is full");
        check(Problem::new(Kind::Unavailable, "no memory"), "overloaded_error", "no memory");
    }
}
