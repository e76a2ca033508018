//! Embedding, indexing, edits, searches and questions to the graph on a project folder: MONOBLOC_BENCH_PROJECT, or the
//! current one. What `monobloc bench retrieval` does, from the same code.
//!
//! Left out: how good the answers are, which `eval search` measures. Figures are of the machine it runs on and of whatever
//! else that machine does meanwhile; nothing is asserted but that every case ran.

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
