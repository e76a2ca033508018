//! Commands of a turn run in the sandbox; if there is none, each needs consent.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::process::Command;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

use crate::cli::{Project, Run};
use crate::turn::{Turn, text};

#[test]
fn an_auto_approved_command_cannot_leave_the_project() {
    if let Some(missing) = monobloc::tools::sandbox::missing() {
        return eprintln!("not tested, because this machine cannot confine commands: {missing}");
    }
    let project = Project::todo();
    let turn = Turn::of(&project, "Run `echo gone > ../outside.txt`", &["--approve", "never"]);
    assert_eq!(turn.calls(), ["run_command failed"]);
    assert!(turn.data("approval-requested").is_empty() && !project.beside("outside.txt").exists());
    let inside = Turn::of(&project, "Run `echo made > inside.txt`", &["--approve", "never"]);
    assert_eq!(
        (inside.calls(), project.text("inside.txt").as_str()),
        (vec!["run_command succeeded".to_owned()], "made\n")
    );
}

/// Makes a system call fail in a program to be started.
fn forbid(command: &mut Command, call: i64, error: i32) {
    let rules = BTreeMap::from([(call, Vec::new())]);
    let machine = std::env::consts::ARCH.try_into().expect("a machine that the filter knows");
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(error as u32), machine);
    let program: BpfProgram = filter.expect("a filter").try_into().expect("a program");
    let install = move || apply_filter(&program).map_err(|_| std::io::ErrorKind::PermissionDenied.into());
    // SAFETY: between fork and exec only two system calls are made; the filter is compiled earlier.
    unsafe { command.pre_exec(install) };
}

/// A run of the program on a system where a call fails.
fn run_without(project: &Project, arguments: &[&str], call: i64, error: i32) -> Run {
    let mut run = Run::new(project, arguments);
    forbid(&mut run.command, call, error);
    run
}

#[test]
fn without_namespaces_commands_are_confined_too_and_the_user_is_told() {
    if let Some(missing) = monobloc::tools::sandbox::missing() {
        return eprintln!("not tested, because this machine cannot confine commands: {missing}");
    }
    let project = Project::todo();
    let git = |arguments: &[&str]| {
        let git = Command::new("git").args(arguments).current_dir(project.path()).output();
        assert!(git.expect("git").status.success());
    };
    git(&["init", "-q"]);
    git(&["config", "user.email", "a@b.c"]);
    git(&["config", "user.name", "A"]);
    let config = project.text(".git/config");
    let ask = |line: &str| {
        let arguments = ["ask", &format!("Run `{line}`"), "--approve", "never", "--json"];
        Turn::read(run_without(&project, &arguments, libc::SYS_unshare, libc::EPERM).end().succeeded())
    };
    for (line, succeeds) in [
        ("mkdir made && echo in > made/file.txt && cat made/file.txt", true),
        ("git add -A . && git commit -qm first", true),
        ("echo evil > .git/hooks/pre-commit", false),
        ("git config core.fsmonitor ./evil", false),
        ("echo evil > .monobloc/config.toml", false),
        ("echo gone > ../outside.txt", false),
    ] {
        let turn = ask(line);
        let expected = if succeeds { "run_command succeeded" } else { "run_command failed" };
        assert_eq!(turn.calls()[0], expected, "{line}: {:#?}", turn.ended);
        assert!(turn.data("approval-requested").is_empty(), "{line}");
    }
    assert_eq!(project.text(".git/config"), config);
    assert!(!project.path().join(".git/hooks/pre-commit").exists() && !project.beside("outside.txt").exists());
    let show = |call: i64| run_without(&project, &["config", "show"], call, libc::EPERM).end().succeeded().out;
    assert!(show(libc::SYS_unshare).contains("commands are confined without namespaces: a command can read"));
    assert!(
        show(libc::SYS_landlock_create_ruleset).contains("commands are not confined, so every command needs consent")
    );
    let here = match monobloc::tools::sandbox::reduced() {
        None => "commands are fully confined",
        Some(_) => "commands are confined without namespaces",
    };
    assert!(Run::new(&project, &["config", "show"]).end().succeeded().out.contains(here));
}

/// Repeats the test in which a command tries a change on a copy of the project, in a process that
/// cannot create namespaces.
#[test]
fn trials_run_without_namespaces() {
    let mut again = Command::new(std::env::current_exe().expect("this program"));
    again.args(["--exact", "tried::a_change_that_contradicts_the_models_own_example_is_written_again"]);
    forbid(&mut again, libc::SYS_unshare, libc::EPERM);
    let done = again.output().expect("this program again");
    let text = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
fn a_command_that_cannot_be_confined_always_needs_consent() {
    let project = Project::todo();
    let arguments = ["ask", "Run `echo made > inside.txt`", "--approve", "never", "--json"];
    let run = run_without(&project, &arguments, libc::SYS_landlock_create_ruleset, libc::ENOSYS);
    let turn = Turn::read(run.end().succeeded());
    let asked = turn.data("approval-requested");
    assert!(text(&asked[0]["proposal"]["reason"]).contains("no Landlock"), "{asked:?}");
    assert_eq!(turn.calls()[0], "run_command not_asked");
    assert!(!project.path().join("inside.txt").exists());

    let unconfined =
        Turn::of(&project, "Run `echo made > inside.txt`", &["--approve", "never", "--commands-unconfined"]);
    assert_eq!(unconfined.calls()[0], "run_command not_asked");
}
