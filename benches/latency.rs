//! Runs `monobloc bench latency` and `monobloc bench slots`.
//!
//! The models are planner and router, or the files named in MONOBLOC_BENCH_FILES (separated by colons).
//!
//! Left out: planning, tools and retrieval, whose times `ask` reports. Figures depend on the
//! machine and its other load; this fails only if a measurement could not run.

mod program;

use std::process::ExitCode;

fn main() -> ExitCode {
    program::run(&[&["latency", "--bare"], &["slots"]], "MONOBLOC_BENCH_FILES")
}
