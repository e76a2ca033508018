//! Finds names that a text uses without binding them, and attributes that its classes use without setting them.
//!
//! For Python, JavaScript and TypeScript. Missing a name is better than a false report, so nothing
//! is reported for a text that may bind names invisibly (`from x import *`).

mod ecmascript;
mod members;
mod python;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use tree_sitter::Node;

pub use members::{Members, members};

use super::{children, content, descend, language_of, tree_of};
use crate::base::is_listed;

/// Maximum number of nodes visited in one pattern; hand-written patterns are smaller.
const PATTERN_NODES_MAX: usize = 2_000;
/// Patterns that bind all names in them.
const PATTERNS: &str = "\
    object_pattern array_pattern rest_pattern parenthesized_expression pattern_list tuple_pattern list_pattern tuple list \
    list_splat list_splat_pattern dictionary_splat_pattern";

/// A used name, and its place.
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

impl Scope {
    fn holds(&self, place: &Range<usize>) -> bool {
        self.bytes.start <= place.start && place.end <= self.bytes.end
    }
}

/// Collects the names that a text binds and uses.
struct Names<'t> {
    text: &'t str,
    /// Outer before inner; the first is the complete text.
    scopes: Vec<Scope>,
    /// Names and the scope in which they are bound.
    bound: Vec<(&'t str, usize)>,
    used: Vec<Node<'t>>,
    /// Ids of identifiers that are not uses: bound names, keys, attributes.
    silent: HashSet<usize>,
    /// The text may bind names that do not appear in it.
    is_open: bool,
}

impl<'t> Names<'t> {
    fn content(&self, node: Node) -> &'t str {
        content(node, self.text)
    }

    fn open(&mut self, bytes: Range<usize>, is_class: bool, is_function: bool) -> usize {
        self.scopes.push(Scope { bytes, is_class, is_function });
        self.scopes.len() - 1
    }

    /// The innermost scope around a node, among those opened so far.
    fn scope_of(&self, node: Node) -> usize {
        self.scopes.iter().rposition(|scope| scope.holds(&node.byte_range())).unwrap_or(0)
    }

    fn silence(&mut self, node: Option<Node>) {
        self.silent.extend(node.map(|node| node.id()));
    }

    /// Binds the names in a pattern in the innermost scope around it. Names that it reads
    /// (defaults, `a` in `a[i] = …`) stay uses.
    fn bind(&mut self, pattern: Option<Node<'t>>) {
        pattern.into_iter().for_each(|pattern| self.bind_in(pattern, self.scope_of(pattern)));
    }

    fn bind_in(&mut self, pattern: Node<'t>, scope: usize) {
        let mut waiting = vec![pattern];
        for _ in 0..PATTERN_NODES_MAX {
            let Some(node) = waiting.pop() else { return };
            let field = |name: &str| node.child_by_field_name(name);
            match node.kind() {
                "identifier" | "type_identifier" | "property_identifier" | "shorthand_property_identifier_pattern" => {
                    self.bound.push((self.content(node), scope));
                    self.silence(Some(node));
                }
                "assignment_pattern" | "object_assignment_pattern" => waiting.extend(field("left")),
                "pair_pattern" => waiting.extend(field("value")),
                kind if is_listed(PATTERNS, kind) => waiting.extend(children(node)),
                _ => {}
            }
        }
    }

    /// Binds every name inside a node.
    fn bind_all(&mut self, node: Node<'t>, scope: usize) {
        descend(node, |node| {
            if matches!(node.kind(), "identifier" | "type_identifier") {
                self.bind_in(node, scope);
            }
            true
        });
    }

    /// Whether a name bound in `scope` is visible at `place`.
    fn is_seen(&self, scope: usize, place: &Range<usize>) -> bool {
        let own = &self.scopes[scope];
        let is_between = |inner: &Scope| inner.is_function && own.holds(&inner.bytes) && inner.holds(place);
        own.holds(place) && !(own.is_class && self.scopes[scope + 1..].iter().any(is_between))
    }

    fn unbound(self, is_built_in: impl Fn(&str) -> bool) -> Vec<Use> {
        let mut by_name: HashMap<&str, HashSet<usize>> = HashMap::new();
        for (name, scope) in &self.bound {
            by_name.entry(name).or_default().insert(*scope);
        }
        let is_bound = |node: &Node| {
            let mut scopes = by_name.get(self.content(*node)).into_iter().flatten();
            scopes.any(|scope| self.is_seen(*scope, &node.byte_range()))
        };
        let unbound = self.used.iter().filter(|node| !is_bound(node) && !is_built_in(self.content(**node)));
        unbound.map(|node| Use { name: self.content(*node).to_owned(), bytes: node.byte_range() }).collect()
    }
}

/// Records the names that a node binds, before its children are visited. False if the children must
/// not be visited.
type Visit = for<'t> fn(Node<'t>, &mut Names<'t>) -> bool;

/// Names that `text` uses without binding them, in order. `None` for other languages, for a text
/// with syntax errors, and where names may be bound invisibly.
pub fn unbound(path: &str, text: &str) -> Option<Vec<Use>> {
    let language = language_of(path);
    let (visit, is_built_in): (Visit, fn(&str) -> bool) = match language {
        "python" => (python::visit, python::is_built_in),
        "javascript" | "jsx" | "typescript" | "tsx" => (ecmascript::visit, ecmascript::is_built_in),
        _ => return None,
    };
    let tree = tree_of(language, text).filter(|tree| !tree.root_node().has_error())?;
    let (bound, used, silent) = (Vec::new(), Vec::new(), HashSet::new());
    let mut names = Names { text, scopes: Vec::new(), bound, used, silent, is_open: false };
    names.open(0..text.len(), false, false);
    descend(tree.root_node(), |node| {
        let is_name = matches!(node.kind(), "identifier" | "shorthand_property_identifier");
        if is_name && !names.silent.contains(&node.id()) {
            names.used.push(node);
        }
        node.is_named() && !is_name && visit(node, &mut names)
    });
    (!names.is_open).then(|| names.unbound(is_built_in))
}
