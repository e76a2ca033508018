//! A configured server during a session: started or connected to on demand, restarted a limited
//! number of times, called with deadlines.

use std::fs;
use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, Mutex as Guarded};
use std::time::{Duration, Instant, SystemTime};

use rmcp::model::Tool;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use tokio::sync::Mutex;

use super::connection::Connection;
use super::offers::{self, Filled, Offers, Read};
use super::{Setup, consent_line, describe, start};
use crate::base::{file, hex, lock};
use crate::config::{Commands, Server as Configured};
use crate::models::dialect::RawCall;
use crate::remote::consent;
use crate::remote::oauth::Kept;
use crate::tools::Outcome;
use crate::tools::call::check::check;
use crate::tools::sandbox;
use crate::tools::spec::ToolSpec;

/// Maximum number of starts within [`WINDOW`], which bounds the cost of a server that keeps
/// crashing.
const STARTS_MAX: usize = 4;
const WINDOW: Duration = Duration::from_secs(600);

/// Maximum number of timeouts that a call may last, if the server reports progress in each.
const PROGRESS_MAX: u32 = 10;

/// Maximum age of a tool list; an older one is requested again before planning.
pub const AGE_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// Maximum size of a tool list read from disk.
const LIST_MAX_BYTES: u64 = 8 << 20;

pub struct Server {
    pub config: Configured,
    setup: Arc<Setup>,
    /// The file with its cached tool list, so that planning need not start it.
    cache: PathBuf,
    /// Locked while the server starts, so that two calls do not start it twice.
    state: Mutex<State>,
    /// The same connection, which can be ended without waiting for `state`.
    live: Guarded<Option<Arc<Connection>>>,
}

#[derive(Default)]
struct State {
    starts: Vec<Instant>,
    /// When the user had signed in at the last of them.
    since_s: Option<u64>,
    connection: Option<Arc<Connection>>,
    /// The tools that the running server lists.
    tools: Vec<ToolSpec>,
    notes: Vec<String>,
}

impl Server {
    pub fn new(config: Configured, setup: &Arc<Setup>) -> Server {
        let (cache, setup) = (cache_file(&setup.cache, &config), setup.clone());
        Server { config, setup, cache, state: Mutex::default(), live: Guarded::default() }
    }

    /// The reason why nothing may be sent to its URL; `None` for a server that is started here, and
    /// for a URL to which the user has consented.
    pub fn barred(&self) -> Option<String> {
        let url = self.config.url.as_ref()?;
        if self.setup.offline {
            return Some(format!("--offline is on, so nothing is sent to {url}; leave it out to use this server"));
        }
        let is_allowed = consent::given(&self.setup.consents, &consent_line(url));
        (!is_allowed).then(|| {
            let named = if self.config.is_passed { url.to_string() } else { self.config.name.clone() };
            format!(
                "you have not yet allowed sending to {url}; `monobloc mcp allow {named}` shows what is sent, and asks"
            )
        })
    }

    /// Whether there is a file with a token for its URL.
    pub fn is_signed_in(&self) -> bool {
        self.config.url.as_ref().is_some_and(|url| Kept::file(&self.setup.tokens, url).exists())
    }

    /// When the user signed in, in seconds since 1970; a renewal does not change it.
    fn signed_in_since_s(&self) -> Option<u64> {
        Some(Kept::read(&self.setup.tokens, self.config.url.as_ref()?).ok()??.since_s)
    }

    pub fn cached(&self) -> Option<(Vec<ToolSpec>, Duration)> {
        let meta = fs::metadata(&self.cache).ok().filter(|meta| meta.len() <= LIST_MAX_BYTES)?;
        let age = SystemTime::now().duration_since(meta.modified().ok()?).unwrap_or_default();
        Some((file::read_json(&self.cache)?, age))
    }

    /// Stores the tool list of the running server, also on disk.
    fn take(&self, state: &mut State, listed: Vec<Tool>, about: &str) {
        (state.tools, state.notes) = describe::tools(listed, about, &self.config);
        if let Err(error) = file::replace_json(&self.cache, &state.tools) {
            // Without the file, the next run simply starts the server.
            tracing::warn!(%error, place = %self.cache.display(), "a tool list could not be stored");
        }
    }

    /// The server's tools and notes on those left out; starts the server if needed.
    pub async fn tools(&self) -> Result<(Vec<ToolSpec>, Vec<String>), String> {
        let mut state = self.state.lock().await;
        self.running(&mut state).await?;
        Ok((state.tools.clone(), state.notes.clone()))
    }

    /// Runs one call with a deadline. If the server fails, the next call starts it again.
    pub async fn call(&self, tool: &str, arguments: Map<String, Value>) -> Result<Outcome, String> {
        let named = |why: String| self.named(&why);
        let (connection, spec) = {
            let mut state = self.state.lock().await;
            let connection = self.running(&mut state).await.map_err(named)?;
            let full = format!("{}.{tool}", self.config.name);
            (connection, state.tools.iter().find(|spec| spec.name == full).cloned())
        };
        let Some(spec) = spec else { return Err(named(format!("it no longer offers a tool `{tool}`"))) };
        // The arguments to which the user consented are sent unchanged or not at all.
        let raw = RawCall { name: spec.name.clone(), arguments: arguments.clone() };
        let checked = check(&raw, std::slice::from_ref(&spec)).map_err(|problem| problem.to_string())?;
        if let Some(repair) = checked.repairs.first().filter(|_| checked.call.arguments != arguments) {
            return Err(format!("the arguments do not fit the current `{}`: {repair}", spec.name));
        }
        let response = self.within(&connection, connection.call(tool, arguments)).await.map_err(named)?;
        let read = tokio::task::spawn_blocking(move || describe::outcome(response));
        let outcome = read.await.map_err(|lost| named(format!("its result was lost: {lost}")))?;
        let hint = if outcome.is_ok() { String::new() } else { start::hint(&self.config, &outcome.text) };
        Ok(Outcome { text: outcome.text + &hint, ..outcome })
    }

    /// Waits for `work` on a connection up to the timeout of a call, which starts again when the
    /// server reports progress. A failed connection is closed, and the next call opens a new one.
    async fn within<T>(
        &self,
        connection: &Connection,
        work: impl Future<Output = Result<T, String>>,
    ) -> Result<T, String> {
        let (deadline, mut told) = (self.config.timeout, connection.progress());
        let mut work = std::pin::pin!(work);
        for times in 1..=PROGRESS_MAX {
            if let Ok(done) = tokio::time::timeout(deadline, work.as_mut()).await {
                if done.is_err() && !connection.is_alive() {
                    connection.end().await;
                }
                return done;
            }
            let now = connection.progress();
            if now == told || times == PROGRESS_MAX {
                // The server may hang forever.
                connection.end().await;
                let (seconds, ended) = (deadline.as_secs() * u64::from(times), self.ended());
                return Err(format!("it did not answer within {seconds} s and {ended}; raise timeout_s"));
            }
            told = now;
        }
        Err("it was given no time; this is a bug in tools/mcp".to_owned())
    }

    async fn connected(&self) -> Result<Arc<Connection>, String> {
        let mut state = self.state.lock().await;
        self.running(&mut state).await
    }

    /// Its resources and prompts.
    pub async fn offers(&self) -> Result<Offers, String> {
        let connection = self.connected().await?;
        let name = &self.config.name;
        let list = async {
            let (resources, templates) = connection.resources().await?;
            Ok(Offers::of(name, resources, templates, connection.prompts().await?))
        };
        self.within(&connection, list).await
    }

    /// The texts and pictures of a resource.
    pub async fn read(&self, uri: &str) -> Result<Read, String> {
        let (connection, name) = (self.connected().await?, format!("@{}:{uri}", self.config.name));
        self.within(&connection, connection.read(uri, &name)).await
    }

    /// The text of a prompt, with its arguments in the form that the user wrote after its name.
    pub async fn prompt(&self, name: &str, words: &str) -> Result<Filled, String> {
        let connection = self.connected().await?;
        let fill = async {
            let all = Offers::of(&self.config.name, Vec::new(), Vec::new(), connection.prompts().await?).prompts;
            let Some(prompt) = all.iter().find(|one| one.name == name) else {
                return Err(offers::no_prompt(name, &all));
            };
            connection.prompt(name, prompt.filled(words)?).await
        };
        self.within(&connection, fill).await
    }

    /// An error message with the name of the server.
    pub fn named(&self, why: &str) -> String {
        format!("the server `{}` failed: {why}", self.config.name)
    }

    /// Describes for an error message how the server was ended at a deadline.
    fn ended(&self) -> &'static str {
        if self.config.url.is_some() { "its connection was closed" } else { "was ended" }
    }

    /// A working connection; starts or connects to the server if there is none.
    async fn running(&self, state: &mut State) -> Result<Arc<Connection>, String> {
        if let Some(why) = self.barred() {
            return Err(why);
        }
        if let Some(connection) = state.connection.clone().filter(|connection| connection.is_alive()) {
            if connection.take_changed() {
                self.list_again(state, &connection).await?;
            }
            return Ok(connection);
        }
        if let Some(old) = state.connection.take() {
            old.kill();
        }
        let since_s = self.signed_in_since_s();
        if state.since_s != since_s {
            // The earlier starts may have failed for want of this sign-in.
            (state.since_s, state.starts) = (since_s, Vec::new());
        }
        state.starts.retain(|start| start.elapsed() < WINDOW);
        if state.starts.len() >= STARTS_MAX {
            let (times, minutes) = (state.starts.len(), WINDOW.as_secs() / 60);
            let begun = if self.config.url.is_some() { "connected to" } else { "started" };
            return Err(format!("it was {begun} {times} times in {minutes} minutes and is not {begun} again yet"));
        }
        state.starts.push(Instant::now());
        let limit = self.config.start_timeout;
        let start = async {
            let connection = Arc::new(Connection::open(&self.config, &self.setup).await?);
            // From now on `end` and `kill` can reach it.
            *lock(&self.live) = Some(connection.clone());
            let listed = connection.tools().await;
            if listed.is_err() {
                connection.kill();
            }
            Ok::<_, String>((listed?, connection))
        };
        let started = tokio::time::timeout(limit, start).await;
        let (listed, connection) = started.unwrap_or_else(|_| {
            self.kill();
            let fetches = start::hint_when_late(&self.config);
            let ended = self.ended();
            Err(format!("it was not ready within {} s and {ended}; raise start_timeout_s{fetches}", limit.as_secs()))
        })?;
        self.take(state, listed, &connection.about());
        let limits = Commands { confined: self.config.confined, ..self.setup.limits.clone() };
        let unconfined = sandbox::unconfined(&limits).filter(|_| limits.confined && self.config.url.is_none());
        state.notes.extend(unconfined.map(|why| format!("the server `{}` is not confined: {why}", self.config.name)));
        state.connection = Some(connection.clone());
        Ok(connection)
    }

    /// Lists the tools again after the running server has announced a change.
    async fn list_again(&self, state: &mut State, connection: &Connection) -> Result<(), String> {
        let limit = self.config.start_timeout;
        let listed = tokio::time::timeout(limit, connection.tools()).await;
        let listed = listed.unwrap_or_else(|_| {
            Err(format!(
                "its new tools were not listed within {} s and {}; raise start_timeout_s",
                limit.as_secs(),
                self.ended()
            ))
        });
        let listed = listed.inspect_err(|_| connection.kill())?;
        self.take(state, listed, &connection.about());
        Ok(())
    }

    /// Lists the tools of a running server again if it has announced a change; returns whether it
    /// had.
    pub async fn refreshed(&self) -> bool {
        let mut state = self.state.lock().await;
        let Some(connection) = state.connection.clone().filter(|connection| connection.is_alive()) else {
            return false;
        };
        connection.take_changed() && self.list_again(&mut state, &connection).await.is_ok()
    }

    /// Ends the server, which has half a second to exit by itself.
    pub async fn end(&self) {
        let live = lock(&self.live).take();
        if let Some(connection) = live {
            connection.end().await;
        }
    }

    pub fn kill(&self) {
        if let Some(connection) = lock(&self.live).take() {
            connection.kill();
        }
    }
}

/// The cache file for a server's list. Its name contains a hash of the settings, so that changed
/// settings use another file.
fn cache_file(folder: &std::path::Path, server: &Configured) -> PathBuf {
    let Configured { name, command, url, headers, args, env, inherit, dir, tools, about, .. } = server;
    let mut settings = format!("{:?}", (command, args, env, inherit, dir, tools, about));
    if url.is_some() {
        settings.push_str(&format!("{:?}", (url, headers)));
    }
    folder.join(format!("{name}-{}.json", hex(&Sha256::digest(settings.as_bytes())[..8])))
}
