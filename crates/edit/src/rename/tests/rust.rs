//! Tests renames in Rust: paths, impl blocks, traits, macros.

use super::{check, refused};

#[test]
fn rust_changes_use_paths_impl_blocks_and_tests() {
    check(
        &[
            "Cargo.toml: [package]\nname = \"shop\"\n",
            "src/lib.rs: pub mod cart;\nmod user;\npub use cart::{«Cart», total as sum};\n",
            "src/cart.rs: /// A [`Cart`].\n#[derive(Clone)]\npub struct «Cart» { pub n: usize }\n\nimpl «Cart» {\n    pub fn new() -> «Cart» { Self { n: 1 } }\n    pub fn add(&self) -> usize { self.n }\n}\nimpl Default for «Cart» { fn default() -> Self { «Cart»::new() } }\n\npub fn total(c: &«Cart») -> usize { c.add() }\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n    use super::«Cart» as C;\n\n    #[test]\n    fn one() { assert_eq!(total(&«Cart»::new()), C { n: 1 }.n); }\n}\n",
            "src/user.rs: use crate::cart::{self, «Cart»};\nfn f() -> crate::«Cart» { let c: cart::«Cart» = «Cart»::new(); c }\nstruct Other { cart: Vec<«Cart»> }\n",
        ],
        ("Cart", "Basket"),
    );
}

#[test]
fn rust_methods_change_in_the_trait_and_its_impls_and_functions_in_macros() {
    check(
        &[
            "src/lib.rs: pub mod shape;\nmod user;\n",
            "src/shape.rs: pub trait Shape { fn «area»(&self) -> u32; }\npub struct Square;\nimpl Shape for Square { fn «area»(&self) -> u32 { helper(1) } }\npub fn helper(n: u32) -> u32 { n }\n",
            "src/user.rs: use crate::shape::{Shape, Square};\npub fn f(area: u32) -> u32 { println!(\"{}\", Square.«area»()); Square.«area»() + area }\n",
        ],
        ("Square.area", "surface"),
    );
    refused(
        &["src/lib.rs: struct A;\nimpl std::fmt::Display for A { fn fmt(&self) {} }\n"],
        ("A.fmt", "show"),
        "gets its name from `Display`",
    );
}
