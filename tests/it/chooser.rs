//! Checks which role chooses tools of servers: the one that was measured to do it better.

use std::sync::{Arc, Mutex};

use monobloc::agent::{Toolkit, run_turn};
use monobloc::engine::scripted::Script;
use monobloc::protocol::{Asks, Decision, Event, Proposal};
use monobloc::tools::{Catalog, Prefilter, ToolSpec};
use serde_json::{Value, json};

use crate::cli::Project;
use crate::scripted::{Witness, indexed, toolkit};

const REQUEST: &str = "Switch the lamp in the kitchen on";

/// The built-in tools and some that switch lamps.
fn with_lamps(plain: Toolkit, names: &[&str]) -> Toolkit {
    let mut catalog = Catalog::builtin();
    for name in names {
        let description = "Switch the lamp of a room on or off".to_owned();
        let room = json!({ "type": "string", "description": "The room" });
        let parameters = json!({ "type": "object", "properties": { "room": room }, "required": ["room"] });
        let spec = ToolSpec { name: (*name).to_owned(), description, parameters, mutates: true, ..ToolSpec::default() };
        catalog.add(spec).expect("a tool");
    }
    let prefilter = Arc::new(Prefilter::new(catalog.specs(), None));
    Toolkit { catalog: Arc::new(catalog), prefilter, ..plain }
}

/// The calls of tools of servers in a turn where the planner writes `planner` and the router `router`, each right as often with a grammar.
async fn called(planner: (&str, usize), router: (&str, usize)) -> Vec<String> {
    let even = |(reply, right)| (reply, (right, right));
    called_by(even(planner), even(router)).await
}

/// The same for models that chose rightly so often by themselves and so often inside a grammar.
async fn called_by(planner: (&str, (usize, usize)), router: (&str, (usize, usize))) -> Vec<String> {
    let calls = called_with(planner, router, |_: &Proposal| Decision::Approve).await;
    calls.into_iter().map(|(tool, _)| tool).collect()
}

/// The same with their arguments, where the user decides so.
async fn called_with(
    planner: (&str, (usize, usize)),
    router: (&str, (usize, usize)),
    decide: impl Fn(&Proposal) -> Decision + Send + Sync,
) -> Vec<(String, Value)> {
    let project = Project::todo();
    let script = |(reply, (free, grammar)): (&str, (usize, usize))| {
        Script::saying("").on("Call the one tool", reply).writing().choosing(free, grammar)
    };
    let plain = toolkit(&project, script(planner), script(router));
    let toolkit = with_lamps(indexed(&project, plain), &["home.lamp_one", "home.lamp_two"]);
    let host = Witness::new(decide);
    run_turn(&toolkit, REQUEST, &host).await.expect("a turn");
    let calls = host.reports().into_iter().filter(|report| report.tool.starts_with("home."));
    calls.map(|report| (report.tool, report.arguments)).collect()
}

#[tokio::test]
async fn the_role_that_was_measured_to_choose_better_chooses() {
    let (one, two) = (r#"[home.lamp_one(room="kitchen")]"#, r#"[home.lamp_two(room="kitchen")]"#);
    let cases: [(usize, usize, &[&str]); 4] = [
        (8, 6, &["home.lamp_one"]),
        (6, 8, &["home.lamp_two"]),
        // The router costs less.
        (7, 7, &["home.lamp_two"]),
        (5, 5, &[]),
    ];
    for (planner, router, expected) in cases {
        assert_eq!(called((one, planner), (two, router)).await, expected, "{planner} {router}");
    }
}

/// A grammar closes the call that the model leaves open; without one no call comes of it.
#[tokio::test]
async fn a_call_is_written_inside_a_grammar_unless_free_calls_were_better() {
    let open = r#"[home.lamp_one(room="kitchen")"#;
    let closed = r#"[home.lamp_one(room="kitchen")]"#;
    for (reply, measured, expected) in
        [(open, (6, 8), vec!["home.lamp_one"]), (open, (8, 6), vec![]), (closed, (8, 6), vec!["home.lamp_one"])]
    {
        assert_eq!(called_by((reply, measured), ("", (5, 5))).await, expected, "{reply} {measured:?}");
    }
}

#[tokio::test]
async fn every_clause_is_a_step_where_a_tool_of_a_server_fits() {
    let project = Project::todo();
    let script =
        Script::saying("").on("Call the one tool", r#"[home.lamp_one(room="kitchen")]"#).writing().choosing(8, 8);
    let plain = toolkit(&project, script, Script::saying(""));
    let toolkit = with_lamps(indexed(&project, plain), &["home.lamp_one"]);
    let host = Witness::new(|_: &Proposal| Decision::Approve);
    let request = "Switch on the lamp in the kitchen, list the files in src/ and then switch it off";
    run_turn(&toolkit, request, &host).await.expect("a turn");
    let steps = host.seen(|event| match event {
        Event::PlanCreated { plan } => Some(plan.steps.iter().map(|step| step.description.clone()).collect::<Vec<_>>()),
        _ => None,
    });
    assert_eq!(steps, [["Switch on the lamp in the kitchen", "List the files in src/", "Switch it off"]]);
}

#[tokio::test]
async fn a_question_beside_calls_of_servers_is_answered_from_their_results() {
    let project = Project::todo();
    let script = Script::saying("A title has at most 120 letters.")
        .on("Call the one tool", r#"[home.lamp_one(room="kitchen")]"#)
        .writing()
        .choosing(8, 8);
    let plain = toolkit(&project, script, Script::saying(""));
    let toolkit = with_lamps(indexed(&project, plain), &["home.lamp_one"]);
    let host = Witness::new(|_: &Proposal| Decision::Approve);
    let request = "Switch on the lamp in the kitchen, read src/todo.ts and tell me how many letters a title may have";
    let answer = run_turn(&toolkit, request, &host).await.expect("a turn").answer;
    assert!(answer.contains("at most 120 letters"), "{answer}");
    assert_eq!(answer.matches("src/todo.ts, lines").count(), 1, "each call is told once: {answer}");
}

#[tokio::test]
async fn the_planner_chooses_where_the_router_names_no_tool() {
    let call = r#"[home.lamp_one(room="kitchen")]"#;
    assert_eq!(called((call, 7), ("I do not know.", 8)).await, ["home.lamp_one"]);
}

#[tokio::test]
async fn a_call_needs_nothing_that_the_request_does_not_say() {
    for (planner, expected) in [
        (r#"[home.lamp_one(room="bathroom")]"#, vec![]),
        (r#"[home.lamp_one(room="Kitchen")]"#, vec!["home.lamp_one"]),
        ("[no_such_tool()]", vec![]),
    ] {
        assert_eq!(called((planner, 8), ("[no_such_tool()]", 6)).await, expected, "{planner}");
    }
}

#[tokio::test]
async fn a_value_that_the_request_does_not_say_comes_from_the_user_and_has_to_fit() {
    let script = r#"[home.lamp_one(room="bathroom")]"#;
    let asked = Mutex::new(Vec::new());
    let given = called_with((script, (8, 8)), ("[no_such_tool()]", (6, 6)), |proposal: &Proposal| {
        let Asks::Values(names) = &proposal.asks else { return Decision::Approve };
        let mut asked = asked.lock().expect("nobody panics");
        asked.push(proposal.reason.clone());
        // The first answer has no room at all.
        let room = if asked.len() == 1 { json!({ "room": ["hall", "attic"] }) } else { json!({ "room": "hall" }) };
        assert_eq!(names, &["room"]);
        Decision::Modify(room.as_object().cloned().unwrap_or_default())
    });
    assert_eq!(given.await, [("home.lamp_one".to_owned(), json!({ "room": "hall" }))]);
    let asked = asked.into_inner().expect("nobody panics");
    assert!(asked.len() == 2 && asked[1].contains("expected string"), "{asked:?}");
}
