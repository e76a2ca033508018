//! Reads outlines of documents: headings, rules, elements, keys and tables.
//!
//! Nothing in a document is resolved, renamed or edited by definition, so its outline is kept for
//! searches only. HTML is read by a query, as code is. The others have scanners, because their
//! grammars are unsuitable: tree-sitter-md gives an underlined heading no section and takes 500 MB
//! for a file of 5 MB, tree-sitter-css loses 69 % of the bytes of Bootstrap's SCSS to errors,
//! tree-sitter-yaml stops the program at `- - - …` (its scanner writes more than 1,024 bytes), and
//! tree-sitter-sequel adds 13 MB.

mod css;
mod markdown;
mod sql;
mod yaml;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::Range;
use std::time::Instant;

use super::outline::{Definition, Kind, Outline};
use super::queried::{self, NAME_BYTES_MAX};
use super::reader::{ITEMS_MAX, doc_of, one_line};
use super::{PARSE_TIME_MAX, Reading, not_in_time, only_first, read};
use crate::base::is_listed;

/// A named section of a document.
struct Mark {
    name: String,
    kind: Kind,
    bytes: Range<usize>,
    /// Its beginning, up to its content.
    signature: String,
    /// The comment directly above it; empty if there is none.
    comment: Range<usize>,
}

/// Whether a language's files have names to find but nothing to resolve.
pub fn is_document(language: &str) -> bool {
    is_listed("css html markdown sql yaml", language)
}

/// The outline of a document; empty in other languages.
pub fn document_outline(language: &str, source: &str) -> Outline {
    let until = Instant::now() + PARSE_TIME_MAX;
    match language {
        "css" => nested(css::marks(source), false, source),
        "markdown" => nested(markdown::marks(source), false, source),
        "sql" => {
            let (marks, is_late) = sql::marks(source, until);
            nested(marks, is_late, source)
        }
        "yaml" => nested(yaml::marks(source), false, source),
        "html" => read(&queried::HTML.grammar(), Reading::Query(&queried::HTML), source),
        _ => Outline::default(),
    }
}

/// The part of an outline to resolve: everything for code, nothing for a document.
pub fn to_resolve<'o>(language: &str, outline: &'o Outline) -> Cow<'o, Outline> {
    if is_document(language) { Cow::Owned(Outline::default()) } else { Cow::Borrowed(outline) }
}

/// The outline with these marks. A mark inside another is its member; two with the same bytes are
/// siblings.
fn nested(mut marks: Vec<Mark>, is_late: bool, source: &str) -> Outline {
    marks.retain(|mark| !mark.name.is_empty() && mark.name.len() <= NAME_BYTES_MAX);
    marks.sort_by_key(|mark| (mark.bytes.start, Reverse(mark.bytes.end)));
    let is_full = marks.len() > ITEMS_MAX;
    marks.truncate(ITEMS_MAX);
    let ends: Vec<usize> = source.match_indices('\n').map(|(at, _)| at).collect();
    let line_of = |at: usize| ends.partition_point(|end| *end < at) + 1;
    let mut definitions: Vec<Definition> = Vec::with_capacity(marks.len());
    let mut open: Vec<usize> = Vec::new();
    for Mark { name, kind, bytes, signature, comment } in marks {
        let holds = |outer: &Range<usize>| *outer != bytes && bytes.end <= outer.end;
        while open.last().is_some_and(|at| !holds(&definitions[*at].bytes)) {
            open.pop();
        }
        let container = open.last().copied();
        open.push(definitions.len());
        let start = line_of(bytes.start);
        let last = bytes.start + source.get(bytes.clone()).unwrap_or_default().trim_end().len();
        definitions.push(Definition {
            name,
            kind,
            start,
            end: line_of(last.saturating_sub(1).max(bytes.start)),
            doc_start: if comment.is_empty() { start } else { line_of(comment.start) },
            bytes,
            signature: one_line(&signature),
            doc: doc_of(source.get(comment).unwrap_or_default().lines()),
            exported: true,
            container,
            typing: None,
            member_of: None,
        });
    }
    let incomplete = if is_late { Some(not_in_time()) } else { is_full.then(only_first) };
    Outline { definitions, incomplete, ..Outline::default() }
}

/// Text with each run of white space replaced by one space.
fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a comment is directly above the next item: `between`, the range between them, has no
/// blank line.
fn is_directly_above(source: &str, between: Range<usize>) -> bool {
    source.get(between).is_some_and(|gap| gap.trim().is_empty() && gap.matches('\n').count() <= 1)
}

#[cfg(test)]
mod tests;
