//! Where standard output takes nothing more, every command ends with one line or with the exit code of a closed pipe.

use crate::cli::{Project, Run};

/// Commands that print without a model, each in another way: help, a script, tables, JSON, single lines.
const COMMANDS: [&[&str]; 16] = [
    &["--help"],
    &["--version"],
    &["search", "--help"],
    &["completions", "fish"],
    &["index", "--json"],
    &["index", "status"],
    &["search", "retry"],
    &["search", "retry", "--json"],
    &["graph", "callers", "retry"],
    &["context", "retry"],
    &["models", "list"],
    &["config", "show"],
    &["config", "show", "--json"],
    &["config", "path"],
    &["checkpoints"],
    &["fit", "--json"],
];

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_told_in_one_line() {
    let project = Project::todo();
    for arguments in COMMANDS {
        let ended = Run::new(&project, arguments).onto_a_full_device();
        assert_eq!(ended.code, Some(1), "{arguments:?}: {}", ended.err);
        let told: Vec<&str> = ended.err.lines().filter(|line| !line.starts_with("monobloc: note:")).collect();
        assert_eq!(told.len(), 1, "{arguments:?}: {}", ended.err);
        assert!(told[0].starts_with("monobloc: cannot write the output: "), "{arguments:?}: {}", ended.err);
    }
}

#[test]
fn a_reader_that_has_gone_ends_the_program_without_a_word() {
    let project = Project::todo();
    for arguments in COMMANDS {
        let ended = Run::new(&project, arguments).unheard();
        assert_eq!(ended.code, Some(141), "{arguments:?}: {}", ended.err);
        assert!(!ended.err.contains("panicked"), "{arguments:?}: {}", ended.err);
    }
}
