//! Consent on a terminal: yes, no, and edited arguments.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::cli::{Project, Run};

const CHANGE: &str = "In src/retry.ts change the maximum number of attempts from 5 to 3";
const WAIT_MAX: Duration = Duration::from_secs(60);

/// The two ends of a new pseudo-terminal: the user's and the program's.
fn terminal() -> (File, File) {
    let (mut user, mut program) = (-1, -1);
    let none = std::ptr::null_mut();
    // SAFETY: both descriptors are written by the call, and the three optional pointers may be null.
    let made = unsafe { libc::openpty(&mut user, &mut program, none, none.cast(), none.cast()) };
    assert_eq!(made, 0, "{}", std::io::Error::last_os_error());
    // SAFETY: the call succeeded, so both descriptors are open and owned by nothing else.
    unsafe { (File::from(OwnedFd::from_raw_fd(user)), File::from(OwnedFd::from_raw_fd(program))) }
}

/// Runs the change on a terminal. Types each answer when its prompt appears; returns the output.
fn converse(project: &Project, answers: &[(&str, &str)]) -> String {
    converse_with(project, &["ask", CHANGE], answers)
}

fn converse_with(project: &Project, arguments: &[&str], answers: &[(&str, &str)]) -> String {
    let mut answers = answers.iter().peekable();
    let next =
        |shown: &str| answers.next_if(|(prompt, _)| shown.contains(prompt)).map(|(_, answer)| answer.to_string());
    let (text, succeeded) = typed(Run::new(project, arguments), next);
    assert!(succeeded, "{text}");
    assert!(answers.next().is_none(), "nobody asked for it: {text}");
    text
}

/// Runs the program on a terminal. `answer` gets the output since the last answer, and returns the
/// line to type if it is complete. Returns the whole output, and whether the program succeeded.
pub fn typed(mut run: Run, mut answer: impl FnMut(&str) -> Option<String>) -> (String, bool) {
    let (user, program) = terminal();
    let end = || program.try_clone().expect("a descriptor");
    run.command.stdin(end()).stdout(end()).stderr(end()).env("TERM", "xterm");
    let mut child = run.command.spawn().expect("the program starts");
    drop((run, program));
    let (sender, shown) = mpsc::channel();
    let mut reader = user.try_clone().expect("a descriptor");
    thread::spawn(move || {
        let mut block = [0; 4096];
        // Reading fails once the program has closed its end.
        while let Ok(read @ 1..) = reader.read(&mut block) {
            let _ = sender.send(String::from_utf8_lossy(&block[..read]).into_owned());
        }
    });
    let (mut text, mut answered) = (String::new(), 0);
    let from = Instant::now();
    loop {
        match shown.recv_timeout(Duration::from_secs(1)) {
            Ok(more) => text.push_str(&more),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) if from.elapsed() < WAIT_MAX => {}
            Err(RecvTimeoutError::Timeout) => {
                let _ = child.kill();
                panic!("it hangs: {text}");
            }
        }
        if let Some(line) = answer(&text[answered..]) {
            answered = text.len();
            (&user).write_all(format!("{line}\n").as_bytes()).expect("typed");
        }
    }
    (text, child.wait().expect("its state").success())
}

#[test]
fn yes_makes_the_change_that_was_shown() {
    let project = Project::todo();
    let text = converse(&project, &[("[y]es", "y")]);
    assert!(text.contains("-export const MAX_ATTEMPTS = 5;") && text.contains("+export const MAX_ATTEMPTS = 3;"));
    assert!(project.text("src/retry.ts").contains("MAX_ATTEMPTS = 3;"));
}

#[test]
fn no_leaves_the_file_alone() {
    let project = Project::todo();
    let before = project.files();
    let text = converse(&project, &[("[y]es", "no")]);
    assert!(text.contains("rejected"), "{text}");
    assert_eq!(project.files(), before);
}

#[test]
fn an_unclear_answer_is_asked_for_again_and_in_the_end_rejected() {
    let project = Project::todo();
    let before = project.files();
    converse(&project, &[("[y]es", "maybe"), ("[y]es", "what?"), ("[y]es", "")]);
    assert_eq!(project.files(), before);
}

#[test]
fn edited_arguments_are_the_ones_that_are_run() {
    let project = Project::todo();
    let edited = r#"{"path": "src/retry.ts", "old": "MAX_ATTEMPTS = 5;", "new": "MAX_ATTEMPTS = 4;"}"#;
    converse(&project, &[("[y]es", "e"), ("new:", edited)]);
    assert!(project.text("src/retry.ts").contains("export const MAX_ATTEMPTS = 4;"));
}

#[test]
fn in_a_conversation_the_next_line_is_the_answer() {
    let project = Project::todo();
    let answers = [("> ", CHANGE), ("[y]es", "y"), ("> ", "/ps"), ("> ", "/exit")];
    let text = converse_with(&project, &["chat", "--plain"], &answers);
    assert!(text.contains("no model is loaded") && text.contains("are free"), "{text}");
    assert!(project.text("src/retry.ts").contains("MAX_ATTEMPTS = 3;"));
}

#[test]
fn inspect_asks_after_every_stage_and_a_skipped_step_is_not_done() {
    let project = Project::todo();
    let before = project.files();
    let inspect = ["inspect", CHANGE];
    let skip = [("reading: go on?", "c"), ("plan: go on?", "c"), ("[s]kip s1", "s"), ("answer: go on?", "c")];
    let text = converse_with(&project, &inspect, &skip);
    assert!(text.contains("skipped by you") && text.contains("files: src/retry.ts"), "{text}");
    assert_eq!(project.files(), before);
    let go_on =
        [("reading: go on?", "c"), ("plan: go on?", "c"), ("[s]kip s1", "c"), ("[y]es", "y"), ("answer: go on?", "c")];
    converse_with(&project, &inspect, &go_on);
    assert!(project.text("src/retry.ts").contains("MAX_ATTEMPTS = 3;"));
}
