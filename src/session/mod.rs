//! A conversation with a user: takes requests in, runs turns, records and sends out everything that happens.

mod journal;
mod models;

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, oneshot};

use crate::base::{Cancel, ConversationId, StepId};
use crate::budget::process;
use crate::embed::Embedder;
use crate::index::Index;
use crate::orchestrate::{self, Host, Meter, Toolkit, TurnError};
use crate::protocol::{Decision, Event, Memory, ModelFile, Op, Proposal, Record, TurnFinished};
use crate::tools::policy::Policy;

pub use journal::{Journal, JournalError, TurnCost};

/// What a user interface receives during a turn.
#[derive(Debug)]
pub enum Message {
    Record(Record),
    /// The turn waits until `reply` is used; dropping it is a no.
    Approve {
        proposal: Proposal,
        reply: oneshot::Sender<Decision>,
    },
    /// The last message of a turn that could not be finished.
    Failed(TurnError),
}

/// One conversation. The journal is shared with nobody: a session writes it from one thread at a time.
pub struct Session {
    toolkit: Toolkit,
    conversation: ConversationId,
    journal: Option<Arc<Mutex<Journal>>>,
    policy: Policy,
}

impl Session {
    /// `database` is the project's `.monobloc/monobloc.db`; without one nothing is recorded.
    pub fn open(toolkit: Toolkit, database: Option<&Path>, policy: Policy) -> Result<Session, JournalError> {
        let journal = database.map(Journal::open).transpose()?.map(|journal| Arc::new(Mutex::new(journal)));
        Ok(Session { toolkit, conversation: ConversationId::fresh(), journal, policy })
    }

    /// Runs `op` in the background. The stream ends with `turn-finished` (or `plan-created`), or [`Message::Failed`].
    pub fn submit(&self, op: Op) -> mpsc::UnboundedReceiver<Message> {
        self.submit_with(op, self.toolkit.cancel.clone())
    }

    /// The same with a flag of its own, so that one turn of a conversation can be ended and the next one begin.
    pub fn submit_with(&self, op: Op, cancel: Cancel) -> mpsc::UnboundedReceiver<Message> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let host = SessionHost {
            messages: sender,
            conversation: self.conversation.clone(),
            journal: self.journal.clone(),
            policy: self.policy.clone(),
        };
        let mut toolkit = Toolkit { meter: Meter::start(), cancel: cancel.clone(), ..self.toolkit.clone() };
        if let Some(context) = &mut toolkit.context {
            context.cancel = cancel;
        }
        tokio::spawn(async move {
            let ended = match op {
                Op::Plan(ask) => orchestrate::plan_turn(&toolkit, &ask.text, &host).await.map(|_| None),
                Op::Ask(ask) => orchestrate::run_turn(&toolkit, &ask.text, &host).await.map(Some),
                Op::Models(op) => models::carry_out(&toolkit, op, &host).await.map(|()| None),
            };
            match ended {
                Ok(Some(finished)) => host.emit(Event::TurnFinished(with_memory(finished))),
                Ok(None) => {}
                Err(error) => host.send(Message::Failed(error)),
            }
        });
        receiver
    }

    pub fn conversation(&self) -> &ConversationId {
        &self.conversation
    }

    /// What is in memory now. Answers at once, whatever runs.
    pub fn memory(&self) -> Memory {
        models::memory(&self.toolkit.pool)
    }

    /// The model files at hand, and what each would take.
    pub fn model_files(&self) -> Vec<ModelFile> {
        models::files(&self.toolkit.pool)
    }

    /// The project's index, to be brought up to date between turns.
    pub fn index(&self) -> Option<Arc<Index>> {
        self.toolkit.index.clone()
    }

    pub fn embedder(&self) -> Option<Embedder> {
        self.toolkit.embedder.clone()
    }
}

fn with_memory(mut finished: TurnFinished) -> TurnFinished {
    finished.usage.peak_memory_bytes = process::peak_memory().map_or(0, |bytes| bytes.0);
    finished
}

struct SessionHost {
    messages: mpsc::UnboundedSender<Message>,
    conversation: ConversationId,
    journal: Option<Arc<Mutex<Journal>>>,
    policy: Policy,
}

impl SessionHost {
    fn send(&self, message: Message) {
        // A user interface that is gone needs no messages; the turn ends on its own.
        let _ = self.messages.send(message);
    }
}

impl Host for SessionHost {
    fn emit(&self, event: Event) {
        let record = Record::now(&self.conversation, event);
        if let Some(journal) = &self.journal
            && let Err(error) = journal.lock().unwrap_or_else(PoisonError::into_inner).append(&record)
        {
            tracing::warn!(%error, "an event was not recorded");
        }
        self.send(Message::Record(record));
    }

    fn approve<'a>(&'a self, _: StepId, proposal: &'a Proposal) -> Pin<Box<dyn Future<Output = Decision> + Send + 'a>> {
        let (reply, answer) = oneshot::channel();
        self.send(Message::Approve { proposal: proposal.clone(), reply });
        Box::pin(async move { answer.await.unwrap_or(Decision::Reject) })
    }

    fn policy(&self) -> &Policy {
        &self.policy
    }
}
