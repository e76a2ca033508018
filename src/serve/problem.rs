//! The reason a request is refused or fails, with its HTTP status; every protocol writes it in its own form.

use axum::http::StatusCode;

use crate::agent::TurnError;
use crate::embed::EmbedError;
use crate::engine::EngineError;
use crate::engine::decoder::DecodeError;
use crate::engine::pool::PoolError;
use crate::remote::{RemoteError, Why};

/// The kinds of problems that clients can distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The request is wrong.
    Invalid,
    /// The token is missing or wrong.
    Unauthorized,
    /// The request comes from a disallowed origin.
    Forbidden,
    NotFound,
    /// The prompt is longer than a slot.
    TooLong {
        prompt: usize,
        context: usize,
    },
    /// Too many requests at once.
    Busy,
    /// Memory or a model is missing.
    Unavailable,
    Failed,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    pub kind: Kind,
    pub message: String,
    /// The faulty field of the request.
    pub field: Option<&'static str>,
}

impl Problem {
    pub fn new(kind: Kind, message: impl Into<String>) -> Problem {
        Problem { kind, message: message.into(), field: None }
    }

    pub fn invalid(field: &'static str, message: impl Into<String>) -> Problem {
        Problem { field: Some(field), ..Problem::new(Kind::Invalid, message) }
    }

    pub fn failed(error: impl std::fmt::Display) -> Problem {
        Problem::new(Kind::Failed, error.to_string())
    }

    pub fn status(&self) -> StatusCode {
        match self.kind {
            Kind::Invalid | Kind::TooLong { .. } => StatusCode::BAD_REQUEST,
            Kind::Unauthorized => StatusCode::UNAUTHORIZED,
            Kind::Forbidden => StatusCode::FORBIDDEN,
            Kind::NotFound => StatusCode::NOT_FOUND,
            Kind::Busy => StatusCode::TOO_MANY_REQUESTS,
            Kind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Kind::Failed => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl From<EngineError> for Problem {
    fn from(error: EngineError) -> Problem {
        let kind = match &error {
            EngineError::ContextOverflow { prompt, context, .. } => {
                Kind::TooLong { prompt: *prompt, context: *context }
            }
            EngineError::EmptyPrompt { .. }
            | EngineError::Grammar(_)
            | EngineError::Decode(DecodeError::Picture(_)) => Kind::Invalid,
            EngineError::QueueFull { .. } => Kind::Busy,
            EngineError::Stopped { .. } | EngineError::Start { .. } => Kind::Unavailable,
            _ => Kind::Failed,
        };
        Problem::new(kind, error.to_string())
    }
}

impl From<PoolError> for Problem {
    fn from(error: PoolError) -> Problem {
        Problem::new(Kind::Unavailable, error.to_string())
    }
}

impl From<EmbedError> for Problem {
    fn from(error: EmbedError) -> Problem {
        Problem::failed(error)
    }
}

impl From<RemoteError> for Problem {
    fn from(error: RemoteError) -> Problem {
        let kind = match &error.why {
            Why::TooLong { .. } | Why::Status { status: 400 | 422, .. } => Kind::Invalid,
            Why::Busy { .. } => Kind::Busy,
            _ => Kind::Unavailable,
        };
        Problem::new(kind, error.to_string())
    }
}

impl From<TurnError> for Problem {
    fn from(error: TurnError) -> Problem {
        match error {
            TurnError::Engine(error) => error.into(),
            TurnError::Pool(error) => error.into(),
            TurnError::Remote(error) => error.into(),
            TurnError::NotSent { .. } | TurnError::NotFetched(_) => Problem::new(Kind::Unavailable, error.to_string()),
            TurnError::Cancelled | TurnError::Skipped | TurnError::Lost(_) => Problem::failed(error),
        }
    }
}
