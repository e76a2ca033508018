//! Reads types and values from the syntax trees of TypeScript and JavaScript.

use tree_sitter::Node;

use super::{child_of_kind, is_function, unquoted};
use crate::base::is_listed;
use crate::index::syntax::reader::Reader;
use crate::index::syntax::types::{Callable, Field, Generic, Line, SPREAD, Type, Typing, Value};
use crate::index::syntax::{all_children, children};

/// Types and values nested deeper than this are `Unknown`.
const DEPTH_MAX: usize = 14;
/// Maximum number of parts read from one type or object.
const PARTS_MAX: usize = 400;
/// Maximum number of arguments read in one call or type; twice as many for parameters.
const ARGUMENTS_MAX: usize = 6;
/// Maximum number of nodes visited for the `return`s of one function, and of `return`s read.
const RETURN_NODES_MAX: usize = 2_000;
const RETURNS_MAX: usize = 4;

/// Node kinds besides statements that may contain a `return`.
const BRANCHES: &str = "else_clause switch_body switch_case switch_default catch_clause finally_clause";

/// The type in an annotation `: T`, or the node itself.
pub(super) fn annotated(node: Option<Node>, reader: &Reader) -> Option<Type> {
    let node = node?;
    match node.kind() {
        "type_annotation" => Some(type_of(node.named_child(0)?, reader, 0)),
        "asserts_annotation" | "type_predicate_annotation" => Some(Type::Basic),
        _ => Some(type_of(node, reader, 0)),
    }
}

pub(super) fn type_of(node: Node, reader: &Reader, depth: usize) -> Type {
    if depth > DEPTH_MAX {
        return Type::Unknown;
    }
    let inner = |node: Option<Node>| node.map_or(Type::Unknown, |n| type_of(n, reader, depth + 1));
    let boxed = |node: Option<Node>| Box::new(inner(node));
    match node.kind() {
        "predefined_type" if matches!(reader.text(node), "any" | "unknown" | "object") => Type::Unknown,
        "predefined_type"
        | "literal_type"
        | "template_literal_type"
        | "index_type_query"
        | "type_predicate"
        | "asserts" => Type::Basic,
        "type_identifier" | "identifier" | "nested_type_identifier" | "nested_identifier" | "member_expression" => {
            Type::Named(reader.text(node).to_owned(), Vec::new())
        }
        "generic_type" => {
            let name = reader.field(node, "name").unwrap_or_default().to_owned();
            Type::Named(name, type_arguments(node, reader, depth))
        }
        "array_type" => Type::List(boxed(node.named_child(0))),
        "tuple_type" => Type::List(Box::new(Type::Many(children(node).take(8).map(|c| inner(Some(c))).collect()))),
        "readonly_type" | "parenthesized_type" | "optional_type" | "rest_type" | "type_annotation" => {
            inner(node.named_child(0))
        }
        "required_parameter" | "optional_parameter" => inner(node.child_by_field_name("type")),
        "union_type" | "intersection_type" => many(node, reader, depth),
        "conditional_type" => Type::Many(vec![
            inner(node.child_by_field_name("consequence")),
            inner(node.child_by_field_name("alternative")),
        ]),
        "object_type" | "interface_body" => Type::Object(fields(node, reader, depth)),
        "function_type" => Type::Function(Box::new(callable(node, reader, depth))),
        "lookup_type" => {
            let index = node.named_child(1).map(|n| reader.text(n)).unwrap_or_default();
            let name = if index.starts_with(['"', '\'']) { unquoted(index) } else { "[]" };
            Type::Field(boxed(node.named_child(0)), name.to_owned())
        }
        "type_query" => Type::Of(Box::new(node.named_child(0).map_or(Value::Unknown, |n| value_at(n, reader, depth)))),
        "this_type" | "this" => Type::This,
        _ => Type::Unknown,
    }
}

/// The parts of `a | b | c`, which the grammar nests to the left.
fn many(node: Node, reader: &Reader, depth: usize) -> Type {
    let mut parts = Vec::new();
    let mut waiting: Vec<Node> = vec![node];
    while let Some(part) = waiting.pop().filter(|_| parts.len() < PARTS_MAX) {
        match part.kind() {
            "union_type" | "intersection_type" => waiting.extend(children(part)),
            _ => parts.push(type_of(part, reader, depth + 1)),
        }
    }
    parts.retain(|part| *part != Type::Basic);
    match parts.len() {
        0 => Type::Basic,
        1 => parts.remove(0),
        _ => Type::Many(parts),
    }
}

fn fields(node: Node, reader: &Reader, depth: usize) -> Vec<Field> {
    let mut fields = Vec::new();
    for part in children(node).take(PARTS_MAX) {
        let name = || unquoted(reader.field(part, "name").unwrap_or_default()).to_owned();
        let typed = || annotated(part.child_by_field_name("type"), reader).unwrap_or(Type::Unknown);
        let called = || Type::Function(Box::new(callable(part, reader, depth + 1)));
        let (name, ty) = match part.kind() {
            "property_signature" => (name(), typed()),
            "method_signature" => (name(), called()),
            "construct_signature" => ("new".to_owned(), called()),
            "call_signature" => ("()".to_owned(), called()),
            "index_signature" => ("[]".to_owned(), typed()),
            _ => continue,
        };
        fields.push(Field { name, ty, line: Line(part.start_position().row + 1) });
    }
    fields
}

fn type_arguments(node: Node, reader: &Reader, depth: usize) -> Vec<Type> {
    let arguments = node.child_by_field_name("type_arguments").or_else(|| child_of_kind(node, "type_arguments"));
    let all = arguments.into_iter().flat_map(children).take(ARGUMENTS_MAX);
    all.map(|argument| type_of(argument, reader, depth + 1)).collect()
}

pub(super) fn generics(node: Node, reader: &Reader, depth: usize) -> Vec<Generic> {
    let parameters = node.child_by_field_name("type_parameters");
    let all = parameters.into_iter().flat_map(children).take(ARGUMENTS_MAX * 2);
    all.map(|one| {
        let part = |field: &str| {
            let part = one.child_by_field_name(field)?.named_child(0)?;
            Some(type_of(part, reader, depth + 1))
        };
        let name = reader.field(one, "name").unwrap_or_default().to_owned();
        Generic { name, bound: part("constraint"), default: part("value") }
    })
    .collect()
}

/// Parameters and result of a function, method or function type.
pub(super) fn callable(node: Node, reader: &Reader, depth: usize) -> Callable {
    let parameters = node.child_by_field_name("parameters");
    let params = parameters.into_iter().flat_map(children).take(ARGUMENTS_MAX * 2);
    let params = params.filter(|p| p.kind() != "comment");
    let params = params.map(|p| annotated(p.child_by_field_name("type"), reader)).collect();
    let returns = annotated(node.child_by_field_name("return_type"), reader)
        .or_else(|| annotated(node.child_by_field_name("type").filter(|t| t.kind() == "type_annotation"), reader))
        .or_else(|| returned(node, reader, depth));
    Callable { generics: generics(node, reader, depth), params, returns }
}

/// The return type of a function that declares none, from its `return` statements.
fn returned(node: Node, reader: &Reader, depth: usize) -> Option<Type> {
    if depth > DEPTH_MAX / 2 {
        return None;
    }
    let body = node.child_by_field_name("body")?;
    let is_async = all_children(node).take(4).any(|c| c.kind() == "async");
    let wrap = |value: Value| {
        if is_async {
            Type::Named("Promise".into(), vec![Type::Of(Box::new(Value::Awaited(Box::new(value))))])
        } else {
            Type::Of(Box::new(value))
        }
    };
    if body.kind() != "statement_block" {
        return Some(wrap(value_at(body, reader, depth + 2)));
    }
    let mut values = Vec::new();
    let mut waiting: Vec<Node> = children(body).collect();
    waiting.reverse();
    for _ in 0..RETURN_NODES_MAX {
        let Some(node) = waiting.pop().filter(|_| values.len() < RETURNS_MAX) else { break };
        match node.kind() {
            "return_statement" => values.extend(node.named_child(0).map(|v| value_at(v, reader, depth + 2))),
            kind if kind.ends_with("_statement") || is_listed(BRANCHES, kind) => {
                let at = waiting.len();
                waiting.extend(children(node));
                waiting[at..].reverse();
            }
            _ => {}
        }
    }
    match values.len() {
        0 => Some(Type::Basic),
        1 => Some(wrap(values.remove(0))),
        _ => Some(wrap(Value::Either(values))),
    }
}

pub(super) fn value_of(node: Node, reader: &Reader) -> Value {
    value_at(node, reader, 0)
}

fn value_at(node: Node, reader: &Reader, depth: usize) -> Value {
    if depth > DEPTH_MAX {
        return Value::Unknown;
    }
    let inner = |node: Option<Node>| node.map_or(Value::Unknown, |n| value_at(n, reader, depth + 1));
    let boxed = |node: Option<Node>| Box::new(inner(node));
    let field = |name: &str| node.child_by_field_name(name);
    match node.kind() {
        "identifier" | "type_identifier" | "shorthand_property_identifier" => Value::Name(reader.text(node).to_owned()),
        "this" => Value::This,
        "super" => Value::Super,
        "member_expression" | "nested_identifier" => {
            Value::Member(boxed(field("object")), reader.field(node, "property").unwrap_or_default().to_owned())
        }
        "subscript_expression" => match field("index").filter(|index| index.kind() == "string") {
            Some(index) => Value::Member(boxed(field("object")), unquoted(reader.text(index)).to_owned()),
            None => Value::Item(boxed(field("object"))),
        },
        "call_expression" => {
            Value::Call(boxed(field("function")), arguments(node, reader, depth), type_arguments(node, reader, depth))
        }
        "new_expression" => {
            Value::New(boxed(field("constructor")), arguments(node, reader, depth), type_arguments(node, reader, depth))
        }
        "await_expression" => Value::Awaited(boxed(node.named_child(0))),
        "as_expression" => match node.named_child(1) {
            Some(ty) => Value::Is(type_of(ty, reader, depth + 1)),
            None => inner(node.named_child(0)),
        },
        "satisfies_expression" | "non_null_expression" | "parenthesized_expression" | "sequence_expression" => {
            inner(node.named_child(0))
        }
        "ternary_expression" => Value::Either(vec![inner(field("consequence")), inner(field("alternative"))]),
        "binary_expression" => match reader.field(node, "operator").unwrap_or_default() {
            "||" | "??" => Value::Either(vec![inner(field("left")), inner(field("right"))]),
            "&&" => inner(field("right")),
            _ => Value::Is(Type::Basic),
        },
        "assignment_expression" | "augmented_assignment_expression" => inner(field("right")),
        "object" => Value::Object(object(node, reader, depth)),
        "array" => Value::List(children(node).take(2).map(|c| inner(Some(c))).collect()),
        "string" | "template_string" | "number" | "regex" | "true" | "false" | "null" | "undefined"
        | "unary_expression" => Value::Is(Type::Basic),
        _ if is_function(node) => Value::Function(Box::new(callable(node, reader, depth + 1))),
        _ => Value::Unknown,
    }
}

fn arguments(node: Node, reader: &Reader, depth: usize) -> Vec<Value> {
    let all = node.child_by_field_name("arguments").into_iter().flat_map(children).take(ARGUMENTS_MAX);
    all.map(|argument| value_at(argument, reader, depth + 2)).collect()
}

fn object(node: Node, reader: &Reader, depth: usize) -> Vec<(String, Value)> {
    let mut fields = Vec::new();
    for part in children(node).take(PARTS_MAX / 4) {
        let name = |field: &str| unquoted(reader.field(part, field).unwrap_or_default()).to_owned();
        let value = |node: Option<Node>| node.map_or(Value::Unknown, |v| value_at(v, reader, depth + 1));
        fields.push(match part.kind() {
            "pair" => (name("key"), value(part.child_by_field_name("value"))),
            "shorthand_property_identifier" => (reader.text(part).to_owned(), value(Some(part))),
            "method_definition" => (name("name"), Value::Function(Box::new(callable(part, reader, depth + 1)))),
            "spread_element" => (SPREAD.to_owned(), value(part.named_child(0))),
            _ => continue,
        });
    }
    fields
}

/// Type parameters, bases and fields of a declared interface, class, alias or enum.
pub(super) fn declared(node: Node, reader: &Reader) -> Typing {
    let mut typing = Typing { generics: generics(node, reader, 0), ..Typing::default() };
    let heritage =
        children(node).filter(|c| matches!(c.kind(), "class_heritage" | "extends_type_clause" | "extends_clause"));
    let clauses = heritage.flat_map(|h| {
        let inside: Vec<Node> =
            children(h).filter(|c| matches!(c.kind(), "extends_clause" | "implements_clause")).collect();
        if inside.is_empty() { vec![h] } else { inside }
    });
    for clause in clauses {
        let arguments = child_of_kind(clause, "type_arguments");
        for base in children(clause).filter(|c| c.kind() != "type_arguments") {
            let mut ty = type_of(base, reader, 0);
            if let (Type::Named(_, own), Some(arguments)) = (&mut ty, arguments)
                && own.is_empty()
                && clause.kind() == "extends_clause"
            {
                *own = children(arguments).take(ARGUMENTS_MAX).map(|a| type_of(a, reader, 0)).collect();
            }
            typing.bases.push(ty);
        }
    }
    match node.kind() {
        "interface_declaration" => {
            typing.ty = node.child_by_field_name("body").map(|body| type_of(body, reader, 0));
        }
        "type_alias_declaration" => typing.ty = node.child_by_field_name("value").map(|v| type_of(v, reader, 0)),
        "class_declaration" | "abstract_class_declaration" | "class" => {
            let own = node.child_by_field_name("body").map_or(Vec::new(), |body| undeclared_fields(body, reader));
            typing.ty = Some(Type::Object(own));
        }
        _ => {}
    }
    typing
}

/// Fields that a class has without declaring them: `constructor(private x: X)`, `this.x = new X()`
/// in the constructor.
fn undeclared_fields(body: Node, reader: &Reader) -> Vec<Field> {
    let mut fields = Vec::new();
    let constructor =
        children(body).find(|m| m.kind() == "method_definition" && reader.field(*m, "name") == Some("constructor"));
    let Some(constructor) = constructor else { return fields };
    let parameters: Vec<Node> = constructor.child_by_field_name("parameters").into_iter().flat_map(children).collect();
    let mut typed = Vec::new();
    for parameter in parameters.iter().take(PARTS_MAX) {
        let name = reader.field(*parameter, "pattern").unwrap_or_default().to_owned();
        let Some(ty) = annotated(parameter.child_by_field_name("type"), reader) else { continue };
        typed.push((name.clone(), ty.clone()));
        let first = parameter.child(0).map_or("", |c| c.kind());
        if matches!(first, "accessibility_modifier" | "readonly" | "override_modifier") {
            fields.push(Field { name, ty, line: Line(parameter.start_position().row + 1) });
        }
    }
    let statements = constructor.child_by_field_name("body").into_iter().flat_map(children).take(PARTS_MAX);
    for statement in statements.filter(|s| s.kind() == "expression_statement") {
        let Some(assignment) = statement.named_child(0).filter(|a| a.kind() == "assignment_expression") else {
            continue;
        };
        let (Some(left), Some(right)) =
            (assignment.child_by_field_name("left"), assignment.child_by_field_name("right"))
        else {
            continue;
        };
        if left.kind() == "member_expression" && reader.field(left, "object") == Some("this") {
            let name = reader.field(left, "property").unwrap_or_default().to_owned();
            let parameter = typed.iter().find(|(p, _)| p == reader.text(right)).map(|(_, ty)| ty.clone());
            let ty = parameter.unwrap_or_else(|| Type::Of(Box::new(value_of(right, reader))));
            fields.push(Field { name, ty, line: Line(left.start_position().row + 1) });
        }
    }
    fields
}
