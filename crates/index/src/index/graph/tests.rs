//! Tests of the code graph, on projects that are indexed, edited and indexed again.

use std::fs;
use std::path::Path;

use super::*;
use crate::base::Cancel;
use crate::index::Index;

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn graph(index: &Index) -> std::sync::Arc<Graph> {
    index.refresh_lexical(&mut |_| {}, &Cancel::new()).unwrap();
    index.graph().unwrap()
}

fn names(found: &[Reached]) -> Vec<String> {
    found.iter().map(|one| format!("{} {} {}", one.near.node.name, one.steps, one.by)).collect()
}

const FILES: &[(&str, &str)] = &[
    (
        "lib/a.ts",
        "export class Box { open() { return parse('x'); } }\nexport function parse(x: string) { return scan(x); }\nfunction scan(x: string) { return x; }\n",
    ),
    ("lib/b.ts", "export function parse() {}\n"),
    ("lib/index.ts", "export { Box, parse } from './a';\n"),
    (
        "main.ts",
        "import { Box, parse } from './lib';\nexport function main() { new Box().open(); }\nexport function other() { parse(''); }\n",
    ),
];

#[test]
fn a_path_container_or_line_makes_a_name_unambiguous() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), FILES);
    let index = Index::open(folder.path()).unwrap();
    let graph = graph(&index);
    let check = |symbol: &str, expected: &[&str]| {
        let found: Vec<String> = graph.candidates(symbol).into_iter().map(|(handle, _)| handle).collect();
        assert_eq!(found, expected, "{symbol}");
        for handle in expected {
            assert_eq!(graph.candidates(handle).len(), 1, "{handle} is clear");
        }
    };
    check("parse", &["lib/a.ts::parse", "lib/b.ts::parse"]);
    check("lib/b.ts::parse", &["lib/b.ts::parse"]);
    check("Box.open", &["lib/a.ts::Box.open"]);
    check("lib/a.ts:3", &["lib/a.ts::scan"]);
    check("lib/a.ts", &["lib/a.ts"]);
    check("gone", &[]);
    assert_eq!(graph.similar("prase", 1), ["parse"]);
    assert_eq!(graph.similar("main.tsx", 1), ["main.ts"]);
}

#[test]
fn impact_and_paths_follow_the_edges() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), FILES);
    let index = Index::open(folder.path()).unwrap();
    let graph = graph(&index);
    let reach = |steps_max| Reach { steps_max, count_max: 100 };
    assert_eq!(names(&graph.callers_within("scan", reach(1))), ["parse 1 scan"]);
    assert_eq!(
        names(&graph.callers_within("scan", reach(9))),
        ["parse 1 scan", "open 2 parse", "other 2 parse", "main 3 open"]
    );
    assert_eq!(names(&graph.path("main", "scan", 9)), ["open 1 main", "parse 2 open", "scan 3 parse"]);
    assert_eq!(names(&graph.path("scan", "main", 9)), Vec::<String>::new());
    assert!(graph.impact("lib/b.ts", reach(3)).is_empty());
    let files: Vec<String> = graph.dependents("lib/index.ts").into_iter().map(|n| n.node.path).collect();
    assert_eq!(files, ["main.ts"]);
}

#[test]
fn a_changed_barrel_or_tsconfig_updates_the_edges_of_unchanged_files() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), FILES);
    write(
        folder.path(),
        &[
            ("tsconfig.json", "{ \"compilerOptions\": { \"baseUrl\": \".\", \"paths\": { \"@/*\": [\"lib/*\"] } } }"),
            ("far.ts", "import { parse } from '@/b';\nexport function far() { parse(); }\n"),
        ],
    );
    let index = Index::open(folder.path()).unwrap();
    let callers = |graph: &Graph, symbol: &str| -> Vec<String> {
        graph.callers(symbol).into_iter().map(|n| n.node.name).collect()
    };
    assert_eq!(callers(&graph(&index), "lib/b.ts::parse"), ["far"]);
    write(folder.path(), &[("lib/index.ts", "export { Box } from './a';\nexport { parse } from './b';\n")]);
    let graph_now = graph(&index);
    assert_eq!(callers(&graph_now, "lib/b.ts::parse"), ["far", "other"]);
    assert_eq!(callers(&graph_now, "lib/a.ts::parse"), ["open"]);
    write(
        folder.path(),
        &[("tsconfig.json", "{ \"compilerOptions\": { \"baseUrl\": \".\", \"paths\": { \"@/*\": [\"none/*\"] } } }")],
    );
    assert_eq!(callers(&graph(&index), "lib/b.ts::parse"), ["other"]);
    fs::remove_file(folder.path().join("main.ts")).unwrap();
    assert_eq!(callers(&graph(&index), "lib/b.ts::parse"), Vec::<String>::new());
    assert_eq!(callers(&graph(&index), "Box.open"), Vec::<String>::new());
}

#[test]
fn a_changed_result_type_updates_calls_in_other_files() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        &[
            (
                "lib.ts",
                "export class A { go() {} }\nexport class B { go() {} }\nexport function make() {\n  const x = new A();\n  return x;\n}\n",
            ),
            ("use.ts", "import { make } from './lib';\nexport function use() { make().go(); }\n"),
        ],
    );
    let index = Index::open(folder.path()).unwrap();
    assert_eq!(graph(&index).callers("A.go").len(), 1);
    write(
        folder.path(),
        &[(
            "lib.ts",
            "export class A { go() {} }\nexport class B { go() {} }\nexport function make() {\n  const x = new B();\n  return x;\n}\n",
        )],
    );
    let graph = graph(&index);
    assert_eq!((graph.callers("A.go").len(), graph.callers("B.go").len()), (0, 1));
}
