//! Tests of the `index_…` tools on a small project.

use std::sync::Arc;

use crate::base::{Cancel, Hidden};
use crate::index::Index;
use crate::tools::Context;
use crate::tools::arguments::Arguments;
use crate::tools::files::walk::testing::{Project, call};
use crate::tools::outcome::Outcome;

use super::{files, graph};

type Tool = fn(Arguments<'_>, &Context) -> Result<Outcome, String>;

const STORE: &str = "import { now } from './clock';\nimport fs from 'node:fs';\n\n/** Keeps things. */\nexport class Store {\n  /** Writes all. */\n  \
                     save(at: number) {\n    return now() + at;\n  }\n}\n";

fn project(more: &[(&str, &str)]) -> Project {
    let mut all = vec![
        ("src/clock.ts", "export function now() {\n  return 1;\n}\n"),
        ("src/store.ts", STORE),
        (
            "src/main.ts",
            "import { Store } from './store';\nexport function main() {\n  const s = new Store();\n  return now2(s);\n}\nfunction now2(s) {\n  return s.save(2);\n}\n",
        ),
    ];
    all.extend_from_slice(more);
    let mut project = Project::with(&all);
    let index = Index::open(project.dir.path()).unwrap();
    index.refresh_lexical(&mut |_| {}, &Cancel::new()).unwrap();
    project.context.index = Some(Arc::new(index));
    project
}

fn check(tool: Tool, arguments: &str, expected: &str) {
    let outcome = call(tool, &project(&[]), arguments);
    assert_eq!(outcome.text.trim_end(), expected, "{arguments}");
}

fn holds(tool: Tool, arguments: &str, part: &str) {
    let text = call(tool, &project(&[]), arguments).text;
    assert!(text.contains(part), "{arguments}: {text}");
}

#[test]
fn callers_and_callees_come_with_their_lines_and_an_impact_with_its_way() {
    check(
        graph::callers,
        r#"{"symbol":"now"}"#,
        "1 callers of now\nsrc/store.ts:8 save (method, confidence 0.95)\n6|   /** Writes all. */\n7|   save(at: number) {\n\
         8|     return now() + at;\n9|   }\n10| }",
    );
    check(
        graph::callees,
        r#"{"symbol":"Store.save"}"#,
        "1 calls of Store.save\nsrc/clock.ts:1 now (function, confidence 0.95, called on line 8)\n\
         1| export function now() {\n2|   return 1;\n3| }",
    );
    let way = "src/store.ts:8 save (method that calls now, 1 steps away, confidence";
    holds(graph::impact, r#"{"symbol":"now"}"#, "places lead to now\n");
    holds(graph::impact, r#"{"symbol":"now"}"#, way);
}

#[test]
fn imports_and_dependents_name_what_is_inside_and_outside() {
    holds(graph::imports, r#"{"path":"src/store.ts"}"#, "2 imports of src/store.ts from this project\n");
    holds(graph::imports, r#"{"path":"src/store.ts"}"#, "[it names: ./clock, node:fs]");
    let dependents = "1 files that import src/store.ts\nsrc/main.ts:1 main (module";
    holds(graph::dependents, r#"{"path":"./src/store.ts"}"#, dependents);
}

#[test]
fn a_wrong_name_is_an_error_that_proposes_near_ones() {
    check(graph::callers, r#"{"symbol":"Now"}"#, "nothing in the index is called `Now`; there is now, now2");
    check(
        graph::imports,
        r#"{"path":"store.ts"}"#,
        "store.ts is not in the index; there is src/store.ts; find_files finds paths",
    );
    check(
        graph::dependents,
        r#"{"path":"src/stroe.ts"}"#,
        "src/stroe.ts is not in the index; there is src/store.ts; find_files finds paths",
    );
    check(files::read, r#"{"path":"src/store.ts","symbol":"sav"}"#, "src/store.ts defines no `sav`; there is save");
    for (tool, arguments) in [
        (files::find as Tool, r#"{"symbol":"nothing_like_it"}"#),
        (files::find, r#"{"symbol":" "}"#),
        (files::text, r#"{"names":"zzzz"}"#),
        (files::text, r#"{"names":"!"}"#),
        (graph::callees, r#"{}"#),
    ] {
        assert!(!call(tool, &project(&[]), arguments).is_ok(), "{arguments}");
    }
}

#[test]
fn without_an_index_the_error_says_how_to_get_one() {
    let outcome = call(graph::callers, &Project::with(&[]), r#"{"symbol":"x"}"#);
    assert!(!outcome.is_ok() && outcome.text.contains("monobloc index"), "{outcome:?}");
}

#[test]
fn a_definition_is_found_with_its_file_and_read_by_its_name() {
    check(
        files::find,
        r#"{"symbol":"now"}"#,
        "1 places for `now`\nsrc/clock.ts:1 now (function, lines 1-3)\n1| export function now() {\n2|   return 1;\n3| }",
    );
    check(
        files::read,
        r#"{"path":"src/store.ts","symbol":"Store.save"}"#,
        "Store.save in src/store.ts\nsrc/store.ts:7 save (method, lines 7-9)\n7|   save(at: number) {\n8|     return now() + at;\n9|   }",
    );
}

#[test]
fn a_short_file_is_shown_whole_a_longer_one_by_its_outline_and_a_long_one_by_names() {
    let short = call(files::read, &project(&[]), r#"{"path":"src/clock.ts"}"#);
    assert!(short.text.ends_with("1| export function now() {\n2|   return 1;\n3| }\n"), "{}", short.text);
    let function =
        |n: usize| format!("/** Does {n}. */\nexport function f{n}(a: number) {{\n{}}}\n", "  work();\n".repeat(20));
    let file = |count: usize| (0..count).map(function).collect::<String>();
    let (some, many) = (file(5), file(40));
    let project = project(&[("src/some.ts", &some), ("src/many.ts", &many)]);
    let outline = call(files::read, &project, r#"{"path":"src/some.ts"}"#);
    let opening = "src/some.ts, 115 lines, 5 definitions\nsrc/some.ts:2 f0 (function, lines 2-23)\n    export function f0(a: number)\n    Does 0.\n";
    assert!(outline.text.starts_with(opening), "{}", outline.text);
    let names = call(files::read, &project, r#"{"path":"src/many.ts"}"#);
    assert!(names.text.contains("src/many.ts: f0:2, f1:25, "), "{}", names.text);
    assert_eq!(names.findings.len(), 40);
}

#[test]
fn an_outline_has_a_line_for_every_definition_and_shows_one_by_its_name() {
    let outline = "src/store.ts, 10 lines, 2 definitions\n5-10 export class Store\n  7-9 save(at: number)";
    check(files::outline, r#"{"path":"./src/store.ts"}"#, outline);
    let save = "Store.save in src/store.ts\nsrc/store.ts:7 save (method, lines 7-9)\n7|   save(at: number) {";
    holds(files::outline, r#"{"path":"src/store.ts","name":"Store.save"}"#, save);
    let wrong = "src/stroe.ts is not in the index; there is src/store.ts; find_files finds paths";
    check(files::outline, r#"{"path":"src/stroe.ts"}"#, wrong);
}

#[test]
fn headings_and_selectors_are_found_and_read_by_their_whole_names() {
    let guide = "# Cellar\n\n## Version 1.2\n\nCool.\n\n## Wine\n";
    let project = project(&[("GUIDE.md", guide), ("cellar.css", ".barrel { color: brown }\n")]);
    let text = |tool: Tool, arguments: &str| call(tool, &project, arguments).text;
    let found = text(files::find, r#"{"symbol":"Version 1.2"}"#);
    assert!(found.contains("GUIDE.md:3 Version 1.2 (section, lines 3-5"), "{found}");
    assert!(text(files::find, r#"{"symbol":".barrel"}"#).contains("cellar.css:1 .barrel (rule"));
    let read = text(files::read, r#"{"path":"GUIDE.md","symbol":"Version 1.2"}"#);
    assert!(read.contains("5| Cool.") && !read.contains("Wine"), "{read}");
    assert_eq!(
        text(files::outline, r#"{"path":"GUIDE.md"}"#).trim_end(),
        "GUIDE.md, 7 lines, 3 definitions\n1-7 # Cellar\n  3-5 ## Version 1.2\n  7-7 ## Wine"
    );
}

#[test]
fn a_relation_of_the_graph_is_of_a_function_or_of_the_file_that_defines_it() {
    holds(graph::related, r#"{"name":"now","relation":"callers"}"#, "1 callers of now\nsrc/store.ts:8 save");
    holds(graph::related, r#"{"name":"Store.save","relation":"callees"}"#, "1 calls of Store.save\n");
    holds(graph::related, r#"{"name":"now","relation":"impact"}"#, "places lead to now\n");
    for name in ["src/store.ts", "Store"] {
        let arguments = |relation: &str| format!(r#"{{"name":"{name}","relation":"{relation}"}}"#);
        holds(graph::related, &arguments("dependents"), "1 files that import src/store.ts\n");
        holds(graph::related, &arguments("imports"), "2 imports of src/store.ts from this project\n");
    }
    let of_a_file = "`src/store.ts` is a file; imports and dependents are of files, callers of a function in it";
    check(graph::related, r#"{"name":"src/store.ts","relation":"callers"}"#, of_a_file);
    holds(graph::related, r#"{"name":"now","relation":"parents"}"#, "there is no relation `parents`; give callers,");
    holds(graph::related, r#"{"name":"nwo","relation":"callers"}"#, "nothing in the index is called `nwo`");
}

#[test]
fn names_are_found_with_the_definition_around_them() {
    holds(files::text, r#"{"names":"save at"}"#, "2 places with at, save\nsrc/store.ts:");
}

#[test]
fn nothing_of_a_hidden_file_is_found_and_the_result_says_so() {
    let kept = "import { now } from '../src/clock';\nexport function vault() {\n  return now();\n}\n";
    let mut project = project(&[("kept/vault.ts", kept)]);
    let index = Index::open(project.dir.path()).unwrap().hiding(Hidden::by(|path| path.starts_with("kept"))).unwrap();
    assert_eq!((index.hidden().unwrap(), index.paths().unwrap().len()), (1, 3));
    assert!(
        index.graph().unwrap().named("vault").is_empty() && index.file_symbols("kept/vault.ts").unwrap().is_empty()
    );
    project.context.index = Some(Arc::new(index));
    let check = |tool: Tool, arguments: &str, says: bool| {
        let text = call(tool, &project, arguments).text;
        assert!(!text.contains("vault()") && !text.contains("kept/vault.ts:"), "{arguments}: {text}");
        assert_eq!(text.contains("1 indexed file is left out by a rule"), says, "{arguments}: {text}");
    };
    check(super::search, r#"{"question":"where is vault or now"}"#, true);
    check(files::find, r#"{"symbol":"now"}"#, true);
    check(files::find, r#"{"symbol":"vault"}"#, false);
    check(files::text, r#"{"names":"now"}"#, true);
    check(files::read, r#"{"path":"kept/vault.ts"}"#, false);
    check(graph::callers, r#"{"symbol":"now"}"#, true);
    check(graph::dependents, r#"{"path":"src/clock.ts"}"#, true);
}
