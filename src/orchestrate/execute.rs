//! Carries out one step: finds its tool, settles its arguments, gets consent, runs it, and files the evidence.

use std::time::Instant;

use serde_json::{Map, Value};

use crate::base::StepId;
use crate::protocol::{Event, StepReport, StepState, StepStatus};
use crate::tools::builtin::Builtin;
use crate::tools::{Context, Outcome, ToolCall, ToolSpec};

use super::Host;
use super::arguments::{Earlier, Grounds, ProjectFiles, Settled, removes, settle};
use super::consent::consent;
use super::decompose::Part;
use super::evidence::{Evidence, Record};
use super::learn::Recollection;
use super::plan::Step;
use super::toolkit::{Toolkit, TurnError};
use super::{call, classify, edit, forms, route, work};

/// Calls one step may make, one a file it names.
const CALLS_A_STEP_MAX: usize = 12;
/// Text of an earlier result that arguments may be taken from.
const EARLIER_CHARS: usize = 8_000;

/// How much it speaks against a tool, in nats, that nothing is said for any of its required arguments: with 3, two development suites
/// together lost least (of requests without a tool those that got one, of the others those that got none).
const MISSING_WEIGHT: f32 = 3.0;
/// How much it speaks for a tool, in nats, that a model has called it, and against it that nothing is said for any of its arguments. Measured on
/// 30 requests without a tool and 44 with one: 21 and 43 right.
const CALLED_WEIGHT: f32 = 2.0;
const UNSAID_WEIGHT: f32 = 5.0;
/// A tool chosen with this confidence stands out among the others.
const STANDS_OUT: f64 = 0.9;

/// Where a step is carried out: what it works with, the request it is part of, and who hears of it.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    pub toolkit: &'a Toolkit,
    pub context: &'a Context,
    pub request: &'a str,
    pub host: &'a dyn Host,
}

/// A step that is to become calls, and what they are made of.
#[derive(Clone, Copy)]
pub struct Undecided<'a> {
    pub toolkit: &'a Toolkit,
    pub step: &'a Step,
    /// The whole request of the user.
    pub request: &'a str,
    /// Tools that made the results it goes on from.
    pub before: &'a [String],
    pub host: &'a dyn Host,
}

/// How a step ended.
#[derive(Clone, Debug, PartialEq)]
pub enum StepEnd {
    /// Every call of it succeeded.
    Done,
    /// A tool failed or the user said no; the evidence says which.
    Failed,
    /// No call could be made: no tool fits, or something is missing that the request does not give.
    Stuck(String),
}

type Arguments = Map<String, Value>;

/// The tool of a step, with whatever arguments could be settled.
#[derive(Clone, Debug)]
pub struct Intent {
    pub tool: ToolSpec,
    pub choice: route::Choice,
    pub arguments: Arguments,
    /// Required arguments that nothing in the request says.
    pub missing: Vec<String>,
}

/// Runs `step`, all its calls in order.
pub async fn step(
    scene: Scene<'_>,
    step: &Step,
    evidence: &mut Evidence,
    memory: &mut Recollection,
) -> Result<StepEnd, TurnError> {
    let Scene { toolkit, context, request, host } = scene;
    let made = step.needs.iter().flat_map(|need| evidence.of(*need));
    let before: Vec<String> = made.map(|entry| entry.tool.clone()).collect();
    let undecided = Undecided { toolkit, step, request, before: &before, host };
    let chosen = choose(undecided, memory).await;
    let (tool, arguments) = match settled(undecided, chosen, evidence) {
        Some(intent) if intent.missing.is_empty() => (intent.tool, intent.arguments),
        found => match asked_of_the_index(toolkit, step) {
            Some(question) => question,
            None => return Ok(StepEnd::Stuck(why_stuck(found))),
        },
    };
    let all = one_a_file(&tool, step, arguments);
    host.emit(Event::StepState { step: step.id, state: StepState::Deciding });
    let mut end = StepEnd::Done;
    for mut arguments in all {
        if tool.name == "replace_in_file" && !arguments.contains_key("old") {
            let path = arguments.get("path").and_then(Value::as_str).unwrap_or_default().to_owned();
            let task = edit::Task { clause: &step.part.text, whole: &step.text() };
            match edit::arguments(context, &path, task) {
                Ok(found) => arguments = found,
                Err(reason) => return Ok(StepEnd::Stuck(reason)),
            }
        }
        if tool.name == Builtin::WriteFile.name()
            && let Some(reason) = why_not_written(context, &step.part, &arguments)
        {
            return Ok(StepEnd::Stuck(reason));
        }
        let call = ToolCall { tool: tool.name.clone(), arguments };
        if let Some(known) = evidence.repeated(&call.tool, &call.arguments).map(|entry| entry.id) {
            evidence.answers(known, step.id);
        }
        if perform(scene, step.id, call, &tool, evidence).await? != StepStatus::Succeeded {
            end = StepEnd::Failed;
        }
    }
    Ok(end)
}

fn why_stuck(found: Option<Intent>) -> String {
    let Some(Intent { tool, missing, .. }) = found else { return "no tool fits".to_owned() };
    let names: Vec<String> = missing.iter().map(|name| format!("`{name}`")).collect();
    format!("`{}` needs {}, which the request does not say", tool.name, names.join(" and "))
}

/// Why code writes no such file by itself: a file that exists is not replaced, and a file of code is only what the request quotes.
fn why_not_written(context: &Context, part: &Part, arguments: &Arguments) -> Option<String> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let path = text("path");
    if work::exists(context, path) {
        return Some(format!("{path} exists and is not replaced; say what to change in it, from what to what"));
    }
    let is_quoted = part.quoted.iter().any(|quoted| quoted == text("content"));
    (crate::edit::has_grammar(path) && !is_quoted)
        .then(|| format!("{path} is code, so its content has to be quoted in the request, or written by a model that can"))
}

/// A question that no tool can be called for is put to the index as it stands.
fn asked_of_the_index(toolkit: &Toolkit, step: &Step) -> Option<(ToolSpec, Arguments)> {
    let asks = classify::kind(std::slice::from_ref(&step.part)) == classify::RequestKind::Question;
    toolkit.index.as_ref().filter(|_| asks)?;
    let arguments = Map::from_iter([("question".to_owned(), Value::String(step.text()))]);
    Some((toolkit.catalog.get("index_search")?.clone(), arguments))
}

/// The tool for a step; `None` when no tool fits.
pub async fn choose(undecided: Undecided<'_>, memory: &mut Recollection) -> Option<(ToolSpec, route::Choice)> {
    let Undecided { toolkit, step, before, host, .. } = undecided;
    let text = step.text();
    let vector = toolkit.vector(&toolkit.prefilter.without_values(&text)).await;
    let mut ranked = toolkit.prefilter.select(&text, vector.as_deref(), toolkit.tools_offered);
    if step.part.paths.is_empty() && step.part.quoted.is_empty() {
        let made_it = |index: usize| toolkit.catalog.specs().get(index).is_some_and(|spec| before.contains(&spec.name));
        route::set_back(&mut ranked, made_it);
    }
    for one in ranked.iter().take(5) {
        let tool = toolkit.catalog.specs().get(one.index).map(|spec| spec.name.as_str()).unwrap_or_default();
        tracing::debug!(tool, score = one.score, dense = one.dense, "offered for a step");
    }
    let by_form = forms::choice(toolkit, &step.part, &ranked);
    let choice = by_form.or_else(|| memory.tool(step.id, toolkit, &ranked, host)).or_else(|| route::choose(&ranked))?;
    tracing::debug!(?choice, "chosen for a step");
    Some((toolkit.catalog.specs().get(choice.tool)?.clone(), choice))
}

/// Tool and arguments of a step, without running anything; `None` when no tool fits.
pub async fn intent(
    undecided: Undecided<'_>,
    evidence: &Evidence,
    memory: &mut Recollection,
) -> Result<Option<Intent>, TurnError> {
    let Undecided { toolkit, host, .. } = undecided;
    if call::is_trusted(toolkit, host).await? {
        return called(undecided).await;
    }
    let chosen = choose(undecided, memory).await;
    Ok(settled(undecided, chosen, evidence))
}

/// Tool and arguments of a step as a model writes them.
async fn called(undecided: Undecided<'_>) -> Result<Option<Intent>, TurnError> {
    let Undecided { toolkit, step, host, .. } = undecided;
    let text = step.text();
    let vector = toolkit.vector(&toolkit.prefilter.without_values(&text)).await;
    let ranked = toolkit.prefilter.select(&text, vector.as_deref(), toolkit.tools_offered);
    let Some(found) = call::called(toolkit, &text, &ranked, host).await? else { return Ok(None) };
    let specs = toolkit.catalog.specs();
    let is_it = |index: usize| specs.get(index).is_some_and(|spec| spec.name == found.tool);
    let Some(choice) = route::known(&ranked, is_it, 1.0) else { return Ok(None) };
    let fits = ranked.iter().find(|one| one.index == choice.tool).map_or(0.0, |one| one.fits);
    let unsaid = call::unsaid(&found, &text);
    tracing::debug!(tool = found.tool, fits, unsaid, "called for a step");
    if fits + CALLED_WEIGHT < UNSAID_WEIGHT * unsaid {
        return Ok(None);
    }
    Ok(specs.get(choice.tool).cloned().map(|tool| Intent {
        tool,
        choice,
        arguments: found.arguments,
        missing: Vec::new(),
    }))
}

/// The chosen tool with its arguments; `None` when none was chosen, or it does not fit after all.
fn settled(
    undecided: Undecided<'_>,
    chosen: Option<(ToolSpec, route::Choice)>,
    evidence: &Evidence,
) -> Option<Intent> {
    let (tool, choice) = chosen?;
    let Settled { arguments, missing, .. } = arguments(undecided, &tool, evidence);
    let required = tool.parameters().iter().filter(|parameter| parameter.required).count();
    let missing_share = missing.len() as f32 / required.max(1) as f32;
    // A tool that stands out among several, for a step that says all it needs, is meant.
    let stands_out = choice.order.len() > 1 && choice.confidence >= STANDS_OUT;
    let is_meant = stands_out && required > 0 && missing.is_empty();
    if !is_meant && choice.fits < MISSING_WEIGHT * missing_share {
        tracing::debug!(tool = tool.name, fits = choice.fits, ?missing, "no tool fits a step");
        return None;
    }
    Some(Intent { tool, choice, arguments, missing })
}

/// Grounded arguments, and the required ones that are not to be had.
fn arguments(undecided: Undecided<'_>, tool: &ToolSpec, evidence: &Evidence) -> Settled {
    let Undecided { toolkit, step, request, .. } = undecided;
    let text = step.text();
    let earlier: Vec<Earlier> = evidence.entries().iter().filter(|entry| entry.succeeded()).map(earlier).collect();
    let files = |fragment: &str| match &toolkit.index {
        Some(index) => index.find_files(fragment, 5).unwrap_or_default(),
        None => Vec::new(),
    };
    let project_files = toolkit.index.is_some().then_some(&files as &ProjectFiles<'_>);
    let mut settled = settle(tool, &Grounds { step: &text, request, earlier: &earlier, project_files }, None);
    if toolkit.catalog.executor(&tool.name).is_some() {
        let symbol = forms::symbol_of(toolkit, &step.part);
        let root = toolkit.context.as_ref().map(|context| context.root.path());
        let set = forms::put(&mut settled.arguments, &tool.name, &step.part, symbol.as_deref(), root);
        settled.missing.retain(|name| !set.contains(name));
    }
    if tool.name == "replace_in_file" {
        leave_to_the_file(&mut settled, &step.part);
    }
    settled
}

/// What stands in a file is found in the file, unless the user quoted both what it is and what becomes of it.
fn leave_to_the_file(settled: &mut Settled, part: &Part) {
    settled.missing.retain(|name| !is_passage(name));
    let is_quoted = |name: &str| {
        let text = settled.arguments.get(name).and_then(Value::as_str);
        text.is_some_and(|text| part.quoted.iter().any(|one| one == text))
    };
    if removes(&part.text) || !(is_quoted("old") && is_quoted("new")) {
        settled.arguments.retain(|name, _| !is_passage(name));
    }
}

fn is_passage(name: &str) -> bool {
    matches!(name, "old" | "new")
}

/// A step that names several files, for a tool that takes one, becomes one call a file.
fn one_a_file(tool: &ToolSpec, step: &Step, arguments: Arguments) -> Vec<Arguments> {
    let several = tool.name == "read_file" && step.part.paths.len() > 1 && arguments.contains_key("path");
    if !several {
        return vec![arguments];
    }
    step.part
        .paths
        .iter()
        .take(CALLS_A_STEP_MAX)
        .map(|path| {
            let mut one = arguments.clone();
            one.insert("path".to_owned(), Value::String(path.clone()));
            one
        })
        .collect()
}

fn earlier(entry: &super::evidence::Entry) -> Earlier {
    let mut paths: Vec<String> = entry.outcome.findings.iter().map(|finding| finding.path.clone()).collect();
    paths.dedup();
    Earlier { tool: entry.tool.clone(), text: super::words::shorten(&entry.outcome.text, EARLIER_CHARS), paths }
}

/// One call: not again what was done already, not without consent, and never a failure counted as success.
pub async fn perform(
    scene: Scene<'_>,
    step: StepId,
    call: ToolCall,
    spec: &ToolSpec,
    evidence: &mut Evidence,
) -> Result<StepStatus, TurnError> {
    let Scene { toolkit, context, host, .. } = scene;
    if let Some(known) = evidence.repeated(&call.tool, &call.arguments) {
        let report = StepReport {
            step,
            summary: format!("the same as {}: {}", known.id, known.summary()),
            wall_ms: 0,
            ..known.report()
        };
        let status = report.status;
        host.emit(Event::StepCompleted(report));
        return Ok(status);
    }
    let started = Instant::now();
    let (status, outcome, arguments) = match consent(step, &call, spec, context, host).await {
        Err((status, reason)) => (status, Outcome::error(reason), call.arguments),
        Ok(approved) => {
            let arguments = approved.call().arguments.clone();
            host.emit(Event::StepState { step, state: StepState::Executing });
            let outcome = tokio::select! {
                outcome = crate::tools::execute(approved, context) => outcome,
                () = super::toolkit::cancelled(&toolkit.cancel) => return Err(TurnError::Cancelled),
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
    Ok(status)
}
