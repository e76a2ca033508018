//! Reads TypeScript, TSX, JavaScript and JSX files into outlines; their grammars share node names.

mod modules;
mod names;
mod typing;

use tree_sitter::Node;

use super::outline::{Kind, ReferenceKind};
use super::parts::ecmascript::required;
use super::reader::Reader;
use super::types::{Type, Typing, Value};
use super::{all_children, children, unwrapped};
use modules::{export, export_properties, import};
use names::{bind, expect_arguments, parameters};
use typing::{annotated, callable, declared, value_of};

pub(super) fn visit<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    match node.kind() {
        "function_declaration" | "generator_function_declaration" | "function_signature" => {
            declare(node, reader, Kind::Function)
        }
        "class_declaration" | "abstract_class_declaration" => declare(node, reader, Kind::Class),
        "interface_declaration" => declare(node, reader, Kind::Interface),
        "type_alias_declaration" => declare(node, reader, Kind::Type),
        "enum_declaration" => declare(node, reader, Kind::Enum),
        "internal_module" | "module" => declare(node, reader, Kind::Module),
        "method_definition" | "method_signature" | "abstract_method_signature" => member(node, reader, Kind::Method),
        "property_signature" => property(node, reader),
        "public_field_definition" | "field_definition" => field(node, reader),
        "pair" => pair(node, reader),
        "object" => names::expect_pairs(node, reader),
        "variable_declarator" => variable(node, reader),
        "assignment_expression" => assignment(node, reader),
        "import_statement" => import(node, reader),
        "export_statement" => export(node, reader),
        "call_expression" => call(node, reader),
        "new_expression" => {
            name_of(node.child_by_field_name("constructor"), reader, ReferenceKind::Call);
            expect_arguments(node, reader);
        }
        "statement_block" | "for_statement" => reader.block(node),
        "for_in_statement" => names::each(node, reader),
        "if_statement" => names::narrowed(node, reader),
        "catch_clause" => names::caught(node, reader),
        "arrow_function" => parameters(node, reader),
        "function_expression" | "generator_function" => function(node, reader),
        "extends_clause" | "implements_clause" | "extends_type_clause" | "class_heritage" => heritage(node, reader),
        "jsx_opening_element" | "jsx_self_closing_element" => component(node, reader),
        "type_identifier" | "identifier" | "shorthand_property_identifier" => {
            reader.refer(node, reader.text(node), None, ReferenceKind::Use)
        }
        _ => {}
    }
}

fn child_of_kind<'t>(node: Node<'t>, kind: &str) -> Option<Node<'t>> {
    children(node).find(|c| c.kind() == kind)
}

/// The complete statement of a declaration (with `export default`, `declare`, `const`), and whether
/// it exports the declaration.
fn whole_statement(node: Node) -> (Node, bool) {
    match node.parent() {
        Some(parent) if parent.kind() == "export_statement" => (parent, true),
        Some(parent)
            if matches!(parent.kind(), "ambient_declaration" | "lexical_declaration" | "variable_declaration") =>
        {
            whole_statement(parent)
        }
        Some(parent) if parent.kind() == "expression_statement" => (parent, false),
        _ => (node, false),
    }
}

/// A string or property name without its quotes.
pub(super) fn unquoted(text: &str) -> &str {
    text.trim_matches(['"', '\'', '`'])
}

fn declare<'t>(node: Node<'t>, reader: &mut Reader<'t>, kind: Kind) {
    let (whole, exported) = whole_statement(node);
    let name = match reader.field(node, "name") {
        Some(name) => unquoted(name),
        None if exported => "default",
        None => return,
    };
    if !reader.define(whole, node, name, kind, exported) {
        return;
    }
    match kind {
        Kind::Function => {
            reader.typed(called(node, reader));
            parameters(node, reader);
        }
        _ => reader.typed(declared(node, reader)),
    }
}

/// `function name() {}` as a value: the name is visible inside it.
fn function<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    if let Some(name) = reader.field(node, "name").filter(|name| !reader.is_called(name))
        && reader.define(node, node, name, Kind::Function, false)
    {
        reader.typed(called(node, reader));
    }
    parameters(node, reader);
}

fn called(node: Node, reader: &Reader) -> Typing {
    Typing { call: Some(callable(node, reader, 0)), ..Typing::default() }
}

fn member<'t>(node: Node<'t>, reader: &mut Reader<'t>, kind: Kind) {
    let Some(name) = reader.field(node, "name") else { return };
    if reader.define(node, node, unquoted(name), kind, false) {
        let getter = all_children(node).take(4).any(|c| c.kind() == "get");
        let mut typing = called(node, reader);
        if getter {
            // A getter is treated like a field.
            typing.ty = typing.call.take().and_then(|call| call.returns);
        }
        reader.typed(typing);
        parameters(node, reader);
    }
}

/// `name: (x: X) => Y` in an interface: a method.
fn property<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    // Types nest a few levels; deeper ones become `Unknown`.
    fn is_called(ty: &Type) -> bool {
        matches!(ty, Type::Function(_)) || matches!(ty, Type::Many(parts) if parts.iter().any(is_called))
    }
    let Some(ty) = annotated(node.child_by_field_name("type"), reader).filter(is_called) else { return };
    if reader.field(node, "name").is_some_and(|name| reader.define(node, node, unquoted(name), Kind::Method, false)) {
        reader.typed(Typing { ty: Some(ty), ..Typing::default() });
    }
}

pub(super) fn is_function(node: Node) -> bool {
    matches!(node.kind(), "arrow_function" | "function_expression" | "generator_function" | "function")
}

/// A value without surrounding parentheses, `as T` and the like.
fn bare(node: Node<'_>) -> Node<'_> {
    let wraps = ["parenthesized_expression", "as_expression", "satisfies_expression", "non_null_expression"];
    unwrapped(node, |node| node.named_child(0).filter(|_| wraps.contains(&node.kind())))
}

/// The declared type and the initial value of a name.
fn held(node: Node, value: Option<Node>, reader: &Reader) -> Typing {
    let ty = annotated(node.child_by_field_name("type"), reader);
    match value.map(bare).filter(|v| is_function(*v)) {
        Some(function) if ty.is_none() => called(function, reader),
        _ => Typing { ty, value: value.map(|v| value_of(v, reader)), ..Typing::default() },
    }
}

/// A class field: a method if it holds a function, otherwise a variable of the class.
fn field<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    let value = node.child_by_field_name("value");
    let kind = match value {
        Some(value) if is_function(bare(value)) => Kind::Method,
        _ => Kind::Variable,
    };
    let name = reader.field(node, "name").or_else(|| reader.field(node, "property"));
    if name.is_some_and(|name| reader.define(node, node, unquoted(name), kind, false)) {
        let typing = held(node, value, reader);
        if let (Some(ty), Some(value)) = (&typing.ty, value) {
            reader.expect(bare(value), Value::Is(ty.clone()));
        }
        reader.typed(typing);
    }
}

/// `{ name: function () {} }`: a method of the object.
fn pair<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    let value = node.child_by_field_name("value").map(bare).filter(|v| is_function(*v));
    if let (Some(key), Some(value)) = (reader.field(node, "key"), value)
        && reader.define(node, node, unquoted(key), Kind::Method, false)
    {
        reader.typed(called(value, reader));
    }
}

/// `const name = value`: a definition if it is at the top of a file or holds a function, else a
/// local name.
fn variable<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    let Some(pattern) = node.child_by_field_name("name") else { return };
    let value = node.child_by_field_name("value");
    if let Some(imports) = required(node, reader.source) {
        return modules::note(node, imports, reader);
    }
    let function = value.is_some_and(|v| is_function(bare(v)));
    let typing = held(node, value, reader);
    if let Some(value) = value {
        names::expect_value(value, typing.ty.as_ref(), reader);
    }
    if pattern.kind() != "identifier" || (reader.in_function() && !function) {
        let lines = reader.block_lines(node);
        let held = match (typing.ty, typing.value) {
            (Some(ty), _) => Value::Is(ty),
            (None, value) => value.unwrap_or(Value::Unknown),
        };
        return bind(pattern, held, lines, reader);
    }
    let kind = match value.map(|v| v.kind()) {
        _ if function => Kind::Function,
        Some("class") => Kind::Class,
        _ => Kind::Variable,
    };
    let (whole, exported) = whole_statement(node);
    if reader.define(whole, node, reader.text(pattern), kind, exported) {
        match value.filter(|v| v.kind() == "class") {
            Some(class) => reader.typed(declared(class, reader)),
            None => reader.typed(typing),
        }
    }
}

/// `a.b = function …` defines b; `module.exports = x` and `exports.b = x` export.
fn assignment<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    let (Some(left), Some(right)) = (node.child_by_field_name("left"), node.child_by_field_name("right")) else {
        return;
    };
    if left.kind() != "member_expression" {
        return;
    }
    let (object, name) =
        (reader.field(left, "object").unwrap_or_default(), reader.field(left, "property").unwrap_or_default());
    let right = bare(right);
    let inner = right.child_by_field_name("left").filter(|_| right.kind() == "assignment_expression");
    let value = inner.map_or_else(|| reader.text(right), |i| reader.text(i));
    let plain = value.len() <= 60 && value.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$');
    if object == "module" && name == "exports" {
        export_properties(node, right, reader);
        reader.export(node, "default", if plain { value } else { "" }, None);
        return;
    }
    let exported = object == "exports" || object == "module.exports";
    if is_function(right) || right.kind() == "class" {
        let kind = if exported { Kind::Function } else { Kind::Method };
        reader.expect(right, value_of(left, reader));
        if reader.define(whole_statement(node).0, node, name, kind, exported) && is_function(right) {
            reader.typed(called(right, reader));
        }
    }
    if exported {
        reader.export(node, name, if plain { value } else { name }, None);
    }
}

fn call<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    let Some(function) = node.child_by_field_name("function") else { return };
    if function.kind() == "import" || function.kind() == "identifier" && reader.text(function) == "require" {
        let argument = node.child_by_field_name("arguments").and_then(|a| a.named_child(0));
        if let Some(source) = argument.filter(|a| a.kind() == "string") {
            reader.import(node, unquoted(reader.text(source)), "", "");
        }
        return;
    }
    name_of(Some(function), reader, ReferenceKind::Call);
    expect_arguments(node, reader);
}

/// Records a reference to `name` or `receiver.name`.
fn name_of<'t>(node: Option<Node<'t>>, reader: &mut Reader<'t>, kind: ReferenceKind) {
    let Some(node) = node else { return };
    let wraps = |node: &Node<'t>| {
        matches!(node.kind(), "generic_type" | "parenthesized_expression" | "non_null_expression" | "await_expression")
    };
    let node = unwrapped(node, |node| if wraps(&node) { node.named_child(0) } else { None });
    match node.kind() {
        "identifier" | "type_identifier" => reader.refer(node, reader.text(node), None, kind),
        "super" if kind == ReferenceKind::Call => reader.refer(node, "super", None, kind),
        "member_expression" | "nested_type_identifier" => {
            let name = reader.field(node, "property").or_else(|| reader.field(node, "name")).unwrap_or_default();
            let object = node.child_by_field_name("object");
            let receiver = object.map(|o| reader.text(o)).or_else(|| reader.field(node, "module"));
            let value = object.filter(|_| kind == ReferenceKind::Call).map(|o| value_of(o, reader));
            reader.refer_to(node, name, receiver, value, kind);
        }
        _ => {}
    }
}

fn heritage<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    children(node).for_each(|base| name_of(Some(base), reader, ReferenceKind::Extends));
}

/// `<Name …>` calls a component; `<div>` does not.
fn component<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    let name = node.child_by_field_name("name");
    let written = name.map(|n| reader.text(n)).unwrap_or_default();
    if written.contains('.') || written.starts_with(char::is_uppercase) {
        name_of(name, reader, ReferenceKind::Call);
    }
}
