//! The `index_…` tools: questions about the code, answered by the index and its graph.

use crate::index::{Index, Neighbour};
use crate::tools::Context;
use crate::tools::arguments::Arguments;
use crate::tools::outcome::{Finding, Outcome, cut_line};

/// Hits of a search that a reader sees.
const HITS: usize = 6;
/// Lines of a hit that become findings.
const LINES_A_HIT: usize = 40;
/// Neighbours listed; a symbol with more is a hub, and the rest is counted.
const NEIGHBOURS_MAX: usize = 100;
/// Lessons listed.
const LESSONS_MAX: usize = 20;
const LINE_CHARS: usize = 200;

fn index(context: &Context) -> Result<&Index, String> {
    context.index.as_deref().ok_or_else(|| "this project has no index; run `monobloc index`".to_owned())
}

/// `index_search`: stretches of code that answer a question, with their lines as findings.
pub(in crate::tools) fn search(arguments: Arguments<'_>, context: &Context) -> Result<Outcome, String> {
    let query = arguments.text("question")?;
    let found = context.answers.search(index(context)?, context.embedder.as_ref(), query, HITS);
    let found = found.map_err(|error| error.to_string())?;
    if found.hits.is_empty() {
        return Err(found.notes.join("; "));
    }
    let mut text = format!("{} places for `{}`\n", found.hits.len(), cut_line(query, 80));
    let mut findings = Vec::new();
    for hit in &found.hits {
        let symbol = hit.symbol.as_deref().map_or(String::new(), |symbol| format!(" {symbol}"));
        let first = if hit.signature.is_empty() { hit.snippet.lines().next().unwrap_or("") } else { &hit.signature };
        text.push_str(&format!("{}:{}-{}{symbol}: {}\n", hit.path, hit.start, hit.end, cut_line(first.trim(), 120)));
        let lines = hit.snippet.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        findings.extend(
            lines.take(LINES_A_HIT).map(|(n, line)| Finding::at(&hit.path, hit.start + n, cut_line(line, LINE_CHARS))),
        );
    }
    found.notes.iter().for_each(|note| text.push_str(&format!("[{note}]\n")));
    Ok(Outcome::ok(text).with_findings(findings))
}

/// `index_callers`: who calls a symbol.
pub(in crate::tools) fn callers(arguments: Arguments<'_>, context: &Context) -> Result<Outcome, String> {
    let symbol = arguments.text("symbol")?;
    let graph = index(context)?.graph().map_err(|error| error.to_string())?;
    known(context, symbol, !graph.named(symbol).is_empty())?;
    let mut outcome = listed(&format!("callers of {symbol}"), graph.callers(symbol));
    let unknown = index(context)?.unresolved(symbol).map_err(|error| error.to_string())?;
    if !unknown.is_empty() {
        outcome.text.push_str(&format!("[{} more references to {symbol} could not be resolved]\n", unknown.len()));
    }
    Ok(outcome)
}

/// `index_callees`: what a symbol calls.
pub(in crate::tools) fn callees(arguments: Arguments<'_>, context: &Context) -> Result<Outcome, String> {
    let symbol = arguments.text("symbol")?;
    let graph = index(context)?.graph().map_err(|error| error.to_string())?;
    known(context, symbol, !graph.named(symbol).is_empty())?;
    Ok(listed(&format!("calls of {symbol}"), graph.callees(symbol)))
}

/// `index_dependents`: which files import a file.
pub(in crate::tools) fn dependents(arguments: Arguments<'_>, context: &Context) -> Result<Outcome, String> {
    let path = arguments.text("path")?;
    let index = index(context)?;
    if index.file_symbols(path).map_err(|error| error.to_string())?.is_empty() {
        return Err(format!("{path} is not in the index; find_files finds paths"));
    }
    let graph = index.graph().map_err(|error| error.to_string())?;
    Ok(listed(&format!("files that import {path}"), graph.dependents(path)))
}

/// `index_list_memories`: what was learned in earlier tasks.
pub(in crate::tools) fn memories(context: &Context) -> Result<Outcome, String> {
    let Some(lessons) = &context.lessons else { return Ok(Outcome::ok("no lessons yet")) };
    let stored = lessons.list(LESSONS_MAX).map_err(|error| error.to_string())?;
    if stored.is_empty() {
        return Ok(Outcome::ok("no lessons yet"));
    }
    let lines: Vec<String> = stored
        .iter()
        .map(|one| format!("{}: {}", cut_line(&one.lesson.problem, 100), cut_line(&one.lesson.solution, 100)))
        .collect();
    Ok(Outcome::ok(format!("{} lessons\n{}", lines.len(), lines.join("\n"))))
}

/// A name that nothing defines is an error, so that it is never taken for something without callers.
fn known(context: &Context, symbol: &str, defined: bool) -> Result<(), String> {
    if defined {
        return Ok(());
    }
    let similar = index(context)?.symbols_named(&[symbol.to_owned()]).map_err(|error| error.to_string())?;
    let names: Vec<String> = similar.into_iter().take(5).map(|one| one.name).collect();
    let hint = if names.is_empty() { String::new() } else { format!("; there is {}", names.join(", ")) };
    Err(format!("nothing in the index is called `{symbol}`{hint}"))
}

fn listed(title: &str, mut neighbours: Vec<Neighbour>) -> Outcome {
    let count = neighbours.len();
    neighbours.truncate(NEIGHBOURS_MAX);
    let mut text = format!("{count} {title}\n");
    let mut findings = Vec::new();
    for near in &neighbours {
        let line = near.line;
        text.push_str(&format!(
            "{}:{line} {} ({}, confidence {:.2})\n",
            near.node.path, near.node.name, near.node.kind, near.confidence
        ));
        findings.push(Finding::at(&near.node.path, line, format!("{} {}", near.node.kind, near.node.name)));
    }
    if count > neighbours.len() {
        text.push_str(&format!("[{} more]\n", count - neighbours.len()));
    }
    Outcome::ok(text).with_findings(findings)
}
