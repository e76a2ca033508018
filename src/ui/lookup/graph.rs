//! Answers questions about the code graph: where a symbol is defined, and what calls, uses or imports what.

use anyhow::{Result, bail};
use console::style;
use serde_json::{Value, json};

use crate::base::visible;
use crate::index::{Graph, Index, Neighbour, Node, Reach, Reached, SymbolRow, Unclear, Unresolved};

/// Number of unresolved references listed in a text; the others are only counted.
const UNKNOWN_SHOWN: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Definition,
    Callers,
    Callees,
    Imports,
    Dependents,
    Impact,
    Path,
}

/// Name and description of each kind, for the command and for MCP clients' tools.
pub const KINDS: [(Kind, &str, &str); 7] = [
    (Kind::Definition, "definition", "Where a symbol is defined: path, lines and kind of each definition of that name"),
    (Kind::Callers, "callers", "Who calls a function or method, with the line and confidence of each call"),
    (Kind::Callees, "callees", "What a function or method calls"),
    (Kind::Imports, "imports", "What a file, or the file of a symbol, imports"),
    (Kind::Dependents, "dependents", "Which files import a file or a symbol"),
    (
        Kind::Impact,
        "impact",
        "Everything that a change to a symbol may break: all code that calls, uses, extends or imports it, directly or indirectly",
    ),
    (Kind::Path, "path", "The shortest path of calls, uses and imports from one symbol to another"),
];

/// The kind with this name.
pub fn kind(name: &str) -> Option<Kind> {
    KINDS.iter().find(|(_, one, _)| *one == name).map(|(kind, ..)| *kind)
}

/// A question about a symbol: a name, Container.name, path::name, path:line, or a file's path.
#[derive(Debug, PartialEq)]
pub struct Question {
    pub what: Kind,
    pub symbol: String,
    /// The end of a path.
    pub to: String,
    /// Maximum number of steps to follow; `None` means 1 for callers and callees, 4 for impact, 12
    /// for a path.
    pub depth: Option<u8>,
}

/// The answer: symbols with the edges that lead to them, and references with unknown targets.
#[derive(Default)]
pub struct Answer {
    title: String,
    lines: Vec<Line>,
    unknown_title: &'static str,
    unknown: Vec<Unresolved>,
}

struct Line {
    node: Node,
    /// The name for referring to the symbol in a question.
    handle: String,
    /// How it was found, unless it is the subject of the question.
    edge: Option<Reached>,
}

/// Heading for calls to the symbol's name with unknown targets: each may be another caller.
const MAYBE_CALLERS: &str = "perhaps also called at";
/// Heading for calls made by the symbol with unknown targets.
const UNKNOWN_CALLS: &str = "calls with unknown targets";

pub fn answer(index: &Index, question: &Question) -> Result<Answer> {
    let Question { what, symbol, to, depth } = question;
    let graph = index.graph()?;
    if *what == Kind::Definition && graph.named(symbol).is_empty() {
        let lines = in_documents(index, symbol)?;
        if !lines.is_empty() {
            return Ok(Answer { title: format!("{} called {symbol}", lines.len()), lines, ..Answer::default() });
        }
    }
    let reach = |usual: u8| Reach { steps_max: depth.unwrap_or(usual).into(), count_max: usize::MAX };
    let asked = match what {
        Kind::Definition | Kind::Imports => graph.known(symbol).map(drop),
        _ => graph.only(symbol).map(drop),
    };
    match (asked, index.gaps()?) {
        (Err(unknown @ Unclear::Unknown { .. }), Some(gaps)) => bail!("{unknown}; {gaps}"),
        (asked, _) => asked?,
    }
    Ok(match what {
        Kind::Definition => {
            let known = graph.known(symbol)?;
            let line = |(handle, node): (String, &Node)| Line { node: node.clone(), handle, edge: None };
            let title = format!("{} called {symbol}", known.len());
            Answer { title, lines: known.into_iter().map(line).collect(), ..Answer::default() }
        }
        Kind::Callers => {
            let unknown = index.perhaps_called(&graph, symbol)?;
            let callers = reached(&graph, "callers", symbol, graph.callers_within(symbol, reach(1)));
            Answer { unknown_title: MAYBE_CALLERS, unknown, ..callers }
        }
        Kind::Callees => {
            let unknown = index.calls_nowhere(&graph, symbol)?;
            let callees = reached(&graph, "calls", symbol, graph.callees_within(symbol, reach(1)));
            Answer { unknown_title: UNKNOWN_CALLS, unknown, ..callees }
        }
        Kind::Imports => neighbours(&graph, "imports", symbol, graph.imports(symbol)),
        Kind::Dependents => neighbours(&graph, "dependents", symbol, graph.dependents(symbol)),
        Kind::Impact => {
            let unknown = index.perhaps_called(&graph, symbol)?;
            let affected = reached(&graph, "affected by", symbol, graph.impact(symbol, reach(4)));
            Answer { unknown_title: MAYBE_CALLERS, unknown, ..affected }
        }
        Kind::Path => {
            graph.only(to)?;
            let steps = graph.path(symbol, to, reach(12).steps_max);
            if steps.is_empty() {
                bail!("no path from {symbol} to {to} within {} steps", reach(12).steps_max);
            }
            reached(&graph, "way", &format!("{symbol} to {to}"), steps)
        }
    })
}

/// The headings, rules, elements, keys and tables with this name, which are not in the graph.
fn in_documents(index: &Index, name: &str) -> Result<Vec<Line>> {
    let line = |symbol: SymbolRow| {
        let handle = format!("{}:{}", symbol.path, symbol.start);
        let SymbolRow { id, name, kind, path, start, end, chunk, .. } = symbol;
        Line { node: Node { id, name, kind, path, start, end, chunk }, handle, edge: None }
    };
    Ok(index.symbols_named(&[name.to_owned()])?.into_iter().map(line).collect())
}

fn reached(graph: &Graph, what: &str, symbol: &str, all: Vec<Reached>) -> Answer {
    let meant = graph.candidates(symbol).into_iter().next().map(|(handle, _)| handle);
    let title = format!("{} {what} {}", all.len(), meant.as_deref().unwrap_or(symbol));
    let line =
        |one: Reached| Line { node: one.near.node.clone(), handle: graph.handle(&one.near.node), edge: Some(one) };
    Answer { title, lines: all.into_iter().map(line).collect(), ..Answer::default() }
}

fn neighbours(graph: &Graph, what: &str, symbol: &str, all: Vec<Neighbour>) -> Answer {
    let one_step =
        |near: Neighbour| Reached { steps: 1, confidence: near.confidence, by: String::new(), by_id: 0, near };
    reached(graph, what, symbol, all.into_iter().map(one_step).collect())
}

impl Answer {
    /// Number of symbols omitted from a list of `limit`.
    pub fn left_out(&self, limit: usize) -> usize {
        self.lines.len().saturating_sub(limit)
    }

    /// The total number of symbols.
    pub fn count(&self) -> usize {
        self.lines.len()
    }

    /// One object per symbol, at most `limit`, then one per unresolved reference.
    pub fn json(&self, limit: usize) -> Vec<Value> {
        self.lines.iter().take(limit).map(Line::json).chain(self.unknown.iter().map(Unresolved::row)).collect()
    }

    /// The title, at most `limit` symbols, then the first unresolved references.
    pub fn text(&self, limit: usize) -> String {
        let mut text = format!("{}\n", visible(&self.title));
        self.lines.iter().take(limit).for_each(|line| text += &format!("{}\n", line.text()));
        if !self.unknown.is_empty() {
            text += &format!("{} ({}):\n", self.unknown_title, self.unknown.len());
        }
        for Unresolved { name, path, line, reason } in self.unknown.iter().take(UNKNOWN_SHOWN) {
            let place = style(format!("{}:{line}", visible(path))).cyan();
            text += &format!("  {place} {} {}\n", visible(name), style(visible(reason)).dim());
        }
        if self.unknown.len() > UNKNOWN_SHOWN {
            text += &format!("  … {} more\n", self.unknown.len() - UNKNOWN_SHOWN);
        }
        text
    }
}

impl Line {
    fn json(&self) -> Value {
        let Node { name, kind, path, start, end, .. } = &self.node;
        let mut shown =
            json!({ "symbol": self.handle, "name": name, "kind": kind, "path": path, "start": start, "end": end });
        if let Some(Reached { near, steps, confidence, .. }) = &self.edge {
            shown["edge"] = json!(near.kind.name());
            shown["line"] = json!(near.line);
            shown["steps"] = json!(steps);
            shown["confidence"] = json!(confidence);
            shown["reason"] = json!(near.reason);
            shown["at_load"] = json!(near.at_load);
        }
        shown
    }

    fn text(&self) -> String {
        let Node { name, kind, path, start, end, .. } = &self.node;
        let place = style(format!("{}:{start}", visible(path))).cyan();
        let Some(Reached { near, steps, confidence, by, .. }) = &self.edge else {
            return format!(
                "  {place} {} {}",
                visible(&self.handle),
                style(format!("{kind}, lines {start} to {end}")).dim()
            );
        };
        let by = if *steps > 1 { format!(" by {by}") } else { String::new() };
        let (edge, at, why) = (near.kind.name(), near.line, &near.reason);
        let told = style(visible(&format!("{kind} · {edge} at line {at}{by} · {confidence:.2} {why}"))).dim();
        format!("{}{place} {} {told}", "  ".repeat(*steps), visible(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Cancel;

    #[test]
    fn a_definition_in_a_document_is_found_where_code_has_none_of_that_name() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("lamp.py"), "def Wick():\n    pass\n").unwrap();
        std::fs::write(folder.path().join("NOTES.md"), "# Wick\n\n# Trim it\n").unwrap();
        let index = Index::open(folder.path()).unwrap();
        index.refresh_lexical(&mut |_| {}, &Cancel::new()).unwrap();
        let places = |symbol: &str| -> Vec<String> {
            let (symbol, to) = (symbol.to_owned(), String::new());
            let found = answer(&index, &Question { what: Kind::Definition, symbol, to, depth: None }).unwrap();
            found.lines.iter().map(|line| line.handle.clone()).collect()
        };
        assert_eq!(places("Wick"), ["lamp.py::Wick"]);
        assert_eq!(places("Trim it"), ["NOTES.md:3"]);
    }
}
