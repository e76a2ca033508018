//! Reads Go files into outlines.

use tree_sitter::Node;

use super::outline::{Kind, ReferenceKind};
use super::parts::go::package_name;
use super::reader::Reader;
use super::{children, unwrapped};

pub(super) fn visit<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    match node.kind() {
        "function_declaration" => declare(node, node, reader, Kind::Function),
        "method_declaration" => method(node, reader),
        "method_elem" => declare(node, node, reader, Kind::Method),
        "type_spec" => type_spec(node, reader),
        "type_alias" => declare(statement(node), node, reader, Kind::Type),
        "const_spec" => variables(node, reader, Kind::Constant),
        "var_spec" => variables(node, reader, Kind::Variable),
        "import_spec" => import(node, reader),
        "call_expression" => name_of(node.child_by_field_name("function"), reader, ReferenceKind::Call),
        // The grammar parses `F[int](x)` as a type conversion.
        "type_conversion_expression" => name_of(node.child_by_field_name("type"), reader, ReferenceKind::Call),
        "qualified_type" | "selector_expression" => name_of(Some(node), reader, ReferenceKind::Use),
        "type_identifier" | "identifier" if !reader.in_field("name") => {
            reader.refer(node, reader.text(node), None, ReferenceKind::Use)
        }
        "field_declaration" if node.child_by_field_name("name").is_none() => embedded(node, reader),
        "type_elem" if reader.kind_inside() == Some(Kind::Interface) && node.named_child_count() == 1 => {
            name_of(node.named_child(0), reader, ReferenceKind::Extends)
        }
        "parameter_declaration" | "variadic_parameter_declaration" => {
            names(node, "name").for_each(|name| reader.local(reader.text(name)))
        }
        "short_var_declaration" | "range_clause" | "receive_statement" => {
            bind(node.child_by_field_name("left"), reader)
        }
        "type_switch_statement" => bind(node.child_by_field_name("alias"), reader),
        _ => {}
    }
}

/// The named children in a field.
fn names<'t>(node: Node<'t>, field: &'static str) -> impl Iterator<Item = Node<'t>> {
    let all = 0..node.child_count();
    let named = all.filter(move |i| node.field_name_for_child(*i) == Some(field));
    named.filter_map(move |i| node.child(i)).filter(|name| name.is_named())
}

/// The declaration around a single specification (`type A struct …`), because its keyword belongs
/// to the signature and its comment is the doc comment; else the specification itself.
fn statement(spec: Node<'_>) -> Node<'_> {
    let alone =
        |parent: &Node| parent.kind().ends_with("_declaration") && parent.child(1).is_none_or(|c| c.kind() != "(");
    spec.parent().filter(alone).filter(|parent| parent.named_child_count() == 1).unwrap_or(spec)
}

/// Whether a name is exported: it begins with a capital letter.
fn is_exported(name: &str) -> bool {
    name.starts_with(char::is_uppercase)
}

fn declare<'t>(whole: Node<'t>, node: Node<'t>, reader: &mut Reader<'t>, kind: Kind) {
    let Some(name) = reader.field(node, "name") else { return };
    if is_exported(name) && reader.inside().is_none() {
        reader.export(node, name, name, None);
    }
    reader.define(whole, node, name, kind, is_exported(name));
}

fn type_spec<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    let kind = match node.child_by_field_name("type").map(|t| t.kind()) {
        Some("struct_type") => Kind::Struct,
        Some("interface_type") => Kind::Interface,
        _ => Kind::Type,
    };
    declare(statement(node), node, reader, kind);
}

/// `func (s *Store[T]) Get()`: a member of `Store` with the receiver `s`.
fn method<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    let Some(name) = reader.field(node, "name") else { return };
    if !reader.define(node, node, name, Kind::Method, is_exported(name)) {
        return;
    }
    let Some(receiver) = node.child_by_field_name("receiver").and_then(|r| r.named_child(0)) else { return };
    if let Some(owner) = receiver.child_by_field_name("type").map(plain) {
        reader.member_of(reader.text(owner));
    }
    if let Some(own) = reader.field(receiver, "name") {
        reader.own_value(own);
    }
}

/// Constants and variables: definitions at the top of a file, local names in a function.
fn variables<'t>(node: Node<'t>, reader: &mut Reader<'t>, kind: Kind) {
    let whole = match node.parent() {
        Some(list) if list.kind() == "var_spec_list" => node,
        _ => statement(node),
    };
    for name in names(node, "name") {
        if reader.in_function() {
            reader.local(reader.text(name));
            continue;
        }
        // The names of one specification are siblings, not nested.
        reader.leave_before(node.end_byte());
        let name = reader.text(name);
        if is_exported(name) {
            reader.export(node, name, name, None);
        }
        reader.define(whole, node, name, kind, is_exported(name));
    }
}

fn import<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    let Some(path) = reader.field(node, "path").map(|p| p.trim_matches(['"', '`'])) else { return };
    match reader.field(node, "name") {
        Some("_") => reader.import(node, path, "", ""),
        Some(".") => reader.import(node, path, "*", "*"),
        Some(name) => reader.import(node, path, "*", name),
        None => reader.import(node, path, "*", package_name(path)),
    }
}

/// A struct has its embedded types' members, so these types count as its bases.
fn embedded<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    name_of(node.child_by_field_name("type"), reader, ReferenceKind::Extends);
}

/// The type or function without pointers, parentheses or type arguments.
fn plain(node: Node<'_>) -> Node<'_> {
    unwrapped(node, |node| match node.kind() {
        "pointer_type" | "parenthesized_expression" | "parenthesized_type" | "type_elem" => node.named_child(0),
        "generic_type" | "type_instantiation_expression" => node.child_by_field_name("type"),
        "index_expression" | "unary_expression" => node.child_by_field_name("operand"),
        _ => None,
    })
}

/// Records a reference to `name` or `receiver.name`.
fn name_of<'t>(node: Option<Node<'t>>, reader: &mut Reader<'t>, kind: ReferenceKind) {
    let Some(node) = node.map(plain) else { return };
    match node.kind() {
        "identifier" | "type_identifier" => reader.refer(node, reader.text(node), None, kind),
        "qualified_type" => {
            let name = reader.field(node, "name").unwrap_or_default();
            reader.refer(node, name, reader.field(node, "package"), kind);
        }
        "selector_expression" => {
            let Some(operand) = node.child_by_field_name("operand") else { return };
            let name = reader.field(node, "field").unwrap_or_default();
            // A use counts only if its receiver is the name of a package or type.
            if kind != ReferenceKind::Use || operand.kind() == "identifier" {
                reader.refer(node, name, Some(reader.text(operand)), kind);
            }
        }
        _ => {}
    }
}

fn bind<'t>(names: Option<Node<'t>>, reader: &mut Reader<'t>) {
    let names = names.into_iter().flat_map(children);
    names.filter(|n| n.kind() == "identifier").for_each(|name| reader.local(reader.text(name)));
}
