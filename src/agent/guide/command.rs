//! Runs the command of a step: the one that it spells out, the project's own for tests and builds,
//! or else a line that the model writes.

use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::agent::evidence::{Entry, Evidence};
use crate::agent::player::Form;
use crate::agent::question::Question;
use crate::agent::toolkit::TurnError;
use crate::agent::{self, lessons, whole};
use crate::budget::permit::Priority;
use crate::edit::testing::{self, Task};
use crate::models::dialect::Message;
use crate::protocol::StepStatus;
use crate::request::forms;
use crate::request::named::{Found, Named};
use crate::tools::builtin::Builtin;
use crate::tools::command::did_not_start;

use super::{Done, Job, verify};

const PROMPT: &str = "Write the one shell command that does what the developer asks, in the root folder of the project. Answer with the command alone.";
/// The form of a command written by a model.
const LINE: &str = "start: /[a-zA-Z.\\/_][^\\n`]+/\n";
/// Maximum number of project files listed in the prompt.
const FILES_SHOWN: usize = 40;

/// Commands built into the shell, which are not programs in `PATH`.
const BUILT_INTO_SHELLS: &[&str] =
    &["cd", "echo", "export", "set", "source", ".", "type", "ulimit", "command", "for", "if", "while"];

/// Runs the command that the step asks for; if none is found, a note says so.
pub async fn run(job: Job<'_>, evidence: &mut Evidence) -> Result<Done, TurnError> {
    let line = match spelled_out(job).map(Ok).or_else(|| tests_of_places(job)) {
        Some(Ok(line)) => Ok(Some(line)),
        Some(Err(why)) => return Ok(Done::note(format!("not done: {why}"))),
        None => match known(job) {
            Some(line) => Ok(Some(line)),
            None => by_the_model(job, None).await?,
        },
    };
    let line = match line {
        Ok(line) => line,
        Err(why) => {
            let why = format!("the model's command was not run, because {why}");
            return Ok(Done::note(format!("not done: {why}; name the command, in backticks")));
        }
    };
    let Some(line) = line else {
        let asked = &job.step.text;
        return Ok(Done::note(format!("not done: no command was found for `{asked}`; name the command to run")));
    };
    let entry = perform(job, &line, None, evidence).await?;
    let is_asked_for = job.step.text.says(&line);
    if is_asked_for || entry.status != StepStatus::Failed || !did_not_start(&line, &entry.outcome) {
        return Ok(Done::default());
    }
    let (first, why) = (entry.id, entry.last_line());
    let Some(other) = another_way(job, &line, &why).await? else { return Ok(Done::default()) };
    job.scene.host.notice(&format!("`{line}` did not start ({why}); trying `{other}` instead"));
    if perform(job, &other, None, evidence).await?.succeeded() {
        evidence.set_aside(first);
    }
    Ok(Done::default())
}

/// Another command for a step whose command `line` did not start: the project's own command for
/// tests, else one that the model writes after reading the reason.
async fn another_way(job: Job<'_>, line: &str, why: &str) -> Result<Option<String>, TurnError> {
    let of_tests = job.step.text.speaks_of_tests();
    let of_project = || verify::checks_of(job).ready(job.root(), Task::Test).ok();
    if let Some(other) = of_project().filter(|other| of_tests && other != line) {
        return Ok(Some(other));
    }
    let written = by_the_model(job, Some((line, why))).await?.ok().flatten();
    Ok(written.filter(|other| other != line))
}

/// Runs `line` as a tool call, with consent; `limit` is the time limit.
pub async fn perform<'e>(
    job: Job<'_>,
    line: &str,
    limit: Option<Duration>,
    evidence: &'e mut Evidence,
) -> Result<&'e Entry, TurnError> {
    job.perform(Builtin::RunCommand, Value::Object(arguments(line, limit)), evidence).await
}

/// The arguments of a call that runs `line`.
pub fn arguments(line: &str, limit: Option<Duration>) -> Map<String, Value> {
    let limit = limit.map(|limit| ("timeout_s".to_owned(), json!(limit.as_secs())));
    [("command".to_owned(), json!(line))].into_iter().chain(limit).collect()
}

/// The command that the step quotes, or that the project's manifest defines for its words (tests,
/// builds).
fn spelled_out(job: Job<'_>) -> Option<String> {
    let of_project = || forms::project_command(&job.step.part, job.root());
    job.step.text.command().map(str::to_owned).or_else(of_project)
}

/// The command for `run the tests in F`, where F are files and folders; the error states why there
/// is none. `None` if the step asks for something else.
fn tests_of_places(job: Job<'_>) -> Option<Result<String, String>> {
    let names = agent::names(job.scene.toolkit, &job.step.text);
    let named = names.places_of_tests(|folder| job.root().join(folder).is_dir())?;
    if let Some(why) = named.iter().filter(|one| !matches!(one.found, Found::Folder(_))).find_map(Named::trouble) {
        return Some(Err(why));
    }
    let all = crate::index::files_of(job.root());
    let is_in = |path: &str, one: &Named| match &one.found {
        Found::Folder(folder) => {
            let folder = folder.trim_end_matches('/');
            path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')) && testing::is_test_file(path)
        }
        found => *found == Found::File(path.to_owned()),
    };
    let tests: Vec<String> = all.into_iter().filter(|path| named.iter().any(|one| is_in(path, one))).collect();
    let places: Vec<String> = named.iter().map(|one| format!("`{}`", one.said)).collect();
    Some(verify::checks_of(job).covering(&tests).ok_or_else(|| {
        let why = verify::why_untested(job).map(|why| format!(": {why}")).unwrap_or_default();
        format!("no runnable test was found in {}{why}", places.join(" and "))
    }))
}

/// The command that succeeded earlier for exactly this step.
fn known(job: Job<'_>) -> Option<String> {
    let (stored, solution) = job.lesson.filter(|(_, solution)| solution.tool == Builtin::RunCommand.name())?;
    let line = solution.arguments.get("command")?.as_str()?.to_owned();
    if !is_command(&line, job.root()) {
        return None;
    }
    job.scene.host.emit(lessons::used(job.step, stored, "writing a command"));
    Some(line)
}

/// Has the model write the command, given the command that `failed` to start and the reason; `None`
/// if the answer does not begin with a program. The inner error states why the answer is
/// incomplete.
async fn by_the_model(job: Job<'_>, failed: Option<(&str, &str)>) -> Result<Result<Option<String>, String>, TurnError> {
    let scene = job.scene;
    let mut files = job.index.paths().unwrap_or_default();
    files.sort_by_key(|path| path.matches('/').count());
    files.truncate(FILES_SHOWN);
    let failed = failed
        .map_or(String::new(), |(line, why)| format!("\n\n`{line}` does not start: {why}. Write another command."));
    let user = format!("Files: {}\n\nRequest: {}{failed}", files.join(" "), job.step.text);
    let model = job.model().await?;
    let question = Question {
        toolkit: scene.toolkit,
        model: &model,
        host: scene.host,
        phase: "writing a command",
        priority: Priority::Step,
    };
    let messages = [Message::system(PROMPT), Message::user(user)];
    let output = question.output(&messages, job.limits().calls, Form::Lark(LINE.to_owned())).await?;
    if let Some(why) = whole::why_cut(&output) {
        return Ok(Err(why));
    }
    let line = output.text.trim().to_owned();
    Ok(Ok(is_command(&line, scene.context.root.path()).then_some(line)))
}

/// Whether a line begins with an existing program, possibly after variables like `A=1`; prose does
/// not.
fn is_command(line: &str, root: &Path) -> bool {
    let is_set = |word: &&str| {
        word.split_once('=').is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
    };
    let Some(program) = line.split_whitespace().find(|word| !is_set(word)) else { return false };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path = || std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    BUILT_INTO_SHELLS.contains(&program) || root.join(program).is_file() || !program.contains('/') && in_path()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_begins_with_an_existing_program() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("run.sh"), "").unwrap();
        for line in ["ls -la", "LANG=C ls", "cd src && ls", "./run.sh --all"] {
            assert!(is_command(line, root.path()), "{line}");
        }
        for line in ["To run the tests, use make", "no_such_program_here x", "", "A=1"] {
            assert!(!is_command(line, root.path()), "{line}");
        }
    }
}
