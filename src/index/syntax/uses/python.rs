//! Finds the names that Python binds and uses.

use tree_sitter::Node;

use super::{Names, Step};
use crate::index::syntax::children;

const BUILT_IN: &str = " ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup BlockingIOError \
    BrokenPipeError BufferError BytesWarning ChildProcessError ConnectionAbortedError ConnectionError \
    ConnectionRefusedError ConnectionResetError DeprecationWarning EOFError Ellipsis EncodingWarning EnvironmentError \
    Exception ExceptionGroup False FileExistsError FileNotFoundError FloatingPointError FutureWarning GeneratorExit \
    IOError ImportError ImportWarning IndentationError IndexError InterruptedError IsADirectoryError KeyError \
    KeyboardInterrupt LookupError MemoryError ModuleNotFoundError NameError None NotADirectoryError NotImplemented \
    NotImplementedError OSError OverflowError PendingDeprecationWarning PermissionError ProcessLookupError \
    PythonFinalizationError RecursionError ReferenceError ResourceWarning RuntimeError RuntimeWarning StopAsyncIteration \
    StopIteration SyntaxError SyntaxWarning SystemError SystemExit TabError TimeoutError True TypeError \
    UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError UnicodeTranslateError UnicodeWarning UserWarning \
    ValueError Warning WindowsError ZeroDivisionError abs aiter all anext any ascii bin bool breakpoint bytearray bytes \
    callable chr classmethod compile complex copyright credits delattr dict dir divmod enumerate eval exec exit filter \
    float format frozenset getattr globals hasattr hash help hex id input int isinstance issubclass iter len license list \
    locals map max memoryview min next object oct open ord pow print property quit range repr reversed round set setattr \
    slice sorted staticmethod str sum super tuple type vars zip reveal_type unicode basestring xrange raw_input long \
    unichr reduce file cmp execfile reload buffer intern coerce _ ";

pub(super) fn is_built_in(name: &str) -> bool {
    BUILT_IN.contains(&format!(" {name} ")) || (name.starts_with("__") && name.ends_with("__"))
}

pub(super) fn visit<'t>((node, scope, depth): Step<'t>, names: &mut Names<'t>, next: &mut Vec<Step<'t>>) {
    let field = |name: &str| node.child_by_field_name(name);
    let mut look = |node: Node<'t>, scope: usize| next.push((node, scope, depth + 1));
    match node.kind() {
        "identifier" => names.used.push((node, scope)),
        "function_definition" => function(node, scope, names, &mut look),
        "class_definition" => {
            field("name").into_iter().for_each(|name| names.bind(name, scope));
            let inner = names.open(node, true, false);
            for child in children(node).filter(|child| Some(*child) != field("name")) {
                look(child, if child.kind() == "argument_list" { scope } else { inner });
            }
        }
        "lambda" | "list_comprehension" | "set_comprehension" | "dictionary_comprehension" | "generator_expression" => {
            let inner = names.open(node, false, node.kind() == "lambda");
            children(node).for_each(|child| look(child, inner));
        }
        "lambda_parameters" => children(node).for_each(|child| parameter(child, scope, names, &mut look)),
        "assignment" | "augmented_assignment" | "for_statement" | "for_in_clause" => {
            field("left").into_iter().for_each(|left| bind(left, scope, names, &mut look));
            let rest = children(node).filter(|child| Some(*child) != field("left"));
            rest.for_each(|child| look(child, scope));
        }
        "as_pattern_target" => children(node).for_each(|child| bind(child, scope, names, &mut look)),
        "named_expression" => {
            field("name").into_iter().for_each(|name| names.bind(name, scope));
            // In a comprehension it binds in a scope further out, here taken to be the whole file.
            if !names.scopes[scope].is_function {
                field("name").into_iter().for_each(|name| names.bind(name, 0));
            }
            field("value").into_iter().for_each(|value| look(value, scope));
        }
        // Any function may set the name at the top of the file.
        "global_statement" | "nonlocal_statement" => children(node).for_each(|name| names.bind(name, 0)),
        "import_statement" | "import_from_statement" | "future_import_statement" => import(node, scope, names),
        "keyword_argument" => field("value").into_iter().for_each(|value| look(value, scope)),
        "attribute" => field("object").into_iter().for_each(|object| look(object, scope)),
        "case_pattern" => bind_all(node, scope, names),
        // Methods of a class see its type parameters.
        "type_parameter" => bind_all(node, 0, names),
        "type_alias_statement" => {
            field("left").into_iter().for_each(|left| bind_all(left, scope, names));
            field("right").into_iter().for_each(|right| look(right, scope));
        }
        "call" if is_open_call(node, names) => names.is_open = true,
        _ => children(node).for_each(|child| look(child, scope)),
    }
}

fn function<'t>(node: Node<'t>, scope: usize, names: &mut Names<'t>, look: &mut impl FnMut(Node<'t>, usize)) {
    let own = node.child_by_field_name("name");
    own.into_iter().for_each(|name| names.bind(name, scope));
    let inner = names.open(node, false, true);
    for child in children(node).filter(|child| Some(*child) != own) {
        match child.kind() {
            // Defaults and types are read outside the function.
            "parameters" => {
                let mut outside = |part: Node<'t>, _: usize| look(part, scope);
                children(child).for_each(|one| parameter(one, inner, names, &mut outside));
            }
            "type" => look(child, scope),
            _ => look(child, inner),
        }
    }
}

/// Whether a call may bind names that are not visible: `globals()["name"] = …`, `exec(…)`.
fn is_open_call(node: Node, names: &Names) -> bool {
    let function = node.child_by_field_name("function").map(|function| names.content(function));
    matches!(function, Some("exec" | "globals"))
}

fn parameter<'t>(node: Node<'t>, scope: usize, names: &mut Names<'t>, look: &mut impl FnMut(Node<'t>, usize)) {
    let field = |name: &str| node.child_by_field_name(name);
    match node.kind() {
        "default_parameter" | "typed_default_parameter" => {
            field("name").into_iter().for_each(|name| bind(name, scope, names, look));
            field("value").into_iter().chain(field("type")).for_each(|part| look(part, scope));
        }
        "typed_parameter" => {
            let ty = field("type");
            children(node).filter(|child| Some(*child) != ty).for_each(|name| bind(name, scope, names, look));
            ty.into_iter().for_each(|ty| look(ty, scope));
        }
        _ => bind(node, scope, names, look),
    }
}

/// Binds the names of a pattern; what it reads (`a` in `a[i] = …`, `a.b = …`) is visited as a use.
fn bind<'t>(pattern: Node<'t>, scope: usize, names: &mut Names<'t>, look: &mut impl FnMut(Node<'t>, usize)) {
    const NODES_MAX: usize = 2_000;
    let mut waiting = vec![pattern];
    for _ in 0..NODES_MAX {
        let Some(node) = waiting.pop() else { return };
        match node.kind() {
            "identifier" => names.bind(node, scope),
            "attribute" | "subscript" | "call" => look(node, scope),
            _ => waiting.extend(children(node)),
        }
    }
}

fn bind_all<'t>(node: Node<'t>, scope: usize, names: &mut Names<'t>) {
    bind(node, scope, names, &mut |_, _| {});
}

fn import<'t>(node: Node<'t>, scope: usize, names: &mut Names<'t>) {
    let from = node.child_by_field_name("module_name");
    // `from .part import x` in a package's own file makes `part` one of its names.
    let part = from.and_then(|from| names.content(from).strip_prefix('.'));
    names.bound.extend(part.filter(|part| !part.is_empty()).map(|part| (part, 0)));
    for child in children(node).filter(|child| Some(*child) != from) {
        match child.kind() {
            "wildcard_import" => names.is_open = true,
            "aliased_import" => {
                child.child_by_field_name("alias").into_iter().for_each(|alias| names.bind(alias, scope))
            }
            _ => {
                let first = names.content(child).split('.').next().unwrap_or_default();
                names.bound.push((first, scope));
            }
        }
    }
}
