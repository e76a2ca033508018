//! Tools of other programs, by the Model Context Protocol: servers the user configured, as child processes.
//!
//! A server is not trusted. What it says of its tools never spares a question; its schemas, results and chatter are
//! bounded; it is confined like a command, has deadlines, and its whole process group ends with the session.

mod bounded;
mod cache;
mod connection;
mod describe;
mod server;
mod start;

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

/// How often the cancellation flag is looked at.
const CANCEL_POLL: Duration = Duration::from_millis(20);

/// The configured servers. Clones share them; none is started before it is needed.
#[derive(Clone)]
pub struct Servers(Arc<Inner>);

struct Inner {
    servers: Vec<Arc<Server>>,
    /// A thread of their own, so that neither a flood nor a blocked caller stands in the way of the other.
    runtime: Mutex<Option<Runtime>>,
}

/// Tools and notes of a started server, or why it could not be started; and the time it took.
type Looked = (Result<(Vec<ToolSpec>, Vec<String>), String>, Duration);

/// What a look at one server found.
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

    /// The tools to plan with: lists kept from earlier, and those of servers that have none yet or an old one, which are
    /// started for that, side by side. Waits as long as the slowest start may take.
    pub fn specs(&self) -> Vec<Seen> {
        let kept: Vec<_> = self.0.servers.iter().map(|server| server.cached()).collect();
        let waiting: Vec<_> = self
            .0
            .servers
            .iter()
            .zip(&kept)
            .map(|(server, kept)| match kept {
                Some((_, age)) if *age < cache::AGE_MAX => None,
                _ => Some(self.look(server)),
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

    /// Takes over the tools that running servers have changed, into the kept lists too; says whether there are any.
    pub fn refreshed(&self) -> bool {
        let (sender, receiver) = mpsc::channel();
        let servers = self.0.servers.clone();
        let limit = servers.iter().map(|server| server.config.start_timeout).sum::<Duration>();
        let work = async move {
            let mut changed = false;
            for server in &servers {
                changed |= server.refreshed().await;
            }
            // Nobody may be waiting any more.
            let _ = sender.send(changed);
        };
        // Where no server runs there is no thread, and nothing has changed.
        match &*self.0.runtime.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(runtime) => drop(runtime.spawn(work)),
            None => return false,
        }
        receiver.recv_timeout(limit).unwrap_or(false)
    }

    /// Starts the server of that name, or all, and asks for their tools.
    pub fn test(&self, name: Option<&str>) -> Vec<Seen> {
        let chosen = || self.0.servers.iter().filter(|server| name.is_none_or(|name| server.config.name == name));
        let waiting: Vec<_> = chosen().map(|server| self.look(server)).collect();
        chosen().zip(waiting).map(|(server, waiting)| self.wait(server, &waiting)).collect()
    }

    /// The list that planning would use, without a start: tools and age.
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

    /// Runs a call to its end. Dropping the future tells the server that nobody waits any more.
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
            () = set(cancel) => cancelled(),
        }
    }

    /// Ends every server: they get half a second to leave by themselves.
    pub fn end(&self) {
        let live = self.0.servers.clone();
        let (done, ended) = mpsc::channel();
        let work = async move {
            for server in &live {
                server.end().await;
            }
            // Nobody may be waiting any more.
            let _ = done.send(());
        };
        if let Some(runtime) = &*self.0.runtime.lock().unwrap_or_else(PoisonError::into_inner) {
            runtime.spawn(work);
            let _ = ended.recv_timeout(Duration::from_secs(2));
        }
        self.0.servers.iter().for_each(|server| server.kill());
    }

    fn look(&self, server: &Arc<Server>) -> mpsc::Receiver<Looked> {
        let (sender, receiver) = mpsc::channel();
        let server = server.clone();
        if let Ok(handle) = self.0.handle() {
            // Nobody may be waiting any more.
            handle.spawn(async move {
                let started = Instant::now();
                let found = server.tools().await;
                drop(sender.send((found, started.elapsed())))
            });
        }
        receiver
    }

    fn wait(&self, server: &Server, looking: &mpsc::Receiver<Looked>) -> Seen {
        let limit = server.config.start_timeout + Duration::from_secs(5);
        // The start has its own deadline; this one is for a thread that could not be made.
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

    /// Runs `work` on the servers' thread; what is dropped here is dropped there.
    async fn run(
        &self,
        work: impl Future<Output = Result<Outcome, String>> + Send + 'static,
    ) -> Result<Outcome, String> {
        let task = self.0.handle()?.spawn(work);
        let _abort = Abort(task.abort_handle());
        task.await.unwrap_or_else(|error| Err(format!("the call was lost: {error}")))
    }
}

/// Ends when the flag is set. It is set from signal handlers and other threads, so it is polled.
async fn set(cancel: &Cancel) {
    while !cancel.is_cancelled() {
        tokio::time::sleep(CANCEL_POLL).await;
    }
}

struct Abort(tokio::task::AbortHandle);

impl Drop for Abort {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Inner {
    fn handle(&self) -> Result<Handle, String> {
        let mut runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner);
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
