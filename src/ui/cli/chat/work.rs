//! Does the work that a line of a conversation requests, in line-based and full-screen conversations.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, bail};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::line::{self, Show, Work};
use super::table;
use crate::app::{App, Back, Went};
use crate::base::Cancel;
use crate::protocol::{Ask, Event, Given, Mode, Op, Record};
use crate::session::{Message, Session};
use crate::ui::cli::{ask, checkpoints, told};

/// Maximum number of listed checkpoints and conversations, newest first, and of named changed
/// files.
const SHOWN_MAX: usize = 20;

/// Work in progress. Its messages end when the work does.
pub struct Running {
    pub messages: mpsc::UnboundedReceiver<Message>,
    pub cancel: Cancel,
}

/// The pictures and pastes sent with a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attached {
    pub given: Vec<Given>,
    /// Picture files, inside the project or elsewhere.
    pub pictures: Vec<PathBuf>,
}

/// Begins work in the session.
pub fn start(app: &App, session: &Arc<Session>, work: Work, mode: Mode, attached: Attached) -> Running {
    let cancel = Cancel::new();
    let messages = match work {
        Work::Request(text) => {
            let Attached { given, pictures } = attached;
            match ask::pictures(&pictures, app) {
                Ok(pictures) => {
                    let ask = Ask { text, mode, given, pictures, ..Ask::default() };
                    app.ask(session, ask, cancel.clone())
                }
                Err(why) => in_background(session, |_| Err(why)),
            }
        }
        Work::Retry => match session.last() {
            Ok(ask) => app.ask(session, ask, cancel.clone()),
            Err(why) => in_background(session, move |_| bail!(why)),
        },
        Work::Models(op) => session.submit_with(Op::Models(op), cancel.clone()),
        Work::Offers => {
            let app = app.clone();
            in_background(session, move |_| {
                Ok(vec![Event::Notice { text: table::offers(&app.servers().offers(None)) }])
            })
        }
        Work::Back(back) => {
            let app = app.until(cancel.clone());
            in_background(session, move |_| go_back(&app, &back))
        }
        Work::Resume(number) => in_background(session, move |session| resume(session, number)),
        Work::Think(think) => in_background(session, move |session| {
            session.think(think);
            Ok(vec![Event::Notice { text: format!("from now on: thinking {think}") }])
        }),
        // The reader of the line ends on its own.
        Work::Exit => mpsc::unbounded_channel().1,
    };
    Running { messages, cancel }
}

/// The events returned by `work`, or its failure.
fn in_background(
    session: &Arc<Session>,
    work: impl FnOnce(&Session) -> Result<Vec<Event>> + Send + 'static,
) -> mpsc::UnboundedReceiver<Message> {
    let (sender, messages) = mpsc::unbounded_channel();
    let session = session.clone();
    tokio::task::spawn_blocking(move || {
        let events = work(&session).unwrap_or_else(|error| vec![Event::TurnFailed { error: told(&error) }]);
        for event in events {
            // Failure is fine: it means that the receiver is gone.
            let _ = sender.send(Message::Record(Record::now(&session.conversation(), event)));
        }
    });
    messages
}

/// Goes back. The events report unrestored files and the result.
fn go_back(app: &App, back: &Back) -> Result<Vec<Event>> {
    match app.go_back("monobloc chat", back)? {
        Went::Back { rewound, notes } => {
            let notes = notes.into_iter().map(|text| Event::Notice { text });
            Ok(notes.chain([Event::Rewound(rewound)]).collect())
        }
        Went::Undecided(foreign) => {
            let shown = foreign.iter().take(SHOWN_MAX).cloned().collect::<Vec<_>>().join(", ");
            let command = back.to.as_ref().map_or("/undo".to_owned(), |name| format!("/rewind {name}"));
            bail!(
                "changed outside monobloc in the meantime: {shown}; nothing was changed: `{command} force` overwrites, \
                 `{command} keep` takes back only the others"
            )
        }
    }
}

fn resume(session: &Session, number: usize) -> Result<Vec<Event>> {
    let talks = session.talks()?;
    let Some(talk) = number.checked_sub(1).and_then(|at| talks.get(at)) else {
        bail!("there is no conversation {number}; /resume lists all {}", talks.len());
    };
    session.resume(talk)?;
    let text = format!("continues after {} requests, the first of them: {}", talk.requests, talk.first);
    Ok(vec![Event::Notice { text }])
}

/// The output of a display command, as text and as JSON.
pub fn shown(app: &App, session: &Session, what: Show) -> Result<(String, Value)> {
    let (text, kind, data) = match what {
        Show::Help => (line::help(), "help", json!({ "text": line::help() })),
        Show::Memory => {
            let memory = session.memory();
            (table::memory(&memory), "memory", json!(memory))
        }
        Show::Files => {
            let files = session.model_files();
            (table::files(&files), "models", json!({ "files": files }))
        }
        Show::Checkpoints => {
            let rows = app.checkpoints(SHOWN_MAX)?.unwrap_or_default();
            let lines: Vec<String> = rows.iter().map(checkpoints::line).collect();
            let text = if lines.is_empty() { checkpoints::NONE.to_owned() } else { lines.join("\n") };
            (text, "checkpoints", json!({ "checkpoints": rows }))
        }
        Show::Talks => {
            let mut talks = session.talks()?;
            talks.truncate(SHOWN_MAX);
            (table::talks(&talks), "conversations", json!({ "conversations": talks }))
        }
    };
    Ok((text, json!({ "type": kind, "data": data })))
}
