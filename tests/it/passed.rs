//! `monobloc serve` with the planner of another server: what is passed on, what ends when a client
//! leaves, and which model takes over.

use std::io::Read;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::boxed::{self, Server};
use crate::cli::{Project, Run};
use crate::serve::{Served, ask, served, with};

const CHAT: &str = "/v1/chat/completions";

/// A server whose planner is the model of another server.
fn beside(project: &Project, server: &Server) -> Served {
    let models = boxed::roles(project, "planner", &server.url(), "", true);
    served(project, &["--models-file", &models])
}

fn thought(text: &str) -> Value {
    json!({ "choices": [{ "delta": { "reasoning_content": text } }] })
}

fn weather() -> Value {
    let parameters = json!({ "type": "object", "properties": { "city": { "type": "string", "maxLength": 20 } }, "required": ["city"] });
    json!({ "type": "function", "function": { "name": "weather", "description": "The weather", "parameters": parameters } })
}

/// Two real programs: the small model of the first is the planner of the second, which serves it to
/// clients and uses it itself.
#[test]
fn a_planner_of_another_program_is_served_on_as_that_serves_it() {
    let (there, here) = (Project::todo(), Project::todo());
    let upstream = served(&there, &[]);
    let url = format!("http://{}/v1", upstream.client.address);
    let key = format!("key_file = \"{}\"\ntier = \"reads\"", there.beside("token").display());
    let models = boxed::roles(&here, "planner", &url, &key, true);
    let server = served(&here, &["--models-file", &models]);

    // The probe of the first request takes a while; keep-alive messages are sent in the meantime.
    server.client.post(CHAT, &with(ask("Hello", 1), "stream", json!(true))).events();
    let request = with(ask("Name three colours.", 24), "temperature", json!(0));
    let own = upstream.client.post(CHAT, &request).json(200);
    let whole = server.client.post(CHAT, &request).json(200);
    let text = |whole: &Value| whole["choices"][0]["message"]["content"].as_str().expect("a text").to_owned();
    assert_eq!(text(&whole), text(&own));
    assert_eq!(whole["choices"][0]["finish_reason"], own["choices"][0]["finish_reason"]);
    assert_eq!(whole["usage"]["completion_tokens"], own["usage"]["completion_tokens"]);
    assert_eq!(whole["usage"]["prompt_tokens"], own["usage"]["prompt_tokens"]);
    let streaming = with(with(request, "stream", json!(true)), "stream_options", json!({ "include_usage": true }));
    let chunks = server.client.post(CHAT, &streaming).events();
    let pieces: String = chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(pieces, text(&own));
    assert_eq!(chunks.last().expect("chunks")["usage"]["completion_tokens"], own["usage"]["completion_tokens"]);

    let asked = with(ask("What is the weather in Rome?", 64), "tools", json!([weather()]));
    let called = server.client.post(CHAT, &with(asked, "tool_choice", json!("required"))).json(200);
    let call = &called["choices"][0]["message"]["tool_calls"][0]["function"];
    let finish = called["choices"][0]["finish_reason"].as_str();
    assert_eq!((call["name"].as_str(), finish), (Some("weather"), Some("tool_calls")), "{called}");

    let listed = server.client.get("/v1/models/planner").json(200);
    assert_eq!((&listed["meta"]["server"], &listed["meta"]["state"]), (&json!(url), &json!("answers")), "{listed}");
    let raw = server.client.post("/v1/completions", &json!({ "prompt": "1, 2," })).json(400);
    assert_eq!(raw["error"]["param"], "prompt", "{raw}");
    let probabilities = server.client.post(CHAT, &with(ask("Hello", 4), "logprobs", json!(true))).json(400);
    assert_eq!(probabilities["error"]["param"], "logprobs", "{probabilities}");

    let ended = Run::new(&here, &["ask", "--json", "--models-file", &models, "Hello, how are you?"]).end().succeeded();
    let last = ended.lines().pop().expect("a line");
    assert_eq!(last["data"]["usage"]["calls"][0]["server"], json!(upstream.client.address.to_string()), "{last}");
}

#[test]
fn thoughts_calls_and_stop_texts_are_passed_on_and_thoughts_come_back() {
    let server = boxed::server("vllm", |got, stream| {
        let function = json!({ "name": "weather", "arguments": "{\"city\":\"Rome\"}" });
        let call =
            json!({ "choices": [{ "delta": { "tool_calls": [{ "index": 0, "id": "c", "function": function }] } }] });
        match got.body["messages"].to_string() {
            said if said.contains("Rome") => boxed::told(stream, &[thought("Look."), call, boxed::end("tool_calls")]),
            _ => boxed::told(stream, &[boxed::words("one two"), boxed::words(" three four"), boxed::end("stop")]),
        }
    });
    let project = Project::todo();
    let passed = beside(&project, &server);
    let asked = with(ask("How is it in Rome?", 64), "tools", json!([weather()]));
    let message = passed.client.post(CHAT, &asked).json(200)["choices"][0]["message"].take();
    assert_eq!(message["reasoning_content"], "Look.");
    assert_eq!(message["tool_calls"][0]["function"]["arguments"], "{\"city\":\"Rome\"}");

    let cut = passed.client.post(CHAT, &with(ask("Count.", 64), "stop", json!([" thr"]))).json(200);
    assert_eq!(cut["choices"][0]["message"]["content"], "one two");

    let result = json!({ "role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "Sunny." });
    let turns = json!([{ "role": "user", "content": "How is it in Rome?" }, message, result]);
    passed.client.post(CHAT, &json!({ "messages": turns, "tools": [weather()] })).json(200);
    let sent = server.chats().pop().expect("a chat");
    assert_eq!(sent["messages"][1]["reasoning_content"], "Look.", "{sent}");
}

#[test]
fn a_client_that_leaves_ends_the_work_of_the_other_server() {
    let (sender, closed) = mpsc::channel();
    let server = boxed::server("vllm", move |got, stream| {
        if !got.body.to_string().contains("long story") {
            return boxed::told(stream, &[boxed::words("Hello."), boxed::end("stop")]);
        }
        boxed::begin(stream)?;
        boxed::event(stream, &boxed::words("Once"))?;
        boxed::event(stream, &boxed::words(" upon"))?;
        let _ = stream.read(&mut [0; 1]);
        let _ = sender.send(Instant::now());
        Ok(())
    });
    let project = Project::todo();
    let passed = beside(&project, &server);
    let request = with(ask("Tell a long story.", 2_000), "stream", json!(true));
    let mut open = passed.client.open(CHAT, &request);
    open.until(&["Once", "upon"]);
    let left = Instant::now();
    drop(open);
    let after =
        closed.recv_timeout(Duration::from_secs(10)).expect("it hears of the end").saturating_duration_since(left);
    assert!(after < Duration::from_millis(250), "{after:?}");
}

#[test]
fn without_consent_nothing_is_passed_on_and_a_model_here_answers() {
    let server = boxed::server("vllm", |_, stream| boxed::told(stream, &[boxed::words("Hello."), boxed::end("stop")]));
    let project = Project::todo();
    let models = boxed::roles(&project, "planner", &server.url(), "", false);
    let passed = served(&project, &["--models-file", &models]);
    let answer = passed.client.post(CHAT, &ask("Hello", 4)).json(200);
    assert!(answer["usage"]["completion_tokens"].as_u64().is_some_and(|tokens| tokens <= 4), "{answer}");
    assert_eq!(server.connections(), 0);
}

#[test]
fn a_server_that_is_away_is_replaced_by_the_model_here_before_a_word_was_sent() {
    let server = boxed::server("vllm", |got, stream| {
        if got.body.to_string().contains("Say hello") || got.body.to_string().contains("tools") {
            return boxed::told(stream, &[boxed::words("Hello."), boxed::end("stop")]);
        }
        Ok(())
    });
    let project = Project::todo();
    let passed = beside(&project, &server);
    let answer = passed.client.post(CHAT, &ask("Name a town.", 8)).json(200);
    assert_ne!(answer["choices"][0]["message"]["content"], "Hello.");
    assert!(answer["usage"]["completion_tokens"].as_u64().is_some_and(|tokens| tokens > 0), "{answer}");
}

#[test]
fn private_data_is_sent_as_placeholders_and_comes_back_in_the_answer() {
    let server = boxed::server("vllm", |got, stream| {
        let said = got.body["messages"].to_string();
        let mail = said.find("[email-").map_or("nobody", |at| &said[at..at + 9]);
        let (first, second) = mail.split_at(mail.len() / 2);
        boxed::told(stream, &[boxed::words(&format!("I greet {first}")), boxed::words(second), boxed::end("stop")])
    });
    let project = Project::todo();
    let models = boxed::roles(&project, "planner", &server.url(), "", true);
    let passed = served(&project, &["--models-file", &models, "--mask-prompts"]);
    let answer = passed.client.post(CHAT, &ask("Greet ada@lovelace.org", 64)).json(200);
    assert_eq!(answer["choices"][0]["message"]["content"], "I greet ada@lovelace.org", "{answer}");
    let sent = server.chats();
    assert!(!sent.is_empty() && sent.iter().all(|body| !body.to_string().contains("lovelace")), "{sent:#?}");
}
