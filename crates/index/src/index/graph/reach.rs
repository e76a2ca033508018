//! Searches the graph over several steps: impact of a change, path between two symbols, nearby chunks.

use std::collections::{HashMap, HashSet, VecDeque};

use petgraph::Direction;
use petgraph::graph::NodeIndex;
use petgraph::visit::EdgeRef;

use super::{Graph, Neighbour};
use crate::index::resolve::EdgeKind;

/// Edges that propagate the impact of a change, and that a path may follow.
const USES: &[EdgeKind] = &[EdgeKind::Calls, EdgeKind::References, EdgeKind::Extends, EdgeKind::Imports];

/// A symbol reached in one or more steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Reached {
    /// The symbol, and the edge that led to it.
    pub near: Neighbour,
    pub steps: usize,
    /// Product of the confidences along the path.
    pub confidence: f64,
    /// Name and id of the symbol one step nearer to the start.
    pub by: String,
    pub by_id: i64,
}

/// Limits of a search.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    pub steps_max: usize,
    pub count_max: usize,
}

impl Graph {
    /// Symbols that depend on `symbol` by calls, references, bases or imports, nearest first: a change may break these.
    pub fn impact(&self, symbol: &str, reach: Reach) -> Vec<Reached> {
        self.within(symbol, Direction::Incoming, USES, reach)
    }

    /// Direct and indirect callers, nearest first.
    pub fn callers_within(&self, symbol: &str, reach: Reach) -> Vec<Reached> {
        self.within(symbol, Direction::Incoming, &[EdgeKind::Calls], reach)
    }

    /// Direct and indirect callees, nearest first.
    pub fn callees_within(&self, symbol: &str, reach: Reach) -> Vec<Reached> {
        self.within(symbol, Direction::Outgoing, &[EdgeKind::Calls], reach)
    }

    fn within(&self, symbol: &str, direction: Direction, kinds: &[EdgeKind], reach: Reach) -> Vec<Reached> {
        let starts = self.indices(symbol);
        let mut seen: HashSet<NodeIndex> = starts.iter().copied().collect();
        let mut queue: VecDeque<(NodeIndex, usize, f64)> = starts.into_iter().map(|at| (at, 0, 1.0)).collect();
        let mut found = Vec::new();
        while let Some((at, steps, confidence)) = queue.pop_front().filter(|(_, steps, _)| *steps < reach.steps_max) {
            for (other, reached) in self.onward((at, steps, confidence), direction, kinds) {
                if found.len() >= reach.count_max {
                    return found;
                }
                if seen.insert(other) {
                    queue.push_back((other, reached.steps, reached.confidence));
                    found.push(reached);
                }
            }
        }
        found
    }

    /// Symbols one step beyond `at`, which is `steps` steps from the start and was reached with
    /// `confidence`; most certain first.
    fn onward(
        &self,
        (at, steps, confidence): (NodeIndex, usize, f64),
        direction: Direction,
        kinds: &[EdgeKind],
    ) -> Vec<(NodeIndex, Reached)> {
        let edges = self.graph.edges_directed(at, direction).filter(|e| kinds.contains(&e.weight().kind));
        let mut next: Vec<(NodeIndex, Reached)> = edges
            .map(|e| {
                let other = if direction == Direction::Incoming { e.source() } else { e.target() };
                let near = self.neighbour(other, e.weight());
                let confidence = confidence * near.confidence;
                let (by, by_id) = (self.graph[at].name.clone(), self.graph[at].id);
                (other, Reached { near, steps: steps + 1, confidence, by, by_id })
            })
            .collect();
        next.sort_by(|(_, a), (_, b)| {
            let (one, other) = (&a.near, &b.near);
            let place = (&one.node.path, one.line, one.node.id).cmp(&(&other.node.path, other.line, other.node.id));
            b.confidence.total_cmp(&a.confidence).then(place)
        });
        next
    }

    /// The shortest path from one symbol to another: along calls if possible, else also along
    /// references, bases and imports. Empty if there is none.
    pub fn path(&self, from: &str, to: &str, steps_max: usize) -> Vec<Reached> {
        let ends: HashSet<i64> = self.named(to).into_iter().map(|node| node.id).collect();
        let calls = self.shortest(from, &ends, &[EdgeKind::Calls], steps_max);
        if calls.is_empty() { self.shortest(from, &ends, USES, steps_max) } else { calls }
    }

    fn shortest(&self, from: &str, ends: &HashSet<i64>, kinds: &[EdgeKind], steps_max: usize) -> Vec<Reached> {
        let reach = Reach { steps_max, count_max: usize::MAX };
        let reached = self.within(from, Direction::Outgoing, kinds, reach);
        let end = reached.iter().find(|one| ends.contains(&one.near.node.id));
        // Every symbol is reached once, from a symbol one step closer to the start.
        let back = |later: &&Reached| reached.iter().find(|one| one.near.node.id == later.by_id);
        let mut path: Vec<Reached> = std::iter::successors(end, back).cloned().collect();
        path.reverse();
        path
    }

    /// Chunks near any of the chunks `seeds`, along edges of any kind: (chunk, steps to the nearest other seed), nearest first, at
    /// most `count_max` per seed.
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

    /// Chunks of the symbols one step away, by id. Modules are omitted, because a file is near
    /// everything in it.
    fn linked_chunks(&self, at: NodeIndex) -> Vec<i64> {
        /// A symbol with more links than this (a logger, a base type) is near everything, so its
        /// links carry no information.
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
