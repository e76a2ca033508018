//! Ctrl-C ends the program quickly with exit code 130, whatever it is doing; other signals and a
//! closed output pipe also end it.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::cli::{Ended, Project, Run, Running};
use crate::clock::{Sleeper, eventually};
use crate::models;

/// Maximum time from Ctrl-C to the end of the process. It takes a quarter of a second on an idle
/// machine, two seconds with all cores busy.
const END_MAX: Duration = Duration::from_secs(3);

fn interrupted(running: Running) -> Ended {
    let (sleeper, from) = (Sleeper::start(), Instant::now());
    running.interrupt();
    let ended = running.end();
    let (wall, late) = (from.elapsed(), sleeper.overslept().total);
    assert_eq!((ended.code, ended.signal), (Some(130), None), "{ended:#?}");
    assert!(ended.err.contains("cancelled"), "{}", ended.err);
    assert!(wall < END_MAX + late, "it took {wall:?}, of which {late:?} are the machine's");
    ended
}

/// Starts a completion that would take minutes.
fn long_completion(project: &Project, words: usize, tokens: &str) -> Running {
    let file = project.beside("prompts.jsonl");
    fs::write(&file, json!({ "id": 1, "prompt": "the river ".repeat(words) }).to_string()).expect("a file");
    let (file, model) = (file.to_str().expect("a plain path").to_owned(), models::gemma());
    let mut arguments = vec!["complete", "--json", "--ignore-eos", "--context", "8192", "--max-tokens", tokens];
    arguments.extend(["--prompts", &file, "--model", model.to_str().expect("a plain path")]);
    Run::new(project, &arguments).start()
}

#[test]
fn ctrl_c_ends_a_load() {
    let project = Project::todo();
    let before = project.files();
    let mut running =
        Run::new(&project, &["ask", "Read src/retry.ts and tell me how many tries there are", "--json"]).start();
    running.until("model-loading");
    interrupted(running);
    assert_eq!(project.files(), before);
}

#[test]
fn ctrl_c_ends_a_prefill() {
    let project = Project::todo();
    let running = long_completion(&project, 3_900, "8");
    thread::sleep(Duration::from_millis(1500));
    assert_eq!(interrupted(running).out, "");
}

#[test]
fn ctrl_c_ends_a_generation() {
    let project = Project::todo();
    let running = long_completion(&project, 4, "8000");
    thread::sleep(Duration::from_millis(1500));
    assert_eq!(interrupted(running).out, "");
}

#[test]
fn ctrl_c_ends_an_answer_and_the_turn_does_not_count_as_finished() {
    let project = Project::todo();
    let mut running =
        Run::new(&project, &["ask", "Read src/retry.ts and tell me how many tries there are", "--json"]).start();
    running.until("step-completed");
    let ended = interrupted(running);
    assert!(!ended.out.contains("turn-finished"), "{}", ended.out);
    let telemetry = Run::new(&project, &["telemetry", "--json"]).end().succeeded();
    assert_eq!(telemetry.out, "", "a turn that was cancelled did not finish");
}

/// Whether a process called `name` runs in `folder`.
#[cfg(target_os = "linux")]
pub fn at_work(name: &str, folder: &std::path::Path) -> bool {
    let processes = fs::read_dir("/proc").expect("/proc").flatten().map(|entry| entry.path());
    let mut names = processes.filter(|process| fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == folder));
    names.any(|process| fs::read_to_string(process.join("comm")).is_ok_and(|comm| comm.trim() == name))
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_ends_a_command_and_its_child_processes() {
    let project = Project::todo();
    let folder = project.path().canonicalize().expect("a folder");
    let running = Run::new(&project, &["ask", "Run `sleep 40`", "--yes", "--json"]).start();
    eventually("the command was never started", || at_work("sleep", &folder));
    interrupted(running);
    let from = Instant::now();
    eventually("the command still runs", || !at_work("sleep", &folder));
    assert!(from.elapsed() < Duration::from_secs(2));
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_that_ends_the_program_ends_its_command_and_what_left_the_commands_group() {
    for signal in [libc::SIGTERM, libc::SIGHUP] {
        let project = Project::todo();
        let folder = project.path().canonicalize().expect("a folder");
        // A process in its own session can be reached only if commands run in the sandbox.
        let line =
            if monobloc::tools::sandbox::missing().is_none() { "setsid sleep 300 & sleep 300" } else { "sleep 300" };
        let running = Run::new(&project, &["ask", &format!("Run `{line}`"), "--yes", "--json"]).start();
        eventually("the command was never started", || at_work("sleep", &folder));
        running.signal(signal);
        let ended = running.end();
        assert_eq!(ended.code, Some(128 + signal), "{ended:#?}");
        eventually("the command still runs", || !at_work("sleep", &folder));
    }
}

#[test]
fn ctrl_c_ends_synth_and_leaves_no_partial_file() {
    let project = Project::todo();
    let folder = project.folder("out");
    let file = folder.join("big.gguf");
    let file = file.to_str().expect("a plain path");
    let running = Run::new(&project, &["synth", "--shape", "lfm2-8b-a1b", "--quant", "q8_0", file]).start();
    let entries = || fs::read_dir(&folder).expect("a folder").flatten().count();
    eventually("nothing is written", || entries() > 0);
    interrupted(running);
    assert_eq!(entries(), 0);
}

#[test]
fn a_closed_output_pipe_ends_the_program_quietly() {
    let project = Project::todo();
    let file = project.beside("prompts.jsonl");
    fs::write(&file, json!({ "id": 1, "prompt": "The river" }).to_string()).expect("a file");
    let file = file.to_str().expect("a plain path");
    for arguments in [&["models", "list"][..], &["complete", "--json", "--max-tokens", "4", "--prompts", file]] {
        let ended = Run::new(&project, arguments).unheard();
        assert_eq!((ended.code, ended.signal, ended.err.contains("panicked")), (Some(141), None, false), "{ended:#?}");
    }
}
