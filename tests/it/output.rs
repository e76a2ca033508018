//! If standard output cannot be written, every command ends with one line or with the exit code of a closed pipe.

use std::fs;

use serde_json::Value;

use crate::cli::{Project, Run};
use crate::models::smollm;

/// Commands that print without a model, each in a different way: help, a script, tables, JSON,
/// single lines.
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

#[test]
fn commands_that_make_or_set_something_tell_it_as_json() {
    let project = Project::todo();
    let one = |arguments: &[&str]| -> Value {
        let lines = Run::new(&project, arguments).end().succeeded().lines();
        assert_eq!(lines.len(), 1, "{arguments:?}: {lines:?}");
        lines[0].clone()
    };
    let settings = project.path().join(".monobloc/config.toml");
    assert_eq!(one(&["config", "path", "--json"])["project"]["exists"], false);
    fs::create_dir_all(settings.parent().expect("a folder")).expect("a folder");
    fs::write(&settings, "parallel = 1\n").expect("a file");
    assert_eq!(Run::new(&project, &["config", "trust", "--json"]).end().code, Some(1), "nobody is asked");
    assert_eq!(one(&["config", "trust", "--yes", "--json"])["trusted"], true);
    assert_eq!(one(&["config", "path", "--json"])["project"]["trusted"], true);
    assert_eq!(one(&["config", "trust", "--forget", "--json"])["trusted"], false);

    let (random, words) = (project.beside("random.gguf").display().to_string(), smollm().display().to_string());
    let made = one(&["synth", "--shape", "tiny-lfm2", "--quant", "q8_0", "--vocabulary", &words, "--json", &random]);
    assert_eq!(made["bytes"].as_u64(), Some(fs::metadata(&random).expect("a file").len()));

    Run::new(&project, &["ask", "Read README.md"]).end().succeeded();
    let journal = project.beside("journal").display().to_string();
    let exported = one(&["audit", "export", "--json", &journal]);
    let records = fs::read_to_string(&journal).expect("a file").lines().count() as u64;
    assert_eq!(exported["records"].as_u64(), Some(records));

    let printed = one(&["connect", "aider", "--json"]);
    assert!(printed["client"] == "aider" && printed["text"].as_str().is_some_and(|text| !text.is_empty()), "{printed}");
    let token = project.beside("token").display().to_string();
    let mut server =
        Run::new(&project, &["serve", "--listen", "127.0.0.1:0", "--token-file", &token, "--json"]).start();
    server.until("}\n");
    let told: Value = serde_json::from_str(server.shown().trim()).expect("JSON");
    assert!(told["address"].as_str().is_some_and(|address| address.starts_with("http://127.0.0.1:")), "{told}");
    assert_eq!(told["token_file"], token.as_str());
}
