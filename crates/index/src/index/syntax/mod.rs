//! Reads one source file into an outline: its definitions, imports, exports and references.

mod documents;
mod ecmascript;
mod go;
mod import_sites;
mod line_ranges;
mod nodes;
mod occurrences;
mod outline;
pub mod parts;
mod python;
mod queried;
mod reader;
mod rust;
pub mod types;
pub mod uses;

use std::ops::{ControlFlow, Range};
use std::time::{Duration, Instant};

use crate::base::is_listed;
use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

pub use documents::{document_outline, is_document, to_resolve};
pub use import_sites::{ImportForm, ImportSite, import_sites};
pub use line_ranges::{LineRange, stretches};
pub use nodes::{SyntaxNode, comments, is_string, syntax_nodes};
pub use occurrences::{Occurrence, Role, is_understood, names, words};
pub use outline::{Definition, Export, Import, Kind, Outline, Reference, ReferenceKind};
use queried::Queried;
use reader::{ITEMS_MAX, Reader};

/// Maximum parsing time per file. A header of 5 MB took another indexer 170 s; this one stops and
/// reports it.
const PARSE_TIME_MAX: Duration = Duration::from_secs(5);
/// Maximum syntax nesting visited. Generated expressions nest thousands of levels deep and define
/// nothing there.
const DEPTH_MAX: usize = 200;

/// Visits one node, in source order, and records in `reader` what it declares, imports, exports or
/// refers to.
type Visit = for<'t> fn(Node<'t>, &mut Reader<'t>);

/// The node inside wrappers (parentheses, type arguments), to the depth that occurs in hand-written
/// code. `inner` returns the content of a wrapper, `None` for any other node.
fn unwrapped<'t>(node: Node<'t>, inner: impl Fn(Node<'t>) -> Option<Node<'t>>) -> Node<'t> {
    const LAYERS_MAX: usize = 32;
    std::iter::successors(Some(node), |node| inner(*node)).take(LAYERS_MAX).last().unwrap_or(node)
}

/// The name of a file's language, by extension: `typescript`, `rust`, `markdown`, …; `text` if
/// unknown.
pub fn language_of(path: &str) -> &'static str {
    let extension = path.rsplit('/').next().and_then(|f| f.rsplit_once('.')).map_or("", |(_, e)| e);
    match extension {
        "ts" | "mts" | "cts" => "typescript",
        "tsx" => "tsx",
        "js" | "mjs" | "cjs" => "javascript",
        "jsx" => "jsx",
        "rs" => "rust",
        "py" | "pyi" | "pyw" => "python",
        "go" => "go",
        "md" | "mdx" | "markdown" => "markdown",
        "json" | "jsonc" | "json5" => "json",
        "toml" => "toml",
        "yaml" | "yml" => "yaml",
        "html" | "htm" => "html",
        "css" | "scss" | "less" => "css",
        "sh" | "bash" | "zsh" | "ksh" | "bats" => "shell",
        "fish" => "fish",
        "sql" => "sql",
        "c" | "y" | "l" => "c",
        // The C++ grammar also reads C headers.
        "h" | "cc" | "cpp" | "cxx" | "c++" | "hh" | "hpp" | "hxx" | "h++" | "inl" | "ipp" | "tpp" | "txx" | "ixx"
        | "cppm" | "cu" | "cuh" | "ino" | "yy" | "ll" => "cpp",
        "java" => "java",
        "cs" | "csx" => "csharp",
        "fs" | "fsi" | "fsx" => "fsharp",
        "kt" | "kts" => "kotlin",
        "scala" | "sc" => "scala",
        "groovy" | "gradle" => "groovy",
        "swift" => "swift",
        "m" | "mm" => "objective-c",
        "rb" | "rake" | "gemspec" | "ru" => "ruby",
        "cr" => "crystal",
        "ex" | "exs" => "elixir",
        "erl" | "hrl" => "erlang",
        "php" | "phtml" => "php",
        "pl" | "pm" | "t" => "perl",
        "raku" | "rakumod" => "raku",
        "lua" | "luau" => "lua",
        "zig" => "zig",
        "nim" => "nim",
        "odin" => "odin",
        "d" | "di" => "d",
        "dart" => "dart",
        "vue" => "vue",
        "svelte" => "svelte",
        "astro" => "astro",
        "hs" | "lhs" => "haskell",
        "purs" => "purescript",
        "elm" => "elm",
        "ml" | "mli" | "mll" | "mly" | "re" => "ocaml",
        "clj" | "cljs" | "cljc" => "clojure",
        "lisp" | "lsp" | "el" | "scm" | "rkt" | "fnl" => "lisp",
        "r" | "R" => "r",
        "jl" => "julia",
        "f" | "f90" | "f95" | "f03" | "f08" => "fortran",
        "pas" | "pp" | "dpr" => "pascal",
        "adb" | "ads" => "ada",
        "cob" | "cbl" => "cobol",
        "s" | "S" | "asm" => "assembly",
        "v" | "sv" | "svh" => "verilog",
        "vhd" | "vhdl" => "vhdl",
        "ps1" | "psm1" => "powershell",
        "awk" => "awk",
        "tcl" => "tcl",
        "vim" => "vimscript",
        "gd" => "gdscript",
        "glsl" | "vert" | "frag" | "hlsl" | "wgsl" | "metal" => "glsl",
        "sol" => "solidity",
        "proto" => "protobuf",
        "thrift" => "thrift",
        "graphql" | "gql" => "graphql",
        "tf" | "hcl" => "terraform",
        "nix" => "nix",
        "jq" => "jq",
        "pyx" | "pxd" => "cython",
        "coffee" => "coffeescript",
        "hx" => "haxe",
        "vala" => "vala",
        "cls" | "trigger" => "apex",
        _ => "text",
    }
}

/// Whether a language's files are source; the others are prose, settings and markup.
pub fn is_source(language: &str) -> bool {
    !is_listed("markdown json text toml yaml html css", language)
}

pub fn has_grammar(language: &str) -> bool {
    grammar_of(language).is_some()
}

/// The method of reading a language's outline.
enum Reading {
    Visit(Visit),
    Query(&'static Queried),
}

/// The parser of a language and how its tree is read. A new language is a query (`queries/`) and a line in `queried`.
fn grammar_of(language: &str) -> Option<(tree_sitter::Language, Reading)> {
    let (parser, visit): (_, Visit) = match language {
        "typescript" => (tree_sitter_typescript::LANGUAGE_TYPESCRIPT, ecmascript::visit),
        "tsx" => (tree_sitter_typescript::LANGUAGE_TSX, ecmascript::visit),
        "javascript" | "jsx" => (tree_sitter_javascript::LANGUAGE, ecmascript::visit),
        "rust" => (tree_sitter_rust::LANGUAGE, rust::visit),
        "python" => (tree_sitter_python::LANGUAGE, python::visit),
        "go" => (tree_sitter_go::LANGUAGE, go::visit),
        _ => {
            let queried = queried::of(language)?;
            return Some((queried.grammar(), Reading::Query(queried)));
        }
    };
    Some((parser.into(), Reading::Visit(visit)))
}

/// Whether a query describes a language, so that names in other files are found by name alone and
/// not by the language's scoping rules.
pub fn is_queried(language: &str) -> bool {
    queried::of(language).is_some()
}

/// The outline of `source`; empty for documents (see [`document_outline`]) and for a language
/// without a grammar. Never fails: `Outline::incomplete` states what is missing.
pub fn outline(language: &str, source: &str) -> Outline {
    grammar_of(language).map_or_else(Outline::default, |(parser, reading)| read(&parser, reading, source))
}

fn not_in_time() -> String {
    format!("syntax was not read within {} s", PARSE_TIME_MAX.as_secs())
}

fn only_first() -> String {
    format!("only its first {ITEMS_MAX} definitions, references or local names were kept")
}

fn read(parser: &tree_sitter::Language, reading: Reading, source: &str) -> Outline {
    let until = Instant::now() + PARSE_TIME_MAX;
    let Some(tree) = parse(parser, source, until) else {
        return Outline { incomplete: Some(not_in_time()), ..Outline::default() };
    };
    let mut reader = Reader::new(source);
    let walked = match reading {
        Reading::Visit(visit) => walk(visit, &tree, &mut reader, until),
        Reading::Query(query) => queried::read(query, &tree, &mut reader, until),
    };
    let incomplete = match walked {
        Walked::All if reader.is_full => Some(only_first()),
        Walked::All => None,
        Walked::TooDeep => Some(format!("nesting deeper than {DEPTH_MAX} was ignored")),
        Walked::TooLong => Some(not_in_time()),
    };
    Outline { incomplete, ..reader.finish() }
}

fn parse(language: &tree_sitter::Language, source: &str, until: Instant) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(language).ok()?;
    let mut on_progress =
        |_: &ParseState| if Instant::now() < until { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
    let mut read = |at: usize, _| source.as_bytes().get(at..).unwrap_or_default();
    parser.parse_with_options(&mut read, None, Some(ParseOptions::new().progress_callback(&mut on_progress)))
}

/// The syntax tree of `text`; `None` if the language has no grammar or parsing timed out.
fn tree_of(language: &str, text: &str) -> Option<Tree> {
    parse(&grammar_of(language)?.0, text, Instant::now() + PARSE_TIME_MAX)
}

/// The children of a node, including punctuation and keywords.
fn all_children(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let mut cursor = node.walk();
    let mut is_at_child = cursor.goto_first_child();
    std::iter::from_fn(move || {
        let child = is_at_child.then(|| cursor.node());
        is_at_child = is_at_child && cursor.goto_next_sibling();
        child
    })
}

/// The named children of a node.
fn children(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    all_children(node).filter(|child| child.is_named())
}

fn content<'t>(node: Node, text: &'t str) -> &'t str {
    text.get(node.byte_range()).unwrap_or_default()
}

/// The text of a node's field; empty if it has no such field.
fn field<'t>(node: Node, name: &str, text: &'t str) -> &'t str {
    node.child_by_field_name(name).map_or("", |node| content(node, text))
}

/// The bytes between the first and last character of a node, which are its brackets or quotes.
fn interior(node: Node) -> Range<usize> {
    let start = node.start_byte() + 1;
    start..node.end_byte().saturating_sub(1).max(start)
}

/// Calls `look` with a node and its descendants, in source order and without recursion; skips the
/// children of a node for which it returns `false`.
fn descend<'t>(root: Node<'t>, mut look: impl FnMut(Node<'t>) -> bool) {
    let mut cursor = root.walk();
    loop {
        if look(cursor.node()) && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
        }
    }
}

/// How a walk ended.
enum Walked {
    All,
    TooDeep,
    TooLong,
}

/// Visits every named node in source order without recursion.
fn walk<'t>(visit: Visit, tree: &'t Tree, reader: &mut Reader<'t>, until: Instant) -> Walked {
    /// Number of nodes visited between two checks of the time.
    const NODES: usize = 4_096;
    let mut cursor = tree.walk();
    let (mut depth, mut visited, mut walked) = (0, 0, Walked::All);
    loop {
        visited += 1;
        if visited % NODES == 0 && Instant::now() >= until {
            return Walked::TooLong;
        }
        let node = cursor.node();
        reader.enter(node.start_byte(), cursor.field_name());
        if node.is_named() {
            visit(node, reader);
        }
        if depth < DEPTH_MAX {
            if cursor.goto_first_child() {
                depth += 1;
                continue;
            }
        } else if node.child_count() > 0 {
            walked = Walked::TooDeep;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return walked;
            }
            depth -= 1;
        }
    }
}

#[cfg(test)]
mod tests;
