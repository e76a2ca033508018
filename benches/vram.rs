//! Runs `monobloc bench memory`: predicted beside measured memory.
//!
//! The models are planner and router, or the files named in MONOBLOC_BENCH_FILES (separated by colons).
//!
//! Left out: grammars, index and embedder, which other parts load when they need them. Figures depend on the machine;
//! this fails only if a measurement could not run.

use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let files = std::env::var("MONOBLOC_BENCH_FILES").unwrap_or_default();
    let files: Vec<&str> = files.split(':').filter(|file| !file.is_empty()).collect();
    let status = Command::new(env!("CARGO_BIN_EXE_monobloc")).args(["bench", "memory"]).args(files).status();
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("the program could not be started: {error}");
            ExitCode::FAILURE
        }
    }
}
