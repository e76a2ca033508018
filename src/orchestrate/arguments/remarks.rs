//! Finds the comment that a description means, and what is left of its lines without it.

use std::collections::BTreeMap;
use std::ops::Range;

use super::comments::comments;
use super::cut::{self, Desk, Place};
use super::places::answered;
use super::removal::{Extent, Removal};

/// One comment: the bytes of its lines.
struct Remark {
    parts: Vec<Range<usize>>,
    /// Where it ends is not sure.
    is_open: bool,
}

/// The comments that are meant, each a place; all of them in one where all are meant.
pub(super) fn places(desk: &Desk, removal: &Removal) -> Result<Vec<Place>, String> {
    let all = comments(desk.path, desk.file)
        .map_err(|reason| format!("where the comments of {} are cannot be told for sure: {reason}", desk.path))?;
    let runs = runs(desk, all);
    let remarks = if removal.extent == Extent::Todo { todos(desk, runs) } else { runs };
    let answers = |remark: &Remark| {
        let said: Vec<&str> = remark.parts.iter().map(|part| &desk.file[part.clone()]).collect();
        let said = said.join("\n");
        let quoted = !removal.quoted || removal.literals.iter().all(|text| said.contains(text.as_str()));
        answered(&said, &removal.about).filter(|_| quoted)
    };
    let scored = remarks.into_iter().filter_map(|remark| Some((answers(&remark)?, remark))).collect();
    let meant = cut::best(scored, removal.all);
    if let Some(open) = meant.iter().find(|remark| remark.is_open) {
        return Err(desk.no_end(desk.place(open.parts[0].start).0));
    }
    let parts = meant.into_iter().map(|remark| remark.parts);
    Ok(match removal.all {
        true => vec![without(desk, &parts.flatten().collect::<Vec<_>>())],
        false => parts.map(|parts| without(desk, &parts)).collect(),
    })
}

/// Comment lines that follow each other are one comment.
fn runs(desk: &Desk, comments: Vec<Range<usize>>) -> Vec<Remark> {
    // Indentation and sign of a comment that has its line for itself.
    let alone = |part: &Range<usize>| {
        let (before, behind) = desk.beside(part);
        let is_alone = before.trim().is_empty() && behind.trim().is_empty();
        let is_line = desk.place(part.start).0 == desk.place(part.end).0;
        let sign = desk.file[part.clone()].find(|c| !"/#-!*<".contains(c)).unwrap_or(part.len());
        (is_alone && is_line).then(|| (before, &desk.file[part.start..part.start + sign]))
    };
    let mut runs: Vec<Remark> = Vec::new();
    for comment in comments {
        let goes_on = |run: &Remark| {
            let last = &run.parts[run.parts.len() - 1];
            alone(&comment).is_some_and(|one| alone(last) == Some(one))
                && desk.place(last.start).0 + 1 == desk.place(comment.start).0
        };
        match runs.last_mut().filter(|run| goes_on(run)) {
            Some(run) => run.parts.push(comment),
            None => runs.push(Remark { parts: vec![comment], is_open: false }),
        }
    }
    runs
}

/// The TODOs among comments, each with the lines that are further indented below it.
fn todos(desk: &Desk, runs: Vec<Remark>) -> Vec<Remark> {
    let text = |part: &Range<usize>| desk.file[part.clone()].trim_start_matches(|c| "/#-!*<;".contains(c));
    let indent = |part: &Range<usize>| text(part).len() - text(part).trim_start().len();
    let mut todos: Vec<Remark> = Vec::new();
    for run in runs {
        if let [part] = run.parts.as_slice() {
            let is_block = text(part).contains('\n');
            if says_todo(text(part)) {
                todos.push(Remark { is_open: is_block && !begins_with_todo(text(part)), ..run });
            }
            continue;
        }
        let mut parts = run.parts.into_iter().peekable();
        while let Some(first) = parts.next() {
            if !says_todo(text(&first)) {
                continue;
            }
            let depth = indent(&first);
            let mut todo = Remark { parts: vec![first], is_open: false };
            while let Some(more) = parts.next_if(|part| !says_todo(text(part)) && indent(part) > depth) {
                todo.parts.push(more);
            }
            todo.is_open = parts.peek().is_some_and(|next| !says_todo(text(next)));
            todos.push(todo);
        }
    }
    todos
}

fn says_todo(text: &str) -> bool {
    begins_with_todo(text) || text.split(|c: char| !c.is_alphanumeric()).any(|word| matches!(word, "TODO" | "FIXME"))
}

fn begins_with_todo(text: &str) -> bool {
    let first = text.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty()).unwrap_or_default();
    matches!(first.to_ascii_uppercase().as_str(), "TODO" | "FIXME")
}

/// The lines of these comments, and what is left of them.
fn without(desk: &Desk, comments: &[Range<usize>]) -> Place {
    let mut lines: BTreeMap<usize, Vec<Range<usize>>> = BTreeMap::new();
    for comment in comments {
        let ((first, from), (last, to)) = (desk.place(comment.start), desk.place(comment.end));
        for at in first..=last {
            let end = if at == last { to } else { desk.lines[at].len() };
            lines.entry(at).or_default().push(if at == first { from } else { 0 }..end);
        }
    }
    lines.into_iter().map(|(at, parts)| (at, rest(desk.lines[at], &parts))).collect()
}

/// A line without these parts, which stand in order; `None` where nothing is left.
fn rest(line: &str, parts: &[Range<usize>]) -> Option<String> {
    let mut left = String::new();
    let mut next = 0;
    for part in parts {
        left.push_str(&line[next..part.start]);
        next = part.end;
        let behind = &line[next..];
        if left.trim().is_empty() || left.ends_with([' ', '\t', '(', '[', '{']) {
            next = line.len() - behind.trim_start().len();
        } else if left.ends_with(char::is_alphanumeric) && behind.starts_with(char::is_alphanumeric) {
            left.push(' ');
        }
    }
    left.push_str(&line[next..]);
    let left = left.trim_end();
    // Braces around nothing are what holds a comment in JSX.
    let is_empty = left.trim().is_empty() || left.trim() == "{}" && line.contains("{/*");
    (!is_empty).then(|| left.to_owned())
}
