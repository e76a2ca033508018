//! Parses arguments, runs one command, turns a failure into an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    monobloc::ui::cli::main()
}
