//! `eval work`: runs an agent on copies of real projects, checks each request with a command, and counts harm.

pub mod agent;
mod child;
mod state;
pub mod words;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Report, jsonl, percentile};
use crate::base::Cancel;
use agent::{Agent, Cost, Said};
use child::Ended;
use state::{Change, State};
use words::Replies;

/// Maximum time for the setup, and for the check, of one case.
const COMMAND_TIME_MAX: Duration = Duration::from_secs(60);

/// One request, and how to check whether it was carried out.
///
/// `setup` and `check` are bash commands that run in the copy of the project. `$ROOT` is the folder
/// with all projects; for `check`, `$ANSWER` is a file with the agent's answer. `check` succeeds if
/// the request was carried out.
#[derive(Clone, Debug, Deserialize)]
pub struct Case {
    pub id: String,
    #[serde(default = "other")]
    pub kind: String,
    /// Folder of the project, relative to the root.
    pub project: String,
    pub request: String,
    pub check: String,
    /// Prepares the copy for the request, for example by inserting a bug.
    #[serde(default)]
    pub setup: Option<String>,
    /// Files that the request may change; `*` matches any text. Without this, every file.
    #[serde(default = "anything")]
    pub touch: Vec<String>,
}

fn other() -> String {
    "other".to_owned()
}

fn anything() -> Vec<String> {
    vec!["*".to_owned()]
}

/// Reads a suite: JSON lines of [`Case`].
pub fn read(suite: &Path) -> Result<Vec<Case>> {
    jsonl::read(suite, r#"{"id", "project", "request", "check", "kind"?, "setup"?, "touch"?}"#)
}

pub struct Run<'a> {
    /// The folder with all projects.
    pub root: &'a Path,
    pub only: Option<&'a str>,
    pub agent: &'a Agent,
    pub limit: Duration,
    /// The folder with hand-written planner replies, if a person plays the planner.
    pub replies: Option<&'a Replies>,
    /// Receives the answer (ID.answer.txt) and the changes (ID.patch) of each case.
    pub keep: Option<&'a Path>,
    pub cancel: &'a Cancel,
}

#[derive(Debug, Serialize)]
struct Outcome<'a> {
    id: &'a str,
    kind: &'a str,
    project: &'a str,
    request: &'a str,
    /// `done`, `failed`, or `harmed` regardless of the check.
    verdict: &'static str,
    harm: Vec<String>,
    seconds: f64,
    cost: Option<Cost>,
    /// The share of the words in the model's last reply that reached the answer, if known.
    kept: Option<f64>,
    timed_out: bool,
    answer: String,
    changed: Vec<Change>,
    /// The end of the check's output, and of the agent's output apart from its answer.
    check: String,
    agent: String,
}

/// Runs the cases one after another and returns their figures as one JSON object.
pub fn run(run: &Run, cases: &[Case], report: &mut Report) -> Result<Value> {
    let root = std::path::absolute(run.root)?;
    let chosen: Vec<&Case> = cases.iter().filter(|case| run.only.is_none_or(|part| case.id.contains(part))).collect();
    if chosen.is_empty() {
        bail!("none of the {} cases of the suite has {:?} in its id", cases.len(), run.only.unwrap_or_default());
    }
    // Fail now rather than after minutes of work.
    if let Some(case) = chosen.iter().find(|case| !root.join(&case.project).is_dir()) {
        let (id, project, root) = (&case.id, &case.project, root.display());
        bail!("case {id} works on {project}, which is not in {root}; scripts/fetch-suites {root} fetches the projects");
    }
    if let Some(folder) = run.keep {
        std::fs::create_dir_all(folder).with_context(|| format!("--keep {} cannot be created", folder.display()))?;
    }
    let mut outcomes = Vec::new();
    for case in chosen {
        let outcome = one(run, case, &root).with_context(|| format!("case {}", case.id))?;
        report.say(|| outcome.line());
        report.write(&outcome)?;
        outcomes.push(outcome);
    }
    Ok(figures(&outcomes))
}

/// A temporary folder with a fresh copy of the case's project and the file for the answer.
struct Workspace {
    folder: tempfile::TempDir,
    root: PathBuf,
}

impl Workspace {
    fn project(&self, case: &Case) -> PathBuf {
        // The copy keeps the project's name, because agents show it to their models.
        self.folder.path().join("work").join(Path::new(&case.project).file_name().unwrap_or_default())
    }

    fn answer(&self) -> PathBuf {
        self.folder.path().join("answer.txt")
    }

    /// Runs a bash command of the suite in the copy.
    fn bash(&self, case: &Case, line: &str, cancel: &Cancel) -> Result<Ended> {
        let mut command = Command::new("bash");
        command.args(["-c", line]).current_dir(self.project(case));
        command.env("ROOT", &self.root).env("ANSWER", self.answer());
        child::run(&mut command, COMMAND_TIME_MAX, cancel)
    }
}

fn one<'a>(run: &Run, case: &'a Case, root: &Path) -> Result<Outcome<'a>> {
    let workspace = Workspace { folder: tempfile::tempdir().context("no temporary folder")?, root: root.to_owned() };
    let project = workspace.project(case);
    state::copy(&root.join(&case.project), &project)?;
    if let Some(setup) = &case.setup {
        let ended = workspace.bash(case, setup, run.cancel)?;
        if !ended.success {
            bail!("its setup failed: {}", ended.tail());
        }
    }
    // Some agents need a git repository. The setup is part of the first commit, so that no diff
    // shows it. Without git on the machine, the case runs without a repository.
    let commit = "git init -q && git add -A && git -c user.name=suite -c user.email=suite@localhost -c commit.gpgsign=false \
                  commit -q --no-verify -m start";
    workspace.bash(case, commit, run.cancel)?;
    let before = State::of(&project)?;
    let replied = run.replies.map(Replies::latest);
    let ended = child::run(&mut run.agent.command(&project, &case.request), run.limit, run.cancel)?;
    let after = State::of(&project)?;
    let Said { answer, cost } = run.agent.said(&ended);
    let said = run.replies.zip(replied).and_then(|(replies, before)| replies.last_words(before));
    std::fs::write(workspace.answer(), &answer)?;
    if let Some(folder) = run.keep {
        keep(folder, &workspace, case, run.cancel)?;
    }
    let checked = workspace.bash(case, &case.check, run.cancel)?;
    let changed = before.changes(&after);
    let harm = before.harm(&after, &changed, &case.touch);
    let verdict = match (harm.is_empty(), checked.success) {
        (false, _) => "harmed",
        (true, true) => "done",
        (true, false) => "failed",
    };
    Ok(Outcome {
        id: &case.id,
        kind: &case.kind,
        project: &case.project,
        request: &case.request,
        verdict,
        harm,
        seconds: (ended.seconds * 10.0).round() / 10.0,
        cost,
        kept: said.map(|said| words::kept(&said, &answer)),
        timed_out: ended.cut,
        answer,
        changed,
        check: checked.tail(),
        agent: Ended { stdout: String::new(), ..ended }.tail(),
    })
}

/// Copies the answer and the changes of a case to `folder`. Without git on the machine there is no
/// patch.
fn keep(folder: &Path, workspace: &Workspace, case: &Case, cancel: &Cancel) -> Result<()> {
    // An id comes from us or from the suite's author; a path in it must not lead out of the folder.
    let name = case.id.replace(['/', '\\'], "_");
    std::fs::copy(workspace.answer(), folder.join(format!("{name}.answer.txt")))?;
    // Use a separate git index, because a check may ask git which files are new.
    let line = "export GIT_INDEX_FILE=\"$ANSWER.index\"; cp .git/index \"$GIT_INDEX_FILE\" && git add -A -N . && \
                git --no-pager diff --no-color HEAD";
    let patch = workspace.bash(case, line, cancel)?;
    if patch.success {
        std::fs::write(folder.join(format!("{name}.patch")), patch.stdout)?;
    }
    Ok(())
}

impl Outcome<'_> {
    /// Minimum share for an answer to count as complete.
    const WHOLE: f64 = 0.99;

    fn is_whole(&self) -> bool {
        self.kept.is_some_and(|kept| kept >= Outcome::WHOLE)
    }

    fn line(&self) -> String {
        let why = match self.harm.first() {
            Some(harm) => format!(": {harm}"),
            None if self.timed_out => ": was ended, because it took too long or printed too much".to_owned(),
            None => String::new(),
        };
        let cost = self.cost.as_ref().map(|cost| {
            format!("  {} calls, {} prompt tokens, {} in the first", cost.calls, cost.prompts, cost.first_prompt)
        });
        let kept = self.kept.map(|kept| match self.is_whole() {
            true => "  answer whole".to_owned(),
            false => format!("  {:.0} % of the model's last reply in the answer", kept * 100.0),
        });
        let (cost, kept) = (cost.unwrap_or_default(), kept.unwrap_or_default());
        format!("{:<6} {:>6.1} s  {} ({}){cost}{kept}{why}", self.verdict, self.seconds, self.id, self.kind)
    }
}

/// The figures of all cases, and of each kind of case.
fn figures(outcomes: &[Outcome]) -> Value {
    let mut by_kind: BTreeMap<&str, Vec<&Outcome>> = BTreeMap::new();
    for outcome in outcomes {
        by_kind.entry(outcome.kind).or_default().push(outcome);
    }
    let by_kind: BTreeMap<&str, Value> = by_kind.into_iter().map(|(kind, own)| (kind, sums(own))).collect();
    let mut figures = sums(outcomes.iter().collect());
    // Null for an agent that does not report its cost.
    let median = |of: fn(&Cost) -> usize| {
        let mut counts: Vec<f64> =
            outcomes.iter().filter_map(|one| one.cost.as_ref()).map(|it| of(it) as f64).collect();
        (!counts.is_empty()).then(|| percentile(&mut counts, 0.5) as u64)
    };
    figures["tokens_p50"] = json!(median(|cost| cost.tokens));
    figures["calls_p50"] = json!(median(|cost| cost.calls));
    figures["first_prompt_p50"] = json!(median(|cost| cost.first_prompt));
    figures["prompts_p50"] = json!(median(|cost| cost.prompts));
    let compared = outcomes.iter().filter(|one| one.kept.is_some()).count();
    let whole = outcomes.iter().filter(|one| one.is_whole()).count();
    figures["answers_whole"] = json!((compared > 0).then_some(whole));
    figures["by_kind"] = json!(by_kind);
    figures
}

fn sums(outcomes: Vec<&Outcome>) -> Value {
    let with = |verdict: &str| outcomes.iter().filter(|outcome| outcome.verdict == verdict).count();
    let mut seconds: Vec<f64> = outcomes.iter().map(|outcome| outcome.seconds).collect();
    json!({
        "cases": outcomes.len(), "done": with("done"), "harmed": with("harmed"), "seconds_p50": percentile(&mut seconds, 0.5),
    })
}

#[cfg(test)]
mod tests;
