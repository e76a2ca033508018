//! Parses a call out of a sentence that names a tool and its arguments: the last tier.

use std::cmp::Reverse;

use regex::Regex;
use serde_json::{Map, Value};

use crate::models::dialect::RawCall;
use crate::models::dialect::literal::Reader;
use crate::tools::spec::{Parameter, ToolSpec};

/// Bytes after a tool's name that are searched for its arguments.
const REACH_MAX_BYTES: usize = 2_000;
/// "could not use read_file", "instead of read_file": the tool is mentioned but not called.
const DENIALS: [&str; 6] = ["not ", "n't ", "without ", "instead of ", "rather than ", "never "];

/// At most one call: of the first named tool whose arguments are recognised.
pub fn read(text: &str, specs: &[ToolSpec]) -> Vec<RawCall> {
    let mut named: Vec<(usize, &ToolSpec)> =
        specs.iter().filter_map(|spec| Some((find_name(text, &spec.name)?, spec))).collect();
    // Of two names at one place, such as `get-page` and `get-page-property`, the longer is meant.
    named.sort_by_key(|(at, spec)| (*at, Reverse(spec.name.len())));
    named.dedup_by_key(|(at, _)| *at);
    let call = |(index, (at, spec)): (usize, &(usize, &ToolSpec))| {
        let start = at + spec.name.len();
        let next = named[index + 1..].iter().map(|(next, _)| *next).find(|next| *next >= start).unwrap_or(text.len());
        let end = text.floor_char_boundary(next.min(start + REACH_MAX_BYTES));
        let arguments = arguments(&text[start..end], spec).filter(|_| !is_denied(&text[..*at]))?;
        Some(RawCall { name: spec.name.clone(), arguments })
    };
    named.iter().enumerate().find_map(call).into_iter().collect()
}

fn is_denied(before: &str) -> bool {
    let from = before.ceil_char_boundary(before.len().saturating_sub(30));
    let near = before[from..].rsplit(['.', '\n', ';']).next().unwrap_or("").to_lowercase();
    DENIALS.iter().any(|no| near.contains(no))
}

/// Where the tool is named. A name that is one plain word occurs in prose without meaning the tool.
fn find_name(text: &str, name: &str) -> Option<usize> {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let mut places = text.match_indices(name).map(|(at, _)| at).filter(|_| name.contains(['_', '.', '-', '/', ':']));
    places.find(|at| !text[..*at].ends_with(part) && !text[at + name.len()..].starts_with(part))
}

fn arguments(after: &str, spec: &ToolSpec) -> Option<Map<String, Value>> {
    let parameters = spec.parameters();
    let named = |parameter: &Parameter<'_>| Some((parameter.name.to_owned(), named_value(after, parameter)?));
    let mut found: Map<String, Value> = parameters.iter().filter_map(named).collect();
    let missing: Vec<&Parameter<'_>> =
        parameters.iter().filter(|p| p.required && !found.contains_key(p.name)).collect();
    match missing[..] {
        [] => {}
        // Only one text argument is missing, and exactly one passage is in quotes.
        [one] if one.kind() == "string" && found.is_empty() => {
            let quoted = ['`', '"'].into_iter().flat_map(|quote| after.split(quote).skip(1).step_by(2));
            let quoted: Vec<&str> = quoted.filter(|inner| !inner.trim().is_empty()).collect();
            let [value] = quoted[..] else { return None };
            found.insert(one.name.to_owned(), Value::from(value));
        }
        _ => return None,
    }
    (!found.is_empty()).then_some(found)
}

/// `path: "a"`, `path = a.rs`, `path `a``, `"path": "a"`.
fn named_value(after: &str, parameter: &Parameter<'_>) -> Option<Value> {
    let pattern =
        format!(r#"(?i)(?:^|[^\w]){}["'`*]*\s*(?:=|:|\bis\b|\bof\b|\bto\b)?\s*"#, regex::escape(parameter.name));
    let pattern = Regex::new(&pattern).ok()?;
    // A name may be mentioned before it is given a value; a few mentions are looked at.
    for place in pattern.find_iter(after).take(8) {
        let rest = &after[place.end()..];
        let assigned = place.as_str().contains(['=', ':']);
        if let Some(value) = quoted_here(rest) {
            return Some(Value::String(value));
        }
        let word =
            rest.split(|c: char| c.is_whitespace() || c == ',').next().unwrap_or("").trim_end_matches(['.', ')', ';']);
        let value = Reader::new(word).value();
        match (parameter.kind(), value) {
            ("integer" | "number", Some(number @ Value::Number(_))) => return Some(number),
            ("boolean", Some(flag @ Value::Bool(_))) => return Some(flag),
            ("string", _) if assigned && !word.is_empty() => return Some(Value::String(word.to_owned())),
            _ => {}
        }
    }
    None
}

fn quoted_here(text: &str) -> Option<String> {
    match text.chars().next()? {
        '`' => text[1..].split_once('`').map(|(inner, _)| inner.to_owned()),
        '"' | '\'' => Reader { text, at: 0, fuel: REACH_MAX_BYTES * 2 }.string(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::Catalog;

    fn check(text: &str, expected: Option<&str>) {
        let calls = read(text, Catalog::builtin().specs());
        let shown = calls.first().map(|call| format!("{} {}", call.name, Value::Object(call.arguments.clone())));
        assert_eq!(shown.as_deref(), expected, "{text}");
    }

    #[test]
    fn a_sentence_with_tool_and_arguments_is_a_call() {
        check("I'll use read_file with path: src/a.rs.", Some(r#"read_file {"path":"src/a.rs"}"#));
        check("Use **read_file** on `src/a.rs`", Some(r#"read_file {"path":"src/a.rs"}"#));
        check("read_file path \"a b.txt\" start_line 3", Some(r#"read_file {"path":"a b.txt","start_line":3}"#));
        check(
            "replace_in_file: path is `a`, old is `x`, new is `y`",
            Some(r#"replace_in_file {"path":"a","old":"x","new":"y"}"#),
        );
    }

    #[test]
    fn a_mention_is_no_call() {
        check("You could run the read_file tool.", None);
        check("I could not use read_file on `a`.", None);
        check("read_file takes `path` and `start_line`.", None);
        check("Instead of read_file \"a\" I did nothing.", None);
        check("my_read_file_2 path: a", None);
    }

    #[test]
    fn of_two_names_at_one_place_the_longer_is_called() {
        let spec = |name: &str, required: &str| {
            let parameters =
                serde_json::json!({ "properties": { required: { "type": "string" } }, "required": [required] });
            ToolSpec { name: name.to_owned(), parameters, ..ToolSpec::default() }
        };
        let specs = [spec("a.get-page", "id"), spec("a.get-page-property", "id")];
        let calls = read("I call a.get-page-property with id: x", &specs);
        assert_eq!(calls[0].name, "a.get-page-property");
        let specs = [spec("a.get-page", "id"), spec("a.get-page-property", "name")];
        assert!(read("I call a.get-page-property with id: x", &specs).is_empty(), "no call of the shorter one");
    }
}
