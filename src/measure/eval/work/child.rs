//! Runs one program for a limited time, then kills it and every process in its process group.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::base::Cancel;
use crate::tools::sandbox::Registered;

/// Interval between checks of whether the program has ended.
const POLL_EVERY: Duration = Duration::from_millis(20);
/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(3);
/// A program that prints more than this is killed: a model that never stops writing must not fill
/// the disk.
const OUTPUT_BYTES_MAX: u64 = 256 << 20;
/// Number of bytes read from the end of an output.
const READ_BYTES_MAX: u64 = 32 << 20;

#[derive(Clone, Debug)]
pub struct Ended {
    pub success: bool,
    /// Whether it was killed because it ran too long or printed too much.
    pub cut: bool,
    pub stdout: String,
    pub stderr: String,
    pub seconds: f64,
}

impl Ended {
    /// The end of its output, stdout before stderr, for people who look for the reason for a
    /// failure.
    pub fn tail(&self) -> String {
        /// In characters; a failed test with its traceback fits.
        const TAIL_MAX: usize = 2_000;
        let printed = format!("{}{}", self.stdout, self.stderr);
        let printed = printed.trim();
        let skipped = printed.chars().count().saturating_sub(TAIL_MAX);
        printed.chars().skip(skipped).collect()
    }
}

/// Runs `command` in its own process group for at most `limit`. Fails if it cannot be started or is
/// cancelled, but not if the command fails.
pub fn run(command: &mut Command, limit: Duration, cancel: &Cancel) -> Result<Ended> {
    let (mut stdout, mut stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command.stdin(Stdio::null()).stdout(stdout.try_clone()?).stderr(stderr.try_clone()?).process_group(0);
    let from = Instant::now();
    let name = command.get_program().to_string_lossy().into_owned();
    let mut group = Group(command.spawn().with_context(|| format!("`{name}` could not be started"))?);
    let live = Registered::new(group.0.id(), None);
    let status = loop {
        if let Some(status) = group.0.try_wait()? {
            break Some(status);
        }
        let printed = stdout.metadata()?.len() + stderr.metadata()?.len();
        if cancel.is_cancelled() || printed > OUTPUT_BYTES_MAX || from.elapsed() >= limit {
            break None;
        }
        thread::sleep(POLL_EVERY);
    };
    let seconds = from.elapsed().as_secs_f64();
    drop(group);
    drop(live);
    if cancel.is_cancelled() {
        bail!("cancelled while `{name}` ran");
    }
    Ok(Ended {
        success: status.as_ref().is_some_and(ExitStatus::success),
        cut: status.is_none(),
        stdout: last(&mut stdout)?,
        stderr: last(&mut stderr)?,
        seconds,
    })
}

/// The last [`READ_BYTES_MAX`] bytes of an output, as text.
fn last(output: &mut File) -> Result<String> {
    let mut bytes = Vec::new();
    output.seek(SeekFrom::Start(output.metadata()?.len().saturating_sub(READ_BYTES_MAX)))?;
    output.take(READ_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A program and its process group, which is killed on drop.
struct Group(Child);

impl Group {
    /// Signals the group with the shell's `kill`, which needs no unsafe code. `name` is the
    /// signal's name there.
    fn signal(&self, name: &str) {
        let line = format!("kill -{name} -- -{}", self.0.id());
        // This fails if the group is already gone, which is fine.
        let _ = Command::new("bash").args(["-c", &line]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            // SIGTERM first: monobloc then kills the confined commands it runs, which have their
            // own process groups.
            self.signal("TERM");
            let until = Instant::now() + GRACE;
            while matches!(self.0.try_wait(), Ok(None)) && Instant::now() < until {
                thread::sleep(POLL_EVERY);
            }
        }
        self.signal("KILL");
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bash(line: &str, limit_ms: u64) -> Ended {
        run(Command::new("bash").args(["-c", line]), Duration::from_millis(limit_ms), &Cancel::new()).unwrap()
    }

    #[test]
    fn a_program_that_hangs_is_ended_with_its_background_processes() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("late");
        let ended = bash(&format!("(sleep 1.5; touch '{}') & echo begun; sleep 60", mark.display()), 300);
        assert!(ended.cut && !ended.success && ended.stdout == "begun\n", "{ended:?}");
        assert!(ended.seconds < 2.0, "{}", ended.seconds);
        thread::sleep(Duration::from_millis(1_800));
        assert!(!mark.exists(), "what it left in the background went on");
    }

    #[test]
    fn output_and_exit_status_are_returned_and_a_missing_program_is_named() {
        let ended = bash("echo out; echo err >&2; exit 3", 10_000);
        assert!(!ended.cut && !ended.success, "{ended:?}");
        assert_eq!((ended.stdout.as_str(), ended.tail().as_str()), ("out\n", "out\nerr"));
        let missing = run(&mut Command::new("no-such-program"), Duration::from_secs(1), &Cancel::new());
        assert!(format!("{:#}", missing.unwrap_err()).contains("`no-such-program` could not be started"));
    }
}
