//! The model `agent`: a request is a complete turn in the project; its steps are the reasoning of the answer.

use std::sync::Arc;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};

use super::CancelOnDrop;
use super::ask::{Ask, Format, Turn};
use super::problem::{Kind, Problem};
use super::reply::{Delta, End, Reason};
use crate::app::{App, SharedModels};
use crate::base::Cancel;
use crate::embed::Embedder;
use crate::engine::pool::Pool;
use crate::index::Index;
use crate::protocol::{self, Decision, Event, Exchange, REQUEST_BYTES_MAX, StepReport, StepStatus};
use crate::session::{Message, Session};

/// Maximum number of turns running at once; others wait. Those that change the project take its
/// lock in turn anyway.
const TURNS_MAX: usize = 4;
/// Maximum number of turns waiting for a running one to end.
const WAITING_MAX: usize = 16;

/// The parts that all turns share; models and index are opened at the first turn.
pub struct Agent {
    app: App,
    pool: Pool,
    embedder: Arc<OnceCell<Embedder>>,
    shared: OnceCell<(SharedModels, Arc<Index>)>,
    running: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

impl Agent {
    pub fn new(app: App, pool: Pool, embedder: Arc<OnceCell<Embedder>>) -> Agent {
        let (running, waiting) = (Arc::new(Semaphore::new(TURNS_MAX)), Arc::new(Semaphore::new(WAITING_MAX)));
        Agent { app, pool, embedder, shared: OnceCell::new(), running, waiting }
    }

    /// Starts the turn that the user's last message requests; the preceding messages are its
    /// conversation.
    pub async fn reply(&self, ask: &Ask) -> Result<TurnReply, Problem> {
        takes(ask)?;
        let (text, earlier) = conversation(&ask.turns)?;
        let busy =
            || Problem::new(Kind::Busy, format!("{TURNS_MAX} turns are running, {WAITING_MAX} waiting; try later"));
        let waits = self.waiting.clone().try_acquire_owned().map_err(|_| busy())?;
        let turn = self.running.clone().acquire_owned().await.map_err(Problem::failed)?;
        drop(waits);
        let session = self.session().await?.of("monobloc serve");
        session.recall(earlier);
        let cancel = Cancel::new();
        let request = protocol::Ask { text, of_program: true, ..protocol::Ask::default() };
        let messages = self.app.ask(&Arc::new(session), request, cancel.clone());
        Ok(TurnReply { messages, over: false, _left: CancelOnDrop(cancel), _turn: turn })
    }

    /// A session on the project, created on a thread that may block.
    pub async fn session(&self) -> Result<Session, Problem> {
        let (models, index) = self.shared().await?.clone();
        let app = self.app.clone();
        let made = tokio::task::spawn_blocking(move || app.session_with(&models, index)).await;
        made.map_err(Problem::failed)?.map_err(Problem::failed)
    }

    /// The index, if a request has needed it.
    pub fn index(&self) -> Option<Arc<Index>> {
        self.shared.get().map(|(_, index)| index.clone())
    }

    /// The models and index; without an embedder the agent searches by words.
    pub async fn shared(&self) -> Result<&(SharedModels, Arc<Index>), Problem> {
        let make = || async {
            let embedder = super::loaded(&self.embedder, &self.app).await.ok();
            let (app, pool) = (self.app.clone(), self.pool.clone());
            let index = tokio::task::spawn_blocking(move || app.index()).await.map_err(Problem::failed)?;
            let index = Arc::new(index.map_err(Problem::failed)?);
            Ok((SharedModels { pool, embedder, notes: Vec::new() }, index))
        };
        self.shared.get_or_try_init(make).await
    }
}

/// Refuses fields that a turn in the project cannot honour: its answer comes as much from code and
/// tools as from a model.
fn takes(ask: &Ask) -> Result<(), Problem> {
    for (is_asked, field, what) in [
        (!ask.tools.is_empty(), "tools", "has its own tools and accepts no others"),
        (ask.forces_a_call(), "tool_choice", "has its own tools and chooses among them itself"),
        (ask.format != Format::Text, "response_format", "answers in words"),
        (!ask.stop.is_empty(), "stop", "stops when its work is done"),
        (!ask.pictures.is_empty(), "messages", "does not read pictures here"),
        (ask.logprobs.is_some(), "logprobs", "gives no log-probabilities"),
    ] {
        if is_asked {
            return Err(Problem::invalid(field, format!("the model `agent` {what}; ask `planner` for that")));
        }
    }
    Ok(())
}

/// The user's last message, and the exchanges before it.
fn conversation(turns: &[Turn]) -> Result<(String, Vec<Exchange>), Problem> {
    let (mut request, mut earlier): (Option<String>, Vec<Exchange>) = (None, Vec::new());
    for turn in turns {
        match turn {
            // Clients may split one message into several.
            Turn::User(text) => request = Some(request.map_or(text.clone(), |before| format!("{before}\n{text}"))),
            Turn::Assistant { text, .. } => {
                earlier.extend(request.take().map(|request| Exchange { request, answer: text.clone() }));
            }
            Turn::System(_) | Turn::Tool(_) => {}
        }
    }
    let request = request.filter(|text| !text.trim().is_empty());
    let request = request.ok_or_else(|| Problem::invalid("messages", "the last message is not from the user"))?;
    if request.len() > REQUEST_BYTES_MAX {
        let text =
            format!("the request has {} bytes; the limit is {REQUEST_BYTES_MAX}; name a file instead", request.len());
        return Err(Problem::invalid("messages", text));
    }
    Ok((request, earlier))
}

pub struct TurnReply {
    messages: UnboundedReceiver<Message>,
    over: bool,
    _left: CancelOnDrop,
    _turn: OwnedSemaphorePermit,
}

impl TurnReply {
    pub async fn next(&mut self) -> Result<Option<Delta>, Problem> {
        if self.over {
            return Ok(None);
        }
        match self.messages.recv().await {
            Some(Message::Record(record)) => Ok(Some(self.delta(record.event))),
            Some(Message::Approve { proposal, reply }) => {
                // This fails if the turn has ended in the meantime and so needs no decision.
                let _ = reply.send(Decision::NotAsked("this API has nobody to ask; rules can allow it".to_owned()));
                let (tool, need, reason) = (&proposal.tool, proposal.need(), &proposal.reason);
                let why = format!("{tool} needs {need} ({reason}), which nobody can give here: not done.\n");
                Ok(Some(Delta::Thinking(why)))
            }
            Some(Message::Failed(error)) => Err(error.into()),
            None => Err(Problem::failed("the turn ended without an answer")),
        }
    }

    fn delta(&mut self, event: Event) -> Delta {
        match event {
            Event::Token { text } => Delta::Text(text, Vec::new()),
            Event::Thinking { text } => Delta::Thinking(text),
            Event::PlanCreated { plan } => {
                let steps =
                    plan.steps.iter().zip(1..).map(|(step, number)| format!("{number}. {}\n", step.description));
                Delta::Thinking(steps.collect())
            }
            Event::StepCompleted(report) => Delta::Thinking(line(&report)),
            Event::Notice { text } => Delta::Thinking(format!("{text}\n")),
            Event::TurnFinished(finished) => {
                self.over = true;
                let usage = finished.usage;
                let (prompt, cached, generated) = (usage.prompt_tokens, usage.cached_tokens, usage.generated_tokens);
                Delta::Finished(End { reason: Reason::Stop, prompt, cached, generated })
            }
            _ => Delta::Alive,
        }
    }
}

/// The result of a tool call on one line.
fn line(report: &StepReport) -> String {
    let how = match report.status {
        StepStatus::Succeeded => "",
        StepStatus::Failed => "failed: ",
        StepStatus::Rejected => "rejected: ",
        StepStatus::Cancelled => "cancelled: ",
        StepStatus::NotAsked => "not asked: ",
        StepStatus::Denied => "denied: ",
        StepStatus::Skipped => "skipped: ",
    };
    format!("{}: {how}{}\n", report.tool, report.summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_a_turn_cannot_honour_is_refused_by_its_name() {
        let with = |change: fn(&mut Ask)| {
            let mut ask = Ask::new(super::super::ask::Model::Agent, Vec::new());
            change(&mut ask);
            takes(&ask).err().and_then(|problem| problem.field)
        };
        assert_eq!(with(|_| ()), None);
        assert_eq!(with(|ask| ask.stop = vec!["END".to_owned()]), Some("stop"));
        assert_eq!(with(|ask| ask.logprobs = Some(0)), Some("logprobs"));
        assert_eq!(with(|ask| ask.format = Format::Schema(serde_json::json!({}))), Some("response_format"));
    }

    #[test]
    fn the_last_message_is_the_request_and_those_before_are_its_conversation() {
        let said = |text: &str| Turn::Assistant { text: text.to_owned(), calls: Vec::new(), thinking: String::new() };
        let asked = |text: &str| Turn::User(text.to_owned());
        let turns = [asked("a"), said("b"), asked("c"), asked("d")];
        let (request, earlier) = conversation(&turns).expect("a request");
        assert_eq!((request.as_str(), earlier.len(), earlier[0].answer.as_str()), ("c\nd", 1, "b"));
        assert!(conversation(&[asked("a"), said("b")]).is_err());
    }
}
