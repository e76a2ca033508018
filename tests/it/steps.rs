//! The steps of a request that a writing model carries out: how they are split, estimated, reported
//! and combined, and the code that each is shown.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use monobloc::agent::{Toolkit, run_turn};
use monobloc::config::Bounds;
use monobloc::engine::scripted::Script;
use monobloc::protocol::{Asks, Decision, Event, PlanStatus, Proposal, StepStatus};
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
async fn a_question_without_a_certain_answer_is_not_called_done() {
    let steps = "ask: What does first() in a.py keep?\nask: Which colour does the roof of the station have?";
    let script = Script::saying("`first` keeps 128 of `n`.").on("You split a developer's request", steps);
    let script = script.on("Question: Which colour", "Its roof has been green since 1998.");
    let request = "What does first() in a.py keep? Which colour does the roof of the station have?";
    let (_, answer) = asked(script, request).await;
    let open = "- 1 of 2 parts of the request have no certain answer: Which colour does the roof";
    assert!(answer.contains(open) && !answer.contains("are done"), "{answer}");
}

#[tokio::test]
async fn a_plan_is_a_record_that_is_estimated_checked_and_moves_on() {
    let request = "In a.py set LIMIT to 256. Then read src/nowhere.ts and say what it does";
    let steps = "edit: In a.py set LIMIT to 256.\nask: read src/nowhere.ts and say what it does";
    let script = Script::saying("").on("You split a developer's request", steps).at(20.0, 4.0);
    let (_project, toolkit) = prepared(script);
    let host = Witness::new(|_: &Proposal| Decision::Approve);
    let finished = run_turn(&toolkit, request, &host).await.expect("a turn");
    assert_eq!(finished.usage.budget.seconds_meant, 60, "it changes something");
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
    // This file does not exist.
    assert_eq!((states(2)[1], story[2].1.status), (PlanStatus::Failed, PlanStatus::Failed));
}

#[tokio::test]
async fn the_files_that_a_step_of_the_model_names_are_counted_and_missing_ones_named_first() {
    // The planner writes the steps of this request, because rules cannot read it.
    let request = "first tell me what src/retry.ts does, then say what src/retri.ts does and how a.py does it";
    let steps = "ask: tell me what src/retry.ts does\nask: say what src/retri.ts does and how a.py does it";
    let script = Script::saying("It retries.").on("You split a developer's request", steps);
    let (_project, toolkit) = prepared(script);
    let host = Witness::new(|_: &Proposal| Decision::Approve);
    run_turn(&toolkit, request, &host).await.expect("a turn");
    let plans = host.seen(|event| if let Event::PlanCreated { plan } = event { Some(plan.clone()) } else { None });
    let files: Vec<_> = plans[0].steps.iter().map(|step| step.files_affected.join(" ")).collect();
    assert_eq!(files, ["src/retry.ts", "a.py"], "{:?}", plans[0]);
    let tokens: Vec<usize> = plans[0].steps.iter().map(|step| step.estimated_tokens).collect();
    assert!(tokens.iter().all(|count| *count < 1_000), "a file costs less than a whole pack: {tokens:?}");
    let told = host.seen(|event| match event {
        Event::Notice { text } if text.contains("src/retri.ts") => Some(text.clone()),
        Event::StepExecuting { .. } => Some("step".to_owned()),
        _ => None,
    });
    assert_eq!(told[0], "s2: `src/retri.ts` does not exist in the project; `src/retry.ts` may be meant", "{told:?}");
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
        // Without seeing the code that uses `first`, the model changes nothing.
        let script = Script::saying("")
            .on("write a short program", &code("print(first()[0])"))
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
async fn a_definition_that_does_not_fit_whole_is_shown_by_its_signature_and_place() {
    let body = |name: &str, lines: usize| {
        format!("def {name}(value):\n{}    return value\n", "    value = value + 1\n".repeat(lines))
    };
    let project = Project::todo();
    for (path, name, lines) in [("grow.py", "grow", 25), ("shrink.py", "shrink", 90)] {
        std::fs::write(project.path().join(path), body(name, lines)).expect("a file");
    }
    let script = Script::saying("")
        .on("You split a developer's request", "ask: What do grow() and shrink() return?")
        .on("shrink.py:1-92 function shrink\ndef shrink(value)", "Both return `value`.")
        .writing();
    let bounds = Bounds { pack: Some(400), ..Bounds::default() };
    let toolkit = Toolkit { bounds, ..indexed(&project, toolkit(&project, script, Script::saying(""))) };
    let host = Witness::new(|_: &Proposal| Decision::Reject);
    let finished = run_turn(&toolkit, "What do grow() and shrink() return?", &host).await.expect("a turn");
    assert!(finished.answer.contains("Both return `value`."), "{}", finished.answer);
    let shown = host.seen(|event| match event {
        Event::ContextShown { places, tokens, .. } => Some((places.clone(), *tokens)),
        _ => None,
    });
    let [(places, tokens)] = shown.as_slice() else { panic!("{shown:?}") };
    assert!(*tokens <= 400 && places[0] == "grow.py:1-27", "{shown:?}");
    assert!(places.contains(&"shrink.py:1-92".to_owned()), "{shown:?}");
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

/// A project and a planner that leads.
fn leading(script: Script) -> (Project, Toolkit) {
    let project = Project::todo();
    std::fs::write(project.path().join("a.py"), FILE).expect("a file");
    let toolkit = indexed(&project, toolkit(&project, script.acting(), Script::saying("")));
    (project, toolkit)
}

#[tokio::test]
async fn a_model_that_leads_says_how_long_it_will_take_where_that_is_long() {
    let told = async |decode: f64| {
        let (_project, toolkit) = leading(Script::saying("It keeps 128 of them.").at(2_000.0, decode));
        let host = Witness::new(|_: &Proposal| Decision::Approve);
        let finished = run_turn(&toolkit, "What does first() in a.py keep?", &host).await.expect("a turn");
        let notices = host.notices().into_iter().filter(|text| text.contains("expect"));
        (notices.collect::<Vec<_>>(), finished.usage.budget.seconds_meant)
    };
    // Four replies of 280 tokens.
    let (slow, meant) = told(4.0).await;
    assert!(
        slow.len() == 2 && slow[0].starts_with("expect about 28") && slow[0].contains("about 4 replies"),
        "{slow:?}"
    );
    assert!(slow[1].starts_with("it took 0 s; about 28"), "{slow:?}");
    assert_eq!((told(2_000.0).await.0, meant), (Vec::new(), 3), "an answer without a call");
}

/// A toolkit whose planner may send email with a server's tool.
fn mailing(project: &Project, script: Script) -> Toolkit {
    let mail = ToolSpec {
        name: "send_mail".to_owned(),
        description: "Send a mail to a person".to_owned(),
        server: "post".to_owned(),
        mutates: true,
        parameters: json!({"type": "object", "required": ["to"], "properties": {
            "to": {"type": "string"}, "copies": {"type": "integer"}, "subject": {"type": "string"}}}),
        ..ToolSpec::default()
    };
    let plain = indexed(project, toolkit(project, script, Script::saying("")));
    let mut catalog = Catalog::builtin();
    catalog.add(mail).expect("a new name");
    let prefilter = Arc::new(Prefilter::new(catalog.specs(), None));
    Toolkit { catalog: Arc::new(catalog), prefilter, orchestrate: false, ..plain }
}

#[tokio::test]
async fn an_argument_that_nothing_says_is_asked_for_and_not_sent() {
    let call = "[send_mail(to=\"ada@lovelace.org\", subject=\"Loom\")]";
    for acts in [false, true] {
        for (request, is_sent) in
            [("Send a mail about the build", false), ("Send a mail about the build to ada@lovelace.org", true)]
        {
            let project = Project::todo();
            let script = Script::saying(call).on("nothing says to", "To whom?").on("Failed", "It is not sent.");
            let script = if acts { script.acting() } else { script.writing() };
            let host = Witness::new(|_: &Proposal| Decision::Approve);
            run_turn(&mailing(&project, script), request, &host).await.expect("a turn");
            let sent = host.reports().into_iter().find(|report| report.tool == "send_mail");
            assert_eq!(sent.is_some(), is_sent, "{acts}: {:?}", host.reports());
            // Optional arguments that the request does not give are left out.
            assert!(sent.is_none_or(|sent| sent.arguments == json!({"to": "ada@lovelace.org"})));
            let asks = host.notices().iter().any(|text| text.contains("no value was given for `to`"));
            assert_eq!(asks, !is_sent, "{:?}", host.notices());
        }
    }
}

#[tokio::test]
async fn a_turn_waits_for_a_missing_argument_and_goes_on_with_the_answer() {
    let call = "[send_mail(to=\"ada@lovelace.org\", subject=\"Loom\")]";
    for acts in [false, true] {
        let project = Project::todo();
        let script = Script::saying(call).on("said no", "It is not sent.").on("nothing says to", "To whom?");
        let script = if acts { script.acting() } else { script.writing() };
        let asked = AtomicUsize::new(0);
        // The first question asks for the value, the second for consent to the call with it.
        let host = Witness::new(|proposal: &Proposal| match asked.fetch_add(1, Ordering::Relaxed) {
            0 => proposal.filled(["grace@hopper.org".to_owned()]),
            _ => Decision::Reject,
        });
        run_turn(&mailing(&project, script), "Send a mail about the build", &host).await.expect("a turn");
        let proposals = host.seen(|event| match event {
            Event::ApprovalRequested { proposal, .. } => Some(proposal.clone()),
            _ => None,
        });
        let [value, consent, ..] = proposals.as_slice() else { panic!("{acts}: {proposals:?}") };
        assert_eq!(value.asks, Asks::Values(vec!["to".to_owned()]), "{value:?}");
        assert!(value.reason.contains("needs `to`, but no value was given"), "{value:?}");
        assert_eq!((&consent.asks, &consent.arguments["to"]), (&Asks::Consent, &json!("grace@hopper.org")));
        let tried = host.reports().into_iter().find(|report| report.tool == "send_mail").expect("a call");
        assert_eq!((tried.arguments, tried.status), (json!({"to": "grace@hopper.org"}), StepStatus::Rejected));
    }
}

/// Adds a function for a user who is asked after every stage; returns the stages and calls in
/// order, and `a.py` afterwards.
async fn inspected(
    (project, toolkit): (Project, Toolkit),
    decide: impl Fn(&Proposal) -> Decision + Send + Sync,
) -> (Vec<String>, String) {
    let host = Witness::new(decide).inspecting();
    // A turn that is stopped ends with an error.
    let _ = run_turn(&toolkit, "Add a function second() to a.py", &host).await;
    let asked = host.seen(|event| match event {
        Event::ApprovalRequested { proposal, .. } => Some(proposal.tool.clone()),
        _ => None,
    });
    (asked, project.text("a.py"))
}

#[tokio::test]
async fn a_turn_that_is_inspected_asks_after_every_stage_and_before_every_call() {
    let script = || Script::saying("").on("Write the new `second`", &code("def second():\n    return 2"));
    let (asked, file) = inspected(prepared(script()), |_: &Proposal| Decision::Approve).await;
    assert_eq!(asked[..4], ["reading", "plan", "step", "context"], "{asked:?}");
    assert!(asked.iter().any(|tool| tool == "write_file" || tool == "replace_in_file"), "{asked:?}");
    assert_eq!(asked.last().map(String::as_str), Some("answer"));
    assert!(file.contains("def second"), "{file}");
}

#[tokio::test]
async fn a_stage_can_leave_its_step_out_or_stop_the_turn() {
    let script = || Script::saying("").on("Write the new `second`", &code("def second():\n    return 2"));
    for name in ["step", "context"] {
        let no_to = |proposal: &Proposal| if proposal.tool == name { Decision::Reject } else { Decision::Approve };
        let (asked, file) = inspected(prepared(script()), no_to).await;
        assert!(asked.last().is_some_and(|last| last == "answer") && file == FILE, "{name}: {asked:?}");
        let stop_at = |proposal: &Proposal| if proposal.tool == name { Decision::Cancel } else { Decision::Approve };
        let (asked, file) = inspected(prepared(script()), stop_at).await;
        assert!(asked.last().is_some_and(|last| last == name) && file == FILE, "{name}: {asked:?}");
    }
}

#[tokio::test]
async fn a_model_that_leads_is_inspected_too() {
    let (asked, _) = inspected(leading(Script::saying("Nothing to do.")), |_: &Proposal| Decision::Approve).await;
    assert_eq!(asked, ["reading", "plan", "context", "answer"]);
}
