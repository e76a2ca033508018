//! Removes a definition or a statement from a text, with its lines.

use std::ops::Range;

use super::called::named;
use super::text::{line_of, nth_line, own_lines};
use crate::index::parts::{self, NAME, Span};
use crate::index::{is_queried, language_of};

/// Maximum number of definitions of one name that a message lists.
const LISTED_MAX: usize = 8;

/// `text` without the only definition that has that name (`f`, `A.f`) or head; the blank lines
/// after it are removed too.
///
/// # Errors
/// If no definition has that name, if several have, or if it shares a line or a declaration with
/// something else.
pub fn definition(path: &str, text: &str, name: &str) -> Result<String, String> {
    without_span(path, text, name, &parts::definitions(path, text))
}

fn without_span(path: &str, text: &str, name: &str, spans: &[Span]) -> Result<String, String> {
    match named(spans, (path, text), name).as_slice() {
        [one] if one.variant == NAME => {
            let line = line_of(text, one.bytes.start);
            let shown = nth_line(text, line).trim();
            Err(format!(
                "{path}: `{name}` is declared together with other names at line {line}: `{shown}`; change that line."
            ))
        }
        [one] => parsed(path, text, name, without(path, text, name, &one.bytes)?),
        [] => Err(format!("{path}: it is not clear which `{name}` to remove.")),
        several => {
            let lines = several.iter().take(LISTED_MAX).map(|one| line_of(text, one.bytes.start).to_string());
            let lines = lines.collect::<Vec<_>>().join(", ");
            let has_body = |with: bool| several.iter().any(|one| one.body.is_some() == with);
            let mark = if has_body(true) && has_body(false) { ", followed by `;` for a declaration" } else { "" };
            Err(format!(
                "{path}: it is not clear which `{name}` to remove: it is defined {} times, from lines {lines} on; give the head of one{mark}",
                several.len()
            ))
        }
    }
}

/// `text` without the definition named `what` or, if there is none, without the statement `what`.
///
/// # Errors
/// As [`definition`].
pub(super) fn definition_or_statement(path: &str, text: &str, what: &str) -> Result<String, String> {
    let spans = parts::definitions(path, text);
    let is_defined = !named(&spans, (path, text), what).is_empty();
    let places: Vec<Range<usize>> = text.match_indices(what).map(|(at, _)| at..at + what.len()).collect();
    // `f()` may also be part of other statements.
    let whole = places.iter().find(|bytes| own_lines(text, bytes).is_some());
    match whole.or(places.first()).filter(|_| !is_defined) {
        Some(bytes) => parsed(path, text, what, without(path, text, what, bytes)?),
        None => without_span(path, text, what, &spans),
    }
}

/// `left`, the text without `what`, if it parses as well as before; a language that no query
/// describes is not checked.
fn parsed(path: &str, text: &str, what: &str, left: String) -> Result<String, String> {
    let faults = |text: &str| parts::faults(path, text).len();
    if is_queried(language_of(path)) && faults(&left) > faults(text) {
        return Err(format!("{path}: it no longer parses without `{what}`; replace the lines around it instead"));
    }
    Ok(left)
}

fn without(path: &str, text: &str, what: &str, bytes: &Range<usize>) -> Result<String, String> {
    let shared = || format!("{path}: `{what}` shares its line with something else; change that line.");
    let gone = with_blank_lines(text, bytes).ok_or_else(shared)?;
    Ok(format!("{}{}", &text[..gone.start], &text[gone.end..]))
}

/// The lines of a definition, with the blank lines after it if one precedes it; `None` if its lines
/// contain other code.
pub(super) fn with_blank_lines(text: &str, bytes: &Range<usize>) -> Option<Range<usize>> {
    let lines = own_lines(text, bytes)?;
    let (before, mut behind) = (&text[..lines.start], &text[lines.end..]);
    let blank_before = before.trim_end_matches([' ', '\t']).ends_with("\n\n") || before.is_empty();
    while blank_before && behind.split_once('\n').is_some_and(|(line, _)| line.trim().is_empty()) {
        behind = behind.split_once('\n').map_or("", |(_, behind)| behind);
    }
    Some(lines.start..text.len() - behind.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_definition_takes_its_lines_with_it() {
        let text = "a = 1\n\n\ndef f():\n    return 1\n\n\ng(f())\nh()\n";
        assert_eq!(definition("a.py", text, "f").unwrap(), "a = 1\n\n\ng(f())\nh()\n");
        assert!(definition("a.py", text, "g(f())").is_err());
        let left = "a = 1\n\n\ndef f():\n    return 1\n\n\nh()\n";
        assert_eq!(definition_or_statement("a.py", text, "g(f())").unwrap(), left);
        assert!(definition_or_statement("a.py", "x = 1; g()\n", "g()").is_err());
        assert_eq!(definition_or_statement("a.py", "g(f())\nf()\n", "f()").unwrap(), "g(f())\n");
    }
}
