//! Answers questions about the code graph: where a symbol is defined, who calls, uses and imports whom.

use anyhow::{Result, bail};
use console::style;
use serde_json::{Value, json};

use super::code::line;
use crate::index::{Graph, Index, Neighbour, Node, Reach, Reached};

/// Unresolved references that a text lists; the others are only counted.
const UNKNOWN_SHOWN: usize = 20;
/// Most similar names proposed for an unknown name, and most candidates listed for an ambiguous one.
const NAMES_SHOWN: usize = 12;

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
    unknown: Vec<Unknown>,
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

struct Unknown {
    name: String,
    path: String,
    line: usize,
    reason: String,
}

/// Answers `question`. `depth` is the most steps to follow; `None` takes 1 for callers and callees, 4 for impact, 12 for a path.
pub fn answer(index: &Index, question: Question<'_>, depth: Option<u8>) -> Result<Answer> {
    let graph = index.graph()?;
    let asked = Asked { index, graph: &graph };
    let reach = |usual: u8| Reach { steps_max: depth.unwrap_or(usual).into(), count_max: usize::MAX };
    match question {
        Question::Definition(symbol) => asked.definitions(symbol),
        Question::Callers(symbol) => {
            asked.unambiguous(symbol)?;
            let answer = asked.reached("callers", symbol, &graph.callers_within(symbol, reach(1)));
            asked.with_maybe_callers(answer, symbol)
        }
        Question::Callees(symbol) => {
            asked.unambiguous(symbol)?;
            let answer = asked.reached("calls", symbol, &graph.callees_within(symbol, reach(1)));
            asked.with_unknown_calls(answer, symbol)
        }
        Question::Imports(symbol) => {
            asked.known(symbol)?;
            Ok(asked.neighbours("imports", symbol, &graph.imports(symbol)))
        }
        Question::Dependents(symbol) => {
            asked.unambiguous(symbol)?;
            Ok(asked.neighbours("dependents", symbol, &graph.dependents(symbol)))
        }
        Question::Impact(symbol) => {
            asked.unambiguous(symbol)?;
            let answer = asked.reached("affected by", symbol, &graph.impact(symbol, reach(4)));
            asked.with_maybe_callers(answer, symbol)
        }
        Question::Path { from, to } => {
            asked.unambiguous(from)?;
            asked.unambiguous(to)?;
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
    /// The nodes called `symbol`. Errors if there is none and proposes similar names.
    fn known(&self, symbol: &str) -> Result<Vec<(String, &Node)>> {
        let candidates = self.graph.candidates(symbol);
        if candidates.is_empty() {
            let near = self.graph.similar(symbol, NAMES_SHOWN);
            let hint =
                if near.is_empty() { String::new() } else { format!("; is one of these meant: {}", near.join(", ")) };
            bail!("nothing in {} is called `{symbol}`{hint}", self.index.project().display());
        }
        Ok(candidates)
    }

    /// Errors if no node or more than one is called `symbol`, and lists how to name each.
    fn unambiguous(&self, symbol: &str) -> Result<()> {
        let candidates = self.known(symbol)?;
        if candidates.len() == 1 {
            return Ok(());
        }
        let shown: Vec<String> = candidates
            .iter()
            .take(NAMES_SHOWN)
            .map(|(handle, node)| format!("  {handle}  ({} at {}:{})", node.kind, node.path, node.start))
            .collect();
        let more = candidates.len().saturating_sub(NAMES_SHOWN);
        let more = if more > 0 { format!("\n  … {more} more") } else { String::new() };
        bail!(
            "`{symbol}` names {} things; say which, by name or as path:line:\n{}{more}",
            candidates.len(),
            shown.join("\n")
        )
    }

    fn titled(&self, count: usize, what: &str, symbol: &str) -> Answer {
        let meant = self.graph.candidates(symbol).into_iter().next().map(|(handle, _)| handle);
        Answer { title: format!("{count} {what} {}", meant.as_deref().unwrap_or(symbol)), ..Answer::default() }
    }

    fn definitions(&self, symbol: &str) -> Result<Answer> {
        let known = self.known(symbol)?;
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
        let Some(name) = self.graph.named(symbol).first().map(|node| node.name.clone()) else { return Ok(answer) };
        // Calls that are known to lead out of the project cannot be callers.
        let open = |reason: &str| {
            !["outside the project", "not declared in the project"].iter().any(|out| reason.contains(out))
        };
        let unknown = self.index.unresolved(&name)?.into_iter().filter(|(_, _, reason)| open(reason));
        let unknown = unknown.map(|(path, line, reason)| Unknown { name: name.clone(), path, line, reason }).collect();
        Ok(Answer { unknown_title: "perhaps also called at", unknown, ..answer })
    }

    /// Adds calls made by the symbol whose target is not known.
    fn with_unknown_calls(&self, answer: Answer, symbol: &str) -> Result<Answer> {
        let sources: Vec<i64> = self.graph.named(symbol).into_iter().map(|node| node.id).collect();
        let unknown = self.index.unresolved_from(&sources)?.into_iter();
        let unknown = unknown.map(|(name, path, line, reason)| Unknown { name, path, line, reason }).collect();
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
        let unknown = |one: &Unknown| {
            let Unknown { name, path, line, reason } = one;
            json!({ "name": name, "path": path, "line": line, "unknown": reason })
        };
        self.lines.iter().take(limit).map(Line::json).chain(self.unknown.iter().map(unknown)).collect()
    }

    /// The title, at most `limit` symbols, then the first unknown references.
    pub fn text(&self, limit: usize) -> String {
        let mut text = format!("{}\n", self.title);
        for one in self.lines.iter().take(limit) {
            line(&mut text, format_args!("{}", one.text()));
        }
        if !self.unknown.is_empty() {
            line(&mut text, format_args!("{} ({}):", self.unknown_title, self.unknown.len()));
        }
        for Unknown { name, path, line: at, reason } in self.unknown.iter().take(UNKNOWN_SHOWN) {
            let place = style(format!("{path}:{at}")).cyan();
            line(&mut text, format_args!("  {place} {name} {}", style(reason).dim()));
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
        let place = style(format!("{path}:{start}")).cyan();
        let Some(Edge { near, steps, confidence, by }) = &self.edge else {
            return format!("  {place} {} {}", self.handle, style(format!("{kind}, lines {start} to {end}")).dim());
        };
        let by = by.as_ref().map_or(String::new(), |by| format!(" by {by}"));
        let (edge, at, why) = (near.kind.name(), near.line, &near.reason);
        let told = style(format!("{kind} · {edge} at line {at}{by} · {confidence:.2} {why}")).dim();
        format!("{}{place} {name} {told}", "  ".repeat(*steps))
    }
}
