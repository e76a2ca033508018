//! Tests of resolving references to edges.

use super::*;
use crate::index::syntax;

pub(super) fn check(files: &[(&str, &str)], expected: &[&str]) {
    assert_eq!(edges(files), expected);
}

/// Calls and bases in `files` (`from -> to confidence`) and unresolved references (`from ? name`).
pub(super) fn edges(files: &[(&str, &str)]) -> Vec<String> {
    let facts: Vec<Facts> = files
        .iter()
        .map(|(path, source)| {
            let language = syntax::language_of(path);
            Facts { path: (*path).into(), language: language.into(), outline: syntax::outline(language, source) }
        })
        .collect();
    let texts = files.iter().filter(|(path, _)| is_manifest(path));
    let manifests: Vec<(String, String)> = texts.map(|(path, text)| ((*path).into(), (*text).into())).collect();
    let project = Project::new(&facts, &manifests);
    let mut names = std::collections::HashMap::new();
    for (file, f) in facts.iter().enumerate() {
        names.insert(project.id(file, None), f.path.clone());
        for (at, d) in f.outline.definitions.iter().enumerate() {
            let container = d.container.map_or(String::new(), |c| format!("{}.", f.outline.definitions[c].name));
            names.insert(project.id(file, Some(at)), format!("{}:{container}{}", words_before_dot(&f.path), d.name));
        }
    }
    let mut lines = Vec::new();
    for file in 0..facts.len() {
        let resolution = resolve(&project, file);
        let telling = resolution.edges.iter().filter(|e| matches!(e.kind, EdgeKind::Calls | EdgeKind::Extends));
        lines.extend(telling.map(|e| format!("{} -> {} {}", names[&e.source], names[&e.target], e.confidence)));
        lines.extend(resolution.unresolved.iter().map(|u| format!("{} ? {}", names[&u.source], u.name)));
    }
    lines
}

mod script;

fn words_before_dot(path: &str) -> &str {
    path.split('.').next().unwrap_or(path)
}

#[test]
fn calls_follow_imports_renames_and_barrels() {
    check(
        &[
            (
                "a.ts",
                "import { run as go, Box } from './lib';\nimport * as all from './lib';\nfunction f() { go(); all.run(); new Box(); }\n",
            ),
            ("lib/index.ts", "export * from './work.js';\nexport { default as Box } from './box';\n"),
            ("lib/work.ts", "function inner() {}\nexport { inner as run };\n"),
            ("lib/box.tsx", "export default class Box {}\n"),
        ],
        &["a:f -> lib/work:inner 0.95", "a:f -> lib/work:inner 0.95", "a:f -> lib/box:Box 0.95"],
    );
}

#[test]
fn barrels_that_import_each_other_are_no_endless_loop() {
    check(
        &[
            ("a.ts", "export * from './b';\nimport { missing, there } from './b';\nmissing(); there();\n"),
            ("b.ts", "export * from './a';\nexport * from './c';\n"),
            ("c.ts", "export const there = () => 1;\n"),
        ],
        &["a.ts -> c:there 0.95", "a.ts ? missing"],
    );
}

#[test]
fn members_are_found_in_the_class_its_bases_and_by_their_only_name() {
    check(
        &[
            ("base.ts", "export class Base { greet() {} }\n"),
            (
                "a.js",
                "import { Base } from './base';\nclass A extends Base { go() { this.greet(); this.own(); x.distinctive(); x.map(); } own() {} }\n",
            ),
            ("b.ts", "class B { distinctive() {} map() {} }\n"),
        ],
        &[
            "a:A -> base:Base 0.95",
            "a:A.go -> base:Base.greet 0.95",
            "a:A.go -> a:A.own 0.95",
            "a:A.go -> b:B.distinctive 0.5",
            "a:A.go ? map",
        ],
    );
}

#[test]
fn a_local_value_hides_what_is_outside_and_an_inner_function_wins() {
    check(
        &[(
            "a.ts",
            "export function run() {}\nfunction f(run: () => void) { run(); }\nfunction g() { function run() {} run(); }\n",
        )],
        &["a:g -> a:g.run 1", "a:f ? run"],
    );
}

#[test]
fn what_is_outside_the_project_is_kept_as_unknown() {
    check(
        &[("a.ts", "import { z } from 'zebra';\nimport './gone';\nz();\n")],
        &["a.ts ? zebra", "a.ts ? ./gone", "a.ts ? z"],
    );
}

#[test]
fn rust_paths_lead_through_modules_reexports_and_impls() {
    check(
        &[
            ("Cargo.toml", "[package]\nname = \"whole-thing\""),
            ("src/lib.rs", "pub mod base;\npub mod app;\npub use base::Bytes;\n"),
            ("src/base/mod.rs", "mod units;\npub use units::Bytes;\npub fn plain() {}\n"),
            (
                "src/base/units.rs",
                "pub struct Bytes;\nimpl Bytes { pub fn zero() -> Bytes { Bytes } fn twice(&self) { Self::zero(); self.half() } fn half(&self) {} }\n",
            ),
            (
                "src/app.rs",
                "use crate::base::{self, Bytes as B};\nfn f() { B::zero(); base::plain(); crate::base::plain(); super::Bytes::zero(); std::mem::take(&mut 1); }\n",
            ),
            ("tests/it.rs", "use whole_thing::base;\nfn t() { base::plain(); }\n"),
        ],
        &[
            "src/base/units:Bytes.twice -> src/base/units:Bytes.zero 0.95",
            "src/base/units:Bytes.twice -> src/base/units:Bytes.half 0.95",
            "src/app:f -> src/base/units:Bytes.zero 0.95",
            "src/app:f -> src/base/mod:plain 0.95",
            "src/app:f -> src/base/mod:plain 0.95",
            "src/app:f -> src/base/units:Bytes.zero 0.95",
            "src/app:f ? take",
            "tests/it:t -> src/base/mod:plain 0.95",
        ],
    );
}

#[test]
fn super_in_an_inline_module_is_the_file_around_it() {
    check(
        &[
            ("src/lib.rs", "pub mod a;\npub fn outer() {}\n"),
            ("src/a.rs", "fn own() {}\nmod tests {\n    use super::*;\n    fn t() { own(); outer(); }\n}\n"),
        ],
        &["src/a:tests.t -> src/a:own 1", "src/a:tests.t ? outer"],
    );
}
