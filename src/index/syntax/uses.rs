//! Finds names that a text uses and does not bind, and attributes that its classes use and do not set.
//!
//! For Python, JavaScript and TypeScript. It prefers missing a name to reporting a bound one: where a text may bind names that
//! are not visible in it (`from x import *`), it reports nothing.

mod ecmascript;
mod members;
mod python;

use std::ops::Range;

use tree_sitter::Node;

pub use members::{Members, members};

use super::{children, content, language_of, tree_of};

/// Deepest nesting that is visited.
const DEPTH_MAX: usize = 400;

/// A name that is used, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    pub name: String,
    pub bytes: Range<usize>,
}

/// A part of a text that binds names.
struct Scope {
    bytes: Range<usize>,
    /// Functions inside a class do not see the names that its body binds.
    is_class: bool,
    is_function: bool,
}

/// Collects what a text binds and uses.
struct Names<'t> {
    text: &'t str,
    scopes: Vec<Scope>,
    /// Names and the scope that they are bound in.
    bound: Vec<(&'t str, usize)>,
    /// Names and the scope that they are used in.
    used: Vec<(Node<'t>, usize)>,
    /// The text may bind names that are not visible in it.
    is_open: bool,
}

impl<'t> Names<'t> {
    fn content(&self, node: Node) -> &'t str {
        content(node, self.text)
    }

    fn bind(&mut self, node: Node<'t>, scope: usize) {
        self.bound.push((self.content(node), scope));
    }

    fn open(&mut self, node: Node, is_class: bool, is_function: bool) -> usize {
        self.scopes.push(Scope { bytes: node.byte_range(), is_class, is_function });
        self.scopes.len() - 1
    }

    /// Whether a name bound in `scope` is visible at `place`, which is in the scope `inner`.
    fn is_seen(&self, scope: usize, place: &Range<usize>, inner: usize) -> bool {
        let bytes = &self.scopes[scope].bytes;
        let holds = bytes.start <= place.start && place.end <= bytes.end;
        let behind_function = || {
            self.scopes.iter().enumerate().any(|(at, other)| {
                at != scope
                    && other.is_function
                    && bytes.start <= other.bytes.start
                    && other.bytes.end <= bytes.end
                    && other.bytes.start <= place.start
                    && place.end <= other.bytes.end
            })
        };
        holds && (!self.scopes[scope].is_class || inner == scope || !behind_function())
    }

    fn unbound(self, is_built_in: impl Fn(&str) -> bool) -> Vec<Use> {
        use std::collections::HashMap;
        let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
        for (name, scope) in &self.bound {
            let scopes = by_name.entry(name).or_default();
            if !scopes.contains(scope) {
                scopes.push(*scope);
            }
        }
        let is_bound = |node: &Node, inner: usize| {
            let scopes = by_name.get(self.content(*node));
            scopes.is_some_and(|scopes| scopes.iter().any(|scope| self.is_seen(*scope, &node.byte_range(), inner)))
        };
        let unbound =
            self.used.iter().filter(|(node, inner)| !is_bound(node, *inner) && !is_built_in(self.content(*node)));
        unbound.map(|(node, _)| Use { name: self.content(*node).to_owned(), bytes: node.byte_range() }).collect()
    }
}

/// One step of a walk: a node, the scope around it, its depth.
type Step<'t> = (Node<'t>, usize, usize);

/// Notes the names that the node of a step binds or uses, and pushes those of its children to visit.
type Visit = for<'t> fn(Step<'t>, &mut Names<'t>, &mut Vec<Step<'t>>);

/// Names that `text` uses and does not bind. `None` for other languages, for a text with syntax errors, and where names may
/// be bound that are not visible.
pub fn unbound(path: &str, text: &str) -> Option<Vec<Use>> {
    let language = language_of(path);
    let (visit, is_built_in): (Visit, fn(&str) -> bool) = match language {
        "python" => (python::visit, python::is_built_in),
        "javascript" | "jsx" | "typescript" | "tsx" => (ecmascript::visit, ecmascript::is_built_in),
        _ => return None,
    };
    let tree = tree_of(language, text)?;
    let root = tree.root_node();
    if root.has_error() {
        return None;
    }
    let mut names = Names { text, scopes: Vec::new(), bound: Vec::new(), used: Vec::new(), is_open: false };
    names.open(root, false, false);
    let mut waiting: Vec<Step> = children(root).map(|child| (child, 0, 0)).collect();
    while let Some(step) = waiting.pop() {
        if step.2 < DEPTH_MAX {
            visit(step, &mut names, &mut waiting);
        }
    }
    if names.is_open {
        return None;
    }
    let mut found = names.unbound(is_built_in);
    found.sort_by_key(|one| one.bytes.start);
    Some(found)
}
