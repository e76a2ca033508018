//! Finds violations of the architecture in one file; the tables are in the module above.

use std::collections::BTreeSet;

use super::source::Source;
use super::{DOORS, LAYERS, REQUIRED, UNSAFE, WHOLE_CRATES};

/// A message `file:line: from -> to …` for every path to a module that the module of this file may
/// not use.
pub fn upward_paths(source: &Source) -> Vec<String> {
    let from = layer(&source.path);
    let Some((_, sees)) = LAYERS.iter().find(|(name, _)| *name == from) else {
        return vec![format!("{}: {from} is in no layer; add it to LAYERS", source.path)];
    };
    let allowed = |to: &str| to == from || sees.split_whitespace().any(|seen| seen == to);
    let seen = root_paths(source).into_iter().filter(|(to, _)| !allowed(to));
    seen.map(|(to, line)| format!("{}:{line}: {from} -> {to} is not in the layer table", source.path)).collect()
}

/// Whether a file belongs to a crate that is a layer on its own rather than a row of modules in the
/// table.
pub fn is_flat(path: &str) -> bool {
    ["crates/base/", "crates/kernels/", "crates/synth/"].iter().any(|place| path.starts_with(place))
        || !path.contains("src/")
}

/// The layer of a file: its crate if that is one layer, else its first module.
fn layer(path: &str) -> String {
    let of_module = || module_path(path).first().cloned().unwrap_or_else(|| stem(path).into());
    whole_crate(path).map_or_else(of_module, String::from)
}

/// The crate of a file, if the crate is one row of the table.
fn whole_crate(path: &str) -> Option<&str> {
    let (name, _) = path.strip_prefix("crates/")?.split_once("/src/")?;
    WHOLE_CRATES.contains(&name).then_some(name)
}

/// The module path of a file: agent, pool for `src/agent/pool.rs` and for
/// `crates/NAME/src/agent/pool.rs`; empty for `src/lib.rs`.
fn module_path(path: &str) -> Vec<String> {
    let path = path.split_once("src/").map_or(path, |(_, path)| path).trim_end_matches(".rs").trim_end_matches("/mod");
    if matches!(path, "main" | "lib") { Vec::new() } else { path.split('/').map(String::from).collect() }
}

fn stem(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path).trim_end_matches(".rs")
}

/// Whether a crate of this workspace has several modules in the table.
fn is_own_crate(name: &str) -> bool {
    matches!(name, "monobloc_engine" | "monobloc_index" | "monobloc_guarded")
}

/// Module and line of every path that starts at a crate root: with the crate's name, `crate::` or
/// enough `super::`. The module is the first segment; in a crate that is one layer, only a segment
/// that names another layer leads out of it.
fn root_paths(source: &Source) -> Vec<(String, usize)> {
    let own = whole_crate(&source.path);
    let outside = |name: &str| own.is_none() || LAYERS.iter().any(|(layer, _)| *layer == name);
    let mut found = paths_from_roots(source);
    found.retain(|(name, _)| outside(name));
    // `src/lib.rs` names every crate, to give it a path there.
    if source.path != "src/lib.rs" {
        let named = |word: &str| WHOLE_CRATES.iter().find(|name| word.strip_prefix("monobloc_") == Some(**name));
        found.extend(source.words.iter().filter_map(|word| Some((named(&word.text)?.to_string(), word.line))));
    }
    found
}

fn paths_from_roots(source: &Source) -> Vec<(String, usize)> {
    let (mut found, mut depth) = (Vec::new(), 0);
    let file_depth = module_path(&source.path).len();
    // Brace depths at which inline modules were opened.
    let mut inline: Vec<usize> = Vec::new();
    for at in 0..source.words.len() {
        match source.word(at) {
            "{" => {
                if source.word(at.wrapping_sub(2)) == "mod" {
                    inline.push(depth);
                }
                depth += 1;
            }
            "}" => {
                depth = depth.saturating_sub(1);
                if inline.last() == Some(&depth) {
                    inline.pop();
                }
            }
            "crate" => found.extend(first_segments(source, at + 1)),
            word if is_own_crate(word) && (file_depth > 0 || whole_crate(&source.path).is_some()) => {
                found.extend(first_segments(source, at + 1))
            }
            "monobloc" if source.path == "src/main.rs" => found.extend(first_segments(source, at + 1)),
            // Handle a chain once, at its first `super`; `super::super` leads up two modules.
            "super" if !(source.before(at) == "::" && source.word(at.wrapping_sub(2)) == "super") => {
                let climb = (0..).take_while(|n| source.word(at + 2 * n) == "super").count();
                if climb >= file_depth + inline.len() {
                    found.extend(first_segments(source, at + 2 * climb - 1));
                }
            }
            _ => {}
        }
    }
    found
}

/// The first segments after the `::` at `at`: one name, or the first name of each path of a group in braces.
fn first_segments(source: &Source, at: usize) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    if source.word(at) != "::" {
        return found;
    }
    let mut keep = |at: usize| found.push((source.word(at).to_string(), source.words[at].line));
    if source.word(at + 1) != "{" {
        keep(at + 1);
        return found;
    }
    let mut depth = 1;
    for here in at + 2..source.words.len() {
        if depth == 1 && matches!(source.before(here), "{" | ",") && source.word(here) != "}" {
            keep(here);
        }
        match source.word(here) {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    found
}

/// Whether the word at `at` names the outside crate `name`: at the head of a path, or after `use` or `extern crate`.
fn names_crate(source: &Source, at: usize, name: &str) -> bool {
    let word = source.word(at);
    let same = name.strip_suffix('*').map_or(word == name, |family| word.starts_with(family));
    // `::name` is an absolute path unless a segment precedes it.
    let inner = source.before(at) == "::"
        && source.word(at.wrapping_sub(2)).starts_with(|c: char| c.is_alphanumeric() || c == '_');
    same && !inner && (source.word(at + 1) == "::" || matches!(source.before(at), "use" | "crate"))
}

fn within(path: &str, places: &[&str]) -> bool {
    places.iter().any(|place| if place.ends_with('/') { path.starts_with(place) } else { path == *place })
}

pub fn side_entrances(source: &Source) -> Vec<String> {
    let closed = DOORS.iter().filter(|(_, places)| !within(&source.path, places));
    closed
        .flat_map(|(name, places)| {
            let named = (0..source.words.len()).filter(|&at| names_crate(source, at, name));
            named.map(|at| {
                let (line, word) = (source.words[at].line, source.word(at));
                format!("{}:{line}: {word} enters by {} only", source.path, places.join(", "))
            })
        })
        .collect()
}

pub fn unused(sources: &[Source]) -> Vec<String> {
    let mut used: BTreeSet<&str> = BTreeSet::new();
    for source in sources {
        let program = (0..source.words.len()).filter(|&at| !source.words[at].test);
        used.extend(program.flat_map(|at| REQUIRED.iter().filter(move |name| names_crate(source, at, name))));
    }
    REQUIRED
        .iter()
        .filter(|name| !used.contains(*name))
        .map(|name| format!("{name} is not used outside tests"))
        .collect()
}

pub fn stray_unsafe(source: &Source) -> Vec<String> {
    let lines = source.words.iter().filter(|word| word.text == "unsafe" && !within(&source.path, UNSAFE));
    lines.map(|word| format!("{}:{}: unsafe code belongs in {}", source.path, word.line, UNSAFE.join(", "))).collect()
}

/// Places outside `crates/request` that read the text of a request again: they split it into words or
/// clauses, or look for something in it. Showing it, or searching with it, does not count.
pub fn second_readings(source: &Source) -> Vec<String> {
    const READERS: &[&str] = &["crates/request/", "crates/language/"];
    const MEASURES: &[&str] = &["len", "to_owned"];
    const SPLITTERS: &[&str] = &["split", "content", "marks", "runs"];
    const OF_CLAUSES: &[&str] = &["Part", "PartKind", "words"];
    if within(&source.path, READERS) {
        return Vec::new();
    }
    let gives_text = |at: usize| {
        matches!(source.word(at), "shown" | "to_string")
            && matches!(source.word(at.wrapping_sub(2)), "text" | "request" | "question")
            && [source.before(at), source.word(at + 1), source.word(at + 2)] == [".", "(", ")"]
    };
    let looks = |at: usize| gives_text(at) && source.word(at + 3) == "." && !MEASURES.contains(&source.word(at + 4));
    let splits = |at: usize| {
        let inside = (at + 2..source.words.len()).take_while(|at| source.word(*at) != ";" && source.word(*at) != ")");
        SPLITTERS.contains(&source.word(at))
            && [source.word(at.wrapping_sub(2)), source.before(at), source.word(at + 1)] == ["words", "::", "("]
            && inside.into_iter().any(gives_text)
    };
    let parts = |at: usize| {
        let names = || first_segments(source, at + 1).into_iter().map(|(name, _)| name);
        source.word(at) == "clauses" && names().any(|name| !OF_CLAUSES.contains(&name.as_str()))
    };
    let found = (0..source.words.len()).filter(|at| !source.words[*at].test);
    let found = found.filter(|at| looks(*at) || splits(*at) || parts(*at)).map(|at| {
        let line = source.words[at].line;
        format!("{}:{line}: the text of a request is read in crates/request only; add a method to `Text`", source.path)
    });
    found.collect()
}

pub fn untitled(source: &Source) -> Option<String> {
    let titled = source.text.strip_prefix("//! ").is_some_and(|rest| !rest.trim_start().is_empty());
    (!titled).then(|| format!("{}:1: does not open with a `//!` line", source.path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_paths(path: &str, text: &str, expected: &[&str]) {
        assert_eq!(upward_paths(&Source::new(path, text)), expected, "in {text}");
    }

    #[test]
    fn an_upward_path_is_named_with_file_and_line() {
        let upward = ["src/engine/pool.rs:2: engine -> session is not in the layer table"];
        check_paths("src/engine/pool.rs", "\nuse crate::session::Journal;", &upward);
        check_paths("src/engine/pool.rs", "\nuse crate::{base::{Bytes, ids}, session::{self, Journal}};", &upward);
        check_paths("src/engine/pool.rs", "\nfn f() { crate::session::open::<u8>() }", &upward);
        check_paths("src/engine/pool.rs", "\nuse super::super::session;", &upward);
        check_paths(
            "src/engine/mod.rs",
            "mod tests {\nuse super::super::{base, session};}",
            &["src/engine/mod.rs:2: engine -> session is not in the layer table"],
        );
        let by_crate = ["src/lessons/store.rs:1: lessons -> models is not in the layer table"];
        check_paths("src/lessons/store.rs", "use monobloc_engine::models::{Role, Tier};", &by_crate);
        let by_whole_crate = ["src/lessons/store.rs:1: lessons -> edit is not in the layer table"];
        check_paths("src/lessons/store.rs", "use monobloc_edit::Edit;", &by_whole_crate);
    }

    #[test]
    fn a_sibling_is_as_far_as_a_module_above() {
        check_paths(
            "src/engine/pool.rs",
            "use crate::embed::Embedder;",
            &["src/engine/pool.rs:1: engine -> embed is not in the layer table"],
        );
        check_paths("src/main.rs", "monobloc::app::open();", &["src/main.rs:1: main -> app is not in the layer table"]);
        check_paths(
            "src/engine/pool.rs",
            "use crate::*;",
            &["src/engine/pool.rs:1: engine -> * is not in the layer table"],
        );
    }

    #[test]
    fn a_crate_that_is_one_layer_sees_its_own_modules_and_what_is_below() {
        let path = "crates/edit/src/merge/place.rs";
        check_paths(path, "use crate::{text::line_of, index::parts, language::Asked, base::Cancel};", &[]);
        check_paths(
            path,
            "use super::super::retrieve;",
            &[&format!("{path}:1: edit -> retrieve is not in the layer table")],
        );
        check_paths(
            "crates/language/src/lib.rs",
            "use monobloc_edit as edit;",
            &["crates/language/src/lib.rs:1: language -> edit is not in the layer table"],
        );
        check_paths(
            "crates/edit/src/lib.rs",
            "use monobloc_engine::engine;",
            &["crates/edit/src/lib.rs:1: edit -> engine is not in the layer table"],
        );
        check_paths("crates/edit/src/lib.rs", "use monobloc_index::index; use monobloc_language as language;", &[]);
    }

    #[test]
    fn a_downward_path_passes() {
        check_paths("src/engine/pool.rs", "use crate::{base::Bytes, engine::slot, models::Role,};", &[]);
        check_paths("src/engine/pool.rs", "mod tests { use super::*; use super::super::slot; }", &[]);
        check_paths("src/engine/pool.rs", "// crate::session\npub(crate) fn f() { \"crate::session\" }", &[]);
        check_paths("src/main.rs", "fn main() { monobloc::ui::cli::run() }", &[]);
    }

    #[test]
    fn a_module_outside_the_table_is_refused() {
        check_paths("src/stray.rs", "", &["src/stray.rs: stray is in no layer; add it to LAYERS"]);
    }

    fn check_doors(path: &str, text: &str, expected: &[&str]) {
        assert_eq!(side_entrances(&Source::new(path, text)), expected, "in {text}");
    }

    #[test]
    fn a_side_entrance_is_found_however_it_is_written() {
        let found = ["src/tools/call.rs:1: candle_core enters by crates/index/src/embed/ only"];
        check_doors("src/tools/call.rs", "use candle_core::Tensor;", &found);
        check_doors("src/tools/call.rs", "use candle_core as c;", &found);
        check_doors("src/tools/call.rs", "fn f(t: &::candle_core::Tensor) {}", &found);
        check_doors("src/tools/call.rs", "use {std::fmt, candle_core::Tensor};", &found);
        check_doors(
            "src/ui/tui/mod.rs",
            "#[derive(clap::Args)]",
            &["src/ui/tui/mod.rs:1: clap enters by src/ui/cli/, src/main.rs only"],
        );
    }

    #[test]
    fn the_door_and_names_that_only_look_alike_pass() {
        check_doors("crates/index/src/embed/bert.rs", "use candle_core::Tensor;", &[]);
        check_doors("src/tools/call.rs", "use crate::embed::tokenizers::Fast; let usearch = self.usearch;", &[]);
    }

    #[test]
    fn a_crate_used_by_tests_alone_counts_as_unused() {
        let sample =
            |text| unused(&[Source::new("src/sample.rs", text)]).contains(&"tokio is not used outside tests".into());
        assert!(sample("// tokio::spawn"));
        assert!(sample("#[cfg(test)] mod tests { use tokio::spawn; }"));
        assert!(!sample("fn f() { tokio::spawn(g()); }"));
    }

    #[test]
    fn unsafe_outside_its_files_is_found() {
        let sample = |path| stray_unsafe(&Source::new(path, "// unsafe\nfn f() { unsafe { g() } }")).len();
        assert_eq!(
            (
                sample("src/tools/files.rs"),
                sample("crates/engine/src/models/gguf.rs"),
                sample("crates/kernels/src/pool.rs")
            ),
            (1, 0, 0)
        );
    }

    #[test]
    fn a_second_reading_of_the_request_is_found() {
        let sample = |path, text| second_readings(&Source::new(path, text)).len();
        for text in [
            "fn f() { job.step.text.shown().contains(a) }",
            "fn f() { request.to_string().lines() }",
            "fn f() { words::content(step.text.shown()) }",
            "use crate::language::clauses::{self, Part};",
            "fn f() { clauses::parts(text) }",
        ] {
            assert_eq!(
                (sample("src/agent/talk.rs", text), sample("crates/request/src/text.rs", text)),
                (1, 0),
                "{text}"
            );
        }
        for text in [
            "fn f() { words::shorten(request.shown(), 9); request.shown().len() }",
            "fn f() { words::content(line); search(step.text.shown()) }",
            "use crate::language::clauses::{Part, PartKind};",
            "#[cfg(test)] mod tests { fn f() { text.shown().contains(a) } }",
        ] {
            assert_eq!(sample("src/agent/talk.rs", text), 0, "{text}");
        }
    }

    #[test]
    fn a_file_without_a_title_is_found() {
        let sample = |text| untitled(&Source::new("src/sample.rs", text)).is_some();
        assert!(sample("") && sample("//!\nuse x;") && sample("use x;\n//! late") && !sample("//! Counts."));
    }
}
