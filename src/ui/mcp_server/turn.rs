//! Runs one request for `ask`, and reports its progress and end.

use std::sync::Arc;

use rmcp::service::{Peer, RoleServer};
use tokio::sync::watch;

use super::consent;
use super::project::Project;
use crate::base::Cancel;
use crate::protocol::{Ask, Event, StepReport, TurnFinished};
use crate::session::{Message, Session};
use crate::ui::words;

/// The progress of a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// Its current work.
    Running(String),
    /// The text for the client, or the reason there is none.
    Ended(Result<String, String>),
}

/// Runs the request to its end and keeps `state` up to date.
pub async fn run(project: Arc<Project>, ask: Ask, peer: Peer<RoleServer>, cancel: Cancel, state: watch::Sender<State>) {
    state.send_replace(State::Running("reading what has changed in the project".to_owned()));
    let opening = {
        let (project, cancel) = (project.clone(), cancel.clone());
        tokio::task::spawn_blocking(move || project.session(&cancel))
    };
    let opened = tokio::select! {
        opened = opening => opened.unwrap_or_else(|lost| Err(lost.into())).map_err(|why| crate::ui::cli::told(&why)),
        () = cancel.cancelled() => Err("cancelled".to_owned()),
    };
    let ended = match opened {
        Ok((session, notes)) => follow(&project, &session, ask, &peer, &cancel, &state, notes).await,
        Err(why) => Err(why),
    };
    state.send_replace(State::Ended(ended));
}

async fn follow(
    project: &Project,
    session: &Arc<Session>,
    ask: Ask,
    peer: &Peer<RoleServer>,
    cancel: &Cancel,
    state: &watch::Sender<State>,
    mut notes: Vec<String>,
) -> Result<String, String> {
    let mut messages = project.app.ask(session, ask, cancel.clone());
    let mut ended = Err("the turn ended without an answer; this is a bug in mcp_server".to_owned());
    while let Some(message) = messages.recv().await {
        match message {
            Message::Record(record) => match record.event {
                Event::TurnFinished(finished) => ended = Ok(finished),
                Event::Notice { text } => notes.push(text),
                event => drop(doing(&event).map(|doing| state.send_replace(State::Running(doing)))),
            },
            Message::Approve { proposal, reply } => {
                state.send_replace(State::Running(format!("waiting for {} for {}", proposal.need(), proposal.tool)));
                let asked = tokio::select! {
                    asked = consent::ask(peer, &proposal) => asked,
                    () = cancel.cancelled() => continue,
                };
                // This fails if the turn has ended in the meantime and so needs no decision.
                let _ = reply.send(asked);
            }
            Message::Failed(error) => ended = Err(error.to_string()),
        }
    }
    ended.map(|finished| told(&finished, &notes))
}

/// The work in progress, according to an event.
fn doing(event: &Event) -> Option<String> {
    match event {
        Event::StepExecuting { step, description } => Some(format!("{step}: {description}")),
        Event::CallStarted { tool, .. } => Some(format!("running {tool}")),
        other => words::doing(other),
    }
}

/// The answer, then the actions, then the notes.
fn told(finished: &TurnFinished, notes: &[String]) -> String {
    let mut text = finished.answer.trim_end().to_owned();
    let changing: Vec<&StepReport> = finished.steps.iter().filter(|step| step.executing).collect();
    if !changing.is_empty() {
        text.push_str("\n\nCalls that may change something:");
    }
    for StepReport { tool, status, summary, .. } in changing {
        text.push_str(&format!("\n- {tool} {}: {summary}", words::status(*status)));
    }
    notes.iter().for_each(|note| text.push_str(&format!("\nnote: {note}")));
    text
}
