//! Answers of a scripted planner over HTTP: clients that leave or wait, stop texts, calls of any
//! length.

use std::time::Duration;

use monobloc::engine::scripted::Script;
use serde_json::{Value, json};

use super::inside::{Inside, counting};
use super::{ask, with};
use crate::cli::Project;

const CHAT: &str = "/v1/chat/completions";

/// A server with one slot, and an answer that takes longer than any test waits.
fn endless(project: &Project) -> Inside {
    let mut script = Script::saying(&counting(9_000)).on("Name a colour.", "Blue.");
    script.slots = 1;
    script.row_time = Duration::from_millis(10);
    Inside::new(project, script)
}

fn streamed(request: Value) -> Value {
    with(request, "stream", json!(true))
}

#[test]
fn a_client_that_leaves_frees_the_only_slot() {
    let project = Project::todo();
    let server = endless(&project);
    for request in [streamed(ask("Count.", 50_000)), ask("Count.", 50_000)] {
        let leaving = server.client.open(CHAT, &request);
        server.busy();
        drop(leaving);
        server.idle();
        let answer = server.client.post(CHAT, &ask("Name a colour.", 16)).json(200);
        assert_eq!(answer["choices"][0]["message"]["content"], "Blue.");
    }
}

#[test]
fn who_waits_for_a_slot_gets_the_head_and_real_events_in_every_protocol() {
    let project = Project::todo();
    let server = endless(&project);
    let mut first = server.client.open(CHAT, &streamed(ask("Count.", 50_000)));
    first.read_some();
    let input = json!({ "model": "planner", "input": "Name a colour.", "max_output_tokens": 16 });
    // For each API: the beginning of its stream, a keep-alive message and the end. codex expects
    // numbered events.
    let waiting = [
        (CHAT, ask("Name a colour.", 16), ["\"role\":\"assistant\"", "\"delta\":{}", "\"finish_reason\":\"stop\""]),
        ("/v1/messages", ask("Name a colour.", 16), ["message_start", "event: ping", "message_stop"]),
        ("/v1/responses", input, ["response.created", "\"sequence_number\":2", "response.completed"]),
    ];
    let mut open = waiting.map(|(path, request, signs)| (server.client.open(path, &streamed(request)), signs));
    for (open, [head, alive, _]) in &mut open {
        open.until(&[head, alive]);
    }
    drop(first);
    for (open, [_, _, end]) in &mut open {
        open.until(&[end]);
    }
}

#[test]
fn log_probabilities_end_where_a_stop_text_cuts() {
    let project = Project::todo();
    let server = Inside::new(&project, Script::saying("one two END three"));
    let request = with(with(ask("Say it.", 40), "stop", json!(["END"])), "logprobs", json!(true));
    let words = |tokens: &Value| -> String {
        tokens.as_array().into_iter().flatten().filter_map(|token| token["token"].as_str()).collect()
    };
    let whole = server.client.post(CHAT, &request).json(200);
    let choice = &whole["choices"][0];
    assert_eq!((&choice["message"]["content"], &choice["finish_reason"]), (&json!("one two "), &json!("stop")));
    assert_eq!(words(&choice["logprobs"]["content"]), "one two ");
    let events = server.client.post(CHAT, &streamed(request)).events();
    let pieces: String = events.iter().map(|event| words(&event["choices"][0]["logprobs"]["content"])).collect();
    assert_eq!(pieces, "one two ");
}

/// A client's own tool may have a whole file as an argument.
#[test]
fn a_call_with_a_long_argument_comes_whole_in_pieces_and_not() {
    let project = Project::todo();
    let file = counting(14_000);
    assert!(file.len() > 64 << 10);
    let call = json!({ "name": "write", "arguments": { "content": file } });
    let mut script = Script::saying(&format!("<tool_call>\n{call}\n</tool_call>"));
    script.context = 2 * file.len();
    let server = Inside::new(&project, script);
    let parameters =
        json!({ "type": "object", "properties": { "content": { "type": "string" } }, "required": ["content"] });
    let tool = json!({ "type": "function", "function": { "name": "write", "parameters": parameters } });
    let mut request = with(ask("Write the file.", 1), "tools", json!([tool]));
    request["max_tokens"] = Value::Null;
    let content = |call: &Value| {
        let arguments = call["function"]["arguments"].as_str().expect("arguments");
        serde_json::from_str::<Value>(arguments).expect("JSON")["content"].clone()
    };
    let whole = server.client.post(CHAT, &request).json(200);
    let choice = &whole["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls");
    assert!(content(&choice["message"]["tool_calls"][0]) == file.as_str(), "the argument is another");
    let events = server.client.post(CHAT, &streamed(request)).events();
    let made = events.iter().find_map(|event| event["choices"][0]["delta"]["tool_calls"].get(0)).expect("a call");
    assert!(content(made) == file.as_str(), "the argument is another");
}
