//! Sends one HTTP request and receives its answer in pieces, on a connection that closes when the answer is dropped.
//!
//! Uses hyper, because `serve` already does, with rustls and the certificates that the system
//! trusts. hf-hub's ureq is not used here: it blocks a thread, and its requests cannot be dropped.
//! Connections are not reused, because closing one is what stops the server's work; redirects are
//! not followed and no proxy is used, whatever the environment variables.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
pub use hyper::body::Bytes;
use hyper::body::Incoming;
pub use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, header};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use url::Url;

use super::error::Why;

/// Maximum time for name resolution, connection and encryption together.
pub const CONNECT_MAX: Duration = Duration::from_secs(10);
/// Maximum size of an answer that is read as a whole: lists of models, errors, vectors.
pub const WHOLE_MAX: usize = 64 << 20;
/// Maximum number of bytes read from an error's body.
const ERROR_MAX: usize = 64 << 10;

/// A request to a server.
pub struct Sent<'a> {
    pub url: &'a Url,
    pub way: Way,
    /// Headers in addition to those of every request.
    pub headers: HeaderMap,
    /// Time without a byte after which a connection is abandoned.
    pub silence: Duration,
}

/// The HTTP method of a request, and the text to post.
#[derive(Clone)]
pub enum Way {
    Get,
    /// Posts a JSON text.
    Post(String),
    /// Posts the fields of a form, encoded.
    Form(String),
    Delete,
}

/// The head of an answer, and the connection that delivers its body.
pub struct Answer {
    response: Response<Incoming>,
    silence: Duration,
    _connection: Connection,
}

/// The task that moves the bytes; dropping this ends it, and with it the connection.
struct Connection(JoinHandle<()>);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub enum Failure {
    /// No connection, or it was closed before an answer began: the same request may be sent again.
    Passing(String),
    Final(Why),
}

/// Sends a request, and waits for the head of the answer.
pub async fn send(sent: Sent<'_>) -> Result<Answer, Failure> {
    let (url, silence) = (sent.url, sent.silence);
    let request = request(sent).map_err(|why| Failure::Final(Why::Key(why)))?;
    let stream = match timeout(CONNECT_MAX, connect(url)).await {
        Ok(connected) => connected?,
        Err(_) => return Err(Failure::Passing(format!("no connection within {} s", CONNECT_MAX.as_secs()))),
    };
    let (mut sender, connection) = hyper::client::conn::http1::Builder::new()
        .max_buf_size(1 << 20)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| Failure::Passing(words(&error)))?;
    let connection = Connection(tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection to a server ended");
        }
    }));
    let response = match timeout(silence, sender.send_request(request)).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) if error.is_parse() => return Err(Failure::Final(Why::Unreadable("it is not HTTP".to_owned()))),
        Ok(Err(error)) => return Err(Failure::Passing(words(&error))),
        Err(_) => return Err(Failure::Final(Why::Silent(silence))),
    };
    Ok(Answer { response, silence, _connection: connection })
}

impl Answer {
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// The value of a header; empty if it is missing.
    pub fn header(&self, name: &str) -> &str {
        self.values(name).next().unwrap_or_default()
    }

    /// The values of a header that may occur several times.
    pub fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        self.response.headers().get_all(name).into_iter().filter_map(|value| value.to_str().ok())
    }

    /// The next bytes; `None` at the end of the answer.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Why> {
        loop {
            let frame = match timeout(self.silence, self.response.body_mut().frame()).await {
                Err(_) => return Err(Why::Silent(self.silence)),
                Ok(None) => return Ok(None),
                Ok(Some(Err(error))) => return Err(Why::Cut(words(&error))),
                Ok(Some(Ok(frame))) => frame,
            };
            if let Ok(bytes) = frame.into_data()
                && !bytes.is_empty()
            {
                return Ok(Some(bytes));
            }
        }
    }

    /// The complete body as text, at most `most` bytes.
    pub async fn text(mut self, most: usize) -> Result<String, Why> {
        let mut all = Vec::new();
        while let Some(bytes) = self.next().await? {
            if all.len() + bytes.len() > most {
                return Err(Why::Unreadable(format!("it has more than {most} bytes")));
            }
            all.extend_from_slice(&bytes);
        }
        Ok(String::from_utf8_lossy(&all).into_owned())
    }

    /// The part of an error's body that arrives within a few seconds.
    pub async fn error_text(mut self) -> String {
        const SOON: Duration = Duration::from_secs(5);
        let mut all = Vec::new();
        let read = async {
            while let Ok(Some(bytes)) = self.next().await {
                all.extend_from_slice(&bytes);
                if all.len() >= ERROR_MAX {
                    break;
                }
            }
        };
        let _ = timeout(SOON, read).await;
        all.truncate(ERROR_MAX);
        String::from_utf8_lossy(&all).into_owned()
    }
}

fn request(sent: Sent<'_>) -> Result<Request<Full<Bytes>>, String> {
    let (method, body, kind) = match sent.way {
        Way::Get => (Method::GET, String::new(), None),
        Way::Post(body) => (Method::POST, body, Some("application/json")),
        Way::Form(body) => (Method::POST, body, Some("application/x-www-form-urlencoded")),
        Way::Delete => (Method::DELETE, String::new(), None),
    };
    let port = sent.url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let query = sent.url.query().map(|query| format!("?{query}")).unwrap_or_default();
    let mut request = Request::builder()
        .method(method)
        .uri(format!("{}{query}", sent.url.path()))
        .header(header::HOST, format!("{}{port}", sent.url.host_str().unwrap_or_default()))
        .header(header::USER_AGENT, concat!("monobloc/", env!("CARGO_PKG_VERSION")))
        .header(header::ACCEPT, "text/event-stream, application/json")
        .header(header::CONNECTION, "close");
    if let Some(kind) = kind {
        request = request.header(header::CONTENT_TYPE, kind);
    }
    if let Some(headers) = request.headers_mut() {
        headers.extend(sent.headers);
    }
    request.body(Full::new(Bytes::from(body))).map_err(|error| format!("no request can be made: {error}"))
}

/// Adds a header whose value is kept out of messages.
pub fn add_header(headers: &mut HeaderMap, name: &str, value: &str) -> Result<(), String> {
    let wrong = |what: &str| format!("the header {name} has no usable {what}");
    let key = HeaderName::try_from(name).map_err(|_| wrong("name"))?;
    let mut value = HeaderValue::try_from(value).map_err(|_| wrong("value"))?;
    value.set_sensitive(true);
    headers.insert(key, value);
    Ok(())
}

/// A stream to the server, encrypted or not.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

async fn connect(url: &Url) -> Result<Box<dyn Stream>, Failure> {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let port = url.port_or_known_default().unwrap_or(80);
    let stream =
        TcpStream::connect((host.as_str(), port)).await.map_err(|error| Failure::Passing(error.to_string()))?;
    // Requests are written in one piece; small ones must not be delayed.
    let _ = stream.set_nodelay(true);
    if url.scheme() != "https" {
        return Ok(Box::new(stream));
    }
    let certificate = |why: String| Failure::Final(Why::Certificate(why));
    let name = ServerName::try_from(host).map_err(|error| certificate(error.to_string()))?;
    let connector = TlsConnector::from(trusted().map_err(certificate)?);
    match connector.connect(name, stream).await {
        Ok(stream) => Ok(Box::new(stream)),
        Err(error) => Err(judged(&error)),
    }
}

/// Classifies an error: an encryption failure is final, a closed connection is not.
fn judged(error: &io::Error) -> Failure {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented) => {
            Failure::Final(Why::Certificate(error.to_string()))
        }
        Some(_) => Failure::Final(Why::Unreadable(format!("no TLS: {error}; perhaps it is http://"))),
        None => Failure::Passing(error.to_string()),
    }
}

/// The certificates that the system trusts, read on the first use of https.
fn trusted() -> Result<Arc<ClientConfig>, String> {
    static TRUSTED: OnceLock<Result<Arc<ClientConfig>, String>> = OnceLock::new();
    let read = || {
        let found = rustls_native_certs::load_native_certs();
        let mut roots = RootCertStore::empty();
        let (added, _) = roots.add_parsable_certificates(found.certs);
        if added == 0 {
            let why = found.errors.first().map(|error| format!(": {error}")).unwrap_or_default();
            return Err(format!("the system has no trusted certificates{why}"));
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.map_err(|error| error.to_string())?.with_root_certificates(roots).with_no_client_auth();
        Ok(Arc::new(config))
    };
    TRUSTED.get_or_init(read).clone()
}

/// The error with its causes, which hyper leaves out.
fn words(error: &hyper::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(one) = cause {
        text = format!("{text}: {one}");
        cause = one.source();
    }
    text
}
