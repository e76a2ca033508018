//! Turns in which a model fails: another method continues with the plan and results, or the answer
//! states what is not done.

use monobloc::agent::run_turn;
use monobloc::engine::scripted::Script;
use monobloc::protocol::{Decision, Event, Proposal, StepStatus};

use crate::cli::Project;
use crate::scripted::{Witness, indexed, toolkit};

const FILE: &str = "LIMIT = 128\n\n\ndef first(n=128):\n    return [n]\n";
/// Words from the prompts for reading a request and for writing a definition.
const READING: &str = "You split a developer's request";
const WRITING: &str = "Write the new `second`";
/// A request with two steps, the first of which code carries out.
const TWO: &str = "In a.py set LIMIT to 256. Then add a function second() to a.py that returns 2";
const STEPS: &str = "edit: In a.py set LIMIT to 256.\nedit: add a function second() to a.py that returns 2";

fn yes() -> Witness<impl Fn(&Proposal) -> Decision + Send + Sync> {
    Witness::new(|_: &Proposal| Decision::Approve)
}

fn project() -> Project {
    let project = Project::todo();
    std::fs::write(project.path().join("a.py"), FILE).expect("a file");
    project
}

/// The phase that gave up, and its reason, for each fallback.
fn fallbacks(event: &Event) -> Option<(String, String)> {
    if let Event::Fallback { from, reason } = event { Some((from.clone(), reason.clone())) } else { None }
}

#[tokio::test]
async fn an_error_while_a_request_is_read_hands_over_to_the_single_model_loop() {
    let project = project();
    let planner = Script::saying("[read_file(path=\"src/todo.ts\")]")
        .on("[r1] read_file", "A title has 120 letters.")
        .on("<|im_start|>tool", "A title has 120 letters.")
        .failing(READING)
        .writing();
    let host = yes();
    let toolkit = indexed(&project, toolkit(&project, planner, Script::saying("")));
    let request = "Read src/todo.ts carefully and tell me how long a title may be";
    let finished = run_turn(&toolkit, request, &host).await.expect("a turn");
    let seen = host.seen(fallbacks);
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert!(seen[0].0 == "planning" && seen[0].1.contains("half of its context"), "{seen:?}");
    assert!(finished.steps.iter().any(|step| step.tool == "read_file"), "{:?}", finished.steps);
    assert!(finished.answer.contains("120"), "{}", finished.answer);
}

#[tokio::test]
async fn an_error_while_a_step_is_written_keeps_what_was_done_and_goes_on() {
    let project = project();
    let call = "[replace_in_file(path=\"a.py\", old_text=\"    return [n]\\n\", new_text=\"    return [n]\\n\\n\\ndef second():\\n    return 2\\n\")]";
    let planner =
        Script::saying(call).on(READING, STEPS).on("def second():\\n    return 2", "Done.").failing(WRITING).writing();
    let host = yes();
    let toolkit = indexed(&project, toolkit(&project, planner, Script::saying("")));
    let finished = run_turn(&toolkit, TWO, &host).await.expect("a turn");
    assert_eq!(host.seen(fallbacks).len(), 1, "{:?}", host.seen(fallbacks));
    let file = project.text("a.py");
    assert!(file.contains("LIMIT = 256") && file.contains("def second"), "{file}\n{}", finished.answer);
    let changed = finished.steps.iter().filter(|step| step.executing && step.status == StepStatus::Succeeded).count();
    // Each change is reported once.
    assert!(changed == 2 && finished.answer.matches("- changed a.py").count() == 2, "{}", finished.answer);
}

#[tokio::test]
async fn the_model_of_the_router_goes_on_where_the_planner_fails_twice() {
    let project = project();
    let planner = Script::saying("").failing("");
    let router = Script::saying("A title has at most 120 letters.");
    let host = yes();
    let toolkit = indexed(&project, toolkit(&project, planner, router));
    let finished =
        run_turn(&toolkit, "Read src/todo.ts and tell me how long a title may be", &host).await.expect("a turn");
    let notices = host.notices();
    assert!(notices.iter().any(|text| text.contains("half of its context")), "{notices:?}");
    assert!(notices.iter().any(|text| text.contains("the router's model continues")), "{notices:?}");
    assert!(finished.answer.contains("120"), "{}", finished.answer);
}

#[tokio::test]
async fn where_no_model_goes_on_the_answer_says_what_is_done_what_not_and_the_way_out() {
    let project = project();
    let planner = Script::saying("").on(READING, STEPS).failing(WRITING).failing("Still open").writing();
    let host = yes();
    let toolkit = indexed(&project, toolkit(&project, planner, Script::saying("").failing("")));
    let finished = run_turn(&toolkit, TWO, &host).await.expect("a turn that ends in part");
    assert_eq!(host.seen(fallbacks).len(), 2, "{:?}", host.seen(fallbacks));
    assert_eq!(project.text("a.py"), FILE.replace("LIMIT = 128", "LIMIT = 256"));
    let answer = finished.answer;
    for said in ["- changed a.py", "- not done: Add a function second() to a.py", "the turn is incomplete", "`/retry`"]
    {
        assert!(answer.contains(said), "{said}: {answer}");
    }
    let told: Vec<String> =
        host.seen(|event| if let Event::Token { text } = event { Some(text.clone()) } else { None });
    assert!(told.concat().contains("- not done: Add a function second()"), "{told:?}");
}

#[tokio::test]
async fn a_turn_that_found_and_did_nothing_ends_with_its_error() {
    let project = project();
    let broken = || Script::saying("").failing("");
    let toolkit = indexed(&project, toolkit(&project, broken().writing(), broken()));
    let error =
        run_turn(&toolkit, "Add a function second() to a.py that returns 2", &yes()).await.expect_err("an error");
    assert!(error.to_string().contains("the script says so"), "{error}");
}
