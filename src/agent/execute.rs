//! Carries out one step without a model if its clause states exactly what to do; runs tool calls
//! with the user's consent.

use std::pin::Pin;
use std::time::Instant;

use serde_json::{Map, Value};

use crate::base::StepId;
use crate::context::text_of;
use crate::index::Index;
use crate::language::words;
use crate::protocol::{Event, StepReport, StepState, StepStatus};
use crate::request::{Kind, Step, Text, forms, small_talk};
use crate::tools::builtin::Builtin;
use crate::tools::policy::Approved;
use crate::tools::{self, Context, Outcome, Ranked, ToolCall, ToolSpec};

use super::Host;
use super::call;
use super::consent::{Consented, Refused, Wanted, consent};
use super::evidence::{Entry, Evidence};
use super::guide::{self, Change, Done, Job, Named};
use super::pictures;
use super::toolkit::{Toolkit, TurnError};

/// Maximum length of a step's text in a message, in characters.
const STEP_CHARS: usize = 120;

/// Everything needed to carry out a step: the toolkit, the project, the request, and the host that
/// receives its events.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    pub toolkit: &'a Toolkit,
    pub context: &'a Context,
    pub request: &'a Text,
    pub host: &'a dyn Host,
}

/// A step in progress. The type is erased because the compiler cannot handle a future that names
/// everything a step may do.
pub type CarriedOut<'a> = Pin<Box<dyn Future<Output = Result<Done, TurnError>> + Send + 'a>>;

/// Carries out `step`: the change that it spells out, or the calls of the built-in tool that its
/// form asks for. The notes explain why no call could be made: no tool fits, or the request lacks
/// an argument.
pub fn step<'a>(scene: Scene<'a>, step: &'a Step, evidence: &'a mut Evidence) -> CarriedOut<'a> {
    Box::pin(as_spelled_out(scene, step, evidence))
}

#[tracing::instrument(name = "step", skip_all, fields(step = %step.id))]
async fn as_spelled_out(scene: Scene<'_>, step: &Step, evidence: &mut Evidence) -> Result<Done, TurnError> {
    let toolkit = scene.toolkit;
    let index = toolkit.index.as_deref();
    let specs = toolkit.catalog.specs();
    let of_servers = toolkit.server_tools(step.text.shown()).await;
    if let Some(done) = call::of_server(scene, step, &of_servers, evidence).await? {
        return Ok(done);
    }
    let fits = |best: &Ranked| (best.fits > 0.0).then(|| specs.get(best.index)).flatten();
    if let Some(spec) = of_servers.first().and_then(fits) {
        let (tool, server) = (&spec.name, &spec.server);
        return Ok(Done::note(format!("`{tool}` of {server} may do it, but no model here chooses tools well enough")));
    }
    scene.host.emit(Event::StepState { step: step.id, state: StepState::Deciding });
    let asked = toolkit.tool_for(&step.part);
    let clause = step.clause();
    let unnamed = super::names(toolkit, &clause).masked();
    let orders_change = unnamed.changes_what_is_there() && !unnamed.has_question_mark();
    let may_change = match asked {
        None => step.kind == Kind::Edit || orders_change,
        Some(tool) => matches!(tool, Builtin::ReplaceInFile | Builtin::MoveFile),
    } || clause.says_what_becomes_what();
    // A step that only asks to look at something must not change anything.
    let may_change = may_change && !clause.asks_to_tell();
    let may_mend = asked.is_none() || scene.request.is_about_red_tests();
    let mut refusal = None;
    if let Some(index) = index {
        match if may_change { changed(scene, index, step, clause, evidence).await? } else { Change::Unsaid } {
            Change::Made(done) => return Ok(done),
            Change::Refused { why, is_certain: true } => return Ok(Done::refused(&why)),
            Change::Refused { why, is_certain: false } => refusal = Some(why),
            Change::Unsaid => {}
        }
        if may_mend && let Some(done) = mended(scene, index, step, evidence).await? {
            return Ok(done);
        }
    }
    if let (Some(why), None | Some(Builtin::ReplaceInFile)) = (refusal, asked) {
        return Ok(Done::refused(&why));
    }
    let (tool, calls) = match asked.filter(|tool| *tool != Builtin::ReplaceInFile) {
        Some(tool) => (tool, forms::calls(toolkit.project(), tool, &step.part)),
        None if may_change => (Builtin::ReplaceInFile, Err(why_not_changed(scene.context, step))),
        None => (Builtin::IndexSearch, Err("no tool fits".to_owned())),
    };
    let asks = step.kind == Kind::Ask
        && !orders_change
        && asked != Some(Builtin::ReplaceInFile)
        && !small_talk::is_all(std::slice::from_ref(&step.part));
    match calls {
        Ok(calls) => called(scene, step, (tool, calls), evidence).await,
        // A question for which no call can be made is passed to the index search unchanged.
        Err(_) if asks && index.is_some() => {
            let calls = forms::calls(toolkit.project(), Builtin::IndexSearch, &step.part).unwrap_or_default();
            called(scene, step, (Builtin::IndexSearch, calls), evidence).await
        }
        Err(reason) => Ok(Done::note(reason)),
    }
}

/// Makes the edit, rename or move that a step spells out.
async fn changed(
    scene: Scene<'_>,
    index: &Index,
    step: &Step,
    clause: Text,
    evidence: &mut Evidence,
) -> Result<Change, TurnError> {
    // A removal is read from the clause alone, not from the surrounding sentences.
    let text = if clause.removes() { clause } else { step.text.clone() };
    let edit = Step { kind: Kind::Edit, text, ..step.clone() };
    let known = evidence.entries().len();
    Ok(match guide::spelled_out(Job::by_code(scene, index, &edit, &Named::default()), evidence).await? {
        Change::Made(done) => {
            let failed = !evidence.entries()[known..].iter().all(Entry::succeeded);
            Change::Made(Done { failed, ..done })
        }
        other => other,
    })
}

/// Repairs, with code, the fault that a step reports; `None` if code cannot repair it.
async fn mended(
    scene: Scene<'_>,
    index: &Index,
    step: &Step,
    evidence: &mut Evidence,
) -> Result<Option<Done>, TurnError> {
    let tests_fail = scene.request.is_about_red_tests();
    let kind = if tests_fail { step.text.kind_of_order() } else { Kind::Edit };
    let ran = evidence.entries().iter().rfind(|entry| entry.tool == Builtin::RunCommand.name());
    if let Some(known) = ran.filter(|ran| tests_fail && ran.succeeded() && kind != Kind::Fix).map(|ran| ran.id)
        && step.text.is_report()
    {
        // `The tests fail. Fix the code.`: the reported fault is settled once an earlier step's
        // command has succeeded.
        evidence.answers(known, step.id);
        return Ok(Some(Done::default()));
    }
    let report = Step { kind, ..step.clone() };
    guide::mended(Job::by_code(scene, index, &report, &Named::default()), evidence).await
}

/// The reason why code cannot make a step's change, and how to reword the request.
fn why_not_changed(context: &Context, step: &Step) -> String {
    let path = step.part.paths.iter().find(|path| guide::exists(context, path));
    let removal = path.and_then(|path| step.clause().removal_from(path, &text_of(context, path)?));
    match removal {
        Some(Err(reason)) => reason,
        _ => format!(
            "not changed: what `{}` changes cannot be told without a model that writes; say it as `change A to B in FILE`, or get such a model \
             (scripts/fetch-models)",
            words::shorten(step.text.shown(), STEP_CHARS)
        ),
    }
}

/// Runs the calls of one tool, in order.
pub async fn called(
    scene: Scene<'_>,
    step: &Step,
    (tool, calls): (Builtin, Vec<Map<String, Value>>),
    evidence: &mut Evidence,
) -> Result<Done, TurnError> {
    let Some(spec) = scene.toolkit.catalog.get(tool.name()) else {
        return Ok(Done::note(format!("`{}` is not among the tools", tool.name())));
    };
    let mut done = Done::default();
    for arguments in calls {
        let path = arguments.get("path").and_then(Value::as_str).unwrap_or_default();
        if tool == Builtin::WriteFile && guide::exists(scene.context, path) {
            return Ok(Done::note(format!("{path} exists and is not replaced; say what to change in it, and to what")));
        }
        if let Some(known) = evidence.repeated(tool.name(), &arguments).map(|entry| entry.id) {
            evidence.answers(known, step.id);
        }
        let call = ToolCall { tool: spec.name.clone(), arguments };
        done.failed |= !perform(scene, step.id, call, spec, evidence).await?.succeeded();
    }
    Ok(done)
}

/// Runs one call with consent and records it; returns its entry. A call whose result is already in
/// the evidence is not run again.
#[tracing::instrument(name = "call", skip_all, fields(%step, tool = %call.tool))]
pub async fn perform<'e>(
    scene: Scene<'_>,
    step: StepId,
    call: ToolCall,
    spec: &ToolSpec,
    evidence: &'e mut Evidence,
) -> Result<&'e Entry, TurnError> {
    let Scene { context, host, .. } = scene;
    if let Some(place) = evidence.place_of(&call.tool, &call.arguments) {
        return Ok(repeated(scene, step, place, evidence));
    }
    let started = Instant::now();
    let calls = [(call, spec)];
    let wanted = Wanted { calls: &calls, basis: &[], notes: &[] };
    let consented = match consent(step, wanted, context, host).await {
        Ok(consented) => consented,
        Err(refused) => return Ok(not_run(scene, step, wanted, refused, started, evidence)),
    };
    let Consented { mut approved, planned } = consented;
    let arguments = approved[0].call().arguments.clone();
    host.emit(Event::StepState { step, state: StepState::Executing });
    host.emit(Event::CallStarted { step, tool: calls[0].0.tool.clone(), arguments: arguments.clone() });
    let outcome = match planned {
        // Not interruptible: it takes only moments, and a partial change would have to be reverted.
        Some(planned) => {
            let done = tools::execute_planned(approved, planned, context).await;
            done.map(|mut all| all.remove(0)).unwrap_or_else(Outcome::error)
        }
        None => tokio::select! {
            // Checked first: a tool that ends because of a cancellation has not failed.
            biased;
            () = scene.toolkit.cancel.cancelled() => {
                let [(call, spec)] = calls;
                let call = (ToolCall { arguments, ..call }, spec);
                record(scene, step, &call, (StepStatus::Cancelled, Outcome::error(CANCELLED)), started, evidence);
                return Err(TurnError::Cancelled);
            }
            outcome = run(scene, approved.remove(0)) => outcome?,
        },
    };
    let status = if outcome.is_ok() { StepStatus::Succeeded } else { StepStatus::Failed };
    let [(call, spec)] = calls;
    Ok(record(scene, step, &(ToolCall { arguments, ..call }, spec), (status, outcome), started, evidence))
}

/// Runs an approved call: a model looks at pictures, tools do everything else.
async fn run(scene: Scene<'_>, approved: Approved<ToolCall>) -> Result<Outcome, TurnError> {
    match pictures::Look::of(approved.call()) {
        Some(look) => look.run(scene).await,
        None => pictures::told(scene, tools::execute(approved, scene.context).await).await,
    }
}

/// Reports a call whose result is already in the evidence, at `place`.
fn repeated<'e>(scene: Scene<'_>, step: StepId, place: usize, evidence: &'e Evidence) -> &'e Entry {
    let known = &evidence.entries()[place];
    let summary = format!("the same as {}: {}", known.id, known.summary());
    scene.host.emit(Event::StepCompleted(StepReport { step, summary, wall_ms: 0, ..known.report() }));
    known
}

/// Passes a question to the index search unchanged; does nothing without an index.
pub async fn search(
    scene: Scene<'_>,
    step: StepId,
    question: String,
    evidence: &mut Evidence,
) -> Result<(), TurnError> {
    let toolkit = scene.toolkit;
    let spec = toolkit.catalog.get(Builtin::IndexSearch.name()).filter(|_| toolkit.index.is_some());
    let Some(spec) = spec else { return Ok(()) };
    let arguments = Map::from_iter([("question".to_owned(), Value::String(question))]);
    perform(scene, step, ToolCall { tool: spec.name.clone(), arguments }, spec, evidence).await?;
    Ok(())
}

/// Runs calls that change nothing concurrently and records them in order. All are reported when the
/// last one has ended. Returns their indices in the evidence.
pub async fn perform_reads(
    scene: Scene<'_>,
    calls: Vec<(StepId, ToolCall, &ToolSpec)>,
    evidence: &mut Evidence,
) -> Result<Vec<usize>, TurnError> {
    let started = Instant::now();
    let mut running = tokio::task::JoinSet::new();
    let mut outcomes: Vec<Option<Result<Outcome, Refused>>> = Vec::new();
    for (at, (step, call, spec)) in calls.iter().enumerate() {
        outcomes.push(None);
        let is_known = evidence.place_of(&call.tool, &call.arguments).is_some();
        let is_twice = calls[..at].iter().any(|(_, other, _)| other == call);
        if is_known || is_twice {
            continue;
        }
        let call = [(call.clone(), *spec)];
        let wanted = Wanted { calls: &call, basis: &[], notes: &[] };
        match consent(*step, wanted, scene.context, scene.host).await {
            Ok(mut consented) => {
                let (approved, context) = (consented.approved.remove(0), scene.context.clone());
                if pictures::Look::of(approved.call()).is_some() {
                    outcomes[at] = Some(Ok(run(scene, approved).await?));
                } else {
                    running.spawn(async move { (at, tools::execute(approved, &context).await) });
                }
            }
            Err(refused) => outcomes[at] = Some(Err(refused)),
        }
    }
    loop {
        tokio::select! {
            biased;
            () = scene.toolkit.cancel.cancelled() => return Err(TurnError::Cancelled),
            ended = running.join_next() => match ended {
                Some(Ok((at, outcome))) => outcomes[at] = Some(Ok(pictures::told(scene, outcome).await?)),
                Some(Err(lost)) => return Err(TurnError::Lost(lost.to_string())),
                None => break,
            },
        }
    }
    let mut places = Vec::new();
    for ((step, call, spec), outcome) in calls.into_iter().zip(outcomes) {
        let known = evidence.place_of(&call.tool, &call.arguments);
        match (known, outcome) {
            (Some(place), None) => {
                repeated(scene, step, place, evidence);
                places.push(place);
                continue;
            }
            (_, Some(Ok(outcome))) => {
                let arguments = call.arguments.clone();
                scene.host.emit(Event::CallStarted { step, tool: call.tool.clone(), arguments });
                let status = if outcome.is_ok() { StepStatus::Succeeded } else { StepStatus::Failed };
                record(scene, step, &(call, spec), (status, outcome), started, evidence);
            }
            (_, Some(Err(refused))) => {
                let calls = [(call, spec)];
                let wanted = Wanted { calls: &calls, basis: &[], notes: &[] };
                not_run(scene, step, wanted, refused, started, evidence);
            }
            (None, None) => return Err(TurnError::Lost("a call was not run; this is a bug in execute".to_owned())),
        }
        places.push(evidence.entries().len() - 1);
    }
    Ok(places)
}

/// The result of a call that the user stopped.
const CANCELLED: &str = "cancelled while it ran";

/// How a group of calls ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Made {
    All,
    /// Nothing was done; the evidence contains the reason.
    Nothing,
    /// Nothing was done or recorded: this file's content differs from the content that the calls
    /// were derived from, or that was shown.
    Stale(String),
}

/// Runs a group of calls that change files, with one question to the user: all of them are made or
/// none. Each is recorded; if none is made, a single record gives the reason.
#[tracing::instrument(name = "calls", skip_all, fields(%step, count = wanted.calls.len()))]
pub async fn perform_all(
    scene: Scene<'_>,
    step: StepId,
    wanted: Wanted<'_>,
    evidence: &mut Evidence,
) -> Result<Made, TurnError> {
    let Scene { context, host, .. } = scene;
    let started = Instant::now();
    let Consented { approved, planned } = match consent(step, wanted, context, host).await {
        Ok(consented) => consented,
        Err(Refused::Stale(path)) => return Ok(Made::Stale(path)),
        Err(refused) => {
            not_run(scene, step, wanted, refused, started, evidence);
            return Ok(Made::Nothing);
        }
    };
    let Some(planned) = planned else {
        return Err(TurnError::Lost("calls that do more than change files were joined; this is a bug".to_owned()));
    };
    let arguments: Vec<_> = approved.iter().map(|one| one.call().arguments.clone()).collect();
    host.emit(Event::StepState { step, state: StepState::Executing });
    // Not interruptible: it takes only moments, and a partial change would have to be reverted.
    match tools::execute_planned(approved, planned, context).await {
        Ok(outcomes) => {
            for ((call, arguments), outcome) in wanted.calls.iter().zip(arguments).zip(outcomes) {
                host.emit(Event::CallStarted { step, tool: call.0.tool.clone(), arguments: arguments.clone() });
                let call = (ToolCall { arguments, ..call.0.clone() }, call.1);
                record(scene, step, &call, (StepStatus::Succeeded, outcome), started, evidence);
            }
            Ok(Made::All)
        }
        Err(why) => {
            not_run(scene, step, wanted, Refused::Ended(StepStatus::Failed, why), started, evidence);
            Ok(Made::Nothing)
        }
    }
}

/// Records calls that did not run as one record, under the first of them.
fn not_run<'e>(
    scene: Scene<'_>,
    step: StepId,
    wanted: Wanted<'_>,
    refused: Refused,
    started: Instant,
    evidence: &'e mut Evidence,
) -> &'e Entry {
    let (status, why) = match refused {
        Refused::Ended(status, why) => (status, why),
        Refused::Stale(path) => {
            (StepStatus::Failed, format!("{path} was changed in the meantime, so nothing was done; read it again"))
        }
    };
    record(scene, step, &wanted.calls[0], (status, Outcome::error(why)), started, evidence)
}

fn record<'e>(
    scene: Scene<'_>,
    step: StepId,
    (call, spec): &(ToolCall, &ToolSpec),
    (status, outcome): (StepStatus, Outcome),
    started: Instant,
    evidence: &'e mut Evidence,
) -> &'e Entry {
    let wall_ms = started.elapsed().as_millis() as u64;
    let looked = Entry::looked(step, &call.tool, call.arguments.clone(), outcome);
    let entry = evidence.add(Entry { status, executing: spec.mutates, wall_ms, ..looked });
    scene.host.emit(Event::StepCompleted(entry.report()));
    entry
}
