//! Turns whose planner is a model on a server: consent, sent data, which model answered, and what
//! happens if the server becomes unavailable.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::boxed::{self, Server};
use crate::cli::{Ended, Project, Run};

/// A server with one model that answers by rules: the first rule whose text occurs in the last
/// message gives the reply. After `lives` chats it closes every connection without an answer.
pub fn saying(rules: &'static [(&'static str, &'static str)]) -> (Server, Arc<AtomicUsize>) {
    let lives = Arc::new(AtomicUsize::new(usize::MAX));
    let left = lives.clone();
    let server = boxed::server("", move |got, stream| {
        if left.load(Ordering::SeqCst) == 0 {
            return Ok(());
        }
        if got.path != "/v1/chat/completions" {
            return boxed::whole(stream, "404 Not Found", "{}");
        }
        left.fetch_sub(1, Ordering::SeqCst);
        let last = got.body["messages"].as_array().and_then(|all| all.last()).map(|last| last["content"].clone());
        let last = last.as_ref().and_then(Value::as_str).unwrap_or_default();
        let reply = rules.iter().find(|(pattern, _)| last.contains(pattern)).map_or("Hello.", |(_, reply)| *reply);
        let usage = json!({ "choices": [], "usage": { "prompt_tokens": 50, "completion_tokens": 9 } });
        boxed::told(stream, &[boxed::words(reply), boxed::end("stop"), usage])
    });
    (server, lives)
}

/// Runs `ask` with a planner on this server; `consents`: whether the user has consented to it.
fn ask(project: &Project, server: &Server, consents: bool, arguments: &[&str]) -> Ended {
    let models = boxed::roles(project, "planner", &server.url(), WRITES, consents);
    let all: Vec<&str> = [&["ask", "--json", "--models-file", &models], arguments].concat();
    Run::new(project, &all).end()
}

/// Settings for a server model that counts as able to write without being measured.
pub const WRITES: &str = "tier = \"writes\"\ncapability = \"capable\"";

/// A request that is easy enough for the local planner, which is SmolLM2 here.
const GREETING: &str = "Hello, how are you?";
const RULES: &[(&str, &str)] = &[("how are you", "All is well in the box.")];

#[test]
fn nothing_is_sent_without_consent_and_nothing_offline() {
    let (project, (server, _)) = (Project::todo(), saying(RULES));
    let ended = ask(&project, &server, false, &[GREETING]);
    assert_eq!(server.connections(), 0, "{ended:#?}");
    assert!(ended.out.contains(&server.url()), "it says what was not asked: {ended:#?}");
    let ended = ask(&project, &server, true, &["--offline", GREETING]);
    assert_eq!(server.connections(), 0, "{ended:#?}");
    assert_ne!(ended.code, Some(0));
    assert!(ended.err.contains(&server.url()), "{ended:#?}");
}

#[test]
fn the_planner_of_a_server_answers_and_is_named() {
    let (project, (server, _)) = (Project::todo(), saying(RULES));
    let ended = ask(&project, &server, true, &[GREETING]).succeeded();
    let last = ended.lines().pop().expect("a line");
    let finished = &last["data"];
    assert_eq!(finished["answer"].as_str().map(str::trim), Some("All is well in the box."), "{finished}");
    let host = server.endpoint.host();
    let call = &finished["usage"]["calls"][0];
    assert_eq!(call["model"], json!(format!("m at {host}")));
    assert_eq!((&call["prompt_tokens"], &call["generated_tokens"]), (&json!(50), &json!(9)));
    let asked = server.chats();
    let body = asked.last().expect("a request");
    assert_eq!((&body["model"], &body["stream"]), (&json!("m"), &json!(true)));
    assert!(body["temperature"].is_number(), "{body}");
    // The server is probed once.
    let before = server.chats().len();
    ask(&project, &server, true, &[GREETING]).succeeded();
    assert_eq!(server.chats().len(), before + 1);
}

#[test]
fn code_that_a_server_writes_goes_through_the_same_checks() {
    const RULES: &[(&str, &str)] = &[
        ("Write the file NOTES.md", "Here it is.\n````\n# Notes\n\nNothing yet.\n````"),
        ("NOTES.md", "edit: create NOTES.md that says there is nothing yet"),
    ];
    let (project, (server, _)) = (Project::todo(), saying(RULES));
    let ended = ask(&project, &server, true, &["--approve", "never", "Create NOTES.md that says there is nothing yet"]);
    let ended = ended.succeeded();
    assert_eq!(project.text("NOTES.md"), "# Notes\n\nNothing yet.\n", "{ended:#?}");
}

#[test]
fn when_the_server_goes_away_the_model_here_goes_on_and_says_so() {
    let (project, (server, lives)) = (Project::todo(), saying(RULES));
    ask(&project, &server, true, &[GREETING]).succeeded();
    lives.store(0, Ordering::SeqCst);
    let ended = ask(&project, &server, true, &[GREETING]).succeeded();
    assert!(ended.out.contains("plays the planner instead") && ended.out.contains(&server.url()), "{ended:#?}");
    let last = ended.lines().pop().expect("a line");
    assert!(last["data"]["answer"].as_str().is_some_and(|answer| !answer.is_empty()), "{last}");
}

#[test]
fn a_leading_model_that_goes_away_leaves_the_turn_to_the_way_of_the_model_here() {
    const RULES: &[(&str, &str)] = &[("how many times", "[read_file(path=\"src/retry.ts\")]")];
    let (project, (server, lives)) = (Project::todo(), saying(RULES));
    let models = boxed::roles(&project, "planner", &server.url(), "tier = \"acts\"\ncapability = \"capable\"", true);
    let request = "Read src/retry.ts and tell me how many times a request is tried";
    // One chat of the server is its probe, and one answers the first request of the turn.
    Run::new(&project, &["ask", "--json", "--models-file", &models, GREETING]).end().succeeded();
    lives.store(1, Ordering::SeqCst);
    let ended = Run::new(&project, &["ask", "--json", "--models-file", &models, request]).end().succeeded();
    assert!(ended.out.contains("plays the planner instead") && ended.out.contains(&server.url()), "{ended:#?}");
    let last = ended.lines().pop().expect("a line");
    let finished = &last["data"];
    assert!(finished["answer"].as_str().is_some_and(|answer| answer.contains('5')), "{finished}");
    let calls = finished["usage"]["calls"].as_array().expect("calls");
    let leads = |call: &&Value| call["phase"] == "working";
    let here = |call: &&Value| call["server"].is_null();
    assert_eq!(calls.iter().filter(leads).count(), 1, "the model here leads nothing: {calls:?}");
    assert!(!calls.iter().filter(leads).any(|call| here(&call)), "{calls:?}");
    // A server that is unavailable from the beginning does not lead a turn either.
    let ended = Run::new(&project, &["ask", "--json", "--models-file", &models, request]).end().succeeded();
    assert!(ended.out.contains("plays the planner instead"), "{ended:#?}");
    let last = ended.lines().pop().expect("a line");
    assert!(last["data"]["answer"].as_str().is_some_and(|answer| answer.contains('5')), "{last}");
    let calls = last["data"]["usage"]["calls"].as_array().expect("calls");
    assert!(!calls.iter().any(|call| leads(&call)), "{calls:?}");
}

#[test]
fn a_model_that_leads_has_all_its_rounds_in_the_first_turn_of_a_process() {
    const FILES: usize = 8;
    let asked = AtomicUsize::new(0);
    let server = boxed::server("vllm", move |got, stream| {
        let is_of_turn = got.body.to_string().contains("Write a few memos");
        let round = if is_of_turn { asked.fetch_add(1, Ordering::SeqCst) } else { FILES };
        if round >= FILES {
            return boxed::told(stream, &[boxed::words("They are written."), boxed::end("stop")]);
        }
        let arguments = json!({ "path": format!("memo{round}.txt"), "content": "x" }).to_string();
        let function = json!({ "name": "write_file", "arguments": arguments });
        let call =
            json!({ "choices": [{ "delta": { "tool_calls": [{ "index": 0, "id": "c", "function": function }] } }] });
        boxed::told(stream, &[call, boxed::end("tool_calls")])
    });
    let project = Project::todo();
    let models = boxed::roles(&project, "planner", &server.url(), "tier = \"acts\"", true);
    let ended = Run::new(&project, &["ask", "--yes", "--models-file", &models, "Write a few memos"]).end().succeeded();
    assert!(project.path().join(format!("memo{}.txt", FILES - 1)).is_file(), "{ended:#?}");
}

#[test]
fn an_answer_that_breaks_off_is_gone_on_with_and_nothing_is_said_twice() {
    let server = boxed::server("vllm", |got, stream| {
        let is_of_test = got.body.to_string().contains("how are you");
        if !is_of_test {
            return boxed::told(stream, &[boxed::words("Hello."), boxed::end("stop")]);
        }
        boxed::begin(stream)?;
        boxed::event(stream, &boxed::words("All is well in the"))
    });
    let project = Project::todo();
    let ended = ask(&project, &server, true, &[GREETING]).succeeded();
    let lines = ended.lines();
    let told: String =
        lines.iter().filter(|line| line["type"] == "token").filter_map(|line| line["data"]["text"].as_str()).collect();
    assert!(ended.out.contains("broke off") && ended.out.contains("plays the planner instead"), "{ended:#?}");
    assert_eq!(told.matches("All is well in the").count(), 1, "{ended:#?}");
    let answer = lines.last().expect("a line")["data"]["answer"].as_str().expect("an answer").to_owned();
    assert!(answer.trim().starts_with("All is well in the"), "{answer}");
}

#[test]
fn thoughts_are_shown_and_telemetry_names_the_server() {
    let server = boxed::server("vllm", |_, stream| {
        let thought = json!({ "choices": [{ "delta": { "reasoning_content": "Hm, a greeting." } }] });
        let usage = json!({ "choices": [], "usage": { "prompt_tokens": 50, "completion_tokens": 9 } });
        boxed::told(stream, &[thought, boxed::words("Well."), boxed::end("stop"), usage])
    });
    let project = Project::todo();
    let ended = ask(&project, &server, true, &[GREETING]).succeeded();
    assert!(ended.out.contains("Hm, a greeting."), "{ended:#?}");
    let told = Run::new(&project, &["telemetry"]).end().succeeded().out;
    let line = told.lines().find(|line| line.contains(&server.endpoint.host())).unwrap_or_else(|| panic!("{told}"));
    assert!(line.contains("planner: m at ") && line.contains("50 tokens sent, 9 received"), "{line}");
}

/// Answers of a model that reads requests and writes each change in the two steps that the guide
/// asks for: the name, then the definition.
const WRITER: &[(&str, &str)] = &[
    ("Set LIMIT to 9", "edit: set LIMIT to 9 in limits.py\nrun: run the tests"),
    ("Where is the session closed?", "ask: Where is the session closed?"),
    ("What does fetch return", "It returns None."),
    ("Write the new `Counter.reset`", "```python\n    def reset(self):\n        self.value = 0\n```"),
    ("Write the new `last`", "```javascript\nfunction last(list) {\n  return list[list.length - 1];\n}\n```"),
    (
        "Write `clamp`",
        "```python\ndef clamp(x, low, high):\n    if low > high:\n        raise ValueError(low)\n    return max(low, min(x, high))\n```",
    ),
    ("Add a method `reset`", "add Counter.reset"),
    ("Add a function `last`", "add last"),
    ("clamp should raise", "change clamp"),
];

#[test]
fn a_model_is_measured_by_changes_written_as_the_guide_has_them_written() {
    let (project, (server, _)) = (Project::todo(), saying(WRITER));
    let models = boxed::roles(&project, "planner", &server.url(), "", true);
    let ended = Run::new(&project, &["ask", "--models-file", &models, "Why would saving an item fail?"]).end();
    assert!(ended.out.contains("writes: 2 of 2 requests and questions read, 2 of 2 changes written"), "{ended:#?}");
}
