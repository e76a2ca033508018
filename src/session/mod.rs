//! A conversation with a user: accepts requests, runs turns, records every event and sends it to the user interface.

mod audit;
mod chain;
mod history;
mod journal;
mod models;
mod replay;
mod rewind;
mod telemetry;

use crate::base::lock;
use crate::config::{ApproveMode, Think};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};

use tokio::sync::{mpsc, oneshot};

use crate::agent::{self, Deciding, Host, Meter, Toolkit, TurnError};
use crate::base::mask::Mask;
use crate::base::{Bytes, Cancel, ConversationId, StepId};
use crate::budget::process;
use crate::checkpoint::{About, Anchor, Summary, Turn};
use crate::embed::Embedder;
use crate::index::Index;
use crate::models::Picture;
use crate::protocol::{Ask, Decision, Event, Exchange, Memory, ModelFile, Op, Proposal, Record, TurnFinished};
use crate::tools::policy::Policy;
use crate::tools::{Catalog, Prefilter};

pub use audit::{AuditError, export, verify};
pub use chain::{Damage, Link};
pub use history::{CallRecord, Conversation, History, TurnRecord};
pub use journal::{Entry, Journal, JournalError};
pub use models::memory;
pub use replay::{Compared, Comparison, ReplayError, Replayed, replay};
pub use rewind::{Prepared, RewindError, Rewinder, recover};
pub use telemetry::{TimedCall, TurnStats, telemetry};

#[derive(Debug)]
pub enum Message {
    Record(Record),
    /// The turn is waiting for a decision through `reply`; dropping `reply` rejects the call.
    Approve {
        proposal: Proposal,
        reply: oneshot::Sender<Decision>,
    },
    /// The last message of a turn that could not be finished.
    Failed(TurnError),
}

/// One conversation. Its journal handle is not shared; one thread at a time writes through it.
pub struct Session {
    toolkit: Mutex<Toolkit>,
    journal: Option<Arc<Mutex<Journal>>>,
    policy: Policy,
    mask: Mask,
    /// The command that runs it, shown to other processes waiting for the project's lock.
    command: &'static str,
    /// Requests and answers of the last turns, oldest first.
    earlier: Arc<Mutex<VecDeque<Exchange>>>,
    /// The last request, or the reason it is not kept.
    last: Mutex<Result<Ask, &'static str>>,
}

/// Maximum number of earlier turns to which a later turn can refer.
const EARLIER_MAX: usize = 64;
/// Maximum number of characters kept of each request and answer.
const EARLIER_CHARS: usize = 8_000;
/// Maximum total size of the pictures kept with the last request.
const LAST_PICTURES_MAX: Bytes = Bytes::mib(20);

impl Session {
    /// `journal` is the path of the project's journal; without one, nothing is recorded and nothing
    /// can be undone.
    pub fn open(toolkit: Toolkit, journal: Option<&Path>, policy: Policy) -> Result<Session, JournalError> {
        let journal = journal.map(Journal::open).transpose()?.map(|journal| Arc::new(Mutex::new(journal)));
        Ok(Session {
            toolkit: Mutex::new(toolkit),
            journal,
            policy,
            mask: Mask::Nothing,
            command: "monobloc",
            earlier: Arc::default(),
            last: Mutex::new(Err("nothing was asked in this conversation yet")),
        })
    }

    /// The same session, run by the given command.
    pub fn of(self, command: &'static str) -> Session {
        Session { command, ..self }
    }

    /// Replaces the tools, starting with the next turn.
    pub fn offer(&self, catalog: Catalog, prefilter: Prefilter) {
        let mut toolkit = lock(&self.toolkit);
        (toolkit.catalog, toolkit.prefilter) = (Arc::new(catalog), Arc::new(prefilter));
    }

    fn toolkit(&self) -> Toolkit {
        lock(&self.toolkit).clone()
    }

    /// Sets how much models think in this conversation, regardless of the settings.
    pub fn think(&self, think: Think) {
        lock(&self.toolkit).think = Some(think);
    }

    /// The same session with `mask` applied to everything that is stored; display and actions stay
    /// the same.
    pub fn masking(self, mask: Mask) -> Session {
        Session { mask, ..self }
    }

    /// Runs `op` in the background. The stream ends with `turn-finished` (or `plan-created`), or [`Message::Failed`].
    pub fn submit(&self, op: Op) -> mpsc::UnboundedReceiver<Message> {
        self.submit_with(op, self.toolkit().cancel)
    }

    /// Like `submit`, with a separate cancel flag: one turn can be cancelled while the conversation
    /// continues.
    pub fn submit_with(&self, op: Op, cancel: Cancel) -> mpsc::UnboundedReceiver<Message> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut toolkit = Toolkit { meter: Meter::start(), cancel: cancel.clone(), ..self.toolkit() };
        let inspects = matches!(&op, Op::Ask(ask) if ask.inspects);
        let policy = self.policy.clone();
        let host = SessionHost {
            messages: sender,
            conversation: toolkit.conversation.clone(),
            journal: self.journal.clone(),
            policy: if inspects { policy.under(ApproveMode::Always) } else { policy },
            inspects,
            mask: self.mask.clone(),
            command: self.command,
            shows_thoughts: toolkit.cognitive.cot_streaming,
        };
        let turn = match (&op, &toolkit.context) {
            (Op::Ask(ask), Some(context)) => host.begin(&ask.text, context.root.path(), &cancel).map(Arc::new),
            _ => None,
        };
        if let Op::Ask(ask) | Op::Plan(ask) = &op {
            if matches!(op, Op::Ask(_)) {
                *lock(&self.last) = kept(ask);
            }
            (toolkit.mode, toolkit.given) = (ask.mode, ask.given.clone());
            toolkit.earlier = lock(&self.earlier).iter().cloned().collect();
        }
        let earlier = self.earlier.clone();
        if let Some(context) = &mut toolkit.context {
            (context.cancel, context.turn) = (cancel, turn.clone());
        }
        tokio::spawn(async move {
            let ended = carried_out(op, toolkit, &host).await;
            let made = match turn {
                Some(turn) => host.settle(turn).await,
                None => None,
            };
            let mut undo = made.as_ref().filter(|made| is_change(made)).map(|_| UNDO.to_owned());
            if let (Ok(Some(finished)), Some(undo)) = (&ended, &mut undo) {
                let is_listed = finished.answer.lines().last().is_some_and(|last| last.starts_with("- "));
                undo.insert_str(0, if is_listed { "\n- " } else { "\n\n" });
            }
            match (&ended, &undo) {
                (Ok(_), Some(undo)) => host.emit(Event::Token { text: undo.clone() }),
                (Err(_), Some(undo)) => host.emit(Event::Notice { text: undo.clone() }),
                _ => {}
            }
            made.into_iter().for_each(|made| host.emit(made));
            match ended {
                Ok(Some(mut finished)) => {
                    let exchange = Exchange { request: finished.request.clone(), answer: finished.answer.clone() };
                    remember(&mut lock(&earlier), exchange);
                    finished.answer.push_str(undo.as_deref().unwrap_or_default());
                    host.emit(Event::TurnFinished(with_memory(finished)));
                }
                Ok(None) => {}
                Err(error) => host.send(Message::Failed(error)),
            }
        });
        receiver
    }

    /// The last request, finished or not, or the reason there is none.
    pub fn last(&self) -> Result<Ask, &'static str> {
        lock(&self.last).clone()
    }

    pub fn conversation(&self) -> ConversationId {
        self.toolkit().conversation
    }

    /// The project's other conversations that can be continued, newest first.
    pub fn talks(&self) -> Result<Vec<Conversation>, JournalError> {
        let mut talks = self.history()?.talks();
        let own = self.conversation();
        talks.retain(|talk| talk.conversation != own.0);
        Ok(talks)
    }

    /// Continues the conversation `talk`: later requests belong to it and can refer to its earlier
    /// exchanges.
    pub fn resume(&self, talk: &Conversation) -> Result<(), JournalError> {
        self.converse(&ConversationId(talk.conversation.clone()))
    }

    /// From now on, requests belong to `conversation`, which may be new.
    pub fn converse(&self, conversation: &ConversationId) -> Result<(), JournalError> {
        self.recall(self.history()?.exchanges(&conversation.0));
        let mut toolkit = lock(&self.toolkit);
        toolkit.conversation = conversation.clone();
        Ok(())
    }

    /// Replaces the earlier exchanges, oldest first; later requests can refer to them.
    pub fn recall(&self, exchanges: Vec<Exchange>) {
        let mut earlier = lock(&self.earlier);
        earlier.clear();
        exchanges.into_iter().for_each(|exchange| remember(&mut earlier, exchange));
    }

    fn history(&self) -> Result<History, JournalError> {
        let Some(journal) = &self.journal else { return Ok(History::default()) };
        let entries = lock(journal).entries()?;
        Ok(History::of(&entries))
    }

    pub fn memory(&self) -> Memory {
        let Toolkit { pool, remotes, .. } = self.toolkit();
        models::memory(&pool, &remotes, &pool.active())
    }

    pub fn model_files(&self) -> Vec<ModelFile> {
        models::files(&self.toolkit().pool)
    }

    /// The project's index, to be refreshed between turns.
    pub fn index(&self) -> Option<Arc<Index>> {
        self.toolkit().index
    }

    pub fn embedder(&self) -> Option<Embedder> {
        self.toolkit().embedder
    }
}

async fn carried_out(op: Op, mut toolkit: Toolkit, host: &SessionHost) -> Result<Option<TurnFinished>, TurnError> {
    match op {
        Op::Plan(ask) => {
            let request = requested(ask, &mut toolkit, host).await?;
            agent::plan_turn(&toolkit, &request, host).await.map(|()| None)
        }
        Op::Ask(ask) => {
            let request = requested(ask, &mut toolkit, host).await?;
            agent::run_turn(&toolkit, &request, host).await.map(Some)
        }
        Op::Models(op) => models::carry_out(&toolkit, op, host).await.map(|()| None),
    }
}

/// The request to carry out, after reading its pictures and fetching the content it names from
/// servers.
async fn requested(ask: Ask, toolkit: &mut Toolkit, host: &SessionHost) -> Result<String, TurnError> {
    agent::read_pictures(toolkit, ask.pictures, &ask.text, host).await?;
    if ask.of_program { Ok(ask.text) } else { agent::fetched(toolkit, ask.text, host).await }
}

/// The request in the form kept for asking it again.
fn kept(ask: &Ask) -> Result<Ask, &'static str> {
    let pictures: Bytes = ask.pictures.iter().map(Picture::bytes).sum();
    if pictures > LAST_PICTURES_MAX {
        return Err("the pictures of the last request are too large to keep; ask it again with them");
    }
    Ok(ask.clone())
}

/// Last line of the answer of a turn that changed something.
const UNDO: &str = "`monobloc undo` takes this back, `/undo` in a conversation";

/// Whether an event reports files that a turn changed and an undo would restore.
fn is_change(event: &Event) -> bool {
    matches!(event, Event::CheckpointMade { created, changed, deleted, .. } if created + changed + deleted > 0)
}

fn remember(earlier: &mut VecDeque<Exchange>, exchange: Exchange) {
    if earlier.len() == EARLIER_MAX {
        earlier.pop_front();
    }
    let kept = |text: &str| text.chars().take(EARLIER_CHARS).collect();
    earlier.push_back(Exchange { request: kept(&exchange.request), answer: kept(&exchange.answer) });
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
    mask: Mask,
    command: &'static str,
    shows_thoughts: bool,
    inspects: bool,
}

impl SessionHost {
    fn send(&self, message: Message) {
        // This fails if the user interface is gone and needs no messages; the turn then ends on its
        // own.
        let _ = self.messages.send(message);
    }

    /// Stores an event in the journal without sending it; returns its record.
    fn note(&self, event: Event) -> Record {
        let record = Record::now(&self.conversation, event);
        // Most events are tokens and signs of life; these need no locking, copying or masking.
        if let Some(journal) = self.journal.as_ref().filter(|_| Journal::keeps(&record.event)) {
            let kept = match &self.mask {
                Mask::Nothing => Cow::Borrowed(&record),
                mask => Cow::Owned(record.masked(mask)),
            };
            let written = lock(journal).append(&kept);
            if let Err(error) = written {
                tracing::warn!(%error, "an event was not recorded");
                let text = format!("not recorded: {error}");
                self.send(Message::Record(Record::now(&self.conversation, Event::Notice { text })));
            }
        }
        record
    }

    /// Records the start of a turn. Returns the checkpoint handle that makes its changes undoable;
    /// `None` without a journal.
    fn begin(&self, request: &str, project: &Path, cancel: &Cancel) -> Option<Turn> {
        let journal = self.journal.as_ref()?;
        self.note(Event::TurnStarted { request: request.to_owned(), approve: format!("{:?}", self.policy.mode()) });
        let end = lock(journal).end().clone();
        let about = About {
            conversation: self.conversation.0.clone(),
            request: self.mask.apply(request).into_owned(),
            anchor: Anchor { seq: end.seq, hash: end.hash },
            command: self.command.to_owned(),
        };
        Some(Turn::new(project, about, cancel.clone()))
    }

    /// Ends the turn's checkpoint, which releases the project's lock. Returns the event with the
    /// changes.
    async fn settle(&self, turn: Arc<Turn>) -> Option<Event> {
        match tokio::task::spawn_blocking(move || turn.finish()).await {
            Ok(Ok(Some(Summary { checkpoint, created, changed, deleted, left }))) => {
                let checkpoint = format!("c{checkpoint}");
                let left = left.into_iter().map(|(path, why)| (path.display().to_string(), why)).collect();
                return Some(Event::CheckpointMade { checkpoint, created, changed, deleted, left });
            }
            Ok(Ok(None)) => {}
            Ok(Err(error)) => {
                let text = format!("not all changes of this turn were recorded: {error}");
                self.emit(Event::Notice { text });
            }
            Err(panic) => tracing::error!(%panic, "a checkpoint was not finished"),
        }
        None
    }
}

impl Host for SessionHost {
    fn emit(&self, event: Event) {
        if matches!(event, Event::Thinking { .. }) && !self.shows_thoughts {
            return;
        }
        let record = self.note(event);
        self.send(Message::Record(record));
    }

    fn approve<'a>(&'a self, step: StepId, proposal: &'a Proposal) -> Deciding<'a> {
        let (reply, answer) = oneshot::channel();
        self.send(Message::Approve { proposal: proposal.clone(), reply });
        Box::pin(async move {
            let decision = answer.await.unwrap_or(Decision::Cancel);
            let text = match &decision {
                Decision::Approve => "approved".to_owned(),
                Decision::Always => format!("approved always: {}", proposal.always.as_deref().unwrap_or_default()),
                Decision::Reject => "rejected".to_owned(),
                Decision::Cancel => "cancelled".to_owned(),
                Decision::NotAsked(why) => format!("not asked: {why}"),
                Decision::Modify(arguments) => {
                    format!("modified: {}", serde_json::Value::Object(arguments.clone()))
                }
            };
            self.note(Event::Decided { step, tool: proposal.tool.clone(), decision: text });
            decision
        })
    }

    fn policy(&self) -> &Policy {
        &self.policy
    }

    fn inspects(&self) -> bool {
        self.inspects
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A one-pixel picture, with `more` bytes after its end.
    fn picture(more: usize) -> Picture {
        let mut file = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\x01\0\x01\0\0\x02\x01D\0;".to_vec();
        file.resize(file.len() + more, 0);
        Picture::read("dot.gif", file).unwrap()
    }

    #[test]
    fn pictures_that_are_too_large_are_not_kept_for_another_try() {
        let ask = |pictures| Ask { text: "What is it?".to_owned(), pictures, ..Ask::default() };
        assert_eq!(kept(&ask(vec![picture(9), picture(1 << 20)])).unwrap().pictures.len(), 2);
        let why = kept(&ask(vec![picture(12 << 20), picture(12 << 20)])).unwrap_err();
        assert!(why.contains("too large to keep; ask it again with them"), "{why}");
    }
}
