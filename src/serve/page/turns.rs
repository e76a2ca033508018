//! The turns of the page: one runs at a time, the last sixteen are kept, and each holds its open questions.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use super::log::{Log, Own, Said};
use crate::base::{Cancel, lock};
use crate::protocol::{self, Mode, Proposal};
use crate::serve::problem::{Kind, Problem};

/// Number of turns kept; the events of each take at most 4 MiB.
const KEPT_MAX: usize = 16;
/// Number of characters of a request shown in a list.
const SHOWN_CHARS: usize = 200;

/// The turns since the server started, newest last.
#[derive(Default)]
pub struct Turns {
    kept: Mutex<VecDeque<Arc<Turn>>>,
}

pub struct Turn {
    /// From 1.
    pub id: u64,
    /// The beginning of the request.
    request: String,
    pub cancel: Cancel,
    pub log: Log,
    /// The open questions, by their event number.
    questions: Mutex<BTreeMap<u64, Open>>,
}

struct Open {
    reply: oneshot::Sender<protocol::Decision>,
    always: bool,
    /// The requested values, in words: plain approval would leave them unanswered.
    wants: Option<String>,
}

/// The possible answers to a question.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase", tag = "decision")]
pub enum Decision {
    Yes,
    No,
    Always,
    /// Yes, with these arguments.
    Modify {
        arguments: Map<String, Value>,
    },
}

impl Turns {
    /// Begins a turn, unless one is running.
    pub fn begin(&self, text: &str, mode: Mode) -> Result<Arc<Turn>, Problem> {
        let mut kept = lock(&self.kept);
        is_over(kept.back())?;
        let turn = Arc::new(Turn {
            id: kept.back().map_or(1, |turn| turn.id + 1),
            request: text.chars().take(SHOWN_CHARS).collect(),
            cancel: Cancel::new(),
            log: Log::default(),
            questions: Mutex::default(),
        });
        turn.log.add(&Said::Own(Own::Asked { text: text.to_owned(), mode }));
        kept.push_back(turn.clone());
        if kept.len() > KEPT_MAX {
            kept.pop_front();
        }
        Ok(turn)
    }

    /// Fails if a turn is running, as `begin` would.
    pub fn is_free(&self) -> Result<(), Problem> {
        is_over(lock(&self.kept).back())
    }

    pub fn get(&self, id: u64) -> Result<Arc<Turn>, Problem> {
        let found = lock(&self.kept).iter().find(|turn| turn.id == id).cloned();
        found.ok_or_else(|| Problem::new(Kind::NotFound, format!("there is no turn {id}, or it is no longer stored")))
    }

    pub fn is_running(&self) -> bool {
        lock(&self.kept).back().is_some_and(|turn| !turn.log.is_over())
    }

    /// Every turn as a row of a list: its id, the beginning of the request, and whether it is
    /// running.
    pub fn rows(&self) -> Vec<Value> {
        let row = |turn: &Arc<Turn>| json!({ "id": turn.id, "request": turn.request, "running": !turn.log.is_over() });
        lock(&self.kept).iter().map(row).collect()
    }
}

fn is_over(last: Option<&Arc<Turn>>) -> Result<(), Problem> {
    match last {
        Some(turn) if !turn.log.is_over() => {
            Err(Problem::new(Kind::Busy, "a request is being carried out; wait for its end or cancel it"))
        }
        _ => Ok(()),
    }
}

impl Turn {
    /// Asks the user. The answer goes to `reply`; dropping its receiver withdraws the question.
    pub fn ask(&self, proposal: Proposal, reply: oneshot::Sender<protocol::Decision>) {
        // Held until the question is registered: an answer may arrive as soon as the question is in
        // the log.
        let mut questions = lock(&self.questions);
        let always = proposal.always.is_some();
        let wants = (!proposal.wanted().is_empty()).then(|| proposal.need());
        let number = self.log.add(&Said::Own(Own::Question { proposal: Box::new(proposal) }));
        questions.insert(number, Open { reply, always, wants });
    }

    /// Answers the open question `number`.
    pub fn decide(&self, number: u64, decision: Decision) -> Result<(), Problem> {
        let mut questions = lock(&self.questions);
        let closed =
            || Problem::new(Kind::NotFound, format!("question {number} is not open; it may have been answered"));
        let open = questions.remove(&number).ok_or_else(closed)?;
        if let (Decision::Yes | Decision::Always, Some(wants)) = (&decision, &open.wants) {
            let text = format!("{wants} is required; send `modify` with the call's arguments and this value");
            questions.insert(number, open);
            return Err(Problem::invalid("decision", text));
        }
        let (decided, how) = match decision {
            Decision::Yes => (protocol::Decision::Approve, "yes"),
            Decision::No => (protocol::Decision::Reject, "no"),
            Decision::Modify { arguments } => (protocol::Decision::Modify(arguments), "modify"),
            Decision::Always if open.always => (protocol::Decision::Always, "always"),
            Decision::Always => {
                questions.insert(number, open);
                return Err(Problem::invalid("decision", "`always` is not offered for this call"));
            }
        };
        // This fails if the turn was cancelled in the meantime and so needs no decision.
        let _ = open.reply.send(decided);
        self.log.add(&Said::Own(Own::QuestionClosed { number, how }));
        Ok(())
    }

    /// Cancels the turn, which ends soon.
    pub fn stop(&self) {
        self.cancel.cancel();
        self.close("cancelled");
    }

    pub fn close(&self, how: &'static str) {
        for (number, open) in std::mem::take(&mut *lock(&self.questions)) {
            drop(open.reply);
            self.log.add(&Said::Own(Own::QuestionClosed { number, how }));
        }
    }

    /// Ends the turn's log. No events follow.
    pub fn end(&self) {
        self.close("the turn is over");
        self.log.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Asks;

    fn proposal(always: Option<&str>) -> Proposal {
        Proposal {
            tool: "write_file".to_owned(),
            reason: "it changes a file".to_owned(),
            always: always.map(str::to_owned),
            ..Proposal::default()
        }
    }

    #[test]
    fn a_question_is_answered_once_and_by_its_number() {
        let turns = Turns::default();
        let turn = turns.begin("x", Mode::Agent).unwrap();
        let (reply, mut answer) = oneshot::channel();
        turn.ask(proposal(None), reply);
        assert!(turn.decide(1, Decision::Yes).is_err(), "1 is the request");
        assert!(turn.decide(2, Decision::Always).is_err(), "it is not offered");
        turn.decide(2, Decision::Yes).unwrap();
        assert_eq!(answer.try_recv(), Ok(protocol::Decision::Approve));
        assert!(turn.decide(2, Decision::No).is_err(), "it is answered");
    }

    #[test]
    fn a_call_is_made_with_the_arguments_that_the_user_wrote() {
        let turns = Turns::default();
        let turn = turns.begin("x", Mode::Agent).unwrap();
        let (reply, mut answer) = oneshot::channel();
        turn.ask(proposal(None), reply);
        let decision: Decision =
            serde_json::from_value(json!({ "decision": "modify", "arguments": { "path": "b" } })).unwrap();
        turn.decide(2, decision).unwrap();
        let Ok(protocol::Decision::Modify(arguments)) = answer.try_recv() else { panic!("other arguments") };
        assert_eq!(json!(arguments), json!({ "path": "b" }));
    }

    #[test]
    fn a_question_for_a_value_is_not_answered_by_a_yes() {
        let turns = Turns::default();
        let turn = turns.begin("x", Mode::Agent).unwrap();
        let (reply, mut answer) = oneshot::channel();
        turn.ask(Proposal { asks: Asks::Values(vec!["to".to_owned()]), ..proposal(None) }, reply);
        let problem = turn.decide(2, Decision::Yes).expect_err("a yes gives no value");
        assert!(problem.message.contains("`to` is required"), "{}", problem.message);
        let arguments = Map::from_iter([("to".to_owned(), json!("ada"))]);
        turn.decide(2, Decision::Modify { arguments: arguments.clone() }).unwrap();
        assert_eq!(answer.try_recv(), Ok(protocol::Decision::Modify(arguments)));
    }

    #[test]
    fn a_cancelled_turn_rejects_its_questions() {
        let turn = Turns::default().begin("x", Mode::Agent).unwrap();
        let (reply, mut answer) = oneshot::channel();
        turn.ask(proposal(Some("all")), reply);
        turn.stop();
        assert!(turn.cancel.is_cancelled() && answer.try_recv().is_err());
    }

    #[test]
    fn one_turn_runs_at_a_time_and_the_last_sixteen_are_kept() {
        let turns = Turns::default();
        let first = turns.begin("x", Mode::Agent).unwrap();
        assert_eq!(turns.begin("y", Mode::Agent).err().map(|problem| problem.kind), Some(Kind::Busy));
        first.end();
        for _ in 0..KEPT_MAX {
            turns.begin("y", Mode::Agent).unwrap().end();
        }
        assert!(turns.get(2).is_ok() && [0, 1, 99].iter().all(|id| turns.get(*id).is_err()));
        assert_eq!(turns.rows().len(), KEPT_MAX);
    }
}
