//! Tests file moves in small projects, comparing every changed text.

use super::*;
use crate::rename::tests::{Project, split};

/// Asserts the texts of all files that a move changes. Files are given as `path: text`.
fn moved(files: &[&str], (from, to): (&str, &str), expected: &[&str]) -> Plan {
    let project = Project::new(&split(files));
    let plan = file(&project.index, &project.read(), from, to).unwrap_or_else(|error| panic!("{error}"));
    let found: Vec<(&str, &str)> = plan.edits.iter().map(|e| (e.path.as_str(), e.text_after.as_str())).collect();
    assert_eq!(found, split(expected), "{from} to {to}");
    plan
}

fn refused(files: &[&str], (from, to): (&str, &str), expected: &str) {
    let project = Project::new(&split(files));
    let error = file(&project.index, &project.read(), from, to).unwrap_err().to_string();
    assert!(error.contains(expected), "{from} to {to}: {error}");
}

#[test]
fn script_imports_follow_a_moved_file_in_the_manner_they_were_written() {
    moved(
        &[
            "src/a.ts: import { b } from './b';\nimport './style.css';\nexport * from './lib';\nexport const a = b;\n",
            "src/b.ts: import type { a } from './a.js';\nexport const b = 1;\n",
            "src/lib/index.ts: import { a } from '../a';\nimport { c } from './c';\nexport const l = a;\n",
            "src/lib/c.ts: export const c = import('../a');\nvi.mock('../a.ts');\nconst s = '../a';\n",
            "src/d.js: const { a } = require('./a');\nconst x = require(\"fs\");\n",
        ],
        ("src/a.ts", "src/deep/er/z.ts"),
        &[
            "src/b.ts: import type { a } from './deep/er/z.js';\nexport const b = 1;\n",
            "src/d.js: const { a } = require('./deep/er/z');\nconst x = require(\"fs\");\n",
            "src/deep/er/z.ts: import { b } from '../../b';\nimport '../../style.css';\nexport * from '../../lib';\nexport const a = b;\n",
            "src/lib/c.ts: export const c = import('../deep/er/z');\nvi.mock('../deep/er/z.ts');\nconst s = '../a';\n",
            "src/lib/index.ts: import { a } from '../deep/er/z';\nimport { c } from './c';\nexport const l = a;\n",
        ],
    );
}

#[test]
fn index_files_and_aliases_of_tsconfig_are_kept_where_possible() {
    moved(
        &[
            "tsconfig.json: { \"compilerOptions\": { \"baseUrl\": \".\", \"paths\": { \"@lib/*\": [\"lib/*\"] } } }",
            "lib/a.ts: export const a = 1;\n",
            "app/b.ts: import { a } from '@lib/a';\n",
            "app/c.ts: import { a } from '../lib/a';\n",
        ],
        ("lib/a.ts", "lib/x/index.ts"),
        &["app/b.ts: import { a } from '@lib/x';\n", "app/c.ts: import { a } from '../lib/x';\n"],
    );
    moved(
        &[
            "tsconfig.json: { \"compilerOptions\": { \"baseUrl\": \".\", \"paths\": { \"@lib/*\": [\"lib/*\"] } } }",
            "lib/a.ts: export const a = 1;\n",
            "app/b.ts: import { a } from '@lib/a';\n",
        ],
        ("lib/a.ts", "app/a.ts"),
        &["app/b.ts: import { a } from './a';\n"],
    );
    moved(
        &["x/index.ts: export const a = 1;\n", "b.ts: import { a } from './x';\nimport { a as c } from './x/index';\n"],
        ("x/index.ts", "y.ts"),
        &["b.ts: import { a } from './y';\nimport { a as c } from './y';\n"],
    );
}

#[test]
fn python_imports_follow_a_moved_module() {
    moved(
        &[
            "shop/__init__.py: from .cart import Cart\nfrom . import cart, money\n",
            "shop/cart.py: from .money import up\nfrom . import money\nimport os\n\n\nclass Cart:\n    pass\n",
            "shop/money.py: from .cart import Cart\n\n\ndef up(n):\n    return n\n",
            "app.py: import shop.cart\nimport shop.cart as sc\nfrom shop.cart import Cart\nfrom shop import cart, money\nfrom shop import cart as c\n\nx = shop.cart.Cart(shop.money)\ncart.Cart(c)\n",
        ],
        ("shop/cart.py", "shop/core/basket.py"),
        &[
            "app.py: import shop.core.basket\nimport shop.core.basket as sc\nfrom shop.core.basket import Cart\nfrom shop.core import basket as cart\nfrom shop import money\nfrom shop.core import basket as c\n\nx = shop.core.basket.Cart(shop.money)\ncart.Cart(c)\n",
            "shop/__init__.py: from .core.basket import Cart\nfrom .core import basket as cart\nfrom . import money\n",
            "shop/core/basket.py: from ..money import up\nfrom .. import money\nimport os\n\n\nclass Cart:\n    pass\n",
            "shop/money.py: from .core.basket import Cart\n\n\ndef up(n):\n    return n\n",
            "shop/core/__init__.py: ",
        ],
    );
    moved(
        &["util.py: def f(): pass\n", "app.py: import util\nfrom util import f\n\nutil.f()\n"],
        ("util.py", "helpers.py"),
        &["app.py: import helpers\nfrom helpers import f\n\nhelpers.f()\n"],
    );
}

#[test]
fn rust_modules_move_with_their_declaration_and_paths() {
    let files = [
        "Cargo.toml: [package]\nname = \"shop\"\n",
        "src/lib.rs: //! Shop.\n\n/// Carts.\npub mod cart;\nmod core;\nmod money;\n\npub use cart::Cart;\nfn f() -> cart::Cart { cart::Cart }\n",
        "src/core.rs: //! Core.\n\npub mod deep;\n\nuse crate::cart::Cart;\n",
        "src/core/deep.rs: pub fn g() -> crate::cart::Cart { super::super::cart::Cart }\n",
        "src/cart.rs: use super::money::up;\npub struct Cart;\n#[cfg(test)]\nmod tests {\n    use super::*;\n    use super::super::money;\n}\n",
        "src/money.rs: use crate::cart;\npub fn up(c: cart::Cart) {}\n",
    ];
    moved(
        &files,
        ("src/cart.rs", "src/basket.rs"),
        &[
            "src/core.rs: //! Core.\n\npub mod deep;\n\nuse crate::basket::Cart;\n",
            "src/core/deep.rs: pub fn g() -> crate::basket::Cart { super::super::basket::Cart }\n",
            "src/lib.rs: //! Shop.\n\n/// Carts.\npub mod basket;\nmod core;\nmod money;\n\npub use basket::Cart;\nfn f() -> basket::Cart { basket::Cart }\n",
            "src/money.rs: use crate::basket;\npub fn up(c: basket::Cart) {}\n",
        ],
    );
    moved(
        &files,
        ("src/cart.rs", "src/core/basket.rs"),
        &[
            "src/core.rs: //! Core.\n\npub mod deep;\n/// Carts.\npub mod basket;\n\nuse crate::core::basket::Cart;\n",
            "src/core/basket.rs: use crate::money::up;\npub struct Cart;\n#[cfg(test)]\nmod tests {\n    use super::*;\n    use crate::money;\n}\n",
            "src/core/deep.rs: pub fn g() -> crate::core::basket::Cart { crate::core::basket::Cart }\n",
            "src/lib.rs: //! Shop.\n\nmod core;\nmod money;\n\npub use crate::core::basket::Cart;\nfn f() -> crate::core::basket::Cart { crate::core::basket::Cart }\n",
            "src/money.rs: use crate::core::basket;\npub fn up(c: basket::Cart) {}\n",
        ],
    );
    moved(
        &files,
        ("src/core/deep.rs", "src/deep.rs"),
        &[
            "src/core.rs: //! Core.\n\nuse crate::cart::Cart;\n",
            "src/deep.rs: pub fn g() -> crate::cart::Cart { crate::cart::Cart }\n",
            "src/lib.rs: //! Shop.\n\n/// Carts.\npub mod cart;\nmod core;\nmod money;\npub mod deep;\n\npub use cart::Cart;\nfn f() -> cart::Cart { cart::Cart }\n",
        ],
    );
    let with = |file: &'static str| [files.as_slice(), &[file]].concat();
    let elsewhere = ("src/cart.rs", "src/core/cart.rs");
    refused(&with("src/main.rs: use shop::cart::Cart;\n"), elsewhere, "src/main.rs, line 1");
    refused(&with("src/bin/b.rs: use shop::{cart::Cart, f};\n"), elsewhere, "b.rs, line 1");
    for low in ["src/core/low.rs: use super::x;\n", "src/core/low.rs: use crate::core::x;\n"] {
        let files = ["src/lib.rs: mod core;\n", "src/core.rs: mod low;\nfn x() {}\n", low];
        refused(&files, ("src/core/low.rs", "src/low.rs"), "may not be visible");
    }
    let gated = ["src/lib.rs: mod a;\nmod x;\n", "src/a.rs: mod b;\n", "src/a/b.rs: ", "src/x.rs: "];
    refused(&gated, ("src/x.rs", "src/a/b/x.rs"), "src/a.rs, line 1: `mod b;` may not be visible");
    refused(&files, ("src/cart.rs", "src/gone/cart.rs"), "make src/gone.rs first");
    refused(&files, ("src/core.rs", "src/heart.rs"), "such as deep");
    refused(&files, ("src/lib.rs", "src/all.rs"), "cannot move");
}

#[test]
fn computed_imports_are_refused_and_other_mentions_listed() {
    let refused_with = |file: &str, expected: &str| {
        refused(&["src/a.ts: export const a = 1;\n", file], ("src/a.ts", "src/deep/a.ts"), expected);
    };
    refused_with("src/App.vue: <script>\nimport { a } from './a'\n</script>\n", "src/App.vue, line 2");
    refused_with("src/b.ts: const x = await import(`./${name}`);\n", "src/b.ts, line 1");
    let computed = ["src/a.js: const x = 1;\nrequire(name);\n"];
    refused(&computed, ("src/a.js", "src/b/a.js"), "src/a.js, line 2: `require(name);`");
    refused(&["src/a.json: {}", "src/b.js: require('./a.json');\n"], ("src/a.json", "a.json"), "src/b.js");
    let shop = ["shop/__init__.py: ", "shop/cart.py: X = 1\n", "a.py: import shop\n\nshop.cart.X\n"];
    refused(&shop, ("shop/cart.py", "shop/basket.py"), "a.py, line 3");
    let hides = ["p/__init__.py: def cached():\n    from ._c import x\n", "p/_c.py: x = 1\n"];
    refused(&hides, ("p/_c.py", "p/cached.py"), "p/__init__.py has its own `cached`");
    refused(&hides, ("p/_c.py", "p/a-b.py"), "its name cannot be imported");
    let plan = moved(
        &[
            "src/a.ts: export const a = __dirname;\n",
            "README.md: See `src/a.ts`.\nNot src/a-b.ts.\n",
            "src/b.ts: new Worker('./a.ts');\n",
        ],
        ("src/a.ts", "lib/a.ts"),
        &[],
    );
    let mentions: Vec<_> = plan.mentions.iter().map(|m| (m.path.as_str(), m.line)).collect();
    assert_eq!(mentions, [("src/b.ts", 1), ("README.md", 1)]);
    assert_eq!((plan.doubtful[0].path.as_str(), plan.doubtful[0].line), ("lib/a.ts", 1));
}

#[test]
fn impossible_moves_are_refused() {
    let files =
        ["a.ts: export const a = 1;\n", "b.ts: import { a } from './a';\n", "m.go: package m\n", "p/__init__.py: "];
    refused(&files, ("a.ts", "b.ts"), "b.ts already exists");
    refused(&files, ("c.ts", "d.ts"), "c.ts is not in the project");
    refused(&files, ("a.ts", "a.py"), "a.ts is typescript and a.py is python");
    refused(&files, ("a.ts", "../a.ts"), "not a path inside the project");
    refused(&files, ("m.go", "n.go"), "only imports in TypeScript");
    refused(&files, ("p/__init__.py", "q/__init__.py"), "move its modules one by one");
}
