//! A model at a URL: queries an OpenAI-compatible server and reads replies from every known kind of
//! server.
//!
//! [`Remote::open`] determines once what the server can do, and stores it. [`Remote::chat`] asks
//! for a reply, which always arrives as a stream. Together with `models pull`, this is the only
//! code of the program that connects to another machine. It does so only if models.toml, an option,
//! or the table of an MCP server (`tools/mcp/http.rs` uses [`http`]) names a URL.

mod abilities;
mod ask;
mod body;
mod breaker;
mod chat;
pub mod consent;
mod embedder;
mod error;
mod form;
pub mod http;
pub mod oauth;
mod piece;
mod probe;
mod read;
mod reply;
mod said;
mod sample;
mod server;
mod sse;
mod tokens;
mod veil;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde_json::{Value, json};

pub use abilities::{Abilities, Kind, Switch, Tools};
pub use ask::{Ask, Form};
pub use embedder::Away;
pub use error::{RemoteError, Why};
pub use piece::{Finish, Piece, Spent, Usage, Whole};
pub use reply::Reply;
pub use sample::{PROBE, Sample};

use breaker::Breaker;
use http::{Answer, Failure, HeaderMap, Sent, Way};
use tokens::Tokens;
use veil::Veil;

use crate::base::{Cancel, lock, private};
use crate::models::Endpoint;

/// A model on a server. Clones refer to the same model and share what is learned about it.
#[derive(Clone, Debug)]
pub struct Remote {
    endpoint: Arc<Endpoint>,
    key: Option<Arc<str>>,
    can: Arc<Abilities>,
    breaker: Breaker,
    tokens: Tokens,
    spent: Arc<Mutex<Spent>>,
}

/// The folder with the abilities of servers, one file per URL and model.
pub fn folder() -> PathBuf {
    crate::base::places::cache_dir().join("servers")
}

/// Number of texts per request for vectors.
const BATCH: usize = 64;

impl Remote {
    /// Asks the server for its models, and probes its model unless its abilities are already stored
    /// below `folder`.
    pub async fn open(endpoint: &Endpoint, folder: &Path, cancel: &Cancel) -> Result<Remote, RemoteError> {
        Remote::asked(endpoint, cancel, async |remote| probe::known(remote, folder).await).await
    }

    /// Like [`Remote::open`], but always probes the server, and stores the result.
    pub async fn probe(endpoint: &Endpoint, folder: &Path, cancel: &Cancel) -> Result<Remote, RemoteError> {
        Remote::asked(endpoint, cancel, async |remote| probe::anew(remote, folder).await).await
    }

    /// A server that computes vectors, with a sample vector: the one stored below `folder`, else a
    /// new one from the server.
    pub async fn open_embedder(
        endpoint: &Endpoint,
        folder: &Path,
        cancel: &Cancel,
    ) -> Result<(Remote, Sample), RemoteError> {
        let Some(sample) = Sample::kept(endpoint, folder) else {
            return Remote::probe_embedder(endpoint, folder, cancel).await;
        };
        let remote = Remote::asked(endpoint, cancel, async |_| Ok(Abilities::unknown(&sample.model))).await?;
        Ok((Remote { breaker: Breaker::of_embedder(), ..remote }, sample))
    }

    /// Like [`Remote::open_embedder`], but always asks, and stores the sample.
    pub async fn probe_embedder(
        endpoint: &Endpoint,
        folder: &Path,
        cancel: &Cancel,
    ) -> Result<(Remote, Sample), RemoteError> {
        let choose = async |remote: &mut Remote| Ok(Abilities::unknown(&server::choose(remote, true).await?.name));
        let remote = Remote::asked(endpoint, cancel, choose).await?;
        let remote = Remote { breaker: Breaker::of_embedder(), ..remote };
        let probe = [PROBE.to_owned()];
        let vector = tokio::select! {
            vectors = remote.embed(&probe) => vectors?.concat(),
            () = cancel.cancelled() => return Err(remote.error(Why::Cancelled)),
        };
        let sample = Sample { model: remote.can.model.clone(), vector };
        sample.keep(endpoint, folder);
        Ok((remote, sample))
    }

    async fn asked(
        endpoint: &Endpoint,
        cancel: &Cancel,
        find: impl AsyncFnOnce(&mut Remote) -> Result<Abilities, Why>,
    ) -> Result<Remote, RemoteError> {
        let fail = |why| RemoteError { url: endpoint.url().to_owned(), why };
        let key = endpoint.key.read().map_err(|why| fail(Why::Key(why)))?;
        let mut remote = Remote {
            endpoint: Arc::new(endpoint.clone()),
            key: key.map(Arc::from),
            can: Arc::new(Abilities::unknown("")),
            breaker: Breaker::default(),
            tokens: Tokens::default(),
            spent: Arc::default(),
        };
        let can = tokio::select! {
            can = find(&mut remote) => can.map_err(fail)?,
            () = cancel.cancelled() => return Err(fail(Why::Cancelled)),
        };
        remote.can = Arc::new(can);
        Ok(remote)
    }

    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The base URL, which contains no key.
    pub fn url(&self) -> &str {
        self.endpoint.url()
    }

    /// The model and its host, for display.
    pub fn name(&self) -> String {
        // llama-server names a model by the path of its file.
        let model = self.can.model.rsplit_once('/').filter(|(folder, _)| folder.starts_with('/'));
        format!("{} at {}", model.map_or(&*self.can.model, |(_, file)| file), self.endpoint.host())
    }

    pub fn abilities(&self) -> &Abilities {
        &self.can
    }

    /// Whether its model may think before answering.
    pub fn thinks(&self) -> bool {
        self.can.thinking != Switch::NeverThinks
    }

    /// An upper estimate of the tokens in a text, computed from its characters and corrected by the
    /// server's counts.
    pub fn tokens(&self, text: &str) -> usize {
        self.tokens.of(tokens::plain(text))
    }

    /// The cost of all answers so far.
    pub fn spent(&self) -> Spent {
        *lock(&self.spent)
    }

    /// Asks for a reply. Returns at once; needs the tokio runtime.
    pub fn chat(&self, ask: Ask) -> Reply {
        let remote = self.clone();
        Reply::start(self.url(), move |pieces| async move {
            let (ask, veil) = if remote.endpoint.mask { Veil::over(ask) } else { (ask, Veil::default()) };
            let ran = match remote.breaker.enter(Instant::now()) {
                Ok(()) => {
                    let ran = chat::run(&remote, (&ask, &veil), &pieces).await.map_err(|why| remote.error(why));
                    match &ran {
                        Ok(()) => remote.breaker.succeeded(),
                        Err(error) => remote.breaker.failed(error, Instant::now()),
                    }
                    ran
                }
                Err(why) => Err(remote.error(why)),
            };
            if let Err(error) = ran {
                // The receiver may be gone.
                let _ = pieces.send(Err(error)).await;
            }
        })
    }

    /// The vectors of texts, in the same order.
    pub async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, RemoteError> {
        self.breaker.enter(Instant::now()).map_err(|why| self.error(why))?;
        let embedded = self.in_batches(texts).await;
        match &embedded {
            Ok(_) => self.breaker.succeeded(),
            Err(error) => self.breaker.failed(error, Instant::now()),
        }
        embedded
    }

    async fn in_batches(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, RemoteError> {
        let mut all = Vec::with_capacity(texts.len());
        for batch in texts.chunks(BATCH) {
            let masked =
                |text: &String| if self.endpoint.mask { private::mask(text).into_owned() } else { text.clone() };
            let input: Vec<String> = batch.iter().map(masked).collect();
            let body = json!({ "model": self.can.model, "input": input, "encoding_format": "float" });
            let vectors = server::post(self, "embeddings", &body).await.and_then(|value| vectors(&value, batch.len()));
            all.extend(vectors.map_err(|why| self.error(why))?);
        }
        Ok(all)
    }

    fn error(&self, why: Why) -> RemoteError {
        RemoteError { url: self.url().to_owned(), why }
    }

    /// The abilities of the model, to be adapted for one request.
    fn can(&self) -> Abilities {
        (*self.can).clone()
    }

    fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// Text from the server, cleaned for a message.
    fn shown(&self, text: &str) -> String {
        said::shown(text, self.key())
    }

    /// The target of a redirection, without anything that may be secret.
    fn place(&self, location: &str) -> String {
        let url = url::Url::parse(location).or_else(|_| self.endpoint.of_api("").join(location));
        url.map_or_else(
            |_| "another place".to_owned(),
            |url| said::shown(&url.origin().ascii_serialization(), self.key()),
        )
    }

    /// Sends a request to a path of the common API.
    async fn send(&self, path: &str, body: Option<String>) -> Result<Answer, Failure> {
        self.send_to(&self.endpoint.of_api(path), body).await
    }

    /// Sends a request to a path outside the common API.
    async fn send_beside(&self, path: &str, body: Option<String>) -> Result<Answer, Failure> {
        self.send_to(&self.endpoint.of_server(path), body).await
    }

    async fn send_to(&self, url: &url::Url, body: Option<String>) -> Result<Answer, Failure> {
        let headers = self.headers().map_err(|why| Failure::Final(Why::Key(why)))?;
        let way = body.map_or(Way::Get, Way::Post);
        http::send(Sent { url, way, headers, silence: self.endpoint.silence }).await
    }

    /// The headers from models.toml, and the key.
    fn headers(&self) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.endpoint.headers {
            http::add_header(&mut headers, name, value)?;
        }
        if let Some(key) = self.key() {
            http::add_header(&mut headers, "authorization", &format!("Bearer {key}"))
                .map_err(|_| "the key is not printable ASCII".to_owned())?;
        }
        Ok(headers)
    }
}

/// The vectors in an answer to `embeddings`, in the order of the texts.
fn vectors(value: &Value, wanted: usize) -> Result<Vec<Vec<f32>>, Why> {
    let wrong = |what: String| Why::Unreadable(what);
    let data = value["data"].as_array().ok_or_else(|| wrong("it has no `data`".to_owned()))?;
    let mut all = vec![Vec::new(); wanted];
    for (at, one) in data.iter().enumerate() {
        let place = one["index"].as_u64().map_or(at, |index| index as usize);
        let vector = one["embedding"].as_array().into_iter().flatten();
        let vector: Vec<f32> = vector.filter_map(|number| Some(number.as_f64()? as f32)).collect();
        *all.get_mut(place).ok_or_else(|| wrong(format!("it has a vector {place} of only {wanted}")))? = vector;
    }
    let length = all.first().map_or(0, Vec::len);
    if length == 0 || all.iter().any(|vector| vector.len() != length || vector.iter().any(|one| !one.is_finite())) {
        return Err(wrong(format!("it does not have {wanted} vectors of equal length")));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_come_in_the_order_of_the_texts_and_none_may_be_missing() {
        let one = |index: usize, vector: Value| json!({ "index": index, "embedding": vector });
        let both = json!({ "data": [one(1, json!([0.5, 1])), one(0, json!([2, 3]))] });
        assert_eq!(vectors(&both, 2), Ok(vec![vec![2.0, 3.0], vec![0.5, 1.0]]));
        for wrong in [
            json!({}),
            json!({ "data": [one(0, json!([1]))] }),
            json!({ "data": [one(0, json!([1])), one(7, json!([1]))] }),
            json!({ "data": [one(0, json!([1])), one(1, json!([1, 2]))] }),
            json!({ "data": [one(0, json!([])), one(1, json!([]))] }),
        ] {
            assert!(vectors(&wrong, 2).is_err(), "{wrong}");
        }
    }
}
