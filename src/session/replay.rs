//! Repeats the tool calls of a turn on a copy of the project as it was at the time, and compares the results.

use std::path::Path;

use serde_json::{Map, Value};

use super::history::{CallRecord, TurnRecord};
use crate::base::Cancel;
use crate::checkpoint::{CheckpointError, Entry, Origin, Store};
use crate::config::ApproveMode;
use crate::index::Index;
use crate::protocol::{StepReport, StepStatus};
use crate::tools::confine::Root;
use crate::tools::{Catalog, Context, ToolCall, execute, policy::Policy};

/// Tools whose result depends only on the project's files, so the same files must yield the same
/// result.
const REPLAYABLE: [&str; 12] = [
    "read_file",
    "list_dir",
    "find_files",
    "search_text",
    "write_file",
    "replace_in_file",
    "edit",
    "delete_file",
    "move_file",
    "index_callers",
    "index_callees",
    "index_dependents",
];

/// A comparison of a call's second result with its first.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    Same,
    /// Contains the first line of the new result.
    Different(String),
    NotRun(String),
}

#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Compared {
    pub call: CallRecord,
    pub outcome: Comparison,
}

#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Replayed {
    pub calls: Vec<Compared>,
    /// Files that differ from the turn's final state, as (path, content now, content then).
    pub files: Vec<(String, String, String)>,
    /// Files missing from the copy because their content was never stored.
    pub missing: Vec<String>,
    /// Whether `files` was computed; false if a changing call was not run.
    pub files_compared: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    #[error("the turn has no checkpoint: it ran nothing that could change anything, so there is no state to run it on")]
    NoCheckpoint,
    #[error("the copy cannot be used: {0}")]
    Copy(String),
}

/// Replays `turn` in `scratch`, an empty folder. If `commands`, shell commands run too; they may
/// act outside that folder.
pub async fn replay(
    project: &Path,
    turn: &TurnRecord,
    scratch: &Path,
    commands: bool,
    cancel: &Cancel,
) -> Result<Replayed, ReplayError> {
    let store = Store::existing(project)?.ok_or(ReplayError::NoCheckpoint)?;
    let name = turn.checkpoint.as_deref().ok_or(ReplayError::NoCheckpoint)?;
    let number = name.strip_prefix('c').and_then(|number| number.parse().ok());
    let found = number.map(|number: i64| store.find(number)).transpose()?.flatten();
    let checkpoint = found.ok_or_else(|| CheckpointError::Unknown(name.to_owned()))?;
    let missing = store.copy_to(project, &checkpoint, scratch)?;
    let mut replayed = Replayed {
        missing: missing.iter().map(|path| path.display().to_string()).collect(),
        files_compared: true,
        ..Replayed::default()
    };
    let copy = |error: &dyn std::fmt::Display| ReplayError::Copy(error.to_string());
    let root = Root::open(scratch).map_err(|error| copy(&error))?;
    let mut context = Context::new(root, cancel.clone());
    if turn.calls.iter().any(|call| call.report.tool.starts_with("index_")) {
        let index = Index::open(scratch).map_err(|error| copy(&error))?;
        index.refresh_lexical(&mut |_| (), cancel).map_err(|error| copy(&error))?;
        context.index = Some(index.into());
    }
    let catalog = Catalog::builtin();
    for call in &turn.calls {
        let (outcome, report) = (replay_call(&call.report, &catalog, &context, commands).await, &call.report);
        let skipped =
            matches!(outcome, Comparison::NotRun(_)) && catalog.get(&report.tool).is_none_or(|spec| spec.mutates);
        replayed.files_compared &= !skipped || report.status.is_refused();
        replayed.calls.push(Compared { call: call.clone(), outcome });
    }
    if replayed.files_compared {
        replayed.files = differences(&store, checkpoint.id, scratch)?;
    }
    Ok(replayed)
}

async fn replay_call(call: &StepReport, catalog: &Catalog, context: &Context, commands: bool) -> Comparison {
    let not_run = |why: &str| Comparison::NotRun(why.to_owned());
    if !matches!(call.status, StepStatus::Succeeded | StepStatus::Failed) {
        return not_run("it was not run originally either");
    }
    if call.summary.starts_with("the same as ") {
        return not_run("it was answered by an earlier call");
    }
    let is_command = call.tool == "run_command";
    if is_command && !commands {
        return not_run("a command may do things outside the copy; --commands runs it");
    }
    if !is_command && !REPLAYABLE.contains(&call.tool.as_str()) {
        return not_run("its answer depends on more than the project's files");
    }
    let Some(spec) = catalog.get(&call.tool) else { return not_run("this program has no such tool") };
    let arguments: Map<String, Value> = call.arguments.as_object().cloned().unwrap_or_default();
    let wanted = ToolCall { tool: call.tool.clone(), arguments };
    // The user consented during the turn, for the project itself; calls that are always denied are
    // denied here too.
    let approved = match Policy::of(ApproveMode::Never).approved(wanted, spec) {
        Ok(approved) => approved,
        Err(refusal) => return Comparison::NotRun(refusal.to_string()),
    };
    let outcome = execute(approved, context).await;
    if outcome.fingerprint() == call.result_hash {
        return Comparison::Same;
    }
    let first = outcome.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    Comparison::Different(crate::tools::outcome::cut_line(first, 160))
}

/// Files that the turn changed and that differ in the copy; see [`Replayed::files`].
fn differences(store: &Store, checkpoint: i64, scratch: &Path) -> Result<Vec<(String, String, String)>, ReplayError> {
    let mut last = std::collections::BTreeMap::new();
    for change in store.changes_of(checkpoint)? {
        if matches!(change.origin, Origin::Call(_)) {
            last.insert(change.path, change.new);
        }
    }
    let mut different = Vec::new();
    for (path, then) in last {
        let now = Entry::at(&scratch.join(&path)).map_err(|error| ReplayError::Copy(error.to_string()))?;
        if now != then && then.is_restorable() {
            different.push((path.display().to_string(), now.to_string(), then.to_string()));
        }
    }
    Ok(different)
}
