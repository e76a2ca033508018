//! Runs the benches that are commands of the program.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// Runs `monobloc bench` once with each of `commands`, and the paths in the environment variable `paths` (separated by
/// colons) after it.
pub fn run(commands: &[&[&str]], paths: &str) -> ExitCode {
    let paths = std::env::var_os(paths).unwrap_or_default();
    let paths: Vec<PathBuf> = std::env::split_paths(&paths).filter(|path| !path.as_os_str().is_empty()).collect();
    for command in commands {
        match Command::new(env!("CARGO_BIN_EXE_monobloc")).arg("bench").args(*command).args(&paths).status() {
            Ok(status) if status.success() => {}
            Ok(_) => return ExitCode::FAILURE,
            Err(error) => {
                eprintln!("the program could not be started: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
