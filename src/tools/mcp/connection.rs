//! One running server: its process group, its bounded streams and the MCP client on them.

use crate::base::lock;
use std::future::Future;
use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::{CallToolRequestParams, CallToolResponse, ErrorCode, PaginatedRequestParams, Tool};
use rmcp::service::{NotificationContext, RoleClient, RunningService, ServiceError};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ClientHandler, Peer, ServiceExt};
use serde_json::{Map, Value};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::watch;

use super::bounded::{Bounded, Flow, LINE_MAX_BYTES};
use super::describe::{TOOLS_MAX, clean};
use super::start;
use crate::config::{Commands, Server};
use crate::tools::sandbox::{Group, tells_of_refusal};

/// Maximum number of pages of a tool list: a bound for a server whose list never ends.
const PAGES_MAX: usize = 32;
/// Bytes kept of the end of standard error, for the message when the server fails.
const STDERR_MAX_BYTES: usize = 2 << 10;
/// How the reason begins with which a call failed whose arguments the server has refused: nothing was done.
pub const REFUSED_ARGUMENTS: &str = "it refused the arguments: ";
/// Time for a server to exit by itself once its input is closed.
const LEAVE_MAX: Duration = Duration::from_millis(500);

/// Notes that a server has announced a changed tool list.
#[derive(Clone, Default)]
struct Listener(Arc<AtomicBool>);

impl ClientHandler for Listener {
    fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) -> impl Future<Output = ()> + Send + '_ {
        self.0.store(true, Ordering::Relaxed);
        std::future::ready(())
    }
}

pub struct Connection {
    config: Server,
    service: Mutex<Option<RunningService<RoleClient, Listener>>>,
    listener: Listener,
    peer: Peer<RoleClient>,
    flow: Arc<Flow>,
    stderr_end: Arc<Mutex<Vec<u8>>>,
    exit: watch::Receiver<Option<ExitStatus>>,
    /// Taken out when the server is ended; dropping it ends the whole group.
    group: Mutex<Option<Group>>,
    /// The server's folder for temporary files; deleted when dropped.
    _temp: TempDir,
}

impl Connection {
    /// Starts the program and does the MCP handshake. Has no deadline of its own; dropping the future ends the process.
    pub async fn open(config: &Server, limits: &Commands, project: &Path) -> Result<Connection, String> {
        let failed =
            |error: io::Error| format!("`{}` cannot be started: {error}; {} names it", config.command, config.place);
        let (mut child, group, temp) = start::start(config, limits, project).map_err(failed)?;
        let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err("its pipes are missing; this is a bug in tools/mcp".to_owned());
        };
        let (flow, stderr_end) = (Arc::new(Flow::default()), Arc::default());
        let listening = tokio::spawn(listen(stderr, flow.clone(), Arc::clone(&stderr_end)));
        let (ended, exit) = watch::channel(None);
        tokio::spawn(async move { drop(child.wait().await.map(|status| ended.send(Some(status)))) });
        let transport = AsyncRwTransport::new_client(Bounded::new(stdout, flow.clone()), stdin)
            .with_max_line_length(LINE_MAX_BYTES);
        let listener = Listener::default();
        let service = match listener.clone().serve(transport).await {
            Ok(service) => service,
            Err(error) => {
                // The exit status is known a moment after the pipes are closed.
                let _ = tokio::time::timeout(LEAVE_MAX, listening).await;
                let mut ended = exit.clone();
                let _ = tokio::time::timeout(LEAVE_MAX, ended.wait_for(Option::is_some)).await;
                let status = exit.borrow().map(|status| format!("it ended ({status})"));
                let why = flow.verdict().or(status).unwrap_or_else(|| clean(&error.to_string()));
                return Err(format!("it did not shake hands: {why}{}", last_words(&stderr_end, config)));
            }
        };
        let peer = service.peer().clone();
        let (service, group) = (Mutex::new(Some(service)), Mutex::new(Some(group)));
        let config = config.clone();
        Ok(Connection { config, service, listener, peer, flow, stderr_end, exit, group, _temp: temp })
    }

    /// Whether the server has announced a changed tool list since the last call of this function.
    pub fn take_changed(&self) -> bool {
        self.listener.0.swap(false, Ordering::Relaxed)
    }

    /// The server's own description: its title and description, else its instructions.
    pub fn about(&self) -> String {
        let Some(info) = self.peer.peer_info() else { return String::new() };
        let own = info.server_info.as_ref();
        let told = [own.and_then(|own| own.title.as_deref()), own.and_then(|own| own.description.as_deref())];
        let told = told.into_iter().flatten().collect::<Vec<_>>();
        if told.is_empty() { info.instructions.clone().unwrap_or_default() } else { told.join(": ") }
    }

    pub async fn tools(&self) -> Result<Vec<Tool>, String> {
        self.flow.restart();
        let (mut all, mut cursor) = (Vec::new(), None);
        for _ in 0..PAGES_MAX {
            let page = cursor.take().map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
            let page = match self.peer.list_tools(page).await {
                Ok(page) => page,
                Err(error) => return Err(self.why(&error).await),
            };
            all.extend(page.tools);
            cursor = page.next_cursor;
            if cursor.is_none() || all.len() > 2 * TOOLS_MAX {
                return Ok(all);
            }
        }
        Err(format!("its list of tools has more than {PAGES_MAX} pages"))
    }

    /// Dropping the future notifies the server that the call is over.
    pub async fn call(&self, tool: &str, arguments: Map<String, Value>) -> Result<CallToolResponse, String> {
        self.flow.restart();
        let request = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        tokio::select! {
            answer = self.peer.call_tool_once(request) => match answer {
                Ok(answer) => Ok(answer),
                Err(error) => Err(self.why(&error).await),
            },
            verdict = self.flow.ended() => Err(verdict),
        }
    }

    /// Why a request failed; with the last line of standard error if the server has exited.
    async fn why(&self, error: &ServiceError) -> String {
        if !matches!(error, ServiceError::McpError(_)) && self.flow.verdict().is_none() {
            // The exit status is known a moment after the pipes are closed.
            let mut exit = self.exit.clone();
            let _ = tokio::time::timeout(LEAVE_MAX, exit.wait_for(Option::is_some)).await;
        }
        match (self.flow.verdict(), *self.exit.borrow(), error) {
            (Some(verdict), ..) => verdict,
            (None, Some(status), _) => format!("it ended ({status}){}", last_words(&self.stderr_end, &self.config)),
            (None, None, ServiceError::McpError(error)) => {
                let what = if error.code == ErrorCode::INVALID_PARAMS { REFUSED_ARGUMENTS } else { "it refused: " };
                format!("{what}{}", clean(&error.message.chars().take(1_000).collect::<String>()))
            }
            (None, None, error) => clean(&error.to_string().chars().take(1_000).collect::<String>()),
        }
    }

    pub fn is_alive(&self) -> bool {
        self.exit.borrow().is_none() && self.flow.verdict().is_none() && !self.peer.is_transport_closed()
    }

    /// Closes its input, gives it half a second to exit, then ends the whole group.
    pub async fn end(&self) {
        let group = lock(&self.group).take();
        // Closes its input, which in MCP asks a server to exit.
        drop(lock(&self.service).take());
        let mut exit = self.exit.clone();
        let exited = exit.wait_for(Option::is_some);
        // Whether it exited or not, the group ends now.
        let _ = tokio::time::timeout(LEAVE_MAX, exited).await;
        drop(group);
    }

    pub fn kill(&self) {
        drop(lock(&self.group).take());
    }
}

/// Reads standard error so that the server never blocks on it, and keeps its end.
async fn listen(mut stderr: impl AsyncRead + Unpin, flow: Arc<Flow>, stderr_end: Arc<Mutex<Vec<u8>>>) {
    let own = Flow::default();
    let mut buffer = vec![0; 8 << 10];
    while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
        let mut end = lock(&stderr_end);
        end.extend_from_slice(&buffer[..read]);
        let surplus = end.len().saturating_sub(STDERR_MAX_BYTES);
        end.drain(..surplus);
        if own.add(&buffer[..read], "standard error") {
            // No longer read: the server blocks, and is ended at the deadline of its call at the latest.
            flow.end(own.verdict().unwrap_or_default());
            return;
        }
    }
}

/// The last line of standard error that looks like a refusal by the sandbox, else the last line; for an error message.
fn last_words(stderr_end: &Mutex<Vec<u8>>, config: &Server) -> String {
    let end = lock(stderr_end);
    let text = clean(&String::from_utf8_lossy(&end));
    let shown = |line: &str| line.trim().chars().take(300).collect::<String>();
    if let Some(refused) = text.lines().rfind(|line| tells_of_refusal(line)).map(shown) {
        return format!("; it said: {refused}{}", start::hint(config, &refused));
    }
    let last = text.lines().rfind(|line| !line.trim().is_empty()).map(shown);
    last.map_or(String::new(), |last| format!("; its last words: {last}"))
}
