//! Events and evidence follow the order of the plan, even if steps are answered in parallel; a step
//! gets the result that it refers to.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use monobloc::agent::{Toolkit, run_turn};
use monobloc::engine::scripted::Script;
use monobloc::models::Role;
use monobloc::protocol::{Decision, Event, Proposal, StepReport, StepStatus, TurnFinished};

use crate::cli::Project;
use crate::scripted::{Witness, indexed, silent, toolkit};
use crate::work::prepared;

const READS: &str = "Read src/retry.ts, read src/todo.ts, then list the files in src/";

struct Seen {
    finished: TurnFinished,
    reports: Vec<StepReport>,
    /// `plan`, `s1 begins`, `s1 Complete`, `e1 read_file`, …
    story: Vec<String>,
}

async fn turn(toolkit: &Toolkit, request: &str) -> Seen {
    let host = Witness::new(|_: &Proposal| Decision::Approve);
    let finished = run_turn(toolkit, request, &host).await.expect("a turn");
    let story = host.seen(|event| match event {
        Event::PlanCreated { .. } => Some("plan".to_owned()),
        Event::StepExecuting { step, .. } => Some(format!("{step} begins")),
        Event::StepState { step, state } => Some(format!("{step} {state:?}")),
        Event::StepCompleted(report) => {
            Some(format!("{} {}", report.call.map_or(String::new(), |call| call.to_string()), report.tool))
        }
        _ => None,
    });
    Seen { finished, reports: host.reports(), story }
}

#[tokio::test]
async fn events_and_evidence_come_in_the_order_of_the_steps() {
    let seen = turn(&silent(&Project::todo()), READS).await;
    let mut expected = vec!["plan".to_owned()];
    for (n, tool) in [(1, "read_file"), (2, "read_file"), (3, "list_dir")] {
        expected.extend(["begins", "Thinking", "Deciding", "Executing"].map(|state| format!("s{n} {state}")));
        expected.push(format!("e{n} {tool}"));
        expected.push(format!("s{n} Complete"));
    }
    assert_eq!(seen.story, expected);
    assert_eq!(seen.reports, seen.finished.steps, "what was told is what is in the evidence");
    for part in ["MAX_ATTEMPTS = 5", "TITLE_LENGTH_MAX", "src/clock.rs", "[e1]", "[e2]", "[e3]"] {
        assert!(seen.finished.answer.contains(part), "no {part} in {}", seen.finished.answer);
    }
}

#[tokio::test]
async fn a_question_that_takes_a_command_waits_for_its_turn_and_for_consent() {
    let request = "Read src/retry.ts, show the git log, then read src/retry.ts";
    let seen = turn(&silent(&Project::todo()), request).await;
    // The command may have changed the file, so the file is read again.
    let tools: Vec<&str> = seen.finished.steps.iter().map(|step| step.tool.as_str()).collect();
    assert_eq!(tools, ["read_file", "run_command", "read_file"]);
    let at = |wanted: &str| seen.story.iter().position(|one| one == wanted).expect("it was told");
    assert!(at("s1 Complete") < at("s2 AwaitingApproval") && at("s2 AwaitingApproval") < at("s3 begins"));
}

#[tokio::test]
async fn the_same_call_of_two_steps_is_run_once() {
    let seen =
        turn(&silent(&Project::todo()), "Read src/retry.ts, read src/todo.ts, then read src/retry.ts again").await;
    assert_eq!(seen.finished.steps.len(), 2, "{:?}", seen.finished.steps);
    assert!(seen.reports[2].summary.starts_with("the same as e1"), "{:?}", seen.reports[2]);
}

#[tokio::test]
async fn a_step_that_fails_stops_only_those_that_need_it() {
    let request = "Read src/missing.ts, copy it to src/copy.ts, then read src/todo.ts";
    let seen = turn(&silent(&Project::todo()), request).await;
    let ended: Vec<_> = seen.finished.steps.iter().map(|step| (step.tool.as_str(), step.status)).collect();
    assert!(ended.starts_with(&[("read_file", StepStatus::Failed), ("read_file", StepStatus::Succeeded)]), "{ended:?}");
    assert!(seen.finished.answer.contains("not done"), "{}", seen.finished.answer);
}

#[tokio::test]
async fn results_without_a_sentence_are_listed_in_the_answer() {
    let request = "Read src/retry.ts and tell me how many times a request is tried, then list the files in src/";
    let planner = Script::saying("A request is tried 5 times.");
    let seen = turn(&toolkit(&Project::todo(), planner, Script::saying("")), request).await;
    let answer = &seen.finished.answer;
    assert!(answer.contains("MAX_ATTEMPTS = 5;` [e1]") && !answer.contains("lines 1-"), "{answer}");
    assert!(answer.contains("5 entries [e2]") && answer.contains("src/clock.rs"), "{answer}");
    // A file that was read but does not answer the question is only mentioned by name.
    let request = "Read src/retry.ts, read src/todo.ts and tell me how many times a request is tried";
    let planner = Script::saying("A request is tried 5 times.");
    let answer = turn(&toolkit(&Project::todo(), planner, Script::saying("")), request).await.finished.answer;
    assert!(answer.contains("src/todo.ts, lines 1-19 of 19 [e2]") && !answer.contains("interface Todo"), "{answer}");
}

/// Answers two questions with a model that has `slots` slots. Returns the turn, and the number of
/// slots that were busy in parallel.
async fn asked_two(slots: usize) -> (Seen, usize) {
    let mut script = Script::saying("It is in the code.")
        .on(
            "Question: Where is MAX_ATTEMPTS",
            "MAX_ATTEMPTS is in src/retry.ts, and it is 5 there. That is all that src/retry.ts says of it.",
        )
        .on("Question: Where is TITLE_LENGTH_MAX", "TITLE_LENGTH_MAX is in src/todo.ts.")
        .on("Request: Where", "ask: Where is MAX_ATTEMPTS set?\nask: Where is TITLE_LENGTH_MAX set?");
    (script.slots, script.row_time) = (slots, Duration::from_micros(20));
    let (_project, toolkit) = prepared(script);
    let most = Arc::new(AtomicUsize::new(0));
    let (pool, seen) = (toolkit.pool.clone(), most.clone());
    let watch = tokio::spawn(async move {
        loop {
            let planner = pool.resident(Role::Planner);
            let busy = planner.map_or(0, |planner| planner.engine.slots().into_iter().flatten().count());
            seen.fetch_max(busy, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    let turned = turn(&toolkit, "Where is MAX_ATTEMPTS set? Where is TITLE_LENGTH_MAX set?").await;
    watch.abort();
    (turned, most.load(Ordering::Relaxed))
}

#[tokio::test]
async fn questions_that_need_nothing_of_each_other_are_answered_at_once_and_told_in_order() {
    let (seen, busy) = asked_two(2).await;
    assert_eq!(busy, 2, "both are answered at once: {:?}", seen.story);
    let expected = [
        "plan",
        "s1 begins",
        "s1 Thinking",
        "e1 answer",
        "s1 Complete",
        "s2 begins",
        "s2 Thinking",
        "e2 answer",
        "s2 Complete",
    ];
    assert_eq!(seen.story, expected);
    assert_eq!(seen.reports, seen.finished.steps, "what was told is what is in the evidence");
    let answer = &seen.finished.answer;
    let at = |part: &str| answer.find(part).unwrap_or_else(|| panic!("no {part} in {answer}"));
    assert!(at("MAX_ATTEMPTS is in") < at("TITLE_LENGTH_MAX is in"), "{answer}");
    let (alone, busy) = asked_two(1).await;
    assert_eq!((alone.story, busy), (seen.story, 1));
    assert_eq!(alone.finished.answer, seen.finished.answer);
}

#[tokio::test]
async fn a_step_reads_the_file_that_the_step_before_it_found() {
    let project = Project::todo();
    let seen = turn(&indexed(&project, silent(&project)), "Find where MAX_ATTEMPTS is defined, then read it").await;
    let last = seen.finished.steps.last().expect("a call");
    assert_eq!(
        (last.tool.as_str(), &last.arguments["path"]),
        ("read_file", &"src/retry.ts".into()),
        "{:?}",
        seen.story
    );
}
