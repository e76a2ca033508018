//! Runs the program as a user does: in a copy of a small project, with default settings and a time limit.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use monobloc::base::folder;
use serde_json::Value;
use tempfile::TempDir;

use crate::models;

/// A program that runs longer than this counts as hanging.
const WAIT_MAX: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(5);

/// A project in its own temporary folder.
pub struct Project {
    dir: TempDir,
    name: &'static str,
}

impl Project {
    /// A copy of `tests/data/todo`.
    pub fn todo() -> Project {
        Project::of("todo")
    }

    /// A copy of the folder `name` of `tests/data`.
    pub fn of(name: &'static str) -> Project {
        let project = Project { dir: tempfile::tempdir().expect("a temporary folder"), name };
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
        folder::copy(&data, &project.path(), usize::MAX, u64::MAX, &|_| false).expect("a copy of tests/data");
        project
    }

    pub fn path(&self) -> PathBuf {
        self.dir.path().join(self.name)
    }

    /// A path in the project's parent folder, for files that are not part of the project.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// An empty folder next to the project.
    pub fn folder(&self, name: &str) -> PathBuf {
        let folder = self.beside(name);
        fs::create_dir_all(&folder).expect("a folder");
        folder
    }

    pub fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).expect(name)
    }

    /// Every file with its content, except those in the folder `.monobloc`.
    pub fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let paths = folder::files(&self.path(), usize::MAX, &|name| name == ".monobloc").expect("a folder");
        paths.into_iter().map(|path| (path.clone(), fs::read(path).expect("a file"))).collect()
    }
}

/// A run that is about to start.
pub struct Run {
    pub command: Command,
    input: Option<Vec<u8>>,
}

impl Run {
    /// The program in `project`, with the small models and without the settings of this process.
    pub fn new<A: AsRef<OsStr>>(project: &Project, arguments: &[A]) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_monobloc"));
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("MONOBLOC_")) {
            command.env_remove(name);
        }
        command.args(arguments).current_dir(project.path()).env("MONOBLOC_MODEL_DIR", models::folder());
        // Each test has its own cache.
        command.env("XDG_CACHE_HOME", project.beside("cache")).stdin(Stdio::null());
        // The configuration of this user is not read.
        command.env("XDG_CONFIG_HOME", project.beside("config"));
        Run { command, input: None }
    }

    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Run {
        self.command.env(name, value);
        self
    }

    /// Gives the program these bytes on standard input.
    pub fn input(mut self, bytes: Vec<u8>) -> Run {
        self.command.stdin(Stdio::piped());
        self.input = Some(bytes);
        self
    }

    /// Starts the program with standard input as a pipe that stays open: see [`Running::say`].
    pub fn talk(mut self) -> Running {
        self.command.stdin(Stdio::piped());
        self.start()
    }

    pub fn start(mut self) -> Running {
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().expect("the program starts");
        if let Some(bytes) = self.input
            && let Some(mut stdin) = child.stdin.take()
        {
            // It fails if the program closes the pipe early.
            thread::spawn(move || drop(stdin.write_all(&bytes)));
        }
        let (out, err) = (Arc::default(), Arc::default());
        let readers = vec![
            reader(child.stdout.take().expect("a pipe"), Arc::clone(&out)),
            reader(child.stderr.take().expect("a pipe"), Arc::clone(&err)),
        ];
        Running { child, out, err, readers, started: Instant::now(), peak_kib: 0 }
    }

    pub fn end(self) -> Ended {
        self.start().end()
    }

    /// Runs the program with a standard output that nobody reads.
    pub fn unheard(self) -> Ended {
        let (reading, writing) = std::io::pipe().expect("a pipe");
        drop(reading);
        self.into(writing)
    }

    /// Runs the program with a standard output that accepts no data, as on a full disk.
    #[cfg(target_os = "linux")]
    pub fn onto_a_full_device(self) -> Ended {
        self.into(std::fs::File::create("/dev/full").expect("a full device"))
    }

    fn into(mut self, out: impl Into<Stdio>) -> Ended {
        self.command.stdin(Stdio::null()).stdout(out).stderr(Stdio::piped());
        let output = self.command.output().expect("the program runs");
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        Ended { code: output.status.code(), signal: output.status.signal(), out: String::new(), err, peak_kib: 0 }
    }
}

type Text = Arc<Mutex<Vec<u8>>>;

fn reader(mut from: impl Read + Send + 'static, to: Text) -> JoinHandle<()> {
    thread::spawn(move || {
        let mut block = [0; 4096];
        while let Ok(read @ 1..) = from.read(&mut block) {
            to.lock().expect("no reader panics").extend_from_slice(&block[..read]);
        }
    })
}

fn so_far(text: &Text) -> String {
    String::from_utf8_lossy(&text.lock().expect("no reader panics")).into_owned()
}

/// A running program. It is killed on drop, and therefore also if its test fails.
pub struct Running {
    child: Child,
    out: Text,
    err: Text,
    readers: Vec<JoinHandle<()>>,
    started: Instant,
    peak_kib: u64,
}

impl Running {
    /// Waits until standard output contains `text`.
    pub fn until(&mut self, text: &str) {
        while !so_far(&self.out).contains(text) {
            let over = self.child.try_wait().expect("its state");
            assert!(over.is_none() && self.started.elapsed() < WAIT_MAX, "no `{text}`: {over:?} {}", so_far(&self.err));
            thread::sleep(POLL);
        }
    }

    /// Waits until standard output has more than `bytes` bytes.
    pub fn until_longer(&mut self, bytes: usize) {
        while so_far(&self.out).len() <= bytes {
            let over = self.child.try_wait().expect("its state");
            assert!(
                over.is_none() && self.started.elapsed() < WAIT_MAX,
                "nothing more: {over:?} {}",
                so_far(&self.err)
            );
            thread::sleep(POLL);
        }
    }

    /// Writes a line to standard input.
    pub fn say(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().expect("a pipe; start it with Run::talk");
        input.write_all(format!("{line}\n").as_bytes()).expect("it listens");
    }

    /// Closes standard input.
    pub fn hang_up(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Standard output so far.
    pub fn shown(&self) -> String {
        so_far(&self.out)
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("its state").is_none()
    }

    /// Sends Ctrl-C (SIGINT).
    pub fn interrupt(&self) {
        self.signal(libc::SIGINT);
    }

    /// Sends a signal.
    pub fn signal(&self, number: i32) {
        let id = i32::try_from(self.child.id()).expect("a process id");
        // SAFETY: sends a signal to a child that has not been waited for, so its id is still valid.
        assert_eq!(unsafe { libc::kill(id, number) }, 0);
    }

    pub fn end(mut self) -> Ended {
        let status = loop {
            self.peak_kib = self.peak_kib.max(peak_kib(self.child.id()));
            if let Some(status) = self.child.try_wait().expect("its state") {
                break status;
            }
            assert!(self.started.elapsed() < WAIT_MAX, "it hangs: {} {}", so_far(&self.out), so_far(&self.err));
            thread::sleep(POLL);
        };
        for reader in self.readers.drain(..) {
            reader.join().expect("a reader");
        }
        let (code, signal) = (status.code(), status.signal());
        Ended { code, signal, out: so_far(&self.out), err: so_far(&self.err), peak_kib: self.peak_kib }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail if it has already ended, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Peak memory of a process so far, in KiB; 0 if the process has ended or the system does not
/// report it.
fn peak_kib(id: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok());
    peak.unwrap_or(0)
}

/// A program that has ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub out: String,
    pub err: String,
    pub peak_kib: u64,
}

impl Ended {
    pub fn succeeded(self) -> Ended {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self
    }

    /// Standard output, one JSON value per line.
    pub fn lines(&self) -> Vec<Value> {
        let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        self.out.lines().map(parse).collect()
    }
}
