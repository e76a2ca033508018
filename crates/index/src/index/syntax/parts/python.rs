//! Divides Python files into parts.

use tree_sitter::Node;

use super::signature::signature;
use super::{Division, Imported, Part, Sort, imported, siblings, trimmed};
use crate::index::syntax::{all_children, children, content, field};

pub(super) const DIVISION: Division<'static> = Division { attribute: "", part: &part };

fn part(node: Node, text: &str, depth: usize) -> Part {
    match node.kind() {
        "decorated_definition" => decorated(node, text, depth),
        "function_definition" => function(node, text, depth),
        "class_definition" => class(node, text, depth),
        "import_statement" | "import_from_statement" | "future_import_statement" => import(node, text),
        "type_alias_statement" => {
            Part::new(Sort::Value, field(node, "left", text).split('[').next().unwrap_or_default(), node)
        }
        "expression_statement" => expression(node, text),
        _ => {
            let mut part = Part::new(Sort::Statement, "", node);
            part.members = inner(node, text, depth);
            part
        }
    }
}

fn decorated(node: Node, text: &str, depth: usize) -> Part {
    let Some(inner) = node.child_by_field_name("definition") else { return Part::new(Sort::Statement, "", node) };
    let mut part = part(inner, text, depth);
    for child in all_children(node).filter(|child| child.kind() == "decorator") {
        part.attributes.push(trimmed(child, text));
        let words = content(child, text).trim_start_matches('@').trim();
        let last = words.split('(').next().unwrap_or_default().rsplit('.').next().unwrap_or_default();
        if matches!(last, "setter" | "deleter" | "overload" | "register") && (last == "overload" || words.contains('.'))
        {
            part.variant = last.to_owned();
        }
        if matches!(last, "property" | "classmethod" | "cached_property") {
            part.has_receiver = true;
        }
    }
    part
}

fn function(node: Node, text: &str, depth: usize) -> Part {
    let name = field(node, "name", text);
    let mut part = Part::new(Sort::Function, name, node);
    part.core.end = trimmed(node, text).end;
    part.end = part.core.end;
    part.is_test = name.starts_with("test");
    part.signature = signature(node, text);
    let first = node.child_by_field_name("parameters").and_then(|p| p.named_child(0));
    part.has_receiver = first.is_some_and(|first| matches!(first_word(content(first, text)), "self" | "cls"));
    add_body(&mut part, node, text, depth);
    part.members.retain(|member| matches!(member.sort, Sort::Function | Sort::Class));
    part
}

fn first_word(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
}

fn class(node: Node, text: &str, depth: usize) -> Part {
    let mut part = Part::new(Sort::Class, field(node, "name", text), node);
    part.core.end = trimmed(node, text).end;
    part.end = part.core.end;
    add_body(&mut part, node, text, depth);
    part
}

/// Sets body, members and docstring. The body begins after the colon, because comments at its
/// beginning are outside the block's node.
fn add_body(part: &mut Part, node: Node, text: &str, depth: usize) {
    let children: Vec<Node> = all_children(node).collect();
    let Some(colon) = children.iter().rposition(|child| child.kind() == ":") else { return };
    part.body = Some(children[colon].end_byte()..part.core.end);
    let inside = children[colon + 1..].iter();
    let nodes: Vec<Node> = inside
        .flat_map(|child| if child.kind() == "block" { all_children(*child).collect() } else { vec![*child] })
        .collect();
    part.members = siblings(&DIVISION, nodes.iter().copied(), text, depth - 1);
    let first = nodes.iter().find(|node| !node.kind().ends_with("comment"));
    let string = first.filter(|node| node.kind() == "expression_statement").and_then(|node| node.named_child(0));
    part.docstring = string.filter(|node| node.kind() == "string").map(|node| node.byte_range());
}

/// Definitions in the branches of `if`, `try` and `with`.
fn inner(node: Node, text: &str, depth: usize) -> Vec<Part> {
    let mut blocks = Vec::new();
    for child in all_children(node) {
        match child.kind() {
            "block" => blocks.push(child),
            kind if kind.ends_with("_clause") => blocks.extend(all_children(child).filter(|c| c.kind() == "block")),
            _ => {}
        }
    }
    let found = blocks.into_iter().flat_map(|block| siblings(&DIVISION, all_children(block), text, depth - 1));
    found.filter(|part| matches!(part.sort, Sort::Function | Sort::Class)).collect()
}

/// `name = value`, `name: type`.
fn expression(node: Node, text: &str) -> Part {
    let left = node.named_child(0).filter(|inner| inner.kind() == "assignment");
    let left = left.and_then(|inner| inner.child_by_field_name("left"));
    let name = left.filter(|left| matches!(left.kind(), "identifier" | "attribute")).map(|left| content(left, text));
    match name {
        Some(name) => Part::new(Sort::Value, name, node),
        None => Part::new(Sort::Statement, "", node),
    }
}

fn import(node: Node, text: &str) -> Part {
    Part { imports: imports(node, text), ..Part::new(Sort::Import, "", node) }
}

/// The names that a statement imports; the name is empty for a whole module (`import a.b`).
pub fn imports(node: Node, text: &str) -> Vec<Imported> {
    let from = node.child_by_field_name("module_name");
    let source = match (from, node.kind()) {
        (Some(from), _) => content(from, text),
        (None, "future_import_statement") => "__future__",
        (None, _) => "",
    };
    let one = |child: Node| {
        let (name, local) = match child.kind() {
            "wildcard_import" => ("*", ""),
            "aliased_import" => (field(child, "name", text), field(child, "alias", text)),
            "dotted_name" => (content(child, text), content(child, text)),
            _ => return None,
        };
        let (source, name) = if source.is_empty() { (name, "") } else { (source, name) };
        Some(imported(source, name, local, child, !name.is_empty() && name != "*"))
    };
    children(node).filter(|child| Some(*child) != from).filter_map(one).collect()
}
