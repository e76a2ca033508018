//! Copies the project to a temporary folder, to run checks on changes not yet written and on
//! earlier versions of files.

use std::time::Duration;

use tempfile::TempDir;

use crate::agent::toolkit::TurnError;
use crate::base::folder;
use crate::edit::executed::{self, Executed};
use crate::edit::failures::{self, Report};
use crate::tools::builtin::Builtin;
use crate::tools::confine::{Access, Root};
use crate::tools::policy::Approved;
use crate::tools::{Context, Outcome, ToolCall};

use super::{Job, command};

/// Maximum number and total bytes of files in a project that is copied.
const FILES_MAX: usize = 20_000;
const BYTES_MAX: u64 = 256 << 20;

/// A copy of the project, removed on drop.
pub struct Copy {
    _folder: TempDir,
    context: Context,
}

impl Copy {
    /// `count` copies; `None` if the project is too large or cannot be copied.
    pub async fn several(job: Job<'_>, count: usize) -> Result<Option<Vec<Copy>>, TurnError> {
        let context = job.scene.context.clone();
        let copies = move || (0..count).map(|_| Copy::of(&context)).collect();
        tokio::task::spawn_blocking(copies).await.map_err(|error| TurnError::Lost(error.to_string()))
    }

    pub async fn one(job: Job<'_>) -> Result<Option<Copy>, TurnError> {
        Ok(Copy::several(job, 1).await?.and_then(|mut all| all.pop()))
    }

    fn of(context: &Context) -> Option<Copy> {
        let temp = tempfile::Builder::new().prefix("monobloc-copy-").tempdir().ok()?;
        let left_out = |name: &str| [".git", ".monobloc", "__pycache__", "target"].contains(&name);
        folder::copy(context.root.path(), temp.path(), FILES_MAX, BYTES_MAX, &left_out).ok()?;
        let root = Root::open(temp.path()).ok()?.hiding(context.commands.hidden.clone());
        let context = Context { root, turn: None, index: None, ..context.clone() };
        Some(Copy { _folder: temp, context })
    }

    pub fn root(&self) -> &std::path::Path {
        self.context.root.path()
    }

    /// Writes a file, or removes it if `text` is `None`; returns whether that succeeded. Fails for
    /// a path that leads out of the copy through a link.
    pub fn put(&self, path: &str, text: Option<&str>) -> bool {
        let Ok(file) = self.context.root.resolve(path, Access::Write) else { return false };
        // Python reuses compiled code if the source has the same length and was changed within the
        // same second.
        if let Some(folder) = file.absolute().parent() {
            let _ = std::fs::remove_dir_all(folder.join("__pycache__"));
        }
        match text {
            Some(text) => std::fs::write(file.absolute(), text).is_ok(),
            None => std::fs::remove_file(file.absolute()).is_ok(),
        }
    }

    pub async fn run(&self, check: Approved<ToolCall>) -> Outcome {
        crate::tools::execute(check, &self.context).await
    }

    /// The lines that the command `line` executes; empty if they cannot be recorded.
    pub async fn executed(&self, job: Job<'_>, line: &str, limit: Duration) -> Executed {
        let noted = executed::noted(self.root(), line).and_then(|line| right(job, &line, limit));
        let Some(right) = noted else { return Executed::default() };
        let _ = self.run(right).await;
        Executed::read(self.root())
    }

    /// Parses the output of a check that ran here.
    pub fn report(&self, outcome: &Outcome) -> Report {
        failures::read(&outcome.text, self.root(), outcome.is_ok())
    }
}

/// Permission to run, on a copy, a command that the user has consented to in the project; `None` if
/// the user wants to be asked each time.
pub fn right(job: Job<'_>, line: &str, limit: Duration) -> Option<Approved<ToolCall>> {
    let name = Builtin::RunCommand.name();
    let spec = job.scene.toolkit.catalog.get(name)?;
    let call = ToolCall { tool: name.to_owned(), arguments: command::arguments(line, Some(limit)) };
    job.scene.host.policy().again_on_a_copy(call, spec)
}

/// The report of the command `line` on a copy with the `files` from before the change; `None` if it
/// passes or cannot be run.
pub async fn failing_before<'f>(
    job: Job<'_>,
    line: &str,
    limit: Duration,
    files: impl Iterator<Item = (&'f str, Option<&'f str>)>,
) -> Result<Option<Report>, TurnError> {
    let Some(right) = right(job, line, limit) else { return Ok(None) };
    let Some(copy) = Copy::one(job).await? else { return Ok(None) };
    for (path, text) in files {
        if !copy.put(path, text) {
            return Ok(None);
        }
    }
    let outcome = copy.run(right).await;
    Ok((!outcome.is_ok()).then(|| copy.report(&outcome)))
}
