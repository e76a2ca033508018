//! Carries out a turn of the page in the background: hands its events to the log and its questions to the user.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;

use super::log::Said;
use super::turns::Turn;
use crate::protocol::{Ask, Event, Record};
use crate::serve::Server;
use crate::session::Message;

/// Longest time that a question stays open. The turn holds the project's lock meanwhile, so other processes wait.
const QUESTION_TIME: Duration = Duration::from_secs(30 * 60);

/// Ends the turn when dropped, so that it ends whatever happens: no other one begins before.
struct Ends(Arc<Turn>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Runs the turn to its end, whether anybody looks on or not.
pub async fn run(server: Server, turn: Arc<Turn>, ask: Ask) {
    let ends = Ends(turn.clone());
    let inner = &server.inner;
    let say = |event| {
        turn.log.add(Said::Record(Box::new(Record::now(&inner.page.conversation, event))));
    };
    match inner.page.session(&inner.agent).await {
        Ok(session) => follow(&turn, inner.app.ask(&session, ask, turn.cancel.clone()), say).await,
        Err(problem) => say(Event::TurnFailed { error: problem.message }),
    }
    drop(ends);
}

async fn follow(turn: &Turn, mut messages: UnboundedReceiver<Message>, say: impl Fn(Event)) {
    loop {
        match tokio::time::timeout(QUESTION_TIME, messages.recv()).await {
            Ok(Some(Message::Record(record))) => {
                turn.log.add(Said::Record(Box::new(record)));
            }
            // Nobody would answer it any more.
            Ok(Some(Message::Approve { reply, .. })) if turn.cancel.is_cancelled() => drop(reply),
            Ok(Some(Message::Approve { proposal, reply })) => turn.ask(proposal, reply),
            Ok(Some(Message::Failed(error))) => {
                let cancelled = turn.cancel.is_cancelled();
                say(Event::TurnFailed { error: if cancelled { "cancelled".to_owned() } else { error.to_string() } });
            }
            Ok(None) => return,
            // While anything works, there are signs of life: only an open question is so quiet.
            Err(_) => turn.close("nobody answered"),
        }
    }
}
