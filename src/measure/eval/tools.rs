//! `eval tools`: how often the right tool and arguments are chosen for requests with one step.

use std::time::Instant;

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::{Case, RejectingHost, Report, percentile, share};
use crate::agent::{self, Toolkit, call, probe};
use crate::base::StepId;
use crate::language::clauses::{Part, PartKind};
use crate::protocol::ToolChoice;
use crate::request::{Text, forms, small_talk};
use crate::tools::Ranked;

/// Number of ranked names per case that are written to `--out`.
const RANKED_MAX: usize = 15;

pub async fn run(toolkit: &Toolkit, cases: &[Case], report: &mut Report) -> Result<Value> {
    let (mut counts, mut ms, mut handed_on) = (Counts::default(), Vec::new(), 0);
    for case in cases {
        let toolkit = &case.toolkit(toolkit).await?;
        let from = Instant::now();
        let Choice { order, tool: chosen, arguments, is_called, by } = choice(toolkit, &case.prompt).await?;
        handed_on += by.iter().filter(|one| one.handed_on).count();
        ms.push(from.elapsed().as_secs_f64() * 1000.0);
        let specs = toolkit.catalog.specs();
        let ranked: Vec<&str> =
            order.iter().filter_map(|&tool| specs.get(tool)).map(|spec| spec.name.as_str()).collect();
        let chosen = chosen.as_deref();
        counts.add(case, &ranked, chosen, is_called.then_some(&arguments));
        let expected = case.expected.as_deref().unwrap_or_default();
        let is_right = |name: &str| expected.iter().any(|one| one == name);
        if !chosen.map_or(expected.is_empty(), is_right) {
            report.say(|| {
                let (place, chosen) = (ranked.iter().position(|name| is_right(name)), chosen.unwrap_or("no tool"));
                let (id, expected, rank) = (&case.id, expected.join("|"), place.map(|place| place + 1));
                format!("{id}: {chosen} (expected {expected}, ranked {rank:?}): {}", case.prompt)
            });
        }
        let shown = &ranked[..ranked.len().min(RANKED_MAX)];
        report.write(&json!({
            "id": case.id, "ranked": shown, "chosen": chosen, "called": is_called, "arguments": arguments, "by": by,
        }))?;
    }
    let mut figures = json!({
        "cases": cases.len(), "k": toolkit.tools_offered, "model_calls": toolkit.meter.usage().model_calls, "handed_on": handed_on,
        "ms_p50": percentile(&mut ms, 0.5).round(), "ms_p95": percentile(&mut ms, 0.95).round(),
    });
    for (name, (right, of)) in COUNTED.iter().zip(counts.0) {
        figures[*name] = share(right, of);
    }
    Ok(figures)
}

/// The tool and arguments chosen for a request with one step.
#[derive(Default)]
pub(super) struct Choice {
    /// Indices into the catalogue, best tool first.
    order: Vec<usize>,
    /// `None` if the request needs no tool.
    pub tool: Option<String>,
    arguments: Map<String, Value>,
    /// Whether the call is made. It is not made if the tool needs a value without a source, which
    /// the user would be asked for.
    is_called: bool,
    /// The models' choices: the choosing model's first, then the planner's if that model was
    /// unsure.
    by: Vec<ToolChoice>,
}

/// The call of the model that chooses tools, if one does so well; else the choice by the request's
/// form and by retrieval.
async fn choice(toolkit: &Toolkit, prompt: &str) -> Result<Choice> {
    let parts = agent::parts(toolkit, &Text::of(prompt));
    let Some(part) = whole(&parts, prompt) else { return Ok(Choice::default()) };
    let ranked = toolkit.ranked(&part.full_text(), toolkit.tools_offered).await;
    let chats = small_talk::is_all(&parts);
    let host = RejectingHost::default();
    let mut choice = if chats {
        Choice::default()
    } else if probe::chooser(toolkit, &host).await?.is_some() {
        let called = call::called(toolkit, StepId(0), &Text::of(part.full_text()), &ranked, &host).await?;
        let is_called = called.is_some();
        let chosen = host.choices().pop().and_then(|last| last.tool);
        let (tool, arguments) = called.map_or((chosen, Map::new()), |call| (Some(call.tool), call.arguments));
        Choice { tool, arguments, is_called, ..Choice::default() }
    } else {
        by_form(toolkit, &part, &ranked, 0.0)
    };
    choice.by = host.choices();
    choice.order = ranked.iter().map(|one| one.index).collect();
    let is_it = |place: &usize| toolkit.catalog.specs().get(*place).map(|spec| &spec.name) == choice.tool.as_ref();
    if let Some(place) = choice.order.iter().position(is_it) {
        choice.order[..=place].rotate_right(1);
    }
    Ok(choice)
}

/// The whole request as one clause, regardless of its parts; `None` if it contains no clause.
fn whole(parts: &[Part], request: &str) -> Option<Part> {
    let mut part = parts.iter().find(|part| part.kind == PartKind::Act).or(parts.first())?.clone();
    if parts.len() > 1 {
        part.paths = parts.iter().flat_map(|part| part.paths.clone()).collect();
        part.quoted = parts.iter().flat_map(|part| part.quoted.clone()).collect();
        part.text = request.trim().to_owned();
        part.context.clear();
    }
    Some(part)
}

/// If the best tool is built in, the tool that matches the clause's form; else the best one if it
/// fits better than `fits_min`.
pub(super) fn by_form(toolkit: &Toolkit, part: &Part, ranked: &[Ranked], fits_min: f32) -> Choice {
    let specs = toolkit.catalog.specs();
    let Some((best, spec)) = ranked.first().and_then(|best| Some((best, specs.get(best.index)?))) else {
        return Choice::default();
    };
    let is_built_in = toolkit.catalog.is_builtin(&spec.name);
    if let Some(tool) = toolkit.tool_for(part).filter(|_| is_built_in) {
        let calls = forms::calls(toolkit.project(), tool, part).unwrap_or_default();
        let arguments = calls.into_iter().next().unwrap_or_default();
        return Choice { tool: Some(tool.name().to_owned()), arguments, is_called: true, ..Choice::default() };
    }
    let is_called = best.fits > fits_min;
    Choice { tool: is_called.then(|| spec.name.clone()), is_called, ..Choice::default() }
}

/// The counts of a suite.
const COUNTED: [&str; 6] = ["top1", "called", "recall_at_k", "arguments_exact", "arguments_grounded", "restraint"];

/// For each of [`COUNTED`]: how often it was right, and how often it was checked.
#[derive(Default)]
struct Counts([(usize, usize); COUNTED.len()]);

impl Counts {
    fn note(&mut self, name: &str, is_right: bool) {
        if let Some(at) = COUNTED.iter().position(|known| *known == name) {
            self.0[at] = (self.0[at].0 + usize::from(is_right), self.0[at].1 + 1);
        }
    }

    /// Counts a case; `arguments` are those of the call, if one is made.
    fn add(&mut self, case: &Case, ranked: &[&str], chosen: Option<&str>, arguments: Option<&Map<String, Value>>) {
        let expected = case.expected.as_deref().unwrap_or_default();
        if expected.is_empty() {
            return self.note("restraint", arguments.is_none());
        }
        let right = |name: &str| expected.iter().any(|one| one == name);
        self.note("top1", chosen.is_some_and(right));
        self.note("called", chosen.is_some_and(right) && arguments.is_some());
        self.note("recall_at_k", ranked.iter().any(|name| right(name)));
        if let Some(wanted) = case.arguments.as_ref().filter(|wanted| !wanted.is_empty()) {
            let got = |name: &String| arguments.and_then(|arguments| arguments.get(name));
            let same = wanted.iter().all(|(name, value)| got(name).is_some_and(|got| alike(got, value)));
            self.note("arguments_exact", chosen.is_some_and(right) && same);
        }
        for value in arguments.into_iter().flat_map(Map::values) {
            self.note("arguments_grounded", is_grounded(value, &case.prompt));
        }
    }
}

/// Whether two values are equal, ignoring case and surrounding white space in texts.
fn alike(got: &Value, wanted: &Value) -> bool {
    match (got, wanted) {
        (Value::String(got), Value::String(wanted)) => got.trim().eq_ignore_ascii_case(wanted.trim()),
        _ => got == wanted,
    }
}

/// Whether every word of a text value occurs in the request. Numbers and flags always count,
/// because code has read them from it.
fn is_grounded(value: &Value, prompt: &str) -> bool {
    match value {
        Value::String(text) => {
            let prompt = prompt.to_lowercase();
            text.to_lowercase().split_whitespace().all(|word| prompt.contains(word.trim_matches(['"', '\'', '.', ','])))
        }
        Value::Array(all) => all.iter().all(|one| is_grounded(one, prompt)),
        _ => true,
    }
}
