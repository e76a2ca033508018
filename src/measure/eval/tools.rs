//! `eval tools`: the tool and the arguments of single requests.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::{Case, Predictions, Silent, Suite, percentile, share};
use crate::orchestrate::evidence::Evidence;
use crate::orchestrate::execute::{self, Intent, Undecided};
use crate::orchestrate::learn::Recollection;
use crate::orchestrate::{self, Toolkit, classify, plan};

/// Ranked names written for each case.
const RANKED_MAX: usize = 15;

/// Runs the suite and returns its figures as one JSON object.
pub async fn run(toolkit: &Toolkit, suite: &Suite, out: Option<&Path>, talk: bool) -> Result<Value> {
    let mut predictions = Predictions::open(out)?;
    let mut counts = Counts::default();
    for case in &suite.cases {
        let toolkit = &case.toolkit(toolkit).await?;
        let from = Instant::now();
        let intent = intent(toolkit, &case.prompt).await?;
        counts.ms.push(from.elapsed().as_secs_f64() * 1000.0);
        let order = match &intent {
            Some(intent) => intent.choice.order.clone(),
            None => offered(toolkit, &case.prompt).await?,
        };
        let ranked: Vec<&str> =
            order.iter().filter_map(|&tool| toolkit.catalog.specs().get(tool)).map(|spec| spec.name.as_str()).collect();
        let chosen = intent.as_ref().map(|intent| intent.tool.name.as_str());
        let arguments = intent.as_ref().map_or(Map::new(), |intent| intent.arguments.clone());
        counts.add(case, &ranked, chosen, &arguments);
        if talk
            && let Some(expected) = &case.expected
            && !expected.iter().any(|name| Some(name.as_str()) == chosen)
        {
            let place = ranked.iter().position(|name| expected.iter().any(|one| one == name));
            println!(
                "{}: {} (expected {}, ranked {:?}): {}",
                case.id,
                chosen.unwrap_or("no tool"),
                expected.join("|"),
                place.map(|n| n + 1),
                case.prompt
            );
        }
        let shown = &ranked[..ranked.len().min(RANKED_MAX)];
        predictions.write(&json!({ "id": case.id, "ranked": shown, "chosen": chosen, "arguments": arguments }))?;
    }
    predictions.finish()?;
    Ok(counts.figures(toolkit))
}

/// Tool and arguments of a request that is one step; `None` when it needs no tool.
async fn intent(toolkit: &Toolkit, prompt: &str) -> Result<Option<Intent>> {
    let parts = orchestrate::parts(toolkit, prompt);
    if classify::kind(&parts) == classify::RequestKind::Chat {
        return Ok(None);
    }
    let Some(step) = plan::whole(&parts, prompt) else { return Ok(None) };
    let undecided = Undecided { toolkit, step: &step, request: prompt, before: &[], host: &Silent::default() };
    Ok(execute::intent(undecided, &Evidence::default(), &mut Recollection::default()).await?)
}

/// The tools among which none was taken.
async fn offered(toolkit: &Toolkit, prompt: &str) -> Result<Vec<usize>> {
    let Some(step) = plan::whole(&orchestrate::parts(toolkit, prompt), prompt) else { return Ok(Vec::new()) };
    let undecided = Undecided { toolkit, step: &step, request: prompt, before: &[], host: &Silent::default() };
    let choice = execute::choose(undecided, &mut Recollection::default()).await;
    Ok(choice.map_or(Vec::new(), |(_, choice)| choice.order))
}

#[derive(Default)]
struct Counts {
    cases: usize,
    top1: usize,
    recalled: usize,
    with_arguments: usize,
    exact: usize,
    values: usize,
    grounded: usize,
    without_tool: usize,
    restrained: usize,
    ms: Vec<f64>,
}

impl Counts {
    fn add(&mut self, case: &Case, ranked: &[&str], chosen: Option<&str>, arguments: &Map<String, Value>) {
        let expected = case.expected.as_deref().unwrap_or_default();
        if expected.is_empty() {
            self.without_tool += 1;
            self.restrained += usize::from(chosen.is_none());
            return;
        }
        self.cases += 1;
        let right = |name: &str| expected.iter().any(|one| one == name);
        self.top1 += usize::from(chosen.is_some_and(right));
        self.recalled += usize::from(ranked.iter().any(|name| right(name)));
        if let Some(wanted) = case.arguments.as_ref().filter(|wanted| !wanted.is_empty()) {
            self.with_arguments += 1;
            let same = wanted.iter().all(|(name, value)| arguments.get(name).is_some_and(|got| alike(got, value)));
            self.exact += usize::from(chosen.is_some_and(right) && same);
        }
        for value in arguments.values() {
            self.values += 1;
            self.grounded += usize::from(is_said(value, &case.prompt));
        }
    }

    fn figures(&mut self, toolkit: &Toolkit) -> Value {
        json!({
            "cases": self.cases + self.without_tool,
            "top1": share(self.top1, self.cases),
            "recall_at_k": share(self.recalled, self.cases),
            "k": toolkit.tools_offered,
            "arguments_exact": share(self.exact, self.with_arguments),
            "arguments_grounded": share(self.grounded, self.values),
            "restraint": share(self.restrained, self.without_tool),
            "model_calls": toolkit.meter.usage().model_calls,
            "ms_p50": percentile(&mut self.ms, 0.5).round(),
            "ms_p95": percentile(&mut self.ms, 0.95).round(),
        })
    }
}

/// Equal but for letter case and white space around texts.
fn alike(got: &Value, wanted: &Value) -> bool {
    match (got, wanted) {
        (Value::String(got), Value::String(wanted)) => got.trim().eq_ignore_ascii_case(wanted.trim()),
        _ => got == wanted,
    }
}

/// Whether the request says the value: its text, or for numbers and flags anything (code read them out of it).
fn is_said(value: &Value, prompt: &str) -> bool {
    match value {
        Value::String(text) => {
            let said = prompt.to_lowercase();
            text.to_lowercase().split_whitespace().all(|word| said.contains(word.trim_matches(['"', '\'', '.', ','])))
        }
        Value::Array(all) => all.iter().all(|one| is_said(one, prompt)),
        _ => true,
    }
}
