//! Parses calls in any common notation, anywhere in a text.
//!
//! ```text
//! {"name": "read_file", "arguments": {"path": "a"}}      {"tool": "read_file", "args": {"path": "a"}}
//! {"function": {"name": "read_file", "arguments": "{\"path\": \"a\"}"}}      {"read_file": {"path": "a"}}
//! read_file(path="a")      read_file("a")      read_file: {"path": "a"}      `read_file` {"path": "a"}
//! ```

use serde_json::{Map, Value};

use crate::models::dialect::RawCall;
use crate::models::dialect::literal::Reader;
use crate::tools::call::CALLS_MAX;
use crate::tools::spec::{ToolSpec, without_server};

const NAME_KEYS: [&str; 6] = ["name", "tool", "tool_name", "function", "function_name", "action"];
const ARGUMENT_KEYS: [&str; 7] = ["arguments", "parameters", "args", "input", "tool_input", "params", "action_input"];
const LIST_KEYS: [&str; 3] = ["tool_calls", "calls", "tools"];

/// Finds calls in the order of the text; they never overlap. Reading stops at a call without an
/// end, because the rest of the text belongs to it.
pub fn read(text: &str, specs: &[ToolSpec]) -> Vec<RawCall> {
    let is_bare = is_bare_call(text);
    let mut reader = Reader::new(text);
    let mut calls = Vec::new();
    while calls.len() < CALLS_MAX && reader.fuel > 0 {
        let Some(c) = reader.peek() else { break };
        let here = reader.at;
        let (found, start) = if c == '{' {
            (reader.value().map(|value| from_value(&value, specs, 0).unwrap_or_default()), here)
        } else if c.is_alphabetic() || c == '_' {
            let name = reader.word().trim_end_matches('.');
            reader.at = here + name.len();
            (after_name(&mut reader, name, is_bare, specs), here + name.len())
        } else {
            (None, here)
        };
        let has_no_end = found.is_none() && reader.at > start && reader.rest().is_empty();
        match found.filter(|calls| !calls.is_empty()) {
            Some(mut more) => calls.append(&mut more),
            None if has_no_end => break,
            // A word is skipped as a whole, any other text one character at a time.
            None => {
                reader.at = start.max(here + c.len_utf8());
                reader.fuel = reader.fuel.saturating_sub(1);
            }
        }
    }
    calls
}

/// Runs `read`. If it finds nothing, the position is reset, but the fuel stays spent.
fn attempt<T>(reader: &mut Reader<'_>, read: impl FnOnce(&mut Reader<'_>) -> Option<T>) -> Option<T> {
    let start = reader.at;
    let found = read(reader);
    if found.is_none() {
        reader.at = start;
    }
    found
}

/// Whether the whole text, without fences and brackets, is `name(…)`: this is a call even if no
/// such tool exists.
fn is_bare_call(text: &str) -> bool {
    let bare = text.trim().trim_matches('`').trim_start_matches('[').trim_end_matches(']').trim();
    let name = Reader::new(bare).word();
    !name.is_empty() && bare[name.len()..].starts_with('(') && bare.ends_with(')')
}

/// A tool of that name, with or without a server before either name; `check` decides whether it is
/// unique.
fn known<'a>(name: &str, specs: &'a [ToolSpec]) -> Option<&'a ToolSpec> {
    let exact = specs.iter().find(|spec| spec.name.eq_ignore_ascii_case(name));
    let own = without_server(name);
    exact.or_else(|| specs.iter().find(|spec| without_server(&spec.name).eq_ignore_ascii_case(own)))
}

/// The call that begins with the word `name`: `name(…)`, or `name` before an object of arguments.
fn after_name(reader: &mut Reader<'_>, name: &str, is_bare: bool, specs: &[ToolSpec]) -> Option<Vec<RawCall>> {
    let spec = known(name, specs);
    if (spec.is_some() || is_bare) && reader.eat('(') {
        let arguments = pythonic(reader, spec)?;
        return Some(vec![RawCall { name: name.to_owned(), arguments }]);
    }
    let spec = spec?;
    // `name`: {…} with fences, colons, arrows or spaces between them.
    for _ in 0..40 {
        match reader.peek()? {
            ' ' | '\n' | '\t' | '\r' | '`' | ':' | '*' | '=' | '>' | '-' | '"' => reader.at += 1,
            'j' if reader.rest().starts_with("json") => reader.at += 4,
            '{' => {
                let Value::Object(fields) = reader.value()? else { return None };
                // The object may itself be a complete call.
                let whole = from_object(&fields, specs, 0);
                return whole
                    .or_else(|| Some(vec![RawCall { name: name.to_owned(), arguments: unwrapped(fields, spec) }]));
            }
            _ => return None,
        }
    }
    None
}

/// Reads `a="x", n=1)` after the opening parenthesis. Positional values go to the parameters in
/// order.
fn pythonic(reader: &mut Reader<'_>, spec: Option<&ToolSpec>) -> Option<Map<String, Value>> {
    let parameters = spec.map(ToolSpec::parameters).unwrap_or_default();
    let mut arguments = Map::new();
    for position in 0.. {
        reader.skip_blank();
        if reader.eat(')') {
            break;
        }
        let named = attempt(reader, |reader| {
            let quoted = matches!(reader.peek(), Some('"' | '\''));
            let name = if quoted { reader.string()? } else { reader.word().to_owned() };
            reader.skip_blank();
            (!name.is_empty() && (reader.eat('=') || reader.eat(':'))).then_some(name)
        });
        let value = reader.value()?;
        match (named, value) {
            (Some(name), value) => drop(arguments.insert(name, value)),
            // `name({"a": 1})`
            (None, Value::Object(fields)) if position == 0 => arguments.extend(fields),
            (None, value) => drop(arguments.insert(parameters.get(position)?.name.to_owned(), value)),
        }
        reader.skip_blank();
        if !reader.eat(',') && reader.peek() != Some(')') {
            return None;
        }
    }
    Some(arguments)
}

fn from_value(value: &Value, specs: &[ToolSpec], depth: usize) -> Option<Vec<RawCall>> {
    match value {
        Value::Object(fields) => from_object(fields, specs, depth),
        Value::Array(all) => {
            let calls: Vec<RawCall> =
                all.iter().filter_map(|one| from_value(one, specs, depth + 1)).flatten().collect();
            (!calls.is_empty()).then_some(calls)
        }
        _ => None,
    }
}

fn from_object(fields: &Map<String, Value>, specs: &[ToolSpec], depth: usize) -> Option<Vec<RawCall>> {
    if depth > 4 {
        return None;
    }
    if let Some(list) = LIST_KEYS.iter().find_map(|key| fields.get(*key)).filter(|list| list.is_array()) {
        return from_value(list, specs, depth + 1);
    }
    if let Some(inner) = ["function", "tool_call", "function_call"].iter().find_map(|key| fields.get(*key)?.as_object())
    {
        return from_object(inner, specs, depth + 1);
    }
    let arguments = ARGUMENT_KEYS.iter().find_map(|key| Some((*key, fields.get(*key)?)));
    for key in NAME_KEYS {
        let Some(name) = fields.get(key).and_then(Value::as_str).filter(|name| is_name(name)) else { continue };
        let arguments = match arguments {
            Some((_, given)) => as_object(given)?,
            // `{"name": "read_file", "path": "a"}`
            None if known(name, specs).is_some() => {
                fields.iter().filter(|(field, _)| *field != key).map(|(k, v)| (k.clone(), v.clone())).collect()
            }
            None => continue,
        };
        return Some(vec![RawCall { name: name.to_owned(), arguments }]);
    }
    let (name, inner) = fields.iter().next().filter(|_| fields.len() == 1)?;
    let arguments = as_object(inner)?;
    known(name, specs).map(|_| vec![RawCall { name: name.clone(), arguments }])
}

fn is_name(text: &str) -> bool {
    (1..=128).contains(&text.len()) && !text.contains(char::is_whitespace)
}

/// Arguments given as an object, or as text that contains one.
fn as_object(value: &Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(fields) => Some(fields.clone()),
        Value::Null => Some(Map::new()),
        Value::String(text) => match Reader::new(text).value()? {
            Value::Object(fields) => Some(fields),
            _ => None,
        },
        _ => None,
    }
}

/// Replaces `{"arguments": {…}}` with the inner object, unless the tool has a parameter of that
/// name.
fn unwrapped(fields: Map<String, Value>, spec: &ToolSpec) -> Map<String, Value> {
    let is_own = |key: &str| spec.parameters().iter().any(|parameter| parameter.name == key);
    let is_shell = |key: &str| fields.len() == 1 && ARGUMENT_KEYS.contains(&key) && !is_own(key);
    let only = fields.iter().next().filter(|(key, _)| is_shell(key));
    only.and_then(|(_, inner)| as_object(inner)).unwrap_or(fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::Catalog;

    fn check(text: &str, expected: &[&str]) {
        let calls = read(text, Catalog::builtin().specs());
        let shown = |call: &RawCall| format!("{} {}", call.name, Value::Object(call.arguments.clone()));
        assert_eq!(calls.iter().map(shown).collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn every_usual_notation_is_read() {
        for text in [
            r#"Sure! {"name": "read_file", "arguments": {"path": "a"}} done"#,
            r#"<tool_call>{"name":"read_file","parameters":{"path":"a"}}</tool_call>"#,
            "```json\n{\"tool\": \"read_file\", \"args\": {\"path\": \"a\"}}\n```",
            r#"{"type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}"#,
            r#"{"tool_calls":[{"name":"read_file","arguments":{"path":"a"}}]}"#,
            r#"[{"name":"read_file","arguments":{"path":"a"}}]"#,
            r#"{"read_file": {"path": "a"}}"#,
            r#"{"name": "read_file", "path": "a"}"#,
            "{'name': 'read_file', 'arguments': {'path': 'a',}}",
            r#"[read_file(path="a")]"#,
            "<|tool_call_start|>[read_file(path='a')]<|tool_call_end|>",
            r#"I call read_file("a") now."#,
            r#"read_file({"path": "a"})"#,
            r#"read_file("path"="a")"#,
            r#"read_file('path': "a")"#,
            r#"read_file: {"path": "a"}"#,
            r#"read_file {"arguments": {"path": "a"}}"#,
            "Use `read_file`:\n```json\n{\"path\": \"a\"}\n```",
        ] {
            check(text, &[r#"read_file {"path":"a"}"#]);
        }
        check(r#"I call files.read_file(path="a")."#, &[r#"files.read_file {"path":"a"}"#]);
        check(r#"[read_file(path="a"), list_dir()]"#, &[r#"read_file {"path":"a"}"#, "list_dir {}"]);
        check(r#"{"name": "read_file", "arguments": {"path" {"name":"list_dir","arguments":{}}"#, &["list_dir {}"]);
        check(
            r#"{"name": "write_file", "arguments": {"path": "a", "content": "call list_dir() or read_file('b')"#,
            &[],
        );
        check(r#"write_file("a", "call list_dir() or read_file('b')"#, &[]);
    }

    #[test]
    fn an_unknown_tool_is_reported_only_where_a_call_is_meant() {
        check(r#"{"name":"open_file","arguments":{"path":"a"}}"#, &[r#"open_file {"path":"a"}"#]);
        check(r#"[open_file(path="a")]"#, &[r#"open_file {"path":"a"}"#]);
        check(r#"`open_file("path"="a")`"#, &[r#"open_file {"path":"a"}"#]);
        check("The function f(x=1) is pure.", &[]);
        check(r#"{"name": "Ann", "age": 3}"#, &[]);
        check("fn main() { let x = 1; }", &[]);
    }
}
