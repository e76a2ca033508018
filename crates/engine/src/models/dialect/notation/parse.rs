//! Finds text that may begin a call, and reads the calls there.

use super::cursor::{Cursor, Read, Stop};
use super::{Calls, Form, Marks, braces, json, python, tagged};
use crate::models::dialect::{RawCall, ToolText};

/// Marks that models write although their own notation or template has none.
const USUAL: [(&str, &str); 12] = [
    ("<tool_call>", "</tool_call>"),
    ("<tools>", "</tools>"),
    ("<tool_calls>", "</tool_calls>"),
    ("<|tool_call|>", "<|/tool_call|>"),
    ("[TOOL_CALLS]", ""),
    ("functools", ""),
    ("<|python_tag|>", ""),
    ("<|python_start|>", "<|python_end|>"),
    ("<function_call>", ""),
    ("<|function_call|>", ""),
    ("```tool_code", "```"),
    ("```json", "```"),
];

/// The marks that may begin calls.
#[derive(Clone, Debug, PartialEq)]
pub enum Opener {
    /// The notation's own mark around calls, or around one.
    Own,
    /// A call without its enclosing mark.
    Inner,
    /// Usual marks, if they are not part of the notation.
    Usual(Marks),
    /// A bare object or list.
    Bare,
}

/// Calls, and whether each is closed and follows the notation exactly.
#[derive(Debug)]
pub struct Found {
    pub calls: Vec<(RawCall, bool)>,
    /// Whether more calls may follow before the section's closing mark.
    pub in_section: bool,
}

/// All texts that may begin calls.
pub fn openers(calls: &Calls) -> Vec<(String, Opener)> {
    let mut all = Vec::new();
    let own = |mark: &str| [&calls.section.open, &calls.call.open].iter().any(|own| own.contains(mark));
    let own_marks = [&calls.section.open, &calls.call.open].into_iter().filter(|mark| !mark.trim().is_empty());
    all.extend(own_marks.zip([Opener::Own, Opener::Inner]).map(|(mark, opener)| (mark.clone(), opener)));
    let bare: &[&str] = match &calls.form {
        _ if all.is_empty() => &["{", "["],
        Form::Json { .. } => &["{"],
        _ => &[],
    };
    all.extend(bare.iter().map(|open| ((*open).to_owned(), Opener::Bare)));
    let usual = USUAL.into_iter().filter(|(open, _)| !own(open));
    all.extend(usual.map(|(open, close)| (open.to_owned(), Opener::Usual(Marks::new(open, close)))));
    all
}

/// The usual marks, which are control tokens in some vocabularies.
pub fn usual<'n>() -> impl Iterator<Item = &'n str> {
    USUAL.into_iter().flat_map(|(open, close)| [open, close])
}

/// Reads the calls that `opener` begins here; `first`: no text comes before it.
pub fn begin(cursor: &mut Cursor<'_>, calls: &Calls, opener: &Opener, tools: &[ToolText], first: bool) -> Read<Found> {
    let is_known = |name: &str| tools.iter().any(|tool| tool.name == name);
    // Models omit the marks around JSON, or fence it, even if their template requires the marks.
    let is_meant = !calls.is_marked() || first && matches!(calls.form, Form::Json { .. });
    match opener {
        Opener::Own => {
            let mark = if calls.section.open.trim().is_empty() { &calls.call.open } else { &calls.section.open };
            // Some models write the mark twice.
            let has_section = !calls.section.open.trim().is_empty();
            while has_section && cursor.eat(mark)? {}
            next(cursor, calls, tools)
        }
        Opener::Inner => {
            let is_first = cursor.is_at_line_start();
            let found = next(cursor, calls, tools)?;
            let known = found.calls.iter().all(|(call, _)| is_known(&call.name));
            if is_first && known { Ok(found) } else { Err(Stop::Not) }
        }
        Opener::Usual(marks) => {
            cursor.expect(&marks.open)?;
            let mut found = bare(cursor, calls, tools)?;
            let is_closed = cursor.eat(&marks.close)?;
            for (_, is_exact) in &mut found.calls {
                *is_exact &= is_closed && is_meant && (marks.open.starts_with('`') || !calls.is_marked());
            }
            Ok(found)
        }
        Opener::Bare => {
            let is_list = cursor.rest().starts_with('[');
            if !is_meant || is_list && !cursor.is_at_line_start() {
                return Err(Stop::Not);
            }
            bare(cursor, calls, tools)
        }
    }
}

/// Calls to known tools, as JSON or Python; exact if the notation uses that form.
fn bare(cursor: &mut Cursor<'_>, calls: &Calls, tools: &[ToolText]) -> Read<Found> {
    let (found, is_exact) = match json::may_be_call(cursor) {
        Ok(()) => {
            let (value, is_exact) = json::value(cursor)?;
            (json::calls(&value, None), is_exact && matches!(calls.form, Form::Json { .. }))
        }
        Err(Stop::More) => return Err(Stop::More),
        Err(Stop::Not) if cursor.rest().trim_start().starts_with('{') => return Err(Stop::Not),
        Err(Stop::Not) => {
            let (found, is_exact) = python::calls(cursor, tools)?;
            (found, is_exact && matches!(calls.form, Form::Python { .. }))
        }
    };
    let known = !found.is_empty() && found.iter().all(|call| tools.iter().any(|tool| tool.name == call.name));
    if !known {
        return Err(Stop::Not);
    }
    Ok(Found { calls: found.into_iter().map(|call| (call, is_exact)).collect(), in_section: false })
}

/// The next call in a section, or all calls in a list, and the section's closing mark if it
/// follows.
pub fn next(cursor: &mut Cursor<'_>, calls: &Calls, tools: &[ToolText]) -> Read<Found> {
    let one = |(call, is_exact): (RawCall, bool)| vec![(call, is_exact)];
    let mut read = match &calls.form {
        Form::Json { keys, list } => {
            cursor.expect(&calls.call.open)?;
            let (value, is_exact) = json::value(cursor)?;
            let found = json::calls(&value, keys.as_ref());
            if found.is_empty() || value.is_array() && !list {
                return Err(Stop::Not);
            }
            found.into_iter().map(|call| (call, is_exact)).collect()
        }
        Form::Named(named) => {
            cursor.expect(&calls.call.open)?;
            one(tagged::named(cursor, calls, named)?)
        }
        Form::Tagged(tags) => {
            cursor.expect(&calls.call.open)?;
            one(tagged::call(cursor, calls, tags, tools)?)
        }
        Form::Braces { quote } => {
            cursor.expect(&calls.call.open)?;
            let (call, is_exact) = braces::call(cursor, quote, &calls.call.close, tools)?;
            let is_closed = cursor.eat(&calls.call.close)? || cursor.is_at_end();
            one((call, is_exact && is_closed))
        }
        Form::Python { .. } => {
            cursor.expect(&calls.call.open)?;
            let is_json = cursor.peek()?.is_some_and(|c| c == '{') || json::may_be_call(cursor) == Ok(());
            let (found, is_exact) = if is_json {
                let (value, _) = json::value(cursor)?;
                (json::calls(&value, None), false)
            } else {
                let is_list = cursor.peek()? == Some('[');
                let (found, is_exact) = python::calls(cursor, tools)?;
                (found, is_exact && is_list == matches!(calls.form, Form::Python { list: true }))
            };
            if found.is_empty() {
                return Err(Stop::Not);
            }
            found.into_iter().map(|call| (call, is_exact)).collect()
        }
        Form::Channels => return Err(Stop::Not),
    };
    let mut in_section = false;
    if !calls.section.close.trim().is_empty() && !cursor.eat(&calls.section.close)? {
        in_section = true;
        // The last call in an unclosed section is uncertain, unless it has its own mark or the
        // reply ends with it.
        let rest = cursor.rest().trim_start();
        let goes_on = rest.is_empty() || !calls.call.close.is_empty() || rest.starts_with(['{', ',']);
        if !goes_on && let Some((_, is_exact)) = read.last_mut() {
            *is_exact = false;
        }
    }
    Ok(Found { calls: read, in_section })
}
