//! Runs `monobloc bench memory`, which compares predicted with measured memory.
//!
//! The models are planner and router, or the files named in MONOBLOC_BENCH_FILES (separated by colons).
//!
//! Left out: grammars, index and embedder, which other parts load when they need them. Figures depend on the machine;
//! this fails only if a measurement could not run.

mod program;

use std::process::ExitCode;

fn main() -> ExitCode {
    program::run(&[&["memory"]], "MONOBLOC_BENCH_FILES")
}
