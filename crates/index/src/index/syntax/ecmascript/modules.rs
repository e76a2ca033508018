//! Reads imports and exports of TypeScript and JavaScript, both ES modules and CommonJS.

use tree_sitter::Node;

use super::typing::value_of;
use super::{called, child_of_kind, is_function, unquoted};
use crate::index::syntax::outline::Kind;
use crate::index::syntax::parts::Imported;
use crate::index::syntax::parts::ecmascript::imports;
use crate::index::syntax::reader::Reader;
use crate::index::syntax::types::Typing;
use crate::index::syntax::{all_children, children};

pub(super) fn import<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    note(node, imports(node, reader.source), reader);
}

/// Records the names that a statement imports.
pub(super) fn note<'t>(node: Node<'t>, imports: Vec<Imported>, reader: &mut Reader<'t>) {
    imports.iter().for_each(|one| reader.import(node, &one.source, &one.name, &one.local));
}

pub(super) fn export<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    let source = reader.field(node, "source").map(unquoted);
    let default = all_children(node).any(|c| c.kind() == "default");
    if let Some(clause) = child_of_kind(node, "export_clause") {
        for specifier in children(clause).filter(|s| s.kind() == "export_specifier") {
            let local = reader.field(specifier, "name").map(unquoted).unwrap_or_default();
            let name = reader.field(specifier, "alias").map(unquoted).unwrap_or(local);
            reader.export(node, name, local, source);
        }
    } else if let Some(namespace) = child_of_kind(node, "namespace_export") {
        let name = namespace.named_child(0).map_or("", |n| unquoted(reader.text(n)));
        reader.export(node, name, "*", source);
    } else if let Some(declaration) = node.child_by_field_name("declaration") {
        for name in declared_names(declaration, reader) {
            reader.export(node, if default { "default" } else { name }, name, None);
        }
    } else if let Some(source) = source {
        reader.export(node, "*", "*", Some(source));
    } else if let Some(value) = node.child_by_field_name("value").or_else(|| child_of_kind(node, "identifier")) {
        let mut local = if value.kind() == "identifier" { reader.text(value) } else { "" };
        let function = is_function(value);
        let kind = if function { Kind::Function } else { Kind::Variable };
        if (function || matches!(value.kind(), "class" | "object" | "call_expression" | "new_expression"))
            && reader.define(node, value, "default", kind, true)
        {
            local = "default";
            let held = || Typing { value: Some(value_of(value, reader)), ..Typing::default() };
            let typing = if function { called(value, reader) } else { held() };
            reader.typed(typing);
        }
        reader.export(node, "default", local, None);
    }
}

fn declared_names<'t>(declaration: Node<'t>, reader: &Reader<'t>) -> Vec<&'t str> {
    match reader.field(declaration, "name") {
        Some(name) => vec![name],
        None if matches!(
            declaration.kind(),
            "function_declaration" | "class_declaration" | "generator_function_declaration"
        ) =>
        {
            vec!["default"]
        }
        None => children(declaration)
            .filter(|c| matches!(c.kind(), "variable_declarator" | "function_signature"))
            .filter_map(|d| reader.field(d, "name"))
            .collect(),
    }
}

/// `module.exports = { parse, scan: scanAll }` exports each name as well as the object.
pub(super) fn export_properties<'t>(node: Node<'t>, object: Node<'t>, reader: &mut Reader<'t>) {
    for property in children(object).filter(|_| object.kind() == "object") {
        let value = property.child_by_field_name("value").filter(|value| value.kind() == "identifier");
        match (property.kind(), value) {
            ("shorthand_property_identifier", _) => {
                reader.export(node, reader.text(property), reader.text(property), None);
            }
            ("pair", Some(value)) => {
                let key = reader.field(property, "key").map(unquoted).unwrap_or_default();
                reader.export(node, key, reader.text(value), None);
            }
            _ => {}
        }
    }
}
