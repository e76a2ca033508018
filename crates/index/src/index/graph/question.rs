//! Answers questions about a symbol: which one is meant, which symbols it reaches, and which of its
//! references are unresolved.

use serde_json::{Value, json};

use super::{Graph, Neighbour, Node, Reach, Reached};
use crate::index::{Index, IndexError};

/// Maximum number of similar names proposed for an unknown name, and of candidates listed for an ambiguous one.
const NAMES_MAX: usize = 12;

/// A question about a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum View {
    /// Its callers.
    Callers,
    /// Definitions that it calls.
    Callees,
    /// Definitions that changing it may break.
    Impact,
}

/// The reason why a question about a symbol has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unclear {
    #[error("nothing in the project is called `{symbol}`{}", meant(.near))]
    Unknown {
        symbol: String,
        /// Similar names, nearest first.
        near: Vec<String>,
    },
    #[error("`{symbol}` names {count} things; give one by name or as path:line:\n{}", listed(.candidates, .count))]
    Ambiguous {
        symbol: String,
        count: usize,
        /// The first candidates, each with an unambiguous name, and its kind and place.
        candidates: Vec<(String, String)>,
    },
}

fn meant(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!("; did you mean one of these: {}", near.join(", ")) }
}

fn listed(candidates: &[(String, String)], count: &usize) -> String {
    let lines = candidates.iter().map(|(handle, place)| format!("  {handle}  ({place})"));
    let more = count.saturating_sub(candidates.len());
    let more = (more > 0).then(|| format!("  … {more} more"));
    lines.chain(more).collect::<Vec<_>>().join("\n")
}

/// A reference with an unknown target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unresolved {
    pub name: String,
    pub path: String,
    pub line: usize,
    pub reason: String,
}

impl Unresolved {
    /// The reference as front ends print it in JSON.
    pub fn row(&self) -> Value {
        json!({ "name": self.name, "path": self.path, "line": self.line, "unknown": self.reason })
    }
}

impl Graph {
    /// The symbols called `symbol`, each with its handle; at least one.
    pub fn known(&self, symbol: &str) -> Result<Vec<(String, &Node)>, Unclear> {
        let candidates = self.candidates(symbol);
        if candidates.is_empty() {
            return Err(Unclear::Unknown { symbol: symbol.to_owned(), near: self.similar(symbol, NAMES_MAX) });
        }
        Ok(candidates)
    }

    /// The handle of the one symbol called `symbol`.
    pub fn only(&self, symbol: &str) -> Result<String, Unclear> {
        let mut all = self.known(symbol)?;
        let count = all.len();
        if count == 1 {
            return Ok(all.remove(0).0);
        }
        all.truncate(NAMES_MAX);
        let place = |node: &Node| format!("{} at {}:{}", node.kind, node.path, node.start);
        let candidates = all.into_iter().map(|(handle, node)| (handle, place(node))).collect();
        Err(Unclear::Ambiguous { symbol: symbol.to_owned(), count, candidates })
    }

    /// The answer to a question: one step for callers and callees, four for the impact of a change.
    pub fn view(&self, view: View, symbol: &str) -> Vec<Reached> {
        let reach = |steps_max: usize| Reach { steps_max, count_max: usize::MAX };
        match view {
            View::Callers => self.callers_within(symbol, reach(1)),
            View::Callees => self.callees_within(symbol, reach(1)),
            View::Impact => self.impact(symbol, reach(4)),
        }
    }

    /// A neighbour as front ends print it in JSON.
    pub fn row(&self, near: &Neighbour, steps: usize, confidence: f64) -> Value {
        let node = &near.node;
        json!({
            "symbol": self.handle(node), "name": node.name, "kind": node.kind, "path": node.path,
            "start": node.start, "end": node.end, "edge": near.kind.name(), "line": near.line, "steps": steps,
            "confidence": confidence, "reason": near.reason, "at_load": near.at_load,
        })
    }

    /// The handle of the symbol with this id, if there is one.
    pub fn handle_of(&self, id: i64) -> Option<String> {
        self.by_id.get(&id).map(|at| self.handle(&self.graph[*at]))
    }
}

impl Index {
    /// Calls to the symbol's name with an unknown target: each may be another caller.
    pub fn perhaps_called(&self, graph: &Graph, symbol: &str) -> Result<Vec<Unresolved>, IndexError> {
        let Some(name) = graph.named(symbol).first().map(|node| node.name.clone()) else { return Ok(Vec::new()) };
        // Calls that leave the project cannot be callers.
        let open = |reason: &str| {
            !["outside the project", "not declared in the project"].iter().any(|out| reason.contains(out))
        };
        let unknown = self.unresolved(&name)?.into_iter().filter(|(_, _, reason)| open(reason));
        Ok(unknown.map(|(path, line, reason)| Unresolved { name: name.clone(), path, line, reason }).collect())
    }

    /// The symbol's calls with an unknown target.
    pub fn calls_nowhere(&self, graph: &Graph, symbol: &str) -> Result<Vec<Unresolved>, IndexError> {
        let sources: Vec<i64> = graph.named(symbol).into_iter().map(|node| node.id).collect();
        let unknown = self.unresolved_from(&sources)?.into_iter();
        Ok(unknown.map(|(name, path, line, reason)| Unresolved { name, path, line, reason }).collect())
    }
}
