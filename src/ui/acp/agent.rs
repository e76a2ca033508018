//! Answers the client's requests: opens sessions, starts and cancels prompts, sets modes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AgentCapabilities, AuthenticateResponse, CancelNotification, CloseSessionRequest, CloseSessionResponse,
    ConfigOptionUpdate, CurrentModeUpdate, Error, ErrorCode, Implementation, InitializeRequest, InitializeResponse,
    ListSessionsRequest, ListSessionsResponse, LoadSessionRequest, LoadSessionResponse, McpServer, NewSessionRequest,
    NewSessionResponse, PromptCapabilities, PromptRequest, PromptResponse, ResumeSessionRequest, ResumeSessionResponse,
    SessionCapabilities, SessionCloseCapabilities, SessionId, SessionInfo, SessionListCapabilities,
    SessionResumeCapabilities, SessionUpdate, SetSessionConfigOptionRequest, SetSessionConfigOptionResponse,
    SetSessionModeRequest, SetSessionModeResponse,
};
use serde_json::Value;
use tokio::task::JoinSet;

use super::client::Client;
use super::talk::{Models, Running, Talk};
use super::wire::{self, Incoming, invalid, params};
use super::{content, options, replay, servers};
use crate::app::{self, App};
use crate::base::ConversationId;
use crate::base::config::{Given, resolve};
use crate::protocol::{Ask, Mode, Record};
use crate::session::{Conversation, Entry, History, Journal};

/// Most sessions at once, because each has an index in memory. One more closes the one that has been idle longest.
const TALKS_MAX: usize = 32;
/// Most conversations that are listed, newest first.
const LISTED_MAX: usize = 100;
/// How long running prompts may take to end once the client has gone.
const END_MAX: Duration = Duration::from_secs(5);

pub struct Agent {
    app: App,
    /// Flags, variables and files that the settings of every project come from.
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

    /// Takes one line of the client.
    pub async fn take(&mut self, line: &str) {
        match wire::read(line) {
            Ok(Incoming::Request { id, method, params }) => self.request(id, &method, params).await,
            Ok(Incoming::Notification { method, params }) => self.notified(&method, params),
            Ok(Incoming::Answer { id, result }) => self.client.answered(id, result),
            Ok(Incoming::Stray) => {}
            Err(broken) => self.client.answer::<Value>(&broken.id, Err(broken.error)).await,
        }
        // Prompts that have ended are forgotten.
        while self.prompts.try_join_next().is_some() {}
    }

    async fn request(&mut self, id: Value, method: &str, given: Value) {
        let client = self.client.clone();
        match method {
            "initialize" => client.answer(&id, params(method, given).map(|request| initialized(&request))).await,
            "authenticate" => client.answer(&id, Ok(AuthenticateResponse::new())).await,
            "session/new" => client.answer(&id, params(method, given).and_then(|request| self.fresh(request))).await,
            "session/load" => {
                let loaded = match params(method, given) {
                    Ok(request) => self.load(request).await,
                    Err(error) => Err(error),
                };
                client.answer(&id, loaded).await;
            }
            "session/resume" => {
                let resumed = match params(method, given) {
                    Ok(request) => self.resume(request).await,
                    Err(error) => Err(error),
                };
                client.answer(&id, resumed).await;
            }
            "session/list" => client.answer(&id, params(method, given).and_then(|request| self.list(&request))).await,
            "session/close" => client.answer(&id, params(method, given).and_then(|request| self.close(&request))).await,
            "session/set_mode" => {
                let set = params(method, given).and_then(|request| self.set_mode(&request));
                self.changed(id, set.map(|talk| (talk, SetSessionModeResponse::new()))).await;
            }
            "session/set_config_option" => {
                let set = params(method, given).and_then(|request| self.set_option(&request));
                let answer = |mode| SetSessionConfigOptionResponse::new(options::options(mode));
                self.changed(id, set.map(|talk| (talk.clone(), answer(talk.mode())))).await;
            }
            "session/prompt" => match params(method, given).and_then(|request| self.begin(request)) {
                Ok((running, ask)) => self.run(id, running, ask),
                Err(error) => client.answer::<Value>(&id, Err(error)).await,
            },
            _ => {
                let why = format!("there is no method `{method}` here");
                client.answer::<Value>(&id, Err(wire::error(ErrorCode::MethodNotFound, why))).await;
            }
        }
    }

    /// A notification has no answer, so an unknown one is passed over.
    fn notified(&self, method: &str, given: Value) {
        if method != "session/cancel" {
            return;
        }
        match params::<CancelNotification>(method, given).and_then(|it| self.talk(method, &it.session_id)) {
            Ok(talk) => talk.cancel(),
            Err(error) => eprintln!("monobloc: note: {}", error.message),
        }
    }

    fn talk(&self, method: &str, id: &SessionId) -> Result<Arc<Talk>, Error> {
        let unknown =
            || invalid(format!("{method}: there is no session `{id}`; session/new or session/load opens one"));
        self.talks.get(id.0.as_ref()).cloned().ok_or_else(unknown)
    }

    /// Opens a session on the folder `cwd`. It has that project's settings and the servers that the client passes.
    fn open(
        &mut self,
        method: &str,
        id: ConversationId,
        cwd: &Path,
        passed: Vec<McpServer>,
    ) -> Result<Arc<Talk>, Error> {
        let project = folder(method, cwd)?;
        let mut given = self.given.clone();
        given.flags.insert("project", project.display().to_string());
        let wrong = |why: String| wire::error(ErrorCode::InternalError, format!("{method}: {why}"));
        let settings = resolve(&given).map_err(|why| wrong(why.to_string()))?;
        let mut config = settings.config();
        let notes = servers::add(&mut config, passed, &settings.user_file);
        let app = self.app.beside(config).map_err(|why| wrong(crate::ui::cli::told(&why)))?;
        self.make_room(method).inspect_err(|_| app.leave())?;
        let talk = Arc::new(Talk::new(id.clone(), app, project, notes));
        self.talks.insert(id.0, talk.clone());
        Ok(talk)
    }

    /// Closes the session that has been idle longest, if there are as many as may be. Its conversation is in the journal.
    fn make_room(&mut self, method: &str) -> Result<(), Error> {
        if self.talks.len() < TALKS_MAX {
            return Ok(());
        }
        let idle = longest_idle(self.talks.iter().map(|(name, talk)| (name, talk.idle_since())));
        let Some(name) = idle.cloned() else {
            let why = format!("{method}: all of the {TALKS_MAX} open sessions run a prompt; session/close ends one");
            return Err(invalid(why));
        };
        self.forget(&name);
        Ok(())
    }

    fn fresh(&mut self, request: NewSessionRequest) -> Result<NewSessionResponse, Error> {
        let talk = self.open("session/new", ConversationId::fresh(), &request.cwd, request.mcp_servers)?;
        let response = NewSessionResponse::new(talk.session_id());
        Ok(response.modes(options::modes(talk.mode())).config_options(options::options(talk.mode())))
    }

    async fn load(&mut self, request: LoadSessionRequest) -> Result<LoadSessionResponse, Error> {
        let LoadSessionRequest { session_id, cwd, mcp_servers, .. } = request;
        let (talk, records) = self.known("session/load", session_id, cwd, mcp_servers).await?;
        talk.replay(&self.client, records).await;
        let response = LoadSessionResponse::new().modes(options::modes(talk.mode()));
        Ok(response.config_options(options::options(talk.mode())))
    }

    async fn resume(&mut self, request: ResumeSessionRequest) -> Result<ResumeSessionResponse, Error> {
        let ResumeSessionRequest { session_id, cwd, mcp_servers, .. } = request;
        let (talk, _) = self.known("session/resume", session_id, cwd, mcp_servers).await?;
        let response = ResumeSessionResponse::new().modes(options::modes(talk.mode()));
        Ok(response.config_options(options::options(talk.mode())))
    }

    /// Opens a conversation of the project's journal; returns its turns.
    async fn known(
        &mut self,
        method: &'static str,
        id: SessionId,
        cwd: PathBuf,
        passed: Vec<McpServer>,
    ) -> Result<(Arc<Talk>, Vec<Record>), Error> {
        let project = folder(method, &cwd)?;
        if self.talks.get(id.0.as_ref()).is_some_and(|talk| talk.begin().is_err()) {
            return Err(invalid(format!("{method}: `{id}` runs a prompt; session/cancel ends it")));
        }
        let name = id.0.to_string();
        // A long journal takes a moment to read.
        let read = tokio::task::spawn_blocking({
            let (project, name) = (project.clone(), name.clone());
            move || journal(method, &project).map(|entries| replay::records(entries, &name))
        });
        let lost = |why| wire::error(ErrorCode::InternalError, format!("{method}: {why}"));
        let records = read.await.map_err(lost)??;
        if records.is_empty() {
            let why = format!("{method}: {} has no conversation `{id}`; session/list names them", project.display());
            return Err(wire::error(ErrorCode::ResourceNotFound, why));
        }
        self.forget(&name);
        Ok((self.open(method, ConversationId(name), &project, passed)?, records))
    }

    fn list(&self, request: &ListSessionsRequest) -> Result<ListSessionsResponse, Error> {
        let method = "session/list";
        let project = match &request.cwd {
            Some(cwd) => folder(method, cwd)?,
            None => self.app.project().map_err(|why| invalid(format!("{method}: {why}")))?,
        };
        let info = |talk: Conversation| {
            SessionInfo::new(talk.conversation, project.clone()).title(talk.first).updated_at(talk.time)
        };
        let talks = History::of(&journal(method, &project)?).talks();
        Ok(ListSessionsResponse::new(talks.into_iter().take(LISTED_MAX).map(info).collect()))
    }

    fn close(&mut self, request: &CloseSessionRequest) -> Result<CloseSessionResponse, Error> {
        self.talk("session/close", &request.session_id)?;
        self.forget(&request.session_id.0);
        Ok(CloseSessionResponse::new())
    }

    /// Ends a session, if there is one of that name: its prompt, and its servers in the background.
    fn forget(&mut self, name: &str) {
        if let Some(talk) = self.talks.remove(name) {
            talk.cancel();
            tokio::task::spawn_blocking(move || talk.app.leave());
        }
    }

    fn set_mode(&self, request: &SetSessionModeRequest) -> Result<Arc<Talk>, Error> {
        let talk = self.talk("session/set_mode", &request.session_id)?;
        talk.set_mode(options::read(&request.mode_id.0)?);
        Ok(talk)
    }

    fn set_option(&self, request: &SetSessionConfigOptionRequest) -> Result<Arc<Talk>, Error> {
        let talk = self.talk("session/set_config_option", &request.session_id)?;
        talk.set_mode(options::set(&request.config_id.0, &request.value)?);
        Ok(talk)
    }

    /// Answers a change of the mode, and tells it in both of its forms, whichever the client shows.
    async fn changed<T: serde::Serialize>(&self, id: Value, set: Result<(Arc<Talk>, T), Error>) {
        match set {
            Ok((talk, answer)) => {
                self.client.answer(&id, Ok(answer)).await;
                let mode: Mode = talk.mode();
                let update = SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(options::name(mode)));
                talk.tell(&self.client, update).await;
                let update = SessionUpdate::ConfigOptionUpdate(ConfigOptionUpdate::new(options::options(mode)));
                talk.tell(&self.client, update).await;
            }
            Err(error) => self.client.answer::<Value>(&id, Err(error)).await,
        }
    }

    fn begin(&self, request: PromptRequest) -> Result<(Running, Ask), Error> {
        let talk = self.talk("session/prompt", &request.session_id)?;
        let ask = content::request(request.prompt, &talk.project, talk.mode())?;
        Ok((talk.begin()?, ask))
    }

    fn run(&mut self, id: Value, running: Running, ask: Ask) {
        let (client, models) = (self.client.clone(), self.models.clone());
        self.prompts.spawn(async move {
            let ended = running.run(&client, &models, ask).await;
            // The client may send the next prompt as soon as it has this answer.
            drop(running);
            client.answer(&id, ended.map(PromptResponse::new)).await;
        });
    }

    /// Cancels what runs and waits a few seconds for its end.
    pub async fn end(mut self) {
        self.talks.values().for_each(|talk| talk.cancel());
        let all = async { while self.prompts.join_next().await.is_some() {} };
        if tokio::time::timeout(END_MAX, all).await.is_err() {
            eprintln!("monobloc: note: a prompt did not end within {} s", END_MAX.as_secs());
        }
    }
}

fn initialized(_: &InitializeRequest) -> InitializeResponse {
    let session = SessionCapabilities::new()
        .list(SessionListCapabilities::new())
        .resume(SessionResumeCapabilities::new())
        .close(SessionCloseCapabilities::new());
    let capabilities = AgentCapabilities::new()
        .load_session(true)
        .prompt_capabilities(PromptCapabilities::new().embedded_context(true))
        .session_capabilities(session);
    // Whatever version the client names, this is the one that is spoken here.
    InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(capabilities)
        .agent_info(Implementation::new("monobloc", env!("CARGO_PKG_VERSION")).title("monobloc".to_owned()))
}

/// The folder `cwd` without symbolic links; an error if it is no existing folder with an absolute path.
fn folder(method: &str, cwd: &Path) -> Result<PathBuf, Error> {
    let shown = cwd.display();
    if !cwd.is_absolute() {
        return Err(invalid(format!("{method}: cwd `{shown}` is not an absolute path")));
    }
    let found = cwd.canonicalize().map_err(|why| invalid(format!("{method}: cwd `{shown}`: {why}")))?;
    if found.is_dir() { Ok(found) } else { Err(invalid(format!("{method}: cwd `{shown}` is no folder"))) }
}

/// The journal of a project; empty where nothing was recorded.
fn journal(method: &str, project: &Path) -> Result<Vec<Entry>, Error> {
    let wrong = |why: crate::session::JournalError| wire::error(ErrorCode::InternalError, format!("{method}: {why}"));
    let Some(journal) = Journal::existing(&app::journal(project)).map_err(wrong)? else { return Ok(Vec::new()) };
    journal.entries().map_err(wrong)
}

/// The name that has been idle longest; `None` if none is.
fn longest_idle<T>(talks: impl Iterator<Item = (T, Option<Instant>)>) -> Option<T> {
    let idle = talks.filter_map(|(name, since)| Some((name, since?)));
    idle.min_by_key(|(_, since)| *since).map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_session_that_has_been_idle_longest_makes_room_and_none_that_runs_a_prompt() {
        let now = Instant::now();
        let (early, late) = (Some(now), Some(now + Duration::from_secs(1)));
        assert_eq!(longest_idle([("a", late), ("b", None), ("c", early)].into_iter()), Some("c"));
        assert_eq!(longest_idle([("a", None), ("b", None)].into_iter()), None);
    }
}
