//! Divides a text into statements and members, with their comments and attributes, so that each can be replaced.

mod by_query;
pub(super) mod ecmascript;
pub(super) mod go;
pub(super) mod python;
pub(super) mod rust;
mod signature;

use std::ops::Range;
use std::time::Instant;

use tree_sitter::{Node, Tree};

pub use signature::Signature;

use super::{PARSE_TIME_MAX, Reading, all_children, content, descend, grammar_of, language_of, parse, tree_of};

/// Maximum nesting of containers that are divided; deeper parts belong to their parent.
const DEPTH_MAX: usize = 8;
/// Maximum number of lines with syntax errors reported.
pub const FAULTS_MAX: usize = 100;

/// The variant of a class-like part whose members are not methods: a module, a namespace, a group
/// of tests.
pub const MODULE: &str = "module";
/// The variant of a name declared together with others in one statement: `b` in `int a, b;`.
pub const NAME: &str = "name";

/// The kinds of part that edits distinguish.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sort {
    Function,
    /// A class, `impl`, trait, module, namespace or `describe`: its members are edited one by one.
    Class,
    /// A struct, enum, interface or object: a list of entries that is usually edited as a whole.
    Record,
    /// A constant, field, alias or other name with a value.
    Value,
    Import,
    /// `test('name', …)` and similar calls.
    Test,
    /// Anything else; has no name.
    #[default]
    Statement,
}

/// One statement or member.
#[derive(Clone, Debug, Default)]
pub struct Part {
    pub sort: Sort,
    /// Empty if it has none.
    pub name: String,
    /// Distinguishes parts with the same name: `get`, `set`, `impl Display`, `overload`.
    pub variant: String,
    /// Comments directly above it, each without its line break.
    pub comments: Vec<Range<usize>>,
    /// Decorators or attributes.
    pub attributes: Vec<Range<usize>>,
    /// The part without comments and attributes, including `export`, `pub`, `async`.
    pub core: Range<usize>,
    /// Its end, including the comma or semicolon that separates it from the next member.
    pub end: usize,
    /// The function itself, if it is the value of an assignment or entry.
    pub value: Option<Range<usize>>,
    /// The inside of its body.
    pub body: Option<Range<usize>>,
    pub docstring: Option<Range<usize>>,
    pub signature: Signature,
    /// Members of a container, or functions and classes inside a function or statement.
    pub members: Vec<Part>,
    /// Whether it has a receiver: `self`, `cls`, `&self`.
    pub has_receiver: bool,
    /// The type it belongs to, if it is written outside that type: a Go method,
    /// `A.prototype.f = …`.
    pub owner: Option<String>,
    pub imports: Vec<Imported>,
    /// Whether members are separated by commas.
    pub listed: bool,
    /// Whether it is a test.
    pub is_test: bool,
    /// The keyword on a line `public`, `protected` or `private` above it, in a language that a
    /// query describes; empty if there is none.
    pub access: &'static str,
}

/// One name of an import statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    pub source: String,
    pub name: String,
    /// The name in this file; empty if it binds none.
    pub local: String,
    /// Bytes of the name and its alias.
    pub bytes: Range<usize>,
    /// Whether other names can be added next to it.
    pub open: bool,
}

fn imported(source: &str, name: &str, local: &str, node: Node, open: bool) -> Imported {
    let [source, name, local] = [source, name, local].map(str::to_owned);
    Imported { source, name, local, bytes: node.byte_range(), open }
}

impl Part {
    fn new(sort: Sort, name: &str, node: Node) -> Part {
        let (core, end) = (node.byte_range(), node.end_byte());
        Part { sort, name: name.to_owned(), core, end, ..Part::default() }
    }

    /// First byte, including comments and attributes.
    pub fn start(&self) -> usize {
        let above = self.comments.iter().chain(&self.attributes).map(|range| range.start);
        above.min().map_or(self.core.start, |start| start.min(self.core.start))
    }

    /// Its bytes, including comments, attributes and separator.
    pub fn whole(&self) -> Range<usize> {
        self.start()..self.end.max(self.core.end)
    }

    pub fn is_definition(&self) -> bool {
        !self.name.is_empty() && !matches!(self.sort, Sort::Import | Sort::Statement)
    }

    /// Whether it is a statement that declares several names, none of which can be replaced alone.
    pub fn declares_several(&self) -> bool {
        self.sort == Sort::Statement && self.members.first().is_some_and(|member| member.variant == NAME)
    }

    /// The names declared by a declaration of values; empty for other parts.
    pub fn names(&self) -> Vec<&str> {
        match self.sort {
            Sort::Value if self.variant != NAME => vec![self.name.as_str()],
            _ if self.declares_several() => self.members.iter().map(|member| member.name.as_str()).collect(),
            _ => Vec::new(),
        }
    }

    /// Calls `look`, in source order, with each part below this one and that part's enclosing
    /// parts.
    pub fn walk<'p>(&'p self, around: &mut Vec<&'p Part>, look: &mut dyn FnMut(&'p Part, &[&'p Part])) {
        around.push(self);
        for member in &self.members {
            look(member, around);
            member.walk(around, look);
        }
        around.pop();
    }
}

/// The parts of a text.
#[derive(Clone, Debug)]
pub struct Parts {
    pub items: Vec<Part>,
    /// Lines with a syntax error, counted from 1.
    pub faults: Vec<usize>,
    /// Multi-line strings, whose indentation must not change.
    pub texts: Vec<Range<usize>>,
}

/// A definition and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub name: String,
    pub sort: Sort,
    pub variant: String,
    /// Names of the definitions around it, outermost first.
    pub container: Vec<String>,
    /// Includes doc comment, decorators, attributes and `export`.
    pub bytes: Range<usize>,
    /// First and last line of `bytes`, counted from 1.
    pub lines: (usize, usize),
    pub body: Option<Range<usize>>,
    pub docstring: Option<Range<usize>>,
    pub signature: Signature,
    /// Bytes of white space before it.
    pub indent: usize,
    pub is_test: bool,
}

/// How a language's syntax nodes become parts.
struct Division<'d> {
    /// Node kind of attributes that are siblings of their item; empty if there is none.
    attribute: &'static str,
    /// The part for one node, whose containers may nest this many levels deeper.
    part: &'d dyn Fn(Node, &str, usize) -> Part,
}

/// The parts of `text` in the language of `path`; `None` if the language has no grammar or reading
/// takes too long.
pub fn parts(path: &str, text: &str) -> Option<Parts> {
    let language = language_of(path);
    let (parser, reading) = grammar_of(language)?;
    let until = Instant::now() + PARSE_TIME_MAX;
    let tree = parse(&parser, text, until)?;
    let items = match (reading, language) {
        (Reading::Query(query), _) => by_query::parts(query, &tree, text, until)?,
        (Reading::Visit(_), language) => {
            let division = match language {
                "python" => &python::DIVISION,
                "rust" => &rust::DIVISION,
                "go" => &go::DIVISION,
                _ => &ecmascript::DIVISION,
            };
            siblings(division, all_children(tree.root_node()), text, DEPTH_MAX)
        }
    };
    let (faults, texts) = faults_and_texts(&tree, text);
    Some(Parts { items, faults, texts })
}

/// Lines of `text` with a syntax error; empty if the language has no grammar.
pub fn faults(path: &str, text: &str) -> Vec<usize> {
    tree_of(language_of(path), text).map(|tree| faults_and_texts(&tree, text).0).unwrap_or_default()
}

/// Every definition of `text`, outer before inner.
pub fn definitions(path: &str, text: &str) -> Vec<Span> {
    let Some(parts) = parts(path, text) else { return Vec::new() };
    let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    let line_of = |at: usize| ends.partition_point(|end| *end < at) + 1;
    let mut found = Vec::new();
    let mut note = |part: &Part, around: &[&Part]| {
        if !part.is_definition() {
            return;
        }
        // One name among several has no declaration of its own.
        let declared = around.last().filter(|_| part.variant == NAME).copied().unwrap_or(part);
        let bytes = declared.whole();
        let lines = (line_of(bytes.start), line_of(bytes.end));
        let line_start = text[..bytes.start].rfind('\n').map_or(0, |at| at + 1);
        let before = &text[line_start..bytes.start];
        let containers = around.iter().filter(|p| p.is_definition()).map(|p| p.name.clone());
        found.push(Span {
            name: part.name.clone(),
            sort: part.sort,
            variant: part.variant.clone(),
            container: containers.chain(part.owner.clone()).collect(),
            is_test: part.is_test,
            bytes,
            lines,
            body: part.body.clone(),
            docstring: part.docstring.clone(),
            signature: part.signature.clone(),
            indent: before.len() - before.trim_start().len(),
        });
    };
    for item in &parts.items {
        note(item, &[]);
        item.walk(&mut Vec::new(), &mut note);
    }
    found
}

/// Lines with a syntax error, and multi-line strings except docstrings.
fn faults_and_texts(tree: &Tree, text: &str) -> (Vec<usize>, Vec<Range<usize>>) {
    const TEXTS: &[&str] = &[
        "string",
        "template_string",
        "raw_string_literal",
        "string_literal",
        "interpreted_string_literal",
        "verbatim_string_literal",
        "multiline_string_literal",
        "multi_line_string_literal",
        "interpolated_string_expression",
        "interpolated_string",
        "encapsed_string",
        "heredoc",
        "nowdoc",
        "heredoc_body",
        "heredoc_redirect",
    ];
    let (mut faults, mut texts) = (Vec::new(), Vec::new());
    let mut is_docstring = false;
    descend(tree.root_node(), |node| {
        if (node.is_error() || node.is_missing()) && faults.len() < FAULTS_MAX {
            let line = node.start_position().row + 1;
            if faults.last() != Some(&line) {
                faults.push(line);
            }
        }
        let many_lines = node.start_position().row < node.end_position().row;
        if many_lines && TEXTS.contains(&node.kind()) && !is_docstring && !is_squiggly(node, text) {
            texts.push(node.byte_range());
        }
        is_docstring = node.kind() == "expression_statement" && text[node.byte_range()].starts_with(['"', '\'', 'r']);
        many_lines || node.has_error()
    });
    (faults, texts)
}

/// Whether a node is the text of a Ruby `<<~NAME`, which ignores common indentation.
fn is_squiggly(node: Node, text: &str) -> bool {
    if node.kind() != "heredoc_body" {
        return false;
    }
    let name = content(node, text).lines().last().unwrap_or_default().trim();
    let before = &text[..node.start_byte()];
    let mark = before.rfind(name).map_or("", |at| before[..at].trim_end_matches(['"', '\'', '`']));
    !name.is_empty() && mark.ends_with("<<~")
}

/// The range of `node` without trailing white space (Rust's comments include their line break).
fn trimmed(node: Node, text: &str) -> Range<usize> {
    node.start_byte()..node.start_byte() + content(node, text).trim_end().len()
}

/// The parts of sibling nodes. A comment belongs to the part below it if there is no blank line between them.
fn siblings<'t>(division: &Division, nodes: impl Iterator<Item = Node<'t>>, text: &str, depth: usize) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let (mut comments, mut attributes): (Vec<Range<usize>>, Vec<Range<usize>>) = (Vec::new(), Vec::new());
    for node in nodes.filter(|_| depth > 0) {
        let kind = node.kind();
        if kind.ends_with("comment") {
            comments.push(trimmed(node, text));
        } else if kind == division.attribute {
            attributes.push(trimmed(node, text));
        } else if !node.is_named() {
            if let (",", Some(last)) | (";", Some(last)) = (kind, parts.last_mut()) {
                last.end = node.end_byte();
            }
        } else {
            let mut part = (division.part)(node, text, depth);
            part.attributes.splice(0..0, attributes.drain(..));
            part.comments = above(&part, std::mem::take(&mut comments), text);
            parts.push(part);
        }
    }
    parts
}

/// The `comments` that belong to `part`: on lines of their own, in its column, with only attributes
/// in between.
fn above(part: &Part, comments: Vec<Range<usize>>, text: &str) -> Vec<Range<usize>> {
    let mut kept: Vec<Range<usize>> = Vec::new();
    let mut attributes: Vec<&Range<usize>> = part.attributes.iter().collect();
    let column = |at: usize| at - text[..at].rfind('\n').map_or(0, |line| line + 1);
    for comment in comments.into_iter().rev() {
        // Comments may also appear between attributes.
        let below = attributes.iter().map(|a| a.start).filter(|start| *start >= comment.end).min();
        let next = below.map_or(part.core.start, |start| start.min(part.core.start));
        let next = kept.last().map_or(next, |k: &Range<usize>| next.min(k.start));
        attributes.retain(|a| a.start >= comment.end);
        let gap = text.get(comment.end..next).unwrap_or("x");
        let line = &text[comment.start - column(comment.start)..comment.start];
        let own_line = line.trim().is_empty() && column(comment.start) == column(next);
        let joined = gap.trim().is_empty() && gap.matches('\n').count() == 1;
        let is_header =
            comment.start == 0 && is_header(&text[comment.clone()]) || text[comment.clone()].starts_with("//!");
        if !own_line || !joined || is_header {
            break;
        }
        kept.push(comment);
    }
    kept.reverse();
    kept
}

/// Whether a comment at the beginning of a file is about the file: a shebang, a licence, or tool
/// settings.
fn is_header(comment: &str) -> bool {
    let lower = comment.to_lowercase();
    const WORDS: &[&str] = &[
        "#!",
        "//!",
        "copyright",
        "licen",
        "@file",
        "-*-",
        "eslint",
        "@ts-",
        "go:build",
        "+build",
        "frozen_string_literal",
    ];
    WORDS.iter().any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests;
