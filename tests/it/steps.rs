//! The steps of a request that a writing model carries out: how they are divided, estimated, told and brought together, and what they are shown.

use std::sync::Arc;

use monobloc::agent::{Toolkit, run_turn};
use monobloc::engine::scripted::Script;
use monobloc::protocol::{Decision, Event, PlanStatus, Proposal};
use monobloc::tools::{Catalog, Prefilter, ToolSpec};
use serde_json::json;

use crate::cli::Project;
use crate::scripted::{Witness, indexed, toolkit};
use crate::work::{FILE, asked, code, prepared};

#[tokio::test]
async fn a_step_that_is_answered_in_words_ends_and_names_the_lines_it_rests_on() {
    let (_project, toolkit) = prepared(Script::saying("`first` keeps 128 of `n`."));
    let host = Witness::new(|_: &Proposal| Decision::Approve);
    let finished = run_turn(&toolkit, "What does first() in a.py keep?", &host).await.expect("a turn");
    let [report] = finished.steps.as_slice() else { panic!("{:?}", finished.steps) };
    assert_eq!(host.reports(), finished.steps);
    assert!(report.tool == "answer" && report.summary.contains("answered from a.py:"), "{report:?}");
    assert!(finished.answer.contains("128") && !finished.answer.contains("answered from"), "{}", finished.answer);
}

#[tokio::test]
async fn the_steps_of_a_request_are_brought_together_in_one_answer() {
    let steps = "edit: In a.py set LIMIT to 256.\nedit: add a function second() to a.py";
    let script = || Script::saying("").on("You split a developer's request", steps);
    let request = "In a.py set LIMIT to 256. Then add a function second() to a.py";
    let both = script().on("Write the new `second`", &code("def second():\n    return 2"));
    let (file, answer) = asked(both, request).await;
    assert!(file.contains("LIMIT = 256") && file.contains("def second"), "{file}");
    assert!(answer.contains("- all 2 parts of the request are done"), "{answer}");
    let (_, answer) = asked(script(), request).await;
    assert!(answer.contains("- 1 of 2 parts of the request are not done: Add a function second()"), "{answer}");
}

#[tokio::test]
async fn a_plan_is_a_record_that_is_estimated_checked_and_moves_on() {
    let request = "In a.py set LIMIT to 256. Then read src/nowhere.ts and say what it does";
    let steps = "edit: In a.py set LIMIT to 256.\nask: read src/nowhere.ts and say what it does";
    let script = Script::saying("").on("You split a developer's request", steps).at(20.0, 4.0);
    let (_project, toolkit) = prepared(script);
    let host = Witness::new(|_: &Proposal| Decision::Approve);
    run_turn(&toolkit, request, &host).await.expect("a turn");
    let story = host.seen(|event| match event {
        Event::PlanCreated { plan } => Some(("created", plan.clone())),
        Event::PlanUpdated { plan } => Some(("updated", plan.clone())),
        _ => None,
    });
    let states = |at: usize| story[at].1.steps.iter().map(|step| step.status).collect::<Vec<_>>();
    assert_eq!(story.iter().map(|(what, _)| *what).collect::<Vec<_>>(), ["created", "updated", "updated"]);
    let first = &story[0].1;
    let tokens: Vec<usize> = first.steps.iter().map(|step| step.estimated_tokens).collect();
    assert!(
        tokens[0] > 500 && tokens[1] > 1_000 && first.total_estimated_tokens == tokens[0] + tokens[1],
        "{tokens:?}"
    );
    assert!(first.estimated_seconds.is_some_and(|seconds| seconds > 30), "{first:?}");
    assert_eq!(states(0), [PlanStatus::Pending, PlanStatus::Pending]);
    assert_eq!(states(1), [PlanStatus::Completed, PlanStatus::Pending]);
    assert_eq!((states(2)[1], story[2].1.status), (PlanStatus::Completed, PlanStatus::Completed));
}

#[tokio::test]
async fn a_turn_that_takes_long_says_so_before_its_first_step_and_compares_at_its_end() {
    let told = async |decode: f64| {
        let script = Script::saying("").on("Write the new `second`", &code("def second():\n    return 2"));
        let (_project, toolkit) = prepared(script.at(2_000.0, decode));
        let host = Witness::new(|_: &Proposal| Decision::Approve);
        run_turn(&toolkit, "Add a function second() to a.py", &host).await.expect("a turn");
        host.seen(|event| match event {
            Event::Notice { text } if text.contains("expect") => Some(text.clone()),
            Event::StepExecuting { .. } => Some("step".to_owned()),
            _ => None,
        })
    };
    let slow = told(4.0).await;
    assert!(slow.len() == 3 && slow[0].starts_with("expect about 1") && slow[1] == "step", "{slow:?}");
    assert!(slow[2].starts_with("it took 0 s; about 1"), "{slow:?}");
    assert_eq!(told(2_000.0).await, ["step"]);
}

#[tokio::test]
async fn a_change_is_shown_callers_and_tests_where_there_is_time_for_them() {
    let test = "from a import first\n\n\ndef test_first():\n    assert first(1) == [1] * 128\n";
    let done = async |prompt: f64| {
        // Without the code that uses `first` the model changes nothing.
        let script = Script::saying("")
            .on("def test_first():\n    assert first(1)", &code("def first(n=256):\n    return keep(128, n)"))
            .on("Write `first`", &code("def first(n=128):\n    return keep(128, n)"));
        let (project, toolkit) = prepared(script.at(prompt, 100.0));
        std::fs::write(project.path().join("test_a.py"), test).expect("a file");
        let toolkit = indexed(&project, toolkit);
        let host = Witness::new(
            |proposal: &Proposal| {
                if proposal.tool == "run_command" { Decision::Reject } else { Decision::Approve }
            },
        );
        run_turn(&toolkit, "In a.py first() should take 256 unless told otherwise", &host).await.expect("a turn");
        project.text("a.py")
    };
    assert!(done(5_000.0).await.contains("def first(n=256)"));
    assert_eq!(done(60.0).await, FILE);
}

#[tokio::test]
async fn orders_that_the_model_writes_as_one_step_are_steps_of_their_own() {
    let request = "Set LIMIT to 256 in a.py, set MAX_ATTEMPTS to 9 in src/retry.ts and set TITLE_LENGTH_MAX to 99 in src/todo.ts for the tests";
    let script = Script::saying("").on("You split a developer's request", &format!("edit: {request}"));
    let (project, toolkit) = prepared(script);
    let host = Witness::new(|_: &Proposal| Decision::Approve);
    run_turn(&toolkit, request, &host).await.expect("a turn");
    let steps = host.seen(|event| match event {
        Event::PlanCreated { plan } => Some(plan.steps.iter().map(|step| step.description.clone()).collect::<Vec<_>>()),
        _ => None,
    });
    let expected = [
        "Set LIMIT to 256 in a.py",
        "set MAX_ATTEMPTS to 9 in src/retry.ts",
        "set TITLE_LENGTH_MAX to 99 in src/todo.ts for the tests",
    ];
    assert_eq!(steps, [expected]);
    assert!(project.text("a.py").contains("LIMIT = 256") && project.text("src/retry.ts").contains("MAX_ATTEMPTS = 9"));
    assert!(project.text("src/todo.ts").contains("TITLE_LENGTH_MAX = 99"));
}

#[tokio::test]
async fn an_argument_that_nothing_says_is_asked_for_and_not_sent() {
    let mail = ToolSpec {
        name: "send_mail".to_owned(),
        description: "Send a mail to a person".to_owned(),
        server: "post".to_owned(),
        mutates: true,
        destructive: false,
        parameters: json!({"type": "object", "required": ["to"], "properties": {
            "to": {"type": "string"}, "subject": {"type": "string"}}}),
    };
    let call = "[send_mail(to=\"ada@lovelace.org\", subject=\"Loom\")]";
    for acts in [false, true] {
        for (request, is_sent) in
            [("Send a mail about the build", false), ("Send a mail about the build to ada@lovelace.org", true)]
        {
            let project = Project::todo();
            let script = Script::saying(call).on("nothing says to", "To whom?").on("Failed", "It is not sent.");
            let script = if acts { script.acting() } else { script.writing() };
            let plain = indexed(&project, toolkit(&project, script, Script::saying("")));
            let mut catalog = Catalog::builtin();
            catalog.add(mail.clone()).expect("a new name");
            let prefilter = Arc::new(Prefilter::new(catalog.specs(), None));
            let toolkit = Toolkit { catalog: Arc::new(catalog), prefilter, orchestrate: false, ..plain };
            let host = Witness::new(|_: &Proposal| Decision::Approve);
            run_turn(&toolkit, request, &host).await.expect("a turn");
            let sent = host.reports().into_iter().find(|report| report.tool == "send_mail");
            assert_eq!(sent.is_some(), is_sent, "{acts}: {:?}", host.reports());
            // Optional arguments that the request does not give are left out.
            assert!(sent.is_none_or(|sent| sent.arguments == json!({"to": "ada@lovelace.org"})));
            let asks = host.notices().iter().any(|text| text.contains("which `to`? Nothing says it"));
            assert_eq!(asks, !is_sent, "{:?}", host.notices());
        }
    }
}
