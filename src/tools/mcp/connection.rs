//! The connection to one server: the MCP client on bounded streams, to a process started here or to
//! a URL.

use std::error::Error;
use std::future::Future;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorCode, GetPromptRequestParams, GetPromptResponse,
    PaginatedRequestParams, ProgressNotificationParam, Prompt, ReadResourceRequestParams, ReadResourceResponse,
    Resource, ResourceTemplate, ServerCapabilities, Tool,
};
use rmcp::service::{ClientInitializeError, NotificationContext, RoleClient, RunningService, ServiceError};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransport;
use rmcp::{ClientHandler, Peer, ServiceExt};
use serde_json::{Map, Value};

use super::Setup;
use super::bounded::{Bounded, Flow, LINE_MAX_BYTES};
use super::describe::{TOOLS_MAX, clean};
use super::http::{Client, Fault, HttpError};
use super::offers::{self, Filled, OFFERS_MAX, Read, said};
use super::process::{LEAVE_MAX, Process};
use crate::base::lock;
use crate::config::{Address, Commands, Server};

/// Maximum number of pages of a list, in case a server's list never ends.
const PAGES_MAX: usize = 32;
/// Prefix of the error for a call whose arguments the server refused, so that nothing was done.
pub const REFUSED_ARGUMENTS: &str = "it refused the arguments: ";

/// Records whether a server has announced a changed tool list, and how often it has reported
/// progress.
#[derive(Clone, Default)]
struct Listener {
    changed: Arc<AtomicBool>,
    progress: Arc<AtomicUsize>,
}

impl ClientHandler for Listener {
    fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) -> impl Future<Output = ()> + Send + '_ {
        self.changed.store(true, Ordering::Relaxed);
        std::future::ready(())
    }

    fn on_progress(
        &self,
        _: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) -> impl Future<Output = ()> + Send + '_ {
        self.progress.fetch_add(1, Ordering::Relaxed);
        std::future::ready(())
    }
}

pub struct Connection {
    config: Server,
    service: Mutex<Option<RunningService<RoleClient, Listener>>>,
    listener: Listener,
    peer: Peer<RoleClient>,
    flow: Arc<Flow>,
    /// `None` for a server with a URL.
    process: Option<Process>,
    /// `None` for a server that was started here.
    client: Option<Client>,
    /// Whether the connection failed, so that the next call must open a new one.
    broken: AtomicBool,
}

impl Connection {
    /// Starts the program, or connects to the URL, and performs the MCP handshake. It has no
    /// deadline of its own; dropping the future ends the process.
    pub async fn open(config: &Server, setup: &Setup) -> Result<Connection, String> {
        match &config.url {
            Some(address) => Connection::reach(config, address, setup).await,
            None => Connection::start(config, &setup.limits, &setup.project).await,
        }
    }

    async fn start(config: &Server, limits: &Commands, project: &Path) -> Result<Connection, String> {
        let flow = Arc::new(Flow::default());
        let (process, stdout, stdin) = Process::start(config, limits, project, &flow)?;
        let transport = AsyncRwTransport::new_client(Bounded::new(stdout, flow.clone()), stdin)
            .with_max_line_length(LINE_MAX_BYTES);
        let listener = Listener::default();
        match listener.clone().serve(transport).await {
            Ok(service) => Ok(Connection::of(config, (service, listener), flow, Some(process))),
            Err(error) => {
                process.heard_out().await;
                let status = process.exited().await.map(|status| format!("it ended ({status})"));
                let why = flow.verdict().or(status).unwrap_or_else(|| clean(&error.to_string()));
                Err(format!("the handshake failed: {why}{}", process.last_words(config)))
            }
        }
    }

    async fn reach(config: &Server, address: &Address, setup: &Setup) -> Result<Connection, String> {
        let (flow, listener) = (Arc::new(Flow::default()), Listener::default());
        let client = Client::new(config, address, setup, &flow)?;
        let settings = client.settings();
        let transport = StreamableHttpClientTransport::with_client(client.clone(), settings);
        match listener.clone().serve(transport).await {
            Ok(service) => {
                Ok(Connection { client: Some(client), ..Connection::of(config, (service, listener), flow, None) })
            }
            Err(ClientInitializeError::TransportError { error, .. }) => {
                Err(of_http(Some(&client), error.error.as_ref()))
            }
            Err(ClientInitializeError::JsonRpcError(error)) => {
                Err(format!("the handshake failed: {}", shown(Some(&client), &error.message)))
            }
            Err(ClientInitializeError::ConnectionClosed(_)) => Err(flow.verdict().unwrap_or_else(|| {
                "its answer to the handshake broke off or is invalid; the url must be that of an MCP server".to_owned()
            })),
            Err(error) => Err(format!("the handshake failed: {}", shown(Some(&client), &error.to_string()))),
        }
    }

    fn of(
        config: &Server,
        (service, listener): (RunningService<RoleClient, Listener>, Listener),
        flow: Arc<Flow>,
        process: Option<Process>,
    ) -> Connection {
        let (config, peer) = (config.clone(), service.peer().clone());
        let service = Mutex::new(Some(service));
        Connection { config, service, listener, peer, flow, process, client: None, broken: AtomicBool::new(false) }
    }

    /// Whether the server has announced a changed tool list since the last call to this function.
    pub fn take_changed(&self) -> bool {
        self.listener.changed.swap(false, Ordering::Relaxed)
    }

    /// The number of progress reports of the server.
    pub fn progress(&self) -> usize {
        self.listener.progress.load(Ordering::Relaxed)
    }

    /// The server's own description: its title and description, or else its instructions.
    pub fn about(&self) -> String {
        let Some(info) = self.peer.peer_info() else { return String::new() };
        let own = info.server_info.as_ref();
        let told = [own.and_then(|own| own.title.as_deref()), own.and_then(|own| own.description.as_deref())];
        let told = told.into_iter().flatten().collect::<Vec<_>>();
        if told.is_empty() { info.instructions.clone().unwrap_or_default() } else { told.join(": ") }
    }

    pub async fn tools(&self) -> Result<Vec<Tool>, String> {
        let list = |page, peer: Peer<RoleClient>| async move {
            let listed = peer.list_tools(page).await?;
            Ok((listed.tools, listed.next_cursor))
        };
        self.pages("tools", TOOLS_MAX, list).await
    }

    /// The resources, and templates for the URIs of others; empty if the server does not offer any.
    pub async fn resources(&self) -> Result<(Vec<Resource>, Vec<ResourceTemplate>), String> {
        if !self.offers(|can| can.resources.is_some()) {
            return Ok(Default::default());
        }
        let list = |page, peer: Peer<RoleClient>| async move {
            let listed = peer.list_resources(page).await?;
            Ok((listed.resources, listed.next_cursor))
        };
        let resources = self.pages("resources", OFFERS_MAX, list).await?;
        let list = |page, peer: Peer<RoleClient>| async move {
            let listed = peer.list_resource_templates(page).await?;
            Ok((listed.resource_templates, listed.next_cursor))
        };
        // Many servers have no templates and answer with an error.
        Ok((resources, self.pages("templates", OFFERS_MAX, list).await.unwrap_or_default()))
    }

    pub async fn prompts(&self) -> Result<Vec<Prompt>, String> {
        if !self.offers(|can| can.prompts.is_some()) {
            return Ok(Vec::new());
        }
        let list = |page, peer: Peer<RoleClient>| async move {
            let listed = peer.list_prompts(page).await?;
            Ok((listed.prompts, listed.next_cursor))
        };
        self.pages("prompts", OFFERS_MAX, list).await
    }

    fn offers(&self, what: impl Fn(&ServerCapabilities) -> bool) -> bool {
        self.peer.peer_info().is_some_and(|info| what(&info.capabilities))
    }

    /// Reads all pages of a list, but stops once it has more than twice `most` entries.
    async fn pages<T, F: Future<Output = Result<(Vec<T>, Option<String>), ServiceError>>>(
        &self,
        what: &str,
        most: usize,
        list: impl Fn(Option<PaginatedRequestParams>, Peer<RoleClient>) -> F,
    ) -> Result<Vec<T>, String> {
        self.flow.restart();
        let (mut all, mut cursor) = (Vec::new(), None);
        for _ in 0..PAGES_MAX {
            let page = cursor.take().map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
            let (entries, next) = match list(page, self.peer.clone()).await {
                Ok(page) => page,
                Err(error) => return Err(self.why(&error).await),
            };
            all.extend(entries);
            cursor = next;
            if cursor.is_none() || all.len() > 2 * most {
                return Ok(all);
            }
        }
        Err(format!("its list of {what} has more than {PAGES_MAX} pages"))
    }

    /// The texts and pictures of a resource; `name` is that of its pictures.
    pub async fn read(&self, uri: &str, name: &str) -> Result<Read, String> {
        self.flow.restart();
        match self.peer.read_resource_once(ReadResourceRequestParams::new(uri)).await {
            Ok(ReadResourceResponse::Complete(read)) => offers::read(uri, name, read.contents),
            Ok(_) => {
                Err("it asks for something before it gives the resource, which is not offered to servers".to_owned())
            }
            Err(error) => Err(self.why(&error).await),
        }
    }

    /// The text of a prompt with its arguments filled in.
    pub async fn prompt(&self, name: &str, arguments: Map<String, Value>) -> Result<Filled, String> {
        self.flow.restart();
        let request = GetPromptRequestParams::new(name).with_arguments(arguments);
        match self.peer.get_prompt_once(request).await {
            Ok(GetPromptResponse::Complete(got)) => Ok(said(&got.messages)),
            Ok(_) => Err("it asks for input before it gives the prompt, which is not supported".to_owned()),
            Err(error) => Err(self.why(&error).await),
        }
    }

    /// Calls a tool. Dropping the future notifies the server that the call is cancelled.
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

    /// The reason why a request failed, with the last line of standard error if the server has
    /// exited.
    async fn why(&self, error: &ServiceError) -> String {
        if let Some(verdict) = self.flow.verdict() {
            return verdict;
        }
        if let ServiceError::McpError(error) = error {
            let what = if error.code == ErrorCode::INVALID_PARAMS { REFUSED_ARGUMENTS } else { "it refused: " };
            return format!("{what}{}", shown(self.client.as_ref(), &error.message));
        }
        self.broken.store(self.process.is_none(), Ordering::Relaxed);
        if let Some(process) = &self.process
            && let Some(status) = process.exited().await
        {
            return format!("it ended ({status}){}", process.last_words(&self.config));
        }
        match error {
            ServiceError::TransportClosed if self.process.is_none() => {
                "its answer broke off before it was complete".to_owned()
            }
            ServiceError::TransportSend(error) => of_http(self.client.as_ref(), error.error.as_ref()),
            error => shown(self.client.as_ref(), &error.to_string()),
        }
    }

    pub fn is_alive(&self) -> bool {
        let is_gone = self.broken.load(Ordering::Relaxed)
            || self.process.as_ref().is_some_and(|process| !process.is_alive())
            || self.flow.verdict().is_some()
            || self.peer.is_transport_closed();
        !is_gone
    }

    /// Closes the connection, which in MCP asks a server to exit or to drop the session. A process
    /// that is still running after half a second is killed.
    pub async fn end(&self) {
        let service = lock(&self.service).take();
        match &self.process {
            Some(process) => {
                drop(service);
                process.exited().await;
                process.kill();
            }
            None => {
                if let Some(mut service) = service {
                    let _ = service.close_with_timeout(LEAVE_MAX).await;
                }
            }
        }
    }

    pub fn kill(&self) {
        match &self.process {
            Some(process) => process.kill(),
            None => drop(lock(&self.service).take()),
        }
    }
}

/// The message for a transport failure; failures of our own HTTP client keep their wording.
fn of_http(client: Option<&Client>, error: &(dyn Error + Send + Sync + 'static)) -> String {
    match error.downcast_ref::<HttpError>() {
        Some(HttpError::Client(Fault(why))) => why.clone(),
        Some(HttpError::SessionExpired) => "it forgets each session immediately (status 404)".to_owned(),
        _ => shown(client, &error.to_string()),
    }
}

/// A text that may be the server's, short and without the values that were sent to it.
fn shown(client: Option<&Client>, text: &str) -> String {
    let text = client.map_or(text.to_owned(), |client| client.without_values(text));
    clean(&text.chars().take(1_000).collect::<String>())
}
