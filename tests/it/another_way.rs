//! A command or call that failed before it did anything is retried once in a different way; one
//! that ran, or that the user wrote, is not.

use std::sync::Arc;

use monobloc::agent::{Toolkit, run_turn};
use monobloc::engine::scripted::Script;
use monobloc::protocol::{Decision, Proposal, StepReport, StepStatus};
use monobloc::tools::{Catalog, Prefilter, ToolSpec};
use serde_json::json;

use crate::cli::Project;
use crate::scripted::{Witness, indexed, toolkit};

/// The calls of a turn on a project with Python tests.
async fn turned(planner: Script, request: &str, more: impl FnOnce(Toolkit) -> Toolkit) -> Vec<StepReport> {
    let project = Project::todo();
    std::fs::remove_file(project.path().join("package.json")).expect("it was there");
    for (path, text) in [
        ("loom.py", "def warp():\n    return 3\n"),
        (
            "test_loom.py",
            "import unittest\nfrom loom import warp\n\n\nclass Warp(unittest.TestCase):\n    def test_warp(self):\n        \
             self.assertEqual(warp(), 3)\n",
        ),
    ] {
        std::fs::write(project.path().join(path), text).expect("a file");
    }
    let toolkit = more(indexed(&project, toolkit(&project, planner, Script::saying(""))));
    let host = Witness::new(|_: &Proposal| Decision::Approve);
    run_turn(&toolkit, request, &host).await.expect("a turn");
    host.reports()
}

/// The commands that ran for the step `run: {step}` and their results. The model writes `first`
/// and, after reading that it does not start, `second`.
async fn commands(step: &str, first: &str, second: &str) -> Vec<(String, StepStatus)> {
    let steps = format!("run: {step}\nask: say what it printed");
    let script = Script::saying("")
        .on("You split a developer's request", &steps)
        .on("does not start", second)
        .on("Write the one shell command", first)
        .writing();
    let reports = turned(script, &format!("{step} and then say what it printed"), |plain| plain).await;
    let runs = reports.into_iter().filter(|report| report.tool == "run_command");
    runs.map(|run| (run.arguments["command"].as_str().unwrap_or_default().to_owned(), run.status)).collect()
}

#[tokio::test]
async fn a_command_that_does_not_start_is_written_anew_once() {
    let (failed, done) = (StepStatus::Failed, StepStatus::Succeeded);
    let (guess, other) = ("python3 -m no_such_counter loom.py", "wc -l loom.py");
    let step = "Run the counter of lines over loom.py";
    assert_eq!(commands(step, guess, other).await, [(guess.to_owned(), failed), (other.to_owned(), done)]);
    // There is no third attempt, and the same command is not run again.
    let more = "python3 -m no_such_counter_either loom.py";
    assert_eq!(commands(step, guess, more).await, [(guess.to_owned(), failed), (more.to_owned(), failed)]);
    assert_eq!(commands(step, guess, guess).await, [(guess.to_owned(), failed)]);
    // A call that ran and failed may have done something.
    let ran = "ls no_such_folder";
    assert_eq!(commands(step, ran, other).await, [(ran.to_owned(), failed)]);
}

#[tokio::test]
async fn tests_that_a_guess_does_not_start_are_run_as_the_project_runs_them() {
    let ran = commands("Give the unit tests of loom.py a run", "python3 -m no_such_runner", "ls").await;
    let [(guess, StepStatus::Failed), (own, StepStatus::Succeeded)] = ran.as_slice() else { panic!("{ran:?}") };
    assert!(guess.ends_with("no_such_runner") && (own.contains("unittest") || own.contains("pytest")), "{ran:?}");
}

/// The calls to the tool `weather.tell`, which no server offers, so that each call fails.
async fn told(mutates: bool, second: &str) -> Vec<serde_json::Value> {
    let script = Script::saying("")
        .on("Call it with other arguments", second)
        .on("Call the one tool", r#"[weather.tell(city="Oslo", unit="c")]"#)
        .writing()
        .choosing(8, 6);
    let tool = ToolSpec {
        name: "weather.tell".to_owned(),
        description: "Tell the weather of a city".to_owned(),
        server: "weather".to_owned(),
        mutates,
        parameters: json!({ "type": "object", "required": ["city"], "properties": {
            "city": { "type": "string" }, "unit": { "enum": ["c", "f"] } } }),
        ..ToolSpec::default()
    };
    let reports = turned(script, "Tell the weather of Oslo", |plain| {
        let mut catalog = Catalog::builtin();
        catalog.add(tool).expect("a new name");
        let prefilter = Arc::new(Prefilter::new(catalog.specs(), None));
        Toolkit { catalog: Arc::new(catalog), prefilter, ..plain }
    });
    let calls = reports.await.into_iter().filter(|report| report.tool == "weather.tell");
    calls.map(|call| call.arguments).collect()
}

#[tokio::test]
async fn a_call_that_had_no_effect_is_written_anew_once_with_other_arguments() {
    let (first, other) = (json!({ "city": "Oslo", "unit": "c" }), json!({ "city": "Oslo", "unit": "f" }));
    let second = r#"[weather.tell(city="Oslo", unit="f")]"#;
    assert_eq!(told(false, second).await, [first.clone(), other]);
    assert_eq!(
        told(false, r#"[weather.tell(city="Oslo", unit="c")]"#).await,
        std::slice::from_ref(&first),
        "the same call"
    );
    assert_eq!(told(true, second).await, [first], "it may have changed something");
}
