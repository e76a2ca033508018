//! Does what the screen asks for: runs work in the session, hands decisions over, looks things up in the background.

use std::sync::Arc;

use anyhow::Result;
use tokio::sync::{mpsc, oneshot};

use super::event::{Effect, Event};
use super::{Options, lookup, shell};
use crate::app::App;
use crate::base::Cancel;
use crate::protocol::{self, Ask, Decision, Given, Op, Record};
use crate::session::{Message, Session};
use crate::ui::cli::chat::back;
use crate::ui::cli::chat::line::{Show, Work};
use crate::ui::cli::told;

/// The session and what runs in it.
pub struct Doer {
    app: App,
    options: Options,
    /// Where answers from the background go.
    events: mpsc::Sender<Event>,
    session: Option<Arc<Session>>,
    running: Option<Running>,
    /// Where the open question is answered; dropping it rejects the call.
    reply: Option<oneshot::Sender<Decision>>,
    /// Ends the user's own command.
    shell: Cancel,
}

struct Running {
    messages: mpsc::UnboundedReceiver<Message>,
    cancel: Cancel,
}

impl Doer {
    pub fn new(app: App, options: Options, events: mpsc::Sender<Event>) -> Doer {
        Doer { app, options, events, session: None, running: None, reply: None, shell: Cancel::new() }
    }

    /// The session is open.
    pub fn open(&mut self, session: Session) {
        self.session = Some(Arc::new(session));
    }

    /// What is in memory; `None` before the session is open.
    pub fn memory(&self) -> Option<protocol::Memory> {
        self.session.as_ref().map(|session| session.memory())
    }

    /// The next event of the running work; waits forever if nothing runs.
    pub async fn next(&mut self) -> Event {
        loop {
            let Some(running) = &mut self.running else { return std::future::pending().await };
            match running.messages.recv().await {
                Some(Message::Record(record)) => return Event::Turn(record.event),
                // A cancelled turn needs no decision; dropping `reply` rejects the call.
                Some(Message::Approve { .. }) if running.cancel.is_cancelled() => {}
                Some(Message::Approve { reply, .. }) if self.options.approves => {
                    // It fails if the turn has ended meanwhile.
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

    /// Does what needs neither the terminal nor an end of the program.
    pub fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Start { work, given } => self.start(work, given),
            Effect::Cancel => {
                self.reply = None;
                if let Some(running) = &self.running {
                    running.cancel.cancel();
                }
            }
            Effect::Decide(decision) => {
                if let Some(reply) = self.reply.take() {
                    // It fails if the turn was cancelled meanwhile, which then needs no decision.
                    let _: Result<(), Decision> = reply.send(decision);
                }
            }
            Effect::Show(what) => self.show(what),
            Effect::ListFiles => self.look_up(|app| Event::Files(lookup::files(app))),
            Effect::ListCheckpoints => {
                self.look_up(|app| Event::Checkpoints(lookup::checkpoints(app).map_err(|error| told(&error))));
            }
            Effect::Shell(line) => self.shell(line),
            Effect::KillShell => self.shell.cancel(),
            // These are for the terminal: see `run`.
            Effect::Edit { .. } | Effect::Mouse(_) | Effect::Redraw | Effect::Quit { .. } => {}
        }
    }

    fn start(&mut self, work: Work, given: Vec<Given>) {
        // Work begins only after the session is open.
        let Some(session) = self.session.clone() else { return };
        let cancel = Cancel::new();
        let messages = match work {
            Work::Request(text) => {
                let ask = Ask { text, mode: self.options.mode, given };
                self.app.ask(&session, ask, cancel.clone())
            }
            Work::Back(back) => back::start(self.app.until(cancel.clone()), session.conversation(), back),
            Work::Models(op) => session.submit_with(Op::Models(op), cancel.clone()),
            Work::Resume(number) => resumed(session, number),
            // The screen ends by itself.
            Work::Exit => return,
        };
        self.running = Some(Running { messages, cancel });
    }

    fn show(&self, what: Show) {
        let Some(session) = self.session.clone() else { return };
        self.look_up(move |app| Event::Shown(lookup::shown(app, &session, what).map_err(|error| told(&error))));
    }

    fn look_up(&self, find: impl FnOnce(&App) -> Event + Send + 'static) {
        let (app, events) = (self.app.clone(), self.events.clone());
        tokio::task::spawn_blocking(move || {
            // It fails if the screen is gone.
            let _ = events.blocking_send(find(&app));
        });
    }

    fn shell(&mut self, line: String) {
        self.shell = Cancel::new();
        let (project, cancel, events) = (self.app.config.project.clone(), self.shell.clone(), self.events.clone());
        tokio::spawn(async move { shell::run(line, &project, cancel, events).await });
    }

    /// Ends what runs outside the session.
    pub fn end(&mut self) {
        self.shell.cancel();
        if let Some(running) = &self.running {
            running.cancel.cancel();
        }
    }
}

/// Goes on with an earlier conversation, in the background; the stream ends when it is done.
fn resumed(session: Arc<Session>, number: usize) -> mpsc::UnboundedReceiver<Message> {
    let (sender, messages) = mpsc::unbounded_channel();
    tokio::task::spawn_blocking(move || {
        let event = match resume(&session, number) {
            Ok(text) => protocol::Event::Notice { text },
            Err(error) => protocol::Event::TurnFailed { error: told(&error) },
        };
        // It fails if the screen is gone.
        let _ = sender.send(Message::Record(Record::now(&session.conversation(), event)));
    });
    messages
}

fn resume(session: &Session, number: usize) -> Result<String> {
    let talks = session.talks()?;
    let Some(talk) = number.checked_sub(1).and_then(|at| talks.get(at)) else {
        anyhow::bail!("there is no conversation {number} to go on with; /resume lists the {} there are", talks.len());
    };
    session.resume(talk)?;
    Ok(format!("goes on after {} requests, the first of them: {}", talk.requests, talk.first))
}
