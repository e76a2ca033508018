//! Tools of other programs over the Model Context Protocol (MCP), from servers that the user
//! configured as child processes or by URL.
//!
//! Servers are not trusted. Their hints about tools never spare the user a question, and their
//! schemas, results and output are bounded. A child process runs in the sandbox like a command,
//! with deadlines, and its process group ends with the session. Nothing is sent to a URL before the
//! user has consented to it once, and the sandbox does not limit the effects of a server at a URL.

mod bounded;
mod connection;
mod describe;
mod http;
mod login;
pub mod offers;
mod process;
mod server;
mod start;

use crate::base::lock;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinSet;

use crate::base::Cancel;
use crate::config::{Address, Commands, Server as Configured};
use crate::tools::spec::ToolSpec;
use crate::tools::{Outcome, ToolCall};

pub use connection::REFUSED_ARGUMENTS;
pub use login::challenge;
use offers::{Filled, Offers, Read};
use server::{AGE_MAX, Server};

/// The configured servers, shared by all clones. A server is started only when it is needed.
#[derive(Clone)]
pub struct Servers(Arc<Inner>);

struct Inner {
    servers: Vec<Arc<Server>>,
    /// A separate thread, so that a server's flood does not block callers, and a blocked caller
    /// does not block servers.
    runtime: Mutex<Option<Runtime>>,
}

/// The settings that all servers of a project share.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Limits on memory, files and processes, the same as for commands.
    pub limits: Commands,
    pub project: PathBuf,
    /// The folder with cached tool lists, so that planning need not start servers.
    pub cache: PathBuf,
    /// Whether sending to URLs is forbidden.
    pub offline: bool,
    /// The file that records the user's consents to URLs.
    pub consents: PathBuf,
    /// The folder with the tokens of servers to which the user has signed in.
    pub tokens: PathBuf,
}

impl Setup {
    /// The setup of a project whose tool lists and consents are in `folder`.
    pub fn of(project: &Path, folder: &Path) -> Setup {
        Setup {
            limits: Commands::default(),
            project: project.to_owned(),
            cache: folder.join("cache"),
            offline: false,
            consents: folder.join("servers"),
            tokens: folder.join("tokens"),
        }
    }
}

/// The line of the consent file that allows sending to an MCP server.
pub fn consent_line(url: &Address) -> String {
    format!("mcp {url}")
}

/// The tools of one server, or the reason why it has none.
#[derive(Clone, Debug)]
pub struct Seen {
    pub server: String,
    pub tools: Vec<ToolSpec>,
    /// Names the tools that were left out, or the reason why there are none.
    pub notes: Vec<String>,
    pub failed: bool,
    pub took: Duration,
}

impl Servers {
    pub fn new(configured: &[Configured], setup: Setup) -> Servers {
        let setup = Arc::new(setup);
        let enabled = configured.iter().filter(|one| one.enabled);
        let servers = enabled.map(|one| Arc::new(Server::new(one.clone(), &setup))).collect();
        Servers(Arc::new(Inner { servers, runtime: Mutex::default() }))
    }

    /// Whether `self` and `other` are clones of each other.
    pub fn is(&self, other: &Servers) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The tools for planning. Servers without a cached list, or with one over a day old, are
    /// started in parallel; this waits for the slowest. A server to which nothing may be sent has
    /// no tools.
    pub fn specs(&self) -> Vec<Seen> {
        let usable = |server: &Arc<Server>| server.barred().is_none();
        let kept: Vec<_> = self.0.servers.iter().map(|one| one.cached().filter(|_| usable(one))).collect();
        let is_new = |kept: &Option<(Vec<ToolSpec>, Duration)>| kept.as_ref().is_some_and(|(_, age)| *age < AGE_MAX);
        let old = self.0.servers.iter().zip(&kept).filter(|(_, kept)| !is_new(kept)).map(|(server, _)| server);
        let mut listed = self.listed(old).into_iter();
        let seen = self.0.servers.iter().zip(kept).map(|(server, kept)| {
            let listed = if is_new(&kept) { None } else { listed.next() };
            let tools = kept.map(|(tools, _)| tools).unwrap_or_default();
            let (server, took) = (server.config.name.clone(), Duration::ZERO);
            match listed {
                None => Seen { server, tools, notes: Vec::new(), failed: false, took },
                Some(seen) if seen.failed => Seen { tools, ..seen },
                Some(seen) => seen,
            }
        });
        seen.collect()
    }

    /// Lists the tools of running servers again if they have announced a change, and updates the
    /// cache. Returns whether any server had announced one.
    pub fn refreshed(&self) -> bool {
        // Without a runtime no server has been started, so nothing has changed.
        if lock(&self.0.runtime).is_none() {
            return false;
        }
        let servers = self.0.servers.clone();
        let limit = servers.iter().map(|server| server.config.start_timeout).sum::<Duration>();
        let changed = self.begin(async move {
            let mut changed = false;
            for server in &servers {
                changed |= server.refreshed().await;
            }
            changed
        });
        changed.recv_timeout(limit).unwrap_or(false)
    }

    /// Starts the server of that name, or all servers, and lists their tools.
    pub fn test(&self, name: Option<&str>) -> Vec<Seen> {
        self.listed(self.0.servers.iter().filter(|server| name.is_none_or(|name| server.config.name == name)))
    }

    /// The cached tools of a server and the age of the list. Does not start the server.
    pub fn kept(&self, name: &str) -> Option<(Vec<ToolSpec>, Duration)> {
        self.0.servers.iter().find(|server| server.config.name == name)?.cached()
    }

    /// The reason why nothing may be sent to a server; `None` if it may, or if the server is off.
    pub fn barred(&self, name: &str) -> Option<String> {
        self.0.servers.iter().find(|server| server.config.name == name)?.barred()
    }

    /// Whether the user has signed in to a server.
    pub fn is_signed_in(&self, name: &str) -> bool {
        self.0.servers.iter().find(|server| server.config.name == name).is_some_and(|server| server.is_signed_in())
    }

    pub fn has(&self, tool: &str) -> bool {
        self.server(tool).is_some()
    }

    /// The URL to which a call of `tool` is sent; `None` if the call stays on this machine.
    pub fn url(&self, tool: &str) -> Option<&Address> {
        self.server(tool)?.0.config.url.as_ref()
    }

    fn server(&self, tool: &str) -> Option<(&Arc<Server>, String)> {
        let (name, own) = tool.split_once('.')?;
        Some((self.0.servers.iter().find(|server| server.config.name == name)?, own.to_owned()))
    }

    /// Runs a call to its end. Dropping the future also cancels it at the server.
    pub(in crate::tools) async fn call(&self, call: ToolCall, cancel: &Cancel) -> Result<Outcome, String> {
        let Some((server, tool)) = self.server(&call.tool) else {
            return Err(format!("no server offers `{}`", call.tool));
        };
        if cancel.is_cancelled() {
            return Err(format!("`{}` was cancelled", call.tool));
        }
        let (server, arguments) = (server.clone(), call.arguments.clone());
        let begun = self.start(async move { server.call(&tool, arguments).await })?;
        ended(begun, &call.tool, cancel).await
    }

    /// The texts and pictures of a resource of the server of that name.
    pub async fn read(&self, server: &str, uri: &str, cancel: &Cancel) -> Result<Read, String> {
        let (server, own) = (self.named(server)?, uri.to_owned());
        let begun = self.start(async move { server.read(&own).await.map_err(|why| server.named(&why)) })?;
        ended(begun, uri, cancel).await
    }

    /// The text of a prompt from the server with that name, filled with the arguments that the user
    /// wrote after it.
    pub async fn prompt(&self, server: &str, name: &str, words: &str, cancel: &Cancel) -> Result<Filled, String> {
        let (server, own, words) = (self.named(server)?, name.to_owned(), words.to_owned());
        let begun = self.start(async move { server.prompt(&own, &words).await.map_err(|why| server.named(&why)) })?;
        ended(begun, name, cancel).await
    }

    /// The names of the enabled servers.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.servers.iter().map(|server| server.config.name.as_str())
    }

    fn named(&self, name: &str) -> Result<Arc<Server>, String> {
        let found = self.0.servers.iter().find(|server| server.config.name == name);
        found.cloned().ok_or_else(|| {
            let names = self.names().collect::<Vec<_>>().join(", ");
            format!("no server `{name}` is configured and enabled; the servers are: {names}")
        })
    }

    /// Starts `work` on the servers' thread. Dropping the set aborts it.
    fn start<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, String>> + Send + 'static,
    ) -> Result<JoinSet<Result<T, String>>, String> {
        let mut begun = JoinSet::new();
        begun.spawn_on(work, &self.0.handle()?);
        Ok(begun)
    }

    /// The resources and prompts of the server with that name, or of all servers, starting them if
    /// needed. Blocks.
    pub fn offers(&self, name: Option<&str>) -> Offers {
        let wanted = self.0.servers.iter().filter(|server| name.is_none_or(|name| server.config.name == name));
        let begun: Vec<_> = wanted
            .map(|server| {
                let own = server.clone();
                (server, self.begin(async move { own.offers().await }))
            })
            .collect();
        let mut all = Offers::default();
        for (server, answer) in begun {
            let limit = server.config.start_timeout + server.config.timeout + Duration::from_secs(5);
            match answer.recv_timeout(limit).unwrap_or(Err("it did not answer".to_owned())) {
                Ok(one) => all.extend(one),
                Err(why) => all.notes.push(format!("the server `{}` is not available: {why}", server.config.name)),
            }
        }
        all
    }

    /// Ends every server, which has half a second to exit by itself.
    pub fn end(&self) {
        if lock(&self.0.runtime).is_some() {
            let live = self.0.servers.clone();
            let ended = self.begin(async move {
                for server in &live {
                    server.end().await;
                }
            });
            let _ = ended.recv_timeout(Duration::from_secs(2));
        }
        self.0.servers.iter().for_each(|server| server.kill());
    }

    /// Starts these servers in parallel and lists their tools.
    fn listed<'s>(&self, servers: impl Iterator<Item = &'s Arc<Server>>) -> Vec<Seen> {
        let begun: Vec<_> = servers
            .map(|server| {
                let (own, started) = (server.clone(), Instant::now());
                (server, self.begin(async move { (own.tools().await, started.elapsed()) }))
            })
            .collect();
        let seen = begun.into_iter().map(|(server, answer)| {
            // The start has its own deadline; this one is for a thread that could not be created.
            let limit = server.config.start_timeout + Duration::from_secs(5);
            let (found, took) = answer.recv_timeout(limit).unwrap_or((Err("it did not answer".to_owned()), limit));
            let server = server.config.name.clone();
            match found {
                Ok((tools, notes)) => Seen { server, tools, notes, failed: false, took },
                Err(why) => {
                    let notes = vec![format!("the server `{server}` is not available: {why}")];
                    Seen { server, tools: Vec::new(), notes, failed: true, took }
                }
            }
        });
        seen.collect()
    }

    /// Runs `work` on the servers' thread and sends its result, or an error if there is no such
    /// thread.
    fn begin<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> mpsc::Receiver<T> {
        let (sender, receiver) = mpsc::channel();
        if let Ok(handle) = self.0.handle() {
            // The receiver may already have been dropped.
            handle.spawn(async move { drop(sender.send(work.await)) });
        }
        receiver
    }
}

/// Waits for the work `what` to end, unless it is cancelled first.
async fn ended<T: 'static>(mut begun: JoinSet<Result<T, String>>, what: &str, cancel: &Cancel) -> Result<T, String> {
    tokio::select! {
        ended = begun.join_next() => match ended {
            Some(Ok(done)) => done,
            _ => Err(format!("`{what}` was lost; this is a bug in tools/mcp")),
        },
        () = cancel.cancelled() => Err(format!("`{what}` was cancelled")),
    }
}

impl Inner {
    fn handle(&self) -> Result<Handle, String> {
        let mut runtime = lock(&self.runtime);
        if let Some(runtime) = &*runtime {
            return Ok(runtime.handle().clone());
        }
        let made = Builder::new_multi_thread().worker_threads(1).thread_name("mcp").enable_all().build();
        let made = made.map_err(|error| format!("no thread for servers: {error}"))?;
        Ok(runtime.insert(made).handle().clone())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.servers.iter().for_each(|server| server.kill());
        if let Some(runtime) = self.runtime.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            runtime.shutdown_background();
        }
    }
}
