//! Determines the role of a name at one place in TypeScript or JavaScript.

use tree_sitter::Node;

use super::{LOCAL, PARAMETER, Place, Role, ancestors, enclosing, parent, text, text_of};
use crate::base::is_listed;
use crate::index::syntax::all_children;
use crate::index::syntax::ecmascript::unquoted;

/// Node kinds that are scopes of `let`.
const SCOPES: &str = "\
    program statement_block function_declaration function_expression generator_function \
    generator_function_declaration arrow_function method_definition for_statement for_in_statement catch_clause \
    switch_body class_static_block";
/// Node kinds that are scopes of `var`.
const FUNCTIONS: &str = "\
    program function_declaration function_expression generator_function generator_function_declaration \
    arrow_function method_definition class_static_block";
/// Declarations whose `name` is bound in the surrounding block.
const DECLARATIONS: &str = "\
    function_declaration generator_function_declaration function_signature class_declaration \
    abstract_class_declaration interface_declaration type_alias_declaration enum_declaration internal_module module";
/// Members of classes and interfaces.
const MEMBERS: &str = "\
    method_definition method_signature abstract_method_signature property_signature public_field_definition \
    field_definition";
const PATTERNS: &str = "\
    object_pattern array_pattern rest_pattern pair_pattern assignment_pattern object_assignment_pattern";

pub(super) fn place(node: Node, source: &str) -> Place {
    let Some((around, field)) = parent(node) else { return Place::plain(Role::Unclear) };
    match node.kind() {
        "property_identifier" | "private_property_identifier" => property(node, around, field, source),
        "shorthand_property_identifier" if exports(around, source) => Place::plain(Role::Reference),
        "shorthand_property_identifier" => Place::plain(Role::Shorthand),
        "shorthand_property_identifier_pattern" => pattern(node, true, source),
        "identifier" | "type_identifier" => name(node, around, field, source),
        "statement_identifier" => Place::plain(Role::Property),
        _ => text(node),
    }
}

/// Whether an object is assigned to `module.exports`, so that other files import its properties.
fn exports(object: Node, source: &str) -> bool {
    let assignment = object.parent().filter(|p| p.kind() == "assignment_expression");
    assignment.is_some_and(|a| text_of(a.child_by_field_name("left"), source) == "module.exports")
}

fn property(node: Node, around: Node, field: &str, source: &str) -> Place {
    match around.kind() {
        "member_expression" | "nested_identifier" => Place::behind(around, "object", source),
        kind if is_listed(MEMBERS, kind) && matches!(field, "name" | "property") => Place::plain(Role::Definition),
        "pair" if field == "key" => {
            let value = around.child_by_field_name("value").map_or("", |v| v.kind());
            let function = matches!(value, "arrow_function" | "function_expression" | "generator_function");
            Place::plain(if function { Role::Definition } else { Role::Property })
        }
        "pair_pattern" => match required(node, source) {
            Some(source) => Place::plain(Role::Import { source }),
            None => Place::plain(Role::Property),
        },
        _ => Place::plain(Role::Property),
    }
}

/// The source of `const { NAME } = require('source')`, if the pattern around the node is assigned
/// from it.
fn required(node: Node, source: &str) -> Option<String> {
    let declarator = ancestors(node).skip(1).find(|n| !is_listed(PATTERNS, n.kind()))?;
    let value = declarator.child_by_field_name("value").filter(|_| declarator.kind() == "variable_declarator")?;
    let call = if value.kind() == "await_expression" { value.named_child(0)? } else { value };
    let called = text_of(call.child_by_field_name("function"), source);
    let argument = call.child_by_field_name("arguments")?.named_child(0)?;
    let literal = matches!(called, "require" | "import") && argument.kind() == "string";
    literal.then(|| unquoted(text_of(Some(argument), source)).to_owned())
}

fn name(node: Node, around: Node, field: &str, source: &str) -> Place {
    match around.kind() {
        "import_specifier" | "import_clause" | "namespace_import" | "import_require_clause" => {
            imported(node, around, field, source)
        }
        "export_specifier" => exported(around, field, source),
        "namespace_export" => Place::plain(Role::ExportedAs),
        kind if is_listed(DECLARATIONS, kind) && field == "name" => {
            Place::bound(Role::Definition, enclosing(around, SCOPES))
        }
        "function_expression" | "generator_function" | "class" if field == "name" => {
            Place::bound(Role::Definition, around)
        }
        "nested_type_identifier" if field == "name" => Place::behind(around, "module", source),
        "nested_identifier" if field == "property" => Place::behind(around, "object", source),
        "type_parameter" if field == "name" => {
            let owner = around.parent().and_then(|list| list.parent()).unwrap_or(around);
            Place::bound(LOCAL, owner)
        }
        "index_signature" if field == "name" => Place::plain(Role::Property),
        "catch_clause" | "required_parameter" | "optional_parameter" | "formal_parameters" | "variable_declarator" => {
            pattern(node, false, source)
        }
        "arrow_function" if field == "parameter" => Place::bound(PARAMETER, around),
        "for_in_statement" if field == "left" => pattern(node, false, source),
        kind if is_listed(PATTERNS, kind) && field != "right" => pattern(node, false, source),
        _ => Place::plain(Role::Reference),
    }
}

fn imported(node: Node, around: Node, field: &str, source: &str) -> Place {
    let root = enclosing(node, "program");
    let statement = enclosing(node, "import_statement");
    let from = unquoted(text_of(statement.child_by_field_name("source"), source)).to_owned();
    match (around.kind(), field) {
        ("import_specifier", "name") if around.child_by_field_name("alias").is_some() => {
            Place::plain(Role::Import { source: from })
        }
        ("import_specifier", "name") => Place::bound(Role::Import { source: from }, root),
        _ => Place::bound(Role::Alias, root),
    }
}

fn exported(around: Node, field: &str, source: &str) -> Place {
    let statement = enclosing(around, "export_statement");
    let from = statement.child_by_field_name("source");
    Place::plain(match (field, from) {
        ("alias", _) => Role::ExportedAs,
        (_, Some(from)) => Role::ReExport { source: unquoted(text_of(Some(from), source)).to_owned() },
        _ => Role::Reference,
    })
}

/// The role of a name in a pattern, by the statement to which the complete pattern belongs.
fn pattern(node: Node, is_shorthand: bool, source: &str) -> Place {
    if is_shorthand && let Some(source) = required(node, source) {
        return Place::bound(Role::Import { source }, enclosing(node, SCOPES));
    }
    let mut at = node;
    while let Some((around, field)) = parent(at) {
        let local = |parameter| if is_shorthand { Role::ShorthandLocal } else { Role::Local { parameter } };
        match around.kind() {
            kind if is_listed(PATTERNS, kind) && field != "right" => at = around,
            "variable_declarator" if field == "name" => {
                let own = at == node && !is_shorthand;
                let var = around.parent().is_some_and(|p| p.kind() == "variable_declaration");
                let scope = enclosing(around, if var { FUNCTIONS } else { SCOPES });
                return Place::bound(if own { Role::Definition } else { local(false) }, scope);
            }
            "required_parameter" | "optional_parameter" if field != "value" => {
                return Place::bound(local(true), around.parent().and_then(|list| list.parent()).unwrap_or(around));
            }
            "formal_parameters" => return Place::bound(local(true), around.parent().unwrap_or(around)),
            "catch_clause" => return Place::bound(local(false), around),
            "for_in_statement" if field == "left" => {
                let declares = all_children(around).any(|c| matches!(c.kind(), "const" | "let" | "var"));
                return if declares { Place::bound(local(false), around) } else { Place::plain(Role::Reference) };
            }
            _ => break,
        }
    }
    Place::plain(if is_shorthand { Role::Shorthand } else { Role::Reference })
}
