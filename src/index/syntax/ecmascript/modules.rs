//! Reads imports and exports of TypeScript and JavaScript, of ES modules and of CommonJS.

use tree_sitter::Node;

use super::typing::value_of;
use super::{called, child_of_kind, is_function, unquoted};
use crate::index::syntax::outline::Kind;
use crate::index::syntax::reader::Reader;
use crate::index::syntax::types::Typing;
use crate::index::syntax::{all_children, children};

pub(super) fn import<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    let Some(source) = reader.field(node, "source").map(unquoted) else {
        return import_equals(node, reader);
    };
    let Some(clause) = child_of_kind(node, "import_clause") else { return reader.import(node, source, "", "") };
    for part in children(clause) {
        match part.kind() {
            "identifier" => reader.import(node, source, "default", reader.text(part)),
            "namespace_import" => {
                let local = child_of_kind(part, "identifier").map_or("", |n| reader.text(n));
                reader.import(node, source, "*", local);
            }
            "named_imports" => {
                for specifier in children(part).filter(|s| s.kind() == "import_specifier") {
                    let name = reader.field(specifier, "name").map(unquoted).unwrap_or_default();
                    reader.import(node, source, name, reader.field(specifier, "alias").unwrap_or(name));
                }
            }
            _ => {}
        }
    }
}

/// `import fs = require('fs')`.
fn import_equals<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    let Some(clause) = child_of_kind(node, "import_require_clause") else { return };
    let local = child_of_kind(clause, "identifier").map_or("", |n| reader.text(n));
    let source = reader.field(clause, "source").map(unquoted).unwrap_or_default();
    reader.import(node, source, "default", local);
}

/// The argument of `require('…')`.
pub(super) fn required<'t>(node: Node<'t>, reader: &Reader<'t>) -> Option<&'t str> {
    let called = node.kind() == "call_expression" && reader.field(node, "function") == Some("require");
    let argument = node.child_by_field_name("arguments").filter(|_| called)?.named_child(0)?;
    (argument.kind() == "string").then(|| unquoted(reader.text(argument)))
}

/// `const a = require('…')`, `const { a, b: c } = require('…')`.
pub(super) fn require<'t>(node: Node<'t>, pattern: Node<'t>, source: &str, reader: &mut Reader<'t>) {
    if pattern.kind() == "identifier" {
        return reader.import(node, source, "default", reader.text(pattern));
    }
    for part in children(pattern) {
        let (name, local) = match part.kind() {
            "pair_pattern" => (reader.field(part, "key"), reader.field(part, "value")),
            _ => (Some(reader.text(part)), Some(reader.text(part))),
        };
        reader.import(node, source, name.unwrap_or_default(), local.unwrap_or_default());
    }
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
        if (is_function(value) || matches!(value.kind(), "class" | "object" | "call_expression" | "new_expression"))
            && reader.define(
                node,
                value,
                "default",
                if is_function(value) { Kind::Function } else { Kind::Variable },
                true,
            )
        {
            local = "default";
            if is_function(value) {
                reader.typed(called(value, reader));
            } else {
                reader.typed(Typing { value: Some(value_of(value, reader)), ..Typing::default() });
            }
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

/// `module.exports = { parse, scan: scanAll }` exports each name, as well as the object.
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
