//! The code graph in memory: symbols, and the calls, imports, references, bases and containment between them.

mod question;
mod reach;
mod select;

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use petgraph::Direction;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;

use super::resolve::EdgeKind;
use super::store::{Store, SymbolRow};
use super::syntax::{is_document, language_of};
use super::{FileImportance, IndexError, copies};
use crate::base::Bytes;

pub use question::{Unclear, Unresolved, View};
pub use reach::{Reach, Reached};

/// A symbol of the graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub id: i64,
    pub name: String,
    pub kind: String,
    pub path: String,
    /// First and last line, counted from 1.
    pub start: usize,
    pub end: usize,
    pub chunk: Option<i64>,
}

#[derive(Clone, Debug)]
struct Link {
    kind: EdgeKind,
    confidence: f64,
    reason: String,
    line: usize,
    at_load: bool,
}

/// An edge as seen from one of its symbols.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbour {
    /// The other symbol.
    pub node: Node,
    pub kind: EdgeKind,
    pub confidence: f64,
    pub reason: String,
    /// Line of the reference in the file of the edge's source, counted from 1.
    pub line: usize,
    /// Whether the reference is outside all functions, so that it runs when the file is loaded.
    pub at_load: bool,
}

/// All symbols and edges of a project.
#[derive(Default)]
pub struct Graph {
    graph: DiGraph<Node, Link>,
    by_id: HashMap<i64, NodeIndex>,
    by_name: HashMap<String, Vec<NodeIndex>>,
    modules: HashMap<String, NodeIndex>,
    of_chunk: HashMap<i64, Vec<NodeIndex>>,
    /// Files that are copies of others.
    copies: HashSet<String>,
    /// Computed on first use.
    importance: OnceLock<FileImportance>,
}

impl Graph {
    /// Reads a project's graph: the symbols of code, and for a document only its file. Omits edges
    /// to symbols that an interrupted run removed.
    pub fn load(store: &Store) -> Result<Graph, IndexError> {
        let mut graph = Graph::default();
        for symbol in store.symbols()? {
            let is_module = symbol.kind == "module" && symbol.container.is_none();
            if !is_module && is_document(language_of(&symbol.path)) {
                continue;
            }
            let SymbolRow { id, name, kind, path, start, end, chunk, .. } = symbol;
            let node = Node { id, name: name.clone(), kind, path: path.clone(), start, end, chunk };
            let at = graph.graph.add_node(node);
            graph.by_id.insert(id, at);
            if is_module {
                graph.modules.insert(path, at);
            } else {
                graph.by_name.entry(name).or_default().push(at);
                chunk.into_iter().for_each(|c| graph.of_chunk.entry(c).or_default().push(at));
            }
        }
        for (source, target, kind, confidence, reason, line, at_load) in store.edges()? {
            let ends = (graph.by_id.get(&source), graph.by_id.get(&target), EdgeKind::named(&kind));
            if let (Some(source), Some(target), Some(kind)) = ends {
                graph.graph.add_edge(*source, *target, Link { kind, confidence, reason, line, at_load });
            }
        }
        graph.copies = copies::copies(&store.sketches()?).into_iter().map(str::to_owned).collect();
        Ok(graph)
    }

    /// Estimated memory of nodes, edges, their strings and the lookup tables, not counting
    /// allocator rounding.
    pub fn memory(&self) -> Bytes {
        /// Bytes of a hash-table entry: key, value and control byte with a third of the table
        /// empty, and a list of one element.
        const ENTRY: usize = 64;
        let texts = |node: &Node| node.name.capacity() + node.kind.capacity() + node.path.capacity();
        let nodes: usize = self.graph.node_weights().map(|node| size_of::<Node>() + texts(node)).sum();
        let edges: usize = self.graph.edge_weights().map(|link| size_of::<Link>() + link.reason.capacity()).sum();
        let places = size_of::<NodeIndex>() * 4 * (self.graph.node_count() + self.graph.edge_count());
        let names: usize =
            self.by_name.keys().chain(self.modules.keys()).map(|name| name.len() + size_of::<String>()).sum();
        let entries = self.by_id.len() + self.by_name.len() + self.modules.len() + self.of_chunk.len();
        Bytes((nodes + edges + places + names + ENTRY * entries) as u64)
    }

    /// The id of a file's module; 0 if the file is not in the graph.
    pub fn module_id(&self, path: &str) -> i64 {
        self.modules.get(path).map_or(0, |at| self.graph[*at].id)
    }

    /// Every file in the graph, by path.
    pub fn files(&self) -> Vec<&str> {
        let mut files: Vec<&str> = self.modules.keys().map(String::as_str).collect();
        files.sort_unstable();
        files
    }

    /// Links between two files: (source, target, weight). The weight is the edge's confidence,
    /// halved for imports; containment is omitted.
    pub fn file_links(&self) -> Vec<(&str, &str, f64)> {
        let weight = |link: &Link| link.confidence * if link.kind == EdgeKind::Imports { 0.5 } else { 1.0 };
        let ends = |e: petgraph::graph::EdgeReference<'_, Link>| (e.source(), e.target());
        let links = self.graph.edge_references().filter(|e| e.weight().kind != EdgeKind::Contains);
        links
            .map(|e| (ends(e), weight(e.weight())))
            .map(|((source, target), weight)| {
                (self.graph[source].path.as_str(), self.graph[target].path.as_str(), weight)
            })
            .filter(|(source, target, _)| source != target)
            .collect()
    }

    /// Importance of the files, and which of them are superseded.
    pub fn importance(&self) -> &FileImportance {
        self.importance.get_or_init(|| FileImportance::new(&self.files(), &self.file_links(), &self.copies))
    }

    fn steps(&self, at: NodeIndex, direction: Direction, kind: EdgeKind) -> impl Iterator<Item = Neighbour> {
        self.graph.edges_directed(at, direction).filter(move |e| e.weight().kind == kind).map(move |e| {
            let other = if direction == Direction::Incoming { e.source() } else { e.target() };
            self.neighbour(other, e.weight())
        })
    }

    fn neighbour(&self, other: NodeIndex, link: &Link) -> Neighbour {
        let Link { kind, confidence, reason, line, at_load } = link.clone();
        Neighbour { node: self.graph[other].clone(), kind, confidence, reason, line, at_load }
    }

    fn around(&self, starts: Vec<NodeIndex>, direction: Direction, kind: EdgeKind) -> Vec<Neighbour> {
        let mut found: Vec<Neighbour> = starts.into_iter().flat_map(|at| self.steps(at, direction, kind)).collect();
        found.sort_by(|a, b| (&a.node.path, a.line, a.node.id).cmp(&(&b.node.path, b.line, b.node.id)));
        found.dedup_by(|a, b| a.node.id == b.node.id && a.line == b.line);
        found
    }

    /// The callers of a symbol, by file and line. `symbol` as in [`Graph::named`].
    pub fn callers(&self, symbol: &str) -> Vec<Neighbour> {
        self.around(self.indices(symbol), Direction::Incoming, EdgeKind::Calls)
    }

    /// The symbols that a symbol calls.
    pub fn callees(&self, symbol: &str) -> Vec<Neighbour> {
        self.around(self.indices(symbol), Direction::Outgoing, EdgeKind::Calls)
    }

    /// The modules and names that a file imports. For a symbol: the imports of its file.
    pub fn imports(&self, place: &str) -> Vec<Neighbour> {
        self.around(self.modules_of(place), Direction::Outgoing, EdgeKind::Imports)
    }

    /// The files that import this file or symbol.
    pub fn dependents(&self, place: &str) -> Vec<Neighbour> {
        let starts = match self.modules.get(place) {
            Some(module) => vec![*module],
            None => self.indices(place),
        };
        let mut found = self.around(starts, Direction::Incoming, EdgeKind::Imports);
        found.dedup_by(|a, b| a.node.id == b.node.id);
        found
    }

    fn modules_of(&self, place: &str) -> Vec<NodeIndex> {
        if let Some(module) = self.modules.get(place) {
            return vec![*module];
        }
        let paths = self.indices(place).into_iter().map(|at| &self.graph[at].path);
        let mut modules: Vec<NodeIndex> = paths.filter_map(|path| self.modules.get(path).copied()).collect();
        modules.sort();
        modules.dedup();
        modules
    }

    /// All calls, each with its caller, in the order of the callers' files.
    pub fn calls(&self) -> Vec<(&Node, Neighbour)> {
        let edges = self.graph.edge_references().filter(|e| e.weight().kind == EdgeKind::Calls);
        edges.map(|e| (&self.graph[e.source()], self.neighbour(e.target(), e.weight()))).collect()
    }

    /// The definitions around a symbol, innermost first, excluding its file.
    pub fn containers(&self, id: i64) -> Vec<&Node> {
        /// Definitions rarely nest deeper than a few levels.
        const DEPTH_MAX: usize = 64;
        let outer = |at: &NodeIndex| {
            let mut up = self.graph.edges_directed(*at, Direction::Incoming);
            let container = up.find(|e| e.weight().kind == EdgeKind::Contains)?.source();
            (self.modules.get(&self.graph[container].path) != Some(&container)).then_some(container)
        };
        let chain = std::iter::successors(self.by_id.get(&id).and_then(outer), outer);
        chain.take(DEPTH_MAX).map(|at| &self.graph[at]).collect()
    }
}

#[cfg(test)]
mod tests;
