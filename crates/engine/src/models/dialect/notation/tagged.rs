//! Calls in tags: `<function=f>`, then each parameter between its own marks.

use serde_json::{Map, Value};

use super::super::{RawCall, ToolText};
use super::cursor::{Cursor, Read, Stop, words};
use super::derive::{common_end, common_start};
use super::{Calls, Named, Tagged, json, values};

/// Maximum length of a tool's name, in bytes.
const NAME_MAX: usize = 200;
/// Maximum nesting depth of tags in a value.
const DEPTH_MAX: usize = 16;

/// A call after its opening mark, up to and including its closing mark; and whether it follows the
/// notation exactly.
pub fn call(cursor: &mut Cursor<'_>, calls: &Calls, tags: &Tagged, tools: &[ToolText]) -> Read<(RawCall, bool)> {
    let name = name(cursor, calls, tags, tools)?;
    let (mut arguments, mut is_exact) = (Map::new(), true);
    loop {
        if cursor.eat(&calls.call.close)? {
            return Ok((RawCall { name, arguments }, is_exact));
        } else if cursor.eat(&tags.key)? {
            let (key, value, is_whole) = parameter(cursor, calls, tags, &name, tools)?;
            arguments.insert(key, value);
            is_exact &= is_whole;
        } else {
            let mut probe = *cursor;
            // The call's own closing mark is missing.
            let is_over = !calls.section.close.is_empty() && probe.eat(&calls.section.close)?;
            let is_over = is_over || cursor.last && cursor.rest().trim().is_empty() && !arguments.is_empty();
            return if is_over { Ok((RawCall { name, arguments }, false)) } else { Err(Stop::Not) };
        }
    }
}

/// The name, up to the mark that ends it, or to the first parameter or the end of the call, neither
/// of which is consumed. `\u{2}` is a placeholder for a number in the mark.
fn name(cursor: &mut Cursor<'_>, calls: &Calls, tags: &Tagged, tools: &[ToolText]) -> Read<String> {
    let (head, tail) = tags.name_end.split_once('\u{2}').unwrap_or((&tags.name_end, ""));
    let (end, number) = match cursor.find(&[head, &tags.key, &calls.call.close]) {
        Err(Stop::More) if cursor.rest().len() > 2 * NAME_MAX => return Err(Stop::Not),
        found => found?,
    };
    let name = cursor.until(end).trim();
    if !is_name(name) && !tools.iter().any(|tool| tool.name == name) {
        return Err(Stop::Not);
    }
    cursor.at = end;
    if number == 0 {
        cursor.expect(head)?;
        if tags.name_end.contains('\u{2}') {
            cursor.at += cursor.rest().len() - cursor.rest().trim_start_matches(|c: char| c.is_ascii_digit()).len();
            cursor.expect(tail)?;
        }
    }
    Ok(name.to_owned())
}

pub fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= NAME_MAX
        && !text.contains(|c: char| c.is_whitespace() || "<>\"'{}()[]".contains(c))
}

fn parameter(
    cursor: &mut Cursor<'_>,
    calls: &Calls,
    tags: &Tagged,
    tool: &str,
    tools: &[ToolText],
) -> Read<(String, Value, bool)> {
    // `KEY" string="true">`: the part that differs between strings and other values is between two
    // fixed parts.
    let head = common_start(&tags.text, &tags.other);
    let tail = common_end(&tags.text[head.len()..], &tags.other[head.len()..]);
    let (key_end, value_start) = if head.trim().is_empty() { (tags.text.as_str(), "") } else { (head, tail) };
    // The mark before the value may be missing.
    let first = words(key_end).next().unwrap_or_default();
    let (end, _) = cursor.find(&[first])?;
    let key = cursor.until(end).trim().to_owned();
    cursor.at = end;
    let (mut is_text, mut is_begun) = (None, true);
    if tags.text == tags.other {
        is_begun = cursor.eat(key_end)?;
        if !is_begun {
            cursor.expect(first)?;
        }
    } else {
        cursor.expect(head)?;
        let (end, _) = cursor.find(&[value_start])?;
        let given = cursor.until(end).trim();
        is_text = Some(given == tags.text[head.len()..tags.text.len() - value_start.len()].trim());
        cursor.at = end;
        cursor.expect(value_start)?;
    }
    let schema = values::schema(tools, tool, &key);
    if tags.close.contains('\u{1}') && is_open_tag(cursor, tags)? && !is_only_text(schema) {
        let value = nested(cursor, tags, schema, 0)?;
        cursor.expect(&tags.close.replace('\u{1}', &key))?;
        return Ok((key, value, true));
    }
    let (text, is_whole) = text(cursor, calls, tags, &key)?;
    let text = if is_begun { text } else { text.trim().to_owned() };
    let value = match is_text {
        Some(true) => Value::String(text),
        Some(false) => values::plain(&text).unwrap_or(Value::String(text)),
        None => values::typed(&text, schema),
    };
    Ok((key, value, is_whole && is_begun))
}

/// A value up to a closing mark that is followed by another part of the call. If other text
/// follows, the closing mark belongs to the value.
fn text(cursor: &mut Cursor<'_>, calls: &Calls, tags: &Tagged, key: &str) -> Read<(String, bool)> {
    let close = tags.close.replace('\u{1}', key);
    let mut probe = *cursor;
    if let Some(raw) = &tags.raw
        && probe.eat(&raw.open)?
    {
        let (end, _) = probe.find(&[&format!("{}{}", raw.close, close.trim())])?;
        let text = probe.until(end).to_owned();
        cursor.at = end + raw.close.len();
        cursor.expect(&close)?;
        return Ok((text, true));
    }
    let mut from = *cursor;
    loop {
        let (end, after, is_closed) = match from.find(&[&close]) {
            Ok((end, _)) => {
                let mut after = Cursor { at: end, ..*cursor };
                after.expect(&close)?;
                (end, after, true)
            }
            // If the closing mark is missing, the call's own mark also ends the value.
            Err(Stop::Not) if cursor.last => match cursor.find(&[&calls.call.close]) {
                Ok((end, _)) => (end, Cursor { at: end, ..*cursor }, false),
                Err(stop) => return Err(stop),
            },
            Err(stop) => return Err(stop),
        };
        let follow = [&tags.key, &calls.call.close, &calls.section.close];
        let mut goes_on = after.last && after.rest().trim().is_empty();
        for mark in follow.into_iter().filter(|mark| !mark.is_empty()) {
            goes_on = goes_on || { after }.eat(mark)?;
        }
        if goes_on {
            let text = cursor.until(end);
            let text = text.strip_prefix('\n').filter(|_| tags.text.ends_with('\n')).unwrap_or(text);
            let text = text.strip_suffix('\n').filter(|_| tags.close.starts_with('\n')).unwrap_or(text);
            *cursor = after;
            return Ok((text.to_owned(), is_closed));
        }
        from.at = end + 1;
        while !from.rest().is_char_boundary(0) {
            from.at += 1;
        }
    }
}

fn is_only_text(schema: Option<&Value>) -> bool {
    schema.is_some_and(|schema| values::types(schema).contains(&"string"))
}

fn is_open_tag(cursor: &Cursor<'_>, tags: &Tagged) -> Read<bool> {
    let mut probe = *cursor;
    let closing: String = tags.close.trim().chars().take_while(|c| *c != '\u{1}').collect();
    Ok(!{ probe }.eat(&closing)? && probe.eat(&tags.key)?)
}

/// Tags inside a value: the fields of an object, or the items of a list.
fn nested(cursor: &mut Cursor<'_>, tags: &Tagged, schema: Option<&Value>, depth: usize) -> Read<Value> {
    if depth > DEPTH_MAX {
        return Err(Stop::Not);
    }
    let (mut fields, mut items, mut is_list) = (Map::new(), Vec::new(), false);
    let below = |key: &str| {
        schema.and_then(|schema| {
            let own = |schema: &'_ Value| schema.get("properties").and_then(|all| all.get(key)).cloned();
            let choices = ["anyOf", "oneOf"].iter().filter_map(|of| schema.get(*of)?.as_array()).flatten();
            own(schema).or_else(|| choices.filter_map(own).next())
        })
    };
    while is_open_tag(cursor, tags)? {
        cursor.expect(&tags.key)?;
        let (end, _) = cursor.find(&[&tags.text])?;
        let key = cursor.until(end).trim().to_owned();
        cursor.at = end;
        cursor.expect(&tags.text)?;
        let close = tags.close.replace('\u{1}', &key);
        let items_schema = schema.and_then(|schema| schema.get("items")).cloned();
        let schema = below(&key).or(items_schema);
        let value = if is_open_tag(cursor, tags)? {
            nested(cursor, tags, schema.as_ref(), depth + 1)?
        } else {
            let (end, _) = cursor.find(&[&close])?;
            let text = cursor.until(end);
            cursor.at = end;
            values::typed(text, schema.as_ref())
        };
        cursor.expect(&close)?;
        is_list = key == "item" && (is_list || fields.is_empty());
        if is_list { items.push(value) } else { drop(fields.insert(key, value)) }
    }
    Ok(if is_list { Value::Array(items) } else { Value::Object(fields) })
}

/// A call whose name is followed by arguments in JSON, after its opening mark, up to and including
/// its closing mark.
pub fn named(cursor: &mut Cursor<'_>, calls: &Calls, form: &Named) -> Read<(RawCall, bool)> {
    let mut stops: Vec<&str> = vec![&form.mark];
    if !form.id.is_empty() {
        stops.push(&form.id);
    }
    // Without a closing mark, the arguments may follow the name directly.
    if calls.call.close.is_empty() {
        stops.push("{");
    }
    let stops = if form.mark.trim().is_empty() { vec!["{"] } else { stops };
    let (end, number) = match cursor.find(&stops) {
        Err(Stop::More) if cursor.rest().len() > 2 * NAME_MAX => return Err(Stop::Not),
        found => found?,
    };
    let written = cursor.until(end).trim();
    let name = written.strip_prefix(form.prefix.as_str()).unwrap_or(written);
    let name = match form.suffix.trim_end_matches(|c: char| c.is_ascii_digit()) {
        "" => name,
        mark => {
            name.rsplit_once(mark).filter(|(_, number)| number.parse::<u32>().is_ok()).map_or(name, |(name, _)| name)
        }
    };
    if !is_name(name) {
        return Err(Stop::Not);
    }
    cursor.at = end;
    if stops[number] == form.id && !form.id.is_empty() {
        let (end, _) = cursor.find(&[&form.mark])?;
        cursor.at = end;
    }
    cursor.eat(&form.mark)?;
    let (value, is_exact) = json::value(cursor)?;
    let Value::Object(arguments) = value else { return Err(Stop::Not) };
    let is_closed = cursor.eat(&calls.call.close)? || cursor.is_at_end();
    Ok((RawCall { name: name.to_owned(), arguments }, is_exact && is_closed))
}
