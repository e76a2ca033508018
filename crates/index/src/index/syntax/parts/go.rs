//! Divides Go files into parts.

use tree_sitter::Node;

use super::signature::signature;
use super::{Division, Part, Sort, imported, siblings};
use crate::index::syntax::{all_children, content, field, interior};

pub(super) const DIVISION: Division<'static> = Division { attribute: "", part: &part };

fn part(node: Node, text: &str, depth: usize) -> Part {
    let name = field(node, "name", text);
    match node.kind() {
        "function_declaration" => {
            let mut part = with_body(Part::new(Sort::Function, name, node), node, text);
            part.is_test = ["Test", "Benchmark", "Example", "Fuzz"].iter().any(|word| name.starts_with(word));
            part
        }
        "method_declaration" => method(node, name, text),
        "type_declaration" | "const_declaration" | "var_declaration" => declaration(node, text, depth),
        "type_spec" | "type_alias" => typed(node, text, depth),
        "const_spec" | "var_spec" => Part::new(Sort::Value, name, node),
        "field_declaration" | "method_elem" => Part::new(Sort::Value, field_name(node, text), node),
        "import_declaration" => import(node, text),
        _ => Part::new(Sort::Statement, "", node),
    }
}

/// The name of a field; an embedded field has the name of its type.
fn field_name<'t>(node: Node, text: &'t str) -> &'t str {
    match field(node, "name", text) {
        "" => field(node, "type", text),
        name => name,
    }
}

fn with_body(mut part: Part, node: Node, text: &str) -> Part {
    part.body = node.child_by_field_name("body").map(interior);
    part.signature = signature(node, text);
    part
}

fn method(node: Node, name: &str, text: &str) -> Part {
    let mut part = with_body(Part::new(Sort::Function, name, node), node, text);
    let receiver = node.child_by_field_name("receiver").and_then(|list| list.named_child(0));
    let owner = receiver.map_or("", |receiver| field(receiver, "type", text)).trim_start_matches(['*', '(', ' ']);
    part.owner = Some(owner.split(['[', ')']).next().unwrap_or_default().trim().to_owned());
    part.has_receiver = true;
    part
}

/// `type X struct {…}`, or a group of specifications in parentheses.
fn declaration(node: Node, text: &str, depth: usize) -> Part {
    let children: Vec<Node> = all_children(node).collect();
    let list = children.iter().find(|child| child.kind() == "var_spec_list").copied();
    let children = list.map_or(children, |list| all_children(list).collect());
    if !children.iter().any(|child| child.kind() == "(") {
        let spec = children.iter().find(|child| child.is_named() && !child.kind().ends_with("comment"));
        let Some(spec) = spec else { return Part::new(Sort::Statement, "", node) };
        let mut part = part(*spec, text, depth);
        part.core = node.byte_range();
        part.end = node.end_byte();
        return part;
    }
    let mut part = Part::new(Sort::Statement, "", node);
    part.members = siblings(&DIVISION, children.iter().copied(), text, depth - 1);
    let inside = |kind: &str| children.iter().find(|child| child.kind() == kind);
    if let (Some(open), Some(close)) = (inside("("), inside(")")) {
        part.body = Some(open.end_byte()..close.start_byte().max(open.end_byte()));
    }
    part
}

fn typed(node: Node, text: &str, depth: usize) -> Part {
    let ty = node.child_by_field_name("type");
    let sort = match ty.map(|ty| ty.kind()) {
        Some("struct_type" | "interface_type") => Sort::Record,
        _ => Sort::Value,
    };
    let mut part = Part::new(sort, field(node, "name", text), node);
    let Some(ty) = ty.filter(|_| sort == Sort::Record) else { return part };
    let list = all_children(ty).find(|child| child.kind() == "field_declaration_list").unwrap_or(ty);
    let open = content(list, text).find('{').map(|at| list.start_byte() + at + 1);
    part.body = open.map(|open| open..list.end_byte().saturating_sub(1).max(open));
    part.members = siblings(&DIVISION, all_children(list), text, depth - 1);
    part
}

fn import(node: Node, text: &str) -> Part {
    let mut part = Part::new(Sort::Import, "", node);
    let children: Vec<Node> = all_children(node).collect();
    let list = children.iter().find(|child| child.kind() == "import_spec_list").copied();
    part.body = list.map(interior);
    let specs = list.map_or(children, |list| all_children(list).collect());
    for spec in specs.into_iter().filter(|spec| spec.kind() == "import_spec") {
        let source = field(spec, "path", text).trim_matches(['"', '`']);
        let alias = field(spec, "name", text);
        let local = match alias {
            "" => package_name(source),
            "_" | "." => "",
            alias => alias,
        };
        part.imports.push(imported(source, alias, local, spec, list.is_some()));
    }
    part
}

/// The package name of an import path: the last part that is not a version, as in `yaml` for
/// `gopkg.in/yaml.v3` or `b` for `a/b/v2`.
pub fn package_name(path: &str) -> &str {
    let is_version =
        |part: &str| part.strip_prefix('v').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    let last = path.rsplit('/').find(|part| !is_version(part)).unwrap_or(path);
    match last.rsplit_once('.') {
        Some((name, version)) if is_version(version) => name,
        _ => last,
    }
}
