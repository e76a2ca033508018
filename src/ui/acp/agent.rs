//! Answers the client's requests: opens sessions, starts and cancels prompts, sets modes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AgentCapabilities, AuthenticateResponse, CancelNotification, CloseSessionRequest, CloseSessionResponse,
    ConfigOptionUpdate, ContentBlock, CurrentModeUpdate, Error, ErrorCode, Implementation, InitializeRequest,
    InitializeResponse, ListSessionsRequest, ListSessionsResponse, LoadSessionRequest, LoadSessionResponse,
    McpCapabilities, McpServer, NewSessionRequest, NewSessionResponse, PromptCapabilities, PromptRequest,
    PromptResponse, ResumeSessionRequest, ResumeSessionResponse, SessionCapabilities, SessionCloseCapabilities,
    SessionId, SessionInfo, SessionListCapabilities, SessionResumeCapabilities, SessionUpdate,
    SetSessionConfigOptionRequest, SetSessionConfigOptionResponse, SetSessionModeRequest, SetSessionModeResponse,
};
use serde::Serialize;
use serde_json::Value;
use tokio::task::JoinSet;

use super::client::Client;
use super::talk::{Models, Running, Talk};
use super::wire::{self, Incoming, invalid, params};
use super::{options, replay, servers};
use crate::app::{self, App};
use crate::base::ConversationId;
use crate::config::{Given, resolve};
use crate::protocol::{Mode, Record};
use crate::session::{Conversation, Entry, History, Journal, JournalError};

/// Maximum number of simultaneous sessions, because each has an index in memory. Opening another
/// one closes the session that has been idle longest.
const TALKS_MAX: usize = 32;
/// Maximum number of conversations listed, newest first.
const LISTED_MAX: usize = 100;
/// Time limit for running prompts to end once the client has gone.
const END_MAX: Duration = Duration::from_secs(5);

pub struct Agent {
    app: App,
    /// Flags, variables and files that determine the settings of every project.
    given: Given,
    client: Client,
    models: Models,
    talks: BTreeMap<String, Arc<Talk>>,
    prompts: JoinSet<()>,
}

impl Agent {
    pub fn new(app: App, given: Given, client: Client) -> Agent {
        let models = Models::of(app.clone());
        Agent { app, given, client, models, talks: BTreeMap::new(), prompts: JoinSet::new() }
    }

    pub async fn take(&mut self, line: &str) {
        match wire::read(line) {
            Ok(Incoming::Request { id, method, params }) if method == "session/prompt" => {
                match self.begin(&method, params) {
                    // Answered when the prompt ends.
                    Ok((running, prompt)) => self.run(id, running, prompt),
                    Err(error) => self.client.answer::<Value>(&id, Err(error)).await,
                }
            }
            Ok(Incoming::Request { id, method, params }) => {
                let answer = self.answer(&method, params).await;
                self.client.answer(&id, answer).await;
            }
            Ok(Incoming::Notification { method, params }) => self.notified(&method, params),
            Ok(Incoming::Answer { id, result }) => self.client.answered(id, result),
            Ok(Incoming::Stray) => {}
            Err(broken) => self.client.answer::<Value>(&broken.id, Err(broken.error)).await,
        }
        // Removes prompts that have ended.
        while self.prompts.try_join_next().is_some() {}
    }

    /// Answers a request that is quick to answer.
    async fn answer(&mut self, method: &str, given: Value) -> Result<Value, Error> {
        match method {
            "initialize" => {
                let InitializeRequest { client_capabilities, .. } = params(method, given)?;
                let forms = client_capabilities.elicitation.and_then(|elicits| elicits.form);
                self.client.set_takes_forms(forms.is_some());
                written(initialized())
            }
            "authenticate" => written(AuthenticateResponse::new()),
            "session/new" => {
                let NewSessionRequest { cwd, mcp_servers, .. } = params(method, given)?;
                let talk = self.open(method, ConversationId::fresh(), &cwd, mcp_servers)?;
                let (modes, options) = options::both(talk.mode());
                written(NewSessionResponse::new(talk.session_id()).modes(modes).config_options(options))
            }
            "session/load" => {
                let LoadSessionRequest { session_id, cwd, mcp_servers, .. } = params(method, given)?;
                let (talk, records) = self.known(method, session_id, cwd, mcp_servers).await?;
                talk.replay(&self.client, records).await;
                let (modes, options) = options::both(talk.mode());
                written(LoadSessionResponse::new().modes(modes).config_options(options))
            }
            "session/resume" => {
                let ResumeSessionRequest { session_id, cwd, mcp_servers, .. } = params(method, given)?;
                let (talk, _) = self.known(method, session_id, cwd, mcp_servers).await?;
                let (modes, options) = options::both(talk.mode());
                written(ResumeSessionResponse::new().modes(modes).config_options(options))
            }
            "session/list" => self.list(method, &params(method, given)?),
            "session/close" => {
                let CloseSessionRequest { session_id, .. } = params(method, given)?;
                self.talk(method, &session_id)?;
                self.forget(&session_id.0);
                written(CloseSessionResponse::new())
            }
            "session/set_mode" => {
                let SetSessionModeRequest { session_id, mode_id, .. } = params(method, given)?;
                self.set_mode(method, &session_id, options::read(&mode_id.0)?).await?;
                written(SetSessionModeResponse::new())
            }
            "session/set_config_option" => {
                let SetSessionConfigOptionRequest { session_id, config_id, value, .. } = params(method, given)?;
                let mode = options::set(&config_id.0, &value)?;
                self.set_mode(method, &session_id, mode).await?;
                written(SetSessionConfigOptionResponse::new(options::both(mode).1))
            }
            _ => Err(wire::error(ErrorCode::MethodNotFound, format!("there is no method `{method}` here"))),
        }
    }

    /// A notification has no answer, so an unknown one is ignored.
    fn notified(&self, method: &str, given: Value) {
        if method != "session/cancel" {
            return;
        }
        match params::<CancelNotification>(method, given).and_then(|it| self.talk(method, &it.session_id)) {
            Ok(talk) => talk.cancel(),
            Err(error) => tell!("monobloc: note: {}", error.message),
        }
    }

    fn talk(&self, method: &str, id: &SessionId) -> Result<Arc<Talk>, Error> {
        let unknown =
            || invalid(format!("{method}: there is no session `{id}`; session/new or session/load opens one"));
        self.talks.get(id.0.as_ref()).cloned().ok_or_else(unknown)
    }

    /// Opens a session in the folder `cwd`, with that project's settings and the servers passed by
    /// the client.
    fn open(
        &mut self,
        method: &str,
        id: ConversationId,
        cwd: &Path,
        passed: Vec<McpServer>,
    ) -> Result<Arc<Talk>, Error> {
        let project = folder(method, cwd)?;
        let mut given = self.given.clone();
        given.flags.insert("project", project.clone().into_os_string());
        let settings = resolve(&given).map_err(|why| internal(method, why))?;
        let mut config = settings.config();
        let notes = servers::add(&mut config, passed, &settings.user_file);
        let app = self.app.beside(config).map_err(|why| internal(method, crate::ui::cli::told(&why)))?;
        self.make_room(method).inspect_err(|_| app.leave())?;
        let talk = Arc::new(Talk::new(id.clone(), app, project, notes));
        self.talks.insert(id.0, talk.clone());
        Ok(talk)
    }

    /// Closes the session that has been idle longest, if the maximum is reached. Its conversation
    /// remains in the journal.
    fn make_room(&mut self, method: &str) -> Result<(), Error> {
        if self.talks.len() < TALKS_MAX {
            return Ok(());
        }
        let idle = self.talks.iter().filter_map(|(name, talk)| Some((talk.idle_since()?, name)));
        let Some(name) = idle.min().map(|(_, name)| name.clone()) else {
            let why = format!("{method}: all {TALKS_MAX} open sessions are running a prompt; session/close ends one");
            return Err(invalid(why));
        };
        self.forget(&name);
        Ok(())
    }

    /// Opens a conversation from the project's journal; returns its turns.
    async fn known(
        &mut self,
        method: &str,
        id: SessionId,
        cwd: PathBuf,
        passed: Vec<McpServer>,
    ) -> Result<(Arc<Talk>, Vec<Record>), Error> {
        let project = folder(method, &cwd)?;
        if self.talks.get(id.0.as_ref()).is_some_and(|talk| talk.begin().is_err()) {
            return Err(invalid(format!("{method}: `{id}` is running a prompt; session/cancel ends it")));
        }
        // A long journal takes a moment to read.
        let place = project.clone();
        let read = tokio::task::spawn_blocking(move || journal(&place)).await;
        let entries = read.map_err(|lost| internal(method, lost))?.map_err(|why| internal(method, why))?;
        let name = id.0.to_string();
        let records = replay::records(entries, &name);
        if records.is_empty() {
            let why = format!("{method}: {} has no conversation `{id}`; session/list lists them", project.display());
            return Err(wire::error(ErrorCode::ResourceNotFound, why));
        }
        self.forget(&name);
        Ok((self.open(method, ConversationId(name), &project, passed)?, records))
    }

    fn list(&self, method: &str, request: &ListSessionsRequest) -> Result<Value, Error> {
        let project = match &request.cwd {
            Some(cwd) => folder(method, cwd)?,
            None => self.app.project().map_err(|why| invalid(format!("{method}: {why}")))?,
        };
        let info = |talk: Conversation| {
            SessionInfo::new(talk.conversation, project.clone()).title(talk.first).updated_at(talk.time)
        };
        let talks = History::of(&journal(&project).map_err(|why| internal(method, why))?).talks();
        written(ListSessionsResponse::new(talks.into_iter().take(LISTED_MAX).map(info).collect()))
    }

    /// Ends the session with that name, if any: its prompt and, in the background, its servers.
    fn forget(&mut self, name: &str) {
        if let Some(talk) = self.talks.remove(name) {
            talk.cancel();
            tokio::task::spawn_blocking(move || talk.app.leave());
        }
    }

    /// Sets the mode and reports it in both forms, because clients show one or the other.
    async fn set_mode(&self, method: &str, session: &SessionId, mode: Mode) -> Result<(), Error> {
        let talk = self.talk(method, session)?;
        talk.set_mode(mode);
        let (modes, options) = options::both(mode);
        let update = SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(modes.current_mode_id));
        talk.tell(&self.client, update).await;
        talk.tell(&self.client, SessionUpdate::ConfigOptionUpdate(ConfigOptionUpdate::new(options))).await;
        Ok(())
    }

    fn begin(&self, method: &str, given: Value) -> Result<(Running, Vec<ContentBlock>), Error> {
        let PromptRequest { session_id, prompt, .. } = params(method, given)?;
        Ok((self.talk(method, &session_id)?.begin()?, prompt))
    }

    fn run(&mut self, id: Value, running: Running, prompt: Vec<ContentBlock>) {
        let (client, models) = (self.client.clone(), self.models.clone());
        self.prompts.spawn(async move {
            let ended = running.run(&client, &models, prompt).await;
            // The client may send the next prompt as soon as it gets this answer.
            drop(running);
            client.answer(&id, ended.map(PromptResponse::new)).await;
        });
    }

    /// Cancels running prompts and gives them a few seconds to end.
    pub async fn end(mut self) {
        self.talks.values().for_each(|talk| talk.cancel());
        let all = async { while self.prompts.join_next().await.is_some() {} };
        if tokio::time::timeout(END_MAX, all).await.is_err() {
            tell!("monobloc: note: a prompt did not end within {} s", END_MAX.as_secs());
        }
    }
}

fn written(response: impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(response).map_err(Error::into_internal_error)
}

fn internal(method: &str, why: impl std::fmt::Display) -> Error {
    wire::error(ErrorCode::InternalError, format!("{method}: {why}"))
}

fn initialized() -> InitializeResponse {
    let session = SessionCapabilities::new()
        .list(SessionListCapabilities::new())
        .resume(SessionResumeCapabilities::new())
        .close(SessionCloseCapabilities::new());
    let capabilities = AgentCapabilities::new()
        .load_session(true)
        .prompt_capabilities(PromptCapabilities::new().embedded_context(true).image(true))
        .mcp_capabilities(McpCapabilities::new().http(true))
        .session_capabilities(session);
    // This is the only version that the server supports.
    InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(capabilities)
        .agent_info(Implementation::new("monobloc", env!("CARGO_PKG_VERSION")).title("monobloc".to_owned()))
}

/// The folder `cwd` with symbolic links resolved; fails if it is not an existing folder with an
/// absolute path.
fn folder(method: &str, cwd: &Path) -> Result<PathBuf, Error> {
    let shown = cwd.display();
    if !cwd.is_absolute() {
        return Err(invalid(format!("{method}: cwd `{shown}` is not an absolute path")));
    }
    let found = cwd.canonicalize().map_err(|why| invalid(format!("{method}: cwd `{shown}`: {why}")))?;
    if found.is_dir() { Ok(found) } else { Err(invalid(format!("{method}: cwd `{shown}` is not a folder"))) }
}

/// The journal of a project; empty if nothing has been recorded.
fn journal(project: &Path) -> Result<Vec<Entry>, JournalError> {
    match Journal::existing(&app::journal(project))? {
        Some(journal) => journal.entries(),
        None => Ok(Vec::new()),
    }
}
