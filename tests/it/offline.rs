//! The program opens no internet socket: the kernel kills it if it tries.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter,
};

use crate::cli::{Project, Run};
use crate::turn::Turn;

/// Kills the process at `socket` for IPv4 and IPv6, and at the one other door to them.
fn filter() -> BpfProgram {
    let family = |family: i32| {
        let domain = u64::try_from(family).expect("a small number");
        let is = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, domain).expect("a condition");
        SeccompRule::new(vec![is]).expect("a rule")
    };
    let rules = BTreeMap::from([
        (libc::SYS_socket, vec![family(libc::AF_INET), family(libc::AF_INET6)]),
        // Rings can make sockets without the call above.
        (libc::SYS_io_uring_setup, Vec::new()),
    ]);
    let machine = std::env::consts::ARCH.try_into().expect("a machine that the filter knows");
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::KillProcess, machine);
    filter.expect("a filter").try_into().expect("a program")
}

fn confined(project: &Project, arguments: &[&str]) -> Run {
    let mut run = Run::new(project, arguments);
    let program = filter();
    let install = move || apply_filter(&program).map_err(|_| std::io::ErrorKind::PermissionDenied.into());
    // SAFETY: between fork and exec only two system calls are made; the filter was compiled before.
    unsafe { run.command.pre_exec(install) };
    run
}

#[test]
fn ask_opens_no_internet_socket() {
    let project = Project::todo();
    let request = "Read src/retry.ts and tell me how many times a request is tried";
    let turn = Turn::read(confined(&project, &["ask", request, "--json"]).end().succeeded());
    assert_eq!(turn.calls(), ["read_file succeeded"]);
    assert!(turn.answer().contains('5'), "{}", turn.answer());
}

#[test]
fn neither_do_index_and_search() {
    let project = Project::todo();
    confined(&project, &["index", "--json"]).end().succeeded();
    confined(&project, &["search", "how often is a request tried", "--json"]).end().succeeded();
}

#[test]
fn the_filter_kills_whoever_tries() {
    let project = Project::todo();
    let empty = project.folder("empty");
    let pull = confined(&project, &["models", "pull", "planner", "SmolLM2"]).env("MONOBLOC_MODEL_DIR", &empty);
    // Should the filter ever let it through, it meets a closed door of this machine.
    let pull = pull.env("HF_ENDPOINT", "http://127.0.0.1:9").env("HF_HOME", &empty).env("XDG_DATA_HOME", &empty);
    let ended = pull.end();
    assert_eq!(ended.signal, Some(libc::SIGSYS), "{ended:#?}");
}
