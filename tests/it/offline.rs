//! The program does not open internet sockets unless a role names a URL to which the user has consented. A seccomp filter kills it if it tries.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter,
};

use crate::away;
use crate::boxed;
use crate::cli::{Project, Run};
use crate::mcp::far::Far;
use crate::turn::Turn;

/// A filter that kills the process when it opens an IPv4 or IPv6 socket, or uses io_uring.
fn filter() -> BpfProgram {
    let family = |family: i32| {
        let domain = u64::try_from(family).expect("a small number");
        let is = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, domain).expect("a condition");
        SeccompRule::new(vec![is]).expect("a rule")
    };
    let rules = BTreeMap::from([
        (libc::SYS_socket, vec![family(libc::AF_INET), family(libc::AF_INET6)]),
        // io_uring can open sockets without the call above.
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
    // SAFETY: between fork and exec only two system calls are made; the filter is compiled earlier.
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
fn index_and_search_open_no_internet_socket() {
    let project = Project::todo();
    confined(&project, &["index", "--json"]).end().succeeded();
    confined(&project, &["search", "how often is a request tried", "--json"]).end().succeeded();
}

#[test]
fn the_filter_kills_a_process_that_opens_an_internet_socket() {
    let project = Project::todo();
    let empty = project.folder("empty");
    let pull = confined(&project, &["models", "pull", "planner", "SmolLM2"]).env("MONOBLOC_MODEL_DIR", &empty);
    // If the filter ever let it through, it would reach only a closed port of this machine.
    let pull = pull.env("HF_ENDPOINT", "http://127.0.0.1:9").env("HF_HOME", &empty).env("XDG_DATA_HOME", &empty);
    let ended = pull.end();
    assert_eq!(ended.signal, Some(libc::SIGSYS), "{ended:#?}");
}

/// The URL is in the settings of the user, who has not consented to it yet.
#[test]
fn a_server_of_mcp_behind_a_url_opens_no_socket_before_it_is_allowed() {
    let project = Project::todo();
    let far = Far::new("");
    let folder = project.folder("config/monobloc");
    std::fs::write(folder.join("config.toml"), format!("[mcp.far]\nurl = {:?}\n", far.url)).expect("a configuration");
    let request = "Read src/retry.ts and tell me how many times a request is tried";
    let asked = confined(&project, &["ask", request, "--json"]).end().succeeded();
    assert!(asked.err.contains("`monobloc mcp allow") || asked.out.contains("`monobloc mcp allow"), "{asked:#?}");
    confined(&project, &["mcp", "allow", "far", "--yes"]).end().succeeded();
    confined(&project, &["ask", request, "--json", "--offline"]).end().succeeded();
    assert!(far.log().is_empty(), "{:#?}", far.log());
    let opens = confined(&project, &["mcp", "test", "far"]).end();
    assert_eq!(opens.signal, Some(libc::SIGSYS), "{opens:#?}");
}

/// Except for `models pull`, a socket is opened only for a URL to which the user has consented, and
/// not with `--offline`.
#[test]
fn only_a_url_with_consent_opens_a_socket() {
    let (server, _) = away::saying(&[]);
    for (role, consents, flags, opens) in [
        ("planner", false, &[][..], false),
        ("planner", true, &["--offline"][..], false),
        ("planner", true, &[][..], true),
        ("embedder", false, &[][..], false),
        ("embedder", true, &["--offline"][..], false),
        ("embedder", true, &[][..], true),
    ] {
        let project = Project::todo();
        let more = if role == "planner" { away::WRITES } else { "" };
        let models = boxed::roles(&project, role, &server.url(), more, consents);
        let arguments = [&["ask", "Hello, how are you?", "--json", "--models-file", &models], flags].concat();
        let ended = confined(&project, &arguments).end();
        assert_eq!(ended.signal == Some(libc::SIGSYS), opens, "{role}, consent {consents}, {flags:?}: {ended:#?}");
        assert!(opens || ended.signal.is_none(), "{ended:#?}");
    }
    assert_eq!(server.connections(), 0);
}
