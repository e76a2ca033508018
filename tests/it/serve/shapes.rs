//! Requests as other programs send them: schemas from generators, messages in many forms, fields of
//! other servers.

use serde_json::{Value, json};

use super::{ask, served, with};
use crate::cli::Project;

const CHAT: &str = "/v1/chat/completions";

/// A tool as described by pydantic: referenced definitions, an optional field, and keys that are
/// only annotations.
fn booking() -> Value {
    let note = json!({ "anyOf": [{ "type": "string", "maxLength": 5, "format": "markdown" }, { "type": "null" }], "default": null });
    json!({
        "title": "Booking", "type": "object", "required": ["guest"], "additionalProperties": false,
        "properties": { "guest": { "$ref": "#/$defs/Guest", "description": "Who comes." }, "note": note },
        "$defs": { "Guest": {
            "type": "object", "required": ["name"], "additionalProperties": false,
            "properties": { "name": { "enum": ["Ann", "Bob"] }, "seat": { "type": "integer", "minimum": 1, "maximum": 9 } },
        } },
    })
}

#[test]
fn a_schema_of_a_generator_is_kept_in_every_protocol() {
    let project = Project::todo();
    let server = served(&project, &[]);
    let question = "Book a table for Ann.";
    let held = |arguments: &Value| {
        let name = arguments["guest"]["name"].as_str().unwrap_or_default();
        assert!(["Ann", "Bob"].contains(&name), "{arguments}");
    };
    let read = |text: &Value| -> Value { serde_json::from_str(text.as_str().expect("a text")).expect("JSON") };

    // A tool with an invalid schema, one that no value satisfies and one that contains itself do
    // not affect other tools.
    let tool = |name: &str, parameters: Value| json!({ "type": "function", "function": { "name": name, "parameters": parameters } });
    let never =
        json!({ "type": "object", "properties": { "a": { "allOf": [{ "type": "null" }, { "type": "string" }] } } });
    let tree = json!({ "type": "object", "properties": { "below": { "type": "array", "items": { "$ref": "#" } } } });
    let tools = json!([tool("book", booking()), tool("odd", json!("text")), tool("never", never), tool("tree", tree)]);
    let request = with(with(ask(question, 120), "tools", tools), "tool_choice", json!("required"));
    server.client.post(CHAT, &request).json(200);
    let named = json!({ "type": "function", "function": { "name": "book" } });
    let called = server.client.post(CHAT, &with(request, "tool_choice", named)).json(200);
    held(&read(&called["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]));

    let format = json!({ "type": "json_schema", "json_schema": { "name": "b", "schema": booking() } });
    let formed = server.client.post(CHAT, &with(ask(question, 120), "response_format", format)).json(200);
    held(&read(&formed["choices"][0]["message"]["content"]));

    let own = json!([{ "name": "book", "description": "Books.", "input_schema": booking() }]);
    let request = with(with(ask(question, 120), "tools", own), "tool_choice", json!({ "type": "any" }));
    let message = server.client.post("/v1/messages", &request).json(200);
    held(&message["content"][0]["input"]);

    let own = json!([{ "type": "function", "name": "book", "parameters": booking() }]);
    let request = json!({ "model": "planner", "input": question, "max_output_tokens": 120, "tools": own, "tool_choice": "required" });
    let response = server.client.post("/v1/responses", &request).json(200);
    held(&read(&response["output"][0]["arguments"]));
}

#[test]
fn a_forced_call_that_is_cut_is_no_call_in_any_protocol() {
    let project = Project::todo();
    let server = served(&project, &[]);
    let tool = json!({ "name": "book", "description": "Books.", "input_schema": booking(), "parameters": booking() });
    let chat = json!([{ "type": "function", "function": tool }]);
    let forced =
        |limit: usize| with(with(ask("Book a table.", limit), "tools", chat.clone()), "tool_choice", json!("required"));
    for limit in [1, 6, 12] {
        let cut = server.client.post(CHAT, &forced(limit)).json(200);
        let choice = &cut["choices"][0];
        assert_eq!(
            (&choice["finish_reason"], &choice["message"]["tool_calls"]),
            (&json!("length"), &Value::Null),
            "{cut}"
        );
        assert_eq!(choice["message"]["content"], "", "half a call is not shown as text");
        let events = server.client.post(CHAT, &with(forced(limit), "stream", json!(true))).events();
        assert!(events.iter().all(|event| event["choices"][0]["delta"]["tool_calls"].is_null()), "{events:?}");
        assert!(events.iter().any(|event| event["choices"][0]["finish_reason"] == "length"), "{events:?}");
    }
    let request = with(with(ask("Book a table.", 6), "tools", json!([tool])), "tool_choice", json!({ "type": "any" }));
    let cut = server.client.post("/v1/messages", &request).json(200);
    assert_eq!((&cut["stop_reason"], &cut["content"]), (&json!("max_tokens"), &json!([])));
    let own = json!([{ "type": "function", "name": "book", "parameters": booking() }]);
    let request = json!({ "model": "planner", "input": "Book a table.", "max_output_tokens": 6, "tools": own, "tool_choice": "required" });
    let cut = server.client.post("/v1/responses", &request).json(200);
    assert_eq!((&cut["status"], &cut["output"]), (&json!("incomplete"), &json!([])));
    let stopped = server.client.post(CHAT, &with(forced(60), "stop", json!("guest"))).json(400);
    assert_eq!(stopped["error"]["param"], "stop");
}

#[test]
fn messages_and_fields_of_other_clients_are_answered_or_refused_by_name() {
    let project = Project::todo();
    let server = served(&project, &[]);
    let said = |messages: Value| with(ask("", 4), "messages", messages);
    for messages in [
        json!([{ "role": "system", "content": "Name a town." }]),
        json!([{ "role": "developer", "content": [{ "type": "text", "text": "Be short." }] }, { "role": "user", "content": "" }]),
        json!([{ "role": "user", "content": "Name a town." }, { "role": "assistant", "content": "A town is" }]),
        json!([{ "role": "user", "name": "ann", "content": "Hi" }, { "role": "assistant", "content": null, "refusal": "No." },
               { "role": "user", "content": ["Why?"] }]),
    ] {
        server.client.post(CHAT, &said(messages)).json(200);
    }
    let refused = |path: &str, request: Value| {
        let answer = server.client.post(path, &request).json(400);
        answer["error"]["param"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    assert_eq!(refused(CHAT, with(ask("Hi", 4), "logit_bias", json!("5"))), "logit_bias");
    assert_eq!(refused(CHAT, with(ask("Hi", 4), "response_format", json!("json"))), "response_format");
    assert_eq!(refused("/v1/completions", json!({ "prompt": "Hi", "best_of": 2 })), "best_of");
    assert_eq!(refused("/v1/responses", json!({ "model": "planner", "input": "Hi", "store": true })), "store");
    let message = server.client.post("/v1/messages", &with(ask("Hi", 4), "mcp_servers", json!([{}]))).json(400);
    assert!(message["error"]["message"].as_str().is_some_and(|text| text.contains("`mcp_servers`")), "{message}");
    let plain = with(with(ask("Hi", 4), "n", json!(1)), "colour", json!("red"));
    let answer = server.client.post(CHAT, &plain);
    assert!(
        answer.status == 200 && answer.head.to_lowercase().contains("x-monobloc-ignored: colour"),
        "{}",
        answer.head
    );
}

#[test]
fn a_text_above_what_the_embedder_reads_at_once_is_read_whole() {
    let project = Project::todo();
    let server = served(&project, &[]);
    let long = "the weather was fine and ".repeat(80);
    let request = json!({ "input": [format!("{long} we sailed"), format!("{long} taxes rose")] });
    let answer = server.client.post("/v1/embeddings", &request).json(200);
    assert_ne!(answer["data"][0]["embedding"], answer["data"][1]["embedding"]);
    assert!(answer["usage"]["prompt_tokens"].as_u64().is_some_and(|tokens| tokens > 800), "{}", answer["usage"]);
    let refused = server.client.post("/v1/embeddings", &json!({ "input": ["a", "word ".repeat(9_000)] })).json(400);
    let message = refused["error"]["message"].as_str().expect("a message");
    assert!(message.contains("9002 tokens") && message.contains("8192"), "{message}");
}

#[test]
fn headers_and_methods_follow_the_standard() {
    let project = Project::todo();
    let server = served(&project, &[]);
    let token = server.client.token.clone();
    let lower = format!("bearer {token}");
    let get = |method: &str, scheme: &str| server.client.send(method, "/v1/models", &[("authorization", scheme)], b"");
    assert_eq!(get("GET", &lower).status, 200);
    let head = get("HEAD", &lower);
    assert_eq!((head.status, head.body.len()), (200, 0));
    let options = get("OPTIONS", &lower);
    assert!(options.status == 204 && options.head.to_lowercase().contains("allow: get"), "{}", options.head);
    let refused = get("GET", "Basic x");
    assert!(
        refused.status == 401 && refused.head.to_lowercase().contains("www-authenticate: bearer"),
        "{}",
        refused.head
    );
    let kind = [("authorization", lower.as_str()), ("content-type", "Application/Json; Charset=UTF-8")];
    let body = ask("Hi", 2).to_string();
    assert_eq!(server.client.send("POST", CHAT, &kind, body.as_bytes()).status, 200);
}
