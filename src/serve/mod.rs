//! `monobloc serve`: provides the models and the agent to other programs through APIs, on this machine only.
//!
//! Every protocol (`wire/`) is read into an [`ask::Ask`] and written from the [`reply::Delta`]s of
//! a [`reply::Reply`]; the engine does the rest. `guard` decides which clients are served, `http`
//! how many at a time. `page` is the web page, with its own API.

mod about;
mod agent;
mod ask;
mod generate;
mod guard;
mod held;
mod http;
mod page;
mod passed;
mod problem;
mod prompt;
mod reply;
mod stop;
mod token;
mod wire;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use axum::routing::{get, post};
use tokio::sync::OnceCell;

use self::about::Counts;
use self::agent::Agent;
use self::ask::{Ask, Model};
use self::generate::ModelReply;
use self::guard::Guard;
use self::page::Page;
use self::passed::{Failed, Passed};
use self::problem::{Kind, Problem};
use self::reply::Reply;
use self::token::Token;
use crate::agent::TurnError;
use crate::agent::player::Away;
use crate::app::App;
use crate::base::Cancel;
use crate::embed::Embedder;
use crate::engine::Request;
use crate::engine::pool::{Leased, Pool, PoolError};
use crate::models::dialect::Prompt;
use crate::models::{ModelSpec, Picture, Registry, Role};

/// The address to listen on, and the file that holds the secret.
#[derive(Clone, Debug)]
pub struct Options {
    /// A loopback address; port 0 selects a free one.
    pub listen: SocketAddr,
    pub token_file: PathBuf,
}

/// A server that answers requests.
pub struct Ready {
    pub address: SocketAddr,
    /// The address of the page with its key, which is a secret: anyone who has it can approve tool
    /// calls.
    pub page: String,
}

/// Serves until the app's cancel flag is set; `ready` is called once requests are answered.
pub async fn run(server: Server, options: &Options, ready: impl FnOnce(Ready)) -> Result<()> {
    let (token, key) = (Token::of(&options.token_file)?, Token::fresh()?);
    let cancel = server.inner.app.cancel.clone();
    let listener = http::listen(options.listen).await?;
    let address = listener.local_addr()?;
    // The key is in the fragment, which browsers do not send.
    let page = format!("http://{address}/#key={}", key.text());
    let router = router(server, Guard::new(token, key, address)?);
    ready(Ready { address, page });
    http::serve(listener, router, &cancel).await;
    Ok(())
}

fn router(server: Server, guard: Guard) -> Router {
    Router::new()
        .route("/health", get(about::health))
        .route("/metrics", get(about::metrics))
        .route("/props", get(about::props))
        .route("/v1/models", get(about::models))
        .route("/v1/models/{name}", get(about::model))
        .route("/v1/chat/completions", post(wire::chat::create))
        .route("/v1/completions", post(wire::completions::create))
        .route("/v1/embeddings", post(wire::embeddings::create))
        .route("/v1/responses", post(wire::responses::create))
        .route("/v1/messages", post(wire::messages::create))
        .route("/v1/messages/count_tokens", post(wire::messages::count_tokens))
        .route("/api/enter", post(guard::enter).with_state(guard.clone()))
        .merge(page::router())
        .fallback(about::unknown)
        // The guard has already read the body within its own limit.
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(guard, guard::check))
        .with_state(server)
}

/// The state shared by all requests and by clones.
#[derive(Clone)]
pub struct Server {
    inner: Arc<Inner>,
}

struct Inner {
    app: App,
    registry: Registry,
    pool: Pool,
    agent: Agent,
    page: Page,
    embedder: Arc<OnceCell<Embedder>>,
    counts: Counts,
    started: Instant,
}

impl Server {
    /// Reads only the headers of the model files.
    pub fn new(app: App) -> Result<Server> {
        let registry = app.registry()?;
        let pool = app.pool(registry.clone());
        Ok(Server::with(app, registry, pool))
    }

    /// The same with the given models, for behaviour tests.
    pub fn with(app: App, registry: Registry, pool: Pool) -> Server {
        let embedder = Arc::new(OnceCell::new());
        let agent = Agent::new(app.clone(), pool.clone(), embedder.clone());
        let page = Page::default();
        let (counts, started) = (Counts::default(), Instant::now());
        Server { inner: Arc::new(Inner { app, registry, pool, agent, page, embedder, counts, started }) }
    }

    /// The model that a client names: by role, as `agent`, or by the role's file with or without
    /// extension.
    pub fn model(&self, name: &str) -> Result<Model, Problem> {
        match name {
            "planner" => Ok(Model::Planner),
            "router" => Ok(Model::Router),
            "agent" => Ok(Model::Agent),
            _ => [(Role::Planner, Model::Planner), (Role::Router, Model::Router)]
                .into_iter()
                .find(|(role, _)| self.spec(*role).is_ok_and(|spec| is_named(spec, name)))
                .map(|(_, model)| model)
                .ok_or_else(|| unknown_model(name)),
        }
    }

    fn spec(&self, role: Role) -> Result<&ModelSpec, Problem> {
        self.inner.registry.get(role).map_err(|error| Problem::new(Kind::Unavailable, error.to_string()))
    }

    pub async fn reply(&self, ask: Ask) -> Result<Reply, Problem> {
        let ask = ask.checked()?;
        match role(ask.model) {
            Some(role) => match self.passed(&ask, role).await? {
                Some(reply) => Ok(reply),
                None => self.start(&ask, role, |model| prompt::request(&ask, model)).await,
            },
            None => Ok(Reply::Turn(Box::new(self.inner.agent.reply(&ask).await?))),
        }
    }

    /// Starts continuing the raw text `prompt`, in which names of control tokens count.
    pub async fn complete(&self, ask: Ask, text: String) -> Result<Reply, Problem> {
        let ask = ask.checked()?;
        let Some(role) = role(ask.model) else {
            return Err(Problem::invalid("model", "the agent only supports conversations; use /v1/chat/completions"));
        };
        if self.away(role).await?.is_some() {
            let text = format!(
                "the {role} is played by a server, which does not continue raw prompts; use /v1/chat/completions"
            );
            return Err(Problem::invalid("prompt", text));
        }
        let raw = |model: &Leased| model.engine.request(&Prompt::default().special(text), 0);
        self.start(&ask, role, |model| prompt::plain(&ask, model, raw(model))).await
    }

    /// The server that currently fills a role. The user must already have consented, because nobody
    /// can be asked here.
    async fn away(&self, role: Role) -> Result<Option<Arc<Away>>, TurnError> {
        let Inner { app, pool, .. } = &*self.inner;
        match app.remotes().unasked(role, pool, &app.cancel).await {
            Err(why) if app.remotes().gives_way(role, pool, &why) => {
                tracing::warn!(%why, "a model of this process plays the {role} instead");
                Ok(None)
            }
            away => away,
        }
    }

    /// The answer of the server that fills a role; `None` if a model in this process fills it or
    /// must take over.
    async fn passed(&self, ask: &Ask, role: Role) -> Result<Option<Reply>, Problem> {
        let Some(away) = self.away(role).await? else { return Ok(None) };
        let Inner { app, pool, counts, .. } = &*self.inner;
        self.prepare(&ask.pictures).await?;
        match Passed::start(ask, &away, counts.clone()).await {
            Ok(passed) => Ok(Some(Reply::Passed(Box::new(passed)))),
            Err(Failed::Problem(problem)) => Err(problem),
            Err(Failed::Remote(error)) => {
                let why = TurnError::Remote(error);
                if !app.remotes().gives_way(role, pool, &why) {
                    return Err(why.into());
                }
                tracing::warn!(%why, "a model of this process plays the {role} instead");
                Ok(None)
            }
        }
    }

    async fn start(&self, ask: &Ask, role: Role, request: impl FnOnce(&Leased) -> Request) -> Result<Reply, Problem> {
        let model = self.lease(role).await?;
        self.open_eyes(ask, &model).await?;
        // Tokenising a body of many MiB takes a while; other requests continue meanwhile.
        let request = tokio::task::block_in_place(|| request(&model));
        Ok(Reply::Model(Box::new(ModelReply::start(ask, model, request, self.inner.counts.clone())?)))
    }

    /// Whether clients may use this name for the embedder: `embedder`, the name of its folder or
    /// file, or a common default name in clients.
    pub fn is_embedder(&self, name: &str) -> bool {
        let is_own = |own: &str| own == name || own.strip_suffix(".gguf").is_some_and(|stem| stem == name);
        let embedder = self.inner.registry.embedder();
        name == "embedder" || name.starts_with("text-embedding-") || embedder.is_some_and(|spec| is_own(&spec.name))
    }

    pub async fn count(&self, ask: &Ask) -> Result<usize, Problem> {
        let role = role(ask.model).unwrap_or(Role::Planner);
        if let Some(away) = self.away(role).await? {
            return Ok(passed::count(ask, &away));
        }
        let model = self.lease(role).await?;
        self.open_eyes(ask, &model).await?;
        let silent = !prompt::thinks(ask, &model);
        Ok(tokio::task::block_in_place(|| model.engine.tokenize(&prompt::prompt(ask, &model.dialect, silent)).len()))
    }

    /// The model file of `role`, loaded if necessary.
    async fn lease(&self, role: Role) -> Result<Leased, Problem> {
        if let Some(leased) = self.inner.pool.resident(role) {
            return Ok(leased);
        }
        let (pool, cancel) = (self.inner.pool.clone(), self.inner.app.cancel.clone());
        let load = tokio::task::spawn_blocking(move || pool.lease(role, move |_, _| !cancel.is_cancelled()));
        Ok(load.await.map_err(Problem::failed)??)
    }

    /// Loads the model's projector if the request contains pictures.
    async fn open_eyes(&self, ask: &Ask, model: &Leased) -> Result<(), Problem> {
        if ask.pictures.is_empty() {
            return Ok(());
        }
        let (pool, model, cancel) = (self.inner.pool.clone(), model.clone(), self.inner.app.cancel.clone());
        let opened = tokio::task::spawn_blocking(move || pool.see(&model, &mut || !cancel.is_cancelled()));
        opened.await.map_err(Problem::failed)?.map_err(unseen)
    }

    /// Prepares pictures for a server.
    async fn prepare(&self, pictures: &[Picture]) -> Result<(), Problem> {
        if pictures.is_empty() {
            return Ok(());
        }
        let (pool, pictures) = (self.inner.pool.clone(), pictures.to_vec());
        let ready = tokio::task::spawn_blocking(move || pictures.iter().try_for_each(|one| pool.prepare(one)));
        ready.await.map_err(Problem::failed)?.map_err(unseen)
    }

    async fn embedder(&self) -> Result<Embedder, Problem> {
        loaded(&self.inner.embedder, &self.inner.app).await
    }
}

/// The embedder, loaded on the first call.
async fn loaded(cell: &OnceCell<Embedder>, app: &App) -> Result<Embedder, Problem> {
    let load = || async {
        let app = app.clone();
        let loaded = tokio::task::spawn_blocking(move || app.embedder(&app.registry().map_err(|why| why.to_string())?));
        loaded.await.map_err(Problem::failed)?.map_err(|why| Problem::new(Kind::Unavailable, why))
    };
    cell.get_or_try_init(load).await.cloned()
}

/// The problem if pictures cannot be read; a request that can be corrected is the client's fault.
fn unseen(error: PoolError) -> Problem {
    match &error {
        PoolError::Blind { .. } | PoolError::Picture(_) => Problem::invalid("messages", error.to_string()),
        _ => error.into(),
    }
}

/// Ends work on another thread when its client disconnects.
struct CancelOnDrop(Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

fn role(model: Model) -> Option<Role> {
    match model {
        Model::Planner => Some(Role::Planner),
        Model::Router => Some(Role::Router),
        Model::Agent => None,
    }
}

fn is_named(spec: &ModelSpec, name: &str) -> bool {
    let is = |part: Option<&std::ffi::OsStr>| part.is_some_and(|part| part == name);
    is(spec.path.file_name()) || is(spec.path.file_stem())
}

fn unknown_model(name: &str) -> Problem {
    let text = format!("there is no model `{name}`; /v1/models lists them: planner, router, embedder, agent");
    Problem { field: Some("model"), ..Problem::new(Kind::NotFound, text) }
}
