//! Runs one program for a limited time, and ends with it everything that it started.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::base::Cancel;

/// Time between two looks at a program that runs.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Time a program gets to end by itself once it is told to.
const PARTING: Duration = Duration::from_secs(3);
/// A program that prints more than this is ended: a model that writes nonsense for ever must not fill the disk.
const OUTPUT_BYTES_MAX: u64 = 256 << 20;
/// The last bytes of an output that are read.
const READ_BYTES_MAX: u64 = 32 << 20;

/// How a program ended.
#[derive(Clone, Debug)]
pub struct Ended {
    pub success: bool,
    /// It was ended because its time was over, or because it printed too much.
    pub cut: bool,
    pub stdout: String,
    pub stderr: String,
    pub seconds: f64,
}

impl Ended {
    /// The last lines of all that it printed, for people who look for the reason.
    pub fn tail(&self) -> String {
        /// Characters; a failed test with its traceback fits.
        const TAIL_MAX: usize = 2_000;
        let said = format!("{}{}", self.stdout, self.stderr);
        let said = said.trim();
        let skipped = said.chars().count().saturating_sub(TAIL_MAX);
        said.chars().skip(skipped).collect()
    }
}

/// Runs `command` in a process group of its own for at most `limit`. Only a program that cannot be started, and a cancellation, are
/// errors.
pub fn run(command: &mut Command, limit: Duration, cancel: &Cancel) -> Result<Ended> {
    let (mut stdout, mut stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command.stdin(Stdio::null()).stdout(stdout.try_clone()?).stderr(stderr.try_clone()?).process_group(0);
    let from = Instant::now();
    let name = command.get_program().to_string_lossy().into_owned();
    let mut group = Group(command.spawn().with_context(|| format!("`{name}` could not be started"))?);
    let status = loop {
        if let Some(status) = group.0.try_wait()? {
            break Some(status);
        }
        let printed = stdout.metadata()?.len() + stderr.metadata()?.len();
        if cancel.is_cancelled() || printed > OUTPUT_BYTES_MAX || from.elapsed() >= limit {
            break None;
        }
        thread::sleep(LOOK_EVERY);
    };
    let seconds = from.elapsed().as_secs_f64();
    drop(group);
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

fn last(output: &mut File) -> Result<String> {
    let mut bytes = Vec::new();
    output.seek(SeekFrom::Start(output.metadata()?.len().saturating_sub(READ_BYTES_MAX)))?;
    output.take(READ_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A program and what it started, all of which end when this is dropped.
struct Group(Child);

impl Group {
    /// The shell knows how to signal a group, so this needs no foreign function. `name` is what `kill` calls the signal.
    fn signal(&self, name: &str) {
        let line = format!("kill -{name} -- -{}", self.0.id());
        // A group that is gone already is as it should be.
        let _ = Command::new("bash").args(["-c", &line]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            // Politely first: monobloc ends the commands that it confines, which are in groups of their own.
            self.signal("TERM");
            let until = Instant::now() + PARTING;
            while matches!(self.0.try_wait(), Ok(None)) && Instant::now() < until {
                thread::sleep(LOOK_EVERY);
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
    fn a_program_that_hangs_is_ended_with_what_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("late");
        let ended = bash(&format!("(sleep 1.5; touch '{}') & echo begun; sleep 60", mark.display()), 300);
        assert!(ended.cut && !ended.success && ended.stdout == "begun\n", "{ended:?}");
        assert!(ended.seconds < 2.0, "{}", ended.seconds);
        thread::sleep(Duration::from_millis(1_800));
        assert!(!mark.exists(), "what it left in the background went on");
    }

    #[test]
    fn what_a_program_prints_and_how_it_ends_is_told() {
        let ended = bash("echo out; echo err >&2; exit 3", 10_000);
        assert!(!ended.cut && !ended.success, "{ended:?}");
        assert_eq!((ended.stdout.as_str(), ended.tail().as_str()), ("out\n", "out\nerr"));
        assert!(bash("true", 10_000).success);
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let missing = run(&mut Command::new("no-such-program"), Duration::from_secs(1), &Cancel::new());
        assert!(format!("{:#}", missing.unwrap_err()).contains("`no-such-program` could not be started"));
    }
}
