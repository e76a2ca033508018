//! Carries out the screen's effects: runs work in the session, passes on decisions, looks things up in the background.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::event::{Effect, Event};
use super::{Options, lookup, shell};
use crate::app::App;
use crate::base::Cancel;
use crate::protocol::{self, Decision};
use crate::session::{Message, Session};
use crate::ui::cli::chat::work::{self, Running};
use crate::ui::cli::told;

pub struct Doer {
    app: App,
    options: Options,
    /// Receives answers from the background.
    events: mpsc::Sender<Event>,
    session: Option<Arc<Session>>,
    running: Option<Running>,
    /// Receives the answer to the open question; dropping it rejects the call.
    reply: Option<oneshot::Sender<Decision>>,
    /// Cancels the user's own command.
    shell: Cancel,
}

impl Doer {
    pub fn new(app: App, options: Options, events: mpsc::Sender<Event>) -> Doer {
        Doer { app, options, events, session: None, running: None, reply: None, shell: Cancel::new() }
    }

    pub fn open(&mut self, session: Session) {
        self.session = Some(Arc::new(session));
    }

    /// The holders of memory; `None` before the session is open.
    pub fn memory(&self) -> Option<protocol::Memory> {
        self.session.as_ref().map(|session| session.memory())
    }

    /// The next event of the running work; waits forever if nothing is running.
    pub async fn next(&mut self) -> Event {
        loop {
            let Some(running) = &mut self.running else { return std::future::pending().await };
            match running.messages.recv().await {
                Some(Message::Record(record)) => return Event::Turn(record.event),
                // A cancelled turn needs no decision; dropping `reply` rejects the call.
                Some(Message::Approve { .. }) if running.cancel.is_cancelled() => {}
                Some(Message::Approve { proposal, reply }) if self.options.approves && proposal.wanted().is_empty() => {
                    // This fails if the turn has ended in the meantime.
                    let _: Result<(), Decision> = reply.send(Decision::Approve);
                }
                Some(Message::Approve { proposal, reply }) => {
                    self.reply = Some(reply);
                    return Event::Approve(proposal);
                }
                Some(Message::Failed(error)) => {
                    return Event::Failed(if running.cancel.is_cancelled() {
                        "cancelled".to_owned()
                    } else {
                        error.to_string()
                    });
                }
                None => {
                    (self.running, self.reply) = (None, None);
                    return Event::Done;
                }
            }
        }
    }

    /// Carries out effects that neither need the terminal nor end the program.
    pub fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Start { work, attached } => {
                // Work only begins once the session is open.
                self.running = self
                    .session
                    .as_ref()
                    .map(|session| work::start(&self.app, session, work, self.options.mode, attached));
            }
            Effect::Cancel => {
                self.reply = None;
                if let Some(running) = &self.running {
                    running.cancel.cancel();
                }
            }
            Effect::Decide(decision) => {
                if let Some(reply) = self.reply.take() {
                    // This fails if the turn was cancelled in the meantime and so needs no
                    // decision.
                    let _: Result<(), Decision> = reply.send(decision);
                }
            }
            Effect::Show(what) => {
                let Some(session) = self.session.clone() else { return };
                self.look_up(move |app| {
                    let shown = work::shown(app, &session, what);
                    Event::Shown(shown.map(|(text, _)| text).map_err(|error| told(&error)))
                });
            }
            Effect::ListFiles => self.look_up(|app| Event::Files(lookup::files(app))),
            Effect::ListOffers => self.look_up(|app| Event::Offers(app.servers().offers(None))),
            Effect::ListCheckpoints => {
                self.look_up(|app| Event::Checkpoints(lookup::checkpoints(app).map_err(|error| told(&error))));
            }
            Effect::Shell(line) => self.shell(line),
            Effect::KillShell => self.shell.cancel(),
            // These are for the terminal: see `run`.
            Effect::Edit { .. } | Effect::Mouse(_) | Effect::Redraw | Effect::Quit { .. } => {}
        }
    }

    fn look_up(&self, find: impl FnOnce(&App) -> Event + Send + 'static) {
        let (app, events) = (self.app.clone(), self.events.clone());
        tokio::task::spawn_blocking(move || {
            // This fails if the screen is gone.
            let _ = events.blocking_send(find(&app));
        });
    }

    fn shell(&mut self, line: String) {
        self.shell = Cancel::new();
        let (project, cancel, events) = (self.app.config.project.clone(), self.shell.clone(), self.events.clone());
        tokio::spawn(async move { shell::run(line, &project, cancel, events).await });
    }

    /// Ends everything running outside the session.
    pub fn end(&mut self) {
        self.shell.cancel();
        if let Some(running) = &self.running {
            running.cancel.cancel();
        }
    }
}
