//! Why a server request failed: every message names the URL and a remedy, and no message contains a key.

use std::time::Duration;

/// A failure of the server at `url`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{url}: {why}")]
pub struct RemoteError {
    /// The base URL of the server.
    pub url: String,
    pub why: Why,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    #[error("{0}")]
    Key(String),
    #[error(
        "no connection within {} tries ({last}); check that the server is running and that the address is right",
        tries
    )]
    Unreachable { tries: u32, last: String },
    #[error(
        "its certificate is not accepted ({0}); add its authority to the system's, or use a tunnel and http://localhost"
    )]
    Certificate(String),
    #[error(
        "no byte for {} s; if the server only needs longer, raise timeout_silence_s in models.toml",
        .0.as_secs()
    )]
    Silent(Duration),
    #[error("it is still busy or loading after {tries} tries ({last}); ask again later")]
    Busy { tries: u32, last: String },
    #[error("it refuses the key (status {0}); give the right one with key_file or key_env in models.toml")]
    Refused(u16),
    #[error("it redirects to {0}, which is not followed; write the right address as url")]
    Redirected(String),
    #[error(
        "{path} does not exist there (status {status}); the url must be the base of an OpenAI-compatible API, usually ending in /v1"
    )]
    NoSuchPath { path: String, status: u16 },
    #[error("it has no model called {name}; it has {}. Correct `model` in models.toml", list(there))]
    NoSuchModel { name: String, there: Vec<String> },
    #[error("it has {}; specify one with `model` in models.toml", list(.0))]
    SeveralModels(Vec<String>),
    #[error("it has no model; load one there")]
    NoModel,
    #[error(
        "the prompt is too long for it ({said}); ask for less, or raise the server's context, and `context` in models.toml if set there"
    )]
    TooLong { said: String },
    #[error("it answers with status {status}: {said}; its own log has details")]
    Status { status: u16, said: String },
    #[error("it reports an error in its answer: {0}; its own log has details")]
    InAnswer(String),
    #[error(
        "the arguments of its call of {0} are not a JSON object, so the call is not carried out; ask again, or probe it again with `monobloc models add`"
    )]
    BadCall(String),
    #[error(
        "its answer cannot be read ({0}); the url must be the base of an OpenAI-compatible API, usually ending in /v1"
    )]
    Unreadable(String),
    #[error("its answer broke off ({0}); none of it was carried out. Ask again")]
    Cut(String),
    #[error("it failed {failures} times, the last time: {last}. The next attempt is in {} s", again.as_secs())]
    Resting { failures: u32, last: String, again: Duration },
    #[error(
        "its vectors are not those of the model that was added ({got} numbers, previously {expected}); add it again with `monobloc models add URL --role embedder`"
    )]
    OtherVectors { got: usize, expected: usize },
    #[error("the request was cancelled")]
    Cancelled,
}

impl RemoteError {
    /// Whether the server is unreachable, as opposed to refusing a request: another model may then
    /// take over.
    pub fn is_gone(&self) -> bool {
        match &self.why {
            Why::Unreachable { .. } | Why::Silent(_) | Why::Busy { .. } | Why::Cut(_) | Why::Resting { .. } => true,
            Why::Status { status, .. } => *status >= 500,
            Why::Certificate(_) | Why::InAnswer(_) => true,
            _ => false,
        }
    }
}

/// Maximum number of names in a message.
const NAMED: usize = 8;

fn list(names: &[String]) -> String {
    let shown = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(NAMED) {
        Some(more @ 1..) => format!("{shown} and {more} more"),
        _ => shown,
    }
}
