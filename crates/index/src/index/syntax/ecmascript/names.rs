//! Records parameters and local variables of TypeScript and JavaScript, with their values.

use tree_sitter::Node;

use super::typing::{annotated, value_of};
use super::{bare, is_function, unquoted};
use crate::index::syntax::children;
use crate::index::syntax::reader::Reader;
use crate::index::syntax::types::{Type, Value};

/// First and last line, counted from 1.
fn lines(node: Node) -> (usize, usize) {
    (node.start_position().row + 1, node.end_position().row + 1)
}

/// Records the names that a pattern binds on some lines: `x`, `{a, b: c}`, `[d, ...e]`, `f = 1`.
pub(super) fn bind<'t>(pattern: Node<'t>, value: Value, lines: (usize, usize), reader: &mut Reader<'t>) {
    /// Maximum number of nodes visited in one pattern; hand-written patterns are smaller.
    const NODES_MAX: usize = 500;
    let mut waiting: Vec<(Node, Value)> = vec![(pattern, value)];
    for _ in 0..NODES_MAX {
        let Some((node, value)) = waiting.pop() else { return };
        let member = |name: &str| match &value {
            Value::Unknown => Value::Unknown,
            value => Value::Member(Box::new(value.clone()), unquoted(name).to_owned()),
        };
        match node.kind() {
            "identifier" => {
                reader.local(reader.text(node));
                reader.bind(reader.text(node), value, lines);
            }
            "shorthand_property_identifier_pattern" => {
                reader.local(reader.text(node));
                reader.bind(reader.text(node), member(reader.text(node)), lines);
            }
            "pair_pattern" => {
                let inner = member(reader.field(node, "key").unwrap_or_default());
                waiting.extend(node.child_by_field_name("value").map(|v| (v, inner)));
            }
            "assignment_pattern" | "object_assignment_pattern" => {
                waiting.extend(node.child_by_field_name("left").map(|l| (l, value)))
            }
            "object_pattern" => waiting.extend(children(node).map(|c| (c, value.clone()))),
            "array_pattern" => {
                let item = match &value {
                    Value::Unknown => Value::Unknown,
                    value => Value::Item(Box::new(value.clone())),
                };
                waiting.extend(children(node).map(|c| (c, item.clone())));
            }
            "rest_pattern" => waiting.extend(children(node).map(|c| (c, Value::Unknown))),
            _ => {}
        }
    }
}

/// Records the parameters of a function, with types from their annotations or from the type
/// expected of the function.
pub(super) fn parameters<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    let expected = reader.expected(node);
    reader.function(node);
    let lines = lines(node);
    // `(a) => (b) => …`: the inner function has the return type expected of the outer one.
    if let (Some(expected), Some(body)) = (&expected, node.child_by_field_name("body").filter(|b| is_function(*b))) {
        reader.expect(body, Value::Call(Box::new(expected.clone()), Vec::new(), Vec::new()));
    }
    let listed = node.child_by_field_name("parameters").into_iter().flat_map(children);
    let all = node.child_by_field_name("parameter").into_iter().chain(listed).filter(|p| p.kind() != "comment");
    for (at, parameter) in all.enumerate() {
        let pattern = parameter.child_by_field_name("pattern").unwrap_or(parameter);
        let value = match (annotated(parameter.child_by_field_name("type"), reader), &expected) {
            (Some(ty), _) => Value::Is(ty),
            (None, Some(expected)) => Value::Parameter(Box::new(expected.clone()), at),
            (None, None) => parameter.child_by_field_name("value").map_or(Value::Unknown, |v| value_of(v, reader)),
        };
        match pattern.kind() {
            "rest_pattern" => {
                let value = if matches!(value, Value::Parameter(..)) { Value::Unknown } else { value };
                children(pattern).for_each(|inner| bind(inner, value.clone(), lines, reader));
            }
            _ => bind(pattern, value, lines, reader),
        }
    }
}

/// Records the types expected of functions and objects that are arguments of a call, from the
/// callee's parameters.
pub(super) fn expect_arguments<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    let arguments =
        node.child_by_field_name("arguments").into_iter().flat_map(children).filter(|a| a.kind() != "comment");
    let wanted: Vec<(usize, Node)> =
        arguments.enumerate().filter(|(_, a)| is_function(*a) || a.kind() == "object").collect();
    if wanted.is_empty() {
        return;
    }
    let wanted_type = match reader.expected(node) {
        Some(Value::Is(ty)) => Some(ty),
        _ => None,
    };
    let call = value_of(node, reader);
    for (at, argument) in wanted {
        reader.expect(argument, Value::Argument(Box::new(call.clone()), at, wanted_type.clone()));
    }
}

/// Records that a value with an annotation is expected to have that type.
pub(super) fn expect_value<'t>(value: Node<'t>, ty: Option<&Type>, reader: &mut Reader<'t>) {
    let Some(ty) = ty else { return };
    let value = bare(value);
    if is_function(value) || matches!(value.kind(), "object" | "call_expression" | "new_expression") {
        reader.expect(value, Value::Is(ty.clone()));
    }
}

/// Records the types expected of functions and objects in an object literal, from the fields of its
/// type.
pub(super) fn expect_pairs<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    let Some(expected) = reader.expected(node) else { return };
    for pair in children(node) {
        let name = if pair.kind() == "pair" { "key" } else { "name" };
        let field = unquoted(reader.field(pair, name).unwrap_or_default()).to_owned();
        let inner = if pair.kind() == "pair" { pair.child_by_field_name("value") } else { Some(pair) };
        if let Some(inner) = inner.filter(|v| is_function(*v) || matches!(v.kind(), "object" | "method_definition")) {
            reader.expect(inner, Value::Member(Box::new(expected.clone()), field));
        }
    }
}

/// `for (const x of list)`.
pub(super) fn each<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    reader.block(node);
    let (Some(left), Some(right)) = (node.child_by_field_name("left"), node.child_by_field_name("right")) else {
        return;
    };
    let of = reader.field(node, "operator") == Some("of");
    let value = if of { Value::Item(Box::new(value_of(right, reader))) } else { Value::Is(Type::Basic) };
    bind(left, value, lines(node), reader);
}

/// `if (x instanceof X) { … }`: x is an X there.
pub(super) fn narrowed<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    let Some(test) = node.child_by_field_name("condition").and_then(|c| c.named_child(0)) else { return };
    let Some(body) = node.child_by_field_name("consequence") else { return };
    let (left, right) = (test.child_by_field_name("left"), test.child_by_field_name("right"));
    if let (Some(left), Some(right), Some("instanceof")) = (left, right, reader.field(test, "operator"))
        && left.kind() == "identifier"
    {
        let ty = Type::Named(reader.text(right).to_owned(), Vec::new());
        let lines = lines(body);
        reader.bind(reader.text(left), Value::Is(ty), lines);
    }
}

/// `catch (error) { … }`.
pub(super) fn caught<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    if let Some(parameter) = node.child_by_field_name("parameter") {
        bind(parameter, Value::Unknown, lines(node), reader);
    }
}
