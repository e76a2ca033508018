//! Finds the symbols that a text refers to: `name`, `Container.name`, `path::name`, `path:line`, `path`.

use crate::base::near;
use petgraph::Direction;
use petgraph::graph::NodeIndex;
use petgraph::visit::EdgeRef;

use super::{Graph, Node};
use crate::index::resolve::EdgeKind;

impl Graph {
    /// Symbols that `symbol` refers to: a name, `Container.name` or `Container::name`; `path::name`
    /// and `path:line` select by file; a path alone is the file's module.
    pub fn named(&self, symbol: &str) -> Vec<&Node> {
        self.indices(symbol).into_iter().map(|at| &self.graph[at]).collect()
    }

    pub(super) fn indices(&self, symbol: &str) -> Vec<NodeIndex> {
        if let Some(module) = self.modules.get(symbol) {
            return vec![*module];
        }
        if let Some((path, line)) = symbol.rsplit_once(':')
            && let (Some(module), Ok(line)) = (self.modules.get(path), line.parse())
        {
            return vec![self.at_line(path, line).unwrap_or(*module)];
        }
        if let Some((path, name)) = symbol.split_once("::")
            && self.modules.contains_key(path)
        {
            return self.by_names(name).into_iter().filter(|at| self.graph[*at].path == path).collect();
        }
        self.by_names(symbol)
    }

    fn by_names(&self, name: &str) -> Vec<NodeIndex> {
        let (container, last) = match name.rsplit_once("::").or_else(|| name.rsplit_once('.')) {
            Some((container, last)) => (container.rsplit(['.', ':']).next(), last),
            None => (None, name),
        };
        let all = self.by_name.get(last).map(Vec::as_slice).unwrap_or_default();
        let fits = |at: NodeIndex| match container {
            None => true,
            Some(wanted) => {
                let mut up = self.graph.edges_directed(at, Direction::Incoming);
                up.any(|e| e.weight().kind == EdgeKind::Contains && self.graph[e.source()].name == wanted)
            }
        };
        all.iter().copied().filter(|at| fits(*at)).collect()
    }

    /// The innermost symbol around a line.
    fn at_line(&self, path: &str, line: usize) -> Option<NodeIndex> {
        let module = self.modules.get(path)?;
        let around = |at: &NodeIndex| {
            let node = &self.graph[*at];
            node.path == path && (node.start..=node.end).contains(&line) && at != module
        };
        self.graph.node_indices().filter(around).min_by_key(|at| self.graph[*at].end - self.graph[*at].start)
    }

    /// Symbols that a name may refer to, each with its handle. Overloads, and a type and a value
    /// with the same name, are one entry. With at most one entry the name is unambiguous.
    pub fn candidates(&self, symbol: &str) -> Vec<(String, &Node)> {
        let mut found: Vec<(String, &Node)> = Vec::new();
        for node in self.named(symbol) {
            let handle = self.handle(node);
            if !found.iter().any(|(known, _)| *known == handle) {
                found.push((handle, node));
            }
        }
        found
    }

    /// The unambiguous form `path::Container.name`, which `named` accepts.
    pub fn handle(&self, node: &Node) -> String {
        if self.modules.get(&node.path).is_some_and(|at| self.graph[*at].id == node.id) {
            return node.path.clone();
        }
        match self.containers(node.id).first() {
            Some(container) => format!("{}::{}.{}", node.path, container.name, node.name),
            None => format!("{}::{}", node.path, node.name),
        }
    }

    /// Names and paths similar to `symbol`, nearest first.
    pub fn similar(&self, symbol: &str, count_max: usize) -> Vec<String> {
        let wanted = symbol.rsplit("::").next().unwrap_or(symbol).rsplit('.').next().unwrap_or(symbol).to_lowercase();
        let whole = symbol.to_lowercase();
        let names = self.by_name.keys().map(|name| (distance(&name.to_lowercase(), &wanted), name));
        let paths = self.modules.keys().map(|path| (distance(&path.to_lowercase(), &whole), path));
        let mut near: Vec<(usize, &String)> = names.chain(paths).filter_map(|(far, name)| Some((far?, name))).collect();
        near.sort();
        near.dedup();
        near.into_iter().take(count_max).map(|(_, name)| name.clone()).collect()
    }
}

/// The distance between two names: the number of edits, or 1 plus a quarter of the difference in
/// length if one contains the other (0 if equal); `None` if they are not similar.
fn distance(name: &str, wanted: &str) -> Option<usize> {
    let longer = name.len().abs_diff(wanted.len());
    if wanted.len() >= 3 && (name.contains(wanted) || (name.len() >= 3 && wanted.contains(name))) {
        return Some(usize::from(longer > 0) + longer / 4);
    }
    let allowed = (wanted.chars().count() / 3).min(3);
    if longer > allowed {
        return None;
    }
    Some(near::distance(name, wanted)).filter(|far| *far <= allowed)
}
