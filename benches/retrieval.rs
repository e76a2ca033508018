//! Runs `monobloc bench retrieval` on the project folder MONOBLOC_BENCH_PROJECT, or on the current folder.
//!
//! Left out: the quality of the answers, which `eval search` measures. Figures depend on the
//! machine and its other load; this fails only if a measurement could not run.

mod program;

use std::process::ExitCode;

fn main() -> ExitCode {
    program::run(&[&["retrieval"]], "MONOBLOC_BENCH_PROJECT")
}
