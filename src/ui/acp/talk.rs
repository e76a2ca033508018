//! One session of the protocol: a conversation about a project, opened with its first prompt, and its running prompt.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use agent_client_protocol_schema::v1::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, ContentBlock, Error, ErrorCode, SessionId,
    SessionNotification, SessionUpdate, StopReason, UnstructuredCommandInput,
};
use anyhow::Result;

use super::client::Client;
use super::updates::{self, Updates};
use super::{content, permission, replay, wire};
use crate::app::{App, SharedModels};
use crate::base::{Cancel, ConversationId, lock};
use crate::protocol::{Ask, Event, Mode, Record};
use crate::session::{Message, Session};
use crate::tools::mcp::offers::Prompt;

/// The models of the process, found on the first prompt. A failure is not kept, because the user
/// may fetch a model and ask again.
#[derive(Clone)]
pub struct Models {
    app: App,
    found: Arc<Mutex<Option<SharedModels>>>,
}

impl Models {
    pub fn of(app: App) -> Models {
        Models { app, found: Arc::default() }
    }

    fn get(&self) -> Result<SharedModels> {
        let mut found = lock(&self.found);
        if let Some(models) = &*found {
            return Ok(models.clone());
        }
        Ok(found.insert(self.app.shared_models()?).clone())
    }
}

pub struct Talk {
    pub id: ConversationId,
    pub app: App,
    /// With symbolic links resolved.
    pub project: PathBuf,
    mode: Mutex<Mode>,
    /// The conversation, once a prompt has opened it. The lock is held during opening, so that this
    /// happens only once.
    session: Mutex<Option<Arc<Session>>>,
    phase: Mutex<Phase>,
    calls: Arc<AtomicUsize>,
    /// Notes to send with the next prompt.
    notes: Mutex<Vec<String>>,
    /// Whether the prompts of its servers have yet to be announced to the client.
    is_new: AtomicBool,
}

/// Whether a prompt is running.
enum Phase {
    Idle { since: Instant },
    Running(Cancel),
}

/// A running prompt. Dropping this lets its session accept the next one.
pub struct Running {
    talk: Arc<Talk>,
    cancel: Cancel,
    /// The mode at its start.
    mode: Mode,
}

impl Drop for Running {
    fn drop(&mut self) {
        *lock(&self.talk.phase) = Phase::Idle { since: Instant::now() };
    }
}

impl Talk {
    pub fn new(id: ConversationId, app: App, project: PathBuf, notes: Vec<String>) -> Talk {
        Talk {
            id,
            app,
            project,
            mode: Mutex::default(),
            session: Mutex::default(),
            phase: Mutex::new(Phase::Idle { since: Instant::now() }),
            calls: Arc::default(),
            notes: Mutex::new(notes),
            is_new: AtomicBool::new(true),
        }
    }

    pub fn session_id(&self) -> SessionId {
        SessionId::new(self.id.0.as_str())
    }

    /// Announces the prompts of its servers to the client, once, as commands; does nothing if there
    /// are none.
    async fn announce(&self, client: &Client) {
        if self.app.config.servers.is_empty() || !self.is_new.swap(false, Ordering::Relaxed) {
            return;
        }
        let servers = self.app.servers().clone();
        // If a server is unavailable, the session's notes mention it.
        let Ok(offers) = tokio::task::spawn_blocking(move || servers.offers(None)).await else { return };
        let command = |prompt: &Prompt| {
            let input = UnstructuredCommandInput::new(prompt.takes());
            let input = (!prompt.arguments.is_empty()).then_some(AvailableCommandInput::Unstructured(input));
            AvailableCommand::new(&prompt.written()[1..], &prompt.about).input(input)
        };
        let commands: Vec<_> = offers.prompts.iter().map(command).collect();
        if !commands.is_empty() {
            let update = AvailableCommandsUpdate::new(commands);
            self.tell(client, SessionUpdate::AvailableCommandsUpdate(update)).await;
        }
    }

    pub fn mode(&self) -> Mode {
        *lock(&self.mode)
    }

    pub fn set_mode(&self, mode: Mode) {
        *lock(&self.mode) = mode;
    }

    /// Begins a prompt. Fails if one is already running.
    pub fn begin(self: &Arc<Talk>) -> Result<Running, Error> {
        let mut phase = lock(&self.phase);
        if matches!(*phase, Phase::Running(_)) {
            let why =
                format!("session/prompt: {} is running a prompt; wait for its end, or send session/cancel", self.id);
            return Err(wire::error(ErrorCode::InvalidRequest, why));
        }
        let cancel = Cancel::new();
        *phase = Phase::Running(cancel.clone());
        Ok(Running { talk: self.clone(), cancel, mode: self.mode() })
    }

    /// Since when no prompt has been running; `None` while one is.
    pub fn idle_since(&self) -> Option<Instant> {
        match *lock(&self.phase) {
            Phase::Idle { since } => Some(since),
            Phase::Running(_) => None,
        }
    }

    /// Cancels the running prompt, if any.
    pub fn cancel(&self) {
        if let Phase::Running(cancel) = &*lock(&self.phase) {
            cancel.cancel();
        }
    }

    pub async fn tell(&self, client: &Client, update: SessionUpdate) {
        client.notify("session/update", &SessionNotification::new(self.session_id(), update)).await;
    }

    /// Replays the updates that a client received when turns in the journal ran.
    pub async fn replay(&self, client: &Client, records: Vec<Record>) {
        let mut updates = self.updates();
        for Record { event, .. } in records {
            if matches!(event, Event::TurnStarted { .. }) {
                updates = self.updates();
            }
            for update in updates.of(&replay::whole(event)) {
                self.tell(client, update).await;
            }
        }
    }

    /// For the next turn.
    fn updates(&self) -> Updates {
        Updates::new(self.project.clone(), self.calls.clone())
    }

    /// The conversation with models, tools and index; the first prompt creates it. Blocks in the
    /// meantime.
    fn opened(&self, models: &Models, cancel: &Cancel) -> Result<Arc<Session>> {
        let mut session = lock(&self.session);
        if let Some(session) = &*session {
            return Ok(session.clone());
        }
        let index = Arc::new(self.app.index()?);
        let (opened, notes) = self.app.session_refreshed(&models.get()?, index, cancel, &mut |_| ())?;
        let opened = opened.of("monobloc acp");
        opened.converse(&self.id)?;
        lock(&self.notes).extend(notes);
        Ok(session.insert(Arc::new(opened)).clone())
    }
}

impl Running {
    /// Runs a prompt's request to its end and sends its events to the client.
    pub async fn run(&self, client: &Client, models: &Models, prompt: Vec<ContentBlock>) -> Result<StopReason, Error> {
        let (talk, mode) = (self.talk.clone(), self.mode);
        let read = move || content::request(prompt, &talk.project, &talk.app.config.commands.hidden, mode);
        let ask = tokio::task::spawn_blocking(read).await.map_err(|lost| failed(&lost.to_string()))??;
        let (talk, models, cancel) = (self.talk.clone(), models.clone(), self.cancel.clone());
        let opening = tokio::task::spawn_blocking(move || talk.opened(&models, &cancel));
        let opened = tokio::select! {
            opened = opening => opened.unwrap_or_else(|lost| Err(lost.into())),
            () = self.cancel.cancelled() => return Ok(StopReason::Cancelled),
        };
        let session = match opened {
            Ok(session) => session,
            Err(_) if self.cancel.is_cancelled() => return Ok(StopReason::Cancelled),
            Err(why) => return Err(failed(&crate::ui::cli::told(&why))),
        };
        let notes = std::mem::take(&mut *lock(&self.talk.notes));
        for note in notes {
            self.talk.tell(client, updates::note(&note)).await;
        }
        // No server is started before the first prompt, which does not wait for this task.
        let (talk, own) = (self.talk.clone(), client.clone());
        tokio::spawn(async move { talk.announce(&own).await });
        self.follow(client, &session, ask).await
    }

    async fn follow(&self, client: &Client, session: &Arc<Session>, ask: Ask) -> Result<StopReason, Error> {
        let talk = &self.talk;
        let mut messages = talk.app.ask(session, ask, self.cancel.clone());
        let mut updates = talk.updates();
        let (mut failure, mut finished) = (None, false);
        while let Some(message) = messages.recv().await {
            match message {
                Message::Record(record) => {
                    finished |= matches!(record.event, Event::TurnFinished(_));
                    for update in updates.of(&record.event) {
                        talk.tell(client, update).await;
                    }
                }
                Message::Approve { proposal, reply } => {
                    let (id, call) = (talk.session_id(), updates.asked.clone());
                    // Without an answer `reply` is dropped, which rejects the call.
                    tokio::select! {
                        biased;
                        () = self.cancel.cancelled() => {}
                        decided = permission::ask(client, &id, call, &proposal, &talk.project) => {
                            drop(decided.map(|decision| reply.send(decision)));
                        }
                    }
                }
                Message::Failed(error) => failure = Some(error),
            }
        }
        match failure {
            _ if self.cancel.is_cancelled() => Ok(StopReason::Cancelled),
            Some(error) => Err(failed(&error.to_string())),
            None if !finished => Err(failed("the turn ended without an answer")),
            None => Ok(StopReason::EndTurn),
        }
    }
}

fn failed(why: &str) -> Error {
    wire::error(ErrorCode::InternalError, format!("session/prompt: {why}"))
}
