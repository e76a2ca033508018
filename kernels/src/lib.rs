//! The numeric kernels of monobloc: one operation a file, on plain slices, the instruction set picked at run time.
//!
//! `pool` and `cosine` are written by hand for every instruction set. `gelu`, `norm` and `attention` are one text that
//! the compiler turns into vector code, compiled once for each instruction set (see [`simd`]). Nothing here starts a
//! thread, holds state or depends on another crate.

#[macro_use]
pub mod simd;

pub mod attention;
pub mod cosine;
mod exp;
pub mod gelu;
pub mod norm;
pub mod pool;

pub use cosine::{cosine, top_k};
pub use pool::mean_pool;
pub use simd::Simd;
