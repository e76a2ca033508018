//! Tests renames in small projects, comparing every changed text.

mod python;
mod rust;

use std::fs;
use std::path::Path;

use super::*;
use crate::base::Cancel;

pub(crate) struct Project {
    folder: tempfile::TempDir,
    pub index: Index,
}

impl Project {
    pub fn new(files: &[(&str, &str)]) -> Project {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let index = Index::open(folder.path()).unwrap();
        index.refresh_lexical(&mut |_| {}, &Cancel::new()).unwrap();
        Project { folder, index }
    }

    pub fn read(&self) -> impl Fn(&str) -> io::Result<String> {
        let folder: &Path = self.folder.path();
        move |path| fs::read_to_string(folder.join(path))
    }
}

/// Parses `file::container.name`; the file and the container are optional.
fn target(from: &str) -> Target {
    let (file, rest) = from.split_once("::").map_or((None, from), |(file, rest)| (Some(file.to_owned()), rest));
    let (container, name) = rest.rsplit_once('.').map_or((None, rest), |(c, name)| (Some(c.to_owned()), name));
    Target { name: name.to_owned(), file, container }
}

/// Path and text of each file, from `path: text`.
pub(crate) fn split<'t>(files: &[&'t str]) -> Vec<(&'t str, &'t str)> {
    files.iter().map(|file| file.split_once(": ").unwrap()).collect()
}

/// A text before or after a change: `«a|b»` is `a` before and `b` after it; `«a»` is `a` before and
/// `to` after it.
fn version(marked: &str, is_after: bool, to: &str) -> String {
    let mut parts = marked.split('«');
    let begin = parts.next().unwrap_or_default().to_owned();
    parts.fold(begin, |text, part| {
        let (place, rest) = part.split_once('»').unwrap();
        let (was, is) = place.split_once('|').unwrap_or((place, to));
        format!("{text}{}{rest}", if is_after { is } else { was })
    })
}

fn planned(files: &[(&str, &str)], from: &str, to: &str) -> Result<Plan, RenameError> {
    let project = Project::new(files);
    plan(&project.index, &project.read(), &target(from), to)
}

/// Asserts that a rename changes the marked places (see [`version`]) and no others.
fn check(files: &[&str], (from, to): (&str, &str)) -> Plan {
    let versions = |is_after: bool| -> Vec<(&str, String)> {
        split(files).into_iter().map(|(path, text)| (path, version(text, is_after, to))).collect()
    };
    let (before, mut after) = (versions(false), versions(true));
    after.retain(|file| !before.contains(file));
    after.sort();
    let before: Vec<(&str, &str)> = before.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let plan = planned(&before, from, to).unwrap_or_else(|error| panic!("{error}"));
    let found: Vec<(&str, String)> = plan.edits.iter().map(|e| (e.path.as_str(), e.text_after.clone())).collect();
    assert_eq!(found, after, "{from} to {to}");
    plan
}

fn refused(files: &[&str], (from, to): (&str, &str), expected: &str) {
    match planned(&split(files), from, to) {
        Ok(plan) => panic!("{from} to {to} is planned: {:?}", plan.edits),
        Err(error) => assert!(error.to_string().contains(expected), "{from} to {to}: {error}"),
    }
}

fn lines(plan: &Plan) -> Vec<String> {
    plan.mentions.iter().map(|m| format!("{}:{}", m.path, m.line)).collect()
}

#[test]
fn typescript_changes_through_barrels_aliases_and_shorthands() {
    let plan = check(
        &[
            "src/parse.ts: /** parse reads. */\nexport function «parse»(s: string) {\n  return s ? «parse»(\"parse\") : 1;\n}\n",
            "src/index.ts: export { «parse» } from './parse';\nexport * from './other';\n",
            "src/other.ts: export { «parse» as read } from './parse';\n",
            "src/star.ts: export * from './parse';\n",
            "src/a.ts: import { «parse» } from '.';\nexport const tools = { «parse|parse: scan», x: «parse»(1), parse: 2 };\n",
            "src/b.ts: import { «parse» as p } from './star.js';\np('x');\n",
            "src/c.ts: import * as all from './parse';\nimport { read } from './other';\nall.«parse»('x'); read('y');\n",
            "src/d.ts: const parse = 1;\nconsole.log(parse, JSON.parse('1'));\n",
            "src/e.ts: import type { «parse» } from './parse';\ntype P = typeof «parse»;\nfunction f(parse: P) { return parse; }\n",
            "README.md: # x\ncall parse(…)\n",
        ],
        ("src/parse.ts::parse", "scan"),
    );
    assert!(lines(&plan).contains(&"README.md:2".to_owned()), "{:?}", plan.mentions);
    assert!(lines(&plan).contains(&"src/parse.ts:1".to_owned()), "{:?}", plan.mentions);
}

#[test]
fn typescript_methods_change_in_subclasses_and_where_the_receiver_is_known() {
    let plan = check(
        &[
            "shape.ts: export interface Shape { «area»(): number }\nexport class Square implements Shape {\n  «area»() { return 1; }\n  twice() { return this.«area»() * 2; }\n}\n",
            "field.ts: export class Field { area() { return 9; } }\n",
            "user.ts: import { Square } from './shape';\nimport { Field } from './field';\nexport function f(s: Square, x: any) {\n  new Field().area();\n  x.area();\n  return s.«area»();\n}\n",
        ],
        ("Square.area", "surface"),
    );
    assert_eq!(plan.doubtful.len(), 1, "{:?}", plan.doubtful);
    assert_eq!((plan.doubtful[0].line, plan.doubtful[0].text.as_str()), (5, "x.area();"));
}

#[test]
fn a_common_js_module_changes_with_those_that_require_it() {
    check(
        &[
            "lib.js: function «slug»(s) { return s; }\nfunction other() {}\nmodule.exports = { «slug», other };\n",
            "a.js: const { «slug» } = require('./lib');\nconst lib = require('./lib');\n«slug»(1); lib.«slug»(2);\n",
            "b.js: const { «slug»: s } = require('./lib');\ns(1); x.slug(2);\n",
        ],
        ("slug", "slugify"),
    );
}

#[test]
fn go_changes_in_the_package_and_in_those_that_import_it() {
    check(
        &[
            "go.mod: module example.com/shop\n",
            "cart/cart.go: package cart\n\n// New makes.\nfunc «New»() *Cart { return &Cart{} }\n\ntype Cart struct{ New int }\n",
            "cart/more.go: package cart\n\nfunc Two() *Cart { n := «New»(); _ = «New»(); return n }\n",
            "main.go: package main\n\nimport \"example.com/shop/cart\"\n\nfunc New() {}\n\nfunc main() { New(); cart.«New»(); _ = cart.Cart{New: 1} }\n",
        ],
        ("cart/cart.go::New", "Make"),
    );
    check(
        &[
            "go.mod: module x\n",
            "store.go: package store\n\ntype Store struct{}\n\nfunc (s *Store) «Fetch»() int { return 1 }\n\nfunc (s *Store) Twice() int {\n\tn := s.«Fetch»()\n\treturn n + s.«Fetch»()\n}\n",
        ],
        ("Store.Fetch", "Load"),
    );
}

#[test]
fn local_names_change_inside_their_function_only() {
    check(
        &[
            "a.ts: export function f(«n»: number) {\n  const o = { «n|n: count» };\n  for (const x of [«n»]) { const { «n|n: count» } = o; g(«n»); }\n  return () => «n»;\n}\nexport const n = 1;\n",
        ],
        ("f.n", "count"),
    );
    check(
        &[
            "a.py: def f(n, «m»=1):\n    return [n for n in range(n)] + [«m»]\n\n\nf(n=2, «m»=3)\ng(n=2)\n",
            "b.py: from a import f\n\nf(1, «m»=2)\n",
        ],
        ("f.m", "more"),
    );
    check(
        &[
            "src/lib.rs: struct P { n: u32 }\nfn f(«n»: u32) -> P {\n    let «n» = «n» + 1;\n    println!(\"{«n»}\");\n    if let Some(«n») = Some(«n») { return P { «n|n: k» }; }\n    P { «n|n: k» }\n}\nfn g(n: u32) -> u32 { n }\n",
        ],
        ("f.n", "k"),
    );
    check(
        &[
            "go.mod: module x\n",
            "a.go: package a\n\nfunc F(n int) int {\n\tm, «err» := g(n)\n\tk, «err» := g(m)\n\tif «err» != nil {\n\t\treturn k\n\t}\n\treturn n\n}\n\nvar err = 1\n",
        ],
        ("F.err", "failure"),
    );
}

#[test]
fn impossible_renames_are_refused() {
    let two = ["a.ts: export function load() {}\n", "b.ts: export function load() {}\nexport function save() {}\n"];
    refused(&two, ("load", "read"), "2 definitions are called `load`: load in a.ts, line 1, load in b.ts, line 1");
    refused(&two, ("lod", "read"), "nothing in the project is called `lod` (near: load)");
    refused(&two, ("b.ts::load", "save"), "`save` already has a meaning in b.ts, line 2");
    refused(&two, ("b.ts::load", "class"), "cannot be a name in typescript");
    let user = "c.ts: import { load } from './a';\nfunction f(read: number) { return load() + read; }\n";
    refused(&[two[0], user], ("load", "read"), "`read` already has a meaning in c.ts, line 2");
    refused(
        &["a.py: def f():\n    return len([])\n\n\ndef g():\n    return f()\n"],
        ("f", "len"),
        "already has a meaning in a.py, line 2",
    );
    refused(
        &["a.py: class A:\n    def b(self): pass\n    def c(self): pass\n"],
        ("A.b", "c"),
        "already has a meaning in a.py, line 3",
    );
    refused(
        &["go.mod: module x\n", "a.go: package a\nfunc F() {}\n", "b.go: package a\nfunc G() {}\n"],
        ("F", "G"),
        "`G` already has a meaning",
    );
    let parts = [
        "a.ts: export function load() {}\n",
        "b.ts: export function save() {}\n",
        "index.ts: export * from './a';\nexport * from './b';\n",
    ];
    refused(&parts, ("load", "save"), "`save` already has a meaning in index.ts, line 1");
    // The new name is not used yet, but the other star import provides it.
    let stars = [
        "src/lib.rs: mod a;\nmod b;\nmod c;\n",
        "src/a.rs: pub fn load() {}\n",
        "src/b.rs: pub fn save() {}\n",
        "src/c.rs: use crate::b::*;\nuse crate::a::*;\n\nfn f() { load() }\n",
    ];
    refused(&stars, ("load", "save"), "in src/c.rs, `save` would not mean the same as `load` does");
}

#[test]
fn the_index_may_be_behind_the_files() {
    let project =
        Project::new(&[("a.ts", "export function load() {}\n"), ("b.ts", "import { load } from './a';\nload();\n")]);
    let newer = |path: &str| match path {
        "a.ts" => Ok("// new line\nexport const x = 1;\nexport function load() {}\n".to_owned()),
        _ => Ok("import { load } from './a';\nload();\nload();\n".to_owned()),
    };
    let plan = plan(&project.index, &newer, &target("load"), "read").unwrap();
    let texts: Vec<&str> = plan.edits.iter().map(|e| e.text_after.as_str()).collect();
    assert_eq!(
        texts,
        [
            "// new line\nexport const x = 1;\nexport function read() {}\n",
            "import { read } from './a';\nread();\nread();\n"
        ]
    );
}
