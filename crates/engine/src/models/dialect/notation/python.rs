//! Calls in Python's notation: `f(a="x", n=1)`, alone, in a list or one per line.

use serde_json::{Map, Value};

use super::super::literal;
use super::super::{RawCall, ToolText};
use super::cursor::{Cursor, Read, Stop};
use super::tagged::is_name;
use super::values;

/// Characters that a name may contain besides letters and digits.
const NAME: &str = "_-./:";

/// The text between a call's parentheses, with JSON strings, which are also valid in Python.
pub fn written(arguments: &Map<String, Value>) -> String {
    let arguments: Vec<String> = arguments.iter().map(|(key, value)| format!("{key}={}", literal(value))).collect();
    arguments.join(", ")
}

fn literal(value: &Value) -> String {
    match value {
        Value::Null => "None".into(),
        Value::Bool(true) => "True".into(),
        Value::Bool(false) => "False".into(),
        Value::Array(items) => format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", ")),
        Value::Object(entries) => {
            let entry = |(key, value): (&String, &Value)| format!("{}: {}", Value::from(key.as_str()), literal(value));
            format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

/// One or more calls with or without brackets around them, and whether they are valid Python.
pub fn calls(cursor: &mut Cursor<'_>, tools: &[ToolText]) -> Read<(Vec<RawCall>, bool)> {
    let is_list = cursor.eat("[")?;
    let (mut all, mut is_exact) = (Vec::new(), true);
    loop {
        if is_list && cursor.eat("]")? {
            break;
        }
        let (call, exact) = call(cursor, tools)?;
        all.push(call);
        is_exact &= exact;
        let comma = cursor.eat(",")?;
        if is_list {
            match cursor.peek()? {
                Some(']') => {}
                Some(_) if comma => {}
                _ => return Err(Stop::Not),
            }
        } else if !cursor.peek()?.is_some_and(|c| c.is_alphabetic() || c == '_') {
            break;
        }
    }
    if all.is_empty() { Err(Stop::Not) } else { Ok((all, is_exact)) }
}

fn word<'a>(cursor: &mut Cursor<'a>, marks: &str) -> Read<&'a str> {
    cursor.skip_blank();
    let rest = cursor.rest();
    let end = rest.find(|c: char| !c.is_alphanumeric() && !marks.contains(c)).unwrap_or(rest.len());
    if end == rest.len() {
        return Err(cursor.end());
    }
    cursor.at += end;
    Ok(&rest[..end])
}

/// A call, which may be inside `print(…)`.
fn call(cursor: &mut Cursor<'_>, tools: &[ToolText]) -> Read<(RawCall, bool)> {
    let is_known = |name: &str| tools.iter().any(|tool| tool.name == name);
    let mut prints = 0;
    loop {
        let mut inner = *cursor;
        if word(&mut inner, NAME)? != "print" || is_known("print") {
            break;
        }
        inner.expect("(")?;
        *cursor = inner;
        prints += 1;
    }
    let found = bare(cursor, tools)?;
    for _ in 0..prints {
        cursor.expect(")")?;
    }
    Ok(found)
}

fn bare(cursor: &mut Cursor<'_>, tools: &[ToolText]) -> Read<(RawCall, bool)> {
    let name = word(cursor, NAME)?;
    if !is_name(name) {
        return Err(Stop::Not);
    }
    cursor.expect("(")?;
    let (mut arguments, mut is_exact) = (Map::new(), true);
    let properties = tools.iter().find(|tool| tool.name == name).and_then(|tool| tool.parameters.get("properties"));
    let keys: Vec<&String> = properties.and_then(Value::as_object).map(|all| all.keys().collect()).unwrap_or_default();
    for position in 0.. {
        if cursor.eat(")")? {
            break;
        }
        let key = key(cursor)?;
        let (value, exact) = value(cursor)?;
        is_exact &= exact;
        match (key, value) {
            (Some(key), value) => is_exact &= arguments.insert(key, value).is_none(),
            (None, Value::Object(fields)) if position == 0 => arguments.extend(fields),
            (None, value) => {
                let key = keys.get(position).ok_or(Stop::Not)?;
                arguments.insert((*key).clone(), value);
                is_exact = false;
            }
        }
        if !cursor.eat(",")? && cursor.peek()? != Some(')') {
            return Err(Stop::Not);
        }
    }
    Ok((RawCall { name: name.to_owned(), arguments }, is_exact))
}

/// `key=` or nothing.
fn key(cursor: &mut Cursor<'_>) -> Read<Option<String>> {
    let mut probe = *cursor;
    if probe.peek()?.is_none_or(|c| !c.is_alphabetic() && c != '_') {
        return Ok(None);
    }
    let key = word(&mut probe, "_-")?;
    if !probe.eat("=")? {
        return Ok(None);
    }
    *cursor = probe;
    Ok(Some(key.to_owned()))
}

/// A value, and whether it is valid Python or JSON; if not, the text up to the next argument or the
/// end.
fn value(cursor: &mut Cursor<'_>) -> Read<(Value, bool)> {
    cursor.skip_blank();
    let mut reader = literal::Reader::new(cursor.rest());
    let read = reader.value();
    if read.is_none() && reader.rest().is_empty() && !cursor.last {
        return Err(Stop::More);
    }
    if let Some(value) = read {
        let mut after = Cursor { at: cursor.at + reader.at, ..*cursor };
        if matches!(after.peek()?, Some(',' | ')')) && (!value.is_string() || goes_on(&after)?) {
            cursor.at += reader.at;
            return Ok((value, true));
        }
    }
    let rest = cursor.rest();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
    for (at, c) in rest.char_indices().skip(1) {
        let after = Cursor { at: cursor.at + at + if quote.is_some() { c.len_utf8() } else { 0 }, ..*cursor };
        let may_end = quote.map_or(matches!(c, ',' | ')'), |quote| c == quote);
        if may_end && goes_on(&after)? {
            let text = rest[..at].trim_start_matches(['"', '\'']).to_owned();
            cursor.at = after.at;
            return Ok((values::plain(&text).filter(|_| quote.is_none()).unwrap_or(Value::String(text)), false));
        }
    }
    Err(cursor.end())
}

/// Whether another argument comes next, or the end of the call and its surroundings.
fn goes_on(cursor: &Cursor<'_>) -> Read<bool> {
    let mut probe = *cursor;
    if probe.eat(",")? {
        if probe.peek()? == Some(')') {
            return Ok(true);
        }
        // A string may also continue after a comma: only a key begins the next argument.
        let mut named = probe;
        return Ok(
            matches!(probe.peek()?, Some('"' | '\'' | '{' | '[' | '0'..='9' | '-')) || key(&mut named)?.is_some()
        );
    }
    if !probe.eat(")")? {
        return Ok(false);
    }
    Ok(probe.is_at_end()
        || matches!(probe.peek()?, None | Some(']' | ',' | '<' | ')' | '`'))
        || probe.rest().starts_with(char::is_alphabetic))
}
