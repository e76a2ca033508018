//! Lists the items of a file: its definitions, and the statements outside them.

use crate::context::Shown;
use crate::edit::line_of;
use crate::index::parts::{self, Part, Sort, Span};
use crate::index::{is_queried, language_of};
use crate::language::words;

use super::{Item, What};

/// Maximum number of definitions offered per file.
const NAMES_MAX: usize = 80;
/// In lines: maximum length of a container that is rewritten completely (a longer one is changed
/// member by member), and of a function whose inner definitions are not offered.
const CONTAINER_LINES_MAX: usize = 25;
const FUNCTION_LINES_MAX: usize = 70;
/// Maximum length of a statement's title, its first line, in characters.
const TITLE_CHARS: usize = 60;

/// The items of a file: its definitions, and either all statements outside them or only those
/// shown.
pub(super) fn named(file: &Shown, all_statements: bool) -> Vec<Item> {
    let spans = parts::definitions(&file.path, &file.text);
    let is_shown = |span: &Span| file.lines.iter().any(|(from, to)| *from <= span.lines.1 && span.lines.0 <= *to);
    let length = |span: &Span| span.lines.1 + 1 - span.lines.0;
    let outer = |span: &Span| {
        let name = span.container.last()?;
        spans.iter().rfind(|other| other.name == *name && other.bytes.start <= span.bytes.start)
    };
    let is_offered = |span: &&Span| {
        let fits = match span.sort {
            Sort::Class | Sort::Record => length(span) <= CONTAINER_LINES_MAX,
            // The shown lines of a long function can be changed.
            Sort::Function if is_shown(span) => true,
            // A longer container was not shown in full, so it cannot be rewritten in full.
            _ => length(span) <= crate::context::WHOLE_LINES_MAX,
        };
        let inside = outer(span).filter(|outer| outer.bytes.end >= span.bytes.end);
        let reached = match inside.map(|outer| (outer.sort, length(outer))) {
            Some((Sort::Class, _)) | None => true,
            Some((Sort::Record, lines)) => lines > CONTAINER_LINES_MAX,
            Some((_, lines)) => lines > FUNCTION_LINES_MAX,
        };
        fits && reached
    };
    let mut found: Vec<&Span> = spans.iter().filter(is_offered).collect();
    // If several definitions share a name, as overloads do, only the longest has the plain name.
    found.sort_by_key(|span| (!is_shown(span), std::cmp::Reverse(length(span))));
    found.truncate(NAMES_MAX);
    let item = |name: String, what: What| Item { path: file.path.clone(), name, what };
    let mut items: Vec<Item> = Vec::new();
    for span in found {
        let mut name = span.container.iter().chain([&span.name]).cloned().collect::<Vec<_>>().join(".");
        if is_queried(language_of(&file.path)) && items.iter().any(|item| item.name == name) {
            // An overload is named by its head.
            let end = span.body.as_ref().map_or(span.bytes.end, |body| body.start);
            let head = file.text[span.bytes.start..end].split_once(&span.name).map_or("", |(_, behind)| behind);
            let head = head.split_whitespace().collect::<Vec<_>>().join(" ");
            name.push_str(&words::shorten(head.trim_end_matches([' ', '{', ';', '=']), TITLE_CHARS));
        }
        if !items.iter().any(|item| item.name == name) && !name.contains('\n') {
            items.push(item(name, What::Change(span.clone())));
        }
    }
    items.sort_by_key(|item| if let What::Change(span) = &item.what { span.bytes.start } else { 0 });
    for (title, text) in statements(file, all_statements) {
        if !items.iter().any(|item| item.name == title) {
            items.push(item(title, What::Statement(text)));
        }
    }
    items
}

/// The titles and texts of all statements outside definitions, or only of those shown.
fn statements(file: &Shown, all: bool) -> Vec<(String, String)> {
    let Some(parts) = parts::parts(&file.path, &file.text) else { return Vec::new() };
    let is_shown = |part: &&Part| {
        let line = line_of(&file.text, part.core.start);
        all || file.lines.iter().any(|(from, to)| (*from..=*to).contains(&line))
    };
    let is_package = |part: &&Part| file.text[part.core.start..].starts_with("package ");
    let plain = parts.items.iter().filter(|part| part.sort == Sort::Statement && !is_package(part)).filter(is_shown);
    let text = plain.map(|part| file.text[part.core.start..part.end.max(part.core.end)].to_owned());
    let named = text.map(|text| (words::shorten(text.lines().next().unwrap_or_default().trim(), TITLE_CHARS), text));
    named.filter(|(title, _)| title.len() > 3 && !title.starts_with(['"', '\''])).take(NAMES_MAX).collect()
}
