//! Finds the names that JavaScript and TypeScript bind and use, types left out.

use tree_sitter::Node;

use super::{Names, Step};
use crate::base::is_listed;
use crate::index::syntax::children;

/// Globals of browsers, Node, Deno, Bun and test frameworks. A name too many here hides an error, one too few is a false
/// alarm.
const BUILT_IN: &str = " AbortController AbortSignal AggregateError Array ArrayBuffer Atomics Audio BigInt BigInt64Array \
    BigUint64Array Blob Boolean BroadcastChannel Buffer Bun CSS Cache CompressionStream Crypto CryptoKey DOMException \
    DOMParser DOMRect DataView Date DecompressionStream Deno Document DocumentFragment Element Error EvalError File FileList \
    FileReader FinalizationRegistry Float32Array Float64Array FormData Function Headers History Image ImageData Infinity \
    Int16Array Int32Array Int8Array Intl Iterator JSON Location Map Math MessageChannel NaN Navigator Node NodeFilter \
    NodeList Notification Number Object Option Path2D Promise Proxy Range ReadableStream ReferenceError Reflect RegExp \
    Request Response Selection Set SharedArrayBuffer SharedWorker Storage String SubtleCrypto Symbol SyntaxError Text \
    TextDecoder TextEncoder TransformStream TypeError URIError URL URLSearchParams Uint16Array Uint32Array Uint8Array \
    Uint8ClampedArray WeakMap WeakRef WeakSet WebAssembly WebSocket Window Worker WritableStream XMLHttpRequest \
    XMLSerializer EventTarget Float16Array __dirname __filename await hasOwnProperty yield addEventListener after afterAll afterEach alert arguments atob before beforeAll \
    beforeEach bench browser btoa caches cancelAnimationFrame cancelIdleCallback chai chrome clearImmediate clearInterval \
    clearTimeout confirm console context crypto customElements cy Cypress decodeURI decodeURIComponent define describe \
    dispatchEvent document encodeURI encodeURIComponent escape eval expect expectTypeOf exports fetch frames gc \
    getComputedStyle getSelection global globalThis history importScripts indexedDB innerHeight innerWidth isFinite isNaN it \
    jasmine jest jQuery localStorage location matchMedia mocha module navigator onmessage open origin parent parseFloat \
    parseInt performance postMessage print process prompt queueMicrotask removeEventListener reportError \
    requestAnimationFrame requestIdleCallback require screen scroll scrollBy scrollTo self sessionStorage setImmediate \
    setInterval setTimeout should sinon specify spyOn structuredClone suite suiteSetup suiteTeardown setup teardown test top \
    undefined unescape vi vitest window xdescribe xit fdescribe fit assert assertType React $ _ log ";
/// Endings of names that browsers define.
const ENDS: &[&str] = &["Event", "Element", "Observer", "Error", "List", "Context", "Stream"];

const FUNCTIONS: &str = "\
    function_declaration generator_function_declaration function_signature function_expression generator_function \
    arrow_function method_definition";
const CONTAINERS: &str = "class_declaration abstract_class_declaration class enum_declaration internal_module module";
/// Node kinds that are skipped: types, and names that are not values of this file.
const SILENT: &str = "\
    export_clause namespace_export type_annotation type_arguments type_parameters interface_declaration \
    type_alias_declaration nested_type_identifier type_query implements_clause jsx_namespace_name \
    jsx_closing_element type_predicate_annotation asserts_annotation comment index_signature method_signature";

pub(super) fn is_built_in(name: &str) -> bool {
    let is_dom = name.starts_with(char::is_uppercase)
        && (ENDS.iter().any(|end| name.ends_with(end))
            || ["HTML", "SVG", "RTC", "IDB"].iter().any(|p| name.starts_with(p)));
    is_dom || BUILT_IN.contains(&format!(" {name} ")) || name.starts_with("__")
}

pub(super) fn visit<'t>((node, scope, depth): Step<'t>, names: &mut Names<'t>, next: &mut Vec<Step<'t>>) {
    let field = |name: &str| node.child_by_field_name(name);
    let mut look = |node: Node<'t>, scope: usize| next.push((node, scope, depth + 1));
    match node.kind() {
        "identifier" | "shorthand_property_identifier" => names.used.push((node, scope)),
        kind if is_listed(SILENT, kind) => {}
        kind if is_listed(FUNCTIONS, kind) => function(node, scope, names, &mut look),
        kind if is_listed(CONTAINERS, kind) => container(node, scope, names, &mut look),
        "formal_parameters" => children(node).for_each(|one| parameter(one, scope, names, &mut look)),
        "variable_declarator" => {
            field("name").into_iter().for_each(|name| bind(name, scope, names, &mut look));
            field("value").into_iter().for_each(|value| look(value, scope));
        }
        "assignment_expression" | "for_in_statement" | "catch_clause" => {
            let pattern = field("left").or_else(|| field("parameter"));
            pattern.into_iter().for_each(|left| bind(left, scope, names, &mut look));
            children(node).filter(|child| Some(*child) != pattern).for_each(|child| look(child, scope));
        }
        "import_statement" => import(node, scope, names),
        "ambient_declaration" => bind_all(node, names),
        "with_statement" => names.is_open = true,
        // `typeof x` is allowed for an undefined name.
        "unary_expression" if names.content(node).starts_with("typeof") => {
            children(node).filter(|child| child.kind() != "identifier").for_each(|child| look(child, scope))
        }
        "jsx_opening_element" | "jsx_self_closing_element" => {
            let small = |name: &Node<'t>| names.content(*name).starts_with(char::is_lowercase);
            let tag = field("name").filter(|name| name.kind() == "identifier" && small(name));
            children(node).filter(|child| Some(*child) != tag).for_each(|child| look(child, scope));
        }
        _ => children(node).for_each(|child| look(child, scope)),
    }
}

fn function<'t>(node: Node<'t>, scope: usize, names: &mut Names<'t>, look: &mut impl FnMut(Node<'t>, usize)) {
    let declared = node.kind().ends_with("declaration") || node.kind() == "function_signature";
    let inner = names.open(node, false, true);
    let own = node.child_by_field_name("name").filter(|name| name.kind() == "identifier");
    own.into_iter().for_each(|name| names.bind(name, if declared { scope } else { inner }));
    let alone = node.child_by_field_name("parameter");
    alone.into_iter().for_each(|one| bind(one, inner, names, look));
    let rest = children(node).filter(|child| Some(*child) != own && Some(*child) != alone);
    rest.for_each(|child| look(child, inner));
}

/// A class, an enum or a namespace.
fn container<'t>(node: Node<'t>, scope: usize, names: &mut Names<'t>, look: &mut impl FnMut(Node<'t>, usize)) {
    let inner = names.open(node, false, false);
    let own = node.child_by_field_name("name");
    own.into_iter().for_each(|name| names.bind(name, if node.kind() == "class" { inner } else { scope }));
    for child in children(node).filter(|child| Some(*child) != own) {
        if child.kind() == "enum_body" {
            entries(child, inner, names);
        }
        look(child, inner);
    }
}

/// Binds the entries of an enum: values of later entries may use them.
fn entries<'t>(body: Node<'t>, scope: usize, names: &mut Names<'t>) {
    for child in children(body) {
        names.bind(child.child_by_field_name("name").unwrap_or(child), scope);
    }
}

fn parameter<'t>(node: Node<'t>, scope: usize, names: &mut Names<'t>, look: &mut impl FnMut(Node<'t>, usize)) {
    match node.child_by_field_name("pattern") {
        Some(pattern) => {
            bind(pattern, scope, names, look);
            let rest = children(node).filter(|child| *child != pattern);
            rest.for_each(|child| look(child, scope));
        }
        None => bind(node, scope, names, look),
    }
}

/// Binds the names of a pattern; its default values and computed keys are visited as uses.
fn bind<'t>(pattern: Node<'t>, scope: usize, names: &mut Names<'t>, look: &mut impl FnMut(Node<'t>, usize)) {
    const NODES_MAX: usize = 2_000;
    let mut waiting = vec![pattern];
    for _ in 0..NODES_MAX {
        let Some(node) = waiting.pop() else { return };
        match node.kind() {
            "identifier" | "shorthand_property_identifier_pattern" => names.bind(node, scope),
            "assignment_pattern" | "object_assignment_pattern" => {
                waiting.extend(node.child_by_field_name("left"));
                node.child_by_field_name("right").into_iter().for_each(|right| look(right, scope));
            }
            "pair_pattern" => waiting.extend(node.child_by_field_name("value")),
            "object_pattern" | "array_pattern" | "rest_pattern" | "parenthesized_expression" => {
                waiting.extend(children(node))
            }
            _ => look(node, scope),
        }
    }
}

/// Binds every name inside an ambient declaration (`declare …`).
fn bind_all<'t>(node: Node<'t>, names: &mut Names<'t>) {
    const NODES_MAX: usize = 5_000;
    let mut waiting = vec![node];
    for _ in 0..NODES_MAX {
        let Some(node) = waiting.pop() else { return };
        if matches!(node.kind(), "identifier" | "type_identifier") {
            names.bind(node, 0);
        }
        waiting.extend(children(node));
    }
}

fn import<'t>(node: Node<'t>, scope: usize, names: &mut Names<'t>) {
    for child in children(node) {
        match child.kind() {
            "import_specifier" => {
                let name = child.child_by_field_name("alias").or_else(|| child.child_by_field_name("name"));
                name.into_iter().for_each(|name| names.bind(name, scope));
            }
            "identifier" => names.bind(child, scope),
            "import_clause" | "named_imports" | "namespace_import" | "import_require_clause" => {
                import(child, scope, names)
            }
            _ => {}
        }
    }
}
