//! Parses arguments, runs one command, and turns a failure into an exit code.

fn main() {
    monobloc::ui::cli::main()
}
