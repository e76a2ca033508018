//! Determines the role of a name at one place in Rust.

use std::ops::Range;

use tree_sitter::Node;

use super::{Bind, LOCAL, Place, Role, ancestors, enclosing, parent, text, text_of};
use crate::base::is_listed;
use crate::index::syntax::all_children;

/// Node kinds that are scopes of items.
const ITEMS: &str = "source_file block declaration_list";
const DEFINITIONS: &str = "\
    function_item function_signature_item struct_item union_item enum_item trait_item type_item associated_type \
    const_item static_item macro_definition mod_item";
const PATTERNS: &str = "\
    tuple_pattern slice_pattern ref_pattern reference_pattern mut_pattern or_pattern captured_pattern \
    tuple_struct_pattern struct_pattern field_pattern match_pattern";

/// The role of a name inside a string or comment; `"{name}"` in the arguments of a macro reads a variable.
pub(super) fn within(node: Node, source: &str, bytes: Range<usize>) -> Place {
    let before = source.get(..bytes.start).is_some_and(|s| s.ends_with('{') && !s.ends_with("{{"));
    let after = source.get(bytes.end..).is_some_and(|s| s.starts_with(['}', ':']));
    let string = matches!(node.kind(), "string_content" | "string_literal" | "raw_string_literal");
    let argument = ancestors(node).any(|n| n.kind() == "token_tree");
    if before && after && string && argument { Place::plain(Role::Reference) } else { text(node) }
}

pub(super) fn place(node: Node, source: &str) -> Place {
    let Some((around, field)) = parent(node) else { return Place::plain(Role::Unclear) };
    if ancestors(node).any(|n| n.kind() == "use_declaration") {
        return used(node, around, field, source);
    }
    match (around.kind(), field) {
        (kind, "name") if is_listed(DEFINITIONS, kind) => item(around),
        ("enum_variant" | "field_declaration", "name") => Place::plain(Role::Property),
        ("field_expression", "field") => Place::behind(around, "value", source),
        ("scoped_identifier" | "scoped_type_identifier", "name") => Place::behind(around, "path", source),
        ("scoped_identifier" | "scoped_type_identifier", "path") => Place::qualifier(),
        ("field_initializer", "field" | "name") => Place::plain(Role::Property),
        ("shorthand_field_initializer", _) => Place::plain(Role::Shorthand),
        ("field_pattern", "name") if node.kind() == "shorthand_field_identifier" => pattern(node, true, source),
        ("field_pattern", "name") | ("label" | "lifetime", _) => Place::plain(Role::Property),
        ("type_parameters", _) => type_parameter(around),
        ("constrained_type_parameter", "left") | ("type_parameter" | "const_parameter", "name") => {
            type_parameter(around.parent().unwrap_or(around))
        }
        ("token_tree", _) => token(node, source),
        _ => match node.kind() {
            "identifier" => pattern(node, false, source),
            "type_identifier" => Place::qualifier(),
            "field_identifier" => Place::plain(Role::Property),
            _ => text(node),
        },
    }
}

/// Items of traits and impl blocks are members; others are visible in the entire enclosing block.
fn item(node: Node) -> Place {
    let scope = enclosing(node, ITEMS);
    let member = scope.parent().is_some_and(|p| matches!(p.kind(), "impl_item" | "trait_item"));
    match scope.kind() {
        "declaration_list" if member => Place::plain(Role::Definition),
        _ => Place::bound(Role::Definition, scope),
    }
}

fn type_parameter(list: Node) -> Place {
    Place::bound(LOCAL, list.parent().unwrap_or(list))
}

/// The role of a name in macro arguments, which are plain tokens.
fn token(node: Node, source: &str) -> Place {
    let before = Node::prev_sibling;
    let Some(mark) = before(&node) else { return Place::plain(Role::Reference) };
    match text_of(Some(mark), source) {
        "." => Place::member(text_of(before(&mark), source)),
        "::" => {
            let mut start = mark.start_byte();
            let mut at = before(&mark);
            // Reads `a::b::NAME` backwards to its first name.
            while let Some(part) = at.filter(|p| matches!(p.kind(), "identifier" | "crate" | "self" | "super" | "::")) {
                start = part.start_byte();
                at = before(&part);
            }
            Place::member(source.get(start..mark.start_byte()).unwrap_or_default())
        }
        _ => Place::plain(Role::Reference),
    }
}

/// A name in `use a::{b, c as d};`.
fn used(node: Node, around: Node, field: &str, source: &str) -> Place {
    let before = prefix(node, source);
    let scope = enclosing(enclosing(node, "use_declaration"), ITEMS);
    match (around.kind(), field) {
        ("use_as_clause", "alias") => return Place::bound(Role::Alias, scope),
        ("scoped_use_list", "path") => return list_prefix(around, before, scope),
        _ => {}
    }
    // `a::b` may be the prefix of a longer path or list.
    let whole = if field == "name" && around.kind().starts_with("scoped") { around } else { node };
    match parent(whole) {
        Some((outer, "path")) if outer.kind() == "scoped_use_list" => list_prefix(outer, before, scope),
        Some((outer, "path")) if outer.kind() == "use_as_clause" => Place::plain(Role::Import { source: before }),
        Some((outer, "path")) if outer.kind().starts_with("scoped") => segment(before),
        Some((outer, _)) if outer.kind() == "use_wildcard" => segment(before),
        _ => Place::bound(Role::Import { source: before }, scope),
    }
}

fn segment(before: String) -> Place {
    if before.is_empty() { Place::qualifier() } else { Place::plain(Role::Member { receiver: before }) }
}

/// The name before a list: `NAME::{self, …}` imports NAME too.
fn list_prefix(list: Node, before: String, scope: Node) -> Place {
    let names = list.child_by_field_name("list");
    let own = names.is_some_and(|names| all_children(names).any(|c| c.kind() == "self"));
    if own { Place::bound(Role::Import { source: before }, scope) } else { segment(before) }
}

/// The path before a name in a `use`, including the path before enclosing braces.
fn prefix(node: Node, source: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let mut at = node;
    while let Some((around, field)) = parent(at).filter(|(n, _)| n.kind() != "use_declaration") {
        let path = around.child_by_field_name("path").filter(|_| matches!(field, "name" | "list"));
        parts.extend(path.map(|path| text_of(Some(path), source)));
        at = around;
    }
    parts.reverse();
    parts.join("::")
}

/// A name that a pattern binds or reads: names of constants and variants begin with a capital
/// letter.
fn pattern(node: Node, is_shorthand: bool, source: &str) -> Place {
    let own = text_of(Some(node), source);
    let read = Place::plain(Role::Reference);
    if own.starts_with(char::is_uppercase) {
        return read;
    }
    let mut at = node;
    let local = |parameter| if is_shorthand { Role::ShorthandLocal } else { Role::Local { parameter } };
    while let Some((around, field)) = parent(at) {
        let end = around.end_byte();
        let seen = match (around.kind(), field) {
            (kind, field) if is_listed(PATTERNS, kind) && !matches!(field, "type" | "condition") => {
                at = around;
                continue;
            }
            ("let_declaration", "pattern") => end..enclosing(around, ITEMS).end_byte(),
            ("parameter", "pattern") => {
                let functions = "function_item function_signature_item closure_expression";
                return Place::bound(local(true), enclosing(around, functions));
            }
            ("closure_parameters", _) => return Place::bound(local(true), enclosing(around, "closure_expression")),
            ("for_expression", "pattern") => around.child_by_field_name("body").map_or(end..end, |b| b.byte_range()),
            ("match_arm", "pattern") => around.byte_range(),
            ("let_condition", "pattern") => end..condition_end(around),
            _ => return read,
        };
        let home = if around.kind() == "match_arm" { around.start_byte() } else { at.start_byte() };
        return Place { role: local(false), bind: Some(Bind { seen, home, class: false }), qualifier: false };
    }
    read
}

/// Last byte in which the names of an `if let` or `while let` are visible.
fn condition_end(condition: Node) -> usize {
    let owner = enclosing(condition, "if_expression while_expression match_arm");
    let body = owner.child_by_field_name("consequence").or_else(|| owner.child_by_field_name("body"));
    body.map_or(owner.end_byte(), |body| body.end_byte())
}
