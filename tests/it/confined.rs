//! Commands of a turn are confined; where that is not possible, each needs consent.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;

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

/// A seccomp filter that makes Landlock look unsupported.
fn no_landlock() -> BpfProgram {
    let rules = BTreeMap::from([(libc::SYS_landlock_create_ruleset, Vec::new())]);
    let machine = std::env::consts::ARCH.try_into().expect("a machine that the filter knows");
    let missing = SeccompAction::Errno(libc::ENOSYS as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, missing, machine);
    filter.expect("a filter").try_into().expect("a program")
}

#[test]
fn a_command_that_cannot_be_confined_always_needs_consent() {
    let project = Project::todo();
    let arguments = ["ask", "Run `echo made > inside.txt`", "--approve", "never", "--json"];
    let mut run = Run::new(&project, &arguments);
    let program = no_landlock();
    let install = move || apply_filter(&program).map_err(|_| std::io::ErrorKind::PermissionDenied.into());
    // SAFETY: between fork and exec only two system calls are made; the filter is compiled before.
    unsafe { run.command.pre_exec(install) };
    let turn = Turn::read(run.end().succeeded());
    let asked = turn.data("approval-requested");
    assert!(text(&asked[0]["proposal"]["reason"]).contains("no Landlock"), "{asked:?}");
    assert_eq!(turn.calls()[0], "run_command not_asked");
    assert!(!project.path().join("inside.txt").exists());

    let unconfined =
        Turn::of(&project, "Run `echo made > inside.txt`", &["--approve", "never", "--commands-unconfined"]);
    assert_eq!(unconfined.calls()[0], "run_command not_asked");
}
