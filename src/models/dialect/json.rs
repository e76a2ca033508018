//! Writes and reads calls as JSON objects: `{"name": "read_file", "arguments": {"path": "a.rs"}}`, bare, in a list or in
//! `<tool_call>` tags.

use serde_json::{Deserializer, Map, Value};

use super::chat::RawCall;
use super::python_json::{self, Style};

/// Maximum number of positions in a text that are tried as the start of an object; a model's reply has far fewer.
const STARTS_MAX: usize = 256;

/// Every object in `text` that is a call, in order. A brace that opens no whole object ends the reading, because the rest may
/// be the inside of a call that was cut.
pub fn scan(text: &str) -> Vec<RawCall> {
    scanned(text).0
}

/// The calls that [`scan`] finds, and where the last one ends.
fn scanned(text: &str) -> (Vec<RawCall>, usize) {
    let (mut calls, mut at, mut end) = (Vec::new(), 0, 0);
    for _ in 0..STARTS_MAX {
        let Some(start) = text[at..].find('{').map(|found| at + found) else { break };
        let mut stream = Deserializer::from_str(&text[start..]).into_iter::<Value>();
        let Some(Ok(value)) = stream.next() else { break };
        at = start + stream.byte_offset();
        let found = within(value);
        if !found.is_empty() {
            calls.extend(found);
            end = at;
        }
    }
    (calls, end)
}

/// The call that a value is, else those within it.
fn within(value: Value) -> Vec<RawCall> {
    match (call(value.clone()), value) {
        (Some(found), _) => vec![found],
        (None, Value::Object(fields)) => fields.into_iter().flat_map(|(_, value)| within(value)).collect(),
        (None, Value::Array(all)) => all.into_iter().flat_map(within).collect(),
        _ => Vec::new(),
    }
}

/// The calls behind each `mark`, read by `read`, which also says how long they are. A mark within a call is part of its
/// text, and a mark without a whole call behind it ends the reading.
pub(super) fn behind_each(
    text: &str,
    mark: &str,
    read: impl Fn(&str) -> Option<(Vec<RawCall>, usize)>,
) -> Vec<RawCall> {
    let (mut calls, mut rest) = (Vec::new(), text);
    for _ in 0..STARTS_MAX {
        let Some((_, behind)) = rest.split_once(mark) else { break };
        let Some((found, length)) = read(behind) else { break };
        calls.extend(found);
        rest = &behind[length..];
    }
    calls
}

/// The arguments as compact JSON.
pub fn arguments(arguments: &Map<String, Value>) -> String {
    serde_json::to_string(arguments).expect("a map of JSON is written as JSON; else this is a bug in serde_json")
}

/// The arguments as JSON with a space after commas and colons, as in Qwen's template and in what its models write.
pub fn spaced_arguments(arguments: &Map<String, Value>) -> String {
    python_json::write(&Value::Object(arguments.clone()), &Style::default())
}

/// The calls after every `mark`.
pub fn after(text: &str, mark: &str) -> Vec<RawCall> {
    behind_each(text, mark, |behind| objects(behind, mark))
}

/// The calls up to the next `mark` that is not within one of them, and where they end. `None` if the first brace opens no call.
fn objects(text: &str, mark: &str) -> Option<(Vec<RawCall>, usize)> {
    let next = text.find(mark);
    if next.is_some_and(|next| text.find('{').is_none_or(|brace| next < brace)) {
        // The mark is only mentioned.
        return Some((Vec::new(), 0));
    }
    let (calls, end) = scanned(text);
    (!calls.is_empty()).then_some((calls, end))
}

/// Calls in `<tool_call>` tags. Qwen2.5-Coder omits the tags although its template demands them, so a reply that begins with
/// the object, in a code block or not, is read too.
pub fn hermes(text: &str) -> Vec<RawCall> {
    const TAG: &str = "<tool_call>";
    if text.contains(TAG) {
        return after(text, TAG);
    }
    let text = text.trim();
    let block = text.strip_prefix("```json").or_else(|| text.strip_prefix("```"));
    whole(block.unwrap_or(text))
}

/// The calls of a reply that begins with one; none if it begins with anything else.
pub fn whole(text: &str) -> Vec<RawCall> {
    let text = text.trim_start();
    let text = text.strip_prefix("<|python_tag|>").unwrap_or(text);
    if text.trim_start().starts_with('{') { scan(text) } else { Vec::new() }
}

/// `[TOOL_CALLS][{"name": …}]`, or as newer models write it: `[TOOL_CALLS]name[ARGS]{…}`.
pub fn mistral(text: &str) -> Vec<RawCall> {
    const MARK: &str = "[TOOL_CALLS]";
    behind_each(text, MARK, |behind| match behind.split_once("[ARGS]") {
        Some((name, arguments)) if !name.contains(['{', '[']) => named(name, arguments, behind),
        _ => objects(behind, MARK),
    })
}

/// `<|channel|>commentary to=functions.name <|constrain|>json<|message|>{…}`
pub fn harmony(text: &str) -> Vec<RawCall> {
    behind_each(text, " to=functions.", |behind| {
        let (head, arguments) = behind.split_once("<|message|>")?;
        named(head.split([' ', '<']).next()?, arguments, behind)
    })
}

/// `function<｜tool▁sep｜>name`, then the arguments in a code block.
pub fn deepseek(text: &str) -> Vec<RawCall> {
    behind_each(text, "<｜tool▁sep｜>", |behind| {
        let (name, rest) = behind.split_once('\n')?;
        named(name, rest, behind)
    })
}

/// A call whose arguments are the first object in `rest`, the end of `whole`, and where it ends in `whole`.
fn named(name: &str, rest: &str, whole: &str) -> Option<(Vec<RawCall>, usize)> {
    let text = &rest[rest.find('{')?..];
    let mut stream = Deserializer::from_str(text).into_iter::<Value>();
    let Value::Object(arguments) = stream.next()?.ok()? else { return None };
    let name = name.trim().to_owned();
    let end = whole.len() - text.len() + stream.byte_offset();
    (!name.is_empty()).then(|| (vec![RawCall { name, arguments }], end))
}

/// Reads an object as a call. OpenAI's format has the arguments as a string of JSON, Llama 3 calls them `parameters`, and some
/// models wrap all in `function`.
fn call(value: Value) -> Option<RawCall> {
    let Value::Object(mut object) = value else { return None };
    if let Some(inner @ Value::Object(_)) = object.remove("function") {
        return call(inner);
    }
    let name = object.get("name")?.as_str()?.to_owned();
    let arguments = match object.remove("arguments").or_else(|| object.remove("parameters"))? {
        Value::Object(arguments) => arguments,
        Value::String(text) => serde_json::from_str(&text).ok()?,
        _ => return None,
    };
    Some(RawCall { name, arguments })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::pythonic::tests::arguments;
    use super::*;

    fn write(name: &str, arguments: &Map<String, Value>) -> String {
        json!({ "name": name, "arguments": arguments }).to_string()
    }

    fn check(text: &str, expected: &str) {
        let read: Vec<String> = scan(text).iter().map(|call| write(&call.name, &call.arguments)).collect();
        assert_eq!(read.join("; "), expected, "{text}");
    }

    #[test]
    fn calls_are_read_anywhere_in_a_text() {
        let plain = r#"{"name":"f","arguments":{"a":1}}"#;
        check(plain, plain);
        check(&format!("<tool_call>\n{plain}\n</tool_call>"), plain);
        check(&format!("[{plain}, {plain}]"), &format!("{plain}; {plain}"));
        check(r#"{"name": "f", "parameters": {"a": 1}}"#, plain);
        check(r#"{"type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}}"#, plain);
        check(r#"{"thought": "{"} {"name": "f", "arguments": {"a": 1}}"#, plain);
    }

    #[test]
    fn objects_that_are_no_calls_are_skipped() {
        check(r#"{"name": "f"}"#, "");
        check(r#"{"name": 1, "arguments": {}}"#, "");
        check(r#"{"name": "f", "arguments": {"a": 1}"#, "");
        check(&"{\"a\":".repeat(10_000), "");
    }

    proptest! {
        #[test]
        fn a_written_call_is_read_back(name in "[a-z]{1,8}", arguments in arguments()) {
            let text = format!("so {}!", write(&name, &arguments));
            // Decimal fractions may differ in the last bit: serde_json reads them fast, not exactly.
            let read = scan(&text);
            prop_assert_eq!(read.len(), 1);
            prop_assert_eq!(&read[0].name, &name);
            prop_assert!(read[0].arguments.keys().eq(arguments.keys()));
        }

        #[test]
        fn no_text_causes_a_panic(text in "[\\[\\]{}:a-c,\"\\\\ ]{0,80}|.{0,80}") {
            scan(&text);
        }
    }
}
