//! Tools of other programs, by the Model Context Protocol (MCP): servers that the user configured, as child processes.
//!
//! A server is not trusted. Its hints about its tools never spare the user a question. Its schemas, results and output
//! are bounded. It runs in the sandbox like a command, with deadlines, and its process group ends with the session.

mod bounded;
mod cache;
mod connection;
mod describe;
mod server;
mod start;

use crate::base::lock;
use std::future::Future;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::base::Cancel;
use crate::base::config::{Commands, Server as Configured};
use crate::tools::spec::ToolSpec;
use crate::tools::{Outcome, ToolCall};

use server::Server;

/// The configured servers. Clones share them; none is started before it is needed.
#[derive(Clone)]
pub struct Servers(Arc<Inner>);

struct Inner {
    servers: Vec<Arc<Server>>,
    /// Their own thread, so that a flood from a server does not block callers, nor a blocked caller the servers.
    runtime: Mutex<Option<Runtime>>,
}

/// Tools and notes of a started server, or why it could not be started; and the time it took.
type Listing = (Result<(Vec<ToolSpec>, Vec<String>), String>, Duration);

/// The tools of one server, or why it has none.
#[derive(Clone, Debug)]
pub struct Seen {
    pub server: String,
    pub tools: Vec<ToolSpec>,
    /// What was left out, or why there is nothing.
    pub notes: Vec<String>,
    pub failed: bool,
    pub took: Duration,
}

impl Servers {
    /// `cache` is the folder for tool lists; `limits`, those of commands, hold for servers too.
    pub fn new(configured: &[Configured], limits: &Commands, project: &Path, cache: &Path) -> Servers {
        let servers = configured
            .iter()
            .filter(|one| one.enabled)
            .map(|one| Arc::new(Server::new(one.clone(), limits, project, cache)))
            .collect();
        Servers(Arc::new(Inner { servers, runtime: Mutex::default() }))
    }

    /// Whether both are clones of the same servers.
    pub fn is(&self, other: &Servers) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The tools to plan with. Servers without a cached list, or with one over a day old, are started in parallel, and
    /// the slowest start is waited for.
    pub fn specs(&self) -> Vec<Seen> {
        let kept: Vec<_> = self.0.servers.iter().map(|server| server.cached()).collect();
        let waiting: Vec<_> = self
            .0
            .servers
            .iter()
            .zip(&kept)
            .map(|(server, kept)| match kept {
                Some((_, age)) if *age < cache::AGE_MAX => None,
                _ => Some(self.list_tools(server)),
            })
            .collect();
        let seen = self.0.servers.iter().zip(kept).zip(waiting).map(|((server, kept), waiting)| {
            let old = kept.map(|(tools, _)| tools).unwrap_or_default();
            match waiting {
                None => Seen {
                    server: server.config.name.clone(),
                    tools: old,
                    notes: Vec::new(),
                    failed: false,
                    took: Duration::ZERO,
                },
                Some(waiting) => {
                    let seen = self.wait(server, &waiting);
                    if seen.failed { Seen { tools: old, ..seen } } else { seen }
                }
            }
        });
        seen.collect()
    }

    /// Lists the tools again of running servers that have announced a change, also in the cache; true if there are any.
    pub fn refreshed(&self) -> bool {
        let (sender, receiver) = mpsc::channel();
        let servers = self.0.servers.clone();
        let limit = servers.iter().map(|server| server.config.start_timeout).sum::<Duration>();
        let work = async move {
            let mut changed = false;
            for server in &servers {
                changed |= server.refreshed().await;
            }
            // The receiver may be gone.
            let _ = sender.send(changed);
        };
        // Without a runtime no server has been started, so nothing has changed.
        match &*lock(&self.0.runtime) {
            Some(runtime) => drop(runtime.spawn(work)),
            None => return false,
        }
        receiver.recv_timeout(limit).unwrap_or(false)
    }

    /// Starts the server of that name, or all, and asks for their tools.
    pub fn test(&self, name: Option<&str>) -> Vec<Seen> {
        let chosen = || self.0.servers.iter().filter(|server| name.is_none_or(|name| server.config.name == name));
        let waiting: Vec<_> = chosen().map(|server| self.list_tools(server)).collect();
        chosen().zip(waiting).map(|(server, waiting)| self.wait(server, &waiting)).collect()
    }

    /// The cached tools of a server and the age of the list; starts nothing.
    pub fn kept(&self, name: &str) -> Option<(Vec<ToolSpec>, Duration)> {
        self.0.servers.iter().find(|server| server.config.name == name)?.cached()
    }

    /// Whether the tool belongs to a server.
    pub fn has(&self, tool: &str) -> bool {
        self.server(tool).is_some()
    }

    fn server(&self, tool: &str) -> Option<(&Arc<Server>, String)> {
        let (name, own) = tool.split_once('.')?;
        Some((self.0.servers.iter().find(|server| server.config.name == name)?, own.to_owned()))
    }

    /// Runs a call to its end. Dropping the future cancels it at the server.
    pub(in crate::tools) async fn call(&self, call: ToolCall, cancel: &Cancel) -> Result<Outcome, String> {
        let Some((server, tool)) = self.server(&call.tool) else {
            return Err(format!("no server offers `{}`", call.tool));
        };
        let cancelled = || Err(format!("`{}` was cancelled", call.tool));
        if cancel.is_cancelled() {
            return cancelled();
        }
        let server = server.clone();
        let arguments: Map<String, Value> = call.arguments.clone();
        let work = async move { server.call(&tool, arguments).await };
        tokio::select! {
            ended = self.run(work) => ended,
            () = cancel.cancelled() => cancelled(),
        }
    }

    /// Ends every server; each gets half a second to exit by itself.
    pub fn end(&self) {
        let live = self.0.servers.clone();
        let (done, ended) = mpsc::channel();
        let work = async move {
            for server in &live {
                server.end().await;
            }
            // The receiver may be gone.
            let _ = done.send(());
        };
        if let Some(runtime) = &*lock(&self.0.runtime) {
            runtime.spawn(work);
            let _ = ended.recv_timeout(Duration::from_secs(2));
        }
        self.0.servers.iter().for_each(|server| server.kill());
    }

    /// Starts the server and lists its tools in the background.
    fn list_tools(&self, server: &Arc<Server>) -> mpsc::Receiver<Listing> {
        let (sender, receiver) = mpsc::channel();
        let server = server.clone();
        if let Ok(handle) = self.0.handle() {
            // The receiver may be gone.
            handle.spawn(async move {
                let started = Instant::now();
                let found = server.tools().await;
                drop(sender.send((found, started.elapsed())))
            });
        }
        receiver
    }

    fn wait(&self, server: &Server, looking: &mpsc::Receiver<Listing>) -> Seen {
        let limit = server.config.start_timeout + Duration::from_secs(5);
        // The start has its own deadline; this one covers a thread that could not be created.
        let (found, took) = looking.recv_timeout(limit).unwrap_or((Err("it was not heard".to_owned()), limit));
        let name = server.config.name.clone();
        match found {
            Ok((tools, notes)) => Seen { server: name, tools, notes, failed: false, took },
            Err(why) => {
                let notes = vec![format!("the server `{name}` is not there: {why}")];
                Seen { server: name, tools: Vec::new(), notes, failed: true, took }
            }
        }
    }

    /// Runs `work` on the servers' thread; dropping the future aborts it there.
    async fn run(
        &self,
        work: impl Future<Output = Result<Outcome, String>> + Send + 'static,
    ) -> Result<Outcome, String> {
        let task = self.0.handle()?.spawn(work);
        let _abort = Abort(task.abort_handle());
        task.await.unwrap_or_else(|error| Err(format!("the call was lost: {error}")))
    }
}

/// Aborts the task when dropped.
struct Abort(tokio::task::AbortHandle);

impl Drop for Abort {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Inner {
    fn handle(&self) -> Result<Handle, String> {
        let mut runtime = lock(&self.runtime);
        if runtime.is_none() {
            let made = Builder::new_multi_thread().worker_threads(1).thread_name("mcp").enable_all().build();
            *runtime = Some(made.map_err(|error| format!("no thread for servers: {error}"))?);
        }
        runtime.as_ref().map(|runtime| runtime.handle().clone()).ok_or_else(|| "no thread for servers".to_owned())
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
