//! Runs `monobloc bench retrieval` on the project folder MONOBLOC_BENCH_PROJECT, or on the current folder.
//!
//! Left out: how good the answers are, which `eval search` measures. Figures depend on the machine and on what else it
//! does; this fails only if a measurement could not run.

use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let project = std::env::var_os("MONOBLOC_BENCH_PROJECT").unwrap_or_else(|| ".".into());
    let status = Command::new(env!("CARGO_BIN_EXE_monobloc")).args(["bench", "retrieval"]).arg(project).status();
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("the program could not be started: {error}");
            ExitCode::FAILURE
        }
    }
}
