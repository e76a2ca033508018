//! Tests of merging TypeScript and JavaScript.

use super::{Hints, check, with};

const CART: &str = r#"'use strict';
import fs from 'fs';
import { round, type Money } from './money';

/** Most items. */
export const LIMIT = 10;

const cache = new Map();

/**
 * A cart.
 */
@Injectable()
export class Cart extends Base {
  private items: Item[] = [];
  static count = 0;

  constructor(private readonly db: Db) {
    super();
  }

  get size(): number {
    return this.items.length;
  }

  /** Adds one. */
  @Log()
  public async add(item: Item): Promise<void> {
    this.items.push(item);
  }
}

export function total(cart: Cart): Money {
  return round(cart.sum());
}

const tax = (x: number) => x * 0.2;

export default Cart;
"#;

fn cart(written: &str, old: &str, new: &str) {
    assert!(CART.contains(old), "{old}");
    check("src/cart.ts", CART, written, &CART.replacen(old, new, 1));
}

#[test]
fn functions_keep_export_and_classes_their_members() {
    cart(
        "function total(cart: Cart): Money {\n  return cart.sum();\n}\n",
        "return round(cart.sum())",
        "return cart.sum()",
    );
    cart("const tax = (x: number) => x * 0.3;\n", "x * 0.2", "x * 0.3");
    cart(
        "export class Cart {\n  // ... existing code ...\n  get size(): number {\n    return 5;\n  }\n}\n",
        "return this.items.length",
        "return 5",
    );
    cart("get size(): number {\n  return 5;\n}", "return this.items.length", "return 5");
    cart("const LIMIT = 20;\n", "LIMIT = 10", "LIMIT = 20");
    cart("class Cart {\n    static count = 1;\n}\n", "static count = 0", "static count = 1");
}

#[test]
fn a_method_without_its_class_keeps_its_decorator_and_access() {
    cart("async add(item: Item): Promise<void> {\n  this.items.unshift(item);\n}\n", "items.push", "items.unshift");
    cart(
        "remove(item: Item): void {\n  this.items.pop();\n}\n",
        "    this.items.push(item);\n  }\n",
        "    this.items.push(item);\n  }\n\n  remove(item: Item): void {\n    this.items.pop();\n  }\n",
    );
}

#[test]
fn imports_are_joined_by_source() {
    cart(
        "import { floor } from './money';\nimport { readFile } from 'fs/promises';\n\nfunction total(cart: Cart): Money {\n  return floor(readFile(cart));\n}\n",
        CART,
        &CART
            .replace("type Money }", "type Money, floor }")
            .replace("'./money';\n", "'./money';\nimport { readFile } from 'fs/promises';\n")
            .replace("round(cart.sum())", "floor(readFile(cart))"),
    );
}

#[test]
fn a_new_function_goes_before_the_exports() {
    cart(
        "export function half(x: number) {\n  return x / 2;\n}\n",
        "x * 0.2;\n",
        "x * 0.2;\n\nexport function half(x: number) {\n  return x / 2;\n}\n",
    );
    check(
        "a.js",
        "const a = 1;\n\nmodule.exports = { a };\n",
        "function b() {\n  return a;\n}\n\nmodule.exports = { a, b };\n",
        "const a = 1;\n\nfunction b() {\n  return a;\n}\n\nmodule.exports = { a, b };\n",
    );
    check(
        "a.js",
        "const a = 1;\n\nmodule.exports = {\n  a\n};\n",
        "module.exports = {\n  b,\n  c\n};\n",
        "const a = 1;\n\nmodule.exports = {\n  a,\n  b,\n  c\n};\n",
    );
}

#[test]
fn functions_take_the_form_that_the_file_gives_them() {
    check(
        "a.js",
        "exports.add = function (a, b) {\n  return a + b;\n};\n",
        "function add(a, b) {\n  return b + a;\n}\n",
        "exports.add = function add(a, b) {\n  return b + a;\n};\n",
    );
    check(
        "a.js",
        "Foo.prototype.bar = function () {\n  return 1;\n};\n",
        "Foo.prototype.bar = function () {\n  return 2;\n};\n",
        "Foo.prototype.bar = function () {\n  return 2;\n};\n",
    );
    check(
        "a.js",
        "module.exports = {\n  run: function (x) {\n    return x;\n  },\n  stop() {}\n};\n",
        "run: function (x) {\n  return x + 1;\n},\n",
        "module.exports = {\n  run: function (x) {\n    return x + 1;\n  },\n  stop() {}\n};\n",
    );
    check(
        "a.js",
        "const api = {\n  run(x) {\n    return x;\n  },\n  stop() {\n    return 0;\n  }\n};\n",
        "const api = {\n  stop() {\n    return 1;\n  },\n  wait() {\n    return 2;\n  }\n};\n",
        "const api = {\n  run(x) {\n    return x;\n  },\n  stop() {\n    return 1;\n  },\n  wait() {\n    return 2;\n  }\n};\n",
    );
}

#[test]
fn require_is_an_import() {
    check(
        "a.js",
        "const fs = require('fs');\nconst { a } = require('./a');\n\nfunction f() {\n  return a;\n}\n",
        "const path = require('path');\nconst { a, b } = require('./a');\n\nfunction f() {\n  return path.join(a, b);\n}\n",
        "const fs = require('fs');\nconst { a, b } = require('./a');\nconst path = require('path');\n\nfunction f() {\n  return path.join(a, b);\n}\n",
    );
}

#[test]
fn types_and_values_of_one_name_are_two_definitions() {
    let before = "export const User = z.object({});\n\nexport interface Shape {\n  /** Name. */\n  name: string;\n  size: number;\n}\n\nenum Level {\n  Low,\n  High\n}\n";
    check(
        "a.ts",
        before,
        "export type User = z.infer<typeof User>;\n",
        &before.replace("({});\n", "({});\nexport type User = z.infer<typeof User>;\n"),
    );
    check(
        "a.ts",
        before,
        "interface Shape {\n  // ... existing fields\n  color: string;\n}\n",
        &before.replace("size: number;\n", "size: number;\n  color: string;\n"),
    );
    check("a.ts", before, "enum Level {\n  Low,\n  High,\n  Top\n}\n", &before.replace("High\n", "High,\n  Top\n"));
}

#[test]
fn tests_go_into_the_describe_of_the_file() {
    let before = "import { add } from './add';\n\ndescribe('add', () => {\n  it('adds', () => {\n    expect(add(1, 2)).toBe(3);\n  });\n});\n";
    let after =
        before.replace("  });\n});", "  });\n\n  it('adds none', () => {\n    expect(add(0, 0)).toBe(0);\n  });\n});");
    check("a.test.ts", before, "it('adds none', () => {\n  expect(add(0, 0)).toBe(0);\n});\n", &after);
    check(
        "a.test.ts",
        before,
        "describe('add', () => {\n  // ... existing tests\n  it('adds none', () => {\n    expect(add(0, 0)).toBe(0);\n  });\n});\n",
        &after,
    );
}

#[test]
fn calls_at_load_are_matched_by_how_they_begin() {
    let before =
        "const app = express();\n\napp.get('/a', (req, res) => {\n  res.send('a');\n});\n\napp.listen(3000);\n";
    check(
        "a.js",
        before,
        "app.get('/a', async (req, res) => {\n  res.send('b');\n});\n",
        &before.replace("(req, res) => {\n  res.send('a')", "async (req, res) => {\n  res.send('b')"),
    );
    check(
        "a.js",
        before,
        "app.get('/b', (req, res) => {\n  res.send('b');\n});\n",
        &before.replace("'a');\n});\n", "'a');\n});\n\napp.get('/b', (req, res) => {\n  res.send('b');\n});\n"),
    );
    let text = with("a.js", before, "console.log(app);\n", Hints::default());
    assert!(text.starts_with("error: nothing changed"), "{text}");
}

#[test]
fn an_extra_or_early_closing_brace_is_ignored() {
    let before = "class A {\n  a() {\n    return 1;\n  }\n}\n";
    let after = "class A {\n  a() {\n    return 2;\n  }\n\n  b() {\n    return 3;\n  }\n}\n";
    check("a.js", before, "class A {\n  a() {\n    return 2;\n  }\n}\n\n  b() {\n    return 3;\n  }\n}\n", after);
    check("a.js", before, "  a() {\n    return 2;\n  }\n\n  b() {\n    return 3;\n  }\n}\n", after);
}

#[test]
fn functions_inside_a_function_are_found() {
    let before = "(function () {\n  function inner(x) {\n    return x;\n  }\n\n  function other() {}\n})();\n";
    check("a.js", before, "function inner(x) {\n  return x * 2;\n}\n", &before.replace("return x;", "return x * 2;"));
}
