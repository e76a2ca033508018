//! Tests the problems that a change causes.

use super::*;

/// Asserts that a change has as many problems as `expected` has entries, and that each message
/// contains the expected words.
fn check(path: &str, before: &str, after: &str, expected: &[&str]) {
    let found = problems(path, before, after, &["asked".to_owned()], &|name| name == "elsewhere");
    let is_said = found.len() == expected.len() && found.iter().zip(expected).all(|(one, words)| one.contains(words));
    assert!(is_said, "{found:?} for {after}");
}

/// Asserts that a new file with this text has no problems.
fn fine(path: &str, text: &str) {
    check(path, "", text, &[]);
}

const STORE: &str = "import os\n\n\nclass Store:\n    size = 1\n\n    def __init__(self):\n        self.items = {}\n\n    def get(self, key):\n        return self.items[key]\n\n\ndef helper(x):\n    return x + os.sep\n\n\ndef asked():\n    pass\n";

fn store(old: &str, new: &str, expected: &[&str]) {
    assert!(STORE.contains(old), "{old}");
    check("a.py", STORE, &STORE.replacen(old, new, 1), expected);
}

#[test]
fn an_undefined_name_is_reported() {
    store("return x +", "return json.dumps(x) +", &["`json` is used in `helper` (line 15) but is defined nowhere"]);
    store("return x +", "return halper(x) +", &["did you mean `helper`?"]);
    store("return x +", "return elsewhere(x) +", &["`elsewhere` is used in `helper` (line 15) but is not imported"]);
    store("return self.items[key]", "return get(key)", &["it is a member of `Store`"]);
    store("import os\n\n", "", &["`os` is used in `helper` (line 13)"]);
    let before = "const fs = require('fs');\n";
    let after = format!("{before}function a(b) {{\n  return paths.join(b);\n}}\n");
    check("a.js", before, &after, &["`paths` is used in `a` (line 3) but is defined nowhere"]);
}

#[test]
fn names_bound_in_any_way_are_not_reported() {
    fine(
        "a.py",
        "from a import b as c, d\nimport e.f\nimport g.h as i\n\ndef j(k, *l, m: int = 1, **n) -> 'x':\n    global z\n    z = [o for o in k if o and (y := o)]\n    for p, (q, r) in l:\n        print(p, q, r, y)\n    with open(m) as s, c(d) as (t, u):\n        e.f(s, t, u, i, n, __name__)\n    try:\n        v = lambda w, *x: (w, x)\n    except (ValueError, OSError) as error:\n        raise error\n    match k:\n        case {'a': aa, **bb}:\n            return aa, bb\n        case [cc, *dd] | Point(x=cc, y=dd):\n            return cc, dd\n    async def ee(): return await v(j, z)\n    @ee\n    def ff(): nonlocal_ = 1; return nonlocal_\n    del v\n    return f'{k!r:>{m}}', {a: b2 for a, b2 in k}, ff\n\nclass K[T]:\n    L = 1\n    M = [L for _ in range(3)]\n    def n(self) -> T: return K, z\n\ntype N[U] = list[U]\n",
    );
    fine(
        "a.ts",
        "import a, { b as c, type D } from 'x';\nimport * as e from 'y';\nimport f = require('f');\nenum G { H, I = H }\nnamespace J { export const k = 1 }\nexport function* l<T extends D>(this: Window, m: T, { n, o: p = 1, ...q }: any, [r, s]: any = [], ...t: string[]): asserts m is T {\n  for (const u of t) console.log(u, n, p, q, r, s, m);\n  for (let v = 0; v < 1; v++) void v;\n  try { w(); } catch (x) { throw x; } finally { }\n  function w() { return arguments.length, z; }\n  var y = (aa) => aa, z = async bb => { await bb; };\n  label: for (const cc in y) { break label; }\n  const dd = class Ee { static ff = Ee; #gg = 1; hh() { return new.target, this.#gg; } };\n  return { c, a, e, f, G, J, l, dd, [y]: 1, kk() { return import.meta; } } as unknown as Ii;\n}\ntype Ii = typeof l;\ninterface Ll { mm(nn: string): void }\ndeclare const oo: number;\nexport { a as default };\nif (typeof pp !== 'undefined') document.querySelector('a')!.innerHTML = `${oo}`;\n",
    );
    fine(
        "a.jsx",
        "import React, { useState } from 'react';\nconst A = ({ a, children }) => <div className={a} {...children}><B.C /><b>{a && <A key={a} />}</b></div>;\nconst B = { C: () => null };\nexport default A;\nexport const D = () => { const [e, setE] = useState(0); return <button onClick={() => setE(e + 1)}>{e}</button>; };\n",
    );
}

#[test]
fn undefined_names_are_not_reported_after_a_star_import_or_exec() {
    fine("a.py", "from a import *\n\nb()\n");
    fine("a.py", "exec('b = 1')\nb\n");
}

#[test]
fn attributes_that_nothing_sets_are_reported() {
    store("return self.items[key]", "return self.item[key]", &["`self.item` is used (line 11)"]);
    store("return self.items[key]", "return self.items[key], self.size, self.get, self.__class__", &[]);
    check(
        "a.js",
        "class A {\n  b = 1;\n  c() {\n    return this.b;\n  }\n}\n",
        "class A {\n  b = 1;\n  c() {\n    return this.d;\n  }\n}\n",
        &["it has b, c"],
    );
    fine("a.py", "from x import B\n\nclass A(B):\n    def c(self):\n        return self.d\n");
    fine("a.py", "class A:\n    def __getattr__(self, name):\n        return self.d\n");
    fine("a.py", "class A:\n    def c(self):\n        return self.d\n\nclass E(A):\n    d = 1\n");
    fine(
        "a.ts",
        "class A {\n  constructor(private b: string, readonly c: string) {}\n  get d() { return this.b + this.c + this.d; }\n  e() { [this.f] = [1]; return [1].map(function () { return this.g; }, this.f); }\n}\n",
    );
    fine("a.ts", "import { Entity } from 'x';\n@Entity()\nclass A {\n  b() { return this.c; }\n}\n");
}

#[test]
fn lost_definitions_are_reported_unless_the_request_names_them() {
    store("    def get(self, key):\n        return self.items[key]\n", "    pass\n", &["`get` of `Store` was in a.py"]);
    store("def asked():\n    pass\n", "", &[]);
    store(&STORE[STORE.find("class").unwrap()..STORE.find("def helper").unwrap()], "", &["`Store` was in a.py"]);
    check("a.rs", "struct A {\n    b: u8,\n    c: u8,\n}\n", "struct A {\n    b: u8,\n    d: u8,\n}\n", &[]);
    check("a.rs", "impl A {\n    fn b() {}\n}\n", "impl A {\n}\n", &["`b` of `A` was in a.rs"]);
}

#[test]
fn duplicate_definitions_are_reported() {
    store("def helper(x)", "def helper(y):\n    return y\n\n\ndef helper(x)", &["`helper` is defined 2 times"]);
    fine(
        "a.py",
        "import x\n\nclass A:\n    @property\n    def b(self):\n        return 1\n\n    @b.setter\n    def b(self, v):\n        print(v)\n\nif x:\n    def c():\n        return 1\nelse:\n    def c():\n        return 2\n",
    );
    fine(
        "a.rs",
        "impl A {\n    fn b() {}\n}\nimpl C for A {\n    fn b() {}\n}\n#[cfg(a)]\nfn d() {}\n#[cfg(b)]\nfn d() {}\n",
    );
    fine(
        "a.ts",
        "function a(b: string): void;\nfunction a(b: any) {}\nclass C { get d() { return 1; } set d(v) {} static e() {} e() {} }\ninterface F {}\nconst F = 1;\n",
    );
    fine("a.go", "package a\n\nfunc init() {}\nfunc init() {}\nfunc (x A) b() {}\nfunc (x C) b() {}\n");
}

#[test]
fn unfinished_code_is_reported() {
    store("return x +", "# TODO: implement it\n    return x +", &["line 15 leaves code to be written"]);
    store("return x +", "# ... existing code ...\n    return x +", &["line 15 replaces code that was left out"]);
    store("def asked", "def new(self):\n    \"\"\"Does.\"\"\"\n    pass\n\n\ndef asked", &["`new` has no body"]);
    check("a.rs", "", "fn a() {\n    todo!()\n}\n", &["`a` has no body"]);
    check("a.go", "package a\n", "package a\n\nfunc A() {\n\tpanic(\"not implemented\")\n}\n", &["`A` has no body"]);
    fine(
        "a.py",
        "from abc import ABC, abstractmethod\n\nclass A(ABC):\n    @abstractmethod\n    def b(self):\n        ...\n\nclass E(Exception):\n    pass\n",
    );
    fine("a.js", "function noop() {}\n");
}

#[test]
fn syntax_errors_are_reported_with_their_line() {
    store("return x +", "return (x +", &["a.py does not parse at line 15"]);
    check("a.json", "{\"a\": 1}", "{\"a\": 1,}", &["can no longer be read, line 1"]);
    check("a.json", "// note\n{}", "// note\n{,}", &[]);
    check("a.toml", "a = 1\n", "a = 1\nb =\n", &["can no longer be read, line 2"]);
    check("a.yml", "a:\n  b: 1\n", "a:\n  b: 1\n c: 2\n", &["can no longer be read, line 3"]);
    check("a.md", "# A\n", "# A\n\n<!-- ... rest unchanged ... -->\n", &["line 3 replaces code"]);
}

#[test]
fn an_entry_outside_its_object_is_reported() {
    let before = "module.exports = {\n  a: 1\n}\n";
    let after = format!("b: function b() {{\n  return 1\n}}\n\n{before}");
    check("a.js", before, &after, &["`b: …` is outside any object"]);
    fine("a.js", "outer: for (;;) {\n  break outer;\n}\n");
}

#[test]
fn existing_code_written_a_second_time_is_reported() {
    let list: String = (0..20).map(|at| format!("    'word{at}',\n")).collect();
    let before = format!("NAMES = [\n{list}]\n");
    check("a.py", &before, &format!("{before}\nMORE = [\n{list}    'emoji',\n]\n"), &["has the lines from"]);
    check("a.py", &before, &before.replace("    'word19',\n", "    'word19',\n    'emoji',\n"), &[]);
}
