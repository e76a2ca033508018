//! Divides Rust files into parts.

use tree_sitter::Node;

use super::signature::signature;
use super::{Division, Imported, MODULE, Part, Sort, imported, siblings};
use crate::index::syntax::{all_children, children, content, field, interior};

pub(super) const DIVISION: Division<'static> = Division { attribute: "attribute_item", part: &part };

fn part(node: Node, text: &str, depth: usize) -> Part {
    let name = field(node, "name", text);
    match node.kind() {
        "function_item" | "function_signature_item" => function(node, text, depth),
        "impl_item" => implementation(node, text, depth),
        "trait_item" | "mod_item" if node.child_by_field_name("body").is_some() => {
            let variant = if node.kind() == "mod_item" { MODULE } else { "" }.to_owned();
            Part { variant, ..container(Part::new(Sort::Class, name, node), node, text, depth) }
        }
        "struct_item" | "enum_item" | "union_item" => {
            Part { listed: true, ..container(Part::new(Sort::Record, name, node), node, text, depth) }
        }
        "field_declaration" | "enum_variant" | "const_item" | "static_item" | "type_item" | "associated_type"
        | "mod_item" => Part::new(Sort::Value, name, node),
        "macro_definition" => Part::new(Sort::Function, name, node),
        "use_declaration" => import(node, text),
        _ => Part::new(Sort::Statement, "", node),
    }
}

fn function(node: Node, text: &str, depth: usize) -> Part {
    let mut part = container(Part::new(Sort::Function, field(node, "name", text), node), node, text, depth);
    part.members.retain(|member| matches!(member.sort, Sort::Function | Sort::Class));
    part.signature = signature(node, text);
    let first = node.child_by_field_name("parameters").and_then(|p| p.named_child(0));
    part.has_receiver = first.is_some_and(|first| {
        first.kind() == "self_parameter" || content(first, text).trim_start_matches("mut ").starts_with("self:")
    });
    // The attribute is above the node, not part of it.
    let before = text[..node.start_byte()].trim_end();
    let line = before.rsplit('\n').next().unwrap_or_default().trim();
    part.is_test = line.starts_with("#[") && line.contains("test");
    part
}

fn container(mut part: Part, node: Node, text: &str, depth: usize) -> Part {
    let Some(body) = node.child_by_field_name("body").filter(|body| body.kind() != "ordered_field_declaration_list")
    else {
        return part;
    };
    part.body = Some(interior(body));
    part.members = siblings(&DIVISION, all_children(body), text, depth - 1);
    part
}

/// The part's name is the type without type arguments; its variant is `impl` or `impl Trait`.
fn implementation(node: Node, text: &str, depth: usize) -> Part {
    let plain = |words: &str| words.split('<').next().unwrap_or_default().trim().to_owned();
    let of = plain(field(node, "type", text));
    let of = of.rsplit("::").next().unwrap_or_default();
    let mut part = container(Part::new(Sort::Class, of, node), node, text, depth);
    let words = field(node, "trait", text);
    let last = words.split('<').next().unwrap_or_default().rsplit("::").next().unwrap_or_default();
    let arguments: String = words.split_once('<').map_or("", |(_, rest)| rest).split_whitespace().collect();
    part.variant =
        format!("impl {last}{}{arguments}", if arguments.is_empty() { "" } else { "<" }).trim_end().to_owned();
    part
}

fn import(node: Node, text: &str) -> Part {
    Part { imports: imports(node, text), ..Part::new(Sort::Import, "", node) }
}

/// The paths that a `use` imports, in order.
pub fn imports(node: Node, text: &str) -> Vec<Imported> {
    let mut found = Vec::new();
    if let Some(argument) = node.child_by_field_name("argument") {
        leaves(argument, "", text, &mut found, super::DEPTH_MAX);
    }
    found
}

/// Adds to `found` each path that a `use` imports.
fn leaves(node: Node, prefix: &str, text: &str, found: &mut Vec<Imported>, depth: usize) {
    let join = |path: &str| if prefix.is_empty() { path.to_owned() } else { format!("{prefix}::{path}") };
    let mut leaf = |path: String, local: &str| {
        let (source, name) = path.rsplit_once("::").unwrap_or(("", path.as_str()));
        found.push(imported(source, name, local, node, false));
    };
    match node.kind() {
        "use_as_clause" => leaf(join(field(node, "path", text)), field(node, "alias", text)),
        "use_wildcard" => leaf(join(content(node, text)), ""),
        "self" => leaf(prefix.to_owned(), prefix.rsplit("::").next().unwrap_or_default()),
        "scoped_use_list" | "use_list" if depth > 0 => {
            let path = field(node, "path", text);
            let prefix = if path.is_empty() { prefix.to_owned() } else { join(path) };
            let list = node.child_by_field_name("list").unwrap_or(node);
            for child in children(list) {
                leaves(child, &prefix, text, found, depth - 1);
            }
        }
        _ => {
            let path = join(content(node, text));
            let local = path.rsplit("::").next().unwrap_or_default().to_owned();
            leaf(path, &local);
        }
    }
}
