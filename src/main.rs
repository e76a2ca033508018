//! Parses arguments, runs one command, turns a failure into an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(unix)]
    wait_without_spinning();
    monobloc::ui::cli::main()
}

/// Starts this program once more with OpenMP told to spin at its barriers for a moment only, then to sleep. With every core
/// in use and one busy neighbour, spinning threads starve the one that is waited for: 40 tokens took 13 s instead of
/// 0.8 s. Not spinning at all costs where nobody is in the way: the 135M model made 51 tokens a second with 0 turns, 72
/// with 300, and beside a busy neighbour 33 with either (two cores at 2 GHz; with 3,000 it was 22).
/// OpenMP reads the variables while the program is loaded, so setting them here would be too late for this process.
#[cfg(unix)]
fn wait_without_spinning() {
    use std::os::unix::process::CommandExt;
    const POLICY: &str = "OMP_WAIT_POLICY";
    const TURNS: &str = "GOMP_SPINCOUNT";
    if std::env::var_os(POLICY).is_some() || std::env::var_os(TURNS).is_some() {
        return;
    }
    if let Ok(program) = std::env::current_exe() {
        let mut arguments = std::env::args_os();
        let mut again = std::process::Command::new(program);
        if let Some(name) = arguments.next() {
            again.arg0(name);
        }
        // Only returns when it failed; then this process goes on as it is.
        let _ = again.args(arguments).env(POLICY, "passive").env(TURNS, "300").exec();
    }
}
