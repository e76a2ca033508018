//! Reads Python files into outlines.

use tree_sitter::Node;

use super::outline::{Kind, ReferenceKind};
use super::parts::python::imports;
use super::reader::Reader;
use super::{children, unwrapped};

/// Base classes that make a class an enum or an interface.
const ENUM_BASES: &[&str] = &["Enum", "Flag", "IntEnum", "IntFlag", "StrEnum"];
const INTERFACE_BASES: &[&str] = &["ABC", "Protocol"];
/// Calls that create a type.
const TYPE_MAKERS: &[&str] = &["NewType", "ParamSpec", "TypeVar", "TypeVarTuple"];

pub(super) fn visit<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    match node.kind() {
        "module" => listed_exports(node, reader),
        "function_definition" => function(node, reader),
        "class_definition" => class(node, reader),
        "type_alias_statement" => alias(node, reader),
        "assignment" => assignment(node, reader),
        "import_statement" | "import_from_statement" => import(node, reader),
        "call" if reader.field(node, "function") == Some("super") => {}
        "call" => name_of(node.child_by_field_name("function"), reader, ReferenceKind::Call),
        "attribute" => name_of(Some(node), reader, ReferenceKind::Use),
        "identifier" if !reader.in_field("name") && !reader.in_field("attribute") => {
            reader.refer(node, reader.text(node), None, ReferenceKind::Use)
        }
        "parameters" | "lambda_parameters" => children(node).for_each(|p| parameter(p, reader)),
        "for_statement" | "for_in_clause" => bind(node.child_by_field_name("left"), reader),
        "as_pattern_target" => children(node).for_each(|target| bind(Some(target), reader)),
        "named_expression" => bind(node.child_by_field_name("name"), reader),
        _ => {}
    }
}

/// `__all__ = ["a", "b"]`, anywhere at the top level of the file, decides what the file exports.
fn listed_exports<'t>(module: Node<'t>, reader: &mut Reader<'t>) {
    for statement in children(module).filter(|s| s.kind() == "expression_statement") {
        let Some(list) = statement.named_child(0) else { continue };
        if !matches!(list.kind(), "assignment" | "augmented_assignment")
            || reader.field(list, "left") != Some("__all__")
        {
            continue;
        }
        let Some(names) = list.child_by_field_name("right") else { continue };
        for name in children(names).filter(|n| n.kind() == "string").filter_map(|n| string_content(n)) {
            let text = reader.text(name);
            reader.export(name, text, text, None);
        }
        reader.lists_exports = true;
    }
}

fn string_content(string: Node<'_>) -> Option<Node<'_>> {
    children(string).find(|c| c.kind() == "string_content")
}

/// Records a definition. Without `__all__`, names that do not begin with an underscore are
/// exported. False if it was not added; see [`Reader::define`].
fn define<'t>(node: Node<'t>, reader: &mut Reader<'t>, name: &'t str, kind: Kind) -> bool {
    let at_top = reader.inside().is_none();
    let special = name.starts_with("__") && name.ends_with("__");
    let exported =
        if at_top && reader.lists_exports { reader.is_exported(name) } else { !name.starts_with('_') || special };
    if at_top && exported && !reader.lists_exports {
        reader.export(node, name, name, None);
    }
    reader.define(node, node, name, kind, exported && !reader.in_function())
}

fn function<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    let Some(name) = reader.field(node, "name") else { return };
    let method = matches!(reader.kind_inside(), Some(Kind::Class | Kind::Enum | Kind::Interface));
    if !define(node, reader, name, if method { Kind::Method } else { Kind::Function }) {
        return;
    }
    document(node, reader);
    let first = node.child_by_field_name("parameters").and_then(|p| p.named_child(0));
    if let Some(own) = first.filter(|first| method && first.kind() == "identifier") {
        reader.own_value(reader.text(own));
    }
}

fn class<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    let Some(name) = reader.field(node, "name") else { return };
    let bases: Vec<Node> =
        node.child_by_field_name("superclasses").map(|all| children(all).collect()).unwrap_or_default();
    let last_name = |base: &Node<'t>| reader.text(plain(*base)).rsplit('.').next().unwrap_or_default();
    let any = |known: &[&str]| bases.iter().any(|base| known.contains(&last_name(base)));
    let kind = if any(ENUM_BASES) {
        Kind::Enum
    } else if any(INTERFACE_BASES) {
        Kind::Interface
    } else {
        Kind::Class
    };
    if !define(node, reader, name, kind) {
        return;
    }
    document(node, reader);
    bases.into_iter().for_each(|base| name_of(Some(base), reader, ReferenceKind::Extends));
}

/// The node of the class itself in `Generic[T]` or `(Base)`.
fn plain(node: Node<'_>) -> Node<'_> {
    unwrapped(node, |node| match node.kind() {
        "subscript" => node.child_by_field_name("value"),
        "parenthesized_expression" => node.named_child(0),
        _ => None,
    })
}

/// Uses the docstring, the first statement of a body, as the doc of the latest definition.
fn document<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    let first = node.child_by_field_name("body").and_then(|body| children(body).find(|c| c.kind() != "comment"));
    let string = first.filter(|f| f.kind() == "expression_statement").and_then(|f| f.named_child(0));
    if let Some(content) = string.filter(|s| s.kind() == "string").and_then(string_content) {
        let lines = reader.text(content).lines().map(str::trim).filter(|line| !line.is_empty());
        reader.document(&lines.collect::<Vec<_>>().join("\n"));
    }
}

/// `type Name = …`.
fn alias<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    let Some(left) = node.child_by_field_name("left") else { return };
    let name = reader.text(left).split('[').next().unwrap_or_default();
    define(node, reader, name, Kind::Type);
}

/// `name = value`: a definition at the top of a file or class, a local name in a function.
fn assignment<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    let Some(left) = node.child_by_field_name("left") else { return };
    if reader.in_function() || left.kind() != "identifier" {
        return bind(Some(left), reader);
    }
    let name = reader.text(left);
    if reader.defined_here(name) || name == "__all__" {
        return;
    }
    let made_by = node.child_by_field_name("right").filter(|r| r.kind() == "call");
    let made_by = made_by.and_then(|r| reader.field(r, "function")).and_then(|f| f.rsplit('.').next());
    let annotated = reader.field(node, "type").is_some_and(|t| t.ends_with("TypeAlias"));
    let kind = if annotated || made_by.is_some_and(|maker| TYPE_MAKERS.contains(&maker)) {
        Kind::Type
    } else if name.chars().any(char::is_uppercase) && !name.chars().any(char::is_lowercase) {
        Kind::Constant
    } else {
        Kind::Variable
    };
    define(node, reader, name, kind);
}

/// `import a.b` imports `a`, and `a.b` under the name used for it. `from a import b as b`
/// re-exports `b` (PEP 484).
fn import<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    for one in imports(node, reader.source) {
        let (source, local) = (one.source.as_str(), one.local.as_str());
        match one.name.as_str() {
            "" => {
                reader.import(node, source, "*", local);
                if let Some((first, _)) = source.split_once('.').filter(|_| source == local) {
                    reader.import(node, first, "*", first);
                }
            }
            "*" => reader.import(node, source, "*", "*"),
            name => {
                reader.import(node, source, name, local);
                let is_aliased = one.bytes.len() > name.len();
                if is_aliased && name == local && reader.inside().is_none() {
                    reader.export(node, name, name, Some(source));
                }
            }
        }
    }
}

/// Records a reference to `name` or `receiver.name`.
fn name_of<'t>(node: Option<Node<'t>>, reader: &mut Reader<'t>, kind: ReferenceKind) {
    let Some(node) = node.map(plain) else { return };
    match node.kind() {
        "identifier" => reader.refer(node, reader.text(node), None, kind),
        "attribute" => {
            let Some(object) = node.child_by_field_name("object") else { return };
            let name = reader.field(node, "attribute").unwrap_or_default();
            let parent = object.kind() == "call" && reader.field(object, "function") == Some("super");
            let receiver = if parent { "super" } else { reader.text(object) };
            // A use counts only if its receiver is the name of a module, class or enum.
            if kind != ReferenceKind::Use || matches!(object.kind(), "identifier" | "attribute") {
                reader.refer(node, name, Some(receiver), kind);
            }
        }
        _ => {}
    }
}

fn parameter<'t>(node: Node<'t>, reader: &mut Reader<'t>) {
    match node.kind() {
        "default_parameter" | "typed_default_parameter" => bind(node.child_by_field_name("name"), reader),
        "typed_parameter" => bind(node.named_child(0), reader),
        _ => bind(Some(node), reader),
    }
}

/// Records the names that a pattern binds inside a function: `x`, `a, *b`, `(c, d)`.
fn bind<'t>(pattern: Option<Node<'t>>, reader: &mut Reader<'t>) {
    /// Maximum number of nodes visited in one pattern; hand-written patterns are smaller.
    const NODES_MAX: usize = 500;
    if !reader.in_function() {
        return;
    }
    let mut waiting: Vec<Node> = pattern.into_iter().collect();
    for _ in 0..NODES_MAX {
        let Some(node) = waiting.pop() else { return };
        match node.kind() {
            "identifier" => reader.local(reader.text(node)),
            "pattern_list" | "tuple_pattern" | "list_pattern" | "list_splat_pattern" | "dictionary_splat_pattern" => {
                waiting.extend(children(node))
            }
            _ => {}
        }
    }
}
