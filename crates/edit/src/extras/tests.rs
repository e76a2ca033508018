//! Tests that unrequested parts are removed and that everything else stays as it is.

use super::*;
use crate::kept::kept;
use crate::unasked::{self, Basis};

fn without_extras(path: &str, before: &str, after: &str, asked: &str) -> String {
    super::without_extras(path, before, after, &Asked::of(asked))
}

fn without_unused_imports(path: &str, before: &str, after: &str, asked: &str) -> String {
    super::without_unused_imports(path, before, after, &Asked::of(asked))
}

const BEFORE: &str = "import os\n\n\nclass A:\n    def get(self, key, default=None, **more):\n        \"\"\"Gets.\n\n        >>> A().get('a')\n        \"\"\"\n        return os.environ.get(key, default)\n";

#[test]
fn annotations_and_words_that_nobody_asked_for_are_taken_out() {
    let right = BEFORE.replace("(key, default)", "(key.upper(), default)");
    let written = right
        .replace(
            "self, key, default=None, **more)",
            "self, key: str, default: dict[str, int] = None, **more: Any) -> str",
        )
        .replace("Gets.\n", "Gets a value.\n\n        It is long.\n");
    assert_eq!(without_extras("a.py", BEFORE, &written, "get should use upper case"), right);
    let found = without_extras("a.py", BEFORE, &written, "annotate get, and document it");
    assert_eq!(found, written);
    let typed = BEFORE.replace("key,", "key: str,");
    let more = typed.replace("default=None", "default: str = None, size: int = 3");
    let expected = typed.replace("default=None", "default=None, size: int = 3");
    assert_eq!(without_extras("a.py", &typed, &more, "get should take a size"), expected);
    let (old, new) = ("function f(a) {\n  return a;\n}\n", "function f(a: string): string {\n  return a + 1;\n}\n");
    assert_eq!(without_extras("a.ts", old, new, "add one"), old.replace("a;", "a + 1;"));
}

#[test]
fn code_behind_a_head_is_not_an_annotation() {
    let before =
        "def made(cls, *rest):\n    make = lambda one: cls(one, *rest)\n    return make\n\ndef two(a): return {1: a}\n";
    for (old, new) in [("return make\n", "return [make]\n"), ("{1: a}", "{2: a}"), ("", "import os\n")] {
        let after = before.replacen(old, new, 1);
        assert_eq!(without_extras("a.py", before, &after, "change it"), after);
    }
}

#[test]
fn examples_of_a_new_function_that_nothing_ran_are_taken_out() {
    let new =
        |docs: &str| format!("{BEFORE}\n    def put(self, key):\n        \"\"\"{docs}\"\"\"\n        self.key = key\n");
    let check = |docs: &str, expected: &str| {
        assert_eq!(without_extras("a.py", BEFORE, &new(docs), "add put(key)"), new(expected), "{docs}");
    };
    check("Puts.\n\n        Examples:\n\n        >>> A().put('a')\n        'b'\n        ", "Puts.");
    check(
        "Puts.\n\n        >>> A().put('a')\n        'b'\n\n        Or not.\n        ",
        "Puts.\n\n        Or not.\n        ",
    );
    check("Puts.\n        Always.\n        ", "Puts.\n        Always.\n        ");
    let only = new("\n        >>> A().put('a')\n        ");
    let bare = format!("{BEFORE}\n    def put(self, key):\n        self.key = key\n");
    assert_eq!(without_extras("a.py", BEFORE, &only, "add put(key)"), bare);
}

#[test]
fn a_new_import_that_nothing_uses_is_taken_out() {
    let after = BEFORE.replace("import os\n", "import os\nfrom typing import Any, Optional\nimport re\n");
    assert_eq!(without_unused_imports("a.py", BEFORE, &after, ""), BEFORE);
    let used =
        after.replace("(key,", "(re.sub('a', 'b', key),").replace("default=None", "default: Optional[str] = None");
    assert_eq!(without_unused_imports("a.py", BEFORE, &used, ""), used.replace("Any, ", ""));
    let own = BEFORE.replace("import os\n", "import os\nfrom shop.cart import add\n");
    assert_eq!(without_unused_imports("src/shop/__init__.py", BEFORE, &own, ""), own);
    assert_eq!(without_unused_imports("src/shop/a.py", BEFORE, &own, ""), BEFORE);
    let (old, new) =
        ("import { a } from './b.js';\na();\n", "import { a, c } from './b.js';\nimport './d.js';\na();\n");
    assert_eq!(without_unused_imports("e.js", old, new, ""), new.replace("a, c", "a"));
}

const PYTHON: &str = r#"# ünï (
import re


@click.option("--size: int", default=lambda: 3)
@size(1)
def size(sep=", a: b", end=')', # one, two: three (
         *, key: "x=y" = {',': 1}, **more):
    """Says size(x) -> int:

    >>> size()
    """
    table = {
        "k":
            """text >>> 1""",
    }
    make = lambda one: size(one, *more)
    return make


if re:
    def pick(a):
        """First.

        >>> pick(1)
        """
        return a
else:
    def pick(a, b=1):
        """Second.

        >>> pick(2)
        """
        return b


@overload
def load(path): ...
@overload
def load(path, mode: str) -> str: ...
def load(path, mode=None): return {path: mode}


def outer(fn):
    """Wraps.

    >>> outer(1)
    """
    @wraps(fn)
    def inner(*args) -> None:
        r"""In »quotes«.

        >>> inner()
        """
        return fn(*args)
    return inner


class A:
    @property
    def value(self) -> int: return self._value

    @value.setter
    def value(self, new): self._value = new


def last(a):
    return a
"#;
const TYPESCRIPT: &str = r#"/** size(a: string): it */
export function size(a, b = ", c: d", { e }: E = {}): { n: number } {
  return { n: a ? 1 : 2 };
}
function load(a: string): string;
function load(a: number, b: string): number;
function load(a: any, b?: any): any {
  // ünï load(a): b {
  return a;
}
const arrow = async (a, b: (c: string) => void): Promise<void> => { b(a); };
const short = a => ({ a });
class A<T> {
  @input() get value(): T { return this.v; }
  set value(new_) { this.v = new_; }
  call(f: (a: string) => void, ...rest): asserts f is F { f(`}: ${rest}`); }
}
function last(a) {
  return a;
}
"#;
const RUST: &str = r#"//! size(x)
/// `get(self, key)` gets.
impl A {
    fn get(&self) -> u8 {
        // ünï
        self.0
    }
}
impl Get for A {
    fn get(&self, key: u8, more: bool) -> u8 {
        key
    }
}
#[inline]
fn map<'a, F: Fn(&'a str) -> u8>(text: &'a str, f: F) -> u8
where
    F: Copy,
{
    // ')'
    f(text)
}
fn last(a: u8) -> u8 {
    a
}
"#;
const GO: &str = r#"package a

// Get(x) gets.
func (a *A) Get(key, more string) (n int, err error) {
	// ünï
	return len("}: "), nil
}

func Get[T any](f func(a int) int, rest ...string) int {
	return f(1)
}

func last(a int) int {
	return a
}
"#;

/// Compares a file before and after a change that affects only one function.
fn check_untouched(path: &str, before: &str, after: &str) {
    assert_ne!(before, after, "{path}");
    let asked = &Asked::of("last should give another result");
    assert_eq!(super::without_extras(path, before, after, asked), after, "{path}");
    assert_eq!(kept(path, before, after, asked, false).as_deref(), Ok(after), "{path}");
    for by_words in [false, true] {
        let basis = Basis { by_words, may_state: false };
        assert_eq!(unasked::found(path, before, after, asked, basis), None, "{path}");
    }
    assert_eq!(super::without_unused_imports(path, before, after, asked), after, "{path}");
}

#[test]
fn functions_that_have_not_changed_stay_as_they_are() {
    for (path, text, from) in [
        ("a.py", PYTHON, "return a"),
        ("a.ts", TYPESCRIPT, "return a"),
        ("a.rs", RUST, "    a"),
        ("a.go", GO, "return a"),
    ] {
        assert_eq!(parts::faults(path, text), [0; 0], "{path}");
        for text in [text.to_owned(), text.replace('\n', "\r\n")] {
            let (start, rest) = text.rsplit_once(from).unwrap();
            let after = format!("{start}{from} + 1{rest}");
            check_untouched(path, &text, &after);
            // All byte offsets shift.
            check_untouched(path, &text, &after.replacen("ünï", "ünïünï", 1));
            let (start, rest) = text.rsplit_once("last").unwrap();
            check_untouched(path, &text, &format!("{start}last_one{rest}"));
        }
    }
}

#[test]
fn a_string_that_is_not_the_docstring_stays() {
    let before = "def f(a):\n    table = {\n        1:\n            \"\"\"one\"\"\",\n    }\n    return table[a]\n";
    let after = before.replace("one", "two");
    assert_eq!(without_extras("a.py", before, &after, "f should give two"), after);
    let new = "\n\ndef g():\n    texts = {1:\n        \"\"\"x\n        >>> g()\n        \"\"\"}\n    return texts\n";
    assert_eq!(without_extras("a.py", before, &format!("{before}{new}"), "add g"), format!("{before}{new}"));
}

#[test]
fn annotations_are_taken_out_beside_strings_and_comments() {
    let before = "@app.f(\"f(a: b)\")\ndef f(a, sep=', (', end=':'):\n    return a\n";
    let right = before.replace("return a\n", "return a + end\n");
    let written = right
        .replace("(a, sep", "(\n    a: str,  # one, the name: of it\n    sep: str")
        .replace("end=':'):", "end: Literal[':', 'x=y'] = ':') -> Literal[\"a:b\"]:");
    let expected = right.replace("(a, sep", "(\n    a,  # one, the name: of it\n    sep");
    assert_eq!(without_extras("a.py", before, &written, "f should add the end"), expected);
    let old = "const f = (a, b = ':') => {\n  return a;\n};\n";
    let new = "const f = (a: string, b: string = ':'): { c: string } => {\n  return a + b;\n};\n";
    assert_eq!(without_extras("a.ts", old, new, "add both"), old.replace("a;", "a + b;"));
}

#[test]
fn examples_stay_where_they_were_and_where_nothing_else_is() {
    let inner =
        "def f(a):\n    \"\"\"Wraps.\n\n    >>> f(1)\n    \"\"\"\n    def g():\n        return a\n    return g\n";
    let flat = inner.replace("    def g():\n        return a\n    return g\n", "    return a\n");
    assert_eq!(without_extras("a.py", inner, &flat, "f should give a"), flat);
    for alone in
        ["def g():\n    \"\"\"\n    >>> g()\n    \"\"\"\n", "def g(): \"\"\"\n    >>> g()\n    \"\"\"; return 1\n"]
    {
        let after = format!("{alone}\n\n{inner}");
        assert_eq!(without_extras("a.py", inner, &after, "add g"), after);
    }
    let (fenced, bare) = ("r'''Gets.\n\n    ```python\n    >>> g()\n    ```\n    '''", "r'''Gets.'''");
    let new = |docs: &str| format!("{inner}\n\ndef g():\n    {docs}\n    return 1\n");
    assert_eq!(without_extras("a.py", inner, &new(fenced), "add g"), new(bare));
}

#[test]
fn an_import_that_works_unnamed_stays() {
    let check = |path: &str, before: &str, after: &str, asked: &str, expected: &str| {
        assert_eq!(without_unused_imports(path, before, after, asked), expected, "{after}");
    };
    let future = format!("from __future__ import annotations\n{BEFORE}");
    check("a.py", BEFORE, &future, "", &future);
    let asked = format!("import json\n{BEFORE}");
    check("a.py", BEFORE, &asked, "import json in a.py", &asked);
    // A name in a comment is not a use of it.
    let said = format!("# Reads json.\n{BEFORE}");
    check("a.py", &said, &format!("import json\n{said}"), "get should use upper case", &said);
    check("a.py", BEFORE, &asked, "get should use upper case", BEFORE);
    let react = "import React from 'react';\nconst f = () => <a />;\n";
    check("a.jsx", "const f = () => null;\n", react, "", react);
    let one_line = format!("import json; {BEFORE}");
    check("a.py", BEFORE, &one_line, "", &one_line);
    let headed = format!("# Of the system:\n{BEFORE}");
    check("a.py", &headed, &headed.replacen("import", "import json\nimport", 1), "", &headed);
}
