//! First word, next turn, words a second, and several requests at once, on the models of the registry or the files named
//! in MONOBLOC_BENCH_FILES (separated by colons): what `monobloc bench latency` and `bench slots` do, from the same code.
//!
//! Left out: planning, tools and retrieval, which `ask` reports by itself. Figures are of the machine it runs on and of
//! whatever else that machine does meanwhile; nothing is asserted but that every case ran.

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
    match measure(&["latency", "--bare"]) && measure(&["slots"]) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
