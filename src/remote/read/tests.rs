//! Tests with replies as different servers write them, and with truncated replies.

use serde_json::json;

use super::*;

fn tools() -> Vec<ToolText> {
    let parameters = json!({ "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"] });
    let tool =
        |name: &str| ToolText { name: name.into(), description: "A tool.".into(), parameters: parameters.clone() };
    vec![tool("read_file"), tool("delete_file")]
}

/// The text, the thoughts, the calls and the end of a reply.
type Whole = (String, String, Vec<(RawCall, bool)>, Finish);

/// Why the calls of a reply are left out; empty if none are.
fn left_out(chunks: &[Value]) -> String {
    let (notation, tools) = (Notation::usual(), tools());
    let mut reader = Chunks::new(&notation, &tools);
    chunks.iter().for_each(|chunk| drop(reader.take(chunk)));
    let why = |piece| if let Piece::LeftOut { calls, why } = piece { Some(format!("{calls:?}: {why}")) } else { None };
    reader.end().map(|(last, ..)| last.into_iter().find_map(why).unwrap_or_default()).unwrap_or_default()
}

fn read(chunks: &[Value]) -> Result<Whole, Why> {
    let (notation, tools) = (Notation::usual(), tools());
    let mut reader = Chunks::new(&notation, &tools);
    let mut pieces = Vec::new();
    for chunk in chunks {
        pieces.extend(reader.take(chunk)?);
    }
    let (last, finish, _) = reader.end()?;
    let (mut text, mut thinking, mut calls) = (String::new(), String::new(), Vec::new());
    for piece in pieces.into_iter().chain(last) {
        match piece {
            Piece::Text(part) => text += &part,
            Piece::Thinking(part) => thinking += &part,
            Piece::Call { call, is_certain, .. } => calls.push((call, is_certain)),
            _ => {}
        }
    }
    Ok((text, thinking, calls, finish))
}

fn delta(delta: Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

fn end(reason: &str) -> Value {
    json!({ "choices": [{ "delta": {}, "finish_reason": reason }] })
}

fn call(part: Value) -> Value {
    delta(json!({ "tool_calls": [part] }))
}

fn a_call(name: &str, path: &str) -> RawCall {
    RawCall { name: name.to_owned(), arguments: Map::from_iter([("path".to_owned(), json!(path))]) }
}

/// Checks that exactly these certain calls are read.
fn check_calls(chunks: &[Value], expected: &[RawCall]) {
    let (_, _, calls, _) = read(chunks).unwrap();
    let expected: Vec<_> = expected.iter().map(|call| (call.clone(), true)).collect();
    assert_eq!(calls, expected, "{chunks:?}");
}

#[test]
fn thoughts_are_read_from_either_field_and_out_of_the_words() {
    for chunks in [
        vec![delta(json!({ "reasoning_content": "Hm." })), delta(json!({ "content": "Yes." })), end("stop")],
        vec![delta(json!({ "reasoning": "Hm.", "content": "" })), delta(json!({ "content": "Yes." })), end("stop")],
        vec![
            delta(json!({ "reasoning": "Hm.", "reasoning_content": "Hm." })),
            delta(json!({ "content": "Yes." })),
            end("stop"),
        ],
        vec![delta(json!({ "content": "<thi" })), delta(json!({ "content": "nk>Hm.</think>Yes." })), end("stop")],
    ] {
        let (text, thinking, calls, finish) = read(&chunks).unwrap();
        assert_eq!(
            (text.as_str(), thinking.as_str(), calls.len(), finish),
            ("Yes.", "Hm.", 0, Finish::Stop),
            "{chunks:?}"
        );
    }
}

#[test]
fn a_call_is_put_together_from_its_parts() {
    let head = call(
        json!({ "index": 0, "id": "a", "type": "function", "function": { "name": "read_file", "arguments": "" } }),
    );
    let part = |text: &str| call(json!({ "index": 0, "function": { "arguments": text } }));
    check_calls(&[head, part("{\"pa"), part("th\": \"é"), part("\"}"), end("tool_calls")], &[a_call("read_file", "é")]);
}

#[test]
fn calls_without_index_or_with_the_same_index_are_told_apart() {
    let both = [a_call("read_file", "a"), a_call("delete_file", "b")];
    let whole = |index: Value, id: &str, one: &RawCall| {
        let arguments = Value::Object(one.arguments.clone()).to_string();
        json!({ "index": index, "id": id, "function": { "name": one.name, "arguments": arguments } })
    };
    let two = |first: Value, second: Value| delta(json!({ "tool_calls": [first, second] }));
    check_calls(&[two(whole(json!(0), "x", &both[0]), whole(json!(1), "y", &both[1])), end("tool_calls")], &both);
    check_calls(&[two(whole(json!(0), "x", &both[0]), whole(json!(0), "y", &both[1])), end("tool_calls")], &both);
    check_calls(&[two(whole(Value::Null, "x", &both[0]), whole(Value::Null, "y", &both[1])), end("stop")], &both);
    check_calls(&[call(whole(Value::Null, "", &both[0])), call(whole(Value::Null, "", &both[1])), end("stop")], &both);
    let parts = [
        call(json!({ "id": "x", "function": { "name": "read_file" } })),
        call(json!({ "function": { "arguments": "{\"path\":" } })),
        call(json!({ "function": { "arguments": "\"a\"}" } })),
        end("tool_calls"),
    ];
    check_calls(&parts, &both[..1]);
}

#[test]
fn arguments_as_an_object_or_encoded_twice_are_read() {
    let whole = json!({ "function": { "name": "read_file", "arguments": { "path": "a" } } });
    check_calls(&[call(whole), end("stop")], &[a_call("read_file", "a")]);
    let twice = Value::from(json!("{\"path\":\"a\"}").to_string());
    check_calls(
        &[call(json!({ "function": { "name": "read_file", "arguments": twice } })), end("stop")],
        &[a_call("read_file", "a")],
    );
    let named = json!({ "function": { "name": "functions.read_file", "arguments": "{\"path\":\"a\"}" } });
    check_calls(&[call(named), end("stop")], &[a_call("read_file", "a")]);
}

#[test]
fn an_answer_that_is_no_stream_is_read_too() {
    let calls = json!([{ "id": "x", "function": { "name": "read_file", "arguments": "{\"path\":\"a\"}" } }]);
    let message = json!({ "role": "assistant", "content": "So:", "tool_calls": calls });
    check_calls(
        &[json!({ "choices": [{ "message": message, "finish_reason": "tool_calls" }] })],
        &[a_call("read_file", "a")],
    );
}

#[test]
fn a_call_written_as_text_is_read() {
    let text = "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>";
    let (first, second) = text.split_at(20);
    let chunks = [delta(json!({ "content": first })), delta(json!({ "content": second })), end("stop")];
    check_calls(&chunks, &[a_call("read_file", "a")]);
    let (words, _, _, _) = read(&chunks).unwrap();
    assert_eq!(words.trim(), "", "its text is not an answer");
}

#[test]
fn a_reply_that_was_cut_has_no_call() {
    let field =
        call(json!({ "index": 0, "id": "a", "function": { "name": "delete_file", "arguments": "{\"path\":\"a\"}" } }));
    let text = delta(
        json!({ "content": "<tool_call>\n{\"name\": \"delete_file\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>" }),
    );
    for one in [field, text] {
        for last in [Some(end("length")), Some(end("content_filter")), Some(end("weather")), None] {
            let chunks: Vec<Value> = std::iter::once(one.clone()).chain(last).collect();
            let (_, _, calls, finish) = read(&chunks).unwrap();
            assert!(calls.is_empty() && !finish.is_whole(), "{chunks:?}");
            assert!(left_out(&chunks).starts_with("[\"delete_file\"]: the "), "{}", left_out(&chunks));
        }
        assert!(matches!(read(&[one, end("abort")]), Err(Why::Cut(_))));
    }
}

#[test]
fn calls_that_are_left_out_are_named_with_the_reason_and_half_a_call_is_not_one() {
    let one =
        |arguments: &str| call(json!({ "index": 0, "function": { "name": "read_file", "arguments": arguments } }));
    let whole = one("{\"path\":\"a\"}");
    assert!(left_out(&[whole.clone(), end("weather")]).contains("ended with `weather`"));
    assert!(left_out(&[whole.clone(), end("length")]).contains("limit of tokens"));
    assert!(left_out(std::slice::from_ref(&whole)).contains("does not report why"));
    assert_eq!(left_out(&[whole, end("TOOL_CALLS")]), "");
    assert_eq!(left_out(&[one("{\"path\":\"a"), end("length")]), "");
}

#[test]
fn a_call_whose_arguments_are_not_whole_is_an_error_even_in_a_reply_that_claims_to_be() {
    for arguments in ["{\"path\":\"a", "[1]", "path=a", "\"a\""] {
        let one = call(json!({ "index": 0, "function": { "name": "delete_file", "arguments": arguments } }));
        assert!(
            matches!(read(&[one, end("tool_calls")]), Err(Why::BadCall(name)) if name == "delete_file"),
            "{arguments}"
        );
    }
}

#[test]
fn an_error_in_the_middle_ends_the_reply() {
    let error = json!({ "error": { "message": "out of memory", "type": "server_error" } });
    assert_eq!(read(&[delta(json!({ "content": "a" })), error]), Err(Why::InAnswer("out of memory".to_owned())));
}

#[test]
fn chunks_of_any_other_shape_are_harmless() {
    for chunk in [
        json!(null),
        json!([]),
        json!("a"),
        json!({ "choices": [] }),
        json!({ "choices": [{}] }),
        json!({ "choices": [{ "delta": null }] }),
        json!({ "choices": [{ "delta": { "content": 7, "tool_calls": {} } }] }),
        json!({ "choices": [{ "delta": { "content": [{ "type": "text", "text": "" }, 7] } }] }),
    ] {
        assert_eq!(read(&[chunk.clone(), end("stop")]).map(|read| read.0), Ok(String::new()), "{chunk}");
    }
}

#[test]
fn the_calls_of_a_reply_are_bounded() {
    let one = |number: usize| call(json!({ "index": number, "function": { "name": "read_file", "arguments": "" } }));
    let chunks: Vec<Value> = (0..CALLS_MAX + 1).map(one).collect();
    assert!(matches!(read(&chunks), Err(Why::Unreadable(_))));
}
