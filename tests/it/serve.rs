//! `monobloc serve`: requests and answers for clients of OpenAI's and Anthropic's APIs, refused
//! clients, and resources freed when a client leaves.

mod answers;
pub mod client;
mod flood;
mod inside;
mod kept;
mod shapes;

use serde_json::{Value, json};

use crate::cli::{Project, Run, Running};
use crate::clock::eventually;
use client::Client;

/// A server in a project; it ends with the test.
pub struct Served {
    _running: Running,
    pub client: Client,
}

pub fn served(project: &Project, flags: &[&str]) -> Served {
    let token = project.beside("token").display().to_string();
    let arguments = [&["serve", "--listen", "127.0.0.1:0", "--token-file", &token], flags].concat();
    let mut running = Run::new(project, &arguments).start();
    running.until("listening on http://");
    running.until("\n");
    let shown = running.shown();
    let address = shown.trim().rsplit('/').next().expect("an address").parse().expect("an address");
    let token = std::fs::read_to_string(token).expect("a token").trim().to_owned();
    Served { _running: running, client: Client { address, token } }
}

pub fn ask(text: &str, max_tokens: usize) -> Value {
    json!({ "model": "planner", "max_tokens": max_tokens, "messages": [{ "role": "user", "content": text }] })
}

pub fn with(mut request: Value, name: &str, value: Value) -> Value {
    request[name] = value;
    request
}

#[test]
fn a_chat_is_answered_whole_and_as_the_same_text_in_pieces() {
    let project = Project::todo();
    let server = served(&project, &[]);
    let request = ask("Name three colours.", 24);
    let whole = server.client.post("/v1/chat/completions", &request).json(200);
    let text = whole["choices"][0]["message"]["content"].as_str().expect("a text").to_owned();
    assert!(!text.trim().is_empty(), "{whole}");
    assert_eq!(whole["usage"]["completion_tokens"].as_u64().map(|tokens| tokens <= 24), Some(true), "{whole}");
    let streaming = with(with(request, "stream", json!(true)), "stream_options", json!({ "include_usage": true }));
    let chunks = server.client.post("/v1/chat/completions", &streaming).events();
    let pieces: String = chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(pieces, text);
    let ends: Vec<&str> = chunks.iter().filter_map(|chunk| chunk["choices"][0]["finish_reason"].as_str()).collect();
    assert_eq!(ends, [whole["choices"][0]["finish_reason"].as_str().expect("a reason")]);
    assert_eq!(chunks.last().expect("chunks")["usage"]["completion_tokens"], whole["usage"]["completion_tokens"]);
}

#[test]
fn a_prompt_that_begins_like_an_earlier_one_is_computed_from_there() {
    let project = Project::todo();
    let server = served(&project, &[]);
    let text = "The quick brown fox jumps over the lazy dog. ".repeat(80);
    let cached = |question: &str| {
        let answer = server.client.post("/v1/chat/completions", &ask(&format!("{text}{question}"), 2)).json(200);
        answer["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().expect("a number")
    };
    assert_eq!(cached("What jumps?"), 0);
    assert!(cached("Who is lazy?") >= 512);
}

#[test]
fn a_stop_text_ends_an_answer_and_log_probabilities_come_with_each_token() {
    let project = Project::todo();
    let server = served(&project, &[]);
    let raw = json!({ "model": "planner", "prompt": "1, 2, 3, 4, 5,", "max_tokens": 16, "logprobs": 2 });
    let whole = server.client.post("/v1/completions", &raw).json(200);
    let text = whole["choices"][0]["text"].as_str().expect("a text").to_owned();
    let tokens = whole["choices"][0]["logprobs"]["token_logprobs"].as_array().expect("log-probabilities").clone();
    assert_eq!(Some(tokens.len() as u64), whole["usage"]["completion_tokens"].as_u64());
    assert!(tokens.iter().all(|one| one.as_f64().is_some_and(|one| one <= 0.0)), "{tokens:?}");
    let top = &whole["choices"][0]["logprobs"]["top_logprobs"][0];
    assert_eq!(top.as_object().map(|top| top.len()), Some(2), "{top}");
    let asked = json!({ "prompt": raw["prompt"], "max_tokens": 16, "echo": true, "stream": true });
    let chunks = server.client.post("/v1/completions", &asked).events();
    let echoed: String = chunks.iter().filter_map(|chunk| chunk["choices"][0]["text"].as_str()).collect();
    assert_eq!(echoed, format!("1, 2, 3, 4, 5,{text}"));
    let whole = server.client.post("/v1/completions", &with(asked, "stream", json!(false))).json(200);
    assert_eq!(whole["choices"][0]["text"], json!(echoed));
    let last = text.trim().split(' ').nth(1).expect("a second word").to_owned();
    let stopped = with(raw, "stop", json!([last]));
    let cut = server.client.post("/v1/completions", &stopped).json(200);
    let before = text.split(&last).next().expect("a beginning");
    assert_eq!(
        (cut["choices"][0]["text"].as_str(), cut["choices"][0]["finish_reason"].as_str()),
        (Some(before), Some("stop"))
    );
}

#[test]
fn a_required_call_and_a_schema_are_kept_by_the_smallest_model() {
    let project = Project::todo();
    let server = served(&project, &[]);
    let parameters = json!({ "type": "object", "properties": { "city": { "type": "string", "maxLength": 20 } }, "required": ["city"] });
    let tool = json!({ "type": "function", "function": { "name": "weather", "description": "The weather", "parameters": parameters } });
    let request = with(ask("What is the weather in Rome?", 64), "tools", json!([tool]));
    let called = server.client.post("/v1/chat/completions", &with(request, "tool_choice", json!("required"))).json(200);
    let call = &called["choices"][0]["message"]["tool_calls"][0]["function"];
    assert_eq!(
        (call["name"].as_str(), called["choices"][0]["finish_reason"].as_str()),
        (Some("weather"), Some("tool_calls"))
    );
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer", "maximum": 9, "minimum": 0 } },
        "required": ["n"], "additionalProperties": false });
    let format = json!({ "type": "json_schema", "json_schema": { "name": "n", "schema": schema } });
    let formed =
        server.client.post("/v1/chat/completions", &with(ask("Say a digit.", 32), "response_format", format)).json(200);
    let text = formed["choices"][0]["message"]["content"].as_str().expect("a text");
    let read: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert!(read["n"].as_u64().is_some_and(|digit| digit < 10), "{text}");
}

#[test]
fn a_prompt_that_is_too_long_is_refused_with_both_numbers_in_every_protocol() {
    let project = Project::todo();
    let server = served(&project, &[]);
    let long = "word ".repeat(40_000);
    let refused = server.client.post("/v1/chat/completions", &ask(&long, 8)).json(400);
    let error = &refused["error"];
    assert_eq!(error["code"], "context_length_exceeded");
    assert!(error["n_prompt_tokens"].as_u64() > error["n_ctx"].as_u64(), "{error}");
    let message = json!({ "model": "planner", "max_tokens": 8, "messages": [{ "role": "user", "content": long }] });
    let refused = server.client.post("/v1/messages", &message).json(400);
    assert_eq!((&refused["type"], &refused["error"]["type"]), (&json!("error"), &json!("invalid_request_error")));
    let counted = server.client.post("/v1/messages/count_tokens", &message).json(200);
    assert!(counted["input_tokens"].as_u64() > Some(40_000), "{counted}");
}

#[test]
fn the_same_question_is_answered_over_responses_and_messages() {
    let project = Project::todo();
    let server = served(&project, &[]);
    let whole = server.client.post("/v1/chat/completions", &ask("Name three colours.", 24)).json(200);
    let expected = whole["choices"][0]["message"]["content"].as_str().expect("a text");
    let request =
        json!({ "model": "planner", "input": "Name three colours.", "max_output_tokens": 24, "stream": true });
    let events = server.client.post("/v1/responses", &request).events();
    let text: String = events
        .iter()
        .filter(|e| e["type"] == "response.output_text.delta")
        .filter_map(|e| e["delta"].as_str())
        .collect();
    assert_eq!(text, expected);
    let last = events.last().expect("events");
    assert!(last["response"]["usage"]["output_tokens"].as_u64() > Some(0), "{last}");
    let request = json!({ "model": "planner", "max_tokens": 24, "stream": true,
        "messages": [{ "role": "user", "content": "Name three colours." }] });
    let events = server.client.post("/v1/messages", &request).events();
    let text: String = events.iter().filter_map(|event| event["delta"]["text"].as_str()).collect();
    assert_eq!(text, expected);
    assert_eq!(events.last().expect("events")["type"], "message_stop");
}

#[test]
fn embeddings_are_unit_vectors_the_same_in_both_encodings() {
    let project = Project::todo();
    let server = served(&project, &[]);
    let request = json!({ "model": "embedder", "input": ["a red rose", "a rose that is red", "tax law"] });
    let answer = server.client.post("/v1/embeddings", &request).json(200);
    let vectors: Vec<Vec<f64>> = answer["data"]
        .as_array()
        .expect("data")
        .iter()
        .map(|one| one["embedding"].as_array().expect("a vector").iter().filter_map(Value::as_f64).collect())
        .collect();
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    assert!((product(&vectors[0], &vectors[0]) - 1.0).abs() < 1e-3);
    assert!(product(&vectors[0], &vectors[1]) > product(&vectors[0], &vectors[2]) + 0.2);
    let encoded = server.client.post("/v1/embeddings", &with(request, "encoding_format", json!("base64"))).json(200);
    let text = encoded["data"][0]["embedding"].as_str().expect("base64");
    assert_eq!(text.len(), (vectors[0].len() * 4).div_ceil(3) * 4);
    let refused = server.client.post("/v1/embeddings", &json!({ "input": [99_999_999] })).json(400);
    assert!(refused["error"]["message"].as_str().is_some_and(|text| text.contains("99999999")), "{refused}");
}

#[test]
fn the_agent_answers_from_the_project_and_asks_nobody_for_consent() {
    let project = Project::todo();
    let server = served(&project, &[]);
    let question = "Read src/retry.ts and tell me how many times a request is tried";
    let answer =
        server.client.post("/v1/chat/completions", &with(ask(question, 500), "model", json!("agent"))).json(200);
    let message = &answer["choices"][0]["message"];
    assert!(message["content"].as_str().is_some_and(|text| text.contains('5')), "{answer}");
    assert!(message["reasoning_content"].as_str().is_some_and(|text| text.contains("read_file")), "{answer}");
    let before = project.files();
    let change = "In src/retry.ts change the number of attempts from 5 to 7";
    let refused =
        server.client.post("/v1/chat/completions", &with(ask(change, 500), "model", json!("agent"))).json(200);
    let reasoning = refused["choices"][0]["message"]["reasoning_content"].as_str().unwrap_or_default();
    assert!(reasoning.contains("needs consent"), "{refused}");
    assert_eq!(project.files(), before);
}

#[test]
fn a_client_that_leaves_frees_its_slot_and_disturbs_no_neighbour() {
    let project = Project::todo();
    let server = served(&project, &[]);
    let alone = server.client.post("/v1/chat/completions", &ask("Tell me a story about a fox.", 40)).json(200);
    let endless = with(ask("Count from one to a thousand in words.", 1500), "stream", json!(true));
    let mut leaving = Vec::new();
    for _ in 0..2 {
        let mut open = server.client.open("/v1/chat/completions", &endless);
        open.read_some();
        leaving.push(open);
    }
    drop(leaving.pop());
    // One slot is free now and the other one generates: the answer is the same as alone.
    let beside = server.client.post("/v1/chat/completions", &ask("Tell me a story about a fox.", 40)).json(200);
    assert_eq!(beside["choices"][0]["message"], alone["choices"][0]["message"]);
    drop(leaving);
    eventually("a request still waits for a slot", || {
        let text = server.client.get("/metrics").text(200);
        text.lines().any(|line| line == "monobloc_waiting{role=\"planner\"} 0")
    });
}

#[test]
fn who_has_no_token_or_comes_from_elsewhere_is_refused() {
    let project = Project::todo();
    let server = served(&project, &[]);
    server.client.get("/health").json(200);
    let models = server.client.get("/v1/models").json(200);
    let names: Vec<_> = models["data"].as_array().expect("models").iter().map(|one| one["id"].clone()).collect();
    assert_eq!(json!(names), json!(["planner", "router", "embedder", "agent"]));
    let stranger = Client { token: "wrong".to_owned(), ..server.client.clone() };
    assert_eq!(stranger.get("/v1/models").json(401)["error"]["code"], "invalid_api_key");
    let port = server.client.address.port();
    for header in
        ["Host: evil.example", &format!("Host: evil.example:{port}"), "Origin: null", "Origin: http://evil.example"]
    {
        let refused = server.client.get_with("/v1/models", header);
        assert_eq!(refused.status, 403, "{header}");
        assert!(!refused.head.to_lowercase().contains("access-control"), "{}", refused.head);
    }
    let unknown = server.client.post("/v1/chat/completions", &with(ask("Hi", 4), "model", json!("gpt-5"))).json(404);
    assert!(unknown["error"]["message"].as_str().is_some_and(|text| text.contains("planner")), "{unknown}");
}

#[test]
fn what_is_no_request_leaves_it_serving() {
    let project = Project::todo();
    let server = served(&project, &[]);
    for bytes in [&b"\0\0\0\0"[..], b"GET / HTTP/9.9\r\n\r\n", b"POST /v1/messages HTTP/1.1\r\nHost: x\r\n"] {
        server.client.send_and_leave(bytes);
    }
    server.client.get("/health").json(200);
}

#[test]
fn an_address_that_others_reach_and_a_token_that_others_read_are_refused() {
    let project = Project::todo();
    let refused = Run::new(&project, &["serve", "--listen", "0.0.0.0:0"]).end();
    assert!(refused.code == Some(1) && refused.err.contains("other machines"), "{refused:?}");
    let token = project.beside("open");
    std::fs::write(&token, "0123456789abcdef").expect("a file");
    let name = token.display().to_string();
    let refused = Run::new(&project, &["serve", "--listen", "127.0.0.1:0", "--token-file", &name]).end();
    assert!(refused.code == Some(1) && refused.err.contains("chmod 600"), "{refused:?}");
}
