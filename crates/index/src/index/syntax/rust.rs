//! Reads Rust files into outlines.

use tree_sitter::Node;

use super::outline::{Kind, ReferenceKind};
use super::parts::rust::imports;
use super::reader::Reader;
use super::{all_children, children, unwrapped};

pub(super) fn visit<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    match node.kind() {
        "function_item" | "function_signature_item" => function(node, reader),
        "struct_item" | "union_item" => declare(node, reader, Kind::Struct),
        "enum_item" => declare(node, reader, Kind::Enum),
        "trait_item" => declare(node, reader, Kind::Trait),
        "type_item" => declare(node, reader, Kind::Type),
        "const_item" | "static_item" => declare(node, reader, Kind::Constant),
        "macro_definition" => declare(node, reader, Kind::Macro),
        "mod_item" => module(node, reader),
        "impl_item" => implementation(node, reader),
        "use_declaration" => import(node, reader),
        "call_expression" => called(node.child_by_field_name("function"), reader),
        "macro_invocation" => called(node.child_by_field_name("macro"), reader),
        "token_tree" => calls_in_tokens(node, reader),
        "let_declaration" | "parameter" => bind(node, reader),
        "type_identifier" | "identifier" => reader.refer(node, reader.text(node), None, ReferenceKind::Use),
        _ => {}
    }
}

fn is_public(node: Node) -> bool {
    children(node).any(|c| c.kind() == "visibility_modifier")
}

fn declare<'t>(node: Node<'t>, reader: &mut Reader<'t>, kind: Kind) {
    let Some(name) = reader.field(node, "name") else { return };
    let public = is_public(node);
    if public && reader.inside().is_none() {
        reader.export(node, name, name, None);
    }
    reader.define(node, node, name, kind, public);
}

fn function<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    let kind = match reader.kind_inside() {
        Some(Kind::Impl | Kind::Trait) => Kind::Method,
        _ => Kind::Function,
    };
    declare(node, reader, kind);
}

/// `mod name { … }` is a container; `mod name;` imports the file of that name.
fn module<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    let Some(name) = reader.field(node, "name") else { return };
    if node.child_by_field_name("body").is_some() {
        return declare(node, reader, Kind::Module);
    }
    reader.import(node, &format!("self::{name}"), "*", name);
    if is_public(node) {
        reader.export(node, name, "*", Some(&format!("self::{name}")));
    }
}

/// `impl Trait for Type`: a container named after the type, which extends the trait.
fn implementation<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    let Some(name) = node.child_by_field_name("type").and_then(|t| type_name(t, reader)) else { return };
    reader.define(node, node, name, Kind::Impl, false);
    if let Some(base) = node.child_by_field_name("trait") {
        let path = reader.text(base);
        let receiver = path.split('<').next().and_then(|p| p.rsplit_once("::")).map(|(path, _)| path);
        if let Some(name) = type_name(base, reader) {
            reader.refer(base, name, receiver, ReferenceKind::Extends);
        }
    }
}

/// The last name of a type's path: `Index` for `crate::Index<'a, T>`, `&Index`.
fn type_name<'t>(node: Node<'t>, reader: &Reader<'t>) -> Option<&'t str> {
    let wrapped = |node: &Node<'t>| matches!(node.kind(), "generic_type" | "reference_type");
    let node = unwrapped(node, |node| if wrapped(&node) { node.child_by_field_name("type") } else { None });
    match node.kind() {
        "type_identifier" | "primitive_type" => Some(reader.text(node)),
        "scoped_type_identifier" => reader.field(node, "name"),
        _ => None,
    }
}

/// `use a::{b, c as d, e::*}`: one import per name; `pub use` exports it as well.
fn import<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    let public = is_public(node);
    for one in imports(node, reader.source) {
        let local = if one.name == "*" { "*" } else { &one.local };
        reader.import(node, &one.source, &one.name, local);
        if public {
            reader.export(node, local, &one.name, Some(&one.source));
        }
    }
}

fn called<'t>(function: Option<Node<'t>>, reader: &mut Reader<'t>) {
    let Some(node) = function else { return };
    let generic = |node: &Node<'t>| node.kind() == "generic_function";
    let node = unwrapped(node, |node| if generic(&node) { node.child_by_field_name("function") } else { None });
    match node.kind() {
        "identifier" => reader.refer(node, reader.text(node), None, ReferenceKind::Call),
        "scoped_identifier" => {
            let name = reader.field(node, "name").unwrap_or_default();
            reader.refer(node, name, reader.field(node, "path"), ReferenceKind::Call);
        }
        "field_expression" => {
            let name = reader.field(node, "field").unwrap_or_default();
            reader.refer(node, name, reader.field(node, "value"), ReferenceKind::Call);
        }
        _ => {}
    }
}

/// Macro arguments are plain tokens: a name directly before `(` is a call there too.
fn calls_in_tokens<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    let tokens: Vec<Node> = all_children(node).collect();
    for (at, pair) in tokens.windows(2).enumerate() {
        let (name, arguments) = (pair[0], pair[1]);
        let opens = arguments.kind() == "token_tree" && reader.text(arguments).starts_with('(');
        if name.kind() != "identifier" || !opens {
            continue;
        }
        let before = |back: usize| at.checked_sub(back).map(|i| reader.text(tokens[i]));
        let receiver = before(1).filter(|t| matches!(*t, "." | "::")).and_then(|_| before(2));
        reader.refer(name, reader.text(name), receiver, ReferenceKind::Call);
    }
}

fn bind<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    /// Maximum number of nodes visited in one pattern; hand-written patterns are smaller.
    const NODES_MAX: usize = 200;
    let mut waiting: Vec<Node> = node.child_by_field_name("pattern").into_iter().collect();
    for _ in 0..NODES_MAX {
        let Some(node) = waiting.pop() else { return };
        match node.kind() {
            "identifier" => reader.local(reader.text(node)),
            "tuple_pattern" | "ref_pattern" | "reference_pattern" | "mut_pattern" | "slice_pattern" => {
                waiting.extend(children(node))
            }
            _ => {}
        }
    }
}
