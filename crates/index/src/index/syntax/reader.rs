//! Collects the outline of a file while a grammar visits its syntax tree.

use std::collections::{HashMap, HashSet};

use tree_sitter::Node;

use super::children;
use super::outline::{Definition, Export, Import, Kind, Outline, Reference, ReferenceKind};
use super::types::{Binding, Typing, Value};

/// Maximum number of characters kept of a signature.
const SIGNATURE_CHARS_MAX: usize = 300;
/// Maximum number of characters kept of a doc comment.
const DOC_CHARS_MAX: usize = 1_200;
/// Maximum number of definitions kept per file, and of references and of local names; files up to
/// the size limit rarely have more.
pub(super) const ITEMS_MAX: usize = 200_000;

/// Collects an outline during the walk over the tree and tracks the definitions around the current
/// node.
#[derive(Default)]
pub(super) struct Reader<'t> {
    pub source: &'t str,
    outline: Outline,
    /// Definitions around the current node.
    open: Vec<Open<'t>>,
    /// The parent's field that holds the current node.
    field: Option<&'t str>,
    /// Whether [`ITEMS_MAX`] was reached.
    pub is_full: bool,
    /// The file lists its exports (Python's `__all__`), so later definitions add none by their
    /// names.
    pub lists_exports: bool,
    /// Keeps uses of names that this file does not declare: the language finds names in other files
    /// without imports.
    pub keeps_uses: bool,
    seen: HashSet<Seen>,
    /// Blocks around the current node: (last byte, first line, last line).
    blocks: Vec<(usize, usize, usize)>,
    /// Last byte of the outermost function around the current node.
    function_end: usize,
    /// Positions in `Outline::bindings`, by name.
    bindings: HashMap<String, Vec<usize>>,
    /// Expected types of functions and objects in arguments or with an annotation, by node id.
    expected: HashMap<usize, Value>,
}

/// A recorded reference: the definition around it, its name, receiver, kind, and the binding of its
/// first name.
type Seen = (Option<usize>, String, Option<String>, ReferenceKind, Option<usize>);

/// A definition around the current node.
struct Open<'t> {
    end_byte: usize,
    /// Position in `Outline::definitions`.
    at: usize,
    /// The method's receiver name, if the method chooses it: `s` in `func (s *Store)`.
    own_value: Option<&'t str>,
}

impl<'t> Reader<'t> {
    pub fn new(source: &'t str) -> Reader<'t> {
        Reader { source, ..Reader::default() }
    }

    /// Called when the walk reaches a node that begins at `byte`, in this field of its parent.
    pub fn enter(&mut self, byte: usize, field: Option<&'t str>) {
        self.leave_before(byte);
        self.field = field;
    }

    /// Whether the current node is in that field of its parent. (`Node::parent` is slow: it
    /// descends from the root.)
    pub fn in_field(&self, name: &str) -> bool {
        self.field == Some(name)
    }

    pub fn text(&self, node: Node) -> &'t str {
        self.source.get(node.byte_range()).unwrap_or_default()
    }

    pub fn field(&self, node: Node, name: &str) -> Option<&'t str> {
        node.child_by_field_name(name).map(|n| self.text(n))
    }

    /// Closes the definitions that end at or before `byte`.
    pub fn leave_before(&mut self, byte: usize) {
        while self.open.last().is_some_and(|open| open.end_byte <= byte) {
            self.open.pop();
        }
    }

    /// The innermost definition around the current node.
    pub fn inside(&self) -> Option<usize> {
        self.open.last().map(|open| open.at)
    }

    /// Whether the innermost definition has that name.
    pub fn is_called(&self, name: &str) -> bool {
        self.inside().is_some_and(|at| self.outline.definitions[at].name == name)
    }

    pub fn kind_inside(&self) -> Option<Kind> {
        self.inside().map(|at| self.outline.definitions[at].kind)
    }

    /// Whether the current node is in a function or method, where variables are local.
    pub fn in_function(&self) -> bool {
        let kinds = self.open.iter().map(|open| self.outline.definitions[open.at].kind);
        kinds.into_iter().any(|kind| matches!(kind, Kind::Function | Kind::Method))
    }

    /// Whether a recent definition in the same container has that name: Python defines by
    /// assignment, often more than once.
    pub fn defined_here(&self, name: &str) -> bool {
        /// Number of definitions checked; beyond them a second assignment creates a second
        /// definition, which is harmless.
        const LATELY: usize = 500;
        let latest = self.outline.definitions.iter().rev().take(LATELY);
        latest.into_iter().any(|d| d.container == self.inside() && d.name == name)
    }

    /// Sets the doc of the latest definition, for a doc inside it (a docstring).
    pub fn document(&mut self, doc: &str) {
        if let Some(definition) = self.outline.definitions.last_mut().filter(|_| !doc.is_empty()) {
            definition.doc = doc.chars().take(DOC_CHARS_MAX).collect();
        }
    }

    /// Makes the latest definition a member of a type declared elsewhere.
    pub fn member_of(&mut self, name: &str) {
        if let Some(definition) = self.outline.definitions.last_mut() {
            definition.member_of = Some(name.to_owned());
        }
    }

    /// Sets the receiver name of the latest definition; references to its members get the receiver
    /// `self`.
    pub fn own_value(&mut self, name: &'t str) {
        if let Some(open) = self.open.last_mut() {
            open.own_value = Some(name);
        }
    }

    pub fn is_exported(&self, name: &str) -> bool {
        self.outline.exports.iter().any(|e| e.name == name)
    }

    /// Records a definition. `whole` spans it with its modifiers (`export`, `const`); its doc
    /// comment is above `whole`. False if it was not added, because it has no name or the file has
    /// too many definitions.
    pub fn define(&mut self, whole: Node, node: Node, name: &str, kind: Kind, exported: bool) -> bool {
        if name.is_empty() || !self.has_room(self.outline.definitions.len()) {
            return false;
        }
        let (doc, doc_start) = doc_above(self.source, whole);
        let body = ["body", "value", "right"].iter().find_map(|f| node.child_by_field_name(f));
        let body = body.or_else(|| children(node).find(|child| child.kind().ends_with("_body")));
        // An HTML element's content follows its first tag.
        let body = body.or_else(|| children(node).nth(1).filter(|_| kind == Kind::Element));
        let definition = Definition {
            name: name.to_owned(),
            kind,
            start: whole.start_position().row + 1,
            end: last_line(whole),
            doc_start,
            bytes: whole.byte_range(),
            signature: signature(self.source, whole, body),
            doc,
            exported,
            container: self.inside(),
            member_of: None,
            typing: None,
        };
        self.outline.definitions.push(definition);
        let at = self.outline.definitions.len() - 1;
        self.open.push(Open { end_byte: node.end_byte(), at, own_value: None });
        true
    }

    /// Whether a kind with `count` items has room for one more.
    fn has_room(&mut self, count: usize) -> bool {
        self.is_full |= count >= ITEMS_MAX;
        count < ITEMS_MAX
    }

    /// Sets the type of the latest definition.
    pub fn typed(&mut self, typing: Typing) {
        if let Some(definition) = self.outline.definitions.last_mut().filter(|_| typing != Typing::default()) {
            definition.typing = Some(Box::new(typing));
        }
    }

    /// Called when the walk enters a block, which is a scope of local names.
    pub fn block(&mut self, node: Node) {
        while self.blocks.last().is_some_and(|(end, ..)| *end <= node.start_byte()) {
            self.blocks.pop();
        }
        self.blocks.push((node.end_byte(), node.start_position().row + 1, node.end_position().row + 1));
    }

    /// Called when the walk enters a function.
    pub fn function(&mut self, node: Node) {
        self.block(node);
        self.function_end = self.function_end.max(node.end_byte());
    }

    /// First and last line of the innermost block around a node.
    pub fn block_lines(&mut self, node: Node) -> (usize, usize) {
        while self.blocks.last().is_some_and(|(end, ..)| *end <= node.start_byte()) {
            self.blocks.pop();
        }
        self.blocks.last().map_or((1, usize::MAX), |(_, start, end)| (*start, *end))
    }

    /// Records a local name and its value on these lines.
    pub fn bind(&mut self, name: &str, value: Value, (start, end): (usize, usize)) {
        if !name.is_empty() && self.has_room(self.outline.bindings.len()) {
            self.bindings.entry(name.to_owned()).or_default().push(self.outline.bindings.len());
            self.outline.bindings.push(Binding { inside: self.inside(), name: name.to_owned(), value, start, end });
        }
    }

    /// Records the type expected of the function or object at `node`, before the walk reaches it.
    pub fn expect(&mut self, node: Node, value: Value) {
        self.expected.insert(node.id(), value);
    }

    pub fn expected(&mut self, node: Node) -> Option<Value> {
        self.expected.remove(&node.id())
    }

    pub fn import(&mut self, node: Node, source: &str, name: &str, local: &str) {
        let line = node.start_position().row + 1;
        // `const x = require('y')` was recorded as a whole before the walk reaches its call.
        if name.is_empty() && self.outline.imports.iter().rev().take(32).any(|i| i.source == source && i.line == line) {
            return;
        }
        self.outline.imports.push(Import { source: source.into(), name: name.into(), local: local.into(), line });
    }

    pub fn export(&mut self, node: Node, name: &str, local: &str, source: Option<&str>) {
        let line = node.start_position().row + 1;
        let source = source.map(str::to_owned);
        self.outline.exports.push(Export { name: name.into(), local: local.into(), source, line });
    }

    pub fn refer(&mut self, node: Node, name: &str, receiver: Option<&str>, kind: ReferenceKind) {
        self.refer_to(node, name, receiver, None, kind);
    }

    /// Like `refer`, with the receiver also as a value.
    pub fn refer_to(
        &mut self,
        node: Node,
        name: &str,
        receiver: Option<&str>,
        value: Option<Value>,
        kind: ReferenceKind,
    ) {
        /// A longer receiver is an expression, not a name.
        const RECEIVER_CHARS_MAX: usize = 60;
        if name.is_empty() || !self.has_room(self.outline.references.len()) {
            return;
        }
        let line = node.start_position().row + 1;
        let receiver = receiver.map(|r| match self.after_own_value(r) {
            _ if r.len() > RECEIVER_CHARS_MAX => "(…)".to_owned(),
            Some(rest) => format!("self{rest}"),
            None => r.to_owned(),
        });
        // The same text refers to something else if its first name has been rebound.
        let head = receiver.as_deref().unwrap_or(name).split(['.', '(', '[', '?', '!']).next().unwrap_or_default();
        let covers = |at: &usize| (self.outline.bindings[*at].start..=self.outline.bindings[*at].end).contains(&line);
        let binding = self.bindings.get(head).and_then(|all| all.iter().copied().rev().find(covers));
        let long = receiver.as_deref() == Some("(…)");
        let binding = if long { Some(usize::MAX - line) } else { binding };
        if self.seen.insert((self.inside(), name.to_owned(), receiver.clone(), kind, binding)) {
            let (from, value) = (self.inside(), value.map(Box::new));
            let at_load = node.start_byte() >= self.function_end;
            self.outline.references.push(Reference { name: name.into(), receiver, kind, line, from, at_load, value });
        }
    }

    /// The rest of a receiver after the method's own receiver name: empty for `s`, `.store` for
    /// `s.store`.
    fn after_own_value<'r>(&self, receiver: &'r str) -> Option<&'r str> {
        let own = self.open.iter().rev().find_map(|open| open.own_value)?;
        receiver.strip_prefix(own).filter(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    /// Records a parameter or local variable of the innermost definition.
    pub fn local(&mut self, name: &str) {
        let room = self.has_room(self.outline.locals.len());
        if let Some(inside) = self.inside().filter(|_| room) {
            self.outline.locals.push((inside, name.to_owned()));
        }
    }

    /// The outline, without uses of names that this file neither declares nor imports (they are
    /// locals and keywords).
    pub fn finish(self) -> Outline {
        let (mut outline, keeps_uses) = (self.outline, self.keeps_uses);
        let defined = outline.definitions.iter().map(|d| d.name.clone());
        let known: HashSet<String> = defined.chain(outline.imports.iter().map(|i| i.local.clone())).collect();
        let place = |r: &Reference| (r.from, r.receiver.clone(), r.name.clone());
        let calls: HashSet<_> = outline.references.iter().filter(|r| r.kind != ReferenceKind::Use).map(place).collect();
        outline.references.retain(|r| {
            let first = r.receiver.as_ref().unwrap_or(&r.name);
            r.kind != ReferenceKind::Use || (keeps_uses || known.contains(first)) && !calls.contains(&place(r))
        });
        outline.locals.sort();
        outline.locals.dedup();
        outline
    }
}

fn last_line(node: Node) -> usize {
    let end = node.end_position();
    // A node that ends at column 0 ends with the line break of the previous line.
    let row = if end.column == 0 && end.row > node.start_position().row { end.row - 1 } else { end.row };
    row + 1
}

fn signature(source: &str, whole: Node, body: Option<Node>) -> String {
    let end = body.map_or(whole.end_byte(), |b| b.start_byte());
    let head = source.get(whole.start_byte()..end).unwrap_or_default();
    one_line(head)
}

/// The beginning of a definition on one line of at most `SIGNATURE_CHARS_MAX` characters, up to its
/// body.
pub(super) fn one_line(head: &str) -> String {
    let mut line = String::new();
    for word in head.split_whitespace() {
        if line.chars().count() + word.len() > SIGNATURE_CHARS_MAX {
            line.push_str(" …");
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line.trim_end_matches(['{', '=', ':', ' ']).to_owned()
}

/// The comments and attributes directly above a node: their text, and the line on which they begin
/// (counted from 1).
fn doc_above(source: &str, node: Node) -> (String, usize) {
    /// Maximum number of comment nodes read; in Rust, each line of a doc comment is one.
    const LINES_MAX: usize = 200;
    let mut start = node.start_position().row;
    let mut comments: Vec<&str> = Vec::new();
    let mut above = node.prev_sibling();
    for _ in 0..LINES_MAX {
        let Some(comment) = above else { break };
        let is_comment = comment.kind().ends_with("comment");
        if !is_comment && !matches!(comment.kind(), "attribute_item" | "decorator") {
            break;
        }
        // A comment followed by a blank line, or after code on the same line, belongs to something
        // else.
        let line_start = source[..comment.start_byte()].rfind('\n').map_or(0, |n| n + 1);
        let alone = source[line_start..comment.start_byte()].trim().is_empty();
        if last_line(comment) < start || !alone {
            break;
        }
        if is_comment {
            comments.push(source.get(comment.byte_range()).unwrap_or_default());
        }
        start = comment.start_position().row;
        above = comment.prev_sibling();
    }
    (doc_of(comments.iter().rev().flat_map(|c| c.lines())), start + 1)
}

/// The text of a comment's lines.
pub(super) fn doc_of<'l>(lines: impl Iterator<Item = &'l str>) -> String {
    let doc = lines.map(strip_marks).filter(|line| !line.is_empty());
    doc.collect::<Vec<_>>().join("\n").chars().take(DOC_CHARS_MAX).collect()
}

/// A comment line without `///`, `//!`, `/**`, ` * `, `*/`, `#`, `<!--` and `-->`.
fn strip_marks(line: &str) -> &str {
    let line = line
        .trim()
        .trim_start_matches("<!")
        .trim_start_matches("--")
        .trim_end_matches("-->")
        .trim_start_matches(['/', '!', '*', '#']);
    line.trim_end_matches("*/").trim()
}
