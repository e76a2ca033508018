//! Sends MCP messages to a server at a URL: rmcp's streamable HTTP on our own HTTP client, bounded.
//!
//! A message is sent by POST; its answer is one JSON text, or a stream of events that ends with it.
//! A second stream, opened by GET, carries messages that the server sends unprompted, and the rest
//! of an interrupted answer, resumed by the id of its last event. rmcp manages the session and
//! renews a lost one once; it resends only messages that were refused because the session was lost.
//! A message that was refused because the token of a sign-in had expired is sent once more, with a
//! new token.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::{BoxStream, unfold};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse as Posted,
};
use sse_stream::{Sse, SseStream};

use super::Setup;
use super::bounded::{Flow, LINE_MAX_BYTES, Meter};
use super::describe::clean;
use crate::base::visible;
use crate::config::{Address, Server};
use crate::remote::Why;
use crate::remote::http::{self, Answer, Bytes, Failure, HeaderMap, HeaderName, HeaderValue, Sent, Way};
use crate::remote::oauth::{Bearer, Challenge, Reach};

/// Maximum number of consecutive attempts to resume an interrupted stream.
const RECONNECTS_MAX: usize = 4;
/// If a server ends streams immediately, the pause before the next one doubles, up to `1 << 6`
/// seconds.
const PAUSE_DOUBLINGS_MAX: usize = 6;
/// The stream of unprompted messages may be silent for days.
const SILENT: Duration = Duration::from_secs(7 * 24 * 3600);
/// Maximum length of a server's text in an error message, in characters.
const SAID_MAX: usize = 300;

/// The reason why a server at a URL gave no usable answer. It never contains a header.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Fault(pub String);

pub type HttpError = StreamableHttpError<Fault>;

/// The HTTP client of one server. Clones share it.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    address: Address,
    headers: HeaderMap,
    /// The token of a sign-in, unless the settings have another.
    bearer: Option<Bearer>,
    /// The command that signs in.
    login: String,
    /// Maximum wait for the head of an answer: the timeout of a call, which also has its own
    /// deadline.
    silence: Duration,
    flow: Arc<Flow>,
}

impl Client {
    /// Fails if a header uses an environment variable that is not set, or if the token of a sign-in
    /// cannot be used; the error names it.
    pub fn new(config: &Server, address: &Address, setup: &Setup, flow: &Arc<Flow>) -> Result<Client, String> {
        let headers = headers(config)?;
        let bearer = if headers.contains_key("authorization") {
            None
        } else {
            let (server, consents) = (address.clone(), setup.consents.clone());
            let reach = Reach { server, consents, limit: config.start_timeout };
            Bearer::open(reach, &setup.tokens, config.login())?
        };
        let silence = config.timeout.max(config.start_timeout);
        let (address, flow) = (address.clone(), flow.clone());
        Ok(Client(Arc::new(Inner { address, headers, bearer, login: config.login(), silence, flow })))
    }

    /// The text without the token of a sign-in. Every answer is read without it, because a server
    /// for tests may repeat the headers that it got.
    fn without_token(&self, text: String) -> String {
        match &self.0.bearer {
            Some(bearer) => bearer.without_secrets(&text),
            None => text,
        }
    }

    /// Removes from a server's text the token and the header values that were sent to it, both
    /// whole and without their scheme (`Bearer`).
    pub fn without_values(&self, text: &str) -> String {
        /// Shorter values also occur inside ordinary words.
        const VALUE_MIN: usize = 6;
        let values = self.0.headers.values().filter_map(|value| value.to_str().ok());
        let secrets = values.flat_map(|value| [value, value.rsplit(' ').next().unwrap_or_default()]);
        secrets
            .filter(|secret| secret.len() >= VALUE_MIN)
            .fold(self.without_token(text.to_owned()), |text, secret| text.replace(secret, "[header]"))
    }

    /// The settings with which rmcp uses this client.
    pub fn settings(&self) -> StreamableHttpClientTransportConfig {
        let mut retries = ExponentialBackoff::default();
        retries.max_times = Some(RECONNECTS_MAX);
        retries.max_delay = Some(Duration::from_secs(8));
        let uri = self.0.address.to_string();
        let mut settings = StreamableHttpClientTransportConfig::with_uri(uri).max_sse_event_size(LINE_MAX_BYTES);
        settings.retry_config = Arc::new(retries);
        settings
    }

    /// Sends a request with the headers given by rmcp, those from the settings, and the token. If
    /// the server refuses the token, sends it once more with a new one.
    async fn send(
        &self,
        way: Way,
        own: HashMap<HeaderName, HeaderValue>,
        more: &[(&'static str, Option<&str>)],
        silence: Duration,
    ) -> Result<Answer, Fault> {
        let mut headers = self.0.headers.clone();
        headers.extend(own);
        for (name, value) in more {
            let value = value.map(HeaderValue::try_from).transpose();
            let value = value.map_err(|_| Fault(format!("it gave a {name} that a header cannot hold")))?;
            headers.extend(value.map(|value| (HeaderName::from_static(name), value)));
        }
        let Some(bearer) = &self.0.bearer else { return self.send_once(way, headers, silence).await };
        let token = bearer.token().await.map_err(Fault)?;
        let answer = self.send_once(way.clone(), with_token(headers.clone(), &token)?, silence).await?;
        if answer.status() != 401 {
            return Ok(answer);
        }
        drop(answer);
        let token = bearer.token_after(&token).await.map_err(Fault)?;
        self.send_once(way, with_token(headers, &token)?, silence).await
    }

    async fn send_once(&self, way: Way, headers: HeaderMap, silence: Duration) -> Result<Answer, Fault> {
        let sent = http::send(Sent { url: self.0.address.url(), way, headers, silence });
        sent.await.map_err(|failure| match failure {
            Failure::Passing(why) => Fault(format!(
                "{} does not answer ({why}); check that it is running and that the URL is right",
                self.0.address
            )),
            Failure::Final(why) => fault(why),
        })
    }

    /// The reason why a request is refused with status 401 or 403, and the way out.
    fn no_access(&self, challenge: &Challenge) -> String {
        let (status, login) = (challenge.status, &self.0.login);
        let scopes = challenge.scopes().join(" ");
        if self.0.headers.contains_key("authorization") {
            return format!("it refuses access (status {status}); correct the header Authorization in its `headers`");
        }
        match self.0.bearer {
            Some(_) if status == 403 && !scopes.is_empty() => {
                format!("your sign-in does not allow this (status 403); allow more: `{login} --scope \"{scopes}\"`")
            }
            Some(_) => format!("it refuses access with your sign-in (status {status}); sign in again: `{login}`"),
            None => format!(
                "it refuses access (status {status}); sign in: `{login}`, or give it a key by `headers`, as \
                 {{ Authorization = \"Bearer ${{NAME}}\" }}"
            ),
        }
    }

    /// The events of an answer, until it ends or a limit is exceeded.
    fn events(&self, answer: Answer) -> BoxStream<'static, Result<Sse, SseError>> {
        let meter = Meter::of_events(self.0.flow.clone(), "its streams");
        let bytes = unfold(Some((answer, meter)), |state| async move {
            let (mut answer, mut meter) = state?;
            match answer.next().await {
                Ok(None) => None,
                Ok(Some(bytes)) if meter.add(&bytes) => Some((Err(Fault("it sent too much".to_owned())), None)),
                Ok(Some(bytes)) => Some((Ok::<Bytes, Fault>(bytes), Some((answer, meter)))),
                Err(why) => Some((Err(fault(why)), None)),
            }
        });
        let client = self.clone();
        let events = SseStream::from_bytes_stream(bytes.boxed());
        let clean = move |event: Sse| Sse { data: event.data.map(|data| client.without_token(data)), ..event };
        events.map(move |event| event.map(&clean)).boxed()
    }

    /// The reason for refusing an answer whose status is not a success.
    async fn refusal(&self, answer: Answer) -> Fault {
        let (status, address) = (answer.status(), &self.0.address);
        let location = answer.header("location").to_owned();
        let says = |text: &str| {
            let line = clean(&self.without_values(text)).split_whitespace().collect::<Vec<_>>().join(" ");
            visible(&line.chars().take(SAID_MAX).collect::<String>())
        };
        Fault(match status {
            300..=399 => {
                let to = says(&address.redirected(&location));
                format!("it redirects to {to}, which is not followed; write the right url")
            }
            401 | 403 => self.no_access(&Challenge::of(status, answer.values("www-authenticate"))),
            404 | 405 => {
                format!("{address} does not serve MCP over streamable HTTP (status {status}); correct the url")
            }
            429 | 503 => {
                let wait = says(answer.header("retry-after"));
                let wait = if wait.is_empty() { String::new() } else { format!(" and asks to wait {wait} s") };
                format!("it is busy (status {status}){wait}; ask again later")
            }
            _ => {
                let text = says(&answer.error_text().await);
                format!("it answers with status {status}{}{text}", if text.is_empty() { "" } else { ": " })
            }
        })
    }
}

/// The headers from the settings of a server.
pub fn headers(config: &Server) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in config.headers.filled(|name| std::env::var(name).ok())? {
        http::add_header(&mut headers, name, &value)?;
    }
    Ok(headers)
}

fn with_token(mut headers: HeaderMap, token: &str) -> Result<HeaderMap, Fault> {
    http::add_header(&mut headers, "authorization", &format!("Bearer {token}")).map_err(Fault)?;
    Ok(headers)
}

/// The message for a failed connection, worded for an MCP server.
pub fn fault(why: Why) -> Fault {
    Fault(match why {
        Why::Silent(limit) => format!("no byte for {} s; if it only needs longer, raise timeout_s", limit.as_secs()),
        Why::Unreadable(what) => {
            format!("its answer cannot be read ({what}); the url must be that of an MCP server over streamable HTTP")
        }
        Why::Cut(why) => format!("its answer broke off ({why})"),
        other => other.to_string(),
    })
}

/// The error in an answer with a failure status, if it is an MCP error for this request.
fn error_of(text: &str, message: &ClientJsonRpcMessage) -> Option<ServerJsonRpcMessage> {
    let ClientJsonRpcMessage::Request(request) = message else { return None };
    let read: ServerJsonRpcMessage = serde_json::from_str(text).ok()?;
    matches!(&read, ServerJsonRpcMessage::Error(error) if error.id.as_ref() == Some(&request.id)).then_some(read)
}

impl StreamableHttpClient for Client {
    type Error = Fault;

    async fn post_message(
        &self,
        _: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Posted, HttpError> {
        let way = Way::Post(serde_json::to_string(&message)?);
        let answer = self.send(way, headers, &[("mcp-session-id", session.as_deref())], self.0.silence).await;
        let answer = answer.map_err(HttpError::Client)?;
        let is_asked = matches!(message, ClientJsonRpcMessage::Request(_));
        match answer.status() {
            202 | 204 => return Ok(Posted::Accepted),
            404 if session.is_some() => return Err(HttpError::SessionExpired),
            400 | 422 | 500 => {
                let status = answer.status();
                let text = self.without_token(answer.error_text().await);
                if let Some(error) = error_of(&text, &message) {
                    return Ok(Posted::Json(error, None));
                }
                let said = visible(&clean(&self.without_values(&text)).chars().take(SAID_MAX).collect::<String>());
                return Err(HttpError::Client(Fault(format!("it answers with status {status}: {said}"))));
            }
            200..=299 => {}
            _ => return Err(HttpError::Client(self.refusal(answer).await)),
        }
        let given = Some(answer.header("mcp-session-id").to_owned()).filter(|id| !id.is_empty());
        let kind = answer.header("content-type").to_ascii_lowercase();
        if kind.starts_with("text/event-stream") {
            return Ok(Posted::Sse(self.events(answer), given));
        }
        if !is_asked {
            return Ok(Posted::Accepted);
        }
        if !kind.starts_with("application/json") {
            let kind = visible(&kind.chars().take(SAID_MAX).collect::<String>());
            return Err(HttpError::Client(fault(Why::Unreadable(format!("it is of the type `{kind}`")))));
        }
        let text = answer.text(LINE_MAX_BYTES).await.map_err(|why| HttpError::Client(fault(why)))?;
        self.0.flow.add(text.as_bytes(), "its answers");
        let read = serde_json::from_str(&self.without_token(text));
        let read = read.map_err(|_| HttpError::Client(fault(Why::Unreadable("it is not an MCP message".to_owned()))));
        Ok(Posted::Json(read?, given))
    }

    async fn delete_session(
        &self,
        _: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), HttpError> {
        let named = [("mcp-session-id", Some(&*session))];
        match self.send(Way::Delete, headers, &named, self.0.silence).await.map_err(HttpError::Client)?.status() {
            405 => Err(HttpError::ServerDoesNotSupportDeleteSession),
            _ => Ok(()),
        }
    }

    async fn get_stream(
        &self,
        _: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, HttpError> {
        let before = self.0.flow.open().min(PAUSE_DOUBLINGS_MAX + 1);
        if before > 1 {
            tokio::time::sleep(Duration::from_secs(1 << (before - 1))).await;
        }
        if let Some(verdict) = self.0.flow.verdict() {
            return Err(HttpError::Client(Fault(verdict)));
        }
        let named = [("mcp-session-id", session.as_deref()), ("last-event-id", last.as_deref())];
        let answer = self.send(Way::Get, headers, &named, SILENT).await.map_err(HttpError::Client)?;
        match answer.status() {
            200 if answer.header("content-type").to_ascii_lowercase().starts_with("text/event-stream") => {
                Ok(self.events(answer))
            }
            // Other answers come only from a server without such a stream, or with a lost session.
            _ => Err(HttpError::ServerDoesNotSupportSse),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_repeats_a_header_does_not_show_its_value() {
        let headers = HeaderMap::from_iter([(
            HeaderName::from_static("authorization"),
            HeaderValue::from_static("Bearer kiln-4711"),
        )]);
        let address = Address::new("https://clay.example/mcp").unwrap();
        let (login, flow) = (String::new(), Arc::default());
        let client = Client(Arc::new(Inner { address, headers, bearer: None, login, silence: Duration::ZERO, flow }));
        let said = client.without_values("no access with Bearer kiln-4711 or kiln-4711; ask again");
        assert_eq!(said, "no access with [header] or [header]; ask again");
    }

    #[test]
    fn an_error_counts_only_for_the_request_that_it_is_about() {
        let request = r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#;
        let request: ClientJsonRpcMessage = serde_json::from_str(request).unwrap();
        let error = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32602,"message":"no"}}}}"#);
        assert!(error_of(&error("7"), &request).is_some());
        assert!(error_of(&error("8"), &request).is_none() && error_of("<html>", &request).is_none());
    }
}
