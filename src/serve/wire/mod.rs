//! The protocols of clients: each reads its requests into an `Ask` and writes answers in its own form.

mod body;
pub mod chat;
pub mod completions;
mod conversation;
pub mod embeddings;
mod fields;
pub mod messages;
pub mod responses;
mod stream;

use axum::Json;
use axum::body::Bytes;
use axum::http::header::{HeaderValue, WWW_AUTHENTICATE};
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::problem::{Kind, Problem};

/// Reads the body of a request.
pub fn read<T: DeserializeOwned>(body: &Bytes) -> Result<T, Problem> {
    serde_json::from_slice(body)
        .map_err(|error| Problem::new(Kind::Invalid, format!("the request cannot be read: {error}")))
}

/// A problem in the form that OpenAI's clients expect: `{"error": {message, type, param, code}}`,
/// with both token counts if a prompt is too long.
fn openai_error(problem: &Problem) -> Value {
    let (kind, code) = match problem.kind {
        Kind::Invalid => ("invalid_request_error", None),
        Kind::Unauthorized => ("authentication_error", Some("invalid_api_key")),
        Kind::Forbidden => ("permission_error", None),
        Kind::NotFound => ("invalid_request_error", Some("not_found")),
        Kind::TooLong { .. } => ("invalid_request_error", Some("context_length_exceeded")),
        Kind::Busy => ("rate_limit_error", Some("rate_limit_exceeded")),
        Kind::Unavailable => ("unavailable_error", None),
        Kind::Failed => ("server_error", None),
    };
    let mut error = json!({ "message": problem.message, "type": kind, "param": problem.field, "code": code });
    if let Kind::TooLong { prompt, context } = problem.kind {
        error["n_prompt_tokens"] = prompt.into();
        error["n_ctx"] = context.into();
    }
    json!({ "error": error })
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        refused(&self, openai_error(&self))
    }
}

/// The response for a problem that a protocol writes as `error`.
fn refused(problem: &Problem, error: Value) -> Response {
    let mut response = (problem.status(), Json(error)).into_response();
    // RFC 9110, 15.5.2: a 401 names the authentication scheme.
    if problem.kind == Kind::Unauthorized {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// Seconds since 1970, the creation time of OpenAI's objects.
pub fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}
