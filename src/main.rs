//! Parses arguments, runs one command, turns a failure into an exit code.

fn main() {
    monobloc::ui::cli::main()
}
