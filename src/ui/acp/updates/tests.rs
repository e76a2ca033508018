//! Tests the updates that a client receives for the events of a turn.

use serde_json::json;

use super::*;
use crate::protocol::{PlanStatus, PlanStep, PlanView};

fn updates() -> Updates {
    Updates::new("/p".into(), Arc::default())
}

fn shown(updates: &mut Updates, event: Event) -> Value {
    serde_json::to_value(updates.of(&event)).expect("updates can be written")
}

fn report(status: StepStatus) -> Event {
    Event::StepCompleted(StepReport {
        step: StepId(1),
        tool: "write_file".to_owned(),
        arguments: json!({ "path": "a.txt" }),
        status,
        executing: true,
        ..StepReport::default()
    })
}

fn plan(descriptions: &[&str]) -> Event {
    let step = |(at, text): (usize, &&str)| {
        let description = (*text).to_owned();
        PlanStep { id: StepId(at + 1), description, ..PlanStep::default() }
    };
    let steps = descriptions.iter().enumerate().map(step).collect();
    Event::PlanCreated {
        plan: PlanView { steps, total_estimated_tokens: 0, estimated_seconds: None, status: PlanStatus::Pending },
    }
}

/// `status` of each entry of the only update, which must be a plan.
fn statuses(update: &Value) -> Vec<(String, String)> {
    assert_eq!(update[0]["sessionUpdate"], "plan", "{update}");
    let said = |value: &Value| value.as_str().expect("a text").to_owned();
    let entries = update[0]["entries"].as_array().expect("entries");
    entries.iter().map(|entry| (said(&entry["content"]), said(&entry["status"]))).collect()
}

#[test]
fn the_whole_plan_is_sent_whenever_a_step_moves_on() {
    let mut updates = updates();
    let expected = |one: (&str, &str), two: (&str, &str)| {
        [one, two].map(|(text, status)| (text.to_owned(), status.to_owned())).to_vec()
    };
    let first = shown(&mut updates, plan(&["read", "write"]));
    assert_eq!(statuses(&first), expected(("read", "pending"), ("write", "pending")));
    let begun = shown(&mut updates, Event::StepExecuting { step: StepId(1), description: String::new() });
    assert_eq!(statuses(&begun), expected(("read", "in_progress"), ("write", "pending")));
    let same = Event::StepState { step: StepId(1), state: StepState::Executing };
    assert_eq!(shown(&mut updates, same), json!([]), "nothing that a client sees has changed");
    let done = Event::StepState { step: StepId(1), state: StepState::Complete };
    assert_eq!(statuses(&shown(&mut updates, done))[0].1, "completed");
    let failed = Event::StepState { step: StepId(2), state: StepState::FailedToExecute };
    let failed = shown(&mut updates, failed);
    assert_eq!(statuses(&failed), expected(("read", "completed"), ("write (failed)", "pending")));
}

#[test]
fn a_step_whose_calls_were_refused_is_not_told_as_completed() {
    let check = |calls: &[StepStatus], state: StepState, content: &str, status: &str| {
        let mut updates = updates();
        shown(&mut updates, plan(&["write"]));
        calls.iter().for_each(|call| drop(shown(&mut updates, report(*call))));
        let ended = shown(&mut updates, Event::StepState { step: StepId(1), state });
        assert_eq!(statuses(&ended), [(content.to_owned(), status.to_owned())]);
    };
    check(&[StepStatus::Rejected], StepState::Complete, "write (refused)", "pending");
    check(&[StepStatus::Rejected], StepState::Executing, "write", "in_progress");
    check(&[StepStatus::Succeeded, StepStatus::Rejected], StepState::Complete, "write (partly refused)", "completed");
}

#[test]
fn an_answer_without_tokens_is_sent_at_the_end_and_only_then() {
    let finished = || {
        let (request, answer) = ("q".to_owned(), "four".to_owned());
        Event::TurnFinished(crate::protocol::TurnFinished {
            request,
            answer,
            steps: Vec::new(),
            usage: Default::default(),
        })
    };
    let mut quiet = updates();
    let answer = json!([{ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": "four" } }]);
    assert_eq!(shown(&mut quiet, finished()), answer);
    let mut streamed = updates();
    assert_eq!(shown(&mut streamed, Event::Token { text: "four".to_owned() }), answer);
    assert_eq!(shown(&mut streamed, finished()), json!([]));
}

#[test]
fn a_place_in_the_queue_and_a_long_wait_are_told_without_a_flood() {
    let mut updates = updates();
    let queued = |position, eta_ms| Event::QueueUpdate { position, eta_ms };
    let pulse = |phase: &str, s: u64| Event::Pulse { phase: phase.to_owned(), waited_ms: s * 1000 };
    let mut check = |event: Event, expected: Option<&str>| {
        let told = shown(&mut updates, event);
        assert_eq!(told[0]["content"]["text"].as_str().map(str::trim), expected, "{told}");
    };
    check(queued(2, Some(8_000)), Some("queued (#2, about 8 s)"));
    check(queued(2, Some(7_000)), None);
    check(queued(1, None), Some("queued (#1)"));
    check(pulse("reading the request", 1), Some("reading the request … 1 s"));
    for s in 2..15 {
        check(pulse("reading the request", s), None);
    }
    check(pulse("reading the request", 15), Some("reading the request … 15 s"));
    check(pulse("answering", 1), Some("answering … 1 s"));
}
