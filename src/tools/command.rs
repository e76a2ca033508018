//! `run_command`: runs a shell command in the project with limits on time and output. Dropping the
//! call ends the command.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::task::JoinHandle;

use crate::base::pattern::static_regex;
use crate::tools::Context;
use crate::tools::arguments::Arguments;
use crate::tools::outcome::{Outcome, cut_line, head_of, joined, tail_of};
use crate::tools::sandbox::{self, Aside, Confines};
use crate::tools::shell;

pub const TIMEOUT_MAX_S: usize = 600;
/// Bytes kept from the beginning and from the end of standard output, and of standard error.
const KEPT_HALF_BYTES: usize = 16 << 10;
/// Bytes reserved for the notes around the output.
const NOTES_BYTES: usize = 200;
/// Maximum length in characters of the command when it is repeated above its output.
const LINE_CHARS_MAX: usize = 200;
/// Maximum wait for output after the command has ended: a process that left the group may keep the
/// pipe open.
const DRAIN_MAX: Duration = Duration::from_secs(2);
/// Environment variables that a command inherits in addition to those of every sandboxed program.
const INHERITED: [&str; 4] = ["LC_CTYPE", "CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME"];

/// Shell script that runs `$1` next to a watcher in the same process group. The watcher's standard input is a pipe that
/// closes when this program dies, even when it is killed; then the watcher kills the group.
const WATCHED: &str = "exec 3<&0 </dev/null
{ read -r end <&3; kill -KILL 0; } >/dev/null 2>&1 &
exec 3<&-
exec sh -c \"$1\"";

/// Runs the command. Dropping the future kills it and everything it started. `network`: whether a
/// rule grants it network access.
pub(in crate::tools) async fn run(
    arguments: Arguments<'_>,
    network: bool,
    context: &Context,
) -> Result<Outcome, String> {
    let line = arguments.text("command")?;
    if line.trim().is_empty() || line.contains('\0') {
        return Err("`command` is empty or has a zero byte; give one shell command".to_owned());
    }
    let settings = &context.commands;
    let seconds = arguments.optional_count("timeout_s")?.unwrap_or(settings.timeout_s).clamp(1, TIMEOUT_MAX_S);
    let started = Instant::now();
    let failed = |e: std::io::Error| format!("`sh` cannot be started: {e}");
    let temp = tempfile::Builder::new().prefix("monobloc-command-").tempdir().map_err(failed)?;
    let confines = Confines {
        project: context.root.path(),
        temp: &temp.path().canonicalize().map_err(failed)?,
        network: network || settings.network,
        git: true,
        limited: true,
        seconds: Some(seconds as u64),
        commands: settings,
    };
    // The writing end stays open as long as this program lives and waits; see [`WATCHED`].
    let (watched, _alive) = std::io::pipe().map_err(failed)?;
    let (mut command, mut group) = sandbox::shell(&confines).map_err(failed)?;
    set_up(&mut command, line, &confines);
    command.stdin(watched);
    let mut child = sandbox::spawn(command, &mut group).map_err(failed)?;
    let (out, err) = (collect(child.stdout.take()), collect(child.stderr.take()));
    let seconds_so_far = || started.elapsed().as_secs_f32();
    let (ok, how) = tokio::select! {
        status = child.wait() => match status {
            Ok(status) => (status.success(), format!("{status} after {:.1} s", seconds_so_far())),
            Err(error) => return Err(format!("waiting for the command failed: {error}")),
        },
        () = tokio::time::sleep(Duration::from_secs(seconds as u64)) => {
            (false, format!("stopped at its deadline of {seconds} s; set timeout_s (at most {TIMEOUT_MAX_S})"))
        }
        () = context.cancel.cancelled() => (false, format!("cancelled after {:.1} s", seconds_so_far())),
        () = group.crowded(settings.processes) => (false, format!(
            "killed after {:.1} s: more than {} processes; raise command_processes",
            seconds_so_far(), settings.processes
        )),
    };
    // This kills background processes of the command, which closes its pipes.
    let moved: String = group.end().iter().map(|aside| described(aside, confines.project)).collect();
    let (out, err) = (drained(out).await, drained(err).await);
    let outcome = outcome(line, (ok, how), [&out, &err], &confines, context.text_max_bytes);
    // A command that tried to redirect git counts as failed, whatever its exit status.
    Ok(if moved.is_empty() { outcome } else { Outcome::error(moved + &outcome.text) })
}

/// Whether the failed command `line` did not start, judging by its result: it is a single command,
/// and its program, or the module or script that it names, does not exist.
pub fn did_not_start(line: &str, outcome: &Outcome) -> bool {
    static_regex!(NO_PROGRAM = r"(?m)(?:^|: )([^\s:]+): (?:command )?not found$");
    static_regex!(NO_MODULE = r"(?m)^\S*python[\d.]*: No module named (\S+)$");
    static_regex!(NO_SCRIPT = r"(?mi)^npm \S+ missing script: ");
    let read = shell::parse(line);
    let [command] = read.commands.as_slice() else { return false };
    let names = |name: &str| command.words.iter().any(|word| word.known() == Some(name));
    let names_of = |found: Option<regex::Captures<'_>>| found.is_some_and(|found| names(&found[1]));
    let text = &outcome.text;
    let is_alone = read.understood && !outcome.is_ok() && command.writes.is_empty();
    is_alone && (names_of(NO_PROGRAM.captures(text)) || names_of(NO_MODULE.captures(text)) || NO_SCRIPT.is_match(text))
}

/// The output of `git status` on the branch and the changed files, without asking for consent: it
/// changes nothing, and runs in the sandbox like every command. `None` outside repositories and
/// without git.
pub async fn git_status(context: &Context) -> Option<String> {
    const LINE: &str =
        "git --no-optional-locks -c core.fsmonitor=false status --short --branch --untracked-files=normal";
    const TIMEOUT_S: u64 = 5;
    context.root.path().ancestors().find(|folder| folder.join(".git").exists())?;
    let arguments = serde_json::json!({ "command": LINE, "timeout_s": TIMEOUT_S });
    let outcome = run(Arguments(arguments.as_object()?), false, context).await.ok().filter(Outcome::is_ok)?;
    // The first two lines are the command and its exit status.
    let output = outcome.text.lines().skip(2).collect::<Vec<_>>().join("\n");
    Some(output).filter(|output| output.starts_with("## "))
}

fn described(Aside { path, now }: &Aside, project: &Path) -> String {
    let shown = |path: &Path| path.strip_prefix(project).unwrap_or(path).display().to_string();
    let path = shown(path);
    match now {
        Ok(now) => format!("{path} would make git read other settings: moved to {}; ", shown(now)),
        Err(error) => {
            format!(
                "{path} MAKES GIT READ OTHER SETTINGS and cannot be moved away ({error}): delete it before git is used here; "
            )
        }
    }
}

fn set_up(command: &mut Command, line: &str, confines: &Confines<'_>) {
    command.args(["-c", WATCHED, "sh", line]).current_dir(confines.project);
    sandbox::set_environment(command, INHERITED.into_iter(), confines.temp);
    // No program may wait for input from a terminal.
    command.envs([
        ("TERM", "dumb"),
        ("NO_COLOR", "1"),
        ("PAGER", "cat"),
        ("GIT_PAGER", "cat"),
        ("GIT_TERMINAL_PROMPT", "0"),
        // Keeps `__pycache__` out of the project.
        ("PYTHONDONTWRITEBYTECODE", "1"),
    ]);
    // Caches go into the command's folder for temporary files, which is deleted after it.
    command.envs(["XDG_CACHE_HOME", "npm_config_cache"].map(|name| (name, confines.temp)));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
}

fn outcome(
    line: &str,
    (ok, how): (bool, String),
    [out, err]: [&Kept; 2],
    confines: &Confines<'_>,
    bytes_max: usize,
) -> Outcome {
    // The caller already has the command, and a script in it can be longer than its output.
    let (first, is_longer) = line.split_once('\n').map_or((line, ""), |(first, _)| (first, " …"));
    let mut report = format!("$ {}{is_longer}\n[{how}]\n", cut_line(first, LINE_CHARS_MAX.min(bytes_max / 4)));
    // Bytes that one stream does not need are available to the other.
    let room = bytes_max.saturating_sub(report.len() + NOTES_BYTES);
    let of_err = err.total.min((room / 2).max(room.saturating_sub(out.total)));
    let output = out.shown("", room - of_err) + &err.shown("[stderr]\n", of_err);
    report.push_str(&output);
    // A pipe or `; true` hides the exit status of the refused command.
    let may_hide = || line.contains(['|', ';', '&', '\n']);
    if confines.commands.confined && (!ok || may_hide()) && sandbox::tells_of_refusal(&output) {
        let bounds = sandbox::bounds("the project", "programs and tool chains", confines.network);
        report.push_str(&format!(
            "[confined: {bounds}; the settings command_reads, command_writes and command_network allow more, \
             command_memory, command_file_size and command_processes larger processes and files, and more of them]\n"
        ));
        if !ok {
            report.insert_str(0, "something was refused, perhaps because commands are confined: ");
        }
    }
    if ok { Outcome::ok(report) } else { Outcome::error(report) }
}

/// The beginning and the end of a stream, its length in bytes, and its number of complete lines.
#[derive(Default)]
struct Kept {
    head: Vec<u8>,
    tail: Vec<u8>,
    total: usize,
    lines: usize,
}

impl Kept {
    fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len();
        self.lines += bytes.iter().filter(|byte| **byte == b'\n').count();
        let room = KEPT_HALF_BYTES.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        self.tail.extend_from_slice(&bytes[room..]);
        if self.tail.len() > KEPT_HALF_BYTES * 2 {
            self.tail.drain(..self.tail.len() - KEPT_HALF_BYTES);
        }
    }

    /// The complete stream if it fits into `bytes_max`, else whole lines from its beginning and
    /// end, with the number of lines omitted between them.
    fn shown(&self, title: &str, bytes_max: usize) -> String {
        if self.total == 0 {
            return String::new();
        }
        let is_all = self.total == self.head.len() + self.tail.len();
        let whole = [&self.head[..], &self.tail].concat();
        let text = if is_all && self.total <= bytes_max.min(2 * KEPT_HALF_BYTES) {
            String::from_utf8_lossy(&whole).into_owned()
        } else {
            let half = (bytes_max / 2).min(KEPT_HALF_BYTES);
            let [head, tail] = [&self.head, &whole].map(|bytes| String::from_utf8_lossy(bytes));
            let (head, tail) = (head_of(&head, half), tail_of(&tail, half));
            let bytes = self.total.saturating_sub(head.len() + tail.len());
            let shown = |part: &str| part.matches('\n').count();
            // An unterminated last line counts as a line.
            let ended = self.lines + usize::from(!whole.ends_with(b"\n"));
            let tail_lines = shown(tail) + usize::from(!tail.ends_with('\n'));
            let is_whole = head.ends_with('\n') && tail.len() < half;
            joined(head, (is_whole.then(|| ended.saturating_sub(shown(head) + tail_lines)), bytes), tail)
        };
        let end = if text.ends_with('\n') { "" } else { "\n" };
        format!("{title}{text}{end}")
    }
}

type Shared = std::sync::Arc<std::sync::Mutex<Kept>>;

/// Reads a stream to its end in the background, so that a chatty command never blocks on a full pipe.
fn collect(stream: Option<impl AsyncRead + Unpin + Send + 'static>) -> (Shared, JoinHandle<()>) {
    let kept = Shared::default();
    let into = kept.clone();
    let task = tokio::spawn(async move {
        let Some(mut stream) = stream else { return };
        let mut buffer = vec![0; 8 << 10];
        while let Ok(read @ 1..) = stream.read(&mut buffer).await {
            into.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(&buffer[..read]);
        }
    });
    (kept, task)
}

async fn drained((kept, mut task): (Shared, JoinHandle<()>)) -> Kept {
    if tokio::time::timeout(DRAIN_MAX, &mut task).await.is_err() {
        task.abort();
    }
    std::mem::take(&mut *kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::files::walk::testing::Project;
    use serde_json::json;

    async fn sh(project: &Project, arguments: serde_json::Value) -> Outcome {
        run(Arguments(arguments.as_object().unwrap()), false, &project.context).await.unwrap_or_else(Outcome::error)
    }

    #[tokio::test]
    async fn a_command_runs_in_the_project_and_its_status_counts() {
        // Cargo sets this variable for every test, and it is not among the inherited ones.
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
        let project = Project::with(&[("a.txt", "here\n")]);
        for (command, ok, expected) in [
            ("cat a.txt", true, "here\n"),
            ("echo out; echo err >&2; exit 3", false, "[exit status: 3"),
            ("echo err >&2; false", false, "[stderr]\nerr\n"),
            ("cat", true, "exit status: 0"),
            ("kill -9 $$", false, "signal"),
            (" ", false, "is empty"),
            ("echo [$CARGO_MANIFEST_DIR] [${PATH:+path}]", true, "[] [path]"),
        ] {
            let outcome = sh(&project, json!({ "command": command })).await;
            assert!(outcome.is_ok() == ok && outcome.text.contains(expected), "{outcome:?}");
        }
    }

    #[tokio::test]
    async fn long_output_keeps_whole_lines_of_its_beginning_and_its_end() {
        let mut project = Project::with(&[]);
        let line = "echo first; seq 1000000; echo last";
        let outcome = sh(&project, json!({ "command": line })).await;
        assert!(outcome.text.contains("\nfirst\n1\n2\n") && outcome.text.ends_with("\n1000000\nlast\n"));
        assert!(outcome.text.len() < 3 * KEPT_HALF_BYTES);
        let kept: Vec<usize> = outcome.text.lines().filter_map(|line| line.parse().ok()).collect();
        let gap = kept.windows(2).find(|pair| pair[1] != pair[0] + 1).unwrap();
        let note = format!("\n{}\n[… {} lines left out …]\n{}\n", gap[0], gap[1] - gap[0] - 1, gap[1]);
        assert!(outcome.text.contains(&note), "{note}");
        project.context.text_max_bytes = 2_000;
        for (line, note) in [
            ("seq 1000; seq 1000 >&2", "[… 7"),
            ("seq 1000; echo wrong >&2", "[stderr]\nwrong\n"),
            ("head -c 100000 /dev/zero | tr '\\0' x; echo; echo end", "bytes left out …]\n"),
        ] {
            let outcome = sh(&project, json!({ "command": line })).await;
            assert!(outcome.text.contains(note) && outcome.text.len() <= 2_000, "{}", outcome.text);
        }
    }

    #[tokio::test]
    async fn every_process_ends_with_its_command_at_a_deadline_when_cancelled_and_when_dropped() {
        let project = Project::with(&[]);
        let outcome = sh(&project, json!({ "command": "sleep 30 & echo $! > pid; wait", "timeout_s": 1 })).await;
        assert!(!outcome.is_ok() && outcome.text.contains("deadline of 1 s"), "{}", outcome.text);
        gone(&project).await;
        let started = Instant::now();
        let outcome = sh(&project, json!({ "command": "sleep 30 & echo $! > pid" })).await;
        assert!(outcome.is_ok() && started.elapsed() < Duration::from_secs(5), "{outcome:?}");
        gone(&project).await;
        let line = json!({ "command": "sleep 30 & echo $! > pid; wait" });
        let dropped = tokio::time::timeout(Duration::from_millis(500), sh(&project, line.clone())).await;
        assert!(dropped.is_err());
        gone(&project).await;
        let cancel = project.context.cancel.clone();
        let (outcome, ()) = tokio::join!(sh(&project, line), async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            cancel.cancel();
        });
        assert!(outcome.text.contains("cancelled after"), "{}", outcome.text);
        gone(&project).await;
    }

    /// Waits until the process whose id is in the file `pid` has ended; panics after two seconds.
    async fn gone(project: &Project) {
        let pid: i32 = project.text("pid").trim().parse().unwrap();
        for _ in 0..40 {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            if stat.is_empty() || stat.contains(") Z") {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("process {pid} still runs");
    }
}
