//! Calls as JSON: `{"name": "f", "arguments": {…}}` with any of the usual keys, or `{"f": {…}}`, alone or in a list.

use serde_json::{Deserializer, Map, Value};

use super::super::RawCall;
use super::super::literal;
use super::Keys;
use super::cursor::{Cursor, Read, Stop};
use super::values;

const NAMES: [&str; 3] = ["name", "tool_name", "function"];
const ARGUMENTS: [&str; 3] = ["arguments", "parameters", "args"];

/// A JSON value, and whether it is strict JSON.
pub fn value(cursor: &mut Cursor<'_>) -> Read<(Value, bool)> {
    cursor.skip_blank();
    let rest = cursor.rest();
    if rest.is_empty() {
        return Err(cursor.end());
    }
    if !rest.starts_with(['{', '[']) {
        return Err(Stop::Not);
    }
    let mut stream = Deserializer::from_str(rest).into_iter::<Value>();
    match stream.next() {
        Some(Ok(value)) => {
            cursor.at += stream.byte_offset();
            Ok((value, true))
        }
        Some(Err(error)) if error.is_eof() => Err(cursor.end()),
        _ => {
            let mut reader = literal::Reader::new(rest);
            let value = reader.value().ok_or(if reader.rest().is_empty() { cursor.end() } else { Stop::Not })?;
            cursor.at += reader.at;
            Ok((value, false))
        }
    }
}

/// The calls that a value represents.
pub fn calls(value: &Value, keys: Option<&Keys>) -> Vec<RawCall> {
    match value {
        Value::Array(all) => all.iter().filter_map(|one| call(one.as_object()?, keys)).collect(),
        Value::Object(fields) => call(fields, keys).into_iter().collect(),
        _ => Vec::new(),
    }
}

fn call(fields: &Map<String, Value>, keys: Option<&Keys>) -> Option<RawCall> {
    let own = |key: fn(&Keys) -> &String| keys.map(key).map(String::as_str);
    let find = |own: Option<&str>, usual: &[&str]| {
        own.into_iter().chain(usual.iter().copied()).find_map(|key| fields.get(key))
    };
    match find(own(|keys| &keys.name), &NAMES) {
        Some(Value::String(name)) => {
            let arguments = match find(own(|keys| &keys.arguments), &ARGUMENTS) {
                Some(written) => values::arguments(written)?,
                None => Map::new(),
            };
            Some(RawCall { name: name.clone(), arguments })
        }
        // `{"type": "function", "function": {"name": …}}`
        Some(Value::Object(inner)) => call(inner, keys),
        // `{NAME: {…}}`
        None if keys.is_none() && fields.len() == 1 => {
            let (name, arguments) = fields.iter().next()?;
            Some(RawCall { name: name.clone(), arguments: arguments.as_object()?.clone() })
        }
        _ => None,
    }
}

/// Whether an object that begins here can be a call: its first key must be one that calls have.
/// This rejects other text early.
pub fn may_be_call(cursor: &Cursor<'_>) -> Read<()> {
    let mut cursor = *cursor;
    cursor.eat("[")?;
    cursor.expect("{")?;
    cursor.expect("\"")?;
    let rest = cursor.rest();
    let Some(end) = rest.find('"') else {
        let keys = NAMES.iter().chain(&ARGUMENTS).chain(&["type", "id"]);
        return Err(if keys.clone().any(|key| key.starts_with(rest)) { cursor.end() } else { Stop::Not });
    };
    let key = &rest[..end];
    let is_usual = NAMES.contains(&key) || ARGUMENTS.contains(&key) || matches!(key, "type" | "id");
    if is_usual { Ok(()) } else { Err(Stop::Not) }
}
