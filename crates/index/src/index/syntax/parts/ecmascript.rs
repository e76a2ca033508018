//! Divides TypeScript and JavaScript files into parts.

use tree_sitter::Node;

use super::signature::signature;
use super::{Division, Imported, MODULE, Part, Sort, imported, siblings};
use crate::index::syntax::ecmascript::{is_function, unquoted};
use crate::index::syntax::{all_children, children, content, field, interior};

pub(super) const DIVISION: Division<'static> = Division { attribute: "decorator", part: &part };

/// Calls that group tests, and calls that are a test.
const GROUPS: &[&str] = &["describe", "context", "suite"];
const TESTS: &[&str] = &["it", "test", "specify", "bench"];

fn part(node: Node, text: &str, depth: usize) -> Part {
    let name = unquoted(field(node, "name", text));
    match node.kind() {
        "function_declaration" | "generator_function_declaration" => function(name, node, node, text, depth),
        "function_signature" | "method_signature" | "abstract_method_signature" => {
            let variant = if node.kind() == "abstract_method_signature" { "" } else { "overload" };
            with_variant(variant, Part { signature: signature(node, text), ..Part::new(Sort::Function, name, node) })
        }
        "method_definition" => method(name, node, text, depth),
        "class_declaration" | "abstract_class_declaration" => {
            container(Part::new(Sort::Class, name, node), node, text, depth)
        }
        "internal_module" | "module" => {
            with_variant(MODULE, container(Part::new(Sort::Class, name, node), node, text, depth))
        }
        // The variant distinguishes a type from a value with the same name.
        "interface_declaration" => {
            with_variant("type", container(Part::new(Sort::Record, name, node), node, text, depth))
        }
        "type_alias_declaration" => with_variant("type", Part::new(Sort::Value, name, node)),
        "enum_declaration" => {
            Part { listed: true, ..container(Part::new(Sort::Record, name, node), node, text, depth) }
        }
        "property_signature" | "enum_assignment" => Part::new(Sort::Value, name, node),
        "property_identifier" | "shorthand_property_identifier" | "string" => {
            Part::new(Sort::Value, unquoted(content(node, text)), node)
        }
        "public_field_definition" | "field_definition" => {
            let key = if name.is_empty() { unquoted(field(node, "property", text)) } else { name };
            valued(key, node.child_by_field_name("value"), node, text, depth)
        }
        "pair" => valued(unquoted(field(node, "key", text)), node.child_by_field_name("value"), node, text, depth),
        "lexical_declaration" | "variable_declaration" => variables(node, text, depth),
        "export_statement" | "ambient_declaration" => export(node, text, depth),
        "expression_statement" => expression(node, text, depth),
        "import_statement" => import(node, text),
        _ => Part::new(Sort::Statement, "", node),
    }
}

fn with_variant(variant: &str, part: Part) -> Part {
    Part { variant: variant.to_owned(), ..part }
}

/// A function whose statement is `whole`; definitions inside it are its members.
fn function(name: &str, whole: Node, function: Node, text: &str, depth: usize) -> Part {
    let mut part = container(Part::new(Sort::Function, name, whole), function, text, depth);
    part.members.retain(|member| matches!(member.sort, Sort::Function | Sort::Class));
    part.signature = signature(function, text);
    part
}

fn method(name: &str, node: Node, text: &str, depth: usize) -> Part {
    let mut part = function(name, node, node, text, depth);
    let accessor = all_children(node).map(|child| child.kind()).find(|kind| matches!(*kind, "get" | "set"));
    part.variant = accessor.unwrap_or_default().to_owned();
    let decorators = all_children(node).filter(|child| child.kind() == "decorator");
    part.attributes = decorators.map(|child| child.byte_range()).collect();
    undecorated(&mut part, text);
    part
}

/// Moves the beginning of the core past the decorators inside the node.
fn undecorated(part: &mut Part, text: &str) {
    if let Some(last) = part.attributes.iter().map(|a| a.end).max().filter(|end| *end > part.core.start) {
        let rest = &text[last..part.core.end];
        part.core.start = last + rest.len() - rest.trim_start().len();
    }
}

fn container(mut part: Part, node: Node, text: &str, depth: usize) -> Part {
    let Some(body) = node.child_by_field_name("body").filter(|body| content(*body, text).starts_with('{')) else {
        return part;
    };
    part.body = Some(interior(body));
    part.members = siblings(&DIVISION, all_children(body), text, depth - 1);
    part
}

/// `name = value`, `name: value`: a function, class or object if the value is one.
fn valued(name: &str, value: Option<Node>, whole: Node, text: &str, depth: usize) -> Part {
    let Some(value) = value else { return Part::new(Sort::Value, name, whole) };
    let mut part = match value.kind() {
        _ if is_function(value) => function(name, whole, value, text, depth),
        "class" => container(Part::new(Sort::Class, name, whole), value, text, depth),
        "object" => {
            let mut part = Part::new(Sort::Record, name, whole);
            part.listed = true;
            part.body = Some(interior(value));
            part.members = siblings(&DIVISION, all_children(value), text, depth - 1);
            part
        }
        _ => Part::new(Sort::Value, name, whole),
    };
    part.value = Some(value.byte_range());
    part
}

fn variables(node: Node, text: &str, depth: usize) -> Part {
    let declared: Vec<Node> = all_children(node).filter(|child| child.kind() == "variable_declarator").collect();
    let [one] = declared.as_slice() else { return Part::new(Sort::Statement, "", node) };
    if let Some(imports) = required(*one, text) {
        return with_variant("require", Part { imports, ..Part::new(Sort::Import, "", node) });
    }
    match one.child_by_field_name("name").filter(|name| name.kind() == "identifier") {
        Some(name) => valued(content(name, text), one.child_by_field_name("value"), node, text, depth),
        None => Part::new(Sort::Statement, "", node),
    }
}

/// The names that `const a = require('x')` or `const { a, b: c } = require('x')` imports; `None`
/// for another declaration.
pub fn required(declarator: Node, text: &str) -> Option<Vec<Imported>> {
    let value = declarator.child_by_field_name("value").filter(|value| value.kind() == "call_expression")?;
    let argument = value.child_by_field_name("arguments")?.named_child(0)?;
    if field(value, "function", text) != "require" || argument.kind() != "string" {
        return None;
    }
    let source = unquoted(content(argument, text));
    let pattern = declarator.child_by_field_name("name")?;
    if pattern.kind() == "identifier" {
        return Some(vec![imported(source, "default", content(pattern, text), pattern, false)]);
    }
    let one = |child: Node| {
        let (name, local) = match child.kind() {
            "pair_pattern" => (field(child, "key", text), field(child, "value", text)),
            _ => (content(child, text), content(child, text)),
        };
        imported(source, name, local, child, true)
    };
    Some(children(pattern).map(one).collect())
}

fn import(node: Node, text: &str) -> Part {
    let words = content(node, text).trim_start_matches("import").trim_start();
    let part = Part { imports: imports(node, text), ..Part::new(Sort::Import, "", node) };
    with_variant(if words.starts_with("type ") { "type" } else { "" }, part)
}

/// The names of an `import` statement.
pub fn imports(node: Node, text: &str) -> Vec<Imported> {
    let clause = |kind: &str| children(node).find(|child| child.kind() == kind);
    // `import fs = require('fs')`.
    let equals = clause("import_require_clause");
    let source = unquoted(field(equals.unwrap_or(node), "source", text));
    let Some(clause) = equals.or_else(|| clause("import_clause")) else {
        return vec![imported(source, "", "", node, false)];
    };
    let mut found = Vec::new();
    for child in children(clause) {
        match child.kind() {
            "identifier" => found.push(imported(source, "default", content(child, text), child, false)),
            "namespace_import" => {
                let local = content(child, text).rsplit([' ', '*']).next().unwrap_or_default();
                found.push(imported(source, "*", local, child, false));
            }
            "named_imports" => {
                for one in children(child).filter(|one| one.kind() == "import_specifier") {
                    let (name, alias) = (unquoted(field(one, "name", text)), field(one, "alias", text));
                    found.push(imported(source, name, if alias.is_empty() { name } else { alias }, one, true));
                }
            }
            _ => {}
        }
    }
    found
}

fn export(node: Node, text: &str, depth: usize) -> Part {
    let children: Vec<Node> = all_children(node).collect();
    let inner = node.child_by_field_name("declaration").or_else(|| node.child_by_field_name("value"));
    let inner = inner.or_else(|| children.iter().find(|child| child.kind().ends_with("_declaration")).copied());
    let mut part = match inner {
        Some(inner) if is_function(inner) || matches!(inner.kind(), "object" | "class") => {
            valued("default", Some(inner), node, text, depth)
        }
        Some(inner) if node.child_by_field_name("declaration").is_some() || inner.kind().ends_with("_declaration") => {
            part(inner, text, depth)
        }
        _ => return listed(node, &children, text),
    };
    if part.name.is_empty() && part.sort != Sort::Statement {
        part.name = "default".to_owned();
    }
    let decorators = children.iter().filter(|child| child.kind() == "decorator");
    part.attributes.extend(decorators.map(|child| child.byte_range()));
    part.core = node.byte_range();
    part.end = node.end_byte();
    undecorated(&mut part, text);
    part
}

/// `export { a, b }` is a list that can be extended; `export … from` and `export default x` are
/// plain statements.
fn listed(node: Node, children: &[Node], text: &str) -> Part {
    let clause = children.iter().find(|child| child.kind() == "export_clause");
    let Some(clause) = clause.filter(|_| node.child_by_field_name("source").is_none()) else {
        return Part::new(Sort::Statement, "", node);
    };
    let mut part = Part::new(Sort::Record, "export {}", node);
    part.listed = true;
    part.body = Some(interior(*clause));
    for child in all_children(*clause).filter(|child| child.kind() == "export_specifier") {
        part.members.push(Part::new(Sort::Value, content(child, text), child));
    }
    part
}

/// `a.b = value`, `describe('…', …)`, `test('…', …)`, `(function () { … })()`.
fn expression(node: Node, text: &str, depth: usize) -> Part {
    let Some(inner) = node.named_child(0) else { return Part::new(Sort::Statement, "", node) };
    match inner.kind() {
        "assignment_expression" => {
            let left = field(inner, "left", text);
            let plain = left.chars().all(|c| c.is_alphanumeric() || "._$".contains(c));
            let name = left.strip_prefix("module.").filter(|rest| rest.starts_with("exports.")).unwrap_or(left);
            if plain {
                assigned(name, inner.child_by_field_name("right"), node, text, depth)
            } else {
                Part::new(Sort::Statement, "", node)
            }
        }
        "internal_module" => part(inner, text, depth),
        "call_expression" => call(node, inner, text, depth),
        _ => Part::new(Sort::Statement, "", node),
    }
}

/// `exports.name = function …`, `Type.prototype.name = function …`: the last segment is its name,
/// the rest its owner.
fn assigned(name: &str, value: Option<Node>, node: Node, text: &str, depth: usize) -> Part {
    let mut part = valued(name, value, node, text, depth);
    if let Some((owner, last)) = name.rsplit_once('.').filter(|(_, last)| *last != "exports" && *last != "prototype")
        && matches!(part.sort, Sort::Function | Sort::Class)
    {
        part.owner = Some(owner.to_owned());
        part.name = last.to_owned();
    }
    part
}

fn call(node: Node, call: Node, text: &str, depth: usize) -> Part {
    let callee = field(call, "function", text);
    let verb = callee.split(['.', '(']).next().unwrap_or_default();
    let arguments: Vec<Node> = call.child_by_field_name("arguments").into_iter().flat_map(all_children).collect();
    let named = arguments.iter().find(|argument| argument.kind() == "string" || argument.kind() == "template_string");
    let title = named.map_or("", |title| unquoted(content(*title, text)));
    let body = arguments.iter().find(|argument| is_function(**argument));
    let sort = if title.is_empty() {
        Sort::Statement
    } else if GROUPS.contains(&verb) && body.is_some() {
        Sort::Class
    } else if TESTS.contains(&verb) {
        Sort::Test
    } else {
        Sort::Statement
    };
    let mut part = Part::new(sort, if sort == Sort::Statement { "" } else { title }, node);
    // `(function () { … })()` may contain all definitions of a file.
    let whole = call.child_by_field_name("function").filter(|f| f.kind() == "parenthesized_expression");
    let body = match whole.and_then(|whole| whole.named_child(0)).filter(|inner| is_function(*inner)) {
        Some(inner) => Some(inner),
        None => body.copied(),
    };
    if let Some(body) = body {
        part = container(part, body, text, depth);
        part.variant = if sort == Sort::Class { MODULE } else { "" }.to_owned();
    }
    if sort != Sort::Class {
        part.members.retain(|member| matches!(member.sort, Sort::Function | Sort::Class));
    }
    part.is_test = sort == Sort::Test;
    part
}
