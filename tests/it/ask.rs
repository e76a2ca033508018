//! Whole turns with the small models: questions are answered from evidence, and changes need consent.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use crate::cli::{Project, Run};
use crate::models;
use crate::turn::{Turn, kind, text};

const QUESTION: &str = "Read src/retry.ts and tell me how many times a request is tried";
const CHANGE: &str = "In src/retry.ts change the maximum number of attempts from 5 to 3";

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap_or_else(|| panic!("no object: {value}")).keys().map(String::as_str).collect()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no count: {value}"))
}

#[test]
fn a_question_is_answered_from_the_file_it_names() {
    let project = Project::todo();
    let before = project.files();
    let turn = Turn::of(&project, QUESTION, &[]);
    let story = [
        "plan-created",
        "step-executing",
        "step-state",
        "call-started",
        "step-completed",
        "step-state",
        "plan-updated",
        "token",
        "turn-finished",
    ];
    assert_eq!(turn.story(), story);
    let step = turn.data("step-completed")[0];
    assert_eq!((text(&step["tool"]), text(&step["status"])), ("read_file", "succeeded"));
    assert_eq!(step["arguments"], json!({ "path": "src/retry.ts" }));
    assert!(turn.answer().contains('5') && turn.answer().contains("src/retry.ts"), "{}", turn.answer());
    assert_eq!(project.files(), before, "a question changes nothing");
}

#[test]
fn inspect_shows_every_stage_where_nobody_can_be_asked_but_only_with_yes() {
    let project = Project::todo();
    let before = project.files();
    let ended = Run::new(&project, &["inspect", CHANGE]).end();
    assert!(ended.code == Some(1) && ended.err.contains("--yes prints the stages"), "{}", ended.err);
    assert_eq!(project.files(), before, "nothing is done");
    let ended = Run::new(&project, &["inspect", "--yes", "--json", CHANGE]).end().succeeded();
    let lines = ended.lines();
    let asked = lines.iter().filter(|line| line["type"] == "approval-requested");
    let asked: Vec<&str> = asked.map(|line| text(&line["data"]["proposal"]["tool"])).collect();
    assert_eq!(asked, ["reading", "plan", "step", "replace_in_file", "answer"]);
    assert!(project.text("src/retry.ts").contains("MAX_ATTEMPTS = 3;"));
    let shown = Run::new(&project, &["inspect", "--yes", "Read src/retry.ts"]).end().succeeded().out;
    assert!(shown.contains("part 1") && shown.contains("next: planning") && shown.contains("it rests on"), "{shown}");
}

#[test]
fn a_dry_run_says_what_would_be_used_and_changes_nothing() {
    let project = Project::todo();
    let before = project.files();
    let ended = Run::new(&project, &["ask", "--dry-run", CHANGE]).end().succeeded();
    for part in ["s1", "planner: SmolLM2-135M", "turn"] {
        assert!(ended.out.contains(part), "{part}: {}", ended.out);
    }
    let ended = Run::new(&project, &["ask", "--dry-run", "--json", CHANGE]).end().succeeded();
    let last = ended.lines().pop().expect("a line");
    assert_eq!(text(&last["models"][0]["role"]), "planner");
    assert_eq!(project.files(), before, "a dry run changes nothing");
}

#[test]
fn every_json_line_is_an_event_and_the_last_summarises_the_turn() {
    let project = Project::todo();
    let turn = Turn::of(&project, QUESTION, &[]);
    let conversation = &turn.events[0]["conversationId"];
    for event in &turn.events {
        assert_eq!(keys(event), BTreeSet::from(["conversationId", "data", "time", "type"]), "{event}");
        assert_eq!(&event["conversationId"], conversation);
        assert!(text(&event["time"]).parse::<jiff::Timestamp>().is_ok() && event["data"].is_object(), "{event}");
    }
    let finished = turn.finished();
    assert_eq!(finished["steps"], json!(turn.data("step-completed")));
    let tokens: String = turn.data("token").iter().map(|token| text(&token["text"])).collect();
    assert_eq!(tokens, turn.answer(), "the answer is what was streamed");
    let usage = &finished["usage"];
    for name in ["model_calls", "prompt_tokens", "generated_tokens", "wall_ms"] {
        assert!(number(&usage[name]) > 0, "{name}: {usage}");
    }
    let budget = &usage["budget"];
    assert!((1..=800).contains(&number(&budget["system_tokens"])), "{budget}");
    assert!(number(&budget["task_tokens"]) <= 10_000 && budget["over"] == json!([]), "{budget}");
    assert!(number(&usage["cached_tokens"]) <= number(&usage["prompt_tokens"]), "{usage}");
}

#[test]
fn the_reported_share_of_a_load_only_grows() {
    let turn = Turn::of(&Project::todo(), QUESTION, &[]);
    let shares: Vec<f64> =
        turn.data("model-loading").iter().map(|load| load["share"].as_f64().expect("a share")).collect();
    assert!(shares.is_sorted() && shares.last() == Some(&1.0), "{shares:?}");
    assert!(shares.len() <= 30, "{} reports of one load", shares.len());
}

#[test]
fn an_approved_change_is_made_in_exactly_that_line() {
    let project = Project::todo();
    let mut expected = project.files();
    let before = project.text("src/retry.ts");
    let turn = Turn::of(&project, CHANGE, &["--yes"]);
    let after = before.replace("MAX_ATTEMPTS = 5;", "MAX_ATTEMPTS = 3;");
    assert_ne!(before, after);
    expected.insert(project.path().join("src/retry.ts"), after.into_bytes());
    assert_eq!(project.files(), expected);
    let step = turn.data("step-completed")[0];
    assert_eq!(text(&step["status"]), "succeeded");
    let diff = text(&step["diff"]);
    let changed = |sign: char| diff.lines().filter(|line| line.starts_with(sign)).skip(1).collect::<Vec<_>>();
    assert_eq!(changed('-'), ["-export const MAX_ATTEMPTS = 5;"]);
    assert_eq!(changed('+'), ["+export const MAX_ATTEMPTS = 3;"]);
    assert!(turn.answer().contains("src/retry.ts"), "{}", turn.answer());
}

#[test]
fn without_consent_nothing_changes_and_the_answer_says_so() {
    let project = Project::todo();
    let before = project.files();
    let turn = Turn::of(&project, CHANGE, &[]);
    assert_eq!(project.files(), before);
    assert_eq!(turn.calls(), ["replace_in_file not_asked"]);
    assert_eq!(turn.data("approval-requested").len(), 1);
    assert!(turn.answer().contains("not done"), "{}", turn.answer());
    assert!(turn.ended.err.contains("--yes"), "{}", turn.ended.err);
}

#[test]
fn a_plan_has_every_step_and_runs_none() {
    let project = Project::todo();
    let before = project.files();
    let request = "Read src/todo.ts, then rename foo to bar in src/store.ts and run the tests";
    let turn = Turn::read(Run::new(&project, &["plan", request, "--json"]).end().succeeded());
    assert_eq!(turn.story(), ["plan-created"]);
    let steps = turn.data("plan-created")[0]["plan"]["steps"].as_array().expect("steps");
    assert!(steps.len() >= 3, "{steps:?}");
    let descriptions: String = steps.iter().map(|step| format!("{}\n", text(&step["description"]))).collect();
    for part in ["src/todo.ts", "foo", "bar", "src/store.ts", "tests"] {
        assert!(descriptions.contains(part), "no {part} in {descriptions}");
    }
    assert_eq!(project.files(), before);
}

#[test]
fn two_steps_are_done_in_their_order_and_both_answered() {
    let project = Project::todo();
    let turn = Turn::of(&project, "List the files in src/, then read config.toml", &[]);
    assert_eq!(turn.calls(), ["list_dir succeeded", "read_file succeeded"]);
    let executing: Vec<&Value> = turn.data("step-executing").iter().map(|step| &step["step"]).collect();
    assert_eq!(executing, [&json!(1), &json!(2)]);
    for part in ["src/clock.rs", "src/todo.ts", "port = 8080"] {
        assert!(turn.answer().contains(part), "no {part} in {}", turn.answer());
    }
}

#[test]
fn a_folder_of_the_project_is_recognised_by_its_name() {
    let turn = Turn::of(&Project::todo(), "List the files in src", &[]);
    assert_eq!(turn.calls(), ["list_dir succeeded"]);
    assert!(turn.answer().contains("src/todo.ts"), "{}", turn.answer());
}

#[test]
fn a_step_that_fails_is_never_called_done() {
    let project = Project::todo();
    let turn = Turn::of(&project, "Read src/missing.ts", &[]);
    assert_eq!(turn.calls(), ["read_file failed"]);
    assert_eq!(turn.finished()["steps"][0]["status"], "failed");
    assert!(turn.answer().contains("failed") && turn.answer().contains("src/missing.ts"), "{}", turn.answer());
}

#[test]
fn the_answer_says_once_how_a_change_is_taken_back() {
    let project = Project::todo();
    let turn = Turn::of(&project, CHANGE, &["--approve", "never"]);
    assert_eq!(turn.answer().matches("monobloc undo").count(), 1, "{}", turn.answer());
    let tokens: String = turn.data("token").iter().map(|token| text(&token["text"])).collect();
    assert_eq!(tokens, turn.answer(), "the answer is what was streamed");
    let ended = Run::new(&project, &["ask", QUESTION]).end().succeeded();
    assert!(!ended.out.contains("undo"), "nothing was changed: {}", ended.out);
}

#[test]
fn the_text_form_shows_plan_diff_answer_and_cost() {
    let project = Project::todo();
    let ended = Run::new(&project, &["ask", CHANGE, "--yes"]).end().succeeded();
    for part in ["plan\n", "s1 ", "ok [e1] replace_in_file(", "+export const MAX_ATTEMPTS = 3;", "peak memory"] {
        assert!(ended.out.contains(part), "no `{part}` in {}", ended.out);
    }
}

#[test]
fn search_finds_the_file_that_answers() {
    let project = Project::todo();
    let ended = Run::new(&project, &["search", "how often is a request tried", "--json"]).end().succeeded();
    let hits = ended.lines();
    assert_eq!(text(&hits[0]["path"]), "src/retry.ts", "{hits:?}");
    assert!(hits[0]["parts"]["meaning"].as_f64().is_some_and(|meaning| meaning > 0.0), "{}", hits[0]);
}

#[test]
fn only_what_changed_is_read_again() {
    let project = Project::todo();
    let index = || Run::new(&project, &["index", "--json"]).end().succeeded().lines().remove(0);
    let (first, second) = (index(), index());
    assert_eq!((&first["files"], &first["parsed"]), (&json!(8), &json!(8)));
    assert_eq!((&second["files"], &second["parsed"]), (&json!(8), &json!(0)));
    assert_eq!(second["chunks_with_vector"], second["chunks"]);
    fs::write(project.path().join("src/todo.ts"), "export const EMPTY = true;\n").expect("a file");
    fs::remove_file(project.path().join("README.md")).expect("a file");
    let third = index();
    assert_eq!((&third["files"], &third["parsed"], &third["removed"]), (&json!(7), &json!(1), &json!(1)));
}

#[test]
fn models_list_shows_the_file_of_each_role() {
    let ended = Run::new(&Project::todo(), &["models", "list", "--json"]).end().succeeded();
    let list = &ended.lines()[0];
    let file = models::smollm();
    assert_eq!(list["roles"]["planner"]["path"], json!(file));
    assert_eq!(list["roles"]["router"]["path"], json!(file));
    assert_eq!(list["roles"]["embedder"]["path"], json!(models::model("all-MiniLM-L6-v2")));
    let files = list["files"].as_array().expect("files");
    assert!(files.iter().any(|one| one["path"] == json!(file) && one["architecture"] == "llama"), "{files:?}");
}

#[test]
fn telemetry_remembers_every_turn() {
    let project = Project::todo();
    let turn = Turn::of(&project, CHANGE, &["--yes"]);
    assert!(turn.events.iter().all(|event| kind(event) != "token" || event["data"]["text"] != ""));
    let turns = Run::new(&project, &["telemetry", "--json"]).end().succeeded().lines();
    assert_eq!(turns.len(), 1);
    assert_eq!(text(&turns[0]["request"]), CHANGE);
    assert_eq!(turns[0]["usage"], turn.finished()["usage"]);
    let call = &turns[0]["timeline"][0];
    assert_eq!((&call["tool"], &call["executing"]), (&json!("replace_in_file"), &json!(true)), "{call}");
    let shown = Run::new(&project, &["telemetry", "--timeline"]).end().succeeded().out;
    assert!(shown.contains("replace_in_file"), "{shown}");
}

/// For the embedder, a step with a long path resembles a step that finds files, whatever it asks to
/// do with the file.
#[test]
fn a_long_path_does_not_lead_a_step_to_another_tool() {
    const PATH: &str = "src/models/pull.rs";
    let project = Project::todo();
    let source = "/// How many attempts a download gets by default.\npub const ATTEMPTS_DEFAULT: u32 = 5;\n";
    fs::create_dir_all(project.path().join("src/models")).expect("a folder");
    fs::write(project.path().join(PATH), source).expect("a file");
    let request = format!("Read {PATH} and tell me how many attempts a download gets by default");
    let turn = Turn::of(&project, &request, &[]);
    assert_eq!(turn.calls(), ["read_file succeeded"]);
    assert!(turn.answer().contains('5'), "{}", turn.answer());
    let request = format!("In {PATH} change the default number of attempts from 5 to 3");
    let turn = Turn::of(&project, &request, &["--yes"]);
    assert_eq!(turn.calls(), ["replace_in_file succeeded"]);
    assert_eq!(project.text(PATH), source.replace("= 5", "= 3"));
}
