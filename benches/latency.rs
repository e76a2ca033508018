//! Runs `monobloc bench latency` and `monobloc bench slots`.
//!
//! The models are planner and router, or the files named in MONOBLOC_BENCH_FILES (separated by colons).
//!
//! Left out: planning, tools and retrieval, whose times `ask` reports. Figures depend on the machine and on what else
//! it does; this fails only if a measurement could not run.

use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let files = std::env::var("MONOBLOC_BENCH_FILES").unwrap_or_default();
    let files: Vec<&str> = files.split(':').filter(|file| !file.is_empty()).collect();
    let measure = |what: &[&str]| {
        let status = Command::new(env!("CARGO_BIN_EXE_monobloc")).arg("bench").args(what).args(&files).status();
        match status {
            Ok(status) => status.success(),
            Err(error) => {
                eprintln!("the program could not be started: {error}");
                false
            }
        }
    };
    if measure(&["latency", "--bare"]) && measure(&["slots"]) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
