//! Lists the attributes that each class defines, and those that its methods use on `self` or `this`.

use std::collections::HashSet;

use tree_sitter::Node;

use super::{DEPTH_MAX, Use};
use crate::index::syntax::{children, content, language_of, tree_of};

/// A class and its attributes.
#[derive(Clone, Debug)]
pub struct Members {
    pub name: String,
    /// It may have attributes that the text does not show, by a base class, a decorator or `setattr`.
    pub is_open: bool,
    pub defined: HashSet<String>,
    pub used: Vec<Use>,
}

/// Classes of `text` in Python, JavaScript or TypeScript; empty if it has syntax errors.
pub fn members(path: &str, text: &str) -> Vec<Members> {
    let language = language_of(path);
    let is_python = match language {
        "python" => true,
        "javascript" | "jsx" | "typescript" | "tsx" => false,
        _ => return Vec::new(),
    };
    let tree = tree_of(language, text).filter(|tree| !tree.root_node().has_error());
    let Some(tree) = tree else { return Vec::new() };
    let mut found = Vec::new();
    let mut waiting = vec![(tree.root_node(), 0)];
    while let Some((node, depth)) = waiting.pop() {
        if depth > DEPTH_MAX {
            continue;
        }
        if matches!(node.kind(), "class_definition" | "class_declaration" | "abstract_class_declaration" | "class")
            && node.is_named()
        {
            found.push(if is_python { python(node, text) } else { script(node, text) });
        }
        // Classes inside functions are left out: they may use names around them.
        if !FUNCTIONS.contains(&node.kind()) {
            waiting.extend(children(node).map(|child| (child, depth + 1)));
        }
    }
    found
}

const FUNCTIONS: &[&str] = &[
    "function_definition",
    "function_declaration",
    "function_expression",
    "arrow_function",
    "method_definition",
    "lambda",
    "generator_function_declaration",
    "generator_function",
];

/// Decorators that add no attributes except special methods (`__eq__`, …).
const PLAIN: &[&str] = &["dataclass", "total_ordering", "final", "runtime_checkable", "unique"];

fn python(class: Node, text: &str) -> Members {
    let mut bases = class.child_by_field_name("superclasses").into_iter().flat_map(children);
    let definition = class.parent().filter(|parent| parent.kind() == "decorated_definition");
    let mut decorators = definition.into_iter().flat_map(children).filter(|child| child.kind() == "decorator");
    let is_plain = |decorator: Node| {
        let words = content(decorator, text).trim_start_matches('@');
        let last = words.split('(').next().unwrap_or_default().rsplit('.').next().unwrap_or_default().trim();
        PLAIN.contains(&last)
    };
    let mut all = Members {
        name: field(class, "name", text),
        is_open: bases.any(|base| content(base, text) != "object") || decorators.any(|one| !is_plain(one)),
        defined: HashSet::new(),
        used: Vec::new(),
    };
    let mut waiting: Vec<(Node, bool, usize)> =
        class.child_by_field_name("body").into_iter().map(|body| (body, false, 0)).collect();
    while let Some((node, in_method, depth)) = waiting.pop() {
        let is_lambda_with_self = content(node, text).starts_with("lambda self");
        let goes_on = !is_lambda_with_self && python_member(node, in_method, text, &mut all);
        if goes_on && depth < DEPTH_MAX {
            let inside = in_method || node.kind() == "function_definition";
            waiting.extend(children(node).map(|child| (child, inside, depth + 1)));
        }
    }
    all
}

fn field(node: Node, name: &str, text: &str) -> String {
    node.child_by_field_name(name).map_or("", |n| content(n, text)).to_owned()
}

/// Notes the attributes that one node sets or uses. False if its children must not be visited.
fn python_member(node: Node, in_method: bool, text: &str, all: &mut Members) -> bool {
    match node.kind() {
        // Another class has its own `self`.
        "class_definition" => {
            all.defined.insert(field(node, "name", text));
            return false;
        }
        "function_definition" => {
            let name = field(node, "name", text);
            all.is_open |= matches!(name.as_str(), "__getattr__" | "__getattribute__" | "__setattr__");
            if !in_method {
                all.defined.insert(name);
            }
        }
        "assignment" | "augmented_assignment" | "named_expression" if !in_method => {
            let left = node.child_by_field_name("left");
            left.into_iter().for_each(|left| names_of(left, text, &mut all.defined));
        }
        "call" => {
            let function = field(node, "function", text);
            all.is_open |= matches!(function.as_str(), "setattr" | "vars") || function.ends_with("__dict__.update");
        }
        "attribute" if field(node, "object", text) == "self" => {
            let name = field(node, "attribute", text);
            all.is_open |= name == "__dict__";
            let place = node.child_by_field_name("attribute").map_or(node.byte_range(), |n| n.byte_range());
            note(all, node, name, place);
        }
        // In the body of a class these bind names too; a class that has them counts as open.
        "for_statement" | "with_statement" | "import_statement" | "import_from_statement" if !in_method => {
            all.is_open = true
        }
        _ => {}
    }
    true
}

/// Notes an attribute as defined if it is set here, else as used.
fn note(all: &mut Members, attribute: Node, name: String, bytes: std::ops::Range<usize>) {
    if is_set(attribute) {
        all.defined.insert(name);
    } else {
        all.used.push(Use { name, bytes });
    }
}

fn names_of(left: Node, text: &str, names: &mut HashSet<String>) {
    let parts = match left.kind() {
        "pattern_list" | "tuple_pattern" => children(left).collect(),
        _ => vec![left],
    };
    names.extend(parts.into_iter().filter(|n| n.kind() == "identifier").map(|n| content(n, text).to_owned()));
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

fn script(class: Node, text: &str) -> Members {
    let decorated = children(class).any(|child| child.kind() == "decorator");
    let name = field(class, "name", text);
    // Attributes added to the prototype or merged into the type are not visible in the class.
    let elsewhere = [format!("{name}.prototype"), format!("interface {name}"), format!("Object.assign({name}")];
    let mut all = Members {
        is_open: decorated
            || children(class).any(|child| child.kind() == "class_heritage")
            || name.is_empty()
            || elsewhere.iter().any(|words| text.contains(words.as_str())),
        name,
        defined: HashSet::new(),
        used: Vec::new(),
    };
    let Some(body) = class.child_by_field_name("body") else { return all };
    for member in children(body) {
        let name = member.child_by_field_name("name").or_else(|| member.child_by_field_name("property"));
        if let Some(name) = name {
            all.is_open |= name.kind() == "computed_property_name";
            all.defined.insert(content(name, text).trim_matches(['"', '\'']).to_owned());
        }
        all.is_open |= member.kind() == "index_signature";
        script_member(member, text, &mut all);
    }
    all
}

fn script_member(member: Node, text: &str, all: &mut Members) {
    let mut waiting = vec![(member, 0)];
    while let Some((node, depth)) = waiting.pop() {
        match node.kind() {
            // These have their own `this`.
            "function_expression" | "function_declaration" | "generator_function" | "class_declaration" | "class" => {
                continue;
            }
            "method_definition" if node != member => continue,
            "required_parameter" | "optional_parameter"
                if children(node).any(|child| child.kind() == "accessibility_modifier")
                    || content(node, text).starts_with("readonly ") =>
            {
                let pattern = node.child_by_field_name("pattern").map_or("", |n| content(n, text));
                all.defined.insert(pattern.to_owned());
            }
            "call_expression"
                if content(node, text).starts_with("Object.") && content(node, text).contains("(this") =>
            {
                all.is_open = true
            }
            "member_expression" if is_this(node) => {
                if let Some(property) = node.child_by_field_name("property") {
                    let name = content(property, text).to_owned();
                    note(all, node, name, property.byte_range());
                }
            }
            "subscript_expression" if is_this(node) && is_set(node) => all.is_open = true,
            _ => {}
        }
        if depth < DEPTH_MAX {
            waiting.extend(children(node).map(|child| (child, depth + 1)));
        }
    }
}

fn is_this(node: Node) -> bool {
    node.child_by_field_name("object").is_some_and(|object| object.kind() == "this")
}
