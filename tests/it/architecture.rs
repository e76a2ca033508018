//! Checks the architecture of the source: its layers, where outside crates are used, and where `unsafe` is allowed.

mod rules;
pub mod source;

use source::Source;

/// The modules that each module may use besides itself, bottom to top.
pub const LAYERS: &[(&str, &str)] = &[
    ("base", ""),
    ("language", "base"),
    ("checkpoint", "base"),
    ("confine", "base"),
    ("sandbox", "base"),
    ("models", "base"),
    ("protocol", "models base"),
    ("config", "models sandbox base"),
    ("budget", "models base"),
    ("synth", "models base"),
    ("engine", "budget models base"),
    ("embed", "engine budget models base"),
    ("remote", "embed models config base"),
    ("index", "embed base"),
    ("retrieve", "index embed base"),
    ("edit", "index language base"),
    ("request", "edit index language confine base"),
    ("lessons", "embed base"),
    ("tools", "lessons retrieve edit index embed remote config models checkpoint sandbox confine protocol base"),
    ("context", "request tools retrieve edit index language base"),
    (
        "agent",
        "context request edit tools lessons retrieve index engine embed budget remote models protocol language config base",
    ),
    ("session", "agent edit tools lessons retrieve index embed engine budget models checkpoint protocol config base"),
    (
        "measure",
        "agent request edit tools lessons retrieve index embed engine budget models protocol language config base",
    ),
    (
        "app",
        "session measure agent edit tools lessons retrieve index embed engine budget remote models checkpoint protocol config base",
    ),
    (
        "serve",
        "app session agent tools retrieve index engine embed budget remote models checkpoint protocol config base",
    ),
    (
        "ui",
        "serve app session measure synth edit tools lessons retrieve index embed remote models checkpoint protocol config base",
    ),
    ("main", "ui"),
    ("lib", ""),
];

/// The crates of which each is one row of the table; the modules of other crates have rows of their
/// own.
pub const WHOLE_CRATES: &[&str] = &["language", "edit", "request"];

/// The files, or folders if they end in `/`, in which an outside crate may be used. A `*` stands
/// for the rest of a name.
pub const DOORS: &[(&str, &[&str])] = &[
    ("llama_cpp_*", &["crates/engine/src/engine/llama.rs", "crates/engine/src/engine/llama/"]),
    ("rayon", &["crates/engine/src/engine/worker/", "crates/index/src/embed/stock.rs"]),
    ("llguidance", &["crates/engine/src/engine/grammar.rs"]),
    ("regex_syntax", &["src/agent/player/gbnf.rs"]),
    ("toktrie*", &["crates/engine/src/engine/grammar.rs"]),
    ("candle_*", &["crates/index/src/embed/"]),
    ("tokenizers", &["crates/index/src/embed/"]),
    ("usearch", &["crates/index/src/index/vectors.rs"]),
    ("notify", &["crates/index/src/index/watch.rs"]),
    ("tree_sitter*", &["crates/index/src/index/syntax/", "src/tools/shell/parse.rs"]),
    ("petgraph", &["crates/index/src/index/graph.rs", "crates/index/src/index/graph/"]),
    ("oxc_resolver", &["crates/index/src/index/resolve/modules/"]),
    (
        "rusqlite",
        &[
            "crates/index/src/index/store.rs",
            "crates/index/src/index/store/",
            "src/lessons/",
            "crates/guarded/src/checkpoint/",
        ],
    ),
    ("rmcp", &["src/tools/mcp/", "src/ui/mcp_server/"]),
    ("sse_stream", &["src/tools/mcp/http.rs"]),
    ("agent_client_protocol_schema", &["src/ui/acp/"]),
    ("globset", &["src/tools/policy/"]),
    ("axum", &["src/serve/"]),
    ("hyper*", &["src/serve/http.rs", "src/remote/http.rs"]),
    ("http_body_util", &["src/remote/http.rs"]),
    ("rustls*", &["src/remote/http.rs"]),
    ("tokio_rustls", &["src/remote/http.rs"]),
    (
        "url",
        &[
            "crates/base/src/server_url.rs",
            "crates/engine/src/models/endpoint.rs",
            "src/config/address.rs",
            "src/remote/",
        ],
    ),
    ("ratatui*", &["src/ui/screen/"]),
    ("crossterm", &["src/ui/screen/"]),
    ("pulldown_cmark", &["src/ui/screen/markdown.rs", "crates/index/src/index/syntax/documents/markdown.rs"]),
    ("nucleo_matcher", &["src/ui/screen/popup.rs"]),
    ("clap*", &["src/ui/cli/", "src/main.rs"]),
    ("hf_hub", &["crates/engine/src/models/"]),
    (
        "image",
        &[
            "crates/engine/src/models/picture.rs",
            "crates/engine/src/models/picture/",
            "crates/engine/tests/decoding.rs",
        ],
    ),
    ("memmap2", &["crates/engine/src/models/gguf.rs", "crates/index/src/embed/"]),
    ("minijinja*", &["crates/engine/src/models/dialect/template.rs"]),
    ("jsonc_parser", &["crates/edit/src/keyed/json.rs"]),
    ("saphyr_parser", &["crates/edit/src/keyed/yaml/tree.rs"]),
    ("toml_edit", &["crates/edit/src/keyed/toml.rs", "crates/engine/src/models/role_table.rs"]),
];

/// Crates that the program itself must use, not only its tests.
pub const REQUIRED: &[&str] = &[
    "llama_cpp_2",
    "candle_core",
    "candle_nn",
    "candle_transformers",
    "hf_hub",
    "tokenizers",
    "tokio",
    "usearch",
    "tree_sitter",
    "petgraph",
    "serde",
    "clap",
    "memmap2",
];

/// Where `unsafe` is allowed: for foreign functions, mapped files and vector instructions.
pub const UNSAFE: &[&str] = &[
    "crates/engine/src/engine/llama/",
    "crates/engine/src/models/gguf.rs",
    "crates/engine/tests/decoding.rs",
    "crates/index/src/embed/",
    "crates/guarded/src/sandbox/",
    "src/tools/sandbox/tests.rs",
    "crates/kernels/",
];

#[test]
fn arrows_point_down_only() {
    nothing(everything().iter().filter(|source| !rules::is_flat(&source.path)).flat_map(rules::upward_paths));
}

#[test]
fn an_outside_crate_has_one_door() {
    nothing(everything().iter().flat_map(rules::side_entrances));
}

#[test]
fn required_crates_carry_the_program() {
    nothing(rules::unused(&everything()).into_iter());
}

#[test]
fn few_files_hold_unsafe_code() {
    nothing(everything().iter().flat_map(rules::stray_unsafe));
}

#[test]
fn the_request_is_read_once() {
    let above = |path: &str| path.starts_with("src/") || path.starts_with("crates/edit/");
    nothing(everything().iter().filter(|source| above(&source.path)).flat_map(rules::second_readings));
}

#[test]
fn a_file_opens_with_what_it_is_about() {
    nothing(everything().iter().filter_map(rules::untitled));
}

#[test]
fn the_table_itself_points_down() {
    for (row, (module, sees)) in LAYERS.iter().enumerate() {
        for seen in sees.split_whitespace() {
            assert!(LAYERS[..row].iter().any(|(name, _)| *name == seen), "{module} sees {seen}, which is not below it");
        }
    }
}

#[test]
fn the_page_shows_the_table() {
    let page = include_str!("../../ARCHITECTURE.md");
    let missing = LAYERS.iter().filter(|(_, sees)| !sees.is_empty()).filter_map(|(module, sees)| {
        let seen: Vec<String> = sees.split_whitespace().map(|seen| format!("`{seen}`")).collect();
        let row = format!("| `{module}` | {} |", seen.join(" "));
        (!page.contains(&row)).then_some(row)
    });
    nothing(missing);
}

fn everything() -> Vec<Source> {
    let mut sources = source::read("src");
    sources.extend(source::read("crates"));
    sources
}

fn nothing(found: impl Iterator<Item = String>) {
    let found: Vec<String> = found.collect();
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}
