//! Carries out a request with a model that was measured to be able to write: code selects the context, the model writes, code checks the
//! result and writes the files.
//!
//! `read` turns the request into steps; each kind of step has a file. Every tool call goes through `execute::perform`, which takes care of
//! consent, checkpoint and evidence.

mod answer;
mod change;
mod code;
mod command;
mod copy;
mod data;
mod explicit;
mod files;
mod fill;
mod grammar;
mod items;
mod line_edit;
mod new_test;
mod passage;
mod pick;
pub mod read;
mod relocate;
mod rename;
mod repair;
pub mod reply;
mod tested;
mod tool;
mod trial;
mod verify;

use crate::edit::testing;
use crate::engine::pool::Leased;
use crate::index::Index;
use crate::models::{Role, Tier};
use crate::protocol::{Event, PlanStatus, StepState, StepStatus};
use crate::tools::builtin::Builtin;

use super::Host;
use super::evidence::{Entry, Evidence};
use super::execute::Scene;
use super::plan::{Plan, PlannedStep};
use super::probe;
use super::synthesize;
use super::toolkit::{Toolkit, TurnError};
use crate::context::mentions::{self, Mentions};
pub use crate::context::text_of;
use crate::context::{self, Pack, Purpose, Touched};
use crate::language::clauses;
use crate::language::clauses::Part;
use crate::language::words;
use crate::request::{Kind, Step, kind, renames, substitution};
pub use change::exists;

/// Words of a request that put new tests into the file of the code.
const SAME_FILE: &[&str] =
    &["same file", "selben datei", "gleichen datei", "même fichier", "mismo archivo", "mismo fichero"];
/// Most tokens of code in the prompt of one step: about seven seconds of prefill on two cores with a 1.5B model.
const CONTEXT_TOKENS: usize = 1_600;
/// Characters that the user is shown of a command that checked a change.
const COMMAND_CHARS: usize = 90;
/// Code takes at most one part in this many of the model's context window.
const SLOT_SHARE: usize = 3;

/// What a step needs to run.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    pub scene: Scene<'a>,
    pub model: &'a Leased,
    pub index: &'a Index,
    /// The request has several steps.
    pub of_several: bool,
    /// What earlier steps of this turn changed.
    pub touched: &'a [Touched],
    /// Whether the model was measured to be able to write; if not, only small changes are tried.
    pub writes: bool,
}

/// The result of a step.
#[derive(Debug, Default)]
pub struct Done {
    /// Text for the user.
    pub said: String,
    pub touched: Vec<Touched>,
    /// Why the step was not carried out, or what is wrong with the result; empty if it succeeded.
    pub notes: Vec<String>,
}

impl Done {
    /// A step with this note.
    pub fn note(note: impl Into<String>) -> Done {
        Done { notes: vec![note.into()], ..Done::default() }
    }
}

/// Whether the planner handles this request: it was measured to be able to write, and a list of the index is not the whole answer.
pub async fn is_for(toolkit: &Toolkit, parts: &[Part], host: &dyn Host) -> Result<bool, TurnError> {
    if toolkit.index.is_none() || answer::is_list(toolkit, parts) {
        return Ok(false);
    }
    Ok(probe::tier(toolkit, host).await? >= Tier::Writes)
}

/// Reads the request into steps and carries them out in order. Text goes to the host as it is generated. Returns the plan and the answer.
pub async fn run(scene: Scene<'_>, evidence: &mut Evidence) -> Result<(Plan, String), TurnError> {
    let Some(index) = scene.toolkit.index.as_deref() else {
        return Err(TurnError::Lost("a turn without an index came to work; this is a bug in orchestrate".to_owned()));
    };
    let steps = read::steps(scene).await?;
    let plan = Plan { steps: steps.iter().map(planned).collect(), questions: Vec::new() };
    scene.host.emit(Event::PlanCreated { plan: plan.view(PlanStatus::Pending) });
    let mut touched: Vec<Touched> = Vec::new();
    let mut answer = String::new();
    for step in &steps {
        scene.host.emit(Event::StepExecuting { step: step.id, description: step.text.clone() });
        scene.host.emit(Event::StepState { step: step.id, state: StepState::Thinking });
        let before = evidence.entries().len();
        let by_code = match step.kind {
            Kind::Edit => explicit::change(scene, index, step, evidence).await?,
            _ => None,
        };
        let done = match by_code {
            Some(done) => done,
            None => {
                let model = scene.toolkit.model(Role::Planner, scene.host).await?;
                let job =
                    Job { scene, model: &model, index, of_several: steps.len() > 1, touched: &touched, writes: true };
                carry_out(job, step, evidence).await?
            }
        };
        let state = if done.notes.is_empty() { StepState::Complete } else { StepState::FailedToExecute };
        scene.host.emit(Event::StepState { step: step.id, state });
        let mut facts = facts_of(step, &evidence.entries()[before..]);
        facts.extend(done.notes.iter().map(|note| format!("- {note}")));
        let gap = if answer.is_empty() { "" } else { "\n" };
        answer.push_str(gap);
        answer.push_str(&done.said);
        if !facts.is_empty() {
            let gap = if done.said.is_empty() || done.said.ends_with('\n') { "" } else { "\n" };
            let facts = format!("{gap}{}\n", facts.join("\n"));
            scene.host.emit(Event::Token { text: facts.clone() });
            answer.push_str(&facts);
        }
        touched.extend(done.touched);
    }
    if answer.trim().is_empty() {
        answer = "Nothing was found or done.".to_owned();
        scene.host.emit(Event::Token { text: answer.clone() });
    }
    Ok((plan, answer.trim_end().to_owned()))
}

#[tracing::instrument(name = "step", skip_all, fields(step = %step.id, kind = step.kind.name()))]
async fn carry_out(job: Job<'_>, step: &Step, evidence: &mut Evidence) -> Result<Done, TurnError> {
    if let Some(done) = tool::call(job, step, evidence).await? {
        tracing::debug!("a tool of a server");
        return Ok(done);
    }
    tracing::debug!("carried out");
    Ok(match step.kind {
        Kind::Ask => Done { said: answer::answer(job, step, evidence).await?, ..Done::default() },
        Kind::Run => command::run(job, step, evidence).await?,
        Kind::Fix => repair::fix(job, step, evidence).await?,
        Kind::Rename => rename::rename(job.scene, job.index, step, evidence).await?,
        Kind::Move => match relocate::relocate(job.scene, job.index, step, evidence).await? {
            Some(done) => done,
            None => change::change(job, step, evidence).await?,
        },
        Kind::Edit => match repair::reported(job, step, evidence).await? {
            Some(done) => done,
            None => change::change(job, step, evidence).await?,
        },
    })
}

/// Whether a text without a question mark says which value, text or name replaces which.
pub fn says_what_becomes_what(text: &str) -> bool {
    !text.contains('?') && (substitution::of(text).is_some() || substitution::of_names(text).is_some())
}

/// Carries out the renames and moves, or the edit from one value to another, that `step` spells out, without a model. `None` if it spells
/// out none.
pub async fn spelled_out(
    scene: Scene<'_>,
    index: &Index,
    step: &Step,
    evidence: &mut Evidence,
) -> Result<Option<Done>, TurnError> {
    let Some(steps) = renames::all(&step.text) else { return explicit::change(scene, index, step, evidence).await };
    let mut all = Done::default();
    for (kind, text) in steps {
        let step = Step { id: step.id, kind, text };
        let done = match kind {
            Kind::Move => relocate::relocate(scene, index, &step, evidence).await?,
            _ => Some(rename::rename(scene, index, &step, evidence).await?),
        };
        let Some(done) = done else { return Ok(None) };
        done.said.lines().for_each(|line| scene.host.notice(line.trim_start_matches("- ")));
        all.notes.extend(done.notes);
    }
    Ok(Some(all))
}

/// Repairs failing tests or a reported bug for a model that cannot write: small changes are tried until the check passes. `None` if nothing
/// is reported, or no check confirms it.
pub async fn mended(
    scene: Scene<'_>,
    index: &Index,
    step: &Step,
    evidence: &mut Evidence,
) -> Result<Option<Done>, TurnError> {
    let is_fix = step.kind == Kind::Fix;
    if step.text.contains('?') || !is_fix && !kind::is_report(&step.text) {
        return Ok(None);
    }
    let model = scene.toolkit.model(Role::Planner, scene.host).await?;
    let job = Job { scene, model: &model, index, of_several: false, touched: &[], writes: false };
    if is_fix { Ok(Some(repair::fix(job, step, evidence).await?)) } else { repair::reported(job, step, evidence).await }
}

/// Lines that tell the user what the calls did. A command that only checked a change is one line; its failures are in the step's notes.
fn facts_of(step: &Step, entries: &[Entry]) -> Vec<String> {
    let is_check =
        |entry: &&Entry| !matches!(step.kind, Kind::Run | Kind::Ask) && entry.tool == Builtin::RunCommand.name();
    let mut facts = Vec::new();
    for entry in entries {
        if !is_check(&entry) || entry.status == StepStatus::Rejected {
            facts.extend(synthesize::told(entry));
            continue;
        }
        let line = entry.arguments.get("command").and_then(serde_json::Value::as_str).unwrap_or_default();
        let line = words::shorten(&line.split_whitespace().collect::<Vec<_>>().join(" "), COMMAND_CHARS);
        let ended = if entry.succeeded() { "passed" } else { "failed" };
        facts.push(format!("- $ {line}: {ended} [{}]", entry.id));
    }
    facts
}

/// Converts a step of a request to a step of a plan.
pub fn planned(step: &Step) -> PlannedStep {
    let mut part = clauses::roles::plain(&step.text);
    part.verb = clauses::parts(&step.text).into_iter().next().and_then(|part| part.verb);
    PlannedStep { id: step.id, part, needs: Vec::new() }
}

fn is_prose(path: &str) -> bool {
    [".md", ".rst", ".txt", ".adoc"].iter().any(|ending| path.to_lowercase().ends_with(ending))
}

/// Packs the code that the model is shown for `text`. If a step names no file or symbol, those of the whole request count, else those of the
/// last exchange of the conversation.
async fn pack(job: Job<'_>, text: &str, purpose: Purpose) -> Result<(Pack, Mentions), TurnError> {
    let Job { scene, index, .. } = job;
    let earlier = scene.toolkit.earlier.last().map(|last| format!("{} {}", last.request, last.answer));
    let mut mentions = mentions::of(text, index)?;
    let named = |mentions: &Mentions| !mentions.symbols.is_empty() || !mentions.paths.is_empty();
    let is_about_request = job.of_several && !named(&mentions) && purpose == Purpose::Answer;
    if job.of_several && !named(&mentions) {
        let mut of_request = mentions::of(scene.request, index)?;
        (of_request.speaks_of_tests, of_request.adds_tests) = (mentions.speaks_of_tests, mentions.adds_tests);
        // Names that are new in the request may exist by now; only those of this step count as new.
        (of_request.new_paths, of_request.new_names) = (mentions.new_paths, mentions.new_names);
        // Documentation is changed only by the step that names it; so are data files if the request names code.
        let is_code = |path: &String| crate::edit::has_grammar(path);
        let has_code = of_request.paths.iter().any(is_code);
        of_request.paths.retain(|path| is_code(path) || !has_code && !is_prose(path));
        if !mentions.speaks_of_tests {
            // Another step writes the tests.
            of_request.paths.retain(|path| !testing::is_test(path));
            of_request.new_paths.retain(|path| !testing::is_test(path));
        }
        of_request.likely = std::mem::take(&mut mentions.likely);
        mentions = of_request;
    }
    if let Some(earlier) = earlier.as_deref().filter(|_| !named(&mentions)) {
        let tests = (mentions.speaks_of_tests, mentions.adds_tests);
        mentions = mentions::of(earlier, index)?;
        (mentions.speaks_of_tests, mentions.adds_tests) = tests;
    }
    let in_code_file = SAME_FILE.iter().any(|words| text.to_lowercase().contains(words));
    if purpose == Purpose::Change && mentions.adds_tests && !in_code_file {
        verify::add_test_file(job, &mut mentions);
    }
    // A question that names nothing (`tell me who uses it`) is searched for with the whole request.
    let query = if is_about_request { scene.request } else { text };
    let vector = scene.toolkit.vector(query).await;
    let tokens = CONTEXT_TOKENS.min(job.model.engine.limits().context / SLOT_SHARE);
    let wanted = context::Wanted {
        context: scene.context,
        index,
        vector: vector.as_deref(),
        query,
        mentions: &mentions,
        touched: job.touched,
        purpose,
        tokens,
    };
    let pack = context::pack(wanted);
    Ok((pack, mentions))
}
