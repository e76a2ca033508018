//! The process of a server that was started here: its group, its exit, and the last part of its
//! standard error.

use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::bounded::Flow;
use super::describe::clean;
use super::start;
use crate::base::lock;
use crate::config::{Commands, Server};
use crate::tools::sandbox::{Group, tells_of_refusal};

/// Number of bytes kept from the end of standard error for the message about a failed server.
const STDERR_MAX_BYTES: usize = 2 << 10;
/// Time that a server has to exit by itself after its input is closed.
pub const LEAVE_MAX: Duration = Duration::from_millis(500);

pub struct Process {
    stderr_end: Arc<Mutex<Vec<u8>>>,
    listening: Mutex<Option<JoinHandle<()>>>,
    exit: watch::Receiver<Option<ExitStatus>>,
    /// Taken when the server is ended; dropping it kills the whole group.
    group: Mutex<Option<Group>>,
    /// The server's folder for temporary files; it is deleted on drop.
    _temp: TempDir,
}

impl Process {
    /// Starts the program and returns it with its standard output and input.
    pub fn start(
        config: &Server,
        limits: &Commands,
        project: &Path,
        flow: &Arc<Flow>,
    ) -> Result<(Process, ChildStdout, ChildStdin), String> {
        let failed =
            |error: io::Error| format!("`{}` cannot be started: {error}; {} names it", config.command, config.place);
        let (mut child, group, temp) = start::start(config, limits, project).map_err(failed)?;
        let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err("its pipes are missing; this is a bug in tools/mcp".to_owned());
        };
        let stderr_end = Arc::default();
        let listening = tokio::spawn(listen(stderr, flow.clone(), Arc::clone(&stderr_end)));
        let (ended, exit) = watch::channel(None);
        tokio::spawn(async move { drop(child.wait().await.map(|status| ended.send(Some(status)))) });
        let (listening, group) = (Mutex::new(Some(listening)), Mutex::new(Some(group)));
        Ok((Process { stderr_end, listening, exit, group, _temp: temp }, stdout, stdin))
    }

    /// Its exit status, which is available shortly after its pipes are closed; `None` while it
    /// runs.
    pub async fn exited(&self) -> Option<ExitStatus> {
        let mut exit = self.exit.clone();
        let _ = tokio::time::timeout(LEAVE_MAX, exit.wait_for(Option::is_some)).await;
        *self.exit.borrow()
    }

    /// Waits until the standard error of an exiting process has been read.
    pub async fn heard_out(&self) {
        let listening = lock(&self.listening).take();
        if let Some(listening) = listening {
            let _ = tokio::time::timeout(LEAVE_MAX, listening).await;
        }
    }

    pub fn is_alive(&self) -> bool {
        self.exit.borrow().is_none()
    }

    /// Kills the whole group.
    pub fn kill(&self) {
        drop(lock(&self.group).take());
    }

    /// For an error message: the last line of standard error that looks like a refusal by the
    /// sandbox, else the last line.
    pub fn last_words(&self, config: &Server) -> String {
        let end = lock(&self.stderr_end);
        let text = clean(&String::from_utf8_lossy(&end));
        let shown = |line: &str| line.trim().chars().take(300).collect::<String>();
        if let Some(refused) = text.lines().rfind(|line| tells_of_refusal(line)).map(shown) {
            return format!("; it said: {refused}{}", start::hint(config, &refused));
        }
        let last = text.lines().rfind(|line| !line.trim().is_empty()).map(shown);
        last.map_or(String::new(), |last| format!("; its last output: {last}"))
    }
}

/// Reads standard error, so that the server never blocks on it, and keeps its end.
async fn listen(mut stderr: impl AsyncRead + Unpin, flow: Arc<Flow>, stderr_end: Arc<Mutex<Vec<u8>>>) {
    let own = Flow::default();
    let mut buffer = vec![0; 8 << 10];
    while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
        let mut end = lock(&stderr_end);
        end.extend_from_slice(&buffer[..read]);
        let surplus = end.len().saturating_sub(STDERR_MAX_BYTES);
        end.drain(..surplus);
        if own.add(&buffer[..read], "standard error") {
            // No longer read: the server blocks and is ended at the deadline of its call at the
            // latest.
            flow.end(own.verdict().unwrap_or_default());
            return;
        }
    }
}
