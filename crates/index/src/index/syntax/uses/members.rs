//! Lists the attributes that each class defines, and those that its methods use on `self` or `this`.

use std::collections::HashSet;

use tree_sitter::Node;

use super::Use;
use crate::base::is_listed;
use crate::index::syntax::{children, content, descend, field, language_of, tree_of};

/// A class and its attributes.
#[derive(Clone, Debug)]
pub struct Members {
    pub name: String,
    /// It may have attributes that do not appear in the text, through a base class, a decorator or
    /// `setattr`.
    pub is_open: bool,
    pub defined: HashSet<String>,
    pub used: Vec<Use>,
}

/// How a language writes an object's attributes inside its class.
struct Words {
    /// The object itself.
    own: &'static str,
    /// Node kind of `own.name`, and the field that holds the name.
    attribute: &'static str,
    name: &'static str,
    /// Node kinds inside which `own` is another object.
    apart: &'static [&'static str],
}

const PYTHON: Words = Words { own: "self", attribute: "attribute", name: "attribute", apart: &["class_definition"] };
const SCRIPT: Words = Words {
    own: "this",
    attribute: "member_expression",
    name: "property",
    apart: &["function_expression", "function_declaration", "generator_function", "class_declaration", "class"],
};

const FUNCTIONS: &str = "\
    function_definition function_declaration function_expression arrow_function method_definition lambda \
    generator_function_declaration generator_function";

/// Decorators that add no attributes except special methods (`__eq__`, …).
const PLAIN: &str = "dataclass total_ordering final runtime_checkable unique";

/// Markers of dynamic attributes (`setattr`, `__dict__`, …): unknown members of such a class are not reported.
const OPENERS: &[&str] = &[
    "setattr(",
    "vars(",
    "__dict__",
    "__getattr",
    "__setattr__",
    "Object.assign(this",
    "Object.defineProperty(this",
    "Object.defineProperties(this",
];

/// Classes of `text` in Python, JavaScript or TypeScript; empty if it has syntax errors.
pub fn members(path: &str, text: &str) -> Vec<Members> {
    let language = language_of(path);
    let words = match language {
        "python" => &PYTHON,
        "javascript" | "jsx" | "typescript" | "tsx" => &SCRIPT,
        _ => return Vec::new(),
    };
    let tree = tree_of(language, text).filter(|tree| !tree.root_node().has_error());
    let mut found = Vec::new();
    let Some(tree) = tree else { return found };
    descend(tree.root_node(), |node| {
        let is_class =
            matches!(node.kind(), "class_definition" | "class_declaration" | "abstract_class_declaration" | "class");
        if is_class && node.is_named() {
            found.push(class(node, text, words));
        }
        // Classes inside functions are omitted: they may use names around them.
        !is_listed(FUNCTIONS, node.kind())
    });
    found
}

fn class(node: Node, text: &str, words: &Words) -> Members {
    let name = field(node, "name", text).to_owned();
    // Attributes added to the prototype or merged into the type are not visible in the class.
    let elsewhere = [format!("{name}.prototype"), format!("interface {name}"), format!("Object.assign({name}")];
    let own = content(node, text);
    let mut all = Members {
        is_open: is_extended(node, text)
            || name.is_empty()
            || elsewhere.iter().any(|words| text.contains(words.as_str()))
            || OPENERS.iter().any(|words| own.contains(words)),
        name,
        defined: HashSet::new(),
        used: Vec::new(),
    };
    for member in node.child_by_field_name("body").into_iter().flat_map(children) {
        let member = member.child_by_field_name("definition").unwrap_or(member);
        match defined_by(member, text) {
            Some(names) => all.defined.extend(names.into_iter().map(str::to_owned)),
            None => all.is_open = true,
        }
        note_uses(member, text, words, &mut all);
    }
    all
}

/// Whether a base class or decorator may add attributes to the class.
fn is_extended(class: Node, text: &str) -> bool {
    let mut bases = class.child_by_field_name("superclasses").into_iter().flat_map(children);
    let around = class.parent().filter(|parent| parent.kind() == "decorated_definition");
    let mut decorators =
        children(class).chain(around.into_iter().flat_map(children)).filter(|child| child.kind() == "decorator");
    let is_plain = |decorator: Node| {
        let words = content(decorator, text).trim_start_matches('@');
        let last = words.split('(').next().unwrap_or_default().rsplit('.').next().unwrap_or_default().trim();
        is_listed(PLAIN, last)
    };
    children(class).any(|child| child.kind() == "class_heritage")
        || bases.any(|base| content(base, text) != "object")
        || decorators.any(|one| !is_plain(one))
}

/// Statements of a class body that may define attributes.
const UNCLEAR: &str = "\
    for_statement with_statement if_statement try_statement match_statement import_statement import_from_statement \
    index_signature";

/// The names defined by a member of a class body; `None` if they do not appear in the text.
fn defined_by<'t>(member: Node, text: &'t str) -> Option<Vec<&'t str>> {
    match member.kind() {
        kind if is_listed(UNCLEAR, kind) => None,
        "expression_statement" => {
            let chain = std::iter::successors(member.named_child(0), |one| one.child_by_field_name("right"));
            let left =
                chain.take_while(|one| one.kind() == "assignment").filter_map(|one| one.child_by_field_name("left"));
            let parts = left.flat_map(|left| match left.kind() {
                "pattern_list" | "tuple_pattern" => children(left).collect(),
                _ => vec![left],
            });
            Some(parts.filter(|part| part.kind() == "identifier").map(|part| content(part, text)).collect())
        }
        _ => match member.child_by_field_name("name").or_else(|| member.child_by_field_name("property")) {
            Some(name) if name.kind() == "computed_property_name" => None,
            name => Some(name.into_iter().map(|name| content(name, text).trim_matches(['"', '\''])).collect()),
        },
    }
}

/// Records the attributes that a member sets or uses.
fn note_uses(member: Node, text: &str, words: &Words, all: &mut Members) {
    descend(member, |node| {
        let kind = node.kind();
        let is_apart = words.apart.contains(&kind) || kind == "method_definition" && node != member;
        if is_apart && node.is_named() || content(node, text).starts_with("lambda self") {
            return false;
        }
        let is_own = field(node, "object", text) == words.own;
        match kind {
            _ if is_own && kind == words.attribute => {
                let Some(name) = node.child_by_field_name(words.name) else { return true };
                let found = content(name, text).to_owned();
                if is_set(node) {
                    all.defined.insert(found);
                } else {
                    all.used.push(Use { name: found, bytes: name.byte_range() });
                }
            }
            "subscript_expression" if is_own && is_set(node) => all.is_open = true,
            // `constructor(private name: string)` sets an attribute.
            "required_parameter" | "optional_parameter"
                if children(node).any(|child| child.kind() == "accessibility_modifier")
                    || content(node, text).starts_with("readonly ") =>
            {
                all.defined.insert(field(node, "pattern", text).to_owned());
            }
            _ => {}
        }
        true
    });
}

/// Whether an attribute is the target of an assignment, a loop or `with`.
fn is_set(attribute: Node) -> bool {
    const LEVELS_MAX: usize = 6;
    let mut node = attribute;
    for _ in 0..LEVELS_MAX {
        let Some(parent) = node.parent() else { return false };
        match parent.kind() {
            "assignment" | "assignment_expression" | "for_statement" | "for_in_clause" => {
                return parent.child_by_field_name("left") == Some(node);
            }
            "as_pattern_target" => return true,
            "pattern_list" | "tuple_pattern" | "list_pattern" | "list_splat_pattern" | "array_pattern"
            | "object_pattern" | "pair_pattern" | "rest_pattern" => node = parent,
            _ => return false,
        }
    }
    false
}
