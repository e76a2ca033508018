//! Runs an approved call. No other code runs tools.

use crate::checkpoint::{CheckpointError, Reach};
use crate::tools::arguments::Arguments;
use crate::tools::builtin::Builtin;
use crate::tools::call::ToolCall;
use crate::tools::context::Context;
use crate::tools::outcome::{Keep, Outcome, fitted};
use crate::tools::planned::Planned;
use crate::tools::policy::Approved;
use crate::tools::{command, files, search};

/// Runs the call to its end; every failure becomes an error outcome. File tools run on a blocking
/// thread, commands as processes; both stop on `context.cancel`.
pub async fn execute(approved: Approved<ToolCall>, context: &Context) -> Outcome {
    let (call, network) = approved.into_parts();
    if let Some(servers) = context.servers.as_ref().filter(|servers| servers.has(&call.tool)) {
        // A server's claim that a tool only reads is not trusted: the call may change anything.
        let work = servers.call(call.clone(), &context.cancel);
        let outcome = with_checkpoint(&call, context, work).await.unwrap_or_else(Outcome::error);
        return bounded(outcome, context, Keep::HeadTail);
    }
    let Some(builtin) = Builtin::by_name(&call.tool) else {
        return Outcome::error(format!("tool `{}` is only described here; nothing can run it", call.tool));
    };
    if context.cancel.is_cancelled() {
        return Outcome::error(format!("`{}` was cancelled before it began", call.tool));
    }
    let keep = if builtin == Builtin::RunCommand { Keep::HeadTail } else { Keep::Head };
    let result = match builtin {
        Builtin::RunCommand => {
            let work = command::run(Arguments(&call.arguments), network, context);
            with_checkpoint(&call, context, work).await
        }
        _ => {
            let context = context.clone();
            blocking(move || match Planned::of(std::slice::from_ref(&call), &context)? {
                Some(planned) => changing_files(&[call], planned, &context).map(|mut all| all.remove(0)),
                None => reading(builtin, Arguments(&call.arguments), &context),
            })
            .await
        }
    };
    bounded(result.unwrap_or_else(Outcome::error), context, keep)
}

/// Shortens the outcome to the maximum size of one result.
fn bounded(outcome: Outcome, context: &Context, keep: Keep) -> Outcome {
    Outcome { text: fitted(&outcome.text, context.text_max_bytes, keep), ..outcome }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, String> + Send + 'static) -> Result<T, String> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|panic| Err(format!("the tool failed: {panic}; this is a bug in tools")))
}

/// Makes all file changes of approved calls or none, provided that they are still as `planned`.
pub async fn execute_planned(
    approved: Vec<Approved<ToolCall>>,
    planned: Planned,
    context: &Context,
) -> Result<Vec<Outcome>, String> {
    if context.cancel.is_cancelled() {
        return Err("it was cancelled before it began".to_owned());
    }
    let calls: Vec<ToolCall> = approved.into_iter().map(|one| one.into_parts().0).collect();
    let own = context.clone();
    let outcomes = blocking(move || changing_files(&calls, planned, &own)).await?;
    Ok(outcomes.into_iter().map(|outcome| bounded(outcome, context, Keep::Head)).collect())
}

fn changing_files(calls: &[ToolCall], planned: Planned, context: &Context) -> Result<Vec<Outcome>, String> {
    let paths = planned.paths();
    // Plan again under the project's lock, because another process may have changed files since.
    let work = || {
        let now = Planned::of(calls, context)?.ok_or("the calls do more than change files; this is a bug in tools")?;
        match planned.differs_from(&now) {
            Some(path) => Err(format!("{path} was changed meanwhile; nothing was changed")),
            None => Ok(now.make()?.into_iter().zip(calls).map(|(outcome, call)| shown(outcome, call)).collect()),
        }
    };
    let Some((turn, first)) = context.turn.as_ref().zip(calls.first()) else { return work() };
    let begun = turn.during(&first.tool, &Reach::Paths(paths), &|| lessons(context), work);
    let (outcomes, checkpoint) = begun.map_err(|error| not_run(first, &error))?;
    // A failed call may have changed something too.
    outcomes.map(|all| all.into_iter().map(|one| Outcome { checkpoint: Some(checkpoint), ..one }).collect())
}

/// Adds the changed lines in their current form if the call gave only parts of the file, because
/// the next edit builds on them.
fn shown(outcome: Outcome, call: &ToolCall) -> Outcome {
    if Builtin::by_name(&call.tool) != Some(Builtin::Edit) {
        return outcome;
    }
    let lines: String = outcome.changes.iter().map(files::changed::lines).collect();
    Outcome { text: format!("{}\n{lines}", outcome.text), ..outcome }
}

/// Runs `work`, which may change anything in the project, with a checkpoint before it, and records
/// its changes afterwards. If the future is dropped, the end of the turn records them.
async fn with_checkpoint(
    call: &ToolCall,
    context: &Context,
    work: impl Future<Output = Result<Outcome, String>>,
) -> Result<Outcome, String> {
    let Some(turn) = &context.turn else { return work.await };
    let (before, tool, own) = (turn.clone(), call.tool.clone(), context.clone());
    let begun = blocking(move || Ok(before.begin(&tool, &Reach::Everything, &|| lessons(&own)))).await?;
    let checkpoint = begun.map_err(|error| not_run(call, &error))?;
    let outcome = work.await.unwrap_or_else(Outcome::error);
    let after = turn.clone();
    let ended = blocking(move || Ok(after.end())).await?;
    let outcome = Outcome { checkpoint: Some(checkpoint), ..outcome };
    match ended {
        Ok(()) => Ok(outcome),
        Err(error) => {
            Ok(Outcome { text: format!("{}\nnote: its changes were not recorded: {error}", outcome.text), ..outcome })
        }
    }
}

fn lessons(context: &Context) -> Result<Vec<Vec<u8>>, String> {
    context.lessons.as_ref().map_or(Ok(Vec::new()), |lessons| lessons.rows()).map_err(|error| error.to_string())
}

fn not_run(call: &ToolCall, error: &CheckpointError) -> String {
    format!("`{}` was not run, because its changes could not be undone: {error}", call.tool)
}

fn reading(builtin: Builtin, arguments: Arguments<'_>, context: &Context) -> Result<Outcome, String> {
    match builtin {
        Builtin::ReadFile => files::read::run(arguments, context),
        Builtin::ListDir => files::list::run(arguments, context),
        Builtin::FindFiles => files::find::run(arguments, context),
        Builtin::SearchText => files::search::run(arguments, context),
        Builtin::IndexSearch => search::search(arguments, context),
        Builtin::IndexFindFiles => search::files::find(arguments, context),
        Builtin::IndexReadFile => search::files::read(arguments, context),
        Builtin::IndexSearchText => search::files::text(arguments, context),
        Builtin::IndexCallers => search::graph::callers(arguments, context),
        Builtin::IndexCallees => search::graph::callees(arguments, context),
        Builtin::IndexImports => search::graph::imports(arguments, context),
        Builtin::IndexDependents => search::graph::dependents(arguments, context),
        Builtin::IndexImpact => search::graph::impact(arguments, context),
        Builtin::IndexListMemories => search::memories(context),
        Builtin::DescribeImage => Err("only a turn can look at a picture; ask for it with `monobloc ask`".to_owned()),
        Builtin::Outline => search::files::outline(arguments, context),
        Builtin::Graph => search::graph::related(arguments, context),
        Builtin::Plan => Err("only a turn led by a model has a plan; nothing was set".to_owned()),
        other => Err(format!("`{}` is not read-only; this is a bug in tools", other.name())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ApproveMode;
    use crate::tools::Catalog;
    use crate::tools::files::walk::testing::Project;
    use crate::tools::policy::Policy;
    use serde_json::{Value, json};

    async fn run(project: &Project, name: &str, arguments: Value) -> Outcome {
        let catalog = Catalog::builtin();
        let call = ToolCall { tool: name.to_owned(), arguments: arguments.as_object().unwrap().clone() };
        let approved = Policy::of(ApproveMode::Never).approved(call, catalog.get(name).unwrap()).unwrap();
        execute(approved, &project.context).await
    }

    #[tokio::test]
    async fn every_tool_for_files_and_commands_runs() {
        let project = Project::with(&[("a.txt", "one\n")]);
        for (tool, arguments, expected) in [
            ("read_file", json!({ "path": "a.txt" }), "1| one"),
            ("search_text", json!({ "pattern": "one" }), "a.txt:1: one"),
            ("write_file", json!({ "path": "a.txt", "content": "two\n" }), "changed a.txt"),
            ("replace_in_file", json!({ "path": "a.txt", "old": "two", "new": "one" }), "changed a.txt"),
            (
                "edit",
                json!({ "path": "a.txt", "edits": [{ "old": "one", "new": "1\n2" }] }),
                "(+2 -1 lines)\n1| 1\n2| 2\n",
            ),
            ("edit", json!({ "path": "a.txt", "edits": [{ "old": "1\n2", "new": "one" }] }), "1| one\n"),
            ("run_command", json!({ "command": "cat a.txt" }), "one\n"),
            ("find_files", json!({ "pattern": "a.txt" }), "1 files"),
            ("move_file", json!({ "source": "a.txt", "destination": "c.txt" }), "moved a.txt to c.txt"),
            ("list_dir", json!({}), "c.txt  4 B"),
            ("delete_file", json!({ "path": "c.txt" }), "deleted c.txt"),
        ] {
            let outcome = run(&project, tool, arguments).await;
            assert!(outcome.is_ok() && outcome.text.contains(expected), "{tool}: {outcome:?}");
        }
    }

    #[tokio::test]
    async fn a_failed_tool_is_an_error_and_a_cancelled_one_does_not_begin() {
        let project = Project::with(&[]);
        let missing = run(&project, "read_file", json!({ "path": "none" })).await;
        assert!(!missing.is_ok() && missing.text.contains("`none` does not exist"), "{missing:?}");
        project.context.cancel.cancel();
        let late = run(&project, "write_file", json!({ "path": "a", "content": "" })).await;
        assert!(!late.is_ok() && !project.dir.path().join("a").exists(), "{late:?}");
    }
}
