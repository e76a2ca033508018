//! Finds the names that JavaScript and TypeScript bind and use, ignoring types.

use tree_sitter::Node;

use super::Names;
use crate::base::is_listed;
use crate::index::syntax::children;

/// Globals of browsers, Node, Deno, Bun and test frameworks. A superfluous name hides an error; a
/// missing one causes a false alarm.
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
/// Suffixes of names that browsers define.
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

pub(super) fn visit<'t>(node: Node<'t>, names: &mut Names<'t>) -> bool {
    let field = |name: &str| node.child_by_field_name(name);
    match node.kind() {
        kind if is_listed(SILENT, kind) => return false,
        kind if is_listed(FUNCTIONS, kind) => {
            // A declaration's name is bound outside, a function expression's name inside.
            let is_declared = kind.ends_with("declaration") || kind == "function_signature";
            let own = field("name").filter(|name| name.kind() == "identifier");
            names.bind(own.filter(|_| is_declared));
            let from = field("parameters").or_else(|| field("parameter")).unwrap_or(node).start_byte();
            let inner = names.open(from..node.end_byte(), false, true);
            own.into_iter().filter(|_| !is_declared).for_each(|own| names.bind_in(own, inner));
            names.bind(field("parameter"));
        }
        kind if is_listed(CONTAINERS, kind) => {
            let outer = names.scope_of(node);
            let body = field("body");
            let inner = names.open(body.map_or(0..0, |body| body.byte_range()), false, false);
            let scope = if kind == "class" { inner } else { outer };
            field("name").into_iter().for_each(|name| names.bind_all(name, scope));
            // Values of later enum entries may use earlier entries.
            for entry in body.into_iter().filter(|body| body.kind() == "enum_body").flat_map(children) {
                names.bind_in(entry.child_by_field_name("name").unwrap_or(entry), inner);
            }
        }
        "formal_parameters" => {
            children(node).for_each(|one| names.bind(one.child_by_field_name("pattern").or(Some(one))));
        }
        "variable_declarator" => names.bind(field("name")),
        "assignment_expression" | "for_in_statement" => names.bind(field("left")),
        "catch_clause" => names.bind(field("parameter")),
        "with_statement" => names.is_open = true,
        // `typeof x` is allowed for an undefined name.
        "unary_expression" if names.content(node).starts_with("typeof") => {
            names.silence(field("argument").filter(|argument| argument.kind() == "identifier"));
        }
        "jsx_opening_element" | "jsx_self_closing_element" => {
            let is_small = |name: &Node| names.content(*name).starts_with(char::is_lowercase);
            let tag = field("name").filter(|name| name.kind() == "identifier" && is_small(name));
            names.silence(tag);
        }
        "import_statement" | "import_clause" | "named_imports" | "namespace_import" | "import_require_clause" => {
            children(node).filter(|child| child.kind() == "identifier").for_each(|child| names.bind(Some(child)));
        }
        "import_specifier" => {
            names.bind(field("alias").or_else(|| field("name")));
            return false;
        }
        "ambient_declaration" => {
            names.bind_all(node, 0);
            return false;
        }
        _ => {}
    }
    true
}
