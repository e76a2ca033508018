//! Removes unrequested and unneeded parts of a change: annotations, reworded docstrings, examples
//! in new docstrings, unused imports.

use std::ops::Range;

use super::comments;
use super::kept::{Earlier, earlier, functions};
use super::text::{self, Piece};
use crate::base::pattern::static_regex;
use crate::index::language_of;
use crate::index::parts::{self, Imported, Part, Sort, Span};
use crate::language::Asked;

/// Returns `after` without annotations added to signatures, with the docstrings of `before`, and
/// without examples in new docstrings, unless the request `asked` mentions them. Nothing is removed
/// if the text would no longer parse.
pub fn without_extras(path: &str, before: &str, after: &str, asked: &Asked) -> String {
    let language = language_of(path);
    let has_types = matches!(language, "python" | "typescript" | "tsx");
    let (old, new) = (functions(path, before), functions(path, after));
    let mut text = after.to_owned();
    // From the end backwards, so that the positions of earlier functions stay valid.
    for now in new.iter().rev() {
        let edits: Vec<Piece> = match earlier((&old, before), (&new, after), now) {
            Earlier::Same => continue,
            Earlier::New if asked.is_about_docs() => continue,
            Earlier::New => without_examples(now, before, after).into_iter().collect(),
            Earlier::Changed(was) => {
                let docs = docstring(was, before).zip(now.docstring.clone()).filter(|_| !asked.is_about_docs());
                let docs = docs.map(|(was, range)| Piece { range, new: was.to_owned() });
                let is_typed = has_types && !asked.is_about_types();
                let mut edits = if is_typed { annotations(now, was, after, language) } else { Vec::new() };
                edits.extend(docs);
                edits
            }
        };
        if edits.is_empty() {
            continue;
        }
        let mut less = text.clone();
        for Piece { range, new } in edits.iter().rev() {
            less.replace_range(range.clone(), new);
        }
        if parts::faults(path, &less).len() <= parts::faults(path, &text).len() {
            text = less;
        }
    }
    text
}

/// Removes the annotations that the head of `now` has and the head of `was` does not, in their
/// order in `text`.
fn annotations(now: &Span, was: &Span, text: &str, language: &str) -> Vec<Piece> {
    let olds = &was.signature.parameters;
    let has_any = olds.iter().any(|one| one.annotation.is_some());
    let mut edits = Vec::new();
    for one in &now.signature.parameters {
        let mut same = olds.iter().filter(|other| other.name == one.name).peekable();
        let has_gained = if same.peek().is_none() { !has_any } else { same.all(|was| was.annotation.is_none()) };
        let Some(Range { start, end }) = one.annotation.clone().filter(|_| has_gained) else { continue };
        match &one.default {
            // `size: int = 3` is `size=3` without its type.
            Some(default) if language == "python" => edits.push(Piece { range: start..default.start, new: "=".into() }),
            _ => edits.push(Piece { range: start..end, new: String::new() }),
        }
    }
    let returns = now.signature.returns.clone().filter(|_| was.signature.returns.is_none());
    edits.extend(returns.map(|range| Piece { range, new: String::new() }));
    // A comment inside the edited range would be removed too.
    edits.retain(|edit| !text[edit.range.clone()].contains('#'));
    edits
}

/// The docstring of a function.
fn docstring<'t>(of: &Span, text: &'t str) -> Option<&'t str> {
    text.get(of.docstring.clone()?)
}

/// Removes the examples from the docstring of a new function: nothing has run them, and models
/// often get the results wrong. Docstrings that `before` already has are kept.
fn without_examples(now: &Span, before: &str, after: &str) -> Option<Piece> {
    static_regex!(TITLE = r"(?i)^\s*(?:(?:examples?|usage|doctests?|for example)\s*:*|`{3}\w*)\s*$");
    static_regex!(DOCS = r#"(?s)^(\w*)("{3}|'{3})(.*)("{3}|'{3})$"#);
    let docs = docstring(now, after).filter(|docs| docs.contains(">>>") && !before.contains(docs))?;
    let found = DOCS.captures(docs)?;
    let (range, body) = (now.docstring.clone()?, now.body.clone()?);
    let (mut lines, mut in_example): (Vec<&str>, bool) = (Vec::new(), false);
    for line in found[3].lines() {
        in_example = line.trim_start().starts_with(">>>") || in_example && !line.trim().is_empty();
        if in_example {
            while lines.len() > 1 && lines.last().is_some_and(|last| last.trim().is_empty() || TITLE.is_match(last)) {
                lines.pop();
            }
        } else {
            lines.push(line);
        }
    }
    while lines.len() > 1 && lines.last().is_some_and(|last| last.trim().is_empty()) {
        lines.pop();
    }
    if lines.concat().trim().is_empty() {
        // The docstring has only examples. Without it the function still needs a body.
        let own = text::own_lines(after, &range)?;
        let rest = after[body.start..range.start].trim().is_empty() && after[range.end..body.end].trim().is_empty();
        return (!rest).then_some(Piece { range: own, new: String::new() });
    }
    let (end, shown) = match lines.as_slice() {
        [one] => (String::new(), one.trim_end().to_owned()),
        _ => (format!("\n{}", text::indent_at(after, range.start)), lines.join("\n")),
    };
    Some(Piece { range, new: format!("{}{}{shown}{end}{}", &found[1], &found[2], &found[4]) })
}

/// Returns `after` without imports that are new and unused, unless the request `asked` is about
/// importing them. In a file that re-exports names, imports from the project itself stay.
pub fn without_unused_imports(path: &str, before: &str, after: &str, asked: &Asked) -> String {
    let is_known = matches!(language_of(path), "python" | "javascript" | "jsx" | "typescript" | "tsx");
    let imports = |text: &str| -> Vec<Part> {
        let all = parts::parts(path, text).map(|parts| parts.items).unwrap_or_default();
        all.into_iter().filter(|part| part.sort == Sort::Import).collect()
    };
    let stem = path.rsplit('/').next().and_then(|name| name.split('.').next()).unwrap_or_default();
    let hands_on = matches!(stem, "__init__" | "index" | "mod" | "conftest");
    let is_own = |one: &Imported| {
        let first = one.source.split(['.', '/']).next().unwrap_or_default();
        one.source.starts_with('.') || path.split('/').any(|folder| folder == first)
    };
    let is_wanted = |one: &Imported| {
        // These work without being named: JSX needs React in scope.
        asked.is_about_import_of(&one.local)
            || one.source == "__future__"
            || one.source == "react" && one.local == "React"
    };
    let key = |one: &Imported| (one.source.clone(), one.name.clone(), one.local.clone());
    let old: Vec<_> = imports(before).iter().flat_map(|part| part.imports.iter().map(key)).collect();
    let mut text = after.to_owned();
    for part in imports(after).into_iter().rev().filter(|_| is_known) {
        let whole = part.whole();
        let others = format!("{}\n{}", &text[..whole.start], &text[whole.end..]);
        let is_unused = |one: &&Imported| {
            let is_handed_on = hands_on && is_own(one);
            let is_new = !one.local.is_empty() && !old.contains(&key(one));
            is_new && !is_handed_on && !is_wanted(one) && !comments::has_word_in_code(&others, &one.local)
        };
        let unused: Vec<&Imported> = part.imports.iter().filter(is_unused).collect();
        if unused.is_empty() {
            continue;
        }
        if unused.len() == part.imports.len() {
            // An existing comment may describe the next line.
            let is_new = !part.comments.iter().any(|one| before.contains(&text[one.clone()]));
            let start = if is_new { whole.start } else { part.core.start };
            if let Some(own) = text::own_lines(&text, &(start..part.core.end)) {
                text.replace_range(own, "");
            }
            continue;
        }
        for one in unused.into_iter().rev() {
            let begin = text[..one.bytes.start].trim_end().len();
            let rest = text[one.bytes.end..].trim_start_matches([' ', '\n']);
            match (text[..begin].ends_with(','), rest.strip_prefix(',')) {
                (true, _) => text.replace_range(begin - 1..one.bytes.end, ""),
                (false, Some(rest)) => {
                    let end = text.len() - rest.trim_start_matches(' ').len();
                    text.replace_range(one.bytes.start..end, "");
                }
                (false, None) => {}
            }
        }
    }
    if parts::faults(path, &text).len() <= parts::faults(path, after).len() { text } else { after.to_owned() }
}

#[cfg(test)]
mod tests;
