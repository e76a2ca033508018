//! Answers questions about the code graph: where a symbol is defined, who calls, uses and imports whom.

use anyhow::{Result, bail};
use console::style;
use serde_json::{Value, json};

use super::code::line;
use crate::base::visible;
use crate::index::{Graph, Index, Neighbour, Node, Reach, Reached, Unresolved};

/// Unresolved references that a text lists; the others are only counted.
const UNKNOWN_SHOWN: usize = 20;

/// A question about a symbol: a name, Container.name, path::name, path:line, or the path of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question<'a> {
    Definition(&'a str),
    Callers(&'a str),
    Callees(&'a str),
    Imports(&'a str),
    Dependents(&'a str),
    Impact(&'a str),
    Path { from: &'a str, to: &'a str },
}

/// The answer: symbols with the edges that lead to them, and references whose target is not known.
#[derive(Default)]
pub struct Answer {
    title: String,
    lines: Vec<Line>,
    unknown_title: &'static str,
    unknown: Vec<Unresolved>,
}

struct Line {
    node: Node,
    /// How to name the symbol in a question.
    handle: String,
    edge: Option<Edge>,
}

struct Edge {
    near: Neighbour,
    steps: usize,
    confidence: f64,
    /// The kind of the first edge, where there are several.
    by: Option<String>,
}

/// Answers `question`. `depth` is the most steps to follow; `None` takes 1 for callers and callees, 4 for impact, 12 for a path.
pub fn answer(index: &Index, question: Question<'_>, depth: Option<u8>) -> Result<Answer> {
    let graph = index.graph()?;
    let asked = Asked { index, graph: &graph };
    let reach = |usual: u8| Reach { steps_max: depth.unwrap_or(usual).into(), count_max: usize::MAX };
    match question {
        Question::Definition(symbol) => asked.definitions(symbol),
        Question::Callers(symbol) => {
            graph.only(symbol)?;
            let answer = asked.reached("callers", symbol, &graph.callers_within(symbol, reach(1)));
            asked.with_maybe_callers(answer, symbol)
        }
        Question::Callees(symbol) => {
            graph.only(symbol)?;
            let answer = asked.reached("calls", symbol, &graph.callees_within(symbol, reach(1)));
            asked.with_unknown_calls(answer, symbol)
        }
        Question::Imports(symbol) => {
            graph.known(symbol)?;
            Ok(asked.neighbours("imports", symbol, &graph.imports(symbol)))
        }
        Question::Dependents(symbol) => {
            graph.only(symbol)?;
            Ok(asked.neighbours("dependents", symbol, &graph.dependents(symbol)))
        }
        Question::Impact(symbol) => {
            graph.only(symbol)?;
            let answer = asked.reached("affected by", symbol, &graph.impact(symbol, reach(4)));
            asked.with_maybe_callers(answer, symbol)
        }
        Question::Path { from, to } => {
            graph.only(from)?;
            graph.only(to)?;
            let steps = graph.path(from, to, reach(12).steps_max);
            if steps.is_empty() {
                bail!("no way from {from} to {to} within {} steps", reach(12).steps_max);
            }
            Ok(asked.reached("way", &format!("{from} to {to}"), &steps))
        }
    }
}

/// Checks symbols and collects the lines of an answer.
struct Asked<'a> {
    index: &'a Index,
    graph: &'a Graph,
}

impl Asked<'_> {
    fn titled(&self, count: usize, what: &str, symbol: &str) -> Answer {
        let meant = self.graph.candidates(symbol).into_iter().next().map(|(handle, _)| handle);
        Answer { title: format!("{count} {what} {}", meant.as_deref().unwrap_or(symbol)), ..Answer::default() }
    }

    fn definitions(&self, symbol: &str) -> Result<Answer> {
        let known = self.graph.known(symbol)?;
        let line = |(handle, node): (String, &Node)| Line { node: node.clone(), handle, edge: None };
        let title = format!("{} called {symbol}", known.len());
        Ok(Answer { title, lines: known.into_iter().map(line).collect(), ..Answer::default() })
    }

    fn reached(&self, what: &str, symbol: &str, all: &[Reached]) -> Answer {
        let line = |one: &Reached| {
            let by = (one.steps > 1).then(|| one.by.to_string());
            self.line(&one.near, one.steps, one.confidence, by)
        };
        Answer { lines: all.iter().map(line).collect(), ..self.titled(all.len(), what, symbol) }
    }

    fn neighbours(&self, what: &str, symbol: &str, all: &[Neighbour]) -> Answer {
        let line = |one: &Neighbour| self.line(one, 1, one.confidence, None);
        Answer { lines: all.iter().map(line).collect(), ..self.titled(all.len(), what, symbol) }
    }

    fn line(&self, near: &Neighbour, steps: usize, confidence: f64, by: Option<String>) -> Line {
        let (node, handle) = (near.node.clone(), self.graph.handle(&near.node));
        Line { node, handle, edge: Some(Edge { near: near.clone(), steps, confidence, by }) }
    }

    /// Adds calls of the symbol's name whose target is not known: each may be another caller.
    fn with_maybe_callers(&self, answer: Answer, symbol: &str) -> Result<Answer> {
        let unknown = self.index.perhaps_called(self.graph, symbol)?;
        Ok(Answer { unknown_title: "perhaps also called at", unknown, ..answer })
    }

    /// Adds calls made by the symbol whose target is not known.
    fn with_unknown_calls(&self, answer: Answer, symbol: &str) -> Result<Answer> {
        let unknown = self.index.calls_nowhere(self.graph, symbol)?;
        Ok(Answer { unknown_title: "calls that lead nowhere known", unknown, ..answer })
    }
}

impl Answer {
    /// How many symbols a listing of `limit` leaves out.
    pub fn left_out(&self, limit: usize) -> usize {
        self.lines.len().saturating_sub(limit)
    }

    /// The number of all symbols.
    pub fn count(&self) -> usize {
        self.lines.len()
    }

    /// One object a symbol, at most `limit`, then one each unknown reference.
    pub fn json(&self, limit: usize) -> Vec<Value> {
        self.lines.iter().take(limit).map(Line::json).chain(self.unknown.iter().map(Unresolved::row)).collect()
    }

    /// The title, at most `limit` symbols, then the first unknown references.
    pub fn text(&self, limit: usize) -> String {
        let mut text = format!("{}\n", visible(&self.title));
        for one in self.lines.iter().take(limit) {
            line(&mut text, format_args!("{}", one.text()));
        }
        if !self.unknown.is_empty() {
            line(&mut text, format_args!("{} ({}):", self.unknown_title, self.unknown.len()));
        }
        for Unresolved { name, path, line: at, reason } in self.unknown.iter().take(UNKNOWN_SHOWN) {
            let place = style(format!("{}:{at}", visible(path))).cyan();
            line(&mut text, format_args!("  {place} {} {}", visible(name), style(visible(reason)).dim()));
        }
        if self.unknown.len() > UNKNOWN_SHOWN {
            line(&mut text, format_args!("  … {} more", self.unknown.len() - UNKNOWN_SHOWN));
        }
        text
    }
}

impl Line {
    fn json(&self) -> Value {
        let Node { name, kind, path, start, end, .. } = &self.node;
        let mut shown =
            json!({ "symbol": self.handle, "name": name, "kind": kind, "path": path, "start": start, "end": end });
        if let Some(Edge { near, steps, confidence, .. }) = &self.edge {
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
        let Some(Edge { near, steps, confidence, by }) = &self.edge else {
            return format!(
                "  {place} {} {}",
                visible(&self.handle),
                style(format!("{kind}, lines {start} to {end}")).dim()
            );
        };
        let by = by.as_ref().map_or(String::new(), |by| format!(" by {by}"));
        let (edge, at, why) = (near.kind.name(), near.line, &near.reason);
        let told = style(visible(&format!("{kind} · {edge} at line {at}{by} · {confidence:.2} {why}"))).dim();
        format!("{}{place} {} {told}", "  ".repeat(*steps), visible(name))
    }
}
