//! The code graph in memory: who calls, imports and contains whom.

use std::collections::{HashMap, HashSet, VecDeque};

use petgraph::Direction;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;

use super::IndexError;
use super::resolve::EdgeKind;
use super::store::Store;

/// A symbol as the graph knows it.
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
}

/// One step from a symbol to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbour {
    /// The other symbol.
    pub node: Node,
    pub kind: EdgeKind,
    pub confidence: f64,
    pub reason: String,
    /// Where the edge arises: a line in the file of its source, counted from 1.
    pub line: usize,
}

/// All symbols and edges of a project.
#[derive(Default)]
pub struct Graph {
    graph: DiGraph<Node, Link>,
    by_id: HashMap<i64, NodeIndex>,
    by_name: HashMap<String, Vec<NodeIndex>>,
    modules: HashMap<String, NodeIndex>,
    of_chunk: HashMap<i64, Vec<NodeIndex>>,
}

impl Graph {
    /// Reads the graph of a project. An edge whose end was removed by a run that did not finish is left out.
    pub fn load(store: &Store) -> Result<Graph, IndexError> {
        let mut graph = Graph::default();
        for symbol in store.symbols()? {
            let (id, module, chunk) = (symbol.id, symbol.kind == "module" && symbol.container.is_none(), symbol.chunk);
            let (name, path) = (symbol.name.clone(), symbol.path.clone());
            let node = Node {
                id,
                name: symbol.name,
                kind: symbol.kind,
                path: symbol.path,
                start: symbol.start,
                end: symbol.end,
                chunk,
            };
            let at = graph.graph.add_node(node);
            graph.by_id.insert(id, at);
            match module {
                true => drop(graph.modules.insert(path, at)),
                false => {
                    graph.by_name.entry(name).or_default().push(at);
                    chunk.into_iter().for_each(|c| graph.of_chunk.entry(c).or_default().push(at));
                }
            }
        }
        for (source, target, kind, confidence, reason, line) in store.edges()? {
            let ends = (graph.by_id.get(&source), graph.by_id.get(&target), EdgeKind::named(&kind));
            if let (Some(source), Some(target), Some(kind)) = ends {
                graph.graph.add_edge(*source, *target, Link { kind, confidence, reason, line });
            }
        }
        Ok(graph)
    }

    pub fn node_count(&self) -> usize {
        self.graph.node_count()
    }

    pub fn edge_count(&self) -> usize {
        self.graph.edge_count()
    }

    /// Symbols of exactly this name; `Container.name` and `Container::name` narrow it down.
    pub fn named(&self, name: &str) -> Vec<&Node> {
        self.indices(name).into_iter().map(|at| &self.graph[at]).collect()
    }

    fn indices(&self, name: &str) -> Vec<NodeIndex> {
        let (container, last) = match name.rsplit_once("::").or_else(|| name.rsplit_once('.')) {
            Some((container, last)) => (container.rsplit(['.', ':']).next(), last),
            None => (None, name),
        };
        let all = self.by_name.get(last).map(Vec::as_slice).unwrap_or_default();
        let fits = |at: NodeIndex| match container {
            None => true,
            Some(wanted) => self.steps(at, Direction::Incoming, EdgeKind::Contains).any(|n| n.node.name == wanted),
        };
        all.iter().copied().filter(|at| fits(*at)).collect()
    }

    /// Every file with a module, by path.
    pub fn files(&self) -> Vec<&str> {
        let mut files: Vec<&str> = self.modules.keys().map(String::as_str).collect();
        files.sort_unstable();
        files
    }

    /// What links one file with another, containment left out: source, target, confidence. Importing without a use says half.
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

    fn steps(&self, at: NodeIndex, direction: Direction, kind: EdgeKind) -> impl Iterator<Item = Neighbour> {
        self.graph.edges_directed(at, direction).filter(move |e| e.weight().kind == kind).map(move |e| {
            let other = if direction == Direction::Incoming { e.source() } else { e.target() };
            let Link { kind, confidence, reason, line } = e.weight().clone();
            Neighbour { node: self.graph[other].clone(), kind, confidence, reason, line }
        })
    }

    fn around(&self, starts: Vec<NodeIndex>, direction: Direction, kind: EdgeKind) -> Vec<Neighbour> {
        let mut found: Vec<Neighbour> = starts.into_iter().flat_map(|at| self.steps(at, direction, kind)).collect();
        found.sort_by(|a, b| (&a.node.path, a.line, a.node.id).cmp(&(&b.node.path, b.line, b.node.id)));
        found.dedup_by(|a, b| a.node.id == b.node.id && a.line == b.line);
        found
    }

    /// Who calls a symbol of this name, by file and line.
    pub fn callers(&self, name: &str) -> Vec<Neighbour> {
        self.around(self.indices(name), Direction::Incoming, EdgeKind::Calls)
    }

    /// Whom a symbol of this name calls.
    pub fn callees(&self, name: &str) -> Vec<Neighbour> {
        self.around(self.indices(name), Direction::Outgoing, EdgeKind::Calls)
    }

    /// What a file imports: modules and names.
    pub fn imports(&self, path: &str) -> Vec<Neighbour> {
        self.around(self.modules.get(path).copied().into_iter().collect(), Direction::Outgoing, EdgeKind::Imports)
    }

    /// Which files import this file or something in it.
    pub fn dependents(&self, path: &str) -> Vec<Neighbour> {
        let module = self.modules.get(path).copied().into_iter();
        let mut found = self.around(module.collect(), Direction::Incoming, EdgeKind::Imports);
        found.dedup_by(|a, b| a.node.id == b.node.id);
        found
    }

    /// Chunks near any of `seeds` along calls, references, bases and containment, with the distance in steps from the nearest seed
    /// other than themselves; nearest first, at most `count_max` a seed.
    pub fn near(&self, seeds: &[i64], steps_max: usize, count_max: usize) -> Vec<(i64, usize)> {
        let mut nearest: HashMap<i64, usize> = HashMap::new();
        for (chunk, steps) in seeds.iter().flat_map(|seed| self.near_one(*seed, steps_max, count_max)) {
            nearest.entry(chunk).and_modify(|s| *s = steps.min(*s)).or_insert(steps);
        }
        let mut nearest: Vec<(i64, usize)> = nearest.into_iter().collect();
        nearest.sort_by_key(|(chunk, steps)| (*steps, *chunk));
        nearest
    }

    fn near_one(&self, seed: i64, steps_max: usize, count_max: usize) -> Vec<(i64, usize)> {
        let mut seen = HashSet::from([seed]);
        let mut queue = VecDeque::from([(seed, 0)]);
        let mut found = Vec::new();
        while let Some((chunk, steps)) = queue.pop_front().filter(|(_, steps)| *steps < steps_max) {
            for other in self.of_chunk.get(&chunk).into_iter().flatten().flat_map(|at| self.linked_chunks(*at)) {
                if found.len() >= count_max {
                    return found;
                }
                if seen.insert(other) {
                    found.push((other, steps + 1));
                    queue.push_back((other, steps + 1));
                }
            }
        }
        found
    }

    /// Chunks of the symbols one step away, in the order of their ids; files as such are left out, they are near everything in them.
    fn linked_chunks(&self, at: NodeIndex) -> Vec<i64> {
        /// A symbol with more links than this (a logger, a base type) is near everything and says nothing.
        const LINKS_MAX: usize = 64;
        let links: Vec<NodeIndex> = self.graph.neighbors_undirected(at).take(LINKS_MAX + 1).collect();
        if links.len() > LINKS_MAX {
            return Vec::new();
        }
        let symbols = links.into_iter().filter(|n| self.modules.get(&self.graph[*n].path) != Some(n));
        let mut chunks: Vec<i64> = symbols.filter_map(|n| self.graph[n].chunk).collect();
        chunks.sort_unstable();
        chunks.dedup();
        chunks
    }
}
