//! Tests of merging Python.

use super::{Hints, check, in_container, with};

const STORE: &str = r#"# Copyright 2024
"""Keeps things."""

import os
from typing import Dict, List

LIMIT = 10  # most items


class Store(Base):
    """A store."""

    size = 0

    def __init__(self):
        self.items = {}

    @property
    def first(self):
        """The first one."""
        return next(iter(self.items))

    # Looks it up.
    def get(self, key):
        if key is None:
            return None
        value = self.items[key]
        log(key)
        return value


def helper(x):
    """Helps."""
    return x + 1


def last(x):
    return x


if __name__ == "__main__":
    print(helper(1))
"#;

fn store(written: &str, old: &str, new: &str) {
    assert!(STORE.contains(old), "{old}");
    check("a/store.py", STORE, written, &STORE.replacen(old, new, 1));
}

#[test]
fn a_function_replaces_the_one_of_its_name_and_keeps_its_docstring() {
    store("def helper(x):\n    return x + 2\n", "return x + 1", "return x + 2");
    store(
        "def helper(x, y=1):\n    \"\"\"Helps more.\"\"\"\n    return x + y\n",
        "def helper(x):\n    \"\"\"Helps.\"\"\"\n    return x + 1",
        "def helper(x, y=1):\n    \"\"\"Helps more.\"\"\"\n    return x + y",
    );
}

#[test]
fn a_method_finds_its_class_however_it_is_written() {
    let new = "def get(self, key):\n        return self.items.get(key)\n";
    let old = STORE[STORE.find("def get").unwrap()..STORE.find("\n\ndef helper").unwrap()].to_owned();
    for written in [
        "def get(self, key):\n    return self.items.get(key)\n",
        "    def get(self, key):\n        return self.items.get(key)\n",
        "def get(self, key):\n        return self.items.get(key)\n",
        "class Store:\n    def get(self, key):\n        return self.items.get(key)\n",
        "class Store(Base):\n    # ... (previous code)\n\n    def get(self, key):\n        return self.items.get(key)\n\n    # ... rest of the class\n",
        "class Store:\n  def get(self, key):\n    return self.items.get(key)\n",
    ] {
        store(written, &old, new);
    }
}

#[test]
fn a_new_method_goes_into_its_class_behind_its_siblings() {
    let end = "        return value\n";
    store(
        "def put(self, key, value):\n    self.items[key] = value\n",
        end,
        &format!("{end}\n    def put(self, key, value):\n        self.items[key] = value\n"),
    );
    store(
        "class Store:\n    def get(self, key):\n        # ... existing code\n\n    def put(self, key, value):\n        self.items[key] = value\n",
        end,
        &format!("{end}\n    def put(self, key, value):\n        self.items[key] = value\n"),
    );
}

#[test]
fn decorators_and_comments_that_are_left_out_stay() {
    store("def first(self):\n    return 1\n", "return next(iter(self.items))", "return 1");
    store(
        "    # Finds it.\n    def get(self, key):\n        return 1\n",
        &STORE[STORE.find("# Looks").unwrap()..STORE.find("\n\n\ndef helper").unwrap()],
        "# Finds it.\n    def get(self, key):\n        return 1",
    );
    store(
        "@cached_property\ndef first(self):\n    \"\"\"The first one.\"\"\"\n    return next(iter(self.items))\n",
        "@property",
        "@cached_property",
    );
}

#[test]
fn a_new_function_goes_behind_the_last_and_imports_are_joined() {
    store(
        "import os\nimport json\nfrom typing import List, Any\n\ndef dump(x: Any) -> str:\n    return json.dumps(x)\n",
        STORE,
        &STORE.replace("import Dict, List\n", "import Dict, List, Any\nimport json\n").replace(
            "def last(x):\n    return x\n",
            "def last(x):\n    return x\n\n\ndef dump(x: Any) -> str:\n    return json.dumps(x)\n",
        ),
    );
    // Names that the new code does not use or the file already binds are not imported.
    store(
        "import re\nfrom elsewhere import last\n\ndef dump(x):\n    return last(x)\n",
        "    return x\n\n\nif",
        "    return x\n\n\ndef dump(x):\n    return last(x)\n\n\nif",
    );
}

#[test]
fn example_calls_at_the_end_are_left_out() {
    store("def helper(x):\n    return x + 2\n\n# Example usage\nprint(helper(2))\n", "return x + 1", "return x + 2");
}

#[test]
fn constants_are_replaced_where_they_stand() {
    store("LIMIT = 20\n", "LIMIT = 10", "LIMIT = 20");
    store("class Store:\n    size = 5\n", "size = 0", "size = 5");
    store("COUNT = 3\n", "LIMIT = 10  # most items\n", "LIMIT = 10  # most items\nCOUNT = 3\n");
}

#[test]
fn marks_inside_a_function_keep_its_lines() {
    store(
        "def get(self, key):\n    if key is None:\n        return None\n    key = clean(key)\n    # ... rest of the method\n",
        "        value = self.items[key]\n",
        "        key = clean(key)\n        value = self.items[key]\n",
    );
    let text =
        with("a.py", STORE, "def get(self, key):\n    # ... existing code\n    return value * 2\n", Hints::default());
    assert!(text.starts_with("error: in `get` it is not clear which lines `# ... existing code` replaces"), "{text}");
}

#[test]
fn a_left_out_body_is_no_change() {
    let text = with("a.py", STORE, "class Store:\n    def get(self, key):\n        ...\n", Hints::default());
    assert!(text.starts_with("error: nothing changed"), "{text}");
    store(
        "def last(x):\n    \"\"\"Says it.\"\"\"\n    ...\n",
        "def last(x):\n",
        "def last(x):\n    \"\"\"Says it.\"\"\"\n",
    );
}

#[test]
fn a_name_with_two_definitions_needs_a_hint() {
    let two = "class A:\n    def run(self):\n        return 1\n\n\nclass B:\n    def run(self):\n        return 2\n";
    let new = "def run(self):\n    return 3\n";
    let text = with("a.py", two, new, Hints::default());
    assert_eq!(
        text,
        "error: `run` is defined 2 times: line 2 in `A`, line 7 in `B`; write it inside the one that is meant, with its class line"
    );
    assert_eq!(with("a.py", two, new, in_container("B")), two.replace("return 2", "return 3"));
    assert_eq!(
        with("a.py", two, new, Hints { line: Some(3), ..Hints::default() }),
        two.replace("return 1", "return 3")
    );
    let text = with("a.py", two, "def stop(self):\n    return 3\n", Hints::default());
    assert!(text.contains("not clear of which class: A, B"), "{text}");
}

#[test]
fn getters_and_setters_of_one_name_are_replaced_separately() {
    let before = "class A:\n    @property\n    def x(self):\n        return self._x\n\n    @x.setter\n    def x(self, value):\n        self._x = value\n";
    check(
        "a.py",
        before,
        "class A:\n    @x.setter\n    def x(self, value):\n        self._x = int(value)\n",
        &before.replace("= value", "= int(value)"),
    );
}

#[test]
fn new_definitions_go_into_empty_classes_and_files() {
    check(
        "a.py",
        "class A:\n    pass\n",
        "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 2\n",
        "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 2\n",
    );
    check(
        "a.py",
        "class A(Exception): pass\n",
        "def f(self):\n    return 1\n",
        "class A(Exception):\n    def f(self):\n        return 1\n",
    );
    check("a.py", "", "import os\n\n\ndef f():\n    return os.sep\n", "import os\n\n\ndef f():\n    return os.sep\n");
    check(
        "a.py",
        "class A:\n    \"\"\"Doc.\"\"\"\n",
        "class A:\n    def f(self):\n        return 1\n",
        "class A:\n    \"\"\"Doc.\"\"\"\n\n    def f(self):\n        return 1\n",
    );
}

#[test]
fn tests_go_beside_tests() {
    let before = "from shop import total\n\n\ndef make():\n    return []\n\n\ndef test_total():\n    assert total(make()) == 0\n\n\ndef unrelated():\n    return 1\n";
    check(
        "test_a.py",
        before,
        "from shop import total, tax\n\ndef test_tax():\n    assert tax(1) == 0\n",
        &before
            .replace("import total\n", "import total, tax\n")
            .replace("== 0\n", "== 0\n\n\ndef test_tax():\n    assert tax(1) == 0\n"),
    );
    let unit = "import unittest\n\n\nclass TestA(unittest.TestCase):\n    def test_a(self):\n        self.assertTrue(a())\n\n\nif __name__ == '__main__':\n    unittest.main()\n";
    check(
        "test_a.py",
        unit,
        "def test_b(self):\n    self.assertTrue(b())\n",
        &unit.replace("a())\n", "a())\n\n    def test_b(self):\n        self.assertTrue(b())\n"),
    );
}

#[test]
fn a_class_line_changes_only_if_it_has_more_words() {
    check("a.py", "class A(B):\n    x = 1\n", "class A(B, C):\n    x = 1\n", "class A(B, C):\n    x = 1\n");
    check("a.py", "class A(B):\n    x = 1\n", "class A:\n    x = 2\n", "class A(B):\n    x = 2\n");
}

#[test]
fn strings_of_several_lines_keep_their_white_space() {
    check(
        "a.py",
        "class A:\n    def q(self):\n        return 1\n",
        "def q(self):\n    return \"\"\"\nselect\n  x\n\"\"\"\n",
        "class A:\n    def q(self):\n        return \"\"\"\nselect\n  x\n\"\"\"\n",
    );
}

#[test]
fn code_that_does_not_parse_is_refused() {
    let text = with("a.py", STORE, "def helper(x:\n    return (x +\n", Hints::default());
    assert!(text.starts_with("error: what was written does not parse at line 1"), "{text}");
}
