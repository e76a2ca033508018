//! Carries out one step without a model if its clause spells out what to do; runs tool calls with the user's consent.

use crate::request::Kind;
use crate::request::kind;
use std::time::Instant;

use serde_json::{Map, Value};

use crate::base::StepId;
use crate::protocol::{Event, StepReport, StepState, StepStatus};
use crate::tools::builtin::Builtin;
use crate::tools::{Context, Outcome, ToolCall, ToolSpec};

use super::Host;
use super::consent::consent;
use super::evidence::{Entry, Evidence, Record};
use super::plan::PlannedStep;
use super::toolkit::{Toolkit, TurnError};
use super::work;
use crate::language::words;
use crate::request;
use crate::request::arguments::{removes, settle_removal};
use crate::request::forms;
use crate::request::small_talk;

/// Longest text of a step in a message to the user, in characters.
const STEP_CHARS: usize = 120;

/// What a step is carried out with: toolkit and project, the request it is part of, and the host that gets its events.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    pub toolkit: &'a Toolkit,
    pub context: &'a Context,
    pub request: &'a str,
    pub host: &'a dyn Host,
}

/// How a step ended.
#[derive(Clone, Debug, PartialEq)]
pub enum StepEnd {
    /// Every call of it succeeded.
    Done,
    /// A tool failed or the user said no; the evidence says which.
    Failed,
    /// No call could be made, because no tool fits or the request lacks an argument; with the reason.
    Stuck(String),
}

/// Carries out `step`: the change that it spells out, or the calls of the built-in tool that its form asks for.
#[tracing::instrument(skip_all, fields(step = %step.id))]
pub async fn step(scene: Scene<'_>, step: &PlannedStep, evidence: &mut Evidence) -> Result<StepEnd, TurnError> {
    let toolkit = scene.toolkit;
    if let Some(spec) = server_tool(toolkit, step).await {
        let (tool, server) = (&spec.name, &spec.server);
        return Ok(StepEnd::Stuck(format!("`{tool}` of {server} may do it; calling it takes a model that writes")));
    }
    scene.host.emit(Event::StepState { step: step.id, state: StepState::Deciding });
    let asked = forms::asked(&step.part, forms::symbol_of(toolkit.index.as_deref(), &step.part).as_deref());
    let part = std::slice::from_ref(&step.part);
    let may_change = match asked {
        None => kind::of(part) == Kind::Edit,
        Some(tool) => matches!(tool, Builtin::ReplaceInFile | Builtin::MoveFile),
    } || work::says_what_becomes_what(&step.part.text);
    if may_change && let Some(end) = changed(scene, step, evidence).await? {
        return Ok(end);
    }
    let may_mend = asked.is_none() || kind::is_about_red_tests(scene.request);
    if may_mend && let Some(end) = mended(scene, step, evidence).await? {
        return Ok(end);
    }
    let asks = kind::of(part) == Kind::Ask && !small_talk::is_all(part);
    let (tool, calls) = match asked.filter(|tool| *tool != Builtin::ReplaceInFile) {
        Some(tool) => (tool, forms::calls(toolkit.project(), tool, &step.part)),
        None if may_change => (Builtin::ReplaceInFile, Err(why_not_changed(scene.context, step))),
        None => (Builtin::IndexSearch, Err("no tool fits".to_owned())),
    };
    match calls {
        Ok(calls) => called(scene, step, (tool, calls), evidence).await,
        // A question for which no call can be made goes to the index search as it is.
        Err(_) if asks && toolkit.index.is_some() => {
            let calls = forms::calls(toolkit.project(), Builtin::IndexSearch, &step.part).unwrap_or_default();
            called(scene, step, (Builtin::IndexSearch, calls), evidence).await
        }
        Err(reason) => Ok(StepEnd::Stuck(reason)),
    }
}

/// The tool of an MCP server, if retrieval ranks it first for the step and it fits.
async fn server_tool<'t>(toolkit: &'t Toolkit, step: &PlannedStep) -> Option<&'t ToolSpec> {
    let specs = toolkit.catalog.specs();
    specs.iter().find(|spec| toolkit.is_of_server(spec))?;
    let best = *toolkit.ranked(&step.text(), 1).await.first()?;
    specs.get(best.index).filter(|spec| best.fits > 0.0 && toolkit.is_of_server(spec))
}

/// Makes the edit, rename or move that a step spells out; `None` if it spells out none.
async fn changed(scene: Scene<'_>, step: &PlannedStep, evidence: &mut Evidence) -> Result<Option<StepEnd>, TurnError> {
    let Some(index) = scene.toolkit.index.as_deref() else { return Ok(None) };
    // A removal is read from the clause alone, not from the sentences around it.
    let text = if removes(&step.part.text) { step.part.text.clone() } else { step.text() };
    let edit = request::Step { id: step.id, kind: Kind::Edit, text };
    let known = evidence.entries().len();
    let Some(done) = work::spelled_out(scene, index, &edit, evidence).await? else { return Ok(None) };
    Ok(Some(if !done.notes.is_empty() {
        StepEnd::Stuck(done.notes.join("; "))
    } else if evidence.entries()[known..].iter().all(Entry::succeeded) {
        StepEnd::Done
    } else {
        StepEnd::Failed
    }))
}

/// Repairs by code what a step reports to be wrong; `None` if it reports nothing that code can repair.
async fn mended(scene: Scene<'_>, step: &PlannedStep, evidence: &mut Evidence) -> Result<Option<StepEnd>, TurnError> {
    let Some(index) = scene.toolkit.index.as_deref() else { return Ok(None) };
    let text = step.text();
    let tests_fail = kind::is_about_red_tests(scene.request);
    let kind = if tests_fail { kind::ordered(&text) } else { Kind::Edit };
    let ran = evidence.entries().iter().rfind(|entry| entry.tool == Builtin::RunCommand.name());
    if let Some(known) = ran.filter(|ran| tests_fail && ran.succeeded() && kind != Kind::Fix).map(|ran| ran.id)
        && kind::is_report(&text)
    {
        // `The tests fail. Fix the code.`: the report is settled once an earlier step's command succeeded.
        evidence.answers(known, step.id);
        return Ok(Some(StepEnd::Done));
    }
    let report = request::Step { id: step.id, kind, text };
    let done = work::mended(scene, index, &report, evidence).await?;
    Ok(done.map(|done| if done.notes.is_empty() { StepEnd::Done } else { StepEnd::Stuck(done.notes.join("; ")) }))
}

/// Why code cannot make the change of a step, and how to word the request instead.
fn why_not_changed(context: &Context, step: &PlannedStep) -> String {
    let path = step.part.paths.iter().find(|path| work::exists(context, path));
    let removal = path.and_then(|path| settle_removal(&step.part.text, path, &work::text_of(context, path)?));
    match removal {
        Some(Err(reason)) => reason,
        _ => format!(
            "what `{}` changes cannot be told without a model that writes; say it as `change A to B in FILE`, or get such a model \
             (scripts/fetch-models)",
            words::shorten(&step.text(), STEP_CHARS)
        ),
    }
}

/// Runs the calls of one tool, in order.
async fn called(
    scene: Scene<'_>,
    step: &PlannedStep,
    (tool, calls): (Builtin, Vec<Map<String, Value>>),
    evidence: &mut Evidence,
) -> Result<StepEnd, TurnError> {
    let Some(spec) = scene.toolkit.catalog.get(tool.name()) else {
        return Ok(StepEnd::Stuck(format!("`{}` is not among the tools", tool.name())));
    };
    let mut end = StepEnd::Done;
    for arguments in calls {
        let path = arguments.get("path").and_then(Value::as_str).unwrap_or_default();
        if tool == Builtin::WriteFile && work::exists(scene.context, path) {
            let reason = format!("{path} exists and is not replaced; say what to change in it, from what to what");
            return Ok(StepEnd::Stuck(reason));
        }
        if let Some(known) = evidence.repeated(tool.name(), &arguments).map(|entry| entry.id) {
            evidence.answers(known, step.id);
        }
        let call = ToolCall { tool: spec.name.clone(), arguments };
        if !perform(scene, step.id, call, spec, evidence).await?.succeeded() {
            end = StepEnd::Failed;
        }
    }
    Ok(end)
}

/// Runs one call with consent and records it. A call whose result is already in the evidence is not run again. Returns its entry.
#[tracing::instrument(name = "call", skip_all, fields(%step, tool = %call.tool))]
pub async fn perform<'e>(
    scene: Scene<'_>,
    step: StepId,
    call: ToolCall,
    spec: &ToolSpec,
    evidence: &'e mut Evidence,
) -> Result<&'e Entry, TurnError> {
    let Scene { toolkit, context, host, .. } = scene;
    if let Some(place) = evidence.place_of(&call.tool, &call.arguments) {
        let known = &evidence.entries()[place];
        let report = StepReport {
            step,
            summary: format!("the same as {}: {}", known.id, known.summary()),
            wall_ms: 0,
            ..known.report()
        };
        host.emit(Event::StepCompleted(report));
        return Ok(known);
    }
    let started = Instant::now();
    let (status, outcome, arguments) = match consent(step, &call, spec, context, host).await {
        Err((status, reason)) => (status, Outcome::error(reason), call.arguments),
        Ok(approved) => {
            let arguments = approved.call().arguments.clone();
            host.emit(Event::StepState { step, state: StepState::Executing });
            host.emit(Event::CallStarted { step, tool: call.tool.clone(), arguments: arguments.clone() });
            let outcome = tokio::select! {
                outcome = crate::tools::execute(approved, context) => outcome,
                () = toolkit.cancel.cancelled() => return Err(TurnError::Cancelled),
            };
            let status = if outcome.is_ok() { StepStatus::Succeeded } else { StepStatus::Failed };
            (status, outcome, arguments)
        }
    };
    let wall_ms = started.elapsed().as_millis() as u64;
    let entry = evidence.add(Record {
        step,
        tool: &call.tool,
        arguments: &arguments,
        status,
        outcome,
        executing: spec.mutates,
        wall_ms,
    });
    host.emit(Event::StepCompleted(entry.report()));
    Ok(entry)
}
