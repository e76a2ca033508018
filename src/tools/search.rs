//! The `index_…` tools: questions about the code, answered from the index and its graph.

pub(in crate::tools) mod files;
pub(in crate::tools) mod graph;
mod show;

use std::borrow::Borrow;

use crate::index::{Index, IndexError};
use crate::retrieve;
use crate::tools::Context;
use crate::tools::arguments::Arguments;
use crate::tools::outcome::{Outcome, cut_line};

const HITS: usize = 6;
const LESSONS_MAX: usize = 20;
const PROPOSED: usize = 5;

fn index(context: &Context) -> Result<&Index, String> {
    context.index.as_deref().ok_or_else(|| "this project has no index; run `monobloc index`".to_owned())
}

/// `index_search`: chunks of code that answer a question, with their lines as findings.
pub(in crate::tools) fn search(arguments: Arguments<'_>, context: &Context) -> Result<Outcome, String> {
    let query = arguments.text("question")?;
    let found = retrieve::answer(index(context)?, context.embedder.as_ref(), query, HITS, &context.cancel);
    let found = found.map_err(|error| error.to_string())?;
    if found.hits.is_empty() {
        return Err(found.notes.join("; "));
    }
    let items: Vec<show::Item> = found.hits.into_iter().map(item).collect();
    Ok(show::outcome(&format!("{} places for `{}`", items.len(), cut_line(query, 80)), &items, &found.notes))
}

fn item(hit: retrieve::Hit) -> show::Item {
    let first = if hit.signature.is_empty() { hit.snippet.lines().next().unwrap_or("") } else { &hit.signature };
    show::Item {
        head: vec![first.trim().to_owned(), hit.doc.lines().next().unwrap_or("").to_owned()],
        about: format!("{}, lines {}-{}", hit.kind.as_deref().unwrap_or("text"), hit.start, hit.end),
        name: hit.symbol.unwrap_or_default(),
        path: hit.path,
        line: hit.start,
        body: hit.snippet,
        body_start: hit.start,
    }
}

/// `index_list_memories`: lessons from earlier tasks.
pub(in crate::tools) fn memories(context: &Context) -> Result<Outcome, String> {
    let Some(lessons) = &context.lessons else { return Ok(Outcome::ok("no lessons yet")) };
    let mut stored = lessons.list(LESSONS_MAX + 1).map_err(|error| error.to_string())?;
    let more = if stored.len() > LESSONS_MAX { ", the newest; there are more" } else { "" };
    stored.truncate(LESSONS_MAX);
    if stored.is_empty() {
        return Ok(Outcome::ok("no lessons yet"));
    }
    let lines: Vec<String> = stored
        .iter()
        .map(|one| format!("{}: {}", cut_line(&one.lesson.problem, 100), cut_line(&one.lesson.solution, 100)))
        .collect();
    Ok(Outcome::ok(format!("{} lessons{more}\n{}", lines.len(), lines.join("\n"))))
}

/// `; there is a, b` with the symbols and files whose names are most similar to `wanted`; empty if
/// there are none.
fn near_symbols(index: &Index, wanted: &str) -> Result<String, String> {
    Ok(there_is(&index.graph().map_err(said)?.similar(wanted, PROPOSED)))
}

/// `; there is a, b` with all of `names`; empty if there are none.
fn there_is(names: &[impl Borrow<str>]) -> String {
    if names.is_empty() { String::new() } else { format!("; there is {}", names.join(", ")) }
}

/// A note if rules hide files of the index.
fn left_out(index: &Index) -> Result<Vec<String>, String> {
    Ok(match index.hidden().map_err(said)? {
        0 => Vec::new(),
        1 => vec!["1 indexed file is left out by a rule".to_owned()],
        files => vec![format!("{files} indexed files are left out by a rule")],
    })
}

fn said(error: IndexError) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests;
