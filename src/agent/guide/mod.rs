//! Carries out a request with a model that was measured as able to write: code selects the context,
//! the model writes, and code checks the result and writes the files.
//!
//! `read` splits the request into steps; each kind of step has its own file. Every tool call goes
//! through `execute::perform`, which handles consent, checkpoint and evidence.

mod answer;
mod change;
mod code;
mod command;
mod copy;
mod data;
mod difference;
mod explicit;
mod files;
mod grammar;
mod items;
mod line_edit;
mod new_test;
mod passage;
mod pick;
mod places;
pub mod read;
mod refusal;
mod relocate;
mod rename;
mod repair;
mod reply;
mod results;
mod together;
mod verify;

use std::path::Path;
use std::sync::OnceLock;

use serde_json::Value;

use crate::agent::budget::{Guided, Pace};
use crate::base::trial::Trial;
use crate::context::{self, Pack, Purpose, Stretch, beside, text_of};
use crate::edit::{self, Edit, testing};
use crate::index::{Index, IndexError};
use crate::language::clauses::Part;
use crate::lessons::{Solution, Stored};
use crate::models::{Role, Tier};
use crate::protocol::Event;
use crate::request::mentions::Mentions;
use crate::request::{Kind, Step, Text};
use crate::tools::builtin::Builtin;
use crate::tools::confine::Access;
use crate::tools::{Context, ToolCall, ToolSpec};

use super::evidence::{Entry, Evidence};
use super::execute::{self, CarriedOut, Scene};
use super::inspect::{self, Stage};
use super::player::Player;
use super::spelled::{self, Spelled};
use super::toolkit::{Toolkit, TurnError};
use super::{Host, call, probe};
pub use answer::is_list;
pub use code::sample;
pub use explicit::Change;

/// The heading above functions that use the code to change.
const USERS: &str = "Code that uses it and has to go on working:";

/// A step and everything needed to carry it out.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    pub scene: Scene<'a>,
    pub index: &'a Index,
    pub step: &'a Step,
    /// Whether the request has several steps.
    pub of_several: bool,
    /// A later step writes tests for this one.
    pub tests_follow: bool,
    /// The call that succeeded earlier for exactly this step.
    pub lesson: Option<&'a (Stored, Solution)>,
    /// The changes made by earlier steps of this turn.
    pub touched: &'a [Stretch],
    /// Whether the planner was measured as able to write; if not, only small changes are tried.
    pub writes: bool,
    pub named: &'a Named,
}

/// The names in the step and in its request, looked up once before the step changes anything.
#[derive(Default)]
pub struct Named {
    step: OnceLock<Mentions>,
    request: OnceLock<Mentions>,
}

impl<'a> Job<'a> {
    /// A step that code carries out.
    pub fn by_code(scene: Scene<'a>, index: &'a Index, step: &'a Step, named: &'a Named) -> Job<'a> {
        let (of_several, tests_follow, lesson) = (false, false, None);
        Job { scene, index, step, of_several, tests_follow, lesson, touched: &[], writes: false, named }
    }

    /// The names in a text, as they were before the step.
    pub fn mentions(self, text: &Text) -> Result<Mentions, IndexError> {
        let known = match text {
            text if *text == self.step.text => &self.named.step,
            text if text == self.scene.request => &self.named.request,
            text => return text.mentions(self.index),
        };
        match known.get() {
            Some(known) => Ok(known.clone()),
            None => text.mentions(self.index).map(|found| known.get_or_init(|| found).clone()),
        }
    }

    /// Records that `text` is about to be written to `path` as part of a trial.
    pub fn tries(self, trial: &Trial, path: &str, text: &str) {
        if let Ok(file) = self.scene.context.root.resolve(path, Access::Write) {
            trial.writes(self.root(), file.absolute(), text);
        }
    }

    /// The words of the complete request and of the step.
    pub fn asked(self) -> Text {
        Text::of(format!("{} {}", self.scene.request, self.step.text))
    }

    /// The root folder of the project.
    pub fn root(self) -> &'a Path {
        self.scene.context.root.path()
    }

    /// The text of a project file; `None` if it cannot be read as text or is larger than 1 MiB.
    pub fn text(self, path: &str) -> Option<String> {
        text_of(self.scene.context, path)
    }

    /// Whether a file or folder exists at `path`, indexed or not.
    pub fn exists(self, path: &str) -> bool {
        exists(self.scene.context, path)
    }

    /// The text of a file after an edit, if the edit fits and no check finds a problem. The error
    /// is a message to the model that made the edit. The names in `may_go` may be removed, because
    /// the request names them.
    pub fn edited(self, path: &str, before: &str, edit: &Edit<'_>, may_go: &[String]) -> Result<String, String> {
        let after = edit::apply(path, before, edit)?.text;
        let known = |name: &str| self.index.graph().is_ok_and(|graph| !graph.named(name).is_empty());
        match edit::problems(path, before, &after, may_go, &known).into_iter().next() {
            Some(problem) => Err(problem),
            None => Ok(after),
        }
    }

    /// The planner, loaded if necessary.
    pub async fn model(self) -> Result<Player, TurnError> {
        self.scene.toolkit.model(Role::Planner, self.scene.host).await
    }

    /// The limits of the step; those of a slow machine until the planner is loaded.
    pub fn limits(self) -> Guided {
        Guided::of(Pace::of_planner(self.scene.toolkit))
    }

    /// Calls a built-in tool for the step, with consent, checkpoint and evidence.
    pub async fn perform(self, tool: Builtin, arguments: Value, evidence: &mut Evidence) -> Result<&Entry, TurnError> {
        let (call, spec) = self.call(tool, arguments)?;
        execute::perform(self.scene, self.step.id, call, spec, evidence).await
    }

    /// A call of a built-in tool, with its description.
    fn call(self, tool: Builtin, arguments: Value) -> Result<(ToolCall, &'a ToolSpec), TurnError> {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let Some(spec) = self.scene.toolkit.catalog.get(tool.name()) else {
            return Err(TurnError::Lost(format!("`{}` is not among the tools; this is a bug in tools", tool.name())));
        };
        Ok((ToolCall { tool: tool.name().to_owned(), arguments }, spec))
    }
}

/// The result of a step.
#[derive(Debug, Default)]
pub struct Done {
    /// Text for the user.
    pub said: String,
    pub touched: Vec<Stretch>,
    /// Calls that tried out the result, with their results.
    pub tried: Vec<String>,
    /// The reasons why the step was not carried out, or the problems of its result; empty if it
    /// succeeded.
    pub notes: Vec<String>,
    /// Whether a tool failed or the user refused, in a step that code carried out; the evidence
    /// contains the details.
    pub failed: bool,
    /// Whether the step was understood but cannot be carried out, for the reason in the notes, so
    /// that nothing else is tried.
    pub is_refused: bool,
    /// Whether the change was reverted: the files are as they were before the step.
    pub taken_back: bool,
    /// Whether the step is a question and the code shown clearly supports no sentence of the
    /// answer.
    pub is_unsure: bool,
}

impl Done {
    /// The result of a step, with only this note.
    pub fn note(note: impl Into<String>) -> Done {
        Done { notes: vec![note.into()], ..Done::default() }
    }

    /// The result of a step that was understood but cannot be carried out.
    pub fn refused(why: &str) -> Done {
        Done { is_refused: true, ..Done::note(not_changed(why)) }
    }
}

/// The note to the user about a change that is not made.
fn not_changed(why: &str) -> String {
    format!("not changed: {why}")
}

/// Whether the planner handles this request: it was measured as able to write, and the request
/// needs more than a list from the index.
pub async fn is_for(toolkit: &Toolkit, parts: &[Part], host: &dyn Host) -> Result<bool, TurnError> {
    if answer::is_list(toolkit, parts) {
        return Ok(false);
    }
    Ok(probe::tier(toolkit, host).await? >= Tier::Writes)
}

/// Carries out a step: by code if it is spelled out, else by a server's tool or in the manner of
/// its kind.
pub fn carry_out<'a>(job: Job<'a>, evidence: &'a mut Evidence) -> CarriedOut<'a> {
    Box::pin(by_kind(job, evidence))
}

#[tracing::instrument(name = "step", skip_all, fields(step = %job.step.id, kind = job.step.kind.name()))]
async fn by_kind(job: Job<'_>, evidence: &mut Evidence) -> Result<Done, TurnError> {
    let kind = job.step.kind;
    let mut refusal = None;
    if kind == Kind::Edit {
        match explicit::change(job, evidence).await? {
            Change::Made(done) => return Ok(done),
            Change::Refused { why, is_certain: true } => return Ok(Done::refused(&why)),
            Change::Refused { why, .. } => refusal = Some(why),
            Change::Unsaid => {}
        }
    }
    let may_be_of_server = matches!(kind, Kind::Ask | Kind::Edit | Kind::Run);
    if may_be_of_server {
        let ranked = job.scene.toolkit.server_tools(job.step.text.shown()).await;
        if let Some(done) = call::of_server(job.scene, job.step, &ranked, evidence).await? {
            return Ok(done);
        }
    }
    match spelled::calls(job.scene.toolkit, job.step) {
        // Another step may still need the file: `delete a.py, but first copy it`.
        Some(Spelled::All((Builtin::DeleteFile, _))) if job.of_several => {}
        Some(Spelled::All(calls)) => return execute::called(job.scene, job.step, calls, evidence).await,
        Some(Spelled::First(reading)) => {
            let read = execute::called(job.scene, job.step, reading, evidence).await?;
            // A question about a file that cannot be read has no answer.
            if read.failed {
                return Ok(read);
            }
        }
        None => {}
    }
    let by_code = match kind {
        Kind::Ask => return answer::answer(job, evidence).await,
        Kind::Run => return command::run(job, evidence).await,
        Kind::Fix => return repair::fix(job, evidence).await,
        Kind::Rename => return rename::rename(job, evidence).await,
        Kind::Move => relocate::relocate(job, evidence).await?,
        Kind::Edit => repair::reported(job, evidence).await?,
    };
    if let Some(done) = by_code {
        return Ok(done);
    }
    let known = evidence.entries().len();
    let mut done = change::change(job, evidence).await?;
    if evidence.entries()[known..].iter().all(|entry| entry.outcome.changed.is_empty()) {
        done.notes.extend(refusal.map(|why| not_changed(&why)));
    }
    Ok(done)
}

/// Carries out, without a model, the renames and moves, or the edit from one value to another, that
/// the step spells out.
pub async fn spelled_out(job: Job<'_>, evidence: &mut Evidence) -> Result<Change, TurnError> {
    let Some(steps) = job.step.text.renames() else { return explicit::change(job, evidence).await };
    let mut all = Done::default();
    for (kind, text) in steps {
        let step = Step { kind: *kind, text: text.clone().into(), ..job.step.clone() };
        let named = Named::default();
        let job = Job { step: &step, named: &named, ..job };
        let done = match kind {
            Kind::Move => relocate::relocate(job, evidence).await?,
            _ => Some(rename::rename(job, evidence).await?),
        };
        let Some(done) = done else { return Ok(Change::Unsaid) };
        done.said.lines().for_each(|line| job.scene.host.notice(line.trim_start_matches("- ")));
        all.notes.extend(done.notes);
    }
    Ok(Change::Made(all))
}

/// Repairs failing tests or a reported bug for a model that cannot write: small changes are tried
/// until the check passes. `None` if nothing is reported, or if no check confirms it.
pub async fn mended(job: Job<'_>, evidence: &mut Evidence) -> Result<Option<Done>, TurnError> {
    let is_fix = job.step.kind == Kind::Fix;
    if job.step.text.has_question_mark() || !is_fix && !job.step.text.is_report() {
        return Ok(None);
    }
    if is_fix { Ok(Some(repair::fix(job, evidence).await?)) } else { repair::reported(job, evidence).await }
}

/// Whether a file or folder exists at `path`, indexed or not.
pub fn exists(context: &Context, path: &str) -> bool {
    context.root.resolve(path, Access::Read).is_ok_and(|file| file.exists())
}

fn is_prose(path: &str) -> bool {
    [".md", ".rst", ".txt", ".adoc"].iter().any(|ending| path.to_lowercase().ends_with(ending))
}

/// Packs the code shown to the model for `text`. If the step names no file or symbol, those named
/// in the complete request are used, else those in the last exchange of the conversation.
async fn pack(job: Job<'_>, text: &Text, purpose: Purpose) -> Result<(Pack, Mentions), TurnError> {
    let Job { scene, index, .. } = job;
    let earlier = scene.toolkit.earlier.last().map(|last| Text::of(format!("{} {}", last.request, last.answer)));
    let mut mentions = job.mentions(text)?;
    let named = |mentions: &Mentions| !mentions.symbols.is_empty() || !mentions.paths.is_empty();
    let is_about_request = job.of_several && !named(&mentions) && purpose == Purpose::Answer;
    if job.of_several && !named(&mentions) {
        let mut of_request = job.mentions(scene.request)?;
        (of_request.speaks_of_tests, of_request.adds_tests) = (mentions.speaks_of_tests, mentions.adds_tests);
        // Names that were new in the request may exist by now, so only the new names of this step
        // count.
        (of_request.new_paths, of_request.new_names) = (mentions.new_paths, mentions.new_names);
        of_request.asked_for = mentions.asked_for;
        // Documentation is changed only by the step that names it; the same applies to data files
        // if the request names code.
        let is_code = |path: &String| edit::has_grammar(path);
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
    if let Some(earlier) = earlier.as_ref().filter(|_| !named(&mentions)) {
        let tests = (mentions.speaks_of_tests, mentions.adds_tests);
        mentions = earlier.mentions(index)?;
        (mentions.speaks_of_tests, mentions.adds_tests) = tests;
    }
    if purpose == Purpose::Change && mentions.adds_tests && !text.puts_tests_beside_code() {
        verify::add_test_file(job, &mut mentions);
    }
    // A question that names nothing (`tell me who uses it`) is searched for with the complete
    // request.
    let query = if is_about_request { scene.request } else { text }.shown();
    let vector = scene.toolkit.vector(query).await;
    let limits = Guided::of(Pace::of(scene.toolkit, &job.model().await?));
    let tokens = limits.pack;
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
    let mut pack = context::pack(wanted);
    if purpose == Purpose::Change && limits.has_room() {
        pack.add(USERS, &beside::users_as_hits(scene.context, index, &mentions), tokens);
    }
    scene.host.emit(Event::ContextShown { step: job.step.id, places: pack.places(), tokens: pack.tokens() });
    let (toolkit, skips) = (scene.toolkit, job.step.id.to_string());
    let stage = Stage { step: job.step.id, name: "context", skips: Some(&skips) };
    inspect::stage(toolkit, scene.host, stage, || pack.text.clone()).await?;
    Ok((pack, mentions))
}
