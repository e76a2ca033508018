//! Tests of outlines: each language's definitions, imports, exports and references.

use super::*;

/// Compares the outline, one line per item: for definitions `+` if exported, kind, container, name, lines and doc.
fn check(language: &str, source: &str, expected: &str) {
    let outline = outline(language, source);
    let name = |at: Option<usize>| at.map_or("", |a| outline.definitions[a].name.as_str()).to_owned();
    let mut lines: Vec<String> = Vec::new();
    for d in &outline.definitions {
        let exported = if d.exported { "+" } else { "" };
        lines.push(
            format!("{exported}{} {}>{} {}-{} {}", d.kind.name(), name(d.container), d.name, d.start, d.end, d.doc)
                .trim()
                .into(),
        );
    }
    lines.extend(
        outline.imports.iter().map(|i| format!("import {} from {} as {}", i.name, i.source, i.local).trim().into()),
    );
    lines.extend(
        outline
            .exports
            .iter()
            .map(|e| format!("export {} = {} {}", e.name, e.local, e.source.as_deref().unwrap_or("")).trim().into()),
    );
    for r in outline.references.iter().filter(|r| r.kind != ReferenceKind::Use) {
        let receiver = r.receiver.as_ref().map_or(String::new(), |x| format!("{x}."));
        lines.push(format!("{:?} {}>{receiver}{} {}", r.kind, name(r.from), r.name, r.line).to_lowercase());
    }
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    assert_eq!(lines.join("\n"), expected.join("\n"));
}

#[test]
fn typescript_definitions_are_found_with_their_docs() {
    check(
        "typescript",
        "/** Tries again. */\nexport async function retry(times: number) {\n  step();\n}\nexport interface Policy extends Base { wait(): void }\n\
         export type Id = string;\nexport enum Level { Low }\nexport const delay = (ms: number) => sleep(ms), LIMIT = 3;\n\
         export default class Client extends http.Agent implements Policy {\n  #count = 0;\n  wait() { this.retry(); }\n}\n",
        "+function >retry 2-4 Tries again.
         +interface >Policy 5-5
         method Policy>wait 5-5
         +type >Id 6-6
         +enum >Level 7-7
         +function >delay 8-8
         +variable >LIMIT 8-8
         +class >Client 9-12
         variable Client>#count 10-10
         method Client>wait 11-11
         export retry = retry
         export Policy = Policy
         export Id = Id
         export Level = Level
         export delay = delay
         export LIMIT = LIMIT
         export default = Client
         call retry>step 3
         extends policy>base 5
         call delay>sleep 8
         extends client>http.agent 9
         extends client>policy 9
         call wait>this.retry 11",
    );
}

#[test]
fn every_form_of_import_and_export_is_read() {
    check(
        "typescript",
        "import main, { a, b as c } from './m';\nimport * as all from '../n';\nimport './effects';\nexport { a as z, c };\n\
         export * from './o';\nexport * as ns from './p';\nexport { q as r } from './q';\nexport default main;\n",
        "import default from ./m as main
         import a from ./m as a
         import b from ./m as c
         import * from ../n as all
         import  from ./effects as
         export z = a
         export c = c
         export * = * ./o
         export ns = * ./p
         export r = q ./q
         export default = main",
    );
}

#[test]
fn commonjs_is_read_like_modules() {
    check(
        "javascript",
        "var app = exports = module.exports = {};\nconst { get, set: put } = require('./store');\nvar util = require('util');\n\
         app.init = function init() { put(1); };\nexports.run = () => get();\nmodule.exports = app;\n",
        "variable >app 1-1
         method >init 4-4
         +function >run 5-5
         import get from ./store as get
         import set from ./store as put
         import default from util as util
         export default =
         export run = run
         export default = app
         call init>put 4
         call run>get 5",
    );
}

#[test]
fn components_call_components() {
    check(
        "tsx",
        "export const Page = () => <Layout><div/><ui.Button onClick={go}/></Layout>;\n",
        "+function >Page 1-1
         export Page = Page
         call page>layout 1
         call page>ui.button 1",
    );
}

#[test]
fn rust_items_paths_and_macro_arguments_are_read() {
    check(
        "rust",
        "//! The file.\nuse crate::base::{Bytes, ids as names, *};\npub use self::inner::Deep;\nmod inner;\n\n/// Counts.\n#[derive(Clone)]\n\
         pub struct Counter { n: usize }\nimpl Iterator for Counter {\n    fn next(&mut self) -> Option<usize> { self.step(); names::fresh() }\n}\n\
         pub trait Step: Sized { fn step(&self); }\nconst MAX: usize = 3;\nmacro_rules! twice { () => {} }\n\
         mod tests { fn t() { assert_eq!(super::make(1), 2); } }\n",
        "+struct >Counter 8-8 Counts.
         impl >Counter 9-11
         method Counter>next 10-10
         +trait >Step 12-12
         method Step>step 12-12
         constant >MAX 13-13
         macro >twice 14-14
         module >tests 15-15
         function tests>t 15-15
         import Bytes from crate::base as Bytes
         import ids from crate::base as names
         import * from crate::base as *
         import Deep from self::inner as Deep
         import * from self::inner as inner
         export Deep = Deep self::inner
         export Counter = Counter
         export Step = Step
         extends counter>iterator 9
         call next>self.step 10
         call next>names.fresh 10
         call t>assert_eq 15
         call t>super.make 15",
    );
}

#[test]
fn deep_nesting_is_reported_and_broken_code_is_read() {
    let deep = format!("const a = {}1{};\nfunction after() {{}}\n", "(".repeat(5_000), ")".repeat(5_000));
    let outline = outline("javascript", &deep);
    assert!(outline.incomplete.is_some_and(|why| why.contains("nesting")));
    assert!(outline.definitions.iter().any(|d| d.name == "after"));
    check("typescript", "export function ok() {}\n}}} function ( {\n", "+function >ok 1-1\nexport ok = ok");
    check("markdown", "# Title\n", "");
}

#[test]
fn a_signature_ends_where_the_body_begins() {
    let outline = outline("rust", "pub fn open(\n    path: &Path,\n) -> Result<Index, Error> {\n    todo()\n}\n");
    assert_eq!(outline.definitions[0].signature, "pub fn open( path: &Path, ) -> Result<Index, Error>");
}

#[test]
fn python_definitions_docs_imports_and_receivers_are_read() {
    check(
        "python",
        "\"\"\"The file.\"\"\"\nfrom __future__ import annotations\nimport os.path as osp\nimport a.b\nfrom . import x, y as z\nfrom ..m import *\n\
         from .n import Keep as Keep\n\nLIMIT: int = 3\nlimit = LIMIT\nT = TypeVar('T')\n\n\
         @app.route('/')\n@cached\nasync def fetch(url: str, *rest, key=None) -> str:\n    \"\"\"Gets it.\n\n    Twice.\n    \"\"\"\n    body = get(url)\n\
         \x20   return [clean(line) for line in body.lines()]\n\n\
         # Counts.\nclass Counter(base.Base, Generic[T], metaclass=M):\n    '''Counts things.'''\n    start: int = 0\n    def add(self, n):\n\
         \x20       self.total(n)\n        super().add(n)\n    @classmethod\n    def _make(cls): return cls()\n\nclass Color(Enum):\n    RED = 1\n\n\
         def _hidden():\n    def inner(): pass\n    inner()\nif TYPE_CHECKING:\n    type Pair = tuple\n",
        "+constant >LIMIT 9-9
         +variable >limit 10-10
         +type >T 11-11
         +function >fetch 15-21 Gets it.
         Twice.
         +class >Counter 24-31 Counts things.
         +variable Counter>start 26-26
         +method Counter>add 27-29
         method Counter>_make 31-31
         +enum >Color 33-34
         +constant Color>RED 34-34
         function >_hidden 36-38
         function _hidden>inner 37-37
         +type >Pair 40-40
         import * from os.path as osp
         import * from a.b as a.b
         import * from a as a
         import x from . as x
         import y from . as z
         import * from ..m as *
         import Keep from .n as Keep
         export Keep = Keep .n
         export LIMIT = LIMIT
         export limit = limit
         export T = T
         export fetch = fetch
         export Counter = Counter
         export Color = Color
         export Pair = Pair
         call t>typevar 11
         call >app.route 13
         call fetch>get 20
         call fetch>clean 21
         call fetch>body.lines 21
         extends counter>base.base 24
         extends counter>generic 24
         call add>self.total 28
         call add>super.add 29
         call _make>cls 31
         extends color>enum 33
         call _hidden>inner 38",
    );
}

#[test]
fn dunder_all_decides_what_python_exports() {
    check(
        "python",
        "def a(): pass\ndef _b(): pass\ndef c(): pass\n__all__ = ['a', '_b']\n__all__ += ['d']\n",
        "+function >a 1-1
         +function >_b 2-2
         function >c 3-3
         export a = a
         export _b = _b
         export d = d",
    );
}

#[test]
fn go_definitions_docs_imports_and_receivers_are_read() {
    check(
        "go",
        "// Package shop sells.\npackage shop\n\nimport (\n\t\"fmt\"\n\ty \"gopkg.in/yaml.v3\"\n\t\"example.com/cart/v2\"\n\t. \"strings\"\n\t_ \"embed\"\n)\n\n\
         // Max is the most.\nconst Max = 3\n\nvar (\n\t// low is low\n\tlow, High = 1, 2\n)\n\n\
         // Store keeps.\ntype Store[T any] struct {\n\t*Base\n\tcart.Cart\n\tn int\n}\n\n\
         type Keeper interface {\n\tfmt.Stringer\n\tKeep(n int) error\n}\n\ntype ID = string\n\n\
         // Get gets.\nfunc (s *Store[T]) Get(key string) (v T, err error) {\n\tx := s.find(key)\n\tfmt.Println(x)\n\ts.cache.Put(x)\n\treturn Map[int](x), y.Do()\n}\n\n\
         func open(k Keeper) { go func() { k.Keep(1) }() }\n",
        "+constant >Max 13-13 Max is the most.
         variable >low 17-17 low is low
         +variable >High 17-17 low is low
         +struct >Store 21-25 Store keeps.
         +interface >Keeper 27-30
         +method Keeper>Keep 29-29
         +type >ID 32-32
         +method >Get 35-40 Get gets.
         function >open 42-42
         import * from fmt as fmt
         import * from gopkg.in/yaml.v3 as y
         import * from example.com/cart/v2 as cart
         import * from strings as *
         import  from embed as
         export Max = Max
         export High = High
         export Store = Store
         export Keeper = Keeper
         export ID = ID
         extends store>base 22
         extends store>cart.cart 23
         extends keeper>fmt.stringer 28
         call get>self.find 36
         call get>fmt.println 37
         call get>self.cache.put 38
         call get>map 39
         call get>y.do 39
         call open>k.keep 42",
    );
    let outline = outline("go", "package a\nfunc (s *Store[T]) Get() {}\n");
    assert_eq!(outline.definitions[0].member_of.as_deref(), Some("Store"));
}

#[test]
fn wrappers_nested_by_the_thousand_do_not_use_the_stack() {
    let deep = 10_000;
    let (open, close) = ("(".repeat(deep), ")".repeat(deep));
    for (language, source) in [
        ("typescript", format!("{open}f{close}(1);\nclass A extends {open}B{close} {{}}\n")),
        ("rust", format!("impl X for {}T {{}}\nfn f() {{ {open}g{close}() }}\n", "&".repeat(deep))),
        ("python", format!("class A({open}B{close}): pass\n{open}f{close}(1)\n")),
        ("go", format!("package a\nvar x {}T\nfunc f() {{ {open}g{close}() }}\n", "*".repeat(deep))),
        ("tsx", format!("const a = {}{};\n", "<a>".repeat(deep), "</a>".repeat(deep))),
    ] {
        let why = outline(language, &source).incomplete;
        assert!(why.as_ref().is_some_and(|why| why.contains("nesting")), "{language}: {why:?}");
    }
}
