//! If the process is killed at any moment, the next start finishes or undoes what it had begun.
//!
//! `MONOBLOC_KILLS=200` runs 200 rounds instead of 20.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use monobloc::config::ApproveMode;
use monobloc::engine::scripted::Script;
use monobloc::protocol::{Ask, Event, Op};
use monobloc::session::{Message, Session};
use monobloc::tools::policy::Policy;
use serde_json::json;

use crate::cli::{Project, Run};
use crate::scripted::{indexed_in, toolkit_in};
use crate::undo::{same, state, turn};

const REQUEST: &str = "In src/retry.ts change the maximum number of attempts from 5 to 3, then run `sh work.sh`";
/// A script with many small changes of every kind.
const WORK: &str = "for n in 1 2 3 4 5 6 7 8 9 10; do
  echo $n > made$n; echo $n >> src/todo.ts; mv made$n moved$n; mkdir -p d$n/e; chmod 700 d$n; ln -s moved$n d$n/link
done
rm -r src/store.ts README.md d3; truncate -s 1 config.toml
";

fn rounds() -> usize {
    std::env::var("MONOBLOC_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(20)
}

/// Kills `child` after a random time of at most 1.1 times `whole`.
fn kill(mut child: Child, whole: Duration) {
    std::thread::sleep(whole.mul_f64(fastrand::f64() * 1.1));
    // It fails if the process has ended by itself.
    let _ = child.kill();
    child.wait().expect("its end");
}

/// Starts this test program again to run [`a_changing_turn`] in a separate process.
fn changing(project: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command
        .args(["--exact", "kill::a_changing_turn", "--ignored", "--nocapture"])
        .env("MONOBLOC_TEST_PROJECT", project);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts")
}

#[tokio::test]
#[ignore = "no test by itself: the process that the tests below start and kill in the middle of its work"]
async fn a_changing_turn() {
    let Some(project) = std::env::var_os("MONOBLOC_TEST_PROJECT") else { return };
    let project = Path::new(&project);
    let plain = toolkit_in(project, Script::saying("It is as it is."), Script::saying(""));
    let toolkit = indexed_in(project, plain);
    let journal = project.join(".monobloc/journal.ndjson");
    let session = Session::open(toolkit, Some(&journal), Policy::of(ApproveMode::Never)).expect("a session");
    let mut messages = session.submit(Op::Ask(Ask { text: REQUEST.to_owned(), ..Ask::default() }));
    while let Some(message) = messages.recv().await {
        if let Message::Record(record) = message
            && let Event::TurnFinished(finished) = record.event
        {
            assert_eq!(finished.steps.len(), 2, "{:?}", finished.steps);
        }
    }
}

fn project() -> Project {
    let project = Project::todo();
    std::fs::write(project.path().join("work.sh"), WORK).expect("a file");
    project
}

#[test]
fn a_killed_turn_can_be_undone_completely() {
    let whole = {
        let project = project();
        let before = state(&project.path());
        let from = Instant::now();
        assert!(changing(&project.path()).wait().expect("its end").success(), "the turn works when it is left alone");
        let whole = from.elapsed();
        assert!(project.path().join("moved10").exists() && state(&project.path()) != before);
        Run::new(&project, &["undo"]).end().succeeded();
        same(&state(&project.path()), &before, "left alone");
        whole
    };
    let mut with_checkpoint = 0;
    for round in 0..rounds() {
        let project = project();
        let (before, old) = (state(&project.path()), project.text("src/retry.ts"));
        kill(changing(&project.path()), whole);
        // Shell commands end shortly after it.
        std::thread::sleep(Duration::from_millis(30));
        let now = project.text("src/retry.ts");
        assert!(now == old || now == old.replace("MAX_ATTEMPTS = 5;", "MAX_ATTEMPTS = 3;"), "round {round}: {now}");
        let made = Run::new(&project, &["checkpoints", "--json"]).end().succeeded().lines();
        if project.path().join(".monobloc/journal.ndjson").exists() {
            Run::new(&project, &["audit", "verify"]).end().succeeded();
        }
        if let Some(checkpoint) = made.first() {
            with_checkpoint += 1;
            let name = checkpoint["checkpoint"].as_str().expect("a name");
            Run::new(&project, &["rewind", name]).end().succeeded();
            Run::new(&project, &["audit", "verify"]).end().succeeded();
        }
        same(&state(&project.path()), &before, &format!("round {round}"));
    }
    assert!(with_checkpoint > 0, "no kill came late enough");
    println!("{} kills, {with_checkpoint} after the checkpoint", rounds());
}

#[tokio::test]
async fn a_rewind_that_is_killed_is_finished_by_the_next_start() {
    let project = project();
    for n in 0..60 {
        std::fs::write(project.path().join(format!("f{n}")), format!("{n}\n").repeat(n * 50)).expect("a file");
    }
    let old = state(&project.path());
    let line = "sh work.sh; rm f1*; for n in 2 3 4 5; do echo x > f$n; mv f$n g$n; done; chmod 600 f6; rm -r src";
    turn(&project, &[("run_command", json!({ "command": line }))]).await;
    let new = state(&project.path());
    turn(&project, &[("run_command", json!({ "command": "true" }))]).await;
    let rewind = |to: &str| Run::new(&project, &["rewind", to]);
    let from = Instant::now();
    rewind("c1").end().succeeded();
    let whole = from.elapsed();
    same(&state(&project.path()), &old, "left alone");
    let (mut finished, mut midway) = (0, 0);
    let mut at_old = true;
    for round in 0..rounds() {
        let mut run = rewind(if at_old { "c2" } else { "c1" });
        let child = run.command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        match round % 2 {
            0 => kill(child, whole),
            // Starting takes most of the time, so half of the kills wait for the first change to a
            // file.
            _ => {
                let there = || project.path().join("f10").exists();
                let (was, from) = (there(), Instant::now());
                while there() == was && from.elapsed() < whole * 2 {
                    std::thread::sleep(Duration::from_micros(200));
                }
                kill(child, Duration::from_millis(20));
            }
        }
        let found = state(&project.path());
        midway += usize::from(found != old && found != new);
        Run::new(&project, &["checkpoints"]).end().succeeded();
        let now = state(&project.path());
        finished += usize::from((now == new) == at_old);
        at_old = now == old;
        if !at_old {
            same(&now, &new, &format!("round {round}: neither the old state nor the new one"));
        }
        Run::new(&project, &["audit", "verify"]).end().succeeded();
    }
    rewind("c1").end().succeeded();
    same(&state(&project.path()), &old, "in the end");
    println!("{} kills, {midway} met a half restored project, {finished} were finished", rounds());
}
