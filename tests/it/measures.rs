//! The measuring commands, each run once from end to end on the smallest model and a small suite:
//! their output can be parsed.

use std::fs;

use serde_json::{Value, json};

use crate::cli::{Project, Run};
use crate::models::smollm;

/// The last line of a command's output, which contains its figures.
fn figures(project: &Project, arguments: &[&str]) -> Value {
    let ended = Run::new(project, arguments).end().succeeded();
    let last = ended.out.lines().last().unwrap_or_else(|| panic!("no output: {}", ended.err));
    serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {last}"))
}

fn bench(what: &[&str]) -> Value {
    let (project, model) = (Project::todo(), smollm().display().to_string());
    let figures = figures(&project, &[&["bench"], what, &["--json", &model]].concat());
    figures["models"][0].clone()
}

#[test]
fn memory_is_predicted_within_the_bound_that_is_promised() {
    let row = bench(&["memory", "--contexts", "256", "--slots", "1"]);
    let bytes = |name: &str| row[name].as_f64().unwrap_or_else(|| panic!("no {name}: {row}"));
    let (predicted, measured) = (bytes("predicted_bytes"), bytes("anon_bytes") + bytes("mapped_bytes"));
    let most = (predicted * 0.03).max(f64::from(8 << 20));
    assert!((predicted - measured).abs() <= most, "{row}");
}

/// Asserts that each of these figures is present and above zero.
fn are_positive(figures: &Value, names: &[&str]) {
    for name in names {
        assert!(figures[name].as_f64().is_some_and(|one| one > 0.0), "no {name}: {figures}");
    }
}

#[test]
fn latency_and_slots_give_figures_above_zero() {
    let latency = bench(&["latency", "--prompt", "32", "--generate", "4", "--rounds", "1"]);
    are_positive(
        &latency,
        &["ttft_cold_ms", "ttft_warm_ms", "prefill_tokens_per_s", "decode_tokens_per_s", "roofline_share"],
    );
    let sizes = ["--slots", "2", "--preamble", "16", "--own", "8", "--generate", "4", "--rounds", "1"];
    let slots = bench(&[&["slots"][..], &sizes].concat());
    are_positive(&slots, &["agents_in_turn_ms", "agents_together_ms", "ttft_idle_ms", "ttft_beside_ms"]);
}

#[test]
fn both_ways_of_working_run_the_same_requests() {
    let figures = figures(&Project::todo(), &["bench", "ab", "--request", "1", "--json"]);
    let runs = figures["runs"].as_array().expect("runs");
    assert!(runs.len() == 2 && runs.iter().all(|run| run["tools"].as_u64() > Some(0)), "{figures}");
    let done = |runs: &[Value]| runs.iter().filter_map(|run| run["tools_done"].as_u64()).sum::<u64>();
    assert!(done(&runs[1..]) >= done(&runs[..1]), "the orchestrator does no less: {figures}");
    assert_eq!((&runs[1]["orchestrated"], &runs[1]["wasted_calls"]), (&json!(true), &json!(0)), "{figures}");
}

/// Writes a suite next to the project and returns its path.
fn suite(project: &Project, name: &str, text: &str) -> String {
    let file = project.beside(name);
    fs::write(&file, text).expect("a file");
    file.display().to_string()
}

fn lines(cases: &[Value]) -> String {
    cases.iter().map(|case| format!("{case}\n")).collect()
}

#[test]
fn tools_and_plans_are_counted_on_a_suite() {
    let project = Project::todo();
    let tools = suite(
        &project,
        "tools.jsonl",
        &lines(&[
            json!({ "id": "a", "prompt": "Read src/store.ts", "expected": ["read_file"], "arguments": { "path": "src/store.ts" } }),
            json!({ "id": "b", "prompt": "List the files in src", "expected": ["list_dir"] }),
        ]),
    );
    let found = figures(&project, &["eval", "tools", "--suite", &tools, "--json"]);
    assert_eq!(found["cases"], 2, "{found}");
    let plans = suite(
        &project,
        "plans.jsonl",
        &lines(&[
            json!({ "id": "c", "prompt": "Read README.md, then list the files in src", "chain": ["read_file", "list_dir"] }),
        ]),
    );
    let made = project.beside("made.jsonl").display().to_string();
    let found = figures(&project, &["eval", "plans", "--suite", &plans, "--json", "--out", &made]);
    assert_eq!((&found["cases"], &found["steps_exact"]), (&json!(1), &json!(1)), "{found}");
    let made: Value = serde_json::from_str(&fs::read_to_string(&made).expect("predictions")).expect("one line");
    assert_eq!((&made["id"], &made["steps"][1]["tool"]), (&json!("c"), &json!("list_dir")), "{made}");
}

#[test]
fn search_and_edges_are_measured_on_a_fresh_index() {
    let project = Project::todo();
    let root = project.path().display().to_string();
    let questions = json!([{ "query": "How often is a request tried again?", "relevant": ["src/retry.ts"], "secondary": [],
                             "category": "behaviour" }]);
    let questions = suite(&project, "questions.json", &questions.to_string());
    let found = figures(&project, &["eval", "search", "--suite", &questions, "--root", &root, "--json"]);
    assert_eq!(found["cases"], 1, "{found}");
    assert!(found["recall_at_10"].as_f64() > Some(0.9) && found["chunks_with_vector"].as_u64() > Some(0), "{found}");
    let call =
        json!({ "caller": "persist", "caller_file": "src/store.ts", "callee": "retry", "callee_file": "src/retry.ts" });
    let edges = suite(&project, "edges.jsonl", &lines(&[call]));
    let found = figures(&project, &["eval", "edges", "--suite", &edges, "--root", &root, "--json"]);
    assert!(found["recall"].as_f64() > Some(0.9), "{found}");
}
