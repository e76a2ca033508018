//! Tests of merging Rust.

use super::{Hints, check, in_container, with};

const LIB: &str = r#"//! A library.
#![allow(dead_code)]

use std::collections::HashMap;
use std::fmt;

/// Most.
pub const LIMIT: usize = 10;

/// A store.
#[derive(Debug, Clone)]
pub struct Store {
    /// Its values.
    items: HashMap<String, u32>,
}

impl Store {
    pub fn new() -> Self {
        Store { items: HashMap::new() }
    }

    /// Looks it up.
    #[inline]
    pub fn get(&self, key: &str) -> Option<u32> {
        self.items.get(key).copied()
    }
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "store")
    }
}

fn helper(x: u32) -> u32 {
    x + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helps() {
        assert_eq!(helper(1), 2);
    }
}
"#;

fn lib(written: &str, old: &str, new: &str) {
    assert!(LIB.contains(old), "{old}");
    check("src/lib.rs", LIB, written, &LIB.replacen(old, new, 1));
}

#[test]
fn functions_and_methods_keep_their_attributes_docs_and_visibility() {
    lib("fn helper(x: u32) -> u32 {\n    x + 2\n}\n", "x + 1", "x + 2");
    lib("fn get(&self, key: &str) -> Option<u32> {\n    None\n}\n", "self.items.get(key).copied()", "None");
    lib(
        "impl Store {\n    // ... existing code ...\n    fn get(&self, key: &str) -> Option<u32> {\n        None\n    }\n}\n",
        "self.items.get(key).copied()",
        "None",
    );
    lib(
        "impl fmt::Display for Store {\n    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {\n        write!(f, \"{}\", 1)\n    }\n}\n",
        "write!(f, \"store\")",
        "write!(f, \"{}\", 1)",
    );
    lib(
        "/// Finds it.\nfn get(&self, key: &str) -> Option<u32> {\n    None\n}\n",
        "/// Looks it up.\n    #[inline]\n    pub fn get(&self, key: &str) -> Option<u32> {\n        self.items.get(key).copied()",
        "/// Finds it.\n    #[inline]\n    pub fn get(&self, key: &str) -> Option<u32> {\n        None",
    );
}

#[test]
fn new_methods_and_impls_go_beside_similar_ones() {
    let end = "copied()\n    }\n";
    let put = "\n    pub fn put(&mut self, key: String) {\n        self.items.insert(key, 1);\n    }\n";
    lib("pub fn put(&mut self, key: String) {\n    self.items.insert(key, 1);\n}\n", end, &format!("{end}{put}"));
    lib(
        "impl Default for Store {\n    fn default() -> Self {\n        Store::new()\n    }\n}\n",
        "\"store\")\n    }\n}\n",
        "\"store\")\n    }\n}\n\nimpl Default for Store {\n    fn default() -> Self {\n        Store::new()\n    }\n}\n",
    );
    let text = with("src/lib.rs", LIB, "pub fn with(n: u32) -> Self {\n    Self::new()\n}\n", in_container("Store"));
    assert_eq!(
        text,
        LIB.replace(end, &format!("{end}\n    pub fn with(n: u32) -> Self {{\n        Self::new()\n    }}\n"))
    );
}

#[test]
fn tests_go_into_the_module_of_tests() {
    let end = "2);\n    }\n";
    let new = "\n    #[test]\n    fn helps_more() {\n        assert_eq!(helper(2), 3);\n    }\n";
    lib("#[test]\nfn helps_more() {\n    assert_eq!(helper(2), 3);\n}\n", end, &format!("{end}{new}"));
    lib("use super::*;\n\n#[test]\nfn helps_more() {\n    assert_eq!(helper(2), 3);\n}\n", end, &format!("{end}{new}"));
}

#[test]
fn uses_are_added_once() {
    lib(
        "use std::collections::{HashMap, HashSet};\nuse std::fmt;\n\nfn helper(x: u32) -> u32 {\n    HashSet::from([x]).len() as u32\n}\n",
        LIB,
        &LIB.replace("use std::fmt;\n", "use std::fmt;\nuse std::collections::HashSet;\n")
            .replace("x + 1", "HashSet::from([x]).len() as u32"),
    );
}

#[test]
fn a_struct_keeps_docs_and_derives() {
    lib(
        "#[derive(Debug, Clone, Default)]\npub struct Store {\n    items: HashMap<String, u32>,\n}\n",
        "Debug, Clone",
        "Debug, Clone, Default",
    );
}

#[test]
fn a_new_function_stands_before_the_tests() {
    lib(
        "pub fn more(x: u32) -> u32 {\n    x\n}\n",
        "x + 1\n}\n",
        "x + 1\n}\n\npub fn more(x: u32) -> u32 {\n    x\n}\n",
    );
    check(
        "a.rs",
        "use a::B;\n\n#[cfg(test)]\nmod tests {}\n",
        "fn f() {}\n",
        "use a::B;\n\nfn f() {}\n\n#[cfg(test)]\nmod tests {}\n",
    );
}

#[test]
fn hints_never_put_code_behind_the_tests() {
    let old = "//! Areas.\n\n/// Of a square.\npub fn square(side: u32) -> u32 {\n    side * side\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn square_of_two() {\n        assert_eq!(square(2), 4);\n    }\n}\n";
    let new = "/// Of a rectangle.\npub fn rectangle(a: u32, b: u32) -> u32 {\n    a * b\n}\n";
    let expected = old.replace("\n#[cfg(test)]", &format!("\n{new}\n#[cfg(test)]"));
    for after in [None, Some("square_of_two"), Some("tests"), Some("area"), Some("square")] {
        let hints = Hints { after: after.map(str::to_owned), line: Some(1), ..Hints::default() };
        assert_eq!(with("src/area.rs", old, new, hints), expected, "{after:?}");
    }
}
