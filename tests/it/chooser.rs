//! Checks which role chooses among server tools: the one that was measured to choose better.

use std::sync::{Arc, Mutex};

use monobloc::agent::{Toolkit, run_turn};
use monobloc::base::Cancel;
use monobloc::embed::{Embedder, Options};
use monobloc::engine::scripted::Script;
use monobloc::protocol::{Asks, Decision, Event, Proposal, ToolChoice};
use monobloc::tools::{Catalog, Prefilter, ToolSpec};
use serde_json::{Value, json};

use crate::cli::Project;
use crate::models;
use crate::scripted::{Witness, indexed, toolkit};

const REQUEST: &str = "Switch the lamp in the kitchen on";

fn lamp(name: &str) -> ToolSpec {
    let description = "Switch the lamp of a room on or off".to_owned();
    let room = json!({ "type": "string", "description": "The room" });
    let parameters = json!({ "type": "object", "properties": { "room": room }, "required": ["room"] });
    ToolSpec { name: name.to_owned(), description, parameters, mutates: true, ..ToolSpec::default() }
}

/// The built-in tools and some that switch lamps.
fn with_lamps(plain: Toolkit, names: &[&str]) -> Toolkit {
    let mut catalog = Catalog::builtin();
    names.iter().for_each(|name| catalog.add(lamp(name)).expect("a tool"));
    let prefilter = Arc::new(Prefilter::new(catalog.specs(), None));
    Toolkit { catalog: Arc::new(catalog), prefilter, ..plain }
}

/// The calls of server tools in a turn in which the planner writes `planner` and the router
/// `router`; the numbers are how often each is right, with or without a grammar.
async fn called(planner: (&str, usize), router: (&str, usize)) -> Vec<String> {
    let even = |(reply, right)| (reply, (right, right));
    called_by(even(planner), even(router)).await
}

/// Like `called`, with separate numbers of right choices without and with a grammar.
async fn called_by(planner: (&str, (usize, usize)), router: (&str, (usize, usize))) -> Vec<String> {
    let calls = called_with(planner, router, |_: &Proposal| Decision::Approve).await;
    calls.into_iter().map(|(tool, _)| tool).collect()
}

/// Like `called_by`, with the arguments of the calls, and a user who makes the given decision.
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
        // If both are equal, the router is used because it costs less.
        (7, 7, &["home.lamp_two"]),
        (5, 5, &[]),
    ];
    for (planner, router, expected) in cases {
        assert_eq!(called((one, planner), (two, router)).await, expected, "{planner} {router}");
    }
}

/// A grammar closes the call that the model leaves open; without one there is no call.
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

/// The tool choices and the called tools of a turn in which the planner writes
/// `[home.lamp_one(room="kitchen")]` and the router `router`; `is_unsure` makes the router unsure
/// of all that it writes.
async fn chosen(router: &str, is_unsure: bool, planner_right: usize) -> (Vec<ToolChoice>, Vec<String>) {
    let project = Project::todo();
    let script = |reply: &str| Script::saying("").on("Call the one tool", reply).writing();
    let router = script(router).choosing(8, 8);
    let router = if is_unsure { router.unsure() } else { router };
    let planner = script(r#"[home.lamp_one(room="kitchen")]"#).choosing(planner_right, planner_right);
    let toolkit =
        with_lamps(indexed(&project, toolkit(&project, planner, router)), &["home.lamp_one", "home.lamp_two"]);
    let host = Witness::new(|_: &Proposal| Decision::Approve);
    run_turn(&toolkit, REQUEST, &host).await.expect("a turn");
    let choices = host.seen(|event| if let Event::ToolChosen(choice) = event { Some(choice.clone()) } else { None });
    let calls = host.reports().into_iter().map(|report| report.tool).filter(|tool| tool.starts_with("home."));
    (choices, calls.collect())
}

#[tokio::test]
async fn the_planner_chooses_among_the_same_tools_where_the_router_is_less_sure_than_it_was_when_it_was_right() {
    let (one, two) = ("home.lamp_one", "home.lamp_two");
    let call = r#"[home.lamp_two(room="kitchen")]"#;
    let told = |choices: &[ToolChoice]| -> Vec<(String, usize, Option<String>, bool)> {
        choices.iter().map(|one| (one.role.clone(), one.offered, one.tool.clone(), one.handed_on)).collect()
    };
    let router = |handed_on: bool| ("router".to_owned(), 2, Some(two.to_owned()), handed_on);
    let planner = || ("planner".to_owned(), 2, Some(one.to_owned()), false);
    let (choices, calls) = chosen(call, true, 8).await;
    assert_eq!((told(&choices), calls), (vec![router(true), planner()], vec![one.to_owned()]));
    let (unsure, sure) = (choices[0].sure.expect("how sure"), choices[1].sure.expect("how sure"));
    // The two names differ in one letter. A weight of 0.5 against 0 is a probability of .62 against
    // .38.
    assert!((unsure.margin - 0.245).abs() < 0.01 && (unsure.entropy - 0.663).abs() < 0.01, "{unsure:?}");
    assert!(sure.margin > 0.99 && sure.entropy < 0.01, "{sure:?}");
    let (choices, calls) = chosen(call, false, 8).await;
    assert_eq!((told(&choices), calls), (vec![router(false)], vec![two.to_owned()]));
    // A planner that chooses badly is not asked instead.
    let (choices, calls) = chosen(call, true, 5).await;
    assert_eq!((told(&choices), calls), (vec![router(false)], vec![two.to_owned()]));
    let none = || ("router".to_owned(), 2, None, true);
    let (choices, calls) = chosen("I do not know.", false, 8).await;
    assert_eq!((told(&choices), calls), (vec![none(), planner()], vec![one.to_owned()]));
}

/// The number of tools offered to a planner that chose the right one `right` times out of eight
/// when measured.
async fn offered(right: usize, speed: f64) -> usize {
    let project = Project::todo();
    let script = Script::saying("").on("Call the one tool", r#"[home.lamp_0(room="kitchen")]"#).writing();
    let script = script.choosing(right, right).at(speed, speed);
    let names: Vec<String> = (0..20).map(|number| format!("home.lamp_{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let toolkit = with_lamps(indexed(&project, toolkit(&project, script, Script::saying(""))), &names);
    let host = Witness::new(|_: &Proposal| Decision::Approve);
    run_turn(&toolkit, REQUEST, &host).await.expect("a turn");
    let counts = host.seen(|event| if let Event::ToolChosen(choice) = event { Some(choice.offered) } else { None });
    assert_eq!(counts.len(), 1, "{counts:?}");
    counts[0]
}

#[tokio::test]
async fn a_model_that_chooses_as_well_among_fifteen_tools_is_offered_fifteen_where_there_is_room() {
    assert_eq!(offered(8, 5_000.0).await, 15);
    // It was right once more among five tools than among fifteen.
    assert_eq!(offered(7, 5_000.0).await, 5);
    let slow = offered(8, 50.0).await;
    assert!((6..15).contains(&slow), "{slow}");
}

/// A tool for another purpose is not offered, and if no tool is left, no model is asked.
#[tokio::test]
async fn what_retrieval_finds_unlike_the_step_is_not_offered_and_what_a_model_calls_is_called() {
    let project = Project::todo();
    let script =
        || Script::saying("").on("Call the one tool", r#"[home.lamp_one(room="kitchen")]"#).writing().choosing(8, 8);
    let embedder = Embedder::open(&models::model("all-MiniLM-L6-v2"), Options::default()).expect("an embedder");
    let catalog = Catalog::described(vec![lamp("home.lamp_one"), lamp("home.lamp_two")]).expect("a catalogue");
    let prefilter = Prefilter::embedded(catalog.specs(), Some(&embedder), &Cancel::new()).expect("vectors");
    let (catalog, prefilter, embedder) = (Arc::new(catalog), Arc::new(prefilter), Some(embedder));
    for (request, expected) in [(REQUEST, 1), ("Sell the old bicycle in the kitchen", 0)] {
        let plain = indexed(&project, toolkit(&project, script(), Script::saying("")));
        let toolkit =
            Toolkit { catalog: catalog.clone(), prefilter: prefilter.clone(), embedder: embedder.clone(), ..plain };
        let host = Witness::new(|_: &Proposal| Decision::Approve);
        run_turn(&toolkit, request, &host).await.expect("a turn");
        let called = host.reports().into_iter().filter(|report| report.tool == "home.lamp_one").count();
        let usage = toolkit.meter.usage();
        let asked = usage.calls.iter().filter(|call| call.phase == "choosing a tool").count();
        assert_eq!((asked, called), (expected, expected), "{request}");
    }
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
        // The first answer gives no valid room.
        let room = if asked.len() == 1 { json!({ "room": ["hall", "attic"] }) } else { json!({ "room": "hall" }) };
        assert_eq!(names, &["room"]);
        Decision::Modify(room.as_object().cloned().unwrap_or_default())
    });
    assert_eq!(given.await, [("home.lamp_one".to_owned(), json!({ "room": "hall" }))]);
    let asked = asked.into_inner().expect("nobody panics");
    assert!(asked.len() == 2 && asked[1].contains("expected string"), "{asked:?}");
}
