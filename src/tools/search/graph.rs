//! The `index_…` tools about the graph of calls and imports: callers, callees, imports, dependents,
//! impact.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::show::{self, Detail, Item};
use super::{files, index, left_out, near_symbols, said};
use crate::index::{Graph, Index, Neighbour, Reach};
use crate::tools::Context;
use crate::tools::arguments::Arguments;
use crate::tools::outcome::Outcome;

/// Lines shown before and after a call or import.
const LINES_AROUND: usize = 2;
/// Maximum distance and number of definitions for the impact of a change; beyond that, nearly
/// everything depends on everything else.
const IMPACT: Reach = Reach { steps_max: 3, count_max: 500 };
/// Maximum number of definitions listed with the same name.
const NAMESAKES_MAX: usize = 5;

/// `index_callers`: the callers of a symbol.
pub(in crate::tools) fn callers(arguments: Arguments<'_>, context: &Context) -> Result<Outcome, String> {
    let (symbol, index, graph, mut notes) = asked(arguments, context)?;
    let last = symbol.rsplit(['.', ':']).next().unwrap_or(symbol);
    let unknown = index.unresolved(last).map_err(said)?;
    if !unknown.is_empty() {
        notes.push(format!("{} more references to {symbol} could not be resolved", unknown.len()));
    }
    let found = graph.callers(symbol);
    let items = each(&found, |near| at_reference(index, near, found.len()))?;
    Ok(show::outcome(&format!("{} callers of {symbol}", items.len()), &items, &notes))
}

/// `index_callees`: the symbols that a symbol calls.
pub(in crate::tools) fn callees(arguments: Arguments<'_>, context: &Context) -> Result<Outcome, String> {
    let (symbol, index, graph, notes) = asked(arguments, context)?;
    let found = graph.callees(symbol);
    let items = each(&found, |near| at_definition(index, near, "called", found.len()))?;
    Ok(show::outcome(&format!("{} calls of {symbol}", items.len()), &items, &notes))
}

/// `index_impact`: the code that a change to a symbol may break.
pub(in crate::tools) fn impact(arguments: Arguments<'_>, context: &Context) -> Result<Outcome, String> {
    let (symbol, index, graph, mut notes) = asked(arguments, context)?;
    let found = graph.impact(symbol, IMPACT);
    if found.len() >= IMPACT.count_max {
        notes.push(format!("more than {} places; the nearest are listed", IMPACT.count_max));
    }
    if found.iter().any(|reached| reached.steps == IMPACT.steps_max) {
        notes.push(format!("followed for {} steps, not further", IMPACT.steps_max));
    }
    let items = each(&found, |reached| {
        let item = at_reference(index, &reached.near, found.len())?;
        let (kind, how, by) = (&reached.near.node.kind, reached.near.kind.name(), &reached.by);
        let (steps, confidence) = (reached.steps, reached.confidence);
        Ok(Item { about: format!("{kind} that {how} {by}, {steps} steps away, confidence {confidence:.2}"), ..item })
    })?;
    Ok(show::outcome(&format!("{} places lead to {symbol}", items.len()), &items, &notes))
}

/// `index_imports`: the imports of a file.
pub(in crate::tools) fn imports(arguments: Arguments<'_>, context: &Context) -> Result<Outcome, String> {
    let index = index(context)?;
    let path = known_path(arguments, index)?;
    let found = index.graph().map_err(said)?.imports(path);
    let items = each(&found, |near| at_definition(index, near, "imported", found.len()))?;
    // The graph has no nodes for imports from outside the project, but the chunks of the file name
    // them.
    let chunks = index.chunks_of_file(path).map_err(said)?;
    let mut sources: Vec<String> = chunks.into_iter().flat_map(|chunk| chunk.imports).collect();
    sources.sort();
    sources.dedup();
    let notes = if sources.is_empty() { Vec::new() } else { vec![format!("it names: {}", sources.join(", "))] };
    Ok(show::outcome(&format!("{} imports of {path} from this project", items.len()), &items, &notes))
}

/// `index_dependents`: the files that import a file.
pub(in crate::tools) fn dependents(arguments: Arguments<'_>, context: &Context) -> Result<Outcome, String> {
    let index = index(context)?;
    let path = known_path(arguments, index)?;
    let found = index.graph().map_err(said)?.dependents(path);
    let items = each(&found, |near| at_reference(index, near, found.len()))?;
    Ok(show::outcome(&format!("{} files that import {path}", items.len()), &items, &left_out(index)?))
}

/// `graph`: the requested relation of a function or a file.
pub(in crate::tools) fn related(arguments: Arguments<'_>, context: &Context) -> Result<Outcome, String> {
    type Relation = fn(Arguments<'_>, &Context) -> Result<Outcome, String>;
    let (name, relation) = (arguments.text("name")?.trim(), arguments.text("relation")?);
    let (list, argument): (Relation, &str) = match relation {
        "callers" => (callers, "symbol"),
        "callees" => (callees, "symbol"),
        "impact" => (impact, "symbol"),
        "imports" => (imports, "path"),
        "dependents" => (dependents, "path"),
        other => {
            return Err(format!(
                "there is no relation `{other}`; give callers, callees, impact, imports or dependents"
            ));
        }
    };
    let graph = index(context)?.graph().map_err(said)?;
    let mut name = name.trim_start_matches("./").to_owned();
    if argument == "path" {
        // A name stands for the file that defines it.
        let mut paths: Vec<String> = graph.named(&name).into_iter().map(|node| node.path.clone()).collect();
        paths.sort();
        paths.dedup();
        match &paths[..] {
            [] => {}
            [only] => name = only.clone(),
            several => {
                let several = several[..several.len().min(NAMESAKES_MAX)].join(", ");
                return Err(format!("`{name}` is defined in several files: {several}; give one of them"));
            }
        }
    } else if relation != "impact" && graph.named(&name).first().is_some_and(|node| node.path == name) {
        return Err(format!("`{name}` is a file; imports and dependents are of files, {relation} of a function in it"));
    }
    list(Arguments(&Map::from_iter([(argument.to_owned(), Value::String(name))])), context)
}

fn known_path<'a>(arguments: Arguments<'a>, index: &Index) -> Result<&'a str, String> {
    let path = arguments.text("path")?.trim().trim_start_matches("./");
    if index.file_symbols(path).map_err(said)?.is_empty() {
        return Err(files::unknown_path(index, path)?);
    }
    Ok(path)
}

/// The requested symbol, the index, its graph, and a note if several definitions have that name. A
/// name without a definition is an error, so that it is not mistaken for a function without
/// callers.
type Asked<'a> = (&'a str, &'a Index, Arc<Graph>, Vec<String>);

fn asked<'a>(arguments: Arguments<'a>, context: &'a Context) -> Result<Asked<'a>, String> {
    let symbol = arguments.text("symbol")?.trim();
    let index = index(context)?;
    let graph = index.graph().map_err(said)?;
    let all: Vec<String> = graph.named(symbol).iter().map(|node| format!("{}:{}", node.path, node.start)).collect();
    if all.is_empty() {
        let gaps = index.gaps().map_err(said)?.map(|gaps| format!("; {gaps}")).unwrap_or_default();
        return Err(format!("nothing in the index is called `{symbol}`{}{gaps}", near_symbols(index, symbol)?));
    }
    let (count, places) = (all.len(), all[..all.len().min(NAMESAKES_MAX)].join(", "));
    let more = if count > NAMESAKES_MAX { ", …" } else { "" };
    let note = format!("{count} definitions have that name: {places}{more}; use Type.name for one of them");
    let mut notes = if count > 1 { vec![note] } else { Vec::new() };
    notes.extend(left_out(index)?);
    Ok((symbol, index, graph, notes))
}

fn each<T>(found: &[T], item: impl FnMut(&T) -> Result<Item, String>) -> Result<Vec<Item>, String> {
    found.iter().map(item).collect()
}

/// A neighbour, shown at the line of the call or import.
fn at_reference(index: &Index, near: &Neighbour, count: usize) -> Result<Item, String> {
    let mut item = item(near, near.line);
    match Detail::of(count) {
        Detail::Full => {
            let start = near.line.saturating_sub(LINES_AROUND).max(1);
            (item.body_start, item.body) = files::lines_of(index, &near.node.path, start, near.line + LINES_AROUND)?;
        }
        Detail::Preview => {
            let (_, line) = files::lines_of(index, &near.node.path, near.line, near.line)?;
            item.head.push(format!("{}| {}", near.line, line.trim()));
        }
        Detail::Fold => {}
    }
    Ok(item)
}

/// A neighbour, shown where it is defined; the call or import is in the requested file.
fn at_definition(index: &Index, near: &Neighbour, how: &str, count: usize) -> Result<Item, String> {
    let mut item = item(near, near.node.start);
    item.about.push_str(&format!(", {how} on line {}", near.line));
    if Detail::of(count) != Detail::Fold && near.node.kind != "module" {
        let symbols = index.file_symbols(&near.node.path).map_err(said)?;
        if let Some(symbol) = symbols.into_iter().find(|symbol| symbol.id == near.node.id) {
            let whole = files::definition(index, symbol)?;
            item = Item { about: item.about, ..whole };
        }
    }
    Ok(item)
}

fn item(near: &Neighbour, line: usize) -> Item {
    let about = format!("{}, confidence {:.2}", near.node.kind, near.confidence);
    Item { path: near.node.path.clone(), line, name: near.node.name.clone(), about, ..Item::default() }
}
