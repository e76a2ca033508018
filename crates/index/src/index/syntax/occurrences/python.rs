//! Determines the role of a name at one place in Python.

use tree_sitter::{Node, Tree};

use crate::base::is_listed;

use super::{Bind, Found, LOCAL, PARAMETER, Place, Role, ancestors, enclosing, parent, text, text_of};

/// Node kinds that are scopes.
const SCOPES: &str = "\
    module function_definition lambda class_definition list_comprehension set_comprehension dictionary_comprehension \
    generator_expression";
/// Node kinds in which an assignment binds a name, except comprehensions.
const BODIES: &str = "module function_definition lambda class_definition";
const PATTERNS: &str = "pattern_list tuple_pattern list_pattern list_splat_pattern as_pattern_target";

/// The role of a name inside a string or comment; in `__all__` and in quoted annotations it refers
/// to a definition.
pub(super) fn within(node: Node, source: &str) -> Place {
    let word = matches!(node.kind(), "string_content" | "string");
    let Some(string) = ancestors(node).find(|n| n.kind() == "string").filter(|_| word) else { return text(node) };
    for around in ancestors(string).skip(1) {
        match around.kind() {
            "list" | "tuple" | "expression_list" | "parenthesized_expression" | "binary_operator" => {}
            "assignment" | "augmented_assignment" => {
                let listed = text_of(around.child_by_field_name("left"), source) == "__all__";
                let quoted = text_of(Some(string), source).trim_matches(['"', '\'']);
                let whole = quoted == text_of(Some(node), source).trim_matches(['"', '\'']);
                return Place::plain(if listed && whole { Role::Listed } else { Role::String });
            }
            "type" => return Place::qualifier(),
            _ => break,
        }
    }
    // `"Name"` deeper in an annotation: `Optional["Name"]`.
    let annotation = ancestors(string).take(8).any(|n| n.kind() == "type");
    if annotation { Place::qualifier() } else { Place::plain(Role::String) }
}

pub(super) fn place(node: Node, source: &str) -> Place {
    if node.kind() != "identifier" {
        return text(node);
    }
    let Some((around, field)) = parent(node) else { return Place::plain(Role::Unclear) };
    match around.kind() {
        "function_definition" | "class_definition" if field == "name" => bound(Role::Definition, around, BODIES),
        "attribute" if field == "attribute" => Place::behind(around, "object", source),
        "keyword_argument" if field == "name" => {
            let call = enclosing(around, "call").child_by_field_name("function");
            Place::plain(Role::Keyword { call: text_of(call, source).to_owned() })
        }
        "keyword_pattern" => Place::plain(Role::Property),
        "global_statement" | "nonlocal_statement" => Place::plain(Role::Global),
        "dotted_name" => dotted(node, around, source),
        "aliased_import" => bound(Role::Alias, around, BODIES),
        "parameters" | "lambda_parameters" => parameter(around),
        "default_parameter" | "typed_default_parameter" if field == "name" => parameter(around),
        "typed_parameter" if field != "type" => parameter(around),
        "list_splat_pattern" | "dictionary_splat_pattern" => match around.parent() {
            Some(outer) if outer.kind().ends_with("parameters") || outer.kind() == "typed_parameter" => {
                parameter(around)
            }
            _ => pattern(node),
        },
        "named_expression" if field == "name" => bound(LOCAL, around, BODIES),
        _ => pattern(node),
    }
}

fn parameter(node: Node) -> Place {
    bound(PARAMETER, node, "function_definition lambda")
}

/// A binding in the nearest of these scopes: a definition in a module or class, otherwise a local
/// name.
fn bound(role: Role, node: Node, scopes: &str) -> Place {
    let scope = enclosing(node, scopes);
    let class = scope.kind() == "class_definition";
    let role = match role {
        Role::Local { parameter: false } if class || scope.kind() == "module" => Role::Definition,
        role => role,
    };
    // Annotations, defaults and decorators are evaluated outside the function.
    let body = scope.child_by_field_name("body").filter(|_| !class);
    let bind = Bind { seen: body.unwrap_or(scope).byte_range(), home: scope.start_byte(), class };
    Place { role, bind: Some(bind), qualifier: false }
}

/// `a.b` in an import, a decorator or a pattern.
fn dotted(node: Node, dotted: Node, source: &str) -> Place {
    let alone = dotted.named_child_count() == 1;
    let Some((around, field)) = parent(dotted) else { return Place::plain(Role::Unclear) };
    let (statement, aliased) = match around.kind() {
        "aliased_import" => (around.parent().unwrap_or(around), true),
        _ => (around, false),
    };
    match statement.kind() {
        "import_from_statement" if field != "module_name" && alone => {
            let from = text_of(statement.child_by_field_name("module_name"), source);
            let role = Role::Import { source: from.to_owned() };
            if aliased { Place::plain(role) } else { bound(role, statement, BODIES) }
        }
        "import_statement" if !aliased && dotted.named_child(0) == Some(node) => bound(Role::Alias, statement, BODIES),
        "import_from_statement" | "import_statement" | "relative_import" | "future_import_statement" => {
            Place::plain(Role::Property)
        }
        "case_pattern" if alone => {
            let captures = !text_of(Some(node), source).starts_with(char::is_uppercase);
            if captures { bound(LOCAL, statement, BODIES) } else { Place::qualifier() }
        }
        _ if dotted.named_child(0) == Some(node) => Place::plain(Role::Reference),
        _ => {
            let before = source.get(dotted.start_byte()..node.start_byte()).unwrap_or_default();
            Place::member(before.trim_end_matches('.'))
        }
    }
}

/// A name that is assigned or read.
fn pattern(node: Node) -> Place {
    let mut at = node;
    while let Some((around, field)) = parent(at) {
        match around.kind() {
            kind if is_listed(PATTERNS, kind) => at = around,
            "assignment" | "augmented_assignment" | "for_statement" if field == "left" => {
                return bound(LOCAL, around, BODIES);
            }
            "for_in_clause" if field == "left" => return bound(LOCAL, around, SCOPES),
            "as_pattern" if at.kind() == "as_pattern_target" => {
                return bound(LOCAL, around, BODIES);
            }
            "type_alias_statement" if field == "left" => return bound(Role::Definition, around, BODIES),
            "type" if around.parent().is_some_and(|p| p.kind() == "type_alias_statement") => at = around,
            _ => break,
        }
    }
    Place::plain(Role::Reference)
}

/// A function does not bind the names that it declares `global` or `nonlocal`.
pub(super) fn declared_outside(tree: &Tree, found: &mut [Found]) {
    for at in 0..found.len() {
        if found[at].2.role != Role::Global {
            continue;
        }
        let root = tree.root_node();
        let Some(node) = root.descendant_for_byte_range(found[at].0.start, found[at].0.end) else { continue };
        let function = enclosing(node, BODIES);
        for (_, _, place) in found.iter_mut() {
            // A module may begin at the same byte as its first function.
            let is_inside = |bind: &Bind| bind.class || bind.seen.start > function.start_byte();
            let own = |bind: &Bind| bind.home == function.start_byte() && is_inside(bind);
            if place.bind.as_ref().is_some_and(own) {
                (place.bind, place.role) = (None, Role::Reference);
            }
        }
        found[at].2.role = Role::Reference;
    }
}

/// Whether a byte is in a function inside the class that begins at `class`: functions do not see
/// the names of their class.
pub(super) fn in_function_inside(tree: &Tree, byte: usize, class: usize) -> bool {
    let Some(node) = tree.root_node().descendant_for_byte_range(byte, byte) else { return false };
    let inner = ancestors(node).take_while(|n| !(n.kind() == "class_definition" && n.start_byte() == class));
    let mut inside = false;
    let mut from = None;
    for around in inner {
        let function = matches!(around.kind(), "function_definition" | "lambda");
        // Annotations and defaults are evaluated outside the function.
        let header = from.is_some_and(|part: Node| matches!(part.kind(), "parameters" | "lambda_parameters" | "type"));
        inside |= function && !header;
        from = Some(around);
    }
    inside
}
