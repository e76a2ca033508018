//! Errors name the thing, the number or path, and a remedy; the exit code is not 0 and the project
//! stays unchanged.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use crate::cli::{Ended, Project, Run};
use crate::models;
use crate::turn::Turn;

/// Checks that the run ends by itself with an error that contains each of `parts`, and leaves the project unchanged.
fn refused(project: &Project, run: Run, parts: &[&str]) -> Ended {
    let before = project.files();
    let ended = run.end();
    assert!(ended.code.is_some_and(|code| code != 0), "{ended:#?}");
    for part in parts {
        assert!(ended.err.contains(part), "`{part}` is not said: {}", ended.err);
    }
    let last = ended.err.lines().last().unwrap_or_default();
    assert!(!ended.err.contains("panicked") && last.len() < 600, "{}", ended.err);
    assert_eq!(project.files(), before, "something was lost or left behind");
    ended
}

fn ask(project: &Project) -> Run {
    Run::new(project, &["ask", "Read src/retry.ts and tell me how many times a request is tried"])
}

fn with_models(project: &Project, folder: &Path) -> Run {
    ask(project).env("MONOBLOC_MODEL_DIR", folder)
}

/// A folder with one file called `model.gguf`.
fn models_of(project: &Project, bytes: &[u8]) -> std::path::PathBuf {
    let folder = project.folder("models");
    fs::write(folder.join("model.gguf"), bytes).expect("a file");
    folder
}

fn first_bytes(file: &Path, count: usize) -> Vec<u8> {
    let mut bytes = fs::read(file).expect("a model");
    bytes.truncate(count);
    bytes
}

#[test]
fn a_missing_models_folder_is_named() {
    let project = Project::todo();
    let nowhere = project.beside("nowhere");
    refused(&project, with_models(&project, &nowhere), &["/nowhere does not exist", "--model-dir", "fetch-models"]);
}

#[test]
fn an_empty_models_folder_lists_the_searched_places() {
    let project = Project::todo();
    let empty = project.folder("empty");
    let run = with_models(&project, &empty).env("HF_HOME", &empty).env("XDG_DATA_HOME", &empty);
    refused(
        &project,
        run,
        &["planner: no model found", "/empty", "no GGUF file there", "monobloc models pull planner"],
    );
}

#[test]
fn a_truncated_model_says_where_it_ends() {
    let project = Project::todo();
    let inside_header = models_of(&project, &first_bytes(&models::smollm(), 1 << 20));
    refused(&project, with_models(&project, &inside_header), &["model.gguf", "at byte 1048576", "fetch it again"]);
    let inside_weights = models_of(&project, &first_bytes(&models::smollm(), 50 << 20));
    let parts = ["model.gguf", "has 52428800 bytes", "are missing", "fetch it again"];
    refused(&project, with_models(&project, &inside_weights), &parts);
}

#[test]
fn a_safetensors_file_is_recognised_under_another_name() {
    let project = Project::todo();
    let folder = models_of(&project, &first_bytes(&models::model("all-MiniLM-L6-v2/model.safetensors"), 1 << 16));
    refused(&project, with_models(&project, &folder), &["model.gguf", "safetensors", "give a file"]);
}

#[test]
fn a_wrong_checksum_names_both() {
    let project = Project::todo();
    let folder = project.folder("models");
    symlink(models::smollm(), folder.join("smol.gguf")).expect("a link");
    let wanted = "0123456789abcdef".repeat(4);
    let manifest = format!("[planner]\nfile = \"smol.gguf\"\nsha256 = \"{wanted}\"\n");
    fs::write(folder.join("models.toml"), manifest).expect("a file");
    let found = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";
    let parts = ["smol.gguf", found, wanted.as_str(), "models.toml", "fetch it again"];
    refused(&project, with_models(&project, &folder), &parts);
}

/// A GGUF file without tensors: magic, version 3, no tensors, one key, and zeros up to the position
/// where tensors would begin.
fn header_of(architecture: &str) -> Vec<u8> {
    let text = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
    let parts: [&[u8]; 7] = [
        b"GGUF",
        &3u32.to_le_bytes(),
        &0u64.to_le_bytes(),
        &1u64.to_le_bytes(),
        &text("general.architecture"),
        &8u32.to_le_bytes(),
        &text(architecture),
    ];
    let mut bytes = parts.concat();
    bytes.resize(bytes.len().next_multiple_of(32), 0);
    bytes
}

#[test]
fn an_unknown_architecture_is_named() {
    let project = Project::todo();
    let folder = models_of(&project, &header_of("martian"));
    refused(
        &project,
        with_models(&project, &folder),
        &["model.gguf", "`martian`", "choose another model", "models.toml"],
    );
}

#[test]
fn without_an_embedder_the_turn_searches_by_words() {
    let project = Project::todo();
    let folder = project.folder("lonely/models");
    symlink(models::smollm(), folder.join("smol.gguf")).expect("a link");
    let empty = project.folder("empty");
    let alone = |arguments: &[&str]| {
        let run = Run::new(&project, arguments).env("MONOBLOC_MODEL_DIR", &folder);
        run.env("HF_HOME", &empty).env("XDG_DATA_HOME", &empty).end().succeeded()
    };
    let request = "Read src/retry.ts and tell me how many times a request is tried";
    let turn = Turn::read(alone(&["ask", request, "--json"]));
    assert!(turn.answer().contains('5'), "{}", turn.answer());
    assert!(turn.ended.err.contains("words only") && turn.ended.err.contains("lonely/models"), "{}", turn.ended.err);
    let search = alone(&["search", "MAX_ATTEMPTS", "--json"]);
    assert_eq!(search.lines()[0]["path"], "src/retry.ts");
    assert!(search.err.contains("lexical only"), "{}", search.err);
}

#[test]
fn a_missing_project_is_named_once() {
    let project = Project::todo();
    let ended =
        refused(&project, ask(&project).env("MONOBLOC_PROJECT", "/nowhere/at/all"), &["/nowhere/at/all", "--project"]);
    assert_eq!(ended.err.matches("No such file").count(), 1, "{}", ended.err);
    let file = project.path().join("README.md");
    refused(&project, ask(&project).env("MONOBLOC_PROJECT", file), &["README.md", "--project"]);
}

#[test]
fn a_project_that_cannot_be_read_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::todo();
    let locked = project.folder("locked");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).expect("permissions");
    if fs::read_dir(&locked).is_ok() {
        // Root can read everything, so nothing is refused.
        return;
    }
    refused(&project, ask(&project).env("MONOBLOC_PROJECT", &locked), &["/locked", "--project"]);
}

#[test]
fn an_empty_request_gets_an_example() {
    let project = Project::todo();
    for request in ["", "  \n "] {
        refused(&project, Run::new(&project, &["ask", request]), &["the request is empty", "monobloc ask \""]);
    }
    refused(&project, Run::new(&project, &["ask", "-"]).input(Vec::new()), &["the request is empty"]);
}

#[test]
fn a_request_of_a_megabyte_is_refused_with_the_limit() {
    let project = Project::todo();
    for text in ["Read a file. ", "Прочитай файл. "] {
        let request = text.repeat((1 << 20) / text.len()).into_bytes();
        let run = Run::new(&project, &["ask", "-"]).input(request);
        refused(&project, run, &["the request is longer than", "65536 bytes", "put long text into a file"]);
    }
    let run = Run::new(&project, &["ask", "-"]).input(vec![b'a', 0xff, 0xfe]);
    refused(&project, run, &["standard input is not UTF-8"]);
}

#[test]
fn a_long_request_within_the_limit_gets_an_answer() {
    let project = Project::todo();
    let request = format!("Read src/retry.ts. {}", "The server is slow. ".repeat(2000)).into_bytes();
    let turn = Turn::read(Run::new(&project, &["ask", "-", "--json"]).input(request).end().succeeded());
    // The 2,000 sentences have no clear meaning, but the program must have read something.
    assert!(turn.calls().iter().any(|call| call.ends_with(" succeeded")), "{:?}", turn.calls());
}

#[test]
fn too_little_memory_is_refused_before_any_is_taken() {
    let project = Project::todo();
    let arithmetic = ["planner with KV q4_0", " needs ", "weights", "KV", " of 50.0 MiB are free", "raise --budget"];
    let run = Run::new(&project, &["ask", "Hello", "--budget", "50MiB", "--json"]);
    let question = ask(&project).env("MONOBLOC_BUDGET", "50MiB");
    for run in [run, question] {
        let ended = refused(&project, run, &arithmetic);
        assert!(!ended.out.contains("model-loading"), "{}", ended.out);
        let peak_mib = ended.peak_kib >> 10;
        assert!(peak_mib < 64, "{peak_mib} MiB were taken before the refusal");
        let note = ended.err.lines().find(|line| line.contains("embedder")).unwrap_or_default();
        assert!(note.contains("no embedder: the planner would not fit into memory with it"), "{note}");
    }
    let wrong = Run::new(&project, &["ask", "hello", "--budget", "much"]);
    refused(&project, wrong, &["`much`", "8GiB"]);
}

fn complete(project: &Project, file: &Path, flags: &[&str]) -> Run {
    let file = file.to_str().expect("a plain path");
    Run::new(project, &[&["complete", "--prompts", file, "--json"], flags].concat())
}

#[test]
fn a_prompt_larger_than_the_context_is_refused_with_both_numbers() {
    let project = Project::todo();
    let file = project.beside("prompts.jsonl");
    let prompt = json!({ "id": "long", "prompt": "the river walks ".repeat(400) });
    fs::write(&file, prompt.to_string()).expect("a file");
    let parts = ["prompt \"long\"", "1201 tokens", "512", "--context"];
    let ended = refused(&project, complete(&project, &file, &["--context", "512"]), &parts);
    assert_eq!(ended.out, "");
}

#[test]
fn sampling_that_makes_no_sense_is_refused_with_its_range() {
    let project = Project::todo();
    let file = project.beside("prompts.jsonl");
    fs::write(&file, r#"{"id": 1, "prompt": "a"}"#).expect("a file");
    for (flags, parts) in [
        (&["--temperature", "-1"][..], &["--temperature", "`-1`", "a number from 0 to 10"][..]),
        (&["--top-p", "1.5"], &["--top-p", "`1.5`", "to 1"]),
        (&["--min-p", "-0.1"], &["--min-p", "`-0.1`", "0 to 1"]),
        (&["--repetition-penalty", "0"], &["--repetition-penalty", "`0`", "to 10"]),
        (&["--dry-multiplier", "-2"], &["DRY multiplier of -2", "0 (off)"]),
        (&["--adaptive"], &["adaptive", "temperature", "0.7"]),
    ] {
        refused(&project, complete(&project, &file, flags), parts);
    }
}

#[test]
fn a_wrong_file_of_prompts_is_named_with_its_line() {
    let project = Project::todo();
    let file = project.beside("prompts.jsonl");
    let missing = complete(&project, &file, &[]);
    refused(&project, missing, &["prompts.jsonl cannot be read", "{\"id\", \"prompt\"}"]);
    fs::write(&file, "\n").expect("a file");
    refused(&project, complete(&project, &file, &[]), &["prompts.jsonl is empty"]);
    fs::write(&file, "{\"id\": 1, \"prompt\": \"a\"}\n\n{\"id\": 2, \"prompts\": []}\n").expect("a file");
    refused(&project, complete(&project, &file, &[]), &["prompts.jsonl:3", "{\"id\", \"prompt\"}"]);
}

#[test]
fn a_missing_model_file_is_named() {
    let project = Project::todo();
    let file = project.beside("prompts.jsonl");
    fs::write(&file, r#"{"id": 1, "prompt": "a"}"#).expect("a file");
    let run = complete(&project, &file, &["--model", "/nowhere/model.gguf"]);
    refused(&project, run, &["/nowhere/model.gguf"]);
    refused(
        &project,
        Run::new(&project, &["models", "show", "/nowhere/model.gguf"]),
        &["/nowhere/model.gguf", "name a"],
    );
}

#[test]
fn a_wrong_setting_in_models_toml_is_named() {
    let project = Project::todo();
    let folder = project.folder("models");
    symlink(models::smollm(), folder.join("smol.gguf")).expect("a link");
    fs::write(folder.join("models.toml"), "[planner]\nfile = \"smol.gguf\"\nslots = 17\n").expect("a file");
    refused(&project, with_models(&project, &folder), &["models.toml", "[planner] has slots = 17", "1 to 16"]);
    fs::write(folder.join("models.toml"), "[planner]\nfile = \"other.gguf\"\n").expect("a file");
    refused(&project, with_models(&project, &folder), &["other.gguf", "not there", "monobloc models pull planner"]);
}

#[test]
fn escape_sequences_in_a_file_do_not_reach_the_terminal() {
    let project = Project::todo();
    let evil = "/** \u{1b}]0;owned\u{7} \u{202e} */\nexport function evilmark() { return \"\u{1b}[2J\"; }\n";
    fs::write(project.path().join("src/evil.ts"), evil).expect("a file");
    for arguments in [["search", "evilmark"], ["context", "evilmark"]] {
        let ended = Run::new(&project, &arguments).end().succeeded();
        assert!(ended.out.contains("evilmark") && ended.out.contains("\u{fffd}[2J"), "{}", ended.out);
        assert!(!ended.out.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{:?}", ended.out);
    }
}
