//! After a check refuses a draft of a change, several drafts are written in parallel, and the first
//! that passes is used.

use std::time::{Duration, Instant};

use monobloc::agent::run_turn;
use monobloc::engine::scripted::Script;
use monobloc::models::Role;
use monobloc::protocol::{Decision, Proposal, StepStatus, TurnFinished};

use crate::cli::Project;
use crate::scripted::{Witness, indexed};
use crate::work::{code, prepared};

const ADD: &str = "Add a function initials(name) to a.py. initials('Ada Lovelace') should return 'AL'";
/// A draft that is refused without running anything.
const UNKNOWN: &str = "def initials(name):\n    return shortened(name)";
/// A draft that the example refuses.
const FIRST: &str = "def initials(name):\n    return name[0]";
const RIGHT: &str = "def initials(name):\n    letters = []\n    for part in name.split():\n        letter = part[0]\n        if letter.islower():\n            letter = letter.upper()\n        letters.append(letter)\n    return ''.join(letters)";
/// The beginning of the prompt of every later round.
const AGAIN: &str = "A first attempt was wrong";

struct Seen {
    project: Project,
    finished: TurnFinished,
    /// The notices about parallel drafts, one for each round with several.
    rounds: Vec<String>,
    /// How often the example ran after a change and failed.
    failed: usize,
    /// Number of definitions that were completed.
    written: usize,
    /// Time from the end of the turn until all slots were free.
    until_free: Duration,
}

/// Carries out `request` with a model that has `slots` slots.
async fn turned(mut script: Script, slots: usize, request: &str) -> Seen {
    script.slots = slots;
    let (project, toolkit) = prepared(script);
    std::fs::write(project.path().join("b.py"), "WIDTH = 3\n").expect("a file");
    let toolkit = indexed(&project, toolkit);
    let host = Witness::new(|_: &Proposal| Decision::Approve);
    let finished = run_turn(&toolkit, request, &host).await.expect("a turn");
    let ended = Instant::now();
    let planner = toolkit.pool.resident(Role::Planner).expect("a planner");
    while planner.engine.slots().iter().any(Option::is_some) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut rounds = host.notices();
    rounds.retain(|notice| notice.contains("are written at once"));
    let is_failed_run = |tool: &str, status: StepStatus| tool == "run_command" && status == StepStatus::Failed;
    Seen {
        failed: host.reports().iter().filter(|report| is_failed_run(&report.tool, report.status)).count(),
        written: finished.usage.calls.iter().filter(|call| call.phase == "writing code").count(),
        until_free: ended.elapsed(),
        project,
        finished,
        rounds,
    }
}

/// A script whose first draft is refused; its later drafts are chosen from `replies` by the seed.
fn drafting(replies: &[&str]) -> Script {
    let replies: Vec<String> = replies.iter().map(|reply| code(reply)).collect();
    let replies: Vec<&str> = replies.iter().map(String::as_str).collect();
    Script::saying("").on_either(AGAIN, &replies).on("Write the new `initials`", &code(UNKNOWN))
}

#[tokio::test]
async fn after_a_refused_draft_several_are_written_at_once_and_the_first_that_passes_is_taken() {
    // The shorter draft is finished first.
    let mut script = drafting(&[FIRST, RIGHT]);
    script.row_time = Duration::from_micros(200);
    let seen = turned(script, 4, ADD).await;
    let answer = &seen.finished.answer;
    assert!(seen.project.text("a.py").contains(RIGHT), "{answer}");
    assert_eq!(seen.rounds, ["4 drafts are written at once; the first that passes the checks is used"], "{answer}");
    assert!(answer.contains("of 4 of round 2") && !answer.contains("accepted: draft 1 "), "{answer}");
    assert_eq!(seen.failed, 1, "drafts that are the same are checked once: {answer}");
}

#[tokio::test]
async fn a_model_of_one_slot_writes_one_draft_after_another() {
    let seen = turned(drafting(&[UNKNOWN]), 1, ADD).await;
    assert!(seen.rounds.is_empty(), "{:?}", seen.rounds);
    assert!(seen.finished.answer.contains("not done"), "{}", seen.finished.answer);
    let seen = turned(drafting(&[RIGHT]), 1, ADD).await;
    assert!(seen.project.text("a.py").contains(RIGHT) && seen.rounds.is_empty(), "{}", seen.finished.answer);
    assert_eq!(
        (seen.written, seen.finished.answer.contains("accepted: draft")),
        (2, false),
        "{}",
        seen.finished.answer
    );
}

#[tokio::test]
async fn drafts_that_are_not_needed_any_more_are_not_written_to_their_end() {
    let long: String = (0..800).map(|at| format!("\n    part_{at} = len(name) + {at}")).collect();
    let long = format!("def initials(name):{long}\n    return part_799");
    // A machine with this speed has enough time to write it.
    let mut script = drafting(&[RIGHT, &long]).at(5_000.0, 50.0);
    script.row_time = Duration::from_micros(100);
    let seen = turned(script, 4, ADD).await;
    let answer = &seen.finished.answer;
    assert!(seen.project.text("a.py").contains(RIGHT) && seen.rounds.len() == 1, "{answer}");
    assert!(seen.written < 1 + 4, "{} drafts came to their end", seen.written);
    assert!(seen.until_free < Duration::from_secs(1), "{:?}", seen.until_free);
}

#[tokio::test]
async fn if_no_draft_passes_the_next_round_goes_on_from_the_one_that_came_furthest() {
    // The draft that is refused before anything runs is finished first, and then last.
    for unknown in ["def initials(name):\n    return x()", "def initials(name):\n    return of_all_words(name).upper()"]
    {
        let replies = [code(unknown), code(FIRST)];
        let script = Script::saying("")
            .on("gives 'A'", &code(RIGHT))
            .on_either(AGAIN, &[&replies[0], &replies[1]])
            .on("Write the new `initials`", &code(UNKNOWN));
        let seen = turned(script, 4, ADD).await;
        let answer = &seen.finished.answer;
        assert!(seen.project.text("a.py").contains(RIGHT), "{answer}");
        assert_eq!(seen.rounds.len(), 2, "{answer}");
        assert!(answer.contains("of 4 of round 3"), "{answer}");
    }
}

#[tokio::test]
async fn what_a_refused_draft_wrote_to_another_file_is_not_left() {
    let width = "def width():\n    return 1 + 1 + 1";
    let label = "def label(text):\n    return text";
    let right = "def label(text):\n    return '<' + text + '>' + '.' * width()";
    // The draft that also changes this file is the shorter one.
    let remark =
        "    # As wide as three dots are, which is what every label of this kind has behind its second bracket.\n";
    let same = code(&width.replace("    return", &format!("{}    return", remark.repeat(2))));
    let wrong = code("def width():\n    return 9");
    let mut script = Script::saying("")
        .on_either("Write `width`", &[&wrong, &same])
        .on(AGAIN, &code(right))
        .on("Write `label`", &code("def label(text):\n    return framed(text)"))
        .on("First name", "change label in label.py\nchange width in width.py");
    (script.slots, script.row_time) = (4, Duration::from_micros(200));
    let (project, toolkit) = prepared(script);
    let write = |name: &str, text: &str| std::fs::write(project.path().join(name), text).expect("a file");
    write("width.py", &format!("{width}\n"));
    write("label.py", &format!("from width import width\n\n\n{label}\n"));
    write(
        "test_label.py",
        "import unittest\n\nfrom label import label\nfrom width import width\n\n\nclass Tests(unittest.TestCase):\n    \
         def test_label(self):\n        self.assertEqual(label('a'), '<a>...')\n        self.assertEqual(width(), 3)\n",
    );
    let toolkit = indexed(&project, toolkit);
    let host = Witness::new(|_: &Proposal| Decision::Approve);
    let request = "Make `python3 -m unittest discover` pass, label and width are wrong";
    let finished = run_turn(&toolkit, request, &host).await.expect("a turn");
    let told = format!("{}\n{:?}", finished.answer, host.notices());
    assert!(project.text("label.py").contains(right), "{told}");
    assert!(!told.contains("accepted: draft 1 "), "{told}");
    assert_eq!(project.text("width.py"), format!("{width}\n"), "{told}");
}
