//! Tests how requests to `/v1/chat/completions` are read and answers are written.

use super::*;
use crate::serve::ask::Turn;

fn read(request: Value) -> Result<Ask, Problem> {
    super::read(Fields::of(&request), Model::Planner).and_then(|(ask, _)| ask.checked())
}

#[test]
fn a_conversation_with_calls_and_results_is_read_in_order() {
    let ask = read(json!({ "model": "planner", "unknown": 1, "temperature": 1, "top_k": -1, "messages": [
        { "role": "developer", "content": "Be brief." },
        { "role": "user", "content": [{ "type": "text", "text": "List" }, { "type": "text", "text": "it." }] },
        { "role": "assistant", "content": null, "reasoning_content": "Which?", "tool_calls": [
            { "id": "c1", "type": "function", "function": { "name": "ls", "arguments": "{\"path\": \".\"}" } }] },
        { "role": "tool", "tool_call_id": "c1", "content": "a.rs" },
    ]}))
    .unwrap();
    let expected = [
        Turn::System("Be brief.".into()),
        Turn::User("List\nit.".into()),
        Turn::Assistant {
            text: String::new(),
            calls: vec![fields::call(&json!("c1"), &json!("ls"), &json!({ "path": "." }))],
            thinking: "Which?".into(),
        },
        Turn::Tool("a.rs".into()),
    ];
    assert_eq!(ask.turns, expected);
    assert_eq!((ask.sampling.temperature, ask.sampling.top_k), (Some(1.0), None));
}

#[test]
fn what_cannot_be_done_is_refused_by_the_field() {
    let with = |name: &str, value: Value| {
        let mut request = json!({ "messages": [{ "role": "user", "content": "Hi" }] });
        request[name] = value;
        read(request).err().and_then(|problem| problem.field)
    };
    for (field, value) in [
        ("n", json!(2)),
        ("top_logprobs", json!(21)),
        ("tool_choice", json!("required")),
        ("response_format", json!({ "type": "xml" })),
        ("temperature", json!(-1)),
        ("messages", json!([])),
        ("messages", json!([{ "role": "user", "content": [{ "type": "image_url" }] }])),
        ("messages", json!([{ "role": "narrator", "content": "Hi" }])),
        ("tools", json!([{ "type": "function", "function": { "parameters": {} } }])),
        ("tools", json!([{ "type": "custom", "custom": { "name": "f" } }])),
        ("tools", json!({ "name": "f" })),
        ("messages", json!([{ "role": "user", "content": "Hi", "audio": { "id": "a" } }])),
        ("messages", json!("Hi")),
        ("top_logprobs", json!(2)),
        ("logprobs", json!(2)),
        ("max_tokens", json!("all")),
        ("stop", json!({ "text": "." })),
        ("reasoning_effort", json!("huge")),
        ("reasoning", json!({ "depth": 9 })),
        ("parallel_tool_calls", json!("no")),
        ("response_format", json!("json_object")),
        ("logit_bias", json!({ "9": -100 })),
    ] {
        assert_eq!(with(field, value), Some(field));
    }
    assert_eq!(with("max_tokens", json!(-1)), None, "no limit");
    assert_eq!(with("logit_bias", json!({})), None);
    assert_eq!(with("n", json!(1)), None);
    assert_eq!(with("logprobs", json!(null)), None);
}

#[test]
fn two_limits_must_be_the_same() {
    let with = |new: usize, old: usize| {
        read(
            json!({ "messages": [{ "role": "user", "content": "Hi" }], "max_completion_tokens": new, "max_tokens": old }),
        )
    };
    assert_eq!(with(9, 9).unwrap().max_tokens, Some(9));
    assert_eq!(with(9, 8).unwrap_err().field, Some("max_completion_tokens"));
}

#[test]
fn messages_of_many_shapes_are_read() {
    let check = |messages: Value, expected: &[Turn]| {
        let ask = read(json!({ "messages": messages })).unwrap();
        assert_eq!(ask.turns, expected);
    };
    let said = |text: &str| Turn::Assistant { text: text.into(), calls: Vec::new(), thinking: String::new() };
    check(json!([{ "role": "system", "content": "Name a town." }]), &[Turn::System("Name a town.".into())]);
    check(json!([{ "role": "user", "content": "" }]), &[Turn::User(String::new())]);
    check(json!([{ "role": "user", "name": "ann", "content": ["Hi"] }]), &[Turn::User("Hi".into())]);
    let refusal =
        json!([{ "role": "user", "content": "Hi" }, { "role": "assistant", "content": null, "refusal": "No." }]);
    check(refusal, &[Turn::User("Hi".into()), said("No.")]);
    let older = json!([
        { "role": "user", "content": "Hi" },
        { "role": "assistant", "content": null, "function_call": { "name": "ls", "arguments": "{}" } },
        { "role": "function", "name": "ls", "content": "a.rs" },
    ]);
    let calls = vec![fields::call(&Value::Null, &json!("ls"), &json!("{}"))];
    check(
        older,
        &[
            Turn::User("Hi".into()),
            Turn::Assistant { text: String::new(), calls, thinking: String::new() },
            Turn::Tool("a.rs".into()),
        ],
    );
}

/// The data in the events.
fn data(events: &[String]) -> Vec<Value> {
    events.iter().map(|event| serde_json::from_str(event.trim_start_matches("data: ")).unwrap_or_default()).collect()
}

fn answer(logprobs: bool) -> Answer {
    let (id, model) = ("chatcmpl-1".to_owned(), "planner".to_owned());
    Answer { id, created: 0, model, logprobs, usage: true, calls: 0 }
}

#[test]
fn calls_have_numbers_and_the_stream_ends_with_reason_usage_and_done() {
    let mut answer = answer(false);
    for (number, id) in ["a", "b"].into_iter().enumerate() {
        let chunk = data(&answer.delta(Delta::Call(fields::call(&json!(id), &json!("ls"), &Value::Null))));
        let call = &chunk[0]["choices"][0]["delta"]["tool_calls"][0];
        assert_eq!((&call["index"], &call["id"]), (&json!(number), &json!(id)));
        assert_eq!(call["function"]["arguments"], "{}");
    }
    let end = End { reason: Reason::Calls, prompt: 7, cached: 3, generated: 2 };
    let events = answer.delta(Delta::Finished(end));
    let last = data(&events);
    assert_eq!(last[0]["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!((&last[1]["choices"], &last[1]["usage"]["total_tokens"]), (&json!([]), &json!(9)));
    assert_eq!(events[2], DONE);
}

#[test]
fn log_probabilities_come_with_their_text() {
    let mut answer = answer(true);
    let token = TokenLogprobs { bytes: b"a".to_vec(), logprob: -0.5, top: vec![(b"b".to_vec(), f32::NEG_INFINITY)] };
    let chunk = data(&answer.delta(Delta::Text("a".to_owned(), vec![token])));
    let content = &chunk[0]["choices"][0]["logprobs"]["content"][0];
    assert_eq!((&content["token"], &content["logprob"]), (&json!("a"), &json!(-0.5)));
    assert_eq!(content["top_logprobs"][0]["logprob"], -9999.0);
}
