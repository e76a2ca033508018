//! Divides files into parts by their language's query, in the same way for all these languages.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;
use std::time::Instant;

use tree_sitter::{Node, Tree};

use super::{DEPTH_MAX, Division, MODULE, NAME, Part, Sort, imported, siblings, trimmed};
use crate::base::is_listed;
use crate::index::syntax::outline::Kind;
use crate::index::syntax::queried::{Described, Queried, described, last_name};
use crate::index::syntax::{all_children, children, content};

/// Cost of a container in levels of other syntax; one limit bounds both together.
const CONTAINER: usize = 8;
/// Suffixes of node kinds that may only wrap a single definition: `template <…>`, `private def …`.
const FRAMES: &[&str] = &["declaration", "statement", "definitions", "specification", "call"];

fn is_frame(node: Node) -> bool {
    // The statements of a Ruby block precede a definition without being part of it.
    node.kind() != "body_statement" && FRAMES.iter().any(|end| node.kind().ends_with(end))
}

/// The parts of a tree; `None` if time ran out.
pub(super) fn parts(language: &Queried, tree: &Tree, text: &str, until: Instant) -> Option<Vec<Part>> {
    let mut found = described(language, (tree, text), until)?;
    // If an import is bound to a name, that name counts.
    found.sort_by_key(|one| (one.whole.start_byte(), Reverse(one.whole.end_byte()), one.kind.is_none()));
    let places = found.iter().map(|one| one.whole.byte_range()).collect();
    let mut known: HashMap<usize, Vec<Described>> = HashMap::new();
    for one in found {
        let same = known.entry(one.whole.id()).or_default();
        if one.kind.is_some() || same.is_empty() {
            same.push(one);
        }
    }
    let file = File { language: language.name, text, known, places };
    let all: Vec<Node> = all_children(tree.root_node()).collect();
    let nodes = guarded(&all, text).unwrap_or(all);
    Some(file.siblings(nodes, DEPTH_MAX * CONTAINER))
}

struct File<'t> {
    language: &'static str,
    text: &'t str,
    /// The definitions and imports, by the id of their complete node: `int a, b;` has two.
    known: HashMap<usize, Vec<Described<'t>>>,
    /// The bytes of these nodes, outer before inner.
    places: Vec<Range<usize>>,
}

impl File<'_> {
    fn siblings(&self, nodes: Vec<Node>, depth: usize) -> Vec<Part> {
        let division = Division { attribute: "", part: &|node, _, depth| self.part(node, depth) };
        let mut parts: Vec<Part> = Vec::new();
        let mut access = "";
        for mut part in siblings(&division, nodes.into_iter(), self.text, depth) {
            let words = self.text.get(part.core.clone()).unwrap_or_default();
            match (part.sort, words.trim_end_matches(':')) {
                (Sort::Statement, "private") => access = "private",
                (Sort::Statement, "protected") => access = "protected",
                (Sort::Statement, "public") => access = "public",
                // The lines of a Ruby heredoc follow the statement that begins it.
                (Sort::Statement, lines) if lines.starts_with('\n') => {
                    if let Some(last) = parts.last_mut() {
                        (last.core.end, last.end) = (part.core.end, part.end);
                        continue;
                    }
                }
                _ => {}
            }
            part.access = access;
            parts.push(part);
        }
        parts
    }

    /// The outermost definitions and imports within a range.
    fn outermost(&self, of: Range<usize>) -> impl Iterator<Item = &Range<usize>> {
        let from = self.places.partition_point(|place| place.start < of.start);
        let (mut done, end) = (of.start, of.end);
        let within = self.places[from..].iter().take_while(move |place| place.start < end);
        within.filter(move |place| {
            let is_next = place.end <= end && place.start >= done;
            done = if is_next { place.end } else { done };
            is_next
        })
    }

    fn holds(&self, node: Node) -> bool {
        self.outermost(node.byte_range()).next().is_some()
    }

    fn part(&self, node: Node, depth: usize) -> Part {
        match self.known.get(&node.id()).map(Vec::as_slice) {
            Some([one]) => match one.kind {
                Some(kind) => self.defined(node, one, kind, depth),
                None => self.import(node),
            },
            // Each of several names can be found, but none can be replaced alone.
            Some(several) => {
                let name =
                    |one: &Described| Part { variant: NAME.to_owned(), ..Part::new(Sort::Value, one.name, one.named) };
                let members = several.iter().map(name).collect();
                Part { members, ..self.plain(Sort::Statement, "", node) }
            }
            None => self.unknown(node, depth),
        }
    }

    /// A part without trailing white space, which some grammars include.
    fn plain(&self, sort: Sort, name: &str, node: Node) -> Part {
        let core = trimmed(node, self.text);
        Part { end: core.end, core, ..Part::new(sort, name, node) }
    }

    fn defined(&self, node: Node, one: &Described, kind: Kind, depth: usize) -> Part {
        let mut part = self.plain(sort_of(kind), one.name, node);
        let body = body_of(node);
        (part.attributes, part.core.start) = self.attributes(node);
        part.owner = one.owner.map(str::to_owned);
        part.body = self.inside(node, body);
        if matches!(part.sort, Sort::Function | Sort::Value) {
            let end = self.end_of(node).max(part.core.start);
            (part.core.end, part.end) = (part.core.end.min(end), part.end.min(end));
            part.body = part.body.map(|body| body.start.min(end)..body.end.min(end));
        }
        part.variant = self.variant(node, one, kind, part.body.as_ref());
        let depth = depth.saturating_sub(CONTAINER);
        part.members = match part.sort {
            Sort::Class | Sort::Record => self.members(node, body, depth),
            Sort::Function => self.nested(body.unwrap_or(node), depth),
            _ => self.nested(node, depth),
        };
        let has_functions = part.members.iter().any(|member| member.sort == Sort::Function);
        part.listed = kind == Kind::Enum && !has_functions && is_listed("c cpp csharp java kotlin", self.language);
        let is_marked = |range: &Range<usize>| {
            let words = self.text.get(range.clone()).unwrap_or_default();
            let is_mark = |word: &str| word.ends_with("Test") || is_listed("TestCase TestMethod Fact Theory", word);
            words.split(|letter: char| !letter.is_alphanumeric()).find(|word| !word.is_empty()).is_some_and(is_mark)
        };
        let rest = part.name.strip_prefix("test").unwrap_or_default();
        let is_called = rest.starts_with(|first: char| first == '_' || first.is_uppercase());
        part.is_test = part.sort == Sort::Function && (is_called || part.attributes.iter().any(is_marked));
        part
    }

    /// The end of a definition without comments on lines of their own, which belong to what follows. Grammars of
    /// languages that end a body by its indentation include them.
    fn end_of(&self, node: Node) -> usize {
        let is_comment = |node: &Node| node.kind().ends_with("comment");
        let is_own_line = |node: &Node| {
            let before = self.text.get(..node.start_byte()).unwrap_or_default();
            before.trim_end_matches([' ', '\t']).ends_with('\n')
        };
        let mut last = node;
        while !is_comment(&last) {
            let inside = all_children(last).filter(|child| !is_comment(child) || !is_own_line(child));
            let Some(child) = inside.last() else { break };
            last = child;
        }
        trimmed(last, self.text).end
    }

    /// The annotations at the beginning of a definition, and the first byte after them.
    fn attributes(&self, node: Node) -> (Vec<Range<usize>>, usize) {
        let first = all_children(node).next().filter(|first| first.kind() == "modifiers");
        let modifiers = first.into_iter().flat_map(all_children);
        let rest = all_children(node).skip(usize::from(first.is_some()));
        let mut found = Vec::new();
        for child in modifiers.chain(rest) {
            let kind = child.kind();
            if !kind.contains("annotation") && !kind.starts_with("attribute") {
                return (found, child.start_byte());
            }
            found.push(trimmed(child, self.text));
        }
        (Vec::new(), node.start_byte())
    }

    /// Distinguishes definitions with the same name that are not overloads of each other.
    fn variant(&self, node: Node, one: &Described, kind: Kind, body: Option<&Range<usize>>) -> String {
        let of = node.kind();
        match kind {
            Kind::Module => MODULE.to_owned(),
            // An extension: several for the same type are distinguished by their heads.
            Kind::Impl => {
                let end = body.map_or(node.end_byte(), |body| body.start);
                let rest = self.text.get(one.named.end_byte()..end).unwrap_or_default();
                let rest: String = rest.trim_end_matches('{').split_whitespace().collect();
                format!("impl extension{rest}")
            }
            Kind::Function | Kind::Method if matches!(of, "declaration" | "field_declaration") => "declaration".into(),
            Kind::Function | Kind::Method if of == "singleton_method" => "self".into(),
            // A C# class may implement methods with the same name from two interfaces.
            Kind::Function | Kind::Method => {
                let of = children(node).find(|child| child.kind() == "explicit_interface_specifier");
                of.map_or(String::new(), |of| format!("of {}", content(of, self.text).trim_end_matches('.')))
            }
            Kind::Variable if self.text.get(node.byte_range()).is_some_and(|text| is_extern(self.language, text)) => {
                "declaration".into()
            }
            // Scala may have a class and an object with the same name.
            Kind::Class if of.starts_with("object") => "object".into(),
            _ => String::new(),
        }
    }

    /// The bytes inside a body: between its braces, or between the head and `end`, or else all of
    /// it.
    fn inside(&self, node: Node, body: Option<Node>) -> Option<Range<usize>> {
        let whole = body.map(|body| trimmed(body, self.text));
        let words = whole.clone().and_then(|range| self.text.get(range)).unwrap_or_default();
        if let Some(range) = whole.clone().filter(|_| words.len() > 1 && words.starts_with('{') && words.ends_with('}'))
        {
            return Some(range.start + 1..range.end - 1);
        }
        let end = all_children(node).last().filter(|last| last.kind() == "end");
        let Some(end) = end else {
            return whole.map(|range| range.start + usize::from(words.starts_with(':'))..range.end);
        };
        let is_head = |child: &Node| Some(*child) != body && *child != end;
        let head = all_children(node).take_while(is_head).filter(|child| !child.kind().ends_with("comment")).last();
        let head = head.map_or(node.start_byte(), |head| head.end_byte());
        let line = self.text[head..].find('\n').map_or(self.text.len(), |line| head + line);
        let rest = self.text[head..line].trim();
        let head = if rest.is_empty() || rest.starts_with(['#', '-']) { line } else { head };
        Some(head.min(end.start_byte())..end.start_byte())
    }

    /// The members of a class or record. Comments at the beginning may be outside the body's node.
    fn members(&self, node: Node, body: Option<Node>, depth: usize) -> Vec<Part> {
        let mut nodes = Vec::new();
        for child in all_children(node).filter(|child| child.kind().ends_with("comment") && Some(*child) != body) {
            nodes.push(child);
        }
        if let Some(body) = body {
            let at = nodes.partition_point(|comment| comment.start_byte() < body.start_byte());
            nodes.splice(at..at, self.listed(body));
        }
        self.siblings(nodes, depth)
    }

    /// The children of a body, with each list in it replaced by its own children.
    fn listed<'n>(&self, body: Node<'n>) -> Vec<Node<'n>> {
        let is_list = |child: Node| {
            let kind = child.kind();
            ["body", "body_statement", "declarations", "statements"].iter().any(|end| kind.ends_with(end))
                && !self.known.contains_key(&child.id())
                && self.holds(child)
        };
        all_children(body).flat_map(|child| if is_list(child) { self.listed(child) } else { vec![child] }).collect()
    }

    /// The functions and types in a function, a value or a statement.
    fn nested(&self, node: Node, depth: usize) -> Vec<Part> {
        let mut all = self.below(node, depth);
        all.retain(|part| matches!(part.sort, Sort::Function | Sort::Class | Sort::Record));
        all
    }

    /// Everything defined or imported below a node, outside other definitions.
    fn below(&self, node: Node, depth: usize) -> Vec<Part> {
        let mut node = node;
        loop {
            let is_known = |child: &Node| self.known.contains_key(&child.id());
            let mut holding = all_children(node).filter(|child| is_known(child) || self.holds(*child));
            match (holding.next(), holding.next()) {
                (None, _) => return Vec::new(),
                (Some(only), None) if !is_known(&only) && !is_frame(only) => node = only,
                _ => break,
            }
        }
        let parts = self.siblings(all_children(node).collect(), depth.saturating_sub(1));
        let out = |part: Part| if part.sort == Sort::Statement { part.members } else { vec![part] };
        parts.into_iter().flat_map(out).collect()
    }

    /// A statement with the definitions in it: the branches of `#if`, a block of a script, a
    /// template around a class.
    fn unknown(&self, node: Node, depth: usize) -> Part {
        let whole = trimmed(node, self.text);
        let mut inner = self.outermost(whole.clone());
        let kind = node.kind();
        let (first, second) = (inner.next().cloned(), inner.next());
        let Some(first) = first else {
            let is_import = kind.starts_with("using_") || kind.contains("import");
            return if is_import { self.import(node) } else { self.plain(Sort::Statement, "", node) };
        };
        let behind = self.text.get(first.end..whole.end).unwrap_or("x").trim();
        let is_framed = second.is_none() && is_frame(node) && matches!(behind, "" | ";");
        let known = is_framed.then(|| self.node_at(node, &first)).flatten();
        let Some(known) = known else {
            let mut members = self.below(node, depth);
            if kind == "singleton_class" {
                members.iter_mut().for_each(|member| member.variant = "singleton".to_owned());
            }
            return Part { members, ..self.plain(Sort::Statement, "", node) };
        };
        let mut part = self.part(known, depth);
        if whole.start < part.start() {
            part.attributes.clear();
            part.core.start = whole.start;
        }
        if part.sort == Sort::Import {
            part.core.end = whole.end;
        }
        part.end = part.end.max(whole.end);
        part
    }

    /// The known node in `node` with these bytes.
    fn node_at<'n>(&self, node: Node<'n>, place: &Range<usize>) -> Option<Node<'n>> {
        let around = |node: &Node<'n>| {
            let is_around = |child: &Node| child.start_byte() <= place.start && place.end <= child.end_byte();
            children(*node).find(is_around)
        };
        std::iter::successors(Some(node), around).find(|node| self.known.contains_key(&node.id()))
    }

    /// An import is identified by its words; whether it is used depends on the name that it binds.
    fn import(&self, node: Node) -> Part {
        let mut part = self.plain(Sort::Import, "", node);
        let words = self.text.get(part.core.clone()).unwrap_or_default().trim_end_matches(';');
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let binds = is_listed("java kotlin php", self.language) && !words.contains(['*', '{', '(', '"', '\'']);
        let local = if binds { last_name(&words) } else { "" };
        part.imports.push(imported(&words, "", local, node, false));
        part
    }
}

/// The node with a definition's body; for `typedef struct { … } S`, the body of its type.
fn body_of(node: Node<'_>) -> Option<Node<'_>> {
    let last = || children(node).filter(|child| child.kind().ends_with("body")).last();
    let of_type = || node.child_by_field_name("type")?.child_by_field_name("body");
    node.child_by_field_name("body").or_else(last).or_else(of_type)
}

/// Whether a C or C++ variable is declared here and defined elsewhere.
fn is_extern(language: &str, text: &str) -> bool {
    is_listed("c cpp", language) && text.starts_with("extern ") && !text.contains('=')
}

fn sort_of(kind: Kind) -> Sort {
    match kind {
        Kind::Function | Kind::Method => Sort::Function,
        Kind::Module | Kind::Class | Kind::Interface | Kind::Trait | Kind::Impl => Sort::Class,
        Kind::Struct | Kind::Enum => Sort::Record,
        // The kinds used in documents have no parts.
        _ => Sort::Value,
    }
}

/// The nodes inside `#ifndef NAME` or `#if !defined(NAME)`, `#define NAME`, … `#endif` around a whole
/// header, and the comments above.
fn guarded<'n>(nodes: &[Node<'n>], text: &str) -> Option<Vec<Node<'n>>> {
    let is_code = |node: &&Node| node.is_named() && !node.kind().ends_with("comment");
    let is_guard = |node: &&Node| matches!(node.kind(), "preproc_ifdef" | "preproc_if");
    let mut code = nodes.iter().filter(is_code);
    let (guard, None) = (code.next().filter(is_guard)?, code.next()) else { return None };
    let name = match guard.child_by_field_name("condition") {
        Some(condition) => content(condition, text).strip_prefix("!defined")?.trim_matches(['(', ')', ' ']),
        None => content(guard.child_by_field_name("name")?, text),
    };
    let inside: Vec<Node> = all_children(*guard).collect();
    let first = inside.iter().position(|node| node.kind() == "preproc_def")?;
    let has_name = inside[first].child_by_field_name("name").is_some_and(|own| content(own, text) == name);
    let has_branches = inside.iter().any(|node| node.kind().starts_with("preproc_el"));
    // The mark, the name and comments precede the `#define`.
    let is_first = inside[..first].iter().filter(is_code).count() == 1;
    let above = nodes.iter().take_while(|node| *node != guard);
    // A part added to an empty header goes after its `#define`.
    let from = if inside[first + 1..].iter().any(|node| node.is_named()) { first + 1 } else { first };
    (has_name && is_first && !has_branches).then(|| above.chain(&inside[from..]).copied().collect())
}
