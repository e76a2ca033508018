//! Tests moves of definitions in small projects, comparing every changed text.

use super::*;
use crate::rename::tests::{Project, split};

/// Asserts the texts of all files that moving `name` changes. Files are given as `path: text`.
fn moved(files: &[&str], name: &str, (from, to): (&str, &str), expected: &[&str]) -> Plan {
    let project = Project::new(&split(files));
    let plan = definition(&project.index, &project.read(), name, Some(from), to);
    let plan = plan.unwrap_or_else(|error| panic!("{name}: {error}"));
    let found: Vec<(&str, &str)> = plan.edits.iter().map(|e| (e.path.as_str(), e.text_after.as_str())).collect();
    assert_eq!(found, split(expected), "{name} from {from} to {to}");
    plan
}

fn refused(files: &[&str], name: &str, (from, to): (&str, &str), expected: &str) {
    let project = Project::new(&split(files));
    match definition(&project.index, &project.read(), name, Some(from), to) {
        Ok(plan) => panic!("{name} from {from} to {to} is planned: {:?}", plan.edits),
        Err(error) => assert!(error.to_string().contains(expected), "{name} from {from} to {to}: {error}"),
    }
}

#[test]
fn a_typescript_function_takes_its_imports_along_and_its_users_follow() {
    moved(
        &[
            "src/a.ts: import { lines, words } from './text';\nimport type { Span } from './span';\n\n/** Reads `a..b`. */\nexport function range(text: string): Span {\n  return { from: words(text).length, step: limit() };\n}\n\nexport function limit(): number {\n  return lines('').length;\n}\n",
            "src/text.ts: export const lines = (s: string) => s.split('\\n');\nexport const words = (s: string) => s.split(' ');\n",
            "src/span.ts: export interface Span { from: number; step: number }\n",
            "src/index.ts: export * from './a';\nexport { limit as most } from './a';\n",
            "src/named.ts: export { range, limit } from './a.js';\n",
            "src/c.ts: import { limit, range as r } from './a';\n\nr(limit());\n",
            "src/d.ts: import { range } from '.';\nrange('');\n",
            "lib/e.ts: import { range } from '../src/a';\n\nexport const e = range('1');\n",
        ],
        "range",
        ("src/a.ts", "src/deep/b.ts"),
        &[
            "lib/e.ts: import { range } from '../src/deep/b';\n\nexport const e = range('1');\n",
            "src/a.ts: import { lines } from './text';\n\nexport function limit(): number {\n  return lines('').length;\n}\n",
            "src/c.ts: import { limit } from './a';\nimport { range as r } from './deep/b';\n\nr(limit());\n",
            "src/deep/b.ts: import { limit } from '../a';\nimport { words } from '../text';\nimport type { Span } from '../span';\n\n/** Reads `a..b`. */\nexport function range(text: string): Span {\n  return { from: words(text).length, step: limit() };\n}\n",
            "src/index.ts: export * from './a';\nexport { range } from './deep/b';\nexport { limit as most } from './a';\n",
            "src/named.ts: export { range } from './deep/b.js';\nexport { limit } from './a.js';\n",
        ],
    );
}

#[test]
fn what_stays_behind_imports_a_moved_helper_that_was_private() {
    moved(
        &[
            "a.ts: import { z } from './z';\n\n// Trims.\nconst trim = (s: string) => s.trim();\n\nexport const a = trim(z);\n",
            "b.ts: import { a } from './z';\n\nexport const b = 1;\n\nexport { b as c };\n",
            "z.ts: export const z = '';\nexport const a = 2;\n",
        ],
        "trim",
        ("a.ts", "b.ts"),
        &[
            "a.ts: import { z } from './z';\nimport { trim } from './b';\n\nexport const a = trim(z);\n",
            "b.ts: import { a } from './z';\n\nexport const b = 1;\n\n// Trims.\nexport const trim = (s: string) => s.trim();\n\nexport { b as c };\n",
        ],
    );
}

#[test]
fn a_common_js_function_moves_between_export_lists() {
    moved(
        &[
            "a.js: const fs = require('fs');\n\nfunction read(p) { return fs.readFileSync(p); }\n\nfunction other() {}\n\nmodule.exports = { read, other };\n",
            "b.js: function b() {}\n\nmodule.exports = { b };\n",
            "c.js: const { read, other } = require('./a');\n\nread(other());\n",
        ],
        "read",
        ("a.js", "b.js"),
        &[
            "a.js: function other() {}\n\nmodule.exports = { other };\n",
            "b.js: const fs = require('fs');\n\nfunction b() {}\n\nfunction read(p) { return fs.readFileSync(p); }\n\nmodule.exports = { b, read };\n",
            "c.js: const { other } = require('./a');\nconst { read } = require('./b');\n\nread(other());\n",
        ],
    );
}

#[test]
fn a_python_class_moves_with_decorators_and_relative_imports() {
    moved(
        &[
            "shop/__init__.py: from .cart import Cart, total\n",
            "shop/cart.py: import os\nfrom dataclasses import dataclass\n\nfrom .money import up\n\n__all__ = [\"Cart\", \"total\"]\n\n\n# A cart.\n@dataclass\nclass Cart:\n    n: int = 0\n\n    def sum(self):\n        return up(self.n)\n\n\ndef total(cart: \"Cart\"):\n    return os.path.join(str(cart.sum()))\n",
            "shop/money.py: def up(n):\n    return n\n",
            "app.py: from shop.cart import Cart\n\nCart()\n",
        ],
        "Cart",
        ("shop/cart.py", "shop/core/basket.py"),
        &[
            "app.py: from shop.core.basket import Cart\n\nCart()\n",
            "shop/__init__.py: from .cart import total\nfrom .core.basket import Cart\n",
            "shop/cart.py: import os\nfrom .core.basket import Cart\n\n__all__ = [\"total\"]\n\n\ndef total(cart: \"Cart\"):\n    return os.path.join(str(cart.sum()))\n",
            "shop/core/basket.py: from dataclasses import dataclass\nfrom ..money import up\n\n\n# A cart.\n@dataclass\nclass Cart:\n    n: int = 0\n\n    def sum(self):\n        return up(self.n)\n",
            "shop/core/__init__.py: ",
        ],
    );
}

#[test]
fn a_rust_type_moves_with_its_impls_and_a_new_module_is_declared() {
    moved(
        &[
            "Cargo.toml: [package]\nname = \"shop\"\n",
            "src/lib.rs: //! Shop.\n\npub mod cart;\nmod money;\n\npub use cart::Cart;\n\nfn f() -> cart::Cart { cart::Cart::new() }\n",
            "src/cart.rs: use std::fmt;\n\nuse super::money::{down, up};\n\n/// A cart.\n#[derive(Clone)]\npub struct Cart {\n    pub n: u32,\n}\n\nimpl Cart {\n    pub fn new() -> Cart {\n        Cart { n: up(1) }\n    }\n}\n\nimpl fmt::Display for Cart {\n    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {\n        write!(f, \"{}\", self.n)\n    }\n}\n\npub fn total(cart: &Cart) -> u32 {\n    down(cart.n)\n}\n",
            "src/money.rs: use crate::cart::{self, Cart};\n\npub fn up(n: u32) -> u32 { n }\npub fn down(n: u32) -> u32 { cart::total(&Cart { n }) }\n",
        ],
        "Cart",
        ("src/cart.rs", "src/basket.rs"),
        &[
            "src/basket.rs: use std::fmt;\nuse crate::money::up;\n\n/// A cart.\n#[derive(Clone)]\npub struct Cart {\n    pub n: u32,\n}\n\nimpl Cart {\n    pub fn new() -> Cart {\n        Cart { n: up(1) }\n    }\n}\n\nimpl fmt::Display for Cart {\n    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {\n        write!(f, \"{}\", self.n)\n    }\n}\n",
            "src/cart.rs: use super::money::down;\nuse crate::basket::Cart;\n\npub fn total(cart: &Cart) -> u32 {\n    down(cart.n)\n}\n",
            "src/lib.rs: //! Shop.\n\npub mod cart;\nmod money;\npub mod basket;\n\npub use crate::basket::Cart;\n\nfn f() -> crate::basket::Cart { crate::basket::Cart::new() }\n",
            "src/money.rs: use crate::cart;\nuse crate::basket::Cart;\n\npub fn up(n: u32) -> u32 { n }\npub fn down(n: u32) -> u32 { cart::total(&Cart { n }) }\n",
        ],
    );
}

#[test]
fn a_go_type_moves_with_its_methods_within_its_package() {
    moved(
        &[
            "go.mod: module example.com/shop\n",
            "cart.go: package shop\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\n// Cart holds.\ntype Cart struct{ n int }\n\n// String says.\nfunc (c *Cart) String() string { return fmt.Sprint(c.n) }\n\nfunc New() *Cart { os.Exit(1); return &Cart{} }\n",
            "main.go: package shop\n\nfunc Use() string { return New().String() }\n",
        ],
        "Cart",
        ("cart.go", "types.go"),
        &[
            "cart.go: package shop\n\nimport (\n\t\"os\"\n)\n\nfunc New() *Cart { os.Exit(1); return &Cart{} }\n",
            "types.go: package shop\n\nimport \"fmt\"\n\n// Cart holds.\ntype Cart struct{ n int }\n\n// String says.\nfunc (c *Cart) String() string { return fmt.Sprint(c.n) }\n",
        ],
    );
}

#[test]
fn what_cannot_be_done_safely_is_refused_with_its_reason() {
    let to = ("a.ts", "b.ts");
    let a = "a.ts: import * as z from './z';\nlet count = 0;\nexport let shown = 0;\nconst hide = () => count;\nexport function show() { return hide(); }\nexport function set() { shown = 1; }\nexport function zed() { return z.z; }\nexport const twice = () => shown * 2;\nexport const use = () => twice();\n";
    let z = "z.ts: export const z = 1;\n";
    let with = |b: &'static str| [a, z, b];
    refused(&with("b.ts: export const b = 1;\n"), "show", to, "`show` uses `hide`, which is private to a.ts");
    refused(&with("b.ts: export const b = 1;\n"), "set", to, "a.ts, line 6");
    refused(&with("b.ts: export const twice = 1;\n"), "twice", to, "`twice` already has a meaning in b.ts, line 1");
    refused(&with("b.ts: const z = 1;\nexport { z };\n"), "zed", to, "`z` already has a meaning in b.ts, line 1");
    refused(&with("b.ts: export const b = 1;\n"), "twice", to, "in turn depends on b.ts");
    refused(&with("b.ts: export const b = 1;\n"), "none", to, "has no `none`");
    refused(
        &with("b.ts: import * as a from './a';\na.zed();\n"),
        "zed",
        to,
        "b.ts, line 2: `a.zed();` cannot be redirected",
    );
    let python = ["p/a.py: def f():\n    global n\n    n = 1\n\n\nn = 0\n", "p/b.py: "];
    refused(&python, "f", ("p/a.py", "p/b.py"), "p/a.py, line 3: `n = 1` cannot be redirected");
    let go = ["go.mod: module x\n", "a/a.go: package a\n\nfunc F() {}\n", "b/b.go: package b\n"];
    refused(&go, "F", ("a/a.go", "b/b.go"), "within its package");
    let private = [
        "src/lib.rs: mod a;\nmod b;\n",
        "src/a.rs: pub struct P { n: u32 }\n\npub fn n(p: &P) -> u32 { p.n }\n",
        "src/b.rs: //! B.\n",
    ];
    refused(&private, "n", ("src/a.rs", "src/b.rs"), "`pub fn n(p: &P) -> u32 { p.n }` may not be visible");
}
