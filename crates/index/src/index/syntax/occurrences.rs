//! Finds every occurrence of a name in a text, and its role there.

mod ecmascript;
mod go;
mod python;
mod rust;

use std::ops::Range;

use tree_sitter::{Node, Tree};

use super::{Outline, Reading, grammar_of, outline, tree_of};
use crate::base::is_listed;

/// Maximum number of occurrences of one name read per file.
const PLACES_MAX: usize = 20_000;
/// Maximum number of ancestors visited to determine the role of a name.
const CLIMB_MAX: usize = 200;

/// The role of a name at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// This defines a function, class, constant, method or the like with this name.
    Definition,
    /// A parameter or a local variable.
    Local {
        parameter: bool,
    },
    /// A name imported from another module. `source` is that module as written; in Rust, the path
    /// before the name.
    Import {
        source: String,
    },
    /// The local name that this file gives to an import.
    Alias,
    /// `export { NAME } from 'source'`.
    ReExport {
        source: String,
    },
    /// `export { other as NAME }`.
    ExportedAs,
    Reference,
    /// `{ NAME }` reads a variable and creates a property of the same name.
    Shorthand,
    /// `{ NAME } = value` reads a property into a variable of the same name.
    ShorthandLocal,
    /// After a dot or `::`; `receiver` is the text before it.
    Member {
        receiver: String,
    },
    /// A key, field or label without a definition in the outline.
    Property,
    /// `call(NAME=value)`; `call` is the callee as written.
    Keyword {
        call: String,
    },
    /// A string in Python's `__all__`.
    Listed,
    /// `global NAME`, `nonlocal NAME`.
    Global,
    String,
    Comment,
    /// The surrounding text has a syntax error.
    Unclear,
}

const LOCAL: Role = Role::Local { parameter: false };
const PARAMETER: Role = Role::Local { parameter: true };

/// One occurrence of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    pub bytes: Range<usize>,
    /// Counted from 1.
    pub line: usize,
    pub role: Role,
    /// The bytes in which the name is visible, if it is bound here.
    pub scope: Option<Range<usize>>,
    /// Position in the list of occurrences of the one that binds the name here; its own if it binds
    /// the name itself. If several bind one variable, the first.
    pub binder: Option<usize>,
    /// Position in `Outline::definitions` of the definition named here.
    pub defines: Option<usize>,
    /// Position in `Outline::definitions` of the innermost definition around it, or of the
    /// definition that it names.
    pub inside: Option<usize>,
}

/// Role and binding of one occurrence, from its syntax alone.
pub(super) struct Place {
    role: Role,
    bind: Option<Bind>,
    /// It can only mean a type or a module, not a local value.
    qualifier: bool,
}

/// The binding of a name.
struct Bind {
    /// The bytes in which the name is visible.
    seen: Range<usize>,
    /// First byte of the scope: two bindings of a name in one scope are the same variable.
    home: usize,
    /// The scope is a class body: functions inside it do not see the name.
    class: bool,
}

impl Place {
    fn plain(role: Role) -> Place {
        Place { role, bind: None, qualifier: false }
    }

    fn qualifier() -> Place {
        Place { role: Role::Reference, bind: None, qualifier: true }
    }

    /// A binding that is visible in the whole of `scope`.
    fn bound(role: Role, scope: Node) -> Place {
        let bind = Bind { seen: scope.byte_range(), home: scope.start_byte(), class: false };
        Place { role, bind: Some(bind), qualifier: false }
    }

    /// A member whose receiver is in this field of `node`.
    fn behind(node: Node, field: &str, source: &str) -> Place {
        Place::member(text_of(node.child_by_field_name(field), source))
    }

    fn member(receiver: &str) -> Place {
        Place::plain(Role::Member { receiver: receiver.to_owned() })
    }
}

/// Every occurrence of `name`, in order, with the outline of the text. `None` for a language whose
/// scopes are not read; an error states why the text could not be read.
pub fn names(language: &str, source: &str, name: &str) -> Option<Result<(Vec<Occurrence>, Outline), String>> {
    let (_, Reading::Visit(_)) = grammar_of(language)? else { return None };
    let outline = outline(language, source);
    if let Some(reason) = &outline.incomplete {
        return Some(Err(reason.clone()));
    }
    let Some(tree) = tree_of(language, source) else {
        return Some(Err("parsing took too long".to_owned()));
    };
    let mut found = Vec::new();
    for start in words(source, name) {
        if found.len() == PLACES_MAX {
            return Some(Err(format!("more than {PLACES_MAX} places of one name in one file are not read")));
        }
        let place = place(language, &tree, source, start..start + name.len());
        let line = source[..start].bytes().filter(|b| *b == b'\n').count() + 1;
        found.push((start..start + name.len(), line, place));
    }
    Some(Ok((linked(language, &tree, name, found, &outline), outline)))
}

/// Whether the text has no syntax errors; `None` for a language without a grammar.
pub fn is_understood(language: &str, source: &str) -> Option<bool> {
    grammar_of(language)?;
    Some(tree_of(language, source).is_some_and(|tree| !tree.root_node().has_error()))
}

/// The positions (first bytes) of `name` as a whole word, in order.
pub fn words<'s>(source: &'s str, name: &'s str) -> impl Iterator<Item = usize> + 's {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let whole = move |(at, _): &(usize, &str)| {
        !source[..*at].ends_with(is_word) && !source[at + name.len()..].starts_with(is_word)
    };
    source.match_indices(name).filter(move |_| !name.is_empty()).filter(whole).map(|(at, _)| at)
}

fn place(language: &str, tree: &Tree, source: &str, bytes: Range<usize>) -> Place {
    let Some(node) = tree.root_node().descendant_for_byte_range(bytes.start, bytes.end) else {
        return Place::plain(Role::Unclear);
    };
    if ancestors(node).any(|node| node.is_error()) {
        return Place::plain(Role::Unclear);
    }
    if node.byte_range() != bytes || node.kind() == "string_content" || node.kind() == "string_fragment" {
        return match language {
            "python" => python::within(node, source),
            "rust" => rust::within(node, source, bytes),
            _ => text(node),
        };
    }
    match language {
        "python" => python::place(node, source),
        "rust" => rust::place(node, source),
        "go" => go::place(node, source),
        _ => ecmascript::place(node, source),
    }
}

/// The role of a name inside a comment, a string or a private property (`#name`).
fn text(node: Node) -> Place {
    let kind = node.kind();
    Place::plain(if kind.ends_with("comment") {
        Role::Comment
    } else if kind == "private_property_identifier" {
        Role::Property
    } else {
        Role::String
    })
}

/// The node and its ancestors, innermost first, at most `CLIMB_MAX`.
fn ancestors<'t>(node: Node<'t>) -> impl Iterator<Item = Node<'t>> {
    std::iter::successors(Some(node), Node::parent).take(CLIMB_MAX)
}

/// The nearest ancestor of one of these kinds; else the outermost ancestor.
fn enclosing<'t>(node: Node<'t>, kinds: &str) -> Node<'t> {
    let mut last = node;
    for outer in ancestors(node).skip(1) {
        last = outer;
        if is_listed(kinds, outer.kind()) {
            return outer;
        }
    }
    last
}

/// A node's parent, and the name of the field that holds the node.
fn parent<'t>(node: Node<'t>) -> Option<(Node<'t>, &'t str)> {
    let parent = node.parent()?;
    let at = (0..parent.child_count()).find(|at| parent.child(*at) == Some(node));
    let field = at.and_then(|at| parent.field_name_for_child(at)).unwrap_or("");
    Some((parent, field))
}

fn text_of<'s>(node: Option<Node>, source: &'s str) -> &'s str {
    node.and_then(|node| source.get(node.byte_range())).unwrap_or_default()
}

type Found = (Range<usize>, usize, Place);

/// Adds to every occurrence the binding of the name there and the definition it names.
fn linked(language: &str, tree: &Tree, name: &str, mut found: Vec<Found>, outline: &Outline) -> Vec<Occurrence> {
    if language == "python" {
        python::declared_outside(tree, &mut found);
    }
    let binder: Vec<Option<usize>> = (0..found.len()).map(|at| bound_by(tree, &found, at)).collect();
    let mut all: Vec<Occurrence> = found
        .into_iter()
        .zip(binder)
        .map(|((bytes, line, place), binder)| {
            let around = outline.definitions.iter().enumerate().filter(|(_, d)| d.bytes.contains(&bytes.start));
            let inside = around.min_by_key(|(at, d)| (d.bytes.len(), std::cmp::Reverse(*at))).map(|(at, _)| at);
            let scope = place.bind.map(|bind| bind.seen);
            Occurrence { bytes, line, role: place.role, scope, binder, defines: None, inside }
        })
        .collect();
    // Outer definitions come first, and their names come before those of inner definitions.
    for (at, definition) in outline.definitions.iter().enumerate().filter(|(_, d)| d.name == name) {
        let free = |o: &&mut Occurrence| {
            o.defines.is_none() && o.role == Role::Definition && definition.bytes.contains(&o.bytes.start)
        };
        if let Some(place) = all.iter_mut().find(free) {
            (place.defines, place.inside) = (Some(at), Some(at));
        }
    }
    all
}

/// Position of the occurrence that binds the name for the one at position `at`.
fn bound_by(tree: &Tree, found: &[Found], at: usize) -> Option<usize> {
    let (bytes, _, place) = &found[at];
    let first_of = |bind: &Bind| {
        let same = |other: &Bind| other.home == bind.home && other.seen.end == bind.seen.end;
        found.iter().position(|(_, _, place)| place.bind.as_ref().is_some_and(same))
    };
    if let Some(bind) = &place.bind {
        return first_of(bind);
    }
    if !matches!(place.role, Role::Reference | Role::Shorthand | Role::Listed | Role::Unclear) {
        return None;
    }
    let sees = |other: &&Found| {
        let Some(bind) = &other.2.bind else { return false };
        let local = matches!(other.2.role, Role::Local { .. } | Role::ShorthandLocal);
        bind.seen.contains(&bytes.start)
            && !(place.qualifier && local)
            && !(bind.class && python::in_function_inside(tree, bytes.start, bind.home))
    };
    let binds = found.iter().filter(sees).filter_map(|(_, _, place)| place.bind.as_ref());
    binds.min_by_key(|bind| bind.seen.len()).and_then(first_of)
}
