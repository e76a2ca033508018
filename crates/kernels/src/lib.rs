//! Numeric kernels of monobloc: one operation per file, on plain slices, with the instruction set chosen at run time.
//!
//! The products inside `int8` and `attention` have hand-written code for each instruction set; the rest is generic code
//! that the compiler vectorises for each of them (see [`simd`]). Nothing here starts a thread, holds state or depends on
//! another crate.

#[macro_use]
pub mod simd;

pub mod argmax;
pub mod attention;
pub mod cosine;
pub mod entropy;
mod exp;
pub mod gelu;
pub mod int8;
pub mod norm;
pub mod pool;
mod product;

pub use argmax::argmax;
pub use cosine::{cosine, top_k};
pub use entropy::{Entropy, entropy};
pub use pool::mean_pool;
pub use simd::Simd;
