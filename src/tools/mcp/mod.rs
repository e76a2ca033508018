//! Tools of other programs, by the Model Context Protocol (MCP): servers that the user configured, as child processes.
//!
//! A server is not trusted. Its hints about its tools never spare the user a question. Its schemas, results and output
//! are bounded. It runs in the sandbox like a command, with deadlines, and its process group ends with the session.

mod bounded;
mod connection;
mod describe;
mod server;
mod start;

use crate::base::lock;
use std::future::Future;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinSet;

use crate::base::Cancel;
use crate::config::{Commands, Server as Configured};
use crate::tools::spec::ToolSpec;
use crate::tools::{Outcome, ToolCall};

pub use connection::REFUSED_ARGUMENTS;
use server::{AGE_MAX, Server};

/// The configured servers. Clones share them; none is started before it is needed.
#[derive(Clone)]
pub struct Servers(Arc<Inner>);

struct Inner {
    servers: Vec<Arc<Server>>,
    /// Their own thread, so that a flood from a server does not block callers, nor a blocked caller the servers.
    runtime: Mutex<Option<Runtime>>,
}

/// The tools of one server, or why it has none.
#[derive(Clone, Debug)]
pub struct Seen {
    pub server: String,
    pub tools: Vec<ToolSpec>,
    /// Says what was left out, or why there is nothing.
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

    /// Lists the tools again of running servers that have announced a change, also in the cache; true if there are any.
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

    /// Starts the server of that name, or all, and asks for their tools.
    pub fn test(&self, name: Option<&str>) -> Vec<Seen> {
        self.listed(self.0.servers.iter().filter(|server| name.is_none_or(|name| server.config.name == name)))
    }

    /// The cached tools of a server and the age of the list; starts nothing.
    pub fn kept(&self, name: &str) -> Option<(Vec<ToolSpec>, Duration)> {
        self.0.servers.iter().find(|server| server.config.name == name)?.cached()
    }

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
        let (server, arguments) = (server.clone(), call.arguments.clone());
        // Dropped with the call, the set aborts its task.
        let mut work = JoinSet::new();
        work.spawn_on(async move { server.call(&tool, arguments).await }, &self.0.handle()?);
        tokio::select! {
            ended = work.join_next() => match ended {
                Some(Ok(outcome)) => outcome,
                _ => Err(format!("`{}` was lost; this is a bug in tools/mcp", call.tool)),
            },
            () = cancel.cancelled() => cancelled(),
        }
    }

    /// Ends every server; each gets half a second to exit by itself.
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

    /// Starts these servers, all at once, and lists their tools.
    fn listed<'s>(&self, servers: impl Iterator<Item = &'s Arc<Server>>) -> Vec<Seen> {
        let begun: Vec<_> = servers
            .map(|server| {
                let (own, started) = (server.clone(), Instant::now());
                (server, self.begin(async move { (own.tools().await, started.elapsed()) }))
            })
            .collect();
        let seen = begun.into_iter().map(|(server, answer)| {
            // The start has its own deadline; this one covers a thread that could not be created.
            let limit = server.config.start_timeout + Duration::from_secs(5);
            let (found, took) = answer.recv_timeout(limit).unwrap_or((Err("it was not heard".to_owned()), limit));
            let server = server.config.name.clone();
            match found {
                Ok((tools, notes)) => Seen { server, tools, notes, failed: false, took },
                Err(why) => {
                    let notes = vec![format!("the server `{server}` is not there: {why}")];
                    Seen { server, tools: Vec::new(), notes, failed: true, took }
                }
            }
        });
        seen.collect()
    }

    /// Runs `work` on the servers' thread. Its result is received, or an error if there is no such thread.
    fn begin<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> mpsc::Receiver<T> {
        let (sender, receiver) = mpsc::channel();
        if let Ok(handle) = self.0.handle() {
            // The receiver may be gone.
            handle.spawn(async move { drop(sender.send(work.await)) });
        }
        receiver
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
