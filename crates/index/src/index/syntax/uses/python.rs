//! Finds the names that Python binds and uses.

use tree_sitter::Node;

use super::Names;
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

pub(super) fn visit<'t>(node: Node<'t>, names: &mut Names<'t>) -> bool {
    let field = |name: &str| node.child_by_field_name(name);
    match node.kind() {
        // Defaults, types, bases and decorators are evaluated outside the body.
        "function_definition" | "lambda" => {
            names.bind(field("name"));
            let inner = names.open(field("body").map_or(0..0, |body| body.byte_range()), false, true);
            for parameter in field("parameters").into_iter().flat_map(children) {
                let own = match parameter.kind() {
                    "default_parameter" | "typed_default_parameter" => parameter.child_by_field_name("name"),
                    "typed_parameter" => parameter.named_child(0),
                    _ => Some(parameter),
                };
                own.into_iter().for_each(|own| names.bind_in(own, inner));
            }
        }
        "class_definition" => {
            names.bind(field("name"));
            names.open(field("body").map_or(0..0, |body| body.byte_range()), true, false);
        }
        "list_comprehension" | "set_comprehension" | "dictionary_comprehension" | "generator_expression" => {
            names.open(node.byte_range(), false, false);
        }
        "assignment" | "augmented_assignment" | "for_statement" | "for_in_clause" => names.bind(field("left")),
        "as_pattern_target" => children(node).for_each(|child| names.bind(Some(child))),
        "named_expression" => {
            names.bind(field("name"));
            // In a comprehension it binds in an outer scope, assumed here to be the whole file.
            if let Some(name) = field("name").filter(|_| !names.scopes[names.scope_of(node)].is_function) {
                names.bind_in(name, 0);
            }
        }
        "keyword_argument" => names.silence(field("name")),
        "attribute" => names.silence(field("attribute")),
        "type_alias_statement" => field("left").into_iter().for_each(|left| names.bind_all(left, names.scope_of(node))),
        "call" => {
            // `globals()["name"] = …` and `exec(…)` may bind names that are not visible.
            let function = field("function").map(|function| names.content(function));
            names.is_open |= matches!(function, Some("exec" | "globals"));
        }
        "case_pattern" => {
            names.bind_all(node, names.scope_of(node));
            return false;
        }
        // Methods see the type parameters of their class, and any function may set a name at the
        // top of the file.
        "type_parameter" | "global_statement" | "nonlocal_statement" => {
            names.bind_all(node, 0);
            return false;
        }
        "import_statement" | "import_from_statement" | "future_import_statement" => {
            import(node, names.scope_of(node), names);
            return false;
        }
        _ => {}
    }
    true
}

fn import<'t>(node: Node<'t>, scope: usize, names: &mut Names<'t>) {
    let from = node.child_by_field_name("module_name");
    // `from .part import x` in a package's `__init__` makes `part` one of its names.
    let part = from.and_then(|from| names.content(from).strip_prefix('.'));
    names.bound.extend(part.filter(|part| !part.is_empty()).map(|part| (part, 0)));
    for child in children(node).filter(|child| Some(*child) != from) {
        match child.kind() {
            "wildcard_import" => names.is_open = true,
            "aliased_import" => names.bind(child.child_by_field_name("alias")),
            _ => {
                let first = names.content(child).split('.').next().unwrap_or_default();
                names.bound.push((first, scope));
            }
        }
    }
}
