//! The resources of a turn: models by role, tools, the project's index, and a meter of its cost.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::base::{Cancel, ConversationId, lock};
use crate::config::{Bounds, Cognitive, Think, TurnTime, Voice};
use crate::embed::{Embedder, Purpose};
use crate::engine::pool::{Leased, Pool, PoolError};
use crate::engine::{EngineError, Request, Sampling, Tally, Thinking};
use crate::index::{Index, IndexError};
use crate::language::clauses::Part;
use crate::models::Role;
use crate::protocol::{BudgetReport, CallCost, Event, Exchange, Given, Mode, Usage};
use crate::remote::RemoteError;
use crate::tools::builtin::Builtin;
use crate::tools::{Catalog, Context, Prefilter, Ranked, ToolSpec};

use crate::request::forms::{self, Project};

use super::Host;
use super::budget::thought::{self, LONG_ANSWER};
use super::lead::Notes;
use super::player::{Player, Remotes};
use super::recovery::Way;

/// Everything that a turn may use. Cheap to clone.
#[derive(Clone)]
pub struct Toolkit {
    pub pool: Pool,
    /// The role whose model works as the planner in this turn.
    pub picked: Role,
    pub embedder: Option<Embedder>,
    pub catalog: Arc<Catalog>,
    /// Built once per catalogue and shared by all requests.
    pub prefilter: Arc<Prefilter>,
    /// `None` when only tools are evaluated.
    pub index: Option<Arc<Index>>,
    pub context: Option<Context>,
    pub tools_offered: usize,
    pub orchestrate: bool,
    /// Whether a leading model ends with a report of six sections.
    pub report: bool,
    /// Maximum number of iterations of the single-model loop; `None` for the model's recommended
    /// number.
    pub iterations_max: Option<usize>,
    /// How much time a turn may take.
    pub time: TurnTime,
    /// The limits of a turn other than its time.
    pub bounds: Bounds,
    pub mode: Mode,
    pub cognitive: Cognitive,
    /// How much models think in this conversation; `None` for each model's own setting.
    pub think: Option<Think>,
    /// Texts that the user handed over with the request.
    pub given: Vec<Given>,
    pub conversation: ConversationId,
    /// The turns of the conversation before this one, oldest first.
    pub earlier: Vec<Exchange>,
    pub cancel: Cancel,
    pub meter: Meter,
    /// The servers that fill roles.
    pub remotes: Remotes,
    /// The leading model's notes on turns that are no longer in its prompt.
    pub notes: Notes,
    /// How the planner's role is filled, after model errors in this turn.
    pub way: Way,
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum TurnError {
    #[error("cancelled")]
    Cancelled,
    /// The user skipped a step.
    #[error("skipped by you")]
    Skipped,
    #[error(transparent)]
    Pool(#[from] PoolError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Remote(#[from] RemoteError),
    #[error("nothing is sent to {url}: {why}. Say yes when asked, or add the server with `monobloc models add {url}`")]
    NotSent { url: String, why: String },
    /// A resource or prompt of an MCP server, named in the request, could not be fetched.
    #[error("{0}")]
    NotFetched(String),
    #[error("a background task of this turn was lost: {0}")]
    Lost(String),
}

impl From<IndexError> for TurnError {
    fn from(error: IndexError) -> TurnError {
        TurnError::Lost(error.to_string())
    }
}

impl Toolkit {
    /// Where a request's paths and symbols are looked up.
    pub fn project(&self) -> Project<'_> {
        Project { index: self.index.as_deref(), root: self.context.as_ref().map(|context| context.root.path()) }
    }

    /// The built-in tool that a clause asks for by its form.
    pub fn tool_for(&self, part: &Part) -> Option<Builtin> {
        forms::asked(part, forms::symbol_of(self.index.as_deref(), part).as_deref())
    }

    /// The model of `role`, loaded now if necessary; progress is reported to the host.
    pub(super) async fn load(&self, role: Role, host: &dyn Host) -> Result<Leased, TurnError> {
        if let Some(leased) = self.pool.resident(role) {
            return Ok(leased);
        }
        let (pool, cancel) = (self.pool.clone(), self.cancel.clone());
        let (shares, mut progress) = tokio::sync::mpsc::unbounded_channel();
        let load = tokio::task::spawn_blocking(move || {
            let mut reported = f32::NEG_INFINITY;
            pool.lease(role, move |file, share| {
                if share - reported >= SHARE_STEP || share >= 1.0 {
                    reported = share;
                    // An error means that nobody receives the progress any longer.
                    let _ = shares.send((file.to_owned(), share));
                }
                !cancel.is_cancelled()
            })
        });
        while let Some((file, share)) = progress.recv().await {
            host.emit(Event::ModelLoading { role: role.to_string(), file, share });
        }
        let loaded = load.await.map_err(|error| TurnError::Lost(error.to_string()))?;
        if self.cancel.is_cancelled() {
            return Err(TurnError::Cancelled);
        }
        let loaded = loaded?;
        if let Some(rung) = &loaded.rung {
            host.notice(&format!("{role}: {rung}, because memory is short"));
        }
        Ok(loaded)
    }

    /// Maximum number of tokens of a prompt and its answer together, in the turn's current way.
    pub fn context_of(&self, model: &Player) -> usize {
        self.way.of_context(model.context())
    }

    /// The role whose model works as the planner, in the turn's current way.
    pub fn planner(&self) -> Role {
        self.role(Role::Planner)
    }

    /// The role whose model fills `role` in this turn.
    pub fn role(&self, role: Role) -> Role {
        self.way.plays(if role == Role::Planner { self.picked } else { role })
    }

    /// The role that writes answers and judges drafts.
    pub fn voice(&self) -> Role {
        match self.cognitive.model {
            Voice::Planner => Role::Planner,
            Voice::Router => Role::Router,
        }
    }

    /// The sampling for free text. Text inside a grammar is greedy.
    pub fn manner(&self, player: &Player) -> Sampling {
        let (manner, think) = player.manner();
        if self.thinks(think) == Think::Off { manner.silent } else { manner.thinking }
    }

    /// `Some(false)`, the template's own switch, if the model must answer without thinking.
    pub fn switch(&self, player: &Player) -> Option<bool> {
        (self.thinks(player.manner().1) == Think::Off).then_some(false)
    }

    /// How much a model may think in this conversation; `own` is the model's own setting.
    pub(super) fn thinks(&self, own: Think) -> Think {
        if self.cognitive.cot { self.think.unwrap_or(own) } else { Think::Off }
    }

    /// The request with a limit on the thinking before its answer. A short answer in a grammar (a
    /// plan, a name, a verdict) gets no thinking.
    pub(super) fn limited(&self, model: &Leased, request: Request) -> Request {
        let is_worth_it = request.grammar.is_none() || request.max_tokens >= LONG_ANSWER;
        let think = if is_worth_it { self.thinks(model.think) } else { Think::Off };
        let (spent, context) = (self.meter.thought(), model.engine.limits().context);
        let tokens_max = thought::tokens(think, model.speed, spent, context);
        let (sampling, last_words) = (model.manner.thinking, model.last_words);
        model.engine.limited(request, Thinking { tokens_max, counts: false, sampling, last_words })
    }

    /// The same toolkit with other tools to choose from; none of them can be executed.
    pub async fn offering(&self, catalog: Catalog) -> Result<Toolkit, TurnError> {
        let (embedder, cancel) = (self.embedder.clone(), self.cancel.clone());
        let made = tokio::task::spawn_blocking(move || {
            let prefilter = Prefilter::embedded(catalog.specs(), embedder.as_ref(), &cancel);
            prefilter.map(|prefilter| (Arc::new(catalog), Arc::new(prefilter)))
        });
        let lost = |error: String| TurnError::Lost(format!("the tools could not be embedded: {error}"));
        let (catalog, prefilter) =
            made.await.map_err(|error| lost(error.to_string()))?.map_err(|error| lost(error.to_string()))?;
        Ok(Toolkit { catalog, prefilter, ..self.clone() })
    }

    /// The MCP tools that may do what `text` asks for, best first; none if a built-in tool fits
    /// better.
    pub async fn server_tools(&self, text: &str) -> Vec<Ranked> {
        let specs = self.catalog.specs();
        let is_of_server = |spec: &ToolSpec| !self.catalog.is_builtin(&spec.name);
        if !specs.iter().any(is_of_server) {
            return Vec::new();
        }
        let is_theirs = |one: &Ranked| specs.get(one.index).is_some_and(is_of_server);
        let mut ranked = self.ranked(text, specs.len()).await;
        if !ranked.first().is_some_and(is_theirs) {
            return Vec::new();
        }
        ranked.retain(is_theirs);
        ranked
    }

    /// The tools that retrieval ranks best for `text`, at most `most` of them.
    pub async fn ranked(&self, text: &str, most: usize) -> Vec<Ranked> {
        let vector = self.vector(&self.prefilter.without_values(text)).await;
        self.prefilter.select(text, vector.as_deref(), most)
    }

    /// The vector of `text`, a query, or `None` without an embedder (retrieval is then lexical
    /// only).
    pub async fn vector(&self, text: &str) -> Option<Vec<f32>> {
        let embedder = self.embedder.clone()?;
        let (text, cancel) = (text.to_owned(), self.cancel.clone());
        let vectors =
            tokio::task::spawn_blocking(move || embedder.embed(&[text], Purpose::Query, &cancel)).await.ok()?;
        match vectors {
            Ok(vectors) => vectors.into_iter().next(),
            Err(error) => {
                tracing::warn!(%error, "no vector: retrieval is lexical only");
                None
            }
        }
    }
}

/// Load progress is reported in steps of at least this share; llama.cpp reports every tensor.
const SHARE_STEP: f32 = 0.05;

/// Adds up the cost of model calls. Clones share one total.
#[derive(Clone)]
pub struct Meter {
    usage: Arc<Mutex<Usage>>,
    /// Time spent on thinking.
    thought_ms: Arc<AtomicU64>,
    started: Instant,
}

impl Meter {
    pub fn start() -> Meter {
        Meter { usage: Arc::default(), thought_ms: Arc::default(), started: Instant::now() }
    }

    /// Adds a call of the model with this role and name; `server` is set for a model on a server.
    pub(super) fn note(
        &self,
        (role, model, server): (Role, &str, Option<String>),
        phase: &str,
        tally: &Tally,
        system_tokens: usize,
    ) {
        let share = tally.thought_tokens as f64 / tally.generated_tokens.max(1) as f64;
        self.thought_ms.fetch_add((tally.decode_ms as f64 * share) as u64, Ordering::Relaxed);
        let mut usage = lock(&self.usage);
        usage.model_calls += usize::from(tally.generated_tokens > 0);
        usage.prompt_tokens += tally.prompt_tokens;
        usage.cached_tokens += tally.cached_tokens;
        usage.generated_tokens += tally.generated_tokens;
        usage.calls.push(CallCost {
            role: role.to_string(),
            model: model.to_owned(),
            server,
            phase: phase.to_owned(),
            prompt_tokens: tally.prompt_tokens,
            cached_tokens: tally.cached_tokens,
            system_tokens,
            generated_tokens: tally.generated_tokens,
            guessed_tokens: tally.guessed_tokens,
            queue_ms: tally.queue_ms,
            prompt_ms: tally.prompt_ms,
            decode_ms: tally.decode_ms,
        });
    }

    /// Time spent on thinking so far.
    pub(super) fn thought(&self) -> Duration {
        Duration::from_millis(self.thought_ms.load(Ordering::Relaxed))
    }

    /// Tokens read and written so far.
    pub fn tokens(&self) -> usize {
        let usage = lock(&self.usage);
        usage.prompt_tokens + usage.generated_tokens
    }

    /// All costs so far, with the time since [`Meter::start`].
    pub fn usage(&self) -> Usage {
        let usage = lock(&self.usage).clone();
        let budget = BudgetReport::of(&usage.calls);
        Usage { wall_ms: self.started.elapsed().as_millis() as u64, budget, ..usage }
    }
}
