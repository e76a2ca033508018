//! Tests of the sandbox: commands that try to escape, and ordinary ones that must work as usual.

mod project;

use std::net::TcpListener;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::base::Bytes;
use crate::config::Commands;
use crate::tools::arguments::Arguments;
use crate::tools::files::walk::testing::Project;
use crate::tools::{Outcome, command};

struct Bench {
    project: Project,
    /// A folder outside the project.
    outside: tempfile::TempDir,
}

impl Bench {
    fn new() -> Bench {
        let project = Project::with(&[("a.txt", "here\n"), (".monobloc/monobloc.db", "rows")]);
        let outside = tempfile::tempdir().unwrap();
        std::fs::create_dir(outside.path().join(".ssh")).unwrap();
        std::fs::write(outside.path().join(".ssh/id"), "the key").unwrap();
        Bench { project, outside }
    }

    fn with(mut self, commands: Commands) -> Bench {
        self.project.context.commands = Arc::new(commands);
        self
    }

    fn git(self) -> Bench {
        let git = |arguments: &[&str]| {
            let done = Command::new("git").args(arguments).current_dir(self.project.dir.path()).output().unwrap();
            assert!(done.status.success(), "{done:?}");
        };
        git(&["init", "-q"]);
        git(&["config", "user.email", "a@b.c"]);
        git(&["config", "user.name", "A"]);
        self
    }

    /// Runs a line in which `OUT` stands for the folder outside the project.
    async fn run(&self, line: &str) -> Outcome {
        let line = line.replace("OUT", &self.outside.path().display().to_string());
        let arguments = serde_json::json!({ "command": line, "timeout_s": 20 }).as_object().unwrap().clone();
        command::run(Arguments(&arguments), false, &self.project.context).await.unwrap_or_else(Outcome::error)
    }

    /// Asserts that the command fails, shows no secret and changes nothing outside the project.
    async fn refused(&self, line: &str) {
        let before = tree(self.outside.path());
        let outcome = self.run(line).await;
        assert!(!outcome.is_ok(), "{line}: {}", outcome.text);
        assert!(!outcome.text.contains("the key"), "{line}: {}", outcome.text);
        assert_eq!(tree(self.outside.path()), before, "{line}: {}", outcome.text);
    }

    async fn works(&self, line: &str, expected: &str) {
        let outcome = self.run(line).await;
        assert!(outcome.is_ok() && outcome.text.contains(expected), "{line}: {}", outcome.text);
    }
}

fn tree(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() {
            all.extend(tree(&entry.path()));
        } else {
            all.push((entry.path().display().to_string(), std::fs::read(entry.path()).unwrap()));
        }
    }
    all.sort();
    all
}

/// `None` if this machine has no sandbox, in which case commands need consent;
/// `tests/it/confined.rs` tests that.
fn bench() -> Option<Bench> {
    assert!(std::env::var_os(APART).is_none() || super::reduced().is_some(), "{:?}", super::missing());
    match super::missing() {
        None => Some(Bench::new()),
        Some(missing) => {
            eprintln!("not tested, because this machine cannot confine commands: {missing}");
            None
        }
    }
}

#[tokio::test]
async fn nothing_outside_the_project_is_written_or_read() {
    let Some(bench) = bench() else { return };
    for line in [
        "echo x > OUT/new",
        "echo x >> OUT/.ssh/id",
        "rm -rf OUT/.ssh",
        "mv OUT/.ssh/id OUT/.ssh/other",
        "mv OUT/.ssh/id .",
        "ln OUT/.ssh/id stolen",
        "cat OUT/.ssh/id",
        "ls OUT",
        "ln -s OUT link && cat link/.ssh/id",
        "ln -s OUT link2 && echo x > link2/new",
        "truncate -s 0 OUT/.ssh/id",
        "python3 -c \"import os; os.truncate('OUT/.ssh/id', 0)\"",
        "mkdir OUT/folder",
        "cp a.txt /usr/local/bin/monobloc-test",
        "echo x > \"$HOME/.bashrc.monobloc-test\"",
        "echo x > /tmp/monobloc-test-outside",
        "cat \"$HOME/.ssh/monobloc-test\" || ls \"$HOME/.ssh\" || ls \"$HOME\"",
        "mount -t tmpfs none .",
        "mount --bind OUT . ",
        "unshare -rm true",
        "cat /proc/$PPID/environ",
        "kill -0 1",
        "echo x > /dev/tty",
    ] {
        bench.refused(line).await;
    }
    assert!(!Path::new("/tmp/monobloc-test-outside").exists());
    let text = bench.run("cat OUT/.ssh/id").await.text;
    assert!(text.starts_with("something was refused, perhaps because commands are confined: $ cat"), "{text}");
    assert!(text.contains("command_reads") && !bench.run("false").await.text.contains("confined"));
    // A pipeline has the exit status of its last command.
    let piped = bench.run("cat OUT/.ssh/id 2>&1 | cat").await;
    assert!(piped.is_ok() && piped.text.contains("command_reads"), "{}", piped.text);
}

#[tokio::test]
async fn no_socket_leads_out_unless_that_is_granted() {
    let Some(bench) = bench() else { return };
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    let _unix = UnixListener::bind(bench.project.dir.path().join("service")).unwrap();
    let mailbox = UnixDatagram::bind(bench.project.dir.path().join("mailbox")).unwrap();
    let connect = format!("python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 2)'");
    let local = "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"service\")'";
    for line in [
        connect.as_str(),
        local,
        "python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)'",
        "python3 -c 'import socket; socket.socket(socket.AF_INET6)'",
        "python3 -c 'import socket as s; s.socket(s.AF_UNIX, s.SOCK_DGRAM).sendto(b\"x\", \"mailbox\")'",
        "python3 -c 'import socket as s; s.socket(s.AF_UNIX, s.SOCK_RAW).sendto(b\"x\", \"mailbox\")'",
        "python3 -c 'import socket as s; s.socketpair(s.AF_UNIX, s.SOCK_DGRAM)[0].sendto(b\"x\", \"mailbox\")'",
        "bash -c 'echo x > /dev/tcp/127.0.0.1/1'",
    ] {
        bench.refused(line).await;
    }
    mailbox.set_nonblocking(true).unwrap();
    assert!(mailbox.recv(&mut [0]).is_err());
    let granted = bench.with(Commands { network: true, ..Commands::default() });
    granted.works(&connect, "exit status: 0").await;
    granted.works(local, "exit status: 0").await;
}

#[tokio::test]
async fn memory_file_size_and_processes_are_bounded() {
    let small = Commands { memory: Bytes(256 << 20), file_size: Bytes(1 << 20), ..Commands::default() };
    let Some(bench) = bench() else { return };
    let bench = bench.with(Commands { processes: 64, ..small });
    bench.refused("head -c 2000000 /dev/zero > big").await;
    assert!(std::fs::metadata(bench.project.dir.path().join("big")).unwrap().len() <= 1 << 20);
    bench.refused("python3 -c 'bytearray(1 << 30)'").await;
    bench.works("ulimit -n; ulimit -c", "4096\n0\n").await;
    // A small fork bomb.
    let bomb = "for i in $(seq 200); do sleep 5 & done; wait; echo all";
    let started = Instant::now();
    bench.refused(bomb).await;
    assert!(started.elapsed() < Duration::from_secs(20));
    if super::reduced().is_none() {
        bench.works("bash -c 'ulimit -u'", "64\n").await;
    }
}

#[tokio::test]
async fn processes_that_leave_the_group_end_with_it() {
    let Some(bench) = bench() else { return };
    let line = "setsid sleep 300.25 & setsid sh -c 'sleep 300.25 & setsid sleep 300.25' & sleep 0.2; echo started";
    bench.works(line, "started").await;
    // Its first thread has ended, so the process looks as if it had ended.
    let headless = "setsid python3 -c 'import ctypes, os, threading, time
if os.fork() == 0:
    threading.Thread(target=lambda: (time.sleep(1), open(\"late\", \"w\"))).start()
    ctypes.CDLL(None).pthread_exit(None)' & sleep 0.4; echo started";
    bench.works(headless, "started").await;
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    assert!(!bench.project.dir.path().join("late").exists());
    // The processes are found by their resource limit 15.
    bench.refused("python3 -c 'import resource; resource.setrlimit(15, (0, 0))'").await;
    bench
        .refused("python3 -c 'import os, resource; resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (9, 9))'")
        .await;
    let running = || {
        let commands = std::fs::read_dir("/proc").unwrap().flatten();
        let lines = commands.filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok());
        lines.filter(|line| line.contains("300.25") && line.starts_with("sleep")).count()
    };
    let waited = Instant::now();
    while running() > 0 && waited.elapsed() < Duration::from_secs(2) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(running(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn commands_side_by_side_do_not_end_each_other() {
    // The system reuses the inode number of a removed namespace for the next one.
    let many: Vec<_> = (0..4)
        .map(|_| {
            tokio::spawn(async {
                let Some(bench) = bench() else { return };
                for _ in 0..20 {
                    bench.works("sleep 0.01; echo whole", "whole\n").await;
                }
            })
        })
        .collect();
    for one in many {
        one.await.expect("whole");
    }
}

#[tokio::test]
async fn ordinary_commands_work_as_usual() {
    let Some(bench) = bench().map(Bench::git) else { return };
    for (line, expected) in [
        ("git status --short", "a.txt"),
        ("python3 -c 'print(6 * 7)'", "42\n"),
        ("cat a.txt | tr a-z A-Z | head -1", "HERE\n"),
        ("cat <<END\nin the document\nEND", "in the document\n"),
        ("bash -c 'cat <<< in-the-string'", "in-the-string\n"),
        ("file=$(mktemp) && echo kept > \"$file\" && cat \"$file\"", "kept\n"),
        ("python3 -c 'import tempfile; tempfile.TemporaryFile().write(b\"x\"); print(\"temp\")'", "temp\n"),
        (
            "mkdir -p out/deep && cp a.txt out/deep/b.txt && mv out/deep/b.txt out/ && rm -r out/deep && ls out",
            "b.txt\n",
        ),
        ("ln -s a.txt link && cat link && mkfifo pipe && test -p pipe", "here\n"),
        ("echo gone > /dev/null; cat /proc/cpuinfo > /dev/null; head -c 4 /dev/urandom | wc -c", "4\n"),
        ("echo out > /dev/stdout; echo err > /dev/stderr", "[stderr]\nerr\n"),
        ("sleep 5 & kill $!; wait; echo waited", "waited\n"),
        ("id -u > id.txt && find . -name '*.txt' | sort | xargs ls -l", "a.txt"),
    ] {
        bench.works(line, expected).await;
    }
    let pool = "python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1, -2]))'";
    match super::reduced() {
        None => bench.works(pool, "[1, 2]\n").await,
        Some(_) => assert!(bench.run(pool).await.text.contains("no shared memory (/dev/shm)")),
    }
}

/// This variable is set in a process that cannot create namespaces.
const APART: &str = "MONOBLOC_TEST_APART";

/// A filter that forbids creating namespaces, like systems that deny them to ordinary programs.
#[cfg(target_os = "linux")]
fn no_namespaces() -> seccompiler::BpfProgram {
    use seccompiler::{SeccompAction, SeccompFilter};
    let rules = std::collections::BTreeMap::from([(libc::SYS_unshare, Vec::new())]);
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let machine = std::env::consts::ARCH.try_into().unwrap();
    SeccompFilter::new(rules, SeccompAction::Allow, refused, machine).unwrap().try_into().unwrap()
}

/// Repeats the tests of the sandbox in processes that cannot create namespaces: as root, who has
/// more rights, and as another user.
#[cfg(target_os = "linux")]
#[test]
fn all_of_this_holds_without_namespaces() {
    use std::os::unix::process::CommandExt;
    if std::env::var_os(APART).is_some() || super::missing().is_some() {
        return;
    }
    for is_other in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let (mut again, is_root) = again(dir.path(), is_other);
        if is_other && !is_root {
            return;
        }
        let filter = no_namespaces();
        let forbid =
            move || seccompiler::apply_filter(&filter).map_err(|_| std::io::ErrorKind::PermissionDenied.into());
        // SAFETY: between fork and exec only two system calls are made; the filter is compiled
        // earlier.
        unsafe { again.pre_exec(forbid) };
        // Another user has no access to root's tool chains.
        let skipped = ["--skip", "rights_that_a_command", "--skip", "installed_tool_chains"];
        let skipped = &skipped[..if is_other { 4 } else { 2 }];
        let done = again.arg("tools::sandbox::tests::").args(skipped).env(APART, "1").env("HOME", dir.path()).output();
        let done = done.unwrap();
        let text = String::from_utf8_lossy(&done.stdout);
        let passed = text.split(" passed").next().and_then(|text| text.rsplit(' ').next()?.parse::<usize>().ok());
        assert!(done.status.success() && passed.is_some_and(|passed| passed > 10), "other user: {is_other}\n{text}");
    }
}

/// A command that runs this program again with its files in `dir`, and whether this process belongs
/// to root. If it does and `is_other` is true, the command runs as another user.
fn again(dir: &Path, is_other: bool) -> (Command, bool) {
    // SAFETY: the call takes no arguments and cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    let program = std::env::current_exe().unwrap();
    if !is_root || !is_other {
        return (Command::new(program), is_root);
    }
    // A copy that every user can read. `cp` writes it, because a file written by this process would
    // stay open in child processes of parallel tests, and a file open for writing cannot be run
    // ("text file busy").
    let copy = dir.join("program");
    assert!(Command::new("cp").args([&program, &copy]).status().unwrap().success());
    std::os::unix::fs::chown(dir, Some(65_534), Some(65_534)).unwrap();
    let mut again = Command::new(copy);
    std::os::unix::process::CommandExt::uid(&mut again, 65_534);
    (again, is_root)
}

#[tokio::test]
async fn installed_tool_chains_run() {
    let Some(bench) = bench() else { return };
    for (program, line) in
        [("cargo", "cargo --version && rustc --version"), ("node", "node -e 'console.log(process.version)'")]
    {
        let at_hand = Command::new(program).arg("--version").output().is_ok_and(|done| done.status.success());
        if at_hand {
            bench.works(line, "exit status: 0").await;
        }
    }
    let source = "fn main() { println!(\"built\"); }";
    let line =
        format!("mkdir -p src && echo '{source}' > src/main.rs && cargo init -q --vcs none --name x . && cargo run -q");
    bench.works(&line, "built\n").await;
}
