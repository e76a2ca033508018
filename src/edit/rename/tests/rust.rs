//! Renames in Rust: paths, impl blocks, traits, macros.

use super::{check, refused};

#[test]
fn rust_changes_use_paths_impl_blocks_and_tests() {
    check(
        &[
            ("Cargo.toml", "[package]\nname = \"shop\"\n"),
            ("src/lib.rs", "pub mod cart;\nmod user;\npub use cart::{Cart, total as sum};\n"),
            (
                "src/cart.rs",
                "/// A [`Cart`].\n#[derive(Clone)]\npub struct Cart { pub n: usize }\n\nimpl Cart {\n    pub fn new() -> Cart { Self { n: 1 } }\n    pub fn add(&self) -> usize { self.n }\n}\n\
                 impl Default for Cart { fn default() -> Self { Cart::new() } }\n\npub fn total(c: &Cart) -> usize { c.add() }\n\n\
                 #[cfg(test)]\nmod tests {\n    use super::*;\n    use super::Cart as C;\n\n    #[test]\n    fn one() { assert_eq!(total(&Cart::new()), C { n: 1 }.n); }\n}\n",
            ),
            (
                "src/user.rs",
                "use crate::cart::{self, Cart};\nfn f() -> crate::Cart { let c: cart::Cart = Cart::new(); c }\nstruct Other { cart: Vec<Cart> }\n",
            ),
        ],
        ("Cart", "Basket"),
        &[
            (
                "src/cart.rs",
                "/// A [`Cart`].\n#[derive(Clone)]\npub struct Basket { pub n: usize }\n\nimpl Basket {\n    pub fn new() -> Basket { Self { n: 1 } }\n    pub fn add(&self) -> usize { self.n }\n}\n\
                 impl Default for Basket { fn default() -> Self { Basket::new() } }\n\npub fn total(c: &Basket) -> usize { c.add() }\n\n\
                 #[cfg(test)]\nmod tests {\n    use super::*;\n    use super::Basket as C;\n\n    #[test]\n    fn one() { assert_eq!(total(&Basket::new()), C { n: 1 }.n); }\n}\n",
            ),
            ("src/lib.rs", "pub mod cart;\nmod user;\npub use cart::{Basket, total as sum};\n"),
            (
                "src/user.rs",
                "use crate::cart::{self, Basket};\nfn f() -> crate::Basket { let c: cart::Basket = Basket::new(); c }\nstruct Other { cart: Vec<Basket> }\n",
            ),
        ],
    );
}

#[test]
fn rust_methods_change_in_the_trait_and_its_impls_and_functions_in_macros() {
    let shape = "pub trait Shape { fn area(&self) -> u32; }\npub struct Square;\nimpl Shape for Square { fn area(&self) -> u32 { helper(1) } }\n\
                 pub fn helper(n: u32) -> u32 { n }\n";
    let user = "use crate::shape::{Shape, Square};\npub fn f(area: u32) -> u32 { println!(\"{}\", Square.area()); Square.area() + area }\n";
    let files = [("src/lib.rs", "pub mod shape;\nmod user;\n"), ("src/shape.rs", shape), ("src/user.rs", user)];
    check(
        &files,
        ("Square.area", "surface"),
        &[
            ("src/shape.rs", &shape.replace("area", "surface")),
            ("src/user.rs", &user.replace("Square.area", "Square.surface")),
        ],
    );
    refused(
        &[("src/lib.rs", "struct A;\nimpl std::fmt::Display for A { fn fmt(&self) {} }\n")],
        ("A.fmt", "show"),
        "because of `Display`",
    );
}
