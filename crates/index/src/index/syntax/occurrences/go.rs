//! Determines the role of a name at one place in Go.

use tree_sitter::Node;

use super::{Bind, LOCAL, PARAMETER, Place, Role, enclosing, parent, text};
use crate::index::syntax::all_children;

/// Node kinds that are scopes.
const SCOPES: &str = "\
    source_file block if_statement for_statement expression_switch_statement type_switch_statement select_statement \
    expression_case default_case type_case communication_case func_literal function_declaration method_declaration";
/// Node kinds that have parameters.
const FUNCTIONS: &str = "func_literal function_declaration method_declaration method_elem function_type";

pub(super) fn place(node: Node, source: &str) -> Place {
    let Some((around, field)) = parent(node) else { return Place::plain(Role::Unclear) };
    match (node.kind(), around.kind(), field) {
        (_, "method_declaration" | "method_elem", "name") => Place::plain(Role::Definition),
        (_, "function_declaration", "name") => Place::bound(Role::Definition, enclosing(around, "source_file")),
        (_, "type_spec" | "type_alias", "name") => Place::bound(Role::Definition, enclosing(around, SCOPES)),
        (_, "const_spec" | "var_spec", "name") => from_here(around),
        (_, "selector_expression", "field") => Place::behind(around, "operand", source),
        (_, "qualified_type", "name") => Place::behind(around, "package", source),
        (_, "import_spec", _) => Place::bound(Role::Alias, enclosing(around, "source_file")),
        (_, "parameter_declaration" | "variadic_parameter_declaration", "name") => {
            Place::bound(PARAMETER, enclosing(around, FUNCTIONS))
        }
        (_, "type_parameter_declaration", "name") => {
            let owner = around.parent().and_then(|list| list.parent()).unwrap_or(around);
            Place::bound(LOCAL, owner)
        }
        ("identifier", "expression_list", _) => listed(node, around),
        ("identifier", "literal_element", _) => key(around),
        ("package_identifier", "package_clause", _) | ("field_identifier" | "label_name", ..) => {
            Place::plain(Role::Property)
        }
        ("package_identifier", ..) => Place::qualifier(),
        ("type_identifier" | "identifier", ..) => Place::plain(Role::Reference),
        _ => text(node),
    }
}

/// A declared name: visible in the whole file at the top level; in a function, from the end of the
/// statement on.
fn from_here(statement: Node) -> Place {
    let scope = enclosing(statement, SCOPES);
    if scope.kind() == "source_file" {
        return Place::bound(Role::Definition, scope);
    }
    let bind = Bind { seen: statement.end_byte()..scope.end_byte(), home: scope.start_byte(), class: false };
    Place { role: LOCAL, bind: Some(bind), qualifier: false }
}

/// `a, b := …`, `for a, b := range …`: names before `:=`.
fn listed(node: Node, list: Node) -> Place {
    let Some((statement, field)) = parent(list).filter(|(_, field)| matches!(*field, "left" | "alias")) else {
        return Place::plain(Role::Reference);
    };
    let declares = all_children(statement).any(|c| c.kind() == ":=");
    match statement.kind() {
        "type_switch_statement" if field == "alias" => Place::bound(LOCAL, statement),
        "short_var_declaration" => from_here(statement),
        "range_clause" | "receive_statement" if declares => {
            Place::bound(LOCAL, enclosing(node, "for_statement communication_case"))
        }
        _ => Place::plain(Role::Reference),
    }
}

/// `T{NAME: value}` names a field, `map[K]V{NAME: value}` reads a variable.
fn key(element: Node) -> Place {
    let keyed = element.parent().filter(|p| p.kind() == "keyed_element");
    let Some(keyed) = keyed.filter(|keyed| keyed.named_child(0) == Some(element)) else {
        return Place::plain(Role::Reference);
    };
    let literal = enclosing(keyed, "composite_literal").child_by_field_name("type");
    let lists = ["map_type", "slice_type", "array_type", "implicit_length_array_type"];
    let reads = literal.is_some_and(|ty| lists.contains(&ty.kind()));
    Place::plain(if reads { Role::Reference } else { Role::Property })
}
