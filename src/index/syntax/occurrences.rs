//! Finds every place where one name stands in a text, and says what the name does there.

mod ecmascript;
mod go;
mod python;
mod rust;

use std::ops::Range;
use std::time::Instant;

use tree_sitter::{Node, Tree};

use super::{Outline, PARSE_TIME_MAX, grammar_of, outline, parse};

/// Most places of one name that are looked at in one file.
const PLACES_MAX: usize = 20_000;
/// Nodes nest at most so deep between a name and what decides its role.
const CLIMB_MAX: usize = 200;

/// What a name does at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// A function, class, constant, method, … gets this name here.
    Definition,
    /// A parameter, or a variable that only its function sees.
    Local {
        parameter: bool,
    },
    /// A name of another module is brought in. `source` is that module as written; in Rust the path before the name.
    Import {
        source: String,
    },
    /// The own name that this file gives to something it brings in.
    Alias,
    /// `export { NAME } from 'source'`.
    ReExport {
        source: String,
    },
    /// `export { other as NAME }`.
    ExportedAs,
    Reference,
    /// `{ NAME }` reads a variable and makes a property of that name.
    Shorthand,
    /// `{ NAME } = value` takes a property out into a variable of that name.
    ShorthandLocal,
    /// Behind a dot or `::`; `receiver` is what stands before, as written.
    Member {
        receiver: String,
    },
    /// A key, a field, a label: a name of its own that no definition of the outline stands for.
    Property,
    /// `call(NAME=value)`; `call` is what is called, as written.
    Keyword {
        call: String,
    },
    /// A text in Python's `__all__`.
    Listed,
    /// `global NAME`, `nonlocal NAME`.
    Global,
    String,
    Comment,
    /// The text around it is not understood.
    Unclear,
}

/// One place of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    pub bytes: Range<usize>,
    /// Counted from 1.
    pub line: usize,
    pub role: Role,
    /// Where the name is seen from, if it is bound here.
    pub scope: Option<Range<usize>>,
    /// Position of the place that binds the name as this place sees it; its own, if that is here. The places that bind one
    /// variable all name the first of them.
    pub binder: Option<usize>,
    /// Position in `Outline::definitions` of what gets its name here.
    pub defines: Option<usize>,
    /// Position in `Outline::definitions` of the innermost definition around it; of itself, where it defines one.
    pub inside: Option<usize>,
}

/// What a grammar says of one place.
pub(super) struct Place {
    role: Role,
    bind: Option<Bind>,
    /// It can only mean a type or a module, not a local value.
    qualifier: bool,
}

/// Where a name is bound.
struct Bind {
    /// Where it is seen from.
    seen: Range<usize>,
    /// First byte of the scope: what is bound twice in one scope is one variable.
    home: usize,
    /// The body of a class: functions inside it do not see the name.
    class: bool,
}

impl Place {
    fn plain(role: Role) -> Place {
        Place { role, bind: None, qualifier: false }
    }

    fn qualifier() -> Place {
        Place { role: Role::Reference, bind: None, qualifier: true }
    }

    /// Bound, and seen from all of `scope`.
    fn bound(role: Role, scope: Node) -> Place {
        let bind = Bind { seen: scope.byte_range(), home: scope.start_byte(), class: false };
        Place { role, bind: Some(bind), qualifier: false }
    }

    fn member(receiver: &str) -> Place {
        Place::plain(Role::Member { receiver: receiver.to_owned() })
    }
}

/// Every place of `name`, in order, with the outline of the text. `None` for a language without grammar; an error says why the text could
/// not be read.
pub fn names(language: &str, source: &str, name: &str) -> Option<Result<(Vec<Occurrence>, Outline), String>> {
    let grammar = grammar_of(language)?;
    let outline = outline(language, source);
    if let Some(reason) = &outline.incomplete {
        return Some(Err(reason.clone()));
    }
    let Some(tree) = parse(grammar, source, Instant::now() + PARSE_TIME_MAX) else {
        return Some(Err("syntax was not read in time".to_owned()));
    };
    let mut found = Vec::new();
    for start in words(source, name).take(PLACES_MAX) {
        let place = place(language, &tree, source, start..start + name.len());
        let line = source[..start].bytes().filter(|b| *b == b'\n').count() + 1;
        found.push((start..start + name.len(), line, place));
    }
    Some(Ok((linked(language, &tree, name, found, &outline), outline)))
}

/// Whether the text has no part that its grammar does not understand; `None` without grammar.
pub fn is_understood(language: &str, source: &str) -> Option<bool> {
    let grammar = grammar_of(language)?;
    let tree = parse(grammar, source, Instant::now() + PARSE_TIME_MAX);
    Some(tree.is_some_and(|tree| !tree.root_node().has_error()))
}

/// Where `name` stands as a whole word: first bytes, in order.
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

/// A name inside a comment or a string; in a longer name, a property that begins with a mark.
fn text(node: Node) -> Place {
    let kind = node.kind();
    Place::plain(match () {
        () if kind.ends_with("comment") || kind == "doc_comment" => Role::Comment,
        () if kind == "private_property_identifier" => Role::Property,
        () => Role::String,
    })
}

/// The node, what it stands in, and so on outwards.
fn ancestors<'t>(node: Node<'t>) -> impl Iterator<Item = Node<'t>> {
    std::iter::successors(Some(node), Node::parent).take(CLIMB_MAX)
}

/// The nearest of these kinds around a node, itself left out; else the root.
fn enclosing<'t>(node: Node<'t>, kinds: &[&str]) -> Node<'t> {
    let mut last = node;
    for outer in ancestors(node).skip(1) {
        last = outer;
        if kinds.contains(&outer.kind()) {
            return outer;
        }
    }
    last
}

/// What a node stands in, and in which of its fields.
fn parent<'t>(node: Node<'t>) -> Option<(Node<'t>, &'t str)> {
    let parent = node.parent()?;
    let at = (0..parent.child_count()).find(|at| parent.child(*at) == Some(node));
    let field = at.and_then(|at| parent.field_name_for_child(at)).unwrap_or("");
    Some((parent, field))
}

fn children<'t>(node: Node<'t>) -> impl Iterator<Item = Node<'t>> {
    (0..node.child_count()).filter_map(move |at| node.child(at))
}

fn text_of<'s>(node: Option<Node>, source: &'s str) -> &'s str {
    node.and_then(|node| source.get(node.byte_range())).unwrap_or_default()
}

type Found = (Range<usize>, usize, Place);

/// Says of every place what binds the name there and what it defines.
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
    // An outer definition comes first and has its name first.
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

/// Position of the place that binds the name that stands at `at`.
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

#[cfg(test)]
mod tests;
